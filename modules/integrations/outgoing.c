/* outgoing.c - requests about events: which integrations want them, and those that are made
 * again (spec 07 section 12).
 *
 * Leaves to others: making them (integration_engine.c). */
#include "integrations.gen.h"
#include "integrations.h"

/* ---- the step ---- */

/* Reads the integrations that want events. *ret_readers: by row, whose rights it has. */
static wharf_status outgoing_read_wanting(
    wharf_req *req, const wharf_rows **ret, const wharf_event_reader ***ret_readers)
{
    static const char sql[] =
        "SELECT id, events, location_ids, filter, owner_key, created_at FROM "
        "integrations.integration WHERE "
        "organization_id = $1::text AND direction = 'outgoing' AND enabled AND deleted_at IS NULL "
        "ORDER BY id";
    const wharf_val organization = val_text(W->req->organization(req));
    wharf_status s = W->db->query(req, sql, &organization, 1, ret);
    size_t n = s == WHARF_OK ? W->db->count(*ret) : 0;
    wharf_str *keys = W->mem->alloc(req, (n + 1) * sizeof(*keys));

    *ret_readers = W->mem->alloc(req, (n + 1) * sizeof(**ret_readers));
    for (size_t i = 0; i < n; i++)
        keys[i] = row_text(*ret, i, 4);
    return s == WHARF_OK ? int_events->readers(req, keys, n, *ret_readers) : s;
}

/* Adds rows. Those that are there already are left alone: the step may be made again. */
static wharf_status outgoing_add(wharf_req *req, wharf_out *rows)
{
    static const char sql[] = QUERY_OUTGOING_ADD;
    const wharf_val args[] = {val_text(W->req->organization(req)),
        val_text(W->json->result_text(rows)), val_time(W->req->now_us(req))};
    wharf_status s = W->db->exec(req, sql, args, 3, NULL);

    if (s == WHARF_OK)
        int_events->wake(req);
    return s;
}

static void outgoing_put_row(
    wharf_req *req, wharf_out *rows, const wharf_event *e, wharf_str integration_id)
{
    W->json->open(rows, NULL, '{');
    W->json->put(rows, "i", val_text(W->req->new_id(req, "out_int")));
    W->json->put(rows, "w", val_text(integration_id));
    W->json->put(rows, "e", val_text(e->id));
    W->json->put(rows, "r", val_text(e->resource_id));
    W->json->put(rows, "x", val_time(e->expires_at_us));
    W->json->close(rows);
}

wharf_status outgoing_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg)
{
    wharf_out *rows = W->json->writer(req);
    const wharf_event_reader **readers;
    const wharf_rows *wanting;
    bool any = false;
    wharf_status s = outgoing_read_wanting(req, &wanting, &readers);

    (void)arg;
    W->json->open(rows, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        outcomes[i] = WHARF_STEP_SKIPPED;
        for (size_t k = 0; s == WHARF_OK && k < W->db->count(wanting); k++) {
            bool wanted = false;
            wharf_val made;

            /* what happened before it was made is not for it */
            if (!W->db->value(wanting, k, 5, WHARF_V_TIME_US, &made) ||
                events[i]->created_at_us < made.u.i)
                continue;
            const wharf_event *e = int_events->for_reader(
                req, readers[k], row_json(wanting, k, 2), events[i]);

            if (!e)
                continue;
            s = int_rules->wanted(req, e, row_json(wanting, k, 1), row_json(wanting, k, 2),
                row_json(wanting, k, 3), &wanted);
            if (s != WHARF_OK || !wanted)
                continue;
            outgoing_put_row(req, rows, events[i], row_text(wanting, k, 0));
            outcomes[i] = WHARF_STEP_COMPLETED;
            any = true;
        }
    }
    W->json->close(rows);
    return s == WHARF_OK && any ? outgoing_add(req, rows) : s;
}

/* ---- another try ---- */

wharf_status outgoing_retry(wharf_req *req, void *arg)
{
    static const char sql[] = QUERY_OUTGOING_AGAIN;
    wharf_str id = WHARF_S("");
    const wharf_rec *rec;
    wharf_status s;

    (void)arg;
    W->req->param(req, "outgoing_integration", &id);
    s = W->res->fetch(req, "outgoing_integration", id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK && !is(field_text(rec, OUTGOING_INTEGRATION_STATUS), "error"))
        return W->err->fail(req, ERR_INTEGRATION_NOT_FAILED, NULL, NULL);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(id), val_time(W->req->now_us(req))};

    if (s == WHARF_OK)
        s = W->db->exec(req, sql, args, 3, NULL);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "outgoing_integration", id, 0, &rec);
    if (s != WHARF_OK)
        return s;
    int_events->wake(req);
    W->res->encode(req, W->req->respond(req, 202, "The request is made again"), NULL, rec);
    return WHARF_OK;
}
