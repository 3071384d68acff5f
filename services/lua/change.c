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

static wharf_str body_text(struct arena *a, const struct wharf_json *v)
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
            text = v->present ? body_text(req->arena, json_get(w->body, f->name)) : str_z("[]");
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

static void text_if_any(struct jw *w, const char *key, wharf_str text)
{
    if (text.n)
        jw_str(w, key, text);
}

wharf_str write_change_text(struct wharf_req *req, const struct write *w, wharf_str new_row)
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
    text_if_any(&jw, "location_id", write_location(w));
    if (w->old_rec)
        jw_raw(&jw, "old", record_json(req->arena, w->old_rec, &view));
    if (w->body && w->op != OP_DELETE)
        jw_value(&jw, "input", w->body);
    if (new_row.n)
        jw_raw(&jw, "new", new_row);
    jw_close(&jw, '}');
    text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}
