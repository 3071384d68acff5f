/* record.c - cells to JSON and back. See record.h. */
#include "resource/newest.h"
#include "resource/record.h"

#include <stdlib.h>

#include "identity/seen_parts.h"
#include "secret/secret.h"
#include "util/str.h"
#include "util/time.h"

static struct cell cell_of_result(const PGresult *r, int row, int column)
{
    size_t n = (size_t)PQgetlength(r, row, column);

    if (!n && PQgetisnull(r, row, column))
        return (struct cell){NULL, 0};
    return (struct cell){PQgetvalue(r, row, column), n};
}

/* Opens what was sealed; what does not open is null, and the row says so. */
static void open_secrets(struct wharf_rec *rec)
{
    const struct definition *d = rec->res->def;

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        struct cell *c = f->store == STORE_SECRET ? record_cell(rec, f) : NULL;
        struct secret_place at = {
            d->storage.table_name, f->column_name, {rec->cells[COL_ID].p, rec->cells[COL_ID].n}};
        wharf_str plain = {NULL, 0};

        if (!c || !c->p)
            continue;
        rec->locked |= !secret_open(rec->arena, &at, (wharf_str){c->p, c->n}, &plain);
        *c = (struct cell){plain.p, plain.n};
    }
}

struct wharf_rec *record_from_result(
    struct arena *a, const struct resource *res, const PGresult *r, int row)
{
    struct wharf_rec *rec = ARENA_NEW(a, struct wharf_rec);
    int n = PQnfields(r);

    rec->res = res;
    rec->arena = a;
    rec->cells = ARENA_ARRAY(a, struct cell, res->n_cells);
    for (int i = 0; i < n && (size_t)i < res->n_selected; i++)
        rec->cells[i] = cell_of_result(r, row, i);
    if (res->has_secrets)
        open_secrets(rec);
    return rec;
}

wharf_str record_id(const struct wharf_rec *rec)
{
    const struct cell *c = rec->cells ? &rec->cells[COL_ID] : NULL;

    if (!c)
        return rec->id;
    return (wharf_str){c->p ? c->p : "", c->n};
}

int64_t record_version(const struct wharf_rec *rec)
{
    const char *text = rec->cells ? rec->cells[COL_VERSION].p : NULL;

    return text ? strtoll(text, NULL, 10) : 0;
}

wharf_str record_text(const struct wharf_rec *rec, const struct field *f)
{
    const struct cell *c = f && rec->cells ? record_cell(rec, f) : NULL;

    return c && c->p ? (wharf_str){c->p, c->n} : (wharf_str){"", 0};
}

/* ---- encoding: the value of a member whose key is written ---- */

static bool cell_time(const struct cell *c, int64_t *ret_us)
{
    wharf_str s = {c->p, c->n};

    return c->n > 10 && c->p[10] == ' ' ? time_parse_pg(s, ret_us)
                                        : time_parse_iso(s, false, ret_us);
}

/* Makes "2024-01-02T03:04:05.600Z" of "2024-01-02 03:04:05.6+00" without going through an instant:
 * what PostgreSQL wrote is well-formed. */
static bool restamp(const struct cell *c, char out[ISO_MS_LEN + 1])
{
    size_t digits = 0;

    if (c->n < 22 || c->n > 26 || c->p[10] != ' ' || c->p[4] != '-' ||
        memcmp(c->p + c->n - 3, "+00", 3) != 0)
        return false;
    memcpy(out, c->p, 19);
    out[10] = 'T';
    memcpy(out + 19, ".000Z", 6);
    if (c->p[19] != '.')
        return c->n == 22;
    digits = c->n - 23;
    memcpy(out + 20, c->p + 20, digits < 3 ? digits : 3);
    return true;
}

void write_time(struct jw *w, const char *key, int64_t us, enum datetime_format format)
{
    char text[ISO_MS_LEN + 1];

    switch (format) {
    case DATETIME_ISO:
        time_format_iso(us, text);
        jw_str(w, key, (wharf_str){text, ISO_MS_LEN});
        break;
    case DATETIME_EPOCH:
        jw_int(w, key, us >= 0 ? us / 1000000 : -((-us + 999999) / 1000000));
        break;
    case DATETIME_EPOCH_MILLIS:
        jw_int(w, key, us >= 0 ? us / 1000 : -((-us + 999) / 1000));
        break;
    }
}

