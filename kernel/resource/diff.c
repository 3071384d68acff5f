/* diff.c - what an update changed: entries of the change log, and the old values for the event.
 *
 * Compares the two rows as JSON (every field, also those never shown), so that it needs no code
 * per field: objects by key, arrays of objects with an id by id, other arrays as a whole.
 * docs/spec/01-platform.md section 13 'changes'. */
#include "resource/newest.h"
#include "resource/write.h"

#include "util/str.h"

enum { VALUE_MAX = 16000 }; /* code points */

struct diff {
    struct arena *arena;
    struct jw changes;
    bool secret, silent; /* of the top-level field being compared */
    size_t n;
};

/* Returns how many bytes the first VALUE_MAX code points have. */
static size_t diff_beginning(wharf_str text)
{
    size_t n = 0, points = 0;

    if (text.n <= VALUE_MAX)
        return text.n;
    while (n < text.n) {
        bool starts = ((unsigned char)text.p[n] & 0xC0) != 0x80;

        if (starts && points++ == VALUE_MAX)
            break;
        n++;
    }
    return n;
}

/* Cuts long values; the whole then stands as a string. */
static bool diff_write_value(struct diff *d, const char *key, const struct wharf_json *v)
{
    wharf_str text = v && v->type == JSON_STRING ? v->text : jw_text(d->arena, v);
    size_t n = diff_beginning(text);

    if (n == text.n) {
        if (v)
            jw_value(&d->changes, key, v);
        else
            jw_null(&d->changes, key);
        return false;
    }
    jw_str(&d->changes, key, arena_dup(d->arena, text.p, n));
    return true;
}

static void diff_tell(
    struct diff *d, wharf_str path, const struct wharf_json *old, const struct wharf_json *new)
{
    bool cut;

    d->n++;
    if (d->silent)
        return;
    jw_open(&d->changes, NULL, '{');
    jw_str(&d->changes, "field", path);
    if (d->secret) {
        jw_z(&d->changes, "old", old && old->type != JSON_NULL ? "***" : NULL);
        jw_z(&d->changes, "new", new &&new->type != JSON_NULL ? "***" : NULL);
    } else {
        cut = diff_write_value(d, "old", old);
        cut = diff_write_value(d, "new", new) || cut;
        if (cut)
            jw_bool(&d->changes, "truncated", true);
    }
    jw_close(&d->changes, '}');
}

static bool rows_by_id(const struct wharf_json *v)
{
    if (v->type != JSON_ARRAY)
        return false;
    for (const struct wharf_json *e = v->child; e; e = e->next) {
        if (!json_is(json_get(e, "id"), JSON_STRING))
            return false;
    }
    return true;
}

static const struct wharf_json *row_with_id(const struct wharf_json *array, wharf_str id)
{
    for (const struct wharf_json *e = array->child; e; e = e->next) {
        if (str_eq(json_get(e, "id")->text, id))
            return e;
    }
    return NULL;
}

/* Joins a path and a key. A dot inside a key is written \. (01 section 1 'Field path grammar'). */
static wharf_str diff_join(struct arena *a, wharf_str path, wharf_str key)
{
    char *p = arena_alloc(a, path.n + 2 * key.n + 2);
    size_t n = path.n;

    if (n) {
        memcpy(p, path.p, n);
        p[n++] = '.';
    }
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '.')
            p[n++] = '\\';
        p[n++] = key.p[i];
    }
    return (wharf_str){p, n};
}

static void diff_compare(
    struct diff *d, wharf_str path, const struct wharf_json *old, const struct wharf_json *new);

static void compare_objects(
    struct diff *d, wharf_str path, const struct wharf_json *old, const struct wharf_json *new)
{
    struct json_index in_old = json_index(d->arena, old), in_new = json_index(d->arena, new);

    for (const struct wharf_json *m = old->child; m; m = m->next)
        diff_compare(d, diff_join(d->arena, path, m->key), m, json_index_get(&in_new, m->key));
    for (const struct wharf_json *m = new->child; m; m = m->next) {
        if (!json_index_get(&in_old, m->key))
            diff_compare(d, diff_join(d->arena, path, m->key), NULL, m);
    }
}

static void compare_rows(
    struct diff *d, wharf_str path, const struct wharf_json *old, const struct wharf_json *new)
{
    for (const struct wharf_json *e = old->child; e; e = e->next) {
        wharf_str id = json_get(e, "id")->text;

        diff_compare(d, diff_join(d->arena, path, id), e, row_with_id(new, id));
    }
    for (const struct wharf_json *e = new->child; e; e = e->next) {
        wharf_str id = json_get(e, "id")->text;

        if (!row_with_id(old, id))
            diff_compare(d, diff_join(d->arena, path, id), NULL, e);
    }
}

static void diff_compare(
    struct diff *d, wharf_str path, const struct wharf_json *old, const struct wharf_json *new)
{
    if (old && new &&json_equal(old, new))
        return;
    if (str_ends(path, ".updated_at"))
        return;
    if (!old || !new)
        diff_tell(d, path, old, new);
    else if (old->type == JSON_OBJECT && new->type == JSON_OBJECT)
        compare_objects(d, path, old, new);
    else if (rows_by_id(old) && rows_by_id(new) && (old->count || new->count))
        compare_rows(d, path, old, new);
    else
        diff_tell(d, path, old, new);
}

static bool tells_nothing(const char *name)
{
    return !strcmp(name, "updated_at") || !strcmp(name, "updated_by");
}

static bool diff_left_out(const struct definition_events *events, const struct field *f)
{
    for (size_t i = 0; i < events->n_without; i++) {
        if (events->without[i] == f)
            return true;
    }
    return !(f->in & IN_RETRIEVE) || f->writers;
}

bool rows_differ(struct wharf_req *req, const struct wharf_rec *old_rec,
    const struct wharf_rec *new_rec, wharf_str *ret_changes, wharf_str *ret_previous)
{
    const struct definition *def = new_rec->res->def;
    struct view all = {.in = VIEW_ALL};
    struct json_error e;
    const struct wharf_json *old = json_parse(
        req->arena, record_json(req->arena, old_rec, &all), &e);
    const struct wharf_json *new = json_parse(
        req->arena, record_json(req->arena, new_rec, &all), &e);
    struct buf changes, previous;
    struct diff d = {.arena = req->arena};
    struct jw w;

    buf_init(&changes, 64 << 20);
    buf_init(&previous, 64 << 20);
    jw_init(&d.changes, &changes);
    jw_init(&w, &previous);
    jw_open(&d.changes, NULL, '[');
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < def->n_fields; i++) {
        const struct field *f = &def->fields[i];
        const struct wharf_json *a = json_get(old, f->name), *b = json_get(new, f->name);
        size_t before = d.n;

        if (tells_nothing(f->name) || (!a && !b))
            continue;
        d.secret = f->secret;
        d.silent = !f->log;
        diff_compare(&d, str_z(f->name), a, b);
        if (d.n > before && !diff_left_out(&def->events, f) && !f->secret)
            newest_write(&w, f->name, def->events.newest, def->events.n_newest, f, a);
    }
    jw_close(&d.changes, ']');
    jw_close(&w, '}');
    *ret_changes = arena_dup_str(req->arena, buf_str(&changes));
    *ret_previous = arena_dup_str(req->arena, buf_str(&previous));
    buf_done(&changes);
    buf_done(&previous);
    return d.n > 0;
}
