/* export_table.c - rows as CSV (spec 01 section 15): which columns there are, what stands in the
 * cells, and which rows a spreadsheet would take for formulas. RFC 4180 with CRLF.
 *
 * A tree of names holds the columns: a flattened table learns it from all rows before the first
 * is written, as far as a table has columns. Leaves to others: files (export_run.c). */
#include <stdio.h>

#include "exports.h"

/* Nothing that rows say makes the tree grow without end: a value has a node while there are
 * columns; what has none in it only keeps its place among the others, and not beyond this many
 * nodes. */
enum { PLACES_MOST = 4 * COLUMNS_MOST, SLOTS = 4096 /* a power of two */, DEPTH_MOST = 30 };

struct node {
    char *name; /* of arrays: the index */
    long index; /* in an array; -1: a member of an object */
    struct node *next, *child, *last; /* last: of the children */
    const struct node *parent;
    struct node *in_slot; /* the next one of its slot */
    const wharf_json *schema;
    bool leaf; /* a value stood here that has nothing below it */
    size_t column;
};

struct table {
    struct node root;
    struct node *slots[SLOTS]; /* all nodes, by parent and name */
    size_t n_columns, n_nodes;
    bool flatten;
    struct date_style dates;
};

static void *export_table_need(void *p)
{
    if (!p) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    return p;
}

/* ---- columns ---- */

static const wharf_json *below(const wharf_json *schema, wharf_str name, bool array)
{
    const wharf_json *properties = schema ? W->json->get(schema, "properties") : NULL;

    if (array)
        return schema ? W->json->get(schema, "items") : NULL;
    return properties ? W->json->get(properties, name.p) : NULL;
}

/* Returns the slot of a name. The hash is keyed: names are keys of metadata, and who sends those
 * can not make them meet. */
static size_t export_table_slot_of(const struct node *parent, wharf_str name)
{
    uint64_t h = exports_text->hash(name) ^ (uint64_t)(uintptr_t)parent * 0x9E3779B97F4A7C15u;

    return (size_t)(h >> 32) & (SLOTS - 1);
}

static struct node *export_table_find_node(
    const struct table *t, const struct node *parent, wharf_str name)
{
    struct node *k = t->slots[export_table_slot_of(parent, name)];

    while (k && !(k->parent == parent && is(name, k->name)))
        k = k->in_slot;
    return k;
}

/* Finds where a new child stands: elements of arrays in their order, members in that in which they
 * came. */
static struct node **export_table_place_of(struct node *parent, long index)
{
    struct node **at = &parent->child;

    if (parent->last && (index < 0 || (parent->last->index >= 0 && parent->last->index < index)))
        return &parent->last->next;
    while (*at && (index < 0 || (*at)->index < index))
        at = &(*at)->next;
    return at;
}

static struct node *add_node(struct table *t, struct node *parent, wharf_str name, long index)
{
    struct node *k = export_table_need(calloc(1, sizeof(*k))),
                **at = export_table_place_of(parent, index);
    size_t slot = export_table_slot_of(parent, name);

    k->name = export_table_need(strndup(name.p, name.n));
    k->index = index;
    k->parent = parent;
    k->schema = t->dates.plain ? NULL
                               : below(parent->schema, (wharf_str){k->name, name.n}, index >= 0);
    k->next = *at;
    *at = k;
    if (!k->next)
        parent->last = k;
    k->in_slot = t->slots[slot];
    t->slots[slot] = k;
    t->n_nodes++;
    return k;
}

/* Tells whether a node has a column. What the list shows has one also when no row has a value
 * there; what has columns below it has one only for values of its own. */
static bool has_column(const struct table *t, const struct node *k)
{
    return k->leaf || (k->parent == &t->root && !k->child);
}

/* Numbers the columns in their order. */
static void number_columns(struct table *t, struct node *parent)
{
    for (struct node *k = parent->child; k; k = k->next) {
        k->column = has_column(t, k) && t->n_columns < COLUMNS_MOST ? t->n_columns++ : (size_t)-1;
        number_columns(t, k);
    }
}

/* Tells whether the value has nothing below it that could have columns of its own. */
static bool is_whole(const wharf_json *v, int depth)
{
    uint32_t type = W->json->type(v);

    return (type != WHARF_J_OBJECT && type != WHARF_J_ARRAY) || depth > DEPTH_MOST;
}

/* Tells whether the value says anything: whether there is any value in it but null. */
static bool export_table_says_something(const wharf_json *v, int depth)
{
    if (is_whole(v, depth))
        return W->json->type(v) != WHARF_J_NULL;
    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m)) {
        if (export_table_says_something(m, depth + 1))
            return true;
    }
    return false;
}