static void encode_time(struct jw *w, const struct cell *c, enum datetime_format format)
{
    char text[ISO_MS_LEN + 1];
    int64_t us;

    if (format == DATETIME_ISO && restamp(c, text)) {
        jw_str(w, NULL, (wharf_str){text, ISO_MS_LEN});
        return;
    }
    if (!cell_time(c, &us)) {
        jw_null(w, NULL);
        return;
    }
    write_time(w, NULL, us, format);
}

static void encode_decimal(struct jw *w, const struct cell *c)
{
    size_t n = c->n;

    if (memchr(c->p, '.', n)) {
        while (n && c->p[n - 1] == '0')
            n--;
        if (n && c->p[n - 1] == '.')
            n--;
    }
    jw_raw(w, NULL, (wharf_str){c->p, n});
}

/* Writes objects complete, in the order of their schema; members beyond it only where the schema
 * allows any. */
static void encode_json(
    struct jw *w, const char *key, const struct wharf_json *schema, const struct wharf_json *v)
{
    const struct wharf_json *properties = json_get(schema, "properties");
    const struct wharf_json *items = json_get(schema, "items");

    if (properties && v && v->type == JSON_OBJECT) {
        const struct wharf_json *more = json_get(schema, "additionalProperties");

        jw_open(w, key, '{');
        for (const struct wharf_json *p = properties->child; p; p = p->next) {
            const struct wharf_json *member = json_get_n(v, p->key);

            if (!member)
                member = json_get(p, "default");
            encode_json(w, p->key.p, p, member);
        }
        for (const struct wharf_json *m =
                 more && !(more->type == JSON_BOOL && !more->truth) ? v->child : NULL;
             m; m = m->next) {
            if (!json_get_n(properties, m->key))
                jw_value(w, m->key.p, m);
        }
        jw_close(w, '}');
    } else if (items && v && v->type == JSON_ARRAY) {
        jw_open(w, key, '[');
        for (const struct wharf_json *e = v->child; e; e = e->next)
            encode_json(w, NULL, items, e);
        jw_close(w, ']');
    } else if (v) {
        jw_value(w, key, v);
    } else {
        jw_null(w, key);
    }
}

static void encode_nested(
    struct jw *w, struct arena *a, const struct field *f, const struct cell *c)
{
    struct arena_mark mark = arena_mark(a);
    struct json_error e;

    encode_json(w, NULL, f->json, json_parse(a, (wharf_str){c->p, c->n}, &e));
    arena_rewind(a, mark);
}

static struct cell cell_of_json(struct arena *a, const struct wharf_json *v)
{
    wharf_str s;

    if (!v || v->type == JSON_NULL)
        return (struct cell){NULL, 0};
    if (v->type == JSON_STRING || v->type == JSON_NUMBER)
        return (struct cell){v->text.p, v->text.n};
    if (v->type == JSON_BOOL)
        return (struct cell){v->truth ? "t" : "f", 1};
    s = jw_text(a, v);
    return (struct cell){s.p, s.n};
}

static void encode_cell(struct jw *w, struct arena *a, const struct field *f, const struct cell *c,
    const struct view *view);

static void encode_children(struct jw *w, struct arena *a, const struct field *f,
    const struct cell *c, const struct view *view)
{
    struct json_error e;
    const struct wharf_json *list = c->p ? json_parse(a, (wharf_str){c->p, c->n}, &e) : NULL;

    jw_open(w, NULL, '[');
    for (const struct wharf_json *item = list ? list->child : NULL; item; item = item->next) {
        jw_open(w, NULL, '{');
        for (size_t i = 0; i < f->children->n_fields; i++) {
            const struct field *g = &f->children->fields[i];
            struct cell inner = cell_of_json(a, json_get(item, g->name));

            if (g->in || (view->in & VIEW_ALL))
                encode_cell(w, a, g, &inner, view);
        }
        jw_close(w, '}');
    }
    jw_close(w, ']');
}

static bool record_reaches(const struct access *who, wharf_str location)
{
    for (size_t i = 0; i < who->n_locations; i++) {
        if (str_eq(who->locations[i], location))
            return true;
    }
    return false;
}

/* Tells whether an embedded row is visible. at: the location of the embedded row, null, or the set
 * of its locations. */
static bool embed_visible(const struct wharf_json *at, const struct access *who)
{
    const struct wharf_json *one = json_is(at, JSON_ARRAY)    ? at->child
                                   : json_is(at, JSON_STRING) ? at
                                                              : NULL;

    if (!who || who->all_locations || !one)
        return true;
    for (; one; one = at == one ? NULL : one->next) {
        if (record_reaches(who, one->text))
            return true;
    }
    return false;
}

