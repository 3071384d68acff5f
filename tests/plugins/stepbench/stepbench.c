/* stepbench.c - a plugin that takes part in what becomes of events: steps, a handler, a resident
 * that fetches. For tests of kernel/event/ and kernel/job/resident.c. */
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"

#include <stdio.h>
#include <stdlib.h>

#include "stepbench.gen.h"

static const wharf_host *host;
static const wharf_events_api *events;
static const wharf_fetch_api *fetch;

static wharf_val text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}

static wharf_val integer(int64_t i)
{
    return (wharf_val){.type = WHARF_V_INT, .u.i = i};
}

static wharf_str text_of(wharf_req *req, const char *name)
{
    const wharf_json *body, *v;
    wharf_str s = WHARF_S("");

    if (host->req->body(req, &body) == WHARF_OK && (v = host->json->get(body, name)) != NULL)
        host->json->text(v, &s);
    return s;
}

/* ---- steps ---- */

static wharf_status note(
    wharf_req *req, wharf_str who, const wharf_event *e, wharf_str body, size_t chunk)
{
    wharf_val args[7] = {text(e ? e->organization : host->req->organization(req)), text(who),
        text(e->id), text(e->type), integer(e->sequence), text(body), integer((int64_t)chunk)};

    return host->db->exec(req,
        "INSERT INTO stepbench.seen (organization_id, who, event_id, type, sequence, body, chunk)"
        " VALUES ($1, $2, $3, $4, $5::bigint, $6, $7::integer)",
        args, 7, NULL);
}

static wharf_status see(
    wharf_req *req, const wharf_event *const *list, size_t n, uint8_t *outcomes, void *arg)
{
    wharf_status s = WHARF_OK;

    (void)arg;
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (list[i]->disable_webhooks)
            outcomes[i] = WHARF_STEP_SKIPPED;
        s = note(req, WHARF_S("step"), list[i], list[i]->body, n);
    }
    return s;
}

/* Writes, and then fails as long as it was told to: nothing of what it wrote may be seen. */
static wharf_status weak(
    wharf_req *req, const wharf_event *const *list, size_t n, uint8_t *outcomes, void *arg)
{
    static const char sql[] = "SELECT EXISTS (SELECT FROM stepbench.fault WHERE until > (SELECT "
                              "nextval('stepbench.calls')))";
    const wharf_rows *rows;
    wharf_val broken;
    wharf_status s = host->db->query(req, "SELECT 1 FROM stepbench.fault", NULL, 0, &rows);

    (void)arg;
    if (s == WHARF_OK && !host->db->count(rows)) {
        for (size_t i = 0; i < n; i++)
            outcomes[i] = WHARF_STEP_SKIPPED;
        return WHARF_OK;
    }
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = note(req, WHARF_S("weak"), list[i], list[i]->thin, n);
    if (s == WHARF_OK)
        s = host->db->query(req, sql, NULL, 0, &rows);
    if (s == WHARF_OK && host->db->value(rows, 0, 0, WHARF_V_BOOL, &broken) && broken.u.i)
        return host->err->fail(req, "stepbench.broken", NULL, NULL);
    return s;
}

/* ---- handler ---- */

static wharf_status handle(wharf_req *req, void *arg)
{
    const wharf_json *body;
    wharf_event e = {.organization = host->req->organization(req),
        .id = text_of(req, "id"),
        .type = text_of(req, "type")};

    (void)arg;
    if (host->req->body(req, &body) == WHARF_OK)
        host->json->integer(host->json->get(body, "sequence"), &e.sequence);
    return note(req, WHARF_S("handler"), &e, WHARF_S(""), 0);
}

/* ---- resident ---- */

struct errand {
    wharf_fetch *fetch;
    char organization[64];
    int64_t n;
};
enum { ERRANDS = 64 };

static void start_errands(wharf_req *req, struct errand *all)
{
    const wharf_rows *rows;
    wharf_val most = integer(0), v;
    size_t slot = 0;

    for (size_t i = 0; i < ERRANDS; i++)
        most.u.i += !all[i].fetch;
    if (host->db->query(req, "SELECT organization_id, n, url FROM stepbench.take($1::integer)",
            &most, 1, &rows) != WHARF_OK)
        return;
    for (size_t row = 0; row < host->db->count(rows); row++) {
        wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
            .flags = WHARF_FETCH_HTTP | WHARF_FETCH_REUSE | WHARF_FETCH_ANY_STATUS};

        while (all[slot].fetch)
            slot++;
        host->db->value(rows, row, 0, WHARF_V_TEXT, &v);
        snprintf(all[slot].organization, sizeof(all[slot].organization), "%s", v.u.s.p);
        host->db->value(rows, row, 1, WHARF_V_INT, &v);
        all[slot].n = v.u.i;
        host->db->value(rows, row, 2, WHARF_V_TEXT, &v);
        r.url = v.u.s;
        if (fetch->start(req, &r, &all[slot].fetch) != WHARF_OK)
            host->err->clear(req);
    }
    host->db->commit(req);
}

static void settle(wharf_req *req, struct errand *e)
{
    wharf_str organization = {e->organization, __builtin_strlen(e->organization)};
    wharf_val args[4] = {integer(e->n), integer(fetch->status(e->fetch)),
        text(fetch->outcome(e->fetch)), text(organization)};

    if (events->act_for(req, organization) == WHARF_OK && host->db->begin(req) == WHARF_OK) {
        host->db->exec(req,
            "UPDATE stepbench.errand SET status = $2::integer, outcome = $3 WHERE n = $1::bigint "
            "AND organization_id = $4",
            args, 4, NULL);
        host->db->commit(req);
    }
    events->act_for(req, WHARF_S(""));
    host->err->clear(req);
    fetch->done(req, e->fetch);
    e->fetch = NULL;
}

