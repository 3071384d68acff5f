/* told.c - see told.h. */
#include "resource/told.h"

#include <stdlib.h>

#include "resource/plan.h"
#include "util/str.h"

struct view told_view(const struct definition *d)
{
    return (struct view){.in = IN_RETRIEVE,
        .without = d->events.without,
        .n_without = d->events.n_without,
        .newest = d->events.newest,
        .n_newest = d->events.n_newest};
}

/* ---- parts that not all readers see ---- */

/* Makes the parts of one row: what SQL found stands in it as it is. */
static wharf_str make_parts(
    struct arena *a, const struct definition_events *events, const PGresult *r, int row)
{
    wharf_str s;
    struct buf b;
    struct jw w;

    buf_init(&b, SIZE_MAX / 2);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < events->n_parts; i++) {
        const struct event_part *p = &events->parts[i];
        int at = (int)i + 1;

        jw_open(&w, p->field->name, '{');
        if (p->of)
            jw_z(&w, "of", p->of);
        if (p->newest)
            jw_int(&w, "newest", p->newest);
        if (p->one)
            jw_bool(&w, "one", true);
        if (!PQgetisnull(r, row, at))
            jw_raw(
                &w, "lines", (wharf_str){PQgetvalue(r, row, at), (size_t)PQgetlength(r, row, at)});
        jw_close(&w, '}');
    }
    jw_close(&w, '}');
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

/* Reads the parts of these rows, all lines of them, whoever asks. Returns false after problems. */
static bool told_read_parts(
    struct wharf_req *req, const struct resource *res, struct wharf_rec *const *recs, size_t n)
{
    const struct definition_events *events = &res->def->events;
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n);
    struct sql s;
    PGresult *r;

    for (size_t i = 0; i < n; i++)
        ids[i] = record_id(recs[i]);
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT i.place");
    for (size_t i = 0; i < events->n_parts; i++)
        sql_addf(&s, ", (SELECT json_agg(json_build_array(x.at, x.line)) FROM (%s) x)",
            events->parts[i].lines);
    sql_add(&s, " FROM unnest(");
    sql_bind_set(&s, ids, n, "text");
    sql_addf(&s,
        ") WITH ORDINALITY AS i(id, place) CROSS JOIN LATERAL (SELECT * FROM %s x WHERE "
        "x.id = i.id AND x.organization_id = ",
        res->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, res->def));
    sql_add(&s, " LIMIT 1) t");
    r = req_query_sql(req, &s);
    for (int row = 0; r && row < PQntuples(r); row++)
        recs[strtoull(PQgetvalue(r, row, 0), NULL, 10) - 1]->parts = make_parts(
            req->arena, events, r, row);
    return r != NULL;
}

wharf_status told_compute(
    struct wharf_req *req, const struct resource *res, struct wharf_rec *const *recs, size_t n)
{
    const struct view view = told_view(res->def);
    size_t asked = req->head.n_pairs;
    wharf_status s;

    /* ?include_shipments=true is for the answer of the request, and changes no event. */
    req->head.n_pairs = 0;
    s = compute_fields(req, res, recs, n, &view);
    req->head.n_pairs = asked;
    if (s == WHARF_OK && n && res->def->events.n_parts && !told_read_parts(req, res, recs, n))
        return req_failed(req);
    return s;
}