static void encode_embed(struct jw *w, struct arena *a, const struct field *f, const struct cell *c,
    const struct view *view)
{
    struct json_error e;
    const struct wharf_json *v = c->p ? json_parse(a, (wharf_str){c->p, c->n}, &e) : NULL;

    if (!v || !embed_visible(json_get(v, "_location"), view->who)) {
        jw_null(w, NULL);
        return;
    }
    jw_open(w, NULL, '{');
    for (size_t i = 0; i < f->n_embed_fields; i++) {
        const struct wharf_json *m = json_get(v, f->embed_fields[i]);

        if (m)
            jw_value(w, f->embed_fields[i], m);
        else
            jw_null(w, f->embed_fields[i]);
    }
    jw_close(w, '}');
}

/* Writes JSON compactly, as responses are: jsonb prints a space after ',' and ':'. */
static void encode_compact(struct jw *w, struct arena *a, const struct cell *c)
{
    char *p;
    size_t n = 0;
    bool quoted = false;

    if (!memchr(c->p, ' ', c->n)) {
        jw_raw(w, NULL, (wharf_str){c->p, c->n});
        return;
    }
    p = arena_alloc(a, c->n + 1);
    for (size_t i = 0; i < c->n; i++) {
        if (quoted && c->p[i] == '\\' && i + 1 < c->n) {
            p[n++] = c->p[i++];
        } else if (c->p[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && c->p[i] == ' ') {
            continue;
        }
        p[n++] = c->p[i];
    }
    jw_raw(w, NULL, (wharf_str){p, n});
}

/* Writes the rows that an array of ids names, those outside the principal's locations left out. */
static void encode_shown(struct jw *w, struct arena *a, const struct field *f, const struct cell *c,
    const struct view *view)
{
    struct json_error e;
    const struct wharf_json *rows = c && c->p ? json_parse(a, (wharf_str){c->p, c->n}, &e) : NULL;

    jw_open(w, NULL, '[');
    for (const struct wharf_json *row = rows ? rows->child : NULL; row; row = row->next) {
        if (!embed_visible(json_get(row, "_location"), view->who))
            continue;
        jw_open(w, NULL, '{');
        for (size_t i = 0; i < f->n_show; i++)
            jw_value(w, f->show[i], json_get(row, f->show[i]));
        jw_close(w, '}');
    }
    jw_close(w, ']');
}

static void encode_cell(struct jw *w, struct arena *a, const struct field *f, const struct cell *c,
    const struct view *view)
{
    jw_quoted(w, f->quoted);
    if (f->kind == FIELD_CHILDREN) {
        encode_children(w, a, f, c, view);
        return;
    }
    if (f->kind == FIELD_EMBED) {
        encode_embed(w, a, f, c, view);
        return;
    }
    if (!c->p) {
        if (f->store == STORE_METADATA)
            jw_raw(w, NULL, WHARF_S("{}"));
        else if (f->store == STORE_ARRAY && !f->nullable)
            jw_raw(w, NULL, WHARF_S("[]"));
        else
            jw_null(w, NULL);
        return;
    }
    switch (f->store) {
    case STORE_NONE:
        if (f->computed)
            encode_compact(w, a, c);
        else
            jw_raw(w, NULL, (wharf_str){c->p, c->n});
        break;
    case STORE_TEXT:
    case STORE_SECRET: /* for the comparison of two rows only */
        jw_str(w, NULL, (wharf_str){c->p, c->n});
        break;
    case STORE_INT:
        jw_raw(w, NULL, (wharf_str){c->p, c->n});
        break;
    case STORE_DEC:
        encode_decimal(w, c);
        break;
    case STORE_BOOL:
        jw_bool(w, NULL, c->p[0] == 't');
        break;
    case STORE_TIME:
        encode_time(w, c, view->datetime);
        break;
    case STORE_JSON:
        if (json_get(f->json, "properties") || json_get(f->json, "items"))
            encode_nested(w, a, f, c);
        else
            encode_compact(w, a, c);
        break;
    case STORE_ARRAY:
    case STORE_METADATA:
        encode_compact(w, a, c);
        break;
    }
}

static bool record_among(const struct field *const *list, size_t n, const struct field *f)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == f)
            return true;
    }
    return false;
}

bool field_selected(const struct field *f, uint32_t views)
{
    return f->computed && !f->include_flag && (f->in & views);
}

