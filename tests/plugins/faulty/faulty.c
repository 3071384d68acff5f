/* faulty.c - a resource, and routes and rules that crash, hang or leak. For tests/api/test_operation.py and test_workers.py. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wharf/plugin.h"

#include "faulty.gen.h"

static const wharf_host *host;

static wharf_status crash(wharf_req *req, void *arg)
{
    (void)req, (void)arg;
    abort();
}

static void hang(void)
{
    for (;;)
        pause();
}

static wharf_status hang_now(wharf_req *req, void *arg)
{
    (void)req, (void)arg;
    hang();
    return WHARF_OK;
}

/* A tenth of a gigabyte that nobody gives back. */
static wharf_status leak(wharf_req *req, void *arg)
{
    enum { BYTES = 100 << 20 };
    char *lost = malloc(BYTES);

    (void)arg;
    if (lost)
        memset(lost, 1, BYTES);
    __asm__ volatile("" : : "r"(lost) : "memory"); /* it is used, says this to the compiler */
    host->req->respond(req, 200, lost ? "Leaked" : "There is no more");
    return WHARF_OK;
}

/* On the rows of another module: a location of the name "Hang" is never written. */
static wharf_status normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *name = host->res->member(new_rec, "name");
    wharf_str text;

    (void)req, (void)op;
    if (name && host->json->text(name, &text) && text.n == 4 && memcmp(text.p, "Hang", 4) == 0)
        hang();
    return WHARF_OK;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const int table = 1;
    static const wharf_hooks rules = {.head = WHARF_HEAD(wharf_hooks), .normalize = normalize};
    const wharf_resource fault = {.head = WHARF_HEAD(wharf_resource),
        .name = "fault",
        .definition = FAULT_DEFINITION,
        .definition_hash = FAULT_DEFINITION_HASH};
    const wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/faults/crash/now",
        .scope = "faults:write",
        .definition = WHARF_S("{\"summary\": \"Ends the worker\", \"location\": \"none\"}"),
        .handler = crash};
    const wharf_route hangs = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/faults/hang/now",
        .scope = "faults:write",
        .definition = WHARF_S("{\"summary\": \"Never answers\", \"location\": \"none\"}"),
        .handler = hang_now};
    const wharf_route leaks = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/faults/leak/now",
        .scope = "faults:write",
        .definition = WHARF_S("{\"summary\": \"Leaks\", \"location\": \"none\"}"),
        .handler = leak};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &fault);
    api->route(d, &route);
    api->route(d, &hangs);
    api->route(d, &leaks);
    api->hook(d, "location", &rules, 0);
    api->provide(d, "faulty.answers", 1, 0, &table);
}

static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
