/* change.c - see change.h. */
#include "lua/change.h"

#include "resource/access.h"
#include "util/str.h"
#include "util/time.h"

enum { INPUT_BYTES = 64 << 20 };

const char *write_action(uint32_t op)
{
    return op == OP_CREATE ? "create" : op == OP_UPDATE ? "update" : "delete";
}

static wharf_str change_body_text(struct arena *a, const struct wharf_json *v)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, INPUT_BYTES);
    jw_init(&w, &out);
    jw_value(&w, NULL, v);
    text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return text;
}

/* Returns the row as the write would leave it: the old one with what the body says. Children are
 * as they were sent, without ids. */
wharf_str write_row_to_be(struct wharf_req *req, const struct write *w)
{
    const struct definition *d = w->res->def;
    struct view view = {.in = IN_RETRIEVE};
    struct wharf_rec rec = {.res = w->res, .arena = req->arena, .id = w->id};
    wharf_str now = time_iso(req->arena, req->now_us);
    struct cell at = {now.p, now.n},
                who = {req->access.who->actor_id.p, req->access.who->actor_id.n};

    rec.cells = ARENA_ARRAY(req->arena, struct cell, w->res->n_cells);
    if (w->old_rec) {
        memcpy(rec.cells, w->old_rec->cells, w->res->n_cells * sizeof(struct cell));
    } else {
        rec.cells[COL_ID] = (struct cell){w->id.p, w->id.n};
        rec.cells[COL_CREATED_AT] = at;
        rec.cells[COL_CREATED_BY] = who;
        rec.cells[COL_VERSION] = (struct cell){"1", 1};
    }
    rec.cells[COL_UPDATED_AT] = at;
    rec.cells[COL_UPDATED_BY] = who;
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        const struct value *v = &w->values[i];
        struct cell *cell = record_cell(&rec, f);
        wharf_str text = v->present ? (v->null ? (wharf_str){NULL, 0} : v->text) : absent_text(f);

        if (!cell || (w->old_rec && !v->present))
            continue;
        if (f->kind == FIELD_CHILDREN)
            text = v->present ? change_body_text(req->arena, json_get(w->body, f->name))
                              : str_z("[]");
        else if (!field_written(f))
            continue;
        *cell = (struct cell){text.p, text.n};
    }
    return record_json(req->arena, &rec, &view);
}

wharf_str write_location(const struct write *w)
{
    const struct field *f = w->res->def->place.location;
    const struct value *v = f && w->values && f->kind == FIELD_COLUMN ? &w->values[f->index] : NULL;

    if (w->res->def->place.is_location)
        return w->id;
    if (v && v->present && !v->null && f->store == STORE_TEXT)
        return v->text;
    return w->old_rec ? record_location(w->old_rec) : str_z("");
}

static void change_text_if_any(struct jw *w, const char *key, wharf_str text)
{
    if (text.n)
        jw_str(w, key, text);
}

/* Tells whether the member of a body is one that organizations' hooks are not shown. */
static bool change_left_out(const struct definition *d, const struct wharf_json *m)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].unhooked && str_eqz(m->key, d->fields[i].name))
            return true;
    }
    return false;
}

static bool leaves_out(const struct write *w)
{
    for (const struct wharf_json *m = w->body ? w->body->child : NULL; m; m = m->next) {
        if (change_left_out(w->res->def, m))
            return true;
    }
    return false;
}

/* An object that is made of members of others. */
struct made {
    struct wharf_json *object, **last;
};

static void change_take(struct arena *a, struct made *to, const struct wharf_json *m)
{
    *to->last = ARENA_NEW(a, struct wharf_json);
    **to->last = *m;
    (*to->last)->next = NULL;
    to->last = &(*to->last)->next;
    to->object->count++;
}

static struct made empty_like(struct arena *a, const struct wharf_json *body)
{
    struct made to = {.object = ARENA_NEW(a, struct wharf_json)};

    *to.object = *body;
    to.object->child = NULL;
    to.object->count = 0;
    to.last = &to.object->child;
    return to;
}

const struct wharf_json *write_shown(struct wharf_req *req, const struct write *w)
{
    struct made to;

    if (!leaves_out(w))
        return w->body;
    to = empty_like(req->arena, w->body);
    for (const struct wharf_json *m = w->body->child; m; m = m->next) {
        if (!change_left_out(w->res->def, m))
            change_take(req->arena, &to, m);
    }
    return to.object;
}

const struct wharf_json *write_whole(
    struct wharf_req *req, const struct write *w, const struct wharf_json *input)
{
    struct made to;

    if (!json_is(input, JSON_OBJECT) || !leaves_out(w))
        return input;
    to = empty_like(req->arena, w->body);
    for (const struct wharf_json *m = input->child; m; m = m->next)
        change_take(req->arena, &to, m);
    for (const struct wharf_json *m = w->body->child; m; m = m->next) {
        if (change_left_out(w->res->def, m) && !json_get(input, m->key.p))
            change_take(req->arena, &to, m);
    }
    return to.object;
}

/* Writes the names of what the body has and is not shown. */
static void put_without(struct jw *jw, const struct write *w)
{
    if (!leaves_out(w))
        return;
    jw_open(jw, "without", '[');
    for (const struct wharf_json *m = w->body->child; m; m = m->next) {
        if (change_left_out(w->res->def, m))
            jw_str(jw, NULL, m->key);
    }
    jw_close(jw, ']');
}

wharf_str write_change_text(
    struct wharf_req *req, const struct write *w, wharf_str new_row, bool whole)
{
    struct view view = {.in = IN_RETRIEVE};
    struct buf out;
    struct jw jw;
    wharf_str text;

    buf_init(&out, INPUT_BYTES);
    jw_init(&jw, &out);
    jw_open(&jw, NULL, '{');
    jw_z(&jw, "resource", w->res->def->name);
    jw_z(&jw, "action", write_action(w->op));
    jw_str(&jw, "id", w->id);
    change_text_if_any(&jw, "location_id", write_location(w));
    if (w->old_rec)
        jw_raw(&jw, "old", record_json(req->arena, w->old_rec, &view));
    if (w->body && w->op != OP_DELETE) {
        jw_value(&jw, "input", whole ? w->body : write_shown(req, w));
        if (!whole)
            put_without(&jw, w);
    }
    if (new_row.n)
        jw_raw(&jw, "new", new_row);
    jw_close(&jw, '}');
    text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}
