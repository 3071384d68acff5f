/* headers.c - which column fills which field: the header row of a table (docs/spec/10-batches.md
 * sections 9 'Header' and 9.1). */
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"
#include "wharf/errors.h"

void import_warn(struct import *in, const char *code, wharf_str message)
{
    struct import_warning *more = ARENA_ARRAY(in->arena, struct import_warning, in->n_warnings + 1);

    if (in->n_warnings)
        memcpy(more, in->warnings, in->n_warnings * sizeof(*more));
    more[in->n_warnings++] = (struct import_warning){code, arena_dup_str(in->arena, message)};
    in->warnings = more;
}

static bool is_filler(uint32_t cp)
{
    return cp == ' ' || cp == '_' || cp == '-' || cp == 0xA0 || cp == 0xFEFF || cp == '\t' ||
           cp == '\n' || cp == '\r';
}

wharf_str import_header_key(struct arena *a, wharf_str header)
{
    wharf_str lower = utf8_lower(a, header);
    char *out = arena_alloc(a, lower.n + 1);
    size_t n = 0, step;
    bool gap = false;

    for (size_t i = 0; i < lower.n; i += step) {
        uint32_t cp = 0;

        step = utf8_step(lower.p + i, lower.n - i, &cp);
        step = step ? step : 1;
        if (is_filler(cp)) {
            /* marks and no-break spaces that come from spreadsheets are nothing; a gap is one
             * blank, none at the ends */
            gap = gap || cp != 0xFEFF;
            continue;
        }
        if (gap && n > 0 && out[n - 1] != '.' && cp != '.')
            out[n++] = ' ';
        gap = false;
        memcpy(out + n, lower.p + i, step);
        n += step;
    }
    return (wharf_str){out, n};
}

/* ---- from header to field ---- */

static bool same_key(struct import *in, wharf_str key, const char *known)
{
    return str_eq(key, import_header_key(in->row, str_z(known)));
}

/* Tells whether the key has the form of a field's path: '#' stands for a number from 0 to 9, a
 * last '*' for the rest. */
static bool has_form(wharf_str key, wharf_str form)
{
    size_t k = 0;

    for (size_t f = 0; f < form.n; f++, k++) {
        if (form.p[f] == '*' && f + 1 == form.n)
            return k < key.n;
        if (k >= key.n)
            return false;
        if (form.p[f] == '#' ? key.p[k] < '0' || key.p[k] > '9' : form.p[f] != key.p[k])
            return false;
    }
    return k == key.n;
}

/* Returns the field's path with what the header has in place of '#' and '*'. A key of metadata
 * keeps its letters. */
static wharf_str filled_path(struct import *in, const char *form, wharf_str key, wharf_str header)
{
    struct buf b;
    wharf_str path;
    size_t number = 0;

    buf_init(&b, IMPORT_FIELD_MAX + 1024);
    for (const char *f = form; *f; f++) {
        if (*f == '#') {
            /* the n-th number of the key */
            const char *at = key.p;
            size_t seen = 0;

            while (*at && (*at < '0' || *at > '9' || seen++ < number))
                at++;
            number++;
            buf_addc(&b, *at ? *at : '0');
        } else if (*f == '*' && !f[1]) {
            const char *dot = f == form ? NULL : memchr(header.p, '.', header.n);
            wharf_str rest = {
                dot ? dot + 1 : header.p, dot ? header.n - (size_t)(dot + 1 - header.p) : header.n};

            buf_adds(&b, utf8_trim(rest));
        } else {
            buf_addc(&b, *f);
        }
    }
    path = arena_dup_str(in->arena, buf_str(&b));
    buf_done(&b);
    return path;
}

int import_field_at(const struct import_field *fields, size_t n, wharf_str path)
{
    for (size_t i = 0; i < n; i++)
        if (has_form(path, str_z(fields[i].path)))
            return (int)i;
    return -1;
}

static int field_of_path(struct import *in, wharf_str path)
{
    return import_field_at(in->options.fields, in->options.n_fields, path);
}

static int field_of_key(struct import *in, wharf_str key)
{
    for (size_t i = 0; i < in->options.n_fields; i++)
        if (has_form(key, import_header_key(in->row, str_z(in->options.fields[i].path))))
            return (int)i;
    return -1;
}

static void headers_by_name(struct import *in, struct import_column *c, wharf_str key)
{
    for (size_t i = 0; i < in->options.n_aliases; i++)
        if (!in->options.aliases[i].rank && same_key(in, key, in->options.aliases[i].header)) {
            c->path = str_z(in->options.aliases[i].path);
            c->field = field_of_path(in, c->path);
            if (c->field >= 0)
                return;
        }
    c->field = field_of_key(in, key);
    c->path = c->field < 0 ? str_z("")
                           : filled_path(in, in->options.fields[c->field].path, key, c->header);
}