static void learn_value(struct table *t, struct node *node)
{
    if (node->leaf || (!has_column(t, node) && t->n_columns >= COLUMNS_MOST))
        return;
    t->n_columns += !has_column(t, node);
    node->leaf = true;
}

/* Returns the node of a member or element m, made when there is room for it; NULL when there is
 * none. */
static struct node *learn_name(struct table *t, struct node *parent, wharf_str name, long index,
    const wharf_json *m, int depth)
{
    struct node *k = export_table_find_node(t, parent, name);
    /* its column, which it had for want of others */
    bool gives = has_column(t, parent) && !parent->leaf;

    if (k || t->n_columns - gives >= COLUMNS_MOST ||
        (t->n_nodes >= PLACES_MOST && !export_table_says_something(m, depth)))
        return k;
    t->n_columns -= gives;
    return add_node(t, parent, name, index);
}

static wharf_str member_name(
    const wharf_json *parent, const wharf_json *m, long i, char *number, size_t room)
{
    if (W->json->type(parent) == WHARF_J_OBJECT)
        return W->json->key(m);
    return (wharf_str){number, (size_t)snprintf(number, room, "%ld", i)};
}

static void export_table_learn(struct table *t, struct node *node, const wharf_json *v, int depth)
{
    bool array = W->json->type(v) == WHARF_J_ARRAY;
    char number[24];
    long i = 0;

    if (is_whole(v, depth)) {
        if (W->json->type(v) != WHARF_J_NULL)
            learn_value(t, node);
        return;
    }
    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m), i++) {
        wharf_str name = member_name(v, m, i, number, sizeof(number));
        struct node *k = learn_name(t, node, name, array ? i : -1, m, depth + 1);

        if (k)
            export_table_learn(t, k, m, depth + 1);
    }
}

void table_learn(struct table *t, const wharf_json *row)
{
    if (!t->flatten)
        return;
    for (struct node *k = t->root.child; k; k = k->next) {
        const wharf_json *v = W->json->get(row, k->name);

        if (v)
            export_table_learn(t, k, v, 0);
    }
}

struct table *table_new(const struct table_options *o)
{
    struct table *t = export_table_need(calloc(1, sizeof(*t)));

    t->flatten = o->flatten;
    t->dates = o->dates;
    t->root.schema = o->schema;
    for (size_t i = 0; i < o->n_names; i++) {
        if (!export_table_find_node(t, &t->root, o->names[i]))
            add_node(t, &t->root, o->names[i], -1);
    }
    t->n_columns = t->n_nodes;
    return t;
}

static void free_nodes(struct node *k)
{
    while (k) {
        struct node *next = k->next;

        free_nodes(k->child);
        free(k->name);
        free(k);
        k = next;
    }
}

void table_free(struct table *t)
{
    if (t)
        free_nodes(t->root.child);
    free(t);
}

/* ---- cells ---- */

/* Tells whether a spreadsheet takes the text for no formula. A number or phone may begin with + or
 * -. */
static bool is_harmless(wharf_str s)
{
    if (!s.n || !strchr("=@\t\r+-", s.p[0]))
        return true;
    if (s.p[0] != '+' && s.p[0] != '-')
        return false;
    for (size_t i = 1; i < s.n; i++) {
        if (!strchr("0123456789 ().-", s.p[i]))
            return false;
    }
    return true;
}

static wharf_str export_table_text_of(wharf_req *req, const wharf_json *v)
{
    wharf_out *out;
    wharf_str s;
    bool truth;

    switch (W->json->type(v)) {
    case WHARF_J_NULL:
        return WHARF_S("");
    case WHARF_J_STRING:
        W->json->text(v, &s);
        return s;
    case WHARF_J_BOOL:
        W->json->truth(v, &truth);
        return truth ? WHARF_S("true") : WHARF_S("false");
    default:
        out = W->json->writer(req);
        W->json->put(out, NULL, wharf_value(v));
        return W->json->result_text(out);
    }
}

static bool is_moment(const struct node *k, const wharf_json *v)
{
    const wharf_json *format = k->schema ? W->json->get(k->schema, "format") : NULL;
    wharf_str s;

    return format && W->json->type(v) == WHARF_J_STRING && W->json->text(format, &s) &&
           is(s, "date-time");
}

struct cells {
    wharf_str *text; /* of a row, by column */
    struct date_cell *dates; /* of all rows */
    size_t n_dates, room;
    bool error;
};

static void export_table_put_cell(
    wharf_req *req, const struct node *k, const wharf_json *v, struct cells *c)
{
    if (k->column == (size_t)-1) {
        c->error |= W->json->type(v) != WHARF_J_NULL;
        return;
    }
    c->text[k->column] = export_table_text_of(req, v);
    if (is_moment(k, v) && c->n_dates < c->room)
        c->dates[c->n_dates++] = (struct date_cell){&c->text[k->column]};
}

