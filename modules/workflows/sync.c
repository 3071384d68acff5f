/* sync.c - GET /v1/workflows/sync: everything that a device needs of workflows, or what
 * changed since it asked last (spec 08 section 2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

enum {
    ITEMS_MAX = 2000, /* workflows of one answer */
    TOKEN_DAYS = 30, /* a token of a sync is good */
    DAY_US_PER_S = 1000000
};

struct asked_for {
    bool draft, since;
    bool moved; /* the token is of another view */
    int64_t change; /* of the token */
    /* which workflows can be in it: now, and as the token says */
    unsigned long long view, reported_view;
    const wharf_json *reach, *places; /* the caller's locations, location_id; or NULL: all */
};

static int sync_by_bytes(const void *a, const void *b)
{
    return strcmp(((const wharf_str *)a)->p, ((const wharf_str *)b)->p);
}

/* Returns a line of the view: an order of places says nothing. */
static wharf_str places_text(wharf_req *req, const wharf_json *list)
{
    size_t n = list ? W->json->count(list) : 0, k = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids)),
              text = list ? WHARF_S("") : WHARF_S("*");

    for (const wharf_json *e = n ? W->json->at(list, 0) : NULL; e; e = W->json->next(e))
        k += W->json->text(e, &ids[k]);
    qsort(ids, k, sizeof(*ids), sync_by_bytes);
    for (size_t i = 0; i < k; i++) {
        if (!i || !same(ids[i], ids[i - 1]))
            text = W->mem->format(req, "%s %s", text.p, ids[i].p);
    }
    return text;
}

/* Computes the view of what is asked for and what the caller reaches: rights that change leave no
 * trace in the workflows, so the token carries them. */
static unsigned long long sync_view_of(wharf_req *req, const struct asked_for *a)
{
    return run_seed(
        W->mem->format(req, "%s\n%s", places_text(req, a->reach).p, places_text(req, a->places).p));
}

/* Reads "w2-CHANGE-DAY-VIEW", of drafts "d2-…", which is a list of its own. Which day: tokens are
 * good for a month. */
static wharf_status read_token(wharf_req *req, wharf_str text, struct asked_for *a)
{
    long long change = -1, day = -1;
    int64_t today = W->req->now_us(req) / DAY_US_PER_S / 86400;
    char list = 0;
    int used = 0;

    if (sscanf(text.p, "%c2-%18lld-%9lld-%16llx%n", &list, &change, &day, &a->reported_view,
            &used) != 4 ||
        list != (a->draft ? 'd' : 'w') || (size_t)used != text.n || change < 0 || day > today + 1 ||
        day < today - TOKEN_DAYS)
        return W->err->fail(req, ERR_WORKFLOW_SYNC_TOKEN, "since", NULL);
    a->since = true;
    a->change = change;
    return WHARF_OK;
}

static wharf_status sync_read_places(wharf_req *req, wharf_str list, struct asked_for *a)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '[');
    for (const char *p = list.p; *p;) {
        size_t n = strcspn(p, ",");
        wharf_str id = W->mem->format(req, "%.*s", (int)n, p);

        if (W->req->need_location(req, id) != WHARF_OK)
            return W->err->current(req);
        W->json->put(out, NULL, val_text(id));
        p += n + (p[n] == ',');
    }
    W->json->close(out);
    return W->json->result(req, out, &a->places);
}

static wharf_status read_query(wharf_req *req, struct asked_for *a)
{
    wharf_str text;
    wharf_status s = WHARF_OK;

    if (W->req->param(req, "status", &text) && text.n) {
        if (!is(text, "draft") && !is(text, "published"))
            return W->err->fail(req, ERR_PARAM_INVALID, "status", "status is published or draft");
        a->draft = is(text, "draft");
    }
    if (W->req->param(req, "since", &text))
        s = read_token(req, text, a);
    if (s == WHARF_OK && W->req->param(req, "location_id", &text) && text.n)
        s = sync_read_places(req, text, a);
    return s;
}

static const char list_sql[] = QUERY_SYNC_LIST;

static void sync_put_item(wharf_req *req, wharf_out *out, const wharf_rows *rows, size_t i)
{
    static const char *const members[] = {"id", "name", "description", "allowed_locations",
        "version", "enabled", "triggers", "settings", "updated_at", "sha256"};
    static const uint32_t types[] = {WHARF_V_TEXT, WHARF_V_TEXT, WHARF_V_TEXT, WHARF_V_JSON,
        WHARF_V_INT, WHARF_V_BOOL, WHARF_V_JSON, WHARF_V_JSON, WHARF_V_TIME_US, WHARF_V_TEXT};
    /* settings of many small values take more when they are read */
    wharf_scope *scope = W->mem->scope_begin(req);
    wharf_val v;

    W->json->open(out, NULL, '{');
    for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
        W->json->put(out, members[k], W->db->value(rows, i, k, types[k], &v) ? v : val_null());
    W->json->close(out);
    W->mem->scope_end(req, scope);
}

static wharf_status sync_answer(
    wharf_req *req, const struct asked_for *a, const wharf_rows *rows, int64_t change)
{
    size_t n = W->db->count(rows), seen = 0;
    wharf_out *out;

    while (seen < n && row_bool(rows, seen, 10))
        seen++;
    if (n > ITEMS_MAX)
        return W->err->fail(req, ERR_PARAM_INVALID, a->since ? "since" : "location_id",
            a->since ? "Too much changed since then; leave since out"
                     : "These are more than 2,000 workflows; say a location_id");
    out = W->req->respond(req, 200, "Workflows retrieved");
    W->json->open(out, NULL, '{');
    W->json->open(out, "workflows", '[');
    for (size_t i = 0; i < seen; i++)
        sync_put_item(req, out, rows, i);
    W->json->close(out);
    W->json->open(out, "deleted", '[');
    for (size_t i = seen; i < n; i++)
        W->json->put(out, NULL, val_text(row_text(rows, i, 0)));
    W->json->close(out);
    W->json->put(out, "sync_token",
        val_text(W->mem->format(req, "%c2-%lld-%lld-%llx", a->draft ? 'd' : 'w', (long long)change,
            (long long)(W->req->now_us(req) / DAY_US_PER_S / 86400), a->view)));
    W->json->close(out);
    return WHARF_OK;
}

wharf_status sync_route(wharf_req *req, void *arg)
{
    static const char last_sql[] =
        "SELECT COALESCE(max(change), 0) FROM workflows.workflow WHERE organization_id = $1::text";
    struct asked_for a = {0};
    const wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *last, *rows;
    wharf_status s = read_query(req, &a);

    a.reach = run_reach(req);
    a.view = s == WHARF_OK ? sync_view_of(req, &a) : 0;
    a.moved = a.since && a.view != a.reported_view;
    if (s == WHARF_OK) /* first: what is committed in between comes again the next time */
        s = W->db->query(req, last_sql, &organization, 1, &last);
    if (s == WHARF_OK && a.since && a.change > row_int(last, 0, 0))
        s = W->err->fail(req, ERR_WORKFLOW_SYNC_TOKEN, "since", NULL);
    const wharf_val args[] = {organization, val_bool(a.draft),
        a.since ? val_int(a.change) : val_null(), a.reach ? val_json(a.reach) : val_null(),
        a.places ? val_json(a.places) : val_null(), val_bool(a.moved)};
    if (s == WHARF_OK)
        s = W->db->query(req, list_sql, args, sizeof(args) / sizeof(args[0]), &rows);
    return s == WHARF_OK ? sync_answer(req, &a, rows, row_int(last, 0, 0)) : s;
}