/* ---- column_mapping ---- */

static bool apply_mapping(struct import *in, wharf_str *keys)
{
    for (size_t m = 0; m < in->options.n_mapping; m++) {
        const struct import_mapping *map = &in->options.mapping[m];
        wharf_str key = import_header_key(in->row, map->header);
        int field = field_of_path(in, map->path);
        size_t found = in->n_columns;

        for (size_t k = 0; k < m; k++)
            if (str_eq(import_header_key(in->row, in->options.mapping[k].header), key))
                return problem_set(&in->problem, ERR_BATCH_MAPPING_DUPLICATE, 0, 0, 0,
                    "column_mapping names the header \"%.*s\" twice", STR_ARG(map->header));
        if (field < 0)
            return problem_set(&in->problem, ERR_VALIDATION_FAILED, 0, 0, 0,
                "column_mapping.%.*s: there is no such field", STR_ARG(map->path));
        for (size_t i = 0; i < in->n_columns && found == in->n_columns; i++)
            if (str_eq(keys[i], key))
                found = i;
        if (found == in->n_columns)
            return problem_set(&in->problem, ERR_BATCH_HEADER_MISSING, in->row_number, 0, 0,
                "column_mapping names the header \"%.*s\", which the file has not",
                STR_ARG(map->header));
        in->columns[found].field = field;
        in->columns[found].path = arena_dup_str(in->arena, map->path);
    }
    return true;
}

static bool is_mapped(const struct import *in, wharf_str path)
{
    for (size_t m = 0; m < in->options.n_mapping; m++)
        if (str_eq(in->options.mapping[m].path, path))
            return true;
    return false;
}

/* ---- the tree of the row's object ---- */

static struct import_node *headers_child_of(
    struct import *in, struct import_node *parent, wharf_str key)
{
    struct import_node *n = parent->child;

    while (n && !str_eq(n->key, key))
        n = n->next;
    if (n)
        return n;
    n = ARENA_NEW(in->arena, struct import_node);
    n->key = key;
    n->column = -1;
    if (parent->last)
        parent->last->next = n;
    else
        parent->child = n;
    parent->last = n;
    return n;
}

/* Takes the first key of a path, from its front. A key of metadata is one key, dots and all. */
static wharf_str headers_take_key(wharf_str *path, bool whole)
{
    const char *dot = whole ? NULL : memchr(path->p, '.', path->n);
    wharf_str key = {path->p, dot ? (size_t)(dot - path->p) : path->n};

    path->p += key.n + (key.n < path->n);
    path->n -= key.n + (key.n < path->n);
    return key;
}

/* Tells whether what follows the first key of the column's path is one key. */
static bool has_free_key(const struct import *in, const struct import_column *c)
{
    return c->field >= 0 && str_ends(str_z(in->options.fields[c->field].path), "*");
}

/* Returns a column below the node. */
static int column_below(const struct import_node *n)
{
    while (n->column < 0 && n->child)
        n = n->child;
    return n->column;
}

/* Returns the column that fills what this one would: the same field, one around it, or a part of
 * it; -1 when there is none. */
static int column_in_the_way(const struct import *in, const struct import_column *c)
{
    wharf_str left = c->path;
    const struct import_node *n = in->root;

    while (left.n > 0) {
        wharf_str key = headers_take_key(&left, has_free_key(in, c) && n != in->root);

        n = n->child;
        while (n && !str_eq(n->key, key))
            n = n->next;
        if (!n || n->column >= 0)
            return n ? n->column : -1;
    }
    return column_below(n);
}

/* Makes the node of a path that nothing is in the way of. */
static struct import_node *make_node(struct import *in, const struct import_column *c)
{
    wharf_str left = c->path;
    struct import_node *n = in->root;
    bool rest = has_free_key(in, c);

    while (left.n > 0) {
        wharf_str key = headers_take_key(&left, rest && n != in->root);

        n->array = n->array || (key.n == 1 && key.p[0] >= '0' && key.p[0] <= '9' && !rest);
        n = headers_child_of(in, n, key);
    }
    return n;
}

static bool headers_place(struct import *in, size_t column)
{
    const struct import_column *c = &in->columns[column];
    int other = column_in_the_way(in, c);

    if (other >= 0)
        return problem_set(&in->problem, ERR_BATCH_HEADER_DUPLICATE, in->row_number, 0, 0,
            "the columns \"%.*s\" and \"%.*s\" fill the same field; keep one",
            STR_ARG(in->columns[other].header), STR_ARG(c->header));
    make_node(in, c)->column = (int)column;
    return true;
}

