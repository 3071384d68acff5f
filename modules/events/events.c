/* events.c - the module events (spec 07 sections 1 and 3): event records as a resource, the
 * catalogue of types.
 *
 * Reading records needs no code. Leaves to others: writing and processing them, which is the
 * kernel's; deliveries, which are webhooks'. */
#include "events.h"

#include "events.gen.h"

const wharf_host *events_host;
const wharf_events_api *events_api;
const wharf_token_api *events_tokens;
const wharf_keys_api *events_keys;
const wharf_mail_api *events_mail;
const wharf_config_api *events_config;
const wharf_org_directory_api *events_org;
wharf_plugin *events_self;

/* ---- the catalogue ---- */

struct wanted {
    bool system, resource, examples;
    wharf_str module;
};

static wharf_status events_read_wanted(wharf_req *req, struct wanted *w)
{
    wharf_str v;

    *w = (struct wanted){.system = true, .resource = true, .module = WHARF_S("")};
    if (events_host->req->param(req, "type", &v)) {
        w->system = same(v, WHARF_S("system"));
        w->resource = same(v, WHARF_S("resource"));
        if (!w->system && !w->resource)
            return events_host->err->fail(
                req, ERR_PARAM_INVALID, "type", "type must be system or resource");
    }
    events_host->req->param(req, "module", &w->module);
    if (events_host->req->param(req, "include_examples", &v)) {
        w->examples = same(v, WHARF_S("true"));
        if (!w->examples && !same(v, WHARF_S("false")))
            return events_host->err->fail(req, ERR_PARAM_INVALID, "include_examples",
                "include_examples must be true or false");
    }
    return WHARF_OK;
}

static wharf_status put_type(
    wharf_req *req, wharf_out *out, const wharf_event_type *t, bool example)
{
    const wharf_json_api *j = events_host->json;
    const wharf_json *data;
    wharf_status s = WHARF_OK;

    j->open(out, NULL, '{');
    j->put(out, "object", val_text(WHARF_S("event_type")));
    j->put(out, "type", val_text(t->type));
    j->put(out, "description", val_text(t->description));
    j->put(out, "system", val_bool(t->system));
    j->put(out, "resource_type", val_text(t->resource_type));
    j->put(out, "module", val_text(t->module));
    j->put(out, "supersedable", val_bool(t->supersedable));
    j->put(out, "deprecated", val_bool(t->deprecated));
    j->put(out, "schema", val_text(t->schema));
    if (example) {
        s = j->parse(req, t->example, &data);
        if (s == WHARF_OK)
            j->put(out, "example", val_json(data));
    }
    j->close(out);
    return s;
}

static wharf_status list_types(wharf_req *req, void *arg)
{
    size_t n = events_api->type_count(events_self);
    struct wanted w;
    wharf_out *out;
    wharf_status s = events_read_wanted(req, &w);

    if (s != WHARF_OK)
        return s;
    out = events_host->req->respond(req, 200, "Event types retrieved");
    events_host->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_event_type t = {.head = WHARF_HEAD(wharf_event_type)};

        if (events_api->type_at(events_self, i, &t) && (t.system ? w.system : w.resource) &&
            (!w.module.n || same(w.module, t.module)))
            s = put_type(req, out, &t, w.examples);
    }
    events_host->json->close(out);
    return s;
}

/* ---- tokens of the stream, for browsers ---- */

static wharf_status make_token(wharf_req *req, void *arg)
{
    int64_t expires_us = events_host->req->now_us(req) + TOKEN_SECONDS * 1000000LL;
    wharf_str token;
    wharf_out *out;
    wharf_status s = events_tokens->make(
        req, TOKEN_KIND, events_keys->caller(req)->key_id, expires_us, &token);

    if (s != WHARF_OK)
        return s;
    out = events_host->req->respond(req, 201, "Stream token created");
    events_host->req->one_time(req, "token");
    events_host->json->open(out, NULL, '{');
    events_host->json->put(out, "object", val_text(WHARF_S("event_stream_token")));
    events_host->json->put(out, "token", val_text(token));
    events_host->json->put(out, "expires_at", val_time(expires_us));
    events_host->json->close(out);
    return WHARF_OK;
}

/* ---- the module ---- */

static const char mail_policy[] = "{" WHARF_MAIL_TRIES ", \"transaction\": \"own\"}";

/* The last four are pages for people: a look shows a button, only the button does something, since
 * mail programs look at links by themselves. */
static const wharf_route routes[] = {
    {ROUTE_TYPES, .handler = list_types},
    {ROUTE_TOKEN, .handler = make_token},
    {ROUTE_VERIFY_PAGE, .handler = verify_page},
    {ROUTE_VERIFY_DONE, .handler = verify_done},
    {ROUTE_UNSUBSCRIBE_PAGE, .handler = unsubscribe_page},
    {ROUTE_UNSUBSCRIBE_DONE, .handler = unsubscribe_done},
};

static void events_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const struct {
        wharf_head head;
    } catalog = {WHARF_HEAD(wharf_head)};
    const wharf_event_step alerts = {
        .head = WHARF_HEAD(wharf_event_step), .name = "subscribers_email", .fn = alerts_step};
    const wharf_events_api *events = events_host->service(self, "wharf.events", 1, 0);

    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->provide(d, "events.catalog", 1, 0, &catalog);
    declare_resource(d, api, "event", (wharf_str)EVENT_DEFINITION, EVENT_DEFINITION_HASH, NULL);
    declare_resource(d, api, "event_subscriber", (wharf_str)EVENT_SUBSCRIBER_DEFINITION,
        EVENT_SUBSCRIBER_DEFINITION_HASH, &subscriber_hooks);
    ROUTES(api, d, routes);
    events->step(d, &alerts);
    api->job(d, "verify", verify_send, NULL, (wharf_str){mail_policy, sizeof(mail_policy) - 1});
    api->job(d, "alert", alerts_send, NULL, (wharf_str){mail_policy, sizeof(mail_policy) - 1});
    api->job(d, "tidy", subscribers_tidy, NULL,
        WHARF_S("{\"every\": \"12h\", \"for\": \"organizations\", \"retries\": 1}"));
    events->stream(d, "/v1/events/stream", "events:read", TOKEN_KIND);
}

static wharf_status events_start(wharf_plugin *self, wharf_req *req)
{
    events_self = self;
    events_api = events_host->service(self, "wharf.events", 1, 0);
    events_tokens = events_host->service(self, "wharf.token", 1, 1);
    events_keys = events_host->service(self, "wharf.keys", 1, 0);
    events_mail = events_host->service(self, "wharf.mail", 1, 1);
    events_config = events_host->service(self, "wharf.config", 1, 0);
    events_org = events_host->service(self, "org.directory", 1, 2);
    return events_api && events_tokens && events_keys && events_mail && events_config && events_org
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = events_declare,
        .start = events_start};

    events_host = host;
    return &desc;
}