bool record_shows(const struct field *f, const struct view *view)
{
    if (record_among(view->without, view->n_without, f))
        return false;
    if (view->only && !record_among(view->only, view->n_only, f) && strcmp(f->name, "id") != 0)
        return false;
    if (view->in & VIEW_ALL)
        return f->kind != FIELD_COMPUTED && f->kind != FIELD_EMBED;
    if ((f->writers && !view->writer) || (f->held && !view->who))
        return false;
    if (f->include_flag && !f->null_unasked)
        return (f->always & view->in) || (f->index < 64 && (view->includes >> f->index & 1));
    return f->in & view->in;
}

/* Tells whether all rows of the resource are the principal's to see, wherever they are. */
static bool sees_all(const struct access *who, const char *resource)
{
    return !who || (who->all_locations && query_reads(who, str_z(resource)));
}

/* Tells whether the principal may see the data of others' rows that this one holds: it reads
 * those, and reaches them wherever they are, or brought the data. */
static bool sees_held(const struct access *who, const struct wharf_rec *rec)
{
    const struct definition *d = rec->res->def;

    return query_reads(who, record_text(rec, d->holds.resource)) &&
           (who->all_locations ||
               (who->key_id.n && str_eq(who->key_id, record_text(rec, d->holds.key))));
}

/* Tells whether a field with a flag is shown as null, since nobody asked for it. */
static bool is_unasked(const struct field *f, const struct view *view)
{
    return f->null_unasked && !(view->in & VIEW_ALL) && !(f->always & view->in) &&
           (f->index >= 64 || !(view->includes >> f->index & 1));
}

/* Returns the value with the last elements only of its lists, where the view shows no more. */
static struct cell newest_of(
    struct arena *a, const struct field *f, const struct cell *c, const struct view *view)
{
    const struct wharf_json *value = NULL;
    struct json_error error;
    bool any = false;
    struct buf b;
    struct jw w;
    wharf_str s;

    for (size_t i = 0; i < view->n_newest; i++)
        any = any || view->newest[i].field == f;
    if (any && c->p)
        value = json_parse(a, (wharf_str){c->p, c->n}, &error);
    if (!value)
        return *c;
    buf_init(&b, SIZE_MAX / 2);
    jw_init(&w, &b);
    newest_write(&w, NULL, view->newest, view->n_newest, f, value);
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return (struct cell){s.p, s.n};
}

/* Writes recorded data with those of its parts that the principal sees. */
static void encode_recorded(
    struct jw *w, struct arena *a, const struct wharf_rec *rec, const struct view *view)
{
    const struct field *f = rec->res->def->recorded.data;
    wharf_str parts = record_text(rec, rec->res->def->recorded.parts),
              data = parts_shown(a, record_text(rec, f), parts, view->who);
    const struct cell whole = {data.p, data.n};

    encode_cell(w, a, f, &whole, view);
}

void record_members(
    struct jw *w, struct arena *a, const struct wharf_rec *rec, const struct view *view)
{
    const struct definition *d = rec->res->def;
    const struct cell hidden = {NULL, 0};
    struct cell less;

    jw_z(w, "object", d->name);
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        const struct cell *c;

        if (!record_shows(f, view))
            continue;
        if (f->n_show) {
            jw_quoted(w, f->quoted);
            encode_shown(w, a, f, &rec->cells[rec->res->shown_of[i]], view);
            continue;
        }
        if (f->ids_of && f->store != STORE_TEXT && !sees_all(view->who, f->ids_of)) {
            jw_quoted(w, f->quoted);
            jw_raw(w, NULL, WHARF_S("[]"));
            continue;
        }
        c = record_cell(rec, f);
        if (c && is_unasked(f, view))
            c = &hidden;
        if (c && f->held && !(view->in & VIEW_ALL) && !sees_held(view->who, rec))
            c = &hidden;
        if (c && view->n_newest) {
            less = newest_of(a, f, c, view);
            c = &less;
        }
        if (c && f == d->recorded.data && d->recorded.parts && c->p)
            encode_recorded(w, a, rec, view);
        else if (c)
            encode_cell(w, a, f, c, view);
    }
}

void record_encode(struct jw *w, const char *key, struct arena *a, const struct wharf_rec *rec,
    const struct view *view)
{
    jw_open(w, key, '{');
    record_members(w, a, rec, view);
    jw_close(w, '}');
}