/* Ignores a column whose name is another name of a field that a column with the field's own name
 * fills: an export has "parcels" and, for people, "weight". */
static bool ignore_column(struct import *in, size_t column, int other)
{
    struct import_column *c = &in->columns[column];

    if (in->options.strict_headers)
        return headers_place(in, column);
    import_warn(in, ERR_BATCH_HEADER_DUPLICATE,
        arena_printf(in->row, "the column \"%.*s\" is ignored: \"%.*s\" fills the same field",
            STR_ARG(c->header), STR_ARG(in->columns[other].header)));
    *c = (struct import_column){c->header, str_z(""), IMPORT_IGNORED};
    return true;
}

/* ---- one of several texts for a field ---- */

/* Returns the source of a rank of the node, made when it is new, in the order of ranks. A column
 * that already fills the node by its own name is the source of rank 0. */
static struct import_source *headers_source_of(
    struct import *in, struct import_node *n, const struct import_alias *a)
{
    struct import_source **at = &n->sources, *s;

    if (!n->sources && n->column >= 0) {
        n->sources = ARENA_NEW(in->arena, struct import_source);
        n->sources->columns[n->sources->n++] = n->column;
    }
    while (*at && (*at)->rank < a->rank)
        at = &(*at)->next;
    if (*at && (*at)->rank == a->rank)
        return *at;
    s = ARENA_NEW(in->arena, struct import_source);
    s->rank = a->rank;
    s->beside = a->beside;
    s->next = *at;
    *at = s;
    return s;
}

/* Adds a column to a source. Returns the column that is this part already, else -1. */
static int headers_add_part(struct import_source *s, int column, unsigned char part)
{
    size_t i = s->n;

    for (size_t k = 0; k < s->n; k++)
        if (s->parts[k] == part || s->n == IMPORT_PARTS_MAX)
            return s->columns[k];
    while (i > 0 && s->parts[i - 1] > part) {
        s->columns[i] = s->columns[i - 1];
        s->parts[i] = s->parts[i - 1];
        i--;
    }
    s->columns[i] = column;
    s->parts[i] = part;
    s->n++;
    return -1;
}

/* Returns the node at a path; NULL when there is none. */
static struct import_node *headers_find_node(const struct import *in, const char *path)
{
    wharf_str left = str_z(path);
    struct import_node *n = in->root;

    while (left.n > 0 && n) {
        wharf_str key = headers_take_key(&left, false);

        n = n->child;
        while (n && !str_eq(n->key, key))
            n = n->next;
    }
    return n;
}

/* Takes a column as one of several for the alias's field. */
static bool take_ranked(struct import *in, size_t column, const struct import_alias *a)
{
    struct import_column *c = &in->columns[column];
    struct import_node *n = headers_find_node(in, a->path);
    int other;

    c->path = str_z(a->path);
    c->field = field_of_path(in, c->path);
    if (c->field < 0 || is_mapped(in, c->path)) {
        *c = (struct import_column){c->header, str_z(""), -1};
        return true;
    }
    if (!n || n->column < 0) {
        other = column_in_the_way(in, c);
        if (other >= 0)
            return ignore_column(in, column, other);
        n = make_node(in, c);
    }
    other = headers_add_part(headers_source_of(in, n, a), (int)column, a->part);
    if (other >= 0)
        return ignore_column(in, column, other);
    if (n->column < 0)
        n->column = (int)column;
    return true;
}

/* Makes the fields beside: each source of a node that is not always the one that is taken gets its
 * own, unless a column fills it. */
static void make_spares(struct import *in, const struct import_node *main)
{
    for (const struct import_source *s = main->sources; s; s = s->next) {
        struct import_column c = {.path = str_z(s->beside ? s->beside : "")};
        struct import_node *n;

        c.field = s->beside ? field_of_path(in, c.path) : -1;
        if (c.field < 0 || column_in_the_way(in, &c) >= 0)
            continue;
        n = make_node(in, &c);
        n->column = s->columns[0];
        n->beside = s->beside;
        n->main = main;
    }
}

static bool take_all_ranked(struct import *in, const wharf_str *keys)
{
    for (size_t a = 0; a < in->options.n_aliases; a++) {
        const struct import_alias *alias = &in->options.aliases[a];

        for (size_t i = 0; alias->rank && i < in->n_columns; i++)
            if (in->columns[i].field == -1 && keys[i].n && same_key(in, keys[i], alias->header) &&
                !take_ranked(in, i, alias))
                return false;
    }
    for (size_t a = 0; a < in->options.n_aliases; a++) {
        const struct import_node *n = in->options.aliases[a].rank
                                          ? headers_find_node(in, in->options.aliases[a].path)
                                          : NULL;

        if (n && n->sources)
            make_spares(in, n);
    }
    return true;
}