static wharf_status errands(wharf_req *req, void *arg)
{
    struct errand *all = host->mem->alloc(req, sizeof(*all) * ERRANDS);

    (void)arg;
    while (!host->req->cancelled(req)) {
        wharf_scope *scope = host->mem->scope_begin(req);
        wharf_fetch *f;

        while ((f = fetch->next(req, 0)) != NULL) {
            for (size_t i = 0; i < ERRANDS; i++) {
                if (all[i].fetch == f)
                    settle(req, &all[i]);
            }
        }
        start_errands(req, all);
        host->db->rollback(req);
        host->err->clear(req);
        host->mem->scope_end(req, scope);
        events->wait(req, 5000);
    }
    return WHARF_OK;
}

/* ---- routes ---- */

/* {"type", "id", "how"}: an event of that type; then {"rename"} and {"recolor"} change the row
 * in the same transaction; "wake" wakes residents; "batch": as part of that batch, three
 * workflows deep, without webhooks. */
static wharf_status emit(wharf_req *req, void *arg)
{
    const wharf_json *extra, *body;
    wharf_str type = text_of(req, "type"), how = text_of(req, "how"), id = text_of(req, "id");
    wharf_status s = WHARF_OK;
    wharf_out *out;

    (void)arg;
    if (text_of(req, "batch").n)
        events->cause(req, text_of(req, "batch"), 3, true);
    if (how.n && s == WHARF_OK)
        s = host->json->parse(req, host->mem->format(req, "{\"how\":\"%s\"}", how.p), &extra);
    if (s == WHARF_OK && type.n)
        s = host->event->emit(req, type.p, "thing", id, how.n ? extra : NULL);
    for (int i = 0; s == WHARF_OK && i < 2; i++) {
        static const char *const fields[] = {"rename", "recolor"}, *const names[] = {
                                                                       "name", "color"};
        wharf_str value = text_of(req, fields[i]);

        if (!value.n)
            continue;
        s = host->json->parse(
            req, host->mem->format(req, "{\"%s\":\"%s\"}", names[i], value.p), &body);
        if (s == WHARF_OK)
            s = host->res->update(req, "thing", id, body, NULL);
    }
    if (s == WHARF_OK && text_of(req, "wake").n)
        events->wake(req);
    if (s == WHARF_OK && text_of(req, "fail").n)
        s = host->err->fail(req, "stepbench.refused", NULL, NULL);
    if (s != WHARF_OK)
        return s;
    out = host->req->respond(req, 200, "Done");
    host->json->open(out, NULL, '{');
    host->json->close(out);
    return WHARF_OK;
}

/* One transaction that creates a thing and changes it twice; "undo": the second change is taken
 * back with its savepoint. */
static wharf_status create_and_change(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    const wharf_json *body;
    wharf_str id;
    wharf_out *out;
    wharf_status s = host->json->parse(req, WHARF_S("{\"name\":\"one\"}"), &body);

    (void)arg;
    if (s == WHARF_OK)
        s = host->res->create(req, "thing", body, &rec);
    if (s != WHARF_OK)
        return s;
    id = host->res->id(rec);
    s = host->json->parse(req, WHARF_S("{\"name\":\"two\"}"), &body);
    if (s == WHARF_OK)
        s = host->res->update(req, "thing", id, body, NULL);
    if (s == WHARF_OK)
        s = host->db->begin(req);
    if (s == WHARF_OK)
        s = host->json->parse(req, WHARF_S("{\"name\":\"three\"}"), &body);
    if (s == WHARF_OK)
        s = host->res->update(req, "thing", id, body, NULL);
    if (s == WHARF_OK && text_of(req, "undo").n)
        host->db->rollback(req);
    else if (s == WHARF_OK)
        s = host->db->commit(req);
    if (s != WHARF_OK)
        return s;
    out = host->req->respond(req, 200, "Done");
    host->json->open(out, NULL, '{');
    host->json->put(out, "id", text(id));
    host->json->close(out);
    return WHARF_OK;
}

static wharf_status compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_val name;

    (void)f;
    for (size_t i = 0; i < n; i++) {
        if (host->res->get(recs[i], THING_NAME, &name))
            host->json->put(outs[i], NULL, text(host->mem->format(req, "%.100s!", name.u.s.p)));
    }
    return WHARF_OK;
}

static const wharf_route routes[] = {
    {ROUTE_EMIT, .handler = emit},
    {ROUTE_CREATE_AND_CHANGE, .handler = create_and_change},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const wharf_hooks hooks = {.head = WHARF_HEAD(wharf_hooks), .compute = compute};
    const wharf_resource resource = {.head = WHARF_HEAD(wharf_resource),
        .name = "thing",
        .definition = THING_DEFINITION,
        .definition_hash = THING_DEFINITION_HASH,
        .hooks = &hooks};
    const wharf_event_step steps[] = {
        {.head = WHARF_HEAD(wharf_event_step), .name = "stepbench.see", .fn = see},
        {.head = WHARF_HEAD(wharf_event_step), .name = "stepbench.weak", .fn = weak},
    };

    events = host->service(self, "wharf.events", 1, 0);
    fetch = host->service(self, "wharf.fetch", 1, 0);
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &resource);
    ROUTES(api, d, routes);
    for (size_t i = 0; i < 2; i++)
        events->step(d, &steps[i]);
    api->on_event(d, "stepbench.thing.*", handle, NULL);
    api->job(d, "errands", errands, NULL, WHARF_S("{\"resident\": true}"));
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
