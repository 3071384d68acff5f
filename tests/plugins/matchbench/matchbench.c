/* matchbench.c - POST /v1/matchbench: a label through the service contacts.match; answers what
 * it found. */
#include <string.h>

#include "wharf/ext/contacts.h"
#include "wharf/ext/locations.h"
#include "wharf/values.h"

#include "matchbench.gen.h"

static const wharf_host *host;
static const wharf_contacts_match_api *matches;
static const wharf_locations_directory_api *places;

static wharf_str text(const wharf_json *body, const char *key)
{
    const wharf_json *v = host->json->get(body, key);
    wharf_str s = {"", 0};

    if (v)
        host->json->text(v, &s);
    return s;
}

static uint32_t number(const wharf_json *body, const char *key, uint32_t otherwise)
{
    const wharf_json *v = host->json->get(body, key);
    int64_t n;

    return v && host->json->integer(v, &n) ? (uint32_t)n : otherwise;
}

static const wharf_str *texts(
    wharf_req *req, const wharf_json *body, const char *key, size_t *ret_n)
{
    const wharf_json *list = host->json->get(body, key);
    wharf_str *p = host->mem->alloc(req, (list ? host->json->count(list) + 1 : 1) * sizeof(*p));

    *ret_n = 0;
    for (const wharf_json *m = list ? host->json->at(list, 0) : NULL; m; m = host->json->next(m))
        *ret_n += host->json->text(m, &p[*ret_n]);
    return p;
}

static wharf_status address(
    wharf_req *req, const wharf_json *body, const char *key, const wharf_json **ret)
{
    const wharf_json *v = host->json->get(body, key);
    wharf_str whole;
    wharf_status s;

    *ret = NULL;
    if (!v)
        return WHARF_OK;
    s = places->address(req, v, WHARF_S(""), key, &whole);
    return s == WHARF_OK ? host->json->parse(req, whole, ret) : s;
}

static wharf_status run(wharf_req *req, void *arg)
{
    wharf_match_label label = {.head = WHARF_HEAD(wharf_match_label)};
    const wharf_json *body, *found;
    wharf_status s = host->req->body(req, &body);

    (void)arg;
    if (s == WHARF_OK)
        s = address(req, body, "address", &label.address);
    if (s == WHARF_OK)
        s = address(req, body, "own_address", &label.own_address);
    if (s != WHARF_OK)
        return s;
    label.name = text(body, "name");
    label.business = text(body, "business");
    label.email = text(body, "email");
    label.phone = text(body, "phone");
    label.location_id = text(body, "location_id");
    label.ignore = texts(req, body, "ignore", &label.n_ignore);
    label.remembered = texts(req, body, "remembered", &label.n_remembered);
    label.flags = number(body, "exact", 0) ? WHARF_MATCH_EXACT : 0;
    label.order = number(body, "order", WHARF_MATCH_PRECEDENCE);
    label.limit = number(body, "limit", WHARF_MATCH_LIMIT);
    label.threshold = number(body, "threshold", WHARF_MATCH_THRESHOLD);
    label.tolerance = number(body, "tolerance", WHARF_MATCH_TOLERANCE);
    s = matches->find(req, &label, &found);
    if (s == WHARF_OK)
        host->json->put(host->req->respond(req, 200, "Contacts matched"), NULL, wharf_value(found));
    return s;
}

static const wharf_route routes[] = {
    {ROUTE_MATCH, .handler = run},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    ROUTES(api, d, routes);
    api->errors(d, (wharf_str)ERRORS);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    matches = host->service(self, "contacts.match", 1, 0);
    places = host->service(self, "locations.directory", 1, 0);
    return matches && places ? WHARF_OK : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    host = given;
    return &desc;
}