/* ---- the row ---- */

static bool no_repeats(struct import *in, const wharf_str *keys)
{
    wharf_str *sorted = ARENA_ARRAY(in->row, wharf_str, in->n_columns + 1);

    memcpy(sorted, keys, in->n_columns * sizeof(*keys));
    qsort(sorted, in->n_columns, sizeof(*sorted), str_order_entries);
    for (size_t i = 1; i < in->n_columns; i++)
        if (sorted[i].n > 0 && str_eq(sorted[i], sorted[i - 1]))
            return problem_set(&in->problem, ERR_BATCH_HEADER_DUPLICATE, in->row_number, 0, 0,
                "the header \"%.*s\" occurs twice; each column needs a name of its own",
                STR_ARG(sorted[i]));
    return true;
}

static bool headers_tell_unknown(struct import *in)
{
    struct buf names;
    size_t n = 0;
    bool good = true;

    buf_init(&names, 4 << 20);
    for (size_t i = 0; i < in->n_columns; i++) {
        const struct import_column *c = &in->columns[i];

        if (c->field != -1 || c->header.n == 0 || c->header.p[0] == '_')
            continue;
        buf_addz(&names, n++ ? ", \"" : "\"");
        buf_adds(&names, c->header);
        buf_addc(&names, '"');
    }
    if (n && in->options.strict_headers)
        good = problem_set(&in->problem, ERR_BATCH_HEADER_UNKNOWN, in->row_number, 0, 0,
            "there is no field for %s; rename or remove it, or switch strict_headers off", names.p);
    else if (n)
        import_warn(
            in, ERR_BATCH_HEADER_UNKNOWN, arena_printf(in->row, "ignored columns: %s", names.p));
    buf_done(&names);
    return good;
}

/* Tells whether a header is the name of the field that its column fills, or of what is around it:
 * "address" fills address.formatted_address. "weight" of a shipment, which fills that of its first
 * parcel, is another name. */
static bool has_own_name(struct import *in, wharf_str key)
{
    struct import_column c = {.header = key, .field = -1};
    wharf_str path;

    if (!key.n || field_of_key(in, key) < 0)
        return false;
    headers_by_name(in, &c, key);
    path = import_header_key(in->row, c.path);
    return path.n >= key.n && memcmp(path.p, key.p, key.n) == 0;
}

/* Gives columns their fields: those with a field's own name (and those of column_mapping), or those
 * with another name, which give way to the former. */
static bool headers_take_columns(struct import *in, const wharf_str *keys, bool own_name)
{
    for (size_t i = 0; i < in->n_columns; i++) {
        struct import_column *c = &in->columns[i];
        bool mapped = c->field >= 0, own = mapped || has_own_name(in, keys[i]);
        int other;

        if (own != own_name || !keys[i].n)
            continue;
        if (!mapped)
            headers_by_name(in, c, keys[i]);
        if (c->field < 0)
            continue;
        if (!mapped && is_mapped(in, c->path)) {
            *c = (struct import_column){c->header, str_z(""), -1};
            continue;
        }
        other = own ? -1 : column_in_the_way(in, c);
        if (other >= 0 && has_own_name(in, keys[other])) {
            if (!ignore_column(in, i, other))
                return false;
        } else if (!headers_place(in, i)) {
            return false;
        }
    }
    return true;
}

bool headers_read(struct import *in)
{
    wharf_str *keys = ARENA_ARRAY(in->row, wharf_str, in->n_cells + 1);
    bool known = false;

    in->n_columns = in->n_cells;
    in->columns = ARENA_ARRAY(in->arena, struct import_column, in->n_columns + 1);
    for (size_t i = 0; i < in->n_columns; i++) {
        in->columns[i] = (struct import_column){
            arena_dup_str(in->arena, cell_clean(in->row, in->cells[i])), str_z(""), -1};
        keys[i] = import_header_key(in->row, in->columns[i].header);
        if (in->columns[i].header.n > 0 && in->columns[i].header.p[0] == '_')
            keys[i] = str_z("");
    }
    in->root = ARENA_NEW(in->arena, struct import_node);
    in->root->column = -1;
    if (!no_repeats(in, keys) || !apply_mapping(in, keys))
        return false;
    if (!headers_take_columns(in, keys, true) || !headers_take_columns(in, keys, false) ||
        !take_all_ranked(in, keys))
        return false;
    for (size_t i = 0; i < in->n_columns; i++)
        known = known || in->columns[i].field >= 0;
    if (!known)
        return problem_set(&in->problem, ERR_BATCH_HEADER_MISSING, in->row_number, 0, 0,
            "the first row names no field; it must hold the names of the columns");
    return headers_tell_unknown(in);
}