wharf_str record_json(struct arena *a, const struct wharf_rec *rec, const struct view *view)
{
    struct buf b;
    struct jw w;
    wharf_str s;

    buf_init(&b, 64 << 20);
    jw_init(&w, &b);
    record_encode(&w, NULL, a, rec, view);
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

/* ---- values for plugins ---- */

static bool record_scaled(wharf_str text, uint32_t scale, int64_t *ret)
{
    struct wharf_json number = {.type = JSON_NUMBER, .text = text};

    return json_decimal(&number, scale, ret);
}

bool cell_value(struct arena *a, const struct field *f, const struct cell *cell, wharf_val *ret)
{
    wharf_str text = {cell && cell->p ? cell->p : "", cell ? cell->n : 0};
    struct json_error e;

    *ret = (wharf_val){.type = WHARF_V_NULL};
    if (!cell || !cell->p)
        return false;
    switch (f->store) {
    case STORE_TEXT:
    case STORE_SECRET:
        *ret = (wharf_val){.type = WHARF_V_TEXT, .u.s = text};
        return true;
    case STORE_INT:
        ret->type = WHARF_V_INT;
        return record_scaled(text, 0, &ret->u.i);
    case STORE_DEC:
        ret->type = WHARF_V_DEC;
        ret->scale = f->scale;
        return record_scaled(text, f->scale, &ret->u.i);
    case STORE_BOOL:
        *ret = (wharf_val){.type = WHARF_V_BOOL, .u.i = text.p[0] == 't'};
        return true;
    case STORE_TIME:
        ret->type = WHARF_V_TIME_US;
        return cell_time(cell, &ret->u.i);
    case STORE_NONE:
    case STORE_JSON:
    case STORE_ARRAY:
    case STORE_METADATA:
        *ret = (wharf_val){.type = WHARF_V_JSON, .u.j = json_parse(a, text, &e)};
        return ret->u.j != NULL;
    }
    return false;
}

bool cell_seal(struct arena *a, const struct definition *d, const struct field *f, wharf_str id,
    struct cell *cell)
{
    struct secret_place at = {d->storage.table_name, f->column_name, id};
    wharf_str sealed;

    if (f->store != STORE_SECRET || !cell->p)
        return true;
    if (!secret_seal(a, &at, (wharf_str){cell->p, cell->n}, &sealed))
        return false;
    *cell = (struct cell){sealed.p, sealed.n};
    return true;
}

bool cell_differs(
    struct arena *a, const struct field *f, const struct cell *cell, const struct value *value)
{
    wharf_val x, y;
    struct cell other = {value->null ? NULL : value->text.p, value->text.n};

    if (!cell || !cell->p || !other.p)
        return (cell && cell->p) != (other.p != NULL);
    if (f->store == STORE_TEXT || f->store == STORE_SECRET)
        return cell->n != other.n || memcmp(cell->p, other.p, other.n) != 0;
    if (!cell_value(a, f, cell, &x) || !cell_value(a, f, &other, &y))
        return true;
    if (x.type == WHARF_V_JSON)
        return !json_equal(x.u.j, y.u.j);
    return x.u.i != y.u.i;
}

void value_from_plugin(
    struct arena *a, const struct field *f, const wharf_val *v, struct value *ret)
{
    int64_t div = 1;

    *ret = (struct value){.present = true, .ruled = true};
    switch (v->type) {
    case WHARF_V_NULL:
        ret->null = true;
        break;
    case WHARF_V_BOOL:
        ret->text = str_z(v->u.i ? "true" : "false");
        break;
    case WHARF_V_INT:
        ret->text = arena_printf(a, "%lld", (long long)v->u.i);
        break;
    case WHARF_V_DEC:
        for (uint32_t i = 0; i < v->scale; i++)
            div *= 10;
        ret->text = arena_printf(a, "%s%lld.%0*lld", v->u.i < 0 ? "-" : "",
            (long long)(v->u.i < 0 ? -(v->u.i / div) : v->u.i / div), (int)v->scale,
            (long long)(v->u.i < 0 ? -(v->u.i % div) : v->u.i % div));
        if (!v->scale)
            ret->text = arena_printf(a, "%lld", (long long)v->u.i);
        break;
    case WHARF_V_DOUBLE:
        ret->text = arena_printf(a, "%.17g", v->u.d);
        break;
    case WHARF_V_TIME_US:
        ret->text = time_iso(a, v->u.i);
        break;
    case WHARF_V_JSON:
        ret->text = jw_text(a, v->u.j);
        ret->json = v->u.j;
        break;
    case WHARF_V_TEXT:
        ret->text = arena_dup_str(a, v->u.s);
        break;
    default:
        ret->null = true;
        break;
    }
    (void)f;
}