/* Spreads a value over its columns. What has no node has no column: an error when it is anything
 * but null. */
static void spread(wharf_req *req, const struct table *t, const struct node *k, const wharf_json *v,
    struct cells *c, int depth)
{
    const struct node *at = k->child;
    char number[24];
    long i = 0;

    if (is_whole(v, depth)) {
        export_table_put_cell(req, k, v, c);
        return;
    }
    for (const wharf_json *m = W->json->at(v, 0); m && !c->error; m = W->json->next(m), i++) {
        wharf_str name = member_name(v, m, i, number, sizeof(number));

        if (!at ||
            !is(name, at->name)) /* most rows have their members in the order of the columns */
            at = export_table_find_node(t, k, name);
        if (at)
            spread(req, t, at, m, c, depth + 1);
        else
            c->error = export_table_says_something(m, depth + 1);
        at = at ? at->next : NULL;
    }
}

/* ---- lines ---- */

static size_t cell_room(wharf_str s)
{
    return 2 * s.n + 4;
}

static char *export_table_put_text(char *to, wharf_str s, bool defuse)
{
    bool quote = memchr(s.p, ',', s.n) || memchr(s.p, '"', s.n) || memchr(s.p, '\n', s.n) ||
                 memchr(s.p, '\r', s.n);

    if (quote)
        *to++ = '"';
    if (defuse)
        *to++ = '\'';
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            *to++ = '"';
        *to++ = s.p[i];
    }
    if (quote)
        *to++ = '"';
    return to;
}

static wharf_str export_table_line_of(wharf_req *req, const wharf_str *cells, size_t n, bool defuse)
{
    size_t room = 3;
    char *line, *to;

    for (size_t i = 0; i < n; i++)
        room += cell_room(cells[i]) + 1;
    line = to = W->mem->alloc(req, room);
    for (size_t i = 0; i < n; i++) {
        if (i)
            *to++ = ',';
        to = export_table_put_text(
            to, cells[i].p ? cells[i] : WHARF_S(""), defuse && !is_harmless(cells[i]));
    }
    *to++ = '\r';
    *to++ = '\n';
    return (wharf_str){line, (size_t)(to - line)};
}

static void name_columns(
    wharf_req *req, const struct node *parent, const char *before, wharf_str *names)
{
    for (const struct node *k = parent->child; k; k = k->next) {
        wharf_str name = W->mem->format(req, "%s%s", before, k->name);

        if (k->column != (size_t)-1)
            names[k->column] = name;
        if (k->child)
            name_columns(req, k, W->mem->format(req, "%s.", name.p).p, names);
    }
}

wharf_str table_header(wharf_req *req, struct table *t)
{
    wharf_str *names;

    t->n_columns = 0;
    number_columns(t, &t->root);
    names = W->mem->alloc(req, (t->n_columns + 1) * sizeof(*names));
    name_columns(req, &t->root, "", names);
    return export_table_line_of(req, names, t->n_columns, true);
}

wharf_status table_rows(wharf_req *req, const struct table *t, const wharf_json *const *rows,
    size_t n, enum row_kind *kinds, wharf_str *lines)
{
    wharf_str *cells = W->mem->alloc(req, (n * t->n_columns + 1) * sizeof(*cells));
    struct cells c = {.room = t->dates.plain ? 0 : n * t->n_columns};
    wharf_status s;

    c.dates = W->mem->alloc(req, (c.room + 1) * sizeof(*c.dates));
    for (size_t i = 0; i < n; i++) {
        c.text = cells + i * t->n_columns;
        c.error = false;
        for (const struct node *k = t->root.child; k; k = k->next) {
            const wharf_json *v = W->json->get(rows[i], k->name);

            if (v && t->flatten)
                spread(req, t, k, v, &c, 0);
            else if (v)
                export_table_put_cell(req, k, v, &c);
        }
        kinds[i] = c.error ? ROW_ERROR : ROW_GOOD;
    }
    s = dates_render(req, &t->dates, c.dates, c.n_dates);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        const wharf_str *row = cells + i * t->n_columns;

        for (size_t k = 0; k < t->n_columns && kinds[i] == ROW_GOOD; k++)
            kinds[i] = is_harmless(row[k]) ? ROW_GOOD : ROW_SANITIZED;
        if (kinds[i] != ROW_ERROR)
            lines[i] = export_table_line_of(req, row, t->n_columns, kinds[i] == ROW_SANITIZED);
    }
    return s;
}
