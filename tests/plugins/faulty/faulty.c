/* faulty.c - a resource, and routes, rules and jobs that crash, end the process, hang or leak.
 * For tests/api/operation/test_operation.py, test_workers.py and test_blame.py. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

/* Ends the process in the way that the path says. */
static wharf_status end_process(wharf_req *req, void *how)
{
    (void)req;
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(3);
    if (strcmp(how, "_Exit") == 0)
        _Exit(3);
    _exit(3);
}

/* Writes to where nothing is. */
static wharf_status segfault(wharf_req *req, void *arg)
{
    volatile int *nowhere = NULL;

    (void)req, (void)arg;
    __asm__ volatile("" : "+r"(nowhere)); /* or the compiler writes a trap instead */
    *nowhere = 1;
    return WHARF_OK;
}

/* Takes 100 MB a second until somebody ends it. */
static wharf_status fill(wharf_req *req, void *arg)
{
    enum { BYTES = 4 << 20 };
    const struct timespec nap = {0, 40000000};

    (void)req, (void)arg;
    for (;;) {
        char *lost = malloc(BYTES);

        memset(lost, 1, BYTES); /* as plugins do who never ran out of memory */
        __asm__ volatile("" : : "r"(lost) : "memory");
        nanosleep(&nap, NULL);
    }
    return WHARF_OK;
}

static wharf_status nothing(wharf_req *req, void *arg)
{
    (void)req, (void)arg;
    return WHARF_OK;
}

/* {"job"}: asks for that job. */
static wharf_status ask(wharf_req *req, void *arg)
{
    const wharf_json *body, *name, *args;
    wharf_str job = WHARF_S("");
    wharf_status s = host->req->body(req, &body);

    (void)arg;
    if (s == WHARF_OK && (name = host->json->get(body, "job")) != NULL)
        host->json->text(name, &job);
    if (s == WHARF_OK)
        s = host->json->parse(req, WHARF_S("{}"), &args);
    if (s == WHARF_OK)
        s = host->event->enqueue(req, job.p, WHARF_S(""), args, 0);
    if (s == WHARF_OK)
        host->req->respond(req, 200, "Enqueued");
    return s;
}

/* On the rows of another module: a location of the name "Hang" is never written, one of the name
 * "Exit" ends the process. */
static wharf_status normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *name = host->res->member(new_rec, "name");
    wharf_str text;

    (void)req, (void)op;
    if (name && host->json->text(name, &text) && text.n == 4 && memcmp(text.p, "Hang", 4) == 0)
        hang();
    if (name && host->json->text(name, &text) && text.n == 4 && memcmp(text.p, "Exit", 4) == 0)
        _exit(3);
    return WHARF_OK;
}

/* Makes the row of a fault "Lies" or "Changes" another; of the first it says that it did not,
 * as it says truly of a fault "Kept". */
static wharf_status written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] = "UPDATE faulty.fault SET name = 'Changed' WHERE organization_id = $1"
                              " AND id = $2 AND name IN ('Lies', 'Changes')";
    wharf_val args[2] = {
        {.type = WHARF_V_TEXT, .u.s = host->req->organization(req)}, {.type = WHARF_V_TEXT}};
    wharf_val name;
    wharf_status s;

    (void)old_rec;
    if (op == WHARF_DELETE || !host->res->get(new_rec, FAULT_NAME, &name))
        return WHARF_OK;
    args[1].u.s = host->res->id(new_rec);
    s = host->db->exec(req, sql, args, 2, NULL);
    if (name.u.s.n == 4 &&
        (memcmp(name.u.s.p, "Lies", 4) == 0 || memcmp(name.u.s.p, "Kept", 4) == 0))
        host->res->row_kept(new_rec);
    return s;
}

static void more_routes(wharf_decl *d, const wharf_decl_api *api)
{
    static const struct {
        const char *path;
        wharf_handler *handler;
        void *arg;
    } routes[] = {
        {"/v1/faults/_exit/now", end_process, (void *)"_exit"},
        {"/v1/faults/_Exit/now", end_process, (void *)"_Exit"},
        {"/v1/faults/exit/now", end_process, (void *)"exit"},
        {"/v1/faults/quick_exit/now", end_process, (void *)"quick_exit"},
        {"/v1/faults/fill/now", fill, NULL},
    };
    wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/faults/ask/now",
        .scope = "faults:write",
        .definition = WHARF_S(
            "{\"summary\": \"Asks for a job\", \"location\": \"none\", \"body\": {\"type\": "
            "\"object\", \"required\": [\"job\"], \"properties\": {\"job\": {\"type\": "
            "\"string\"}}}}"),
        .handler = ask};

    api->route(d, &route);
    route.definition = WHARF_S("{\"summary\": \"Ends the worker\", \"location\": \"none\"}");
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        route.path = routes[i].path;
        route.handler = routes[i].handler;
        route.arg = routes[i].arg;
        api->route(d, &route);
    }
    api->job(d, "quick", nothing, NULL, WHARF_S("{\"keep\": \"1d\"}"));
    api->job(d, "quick_long", nothing, NULL, WHARF_S("{\"keep\": \"1d\", \"long\": true}"));
    api->job(d, "ends", end_process, (void *)"_exit", WHARF_S("{\"crashes\": 100}"));
    api->job(d, "segfaults", segfault, NULL, WHARF_S("{\"crashes\": 100}"));
    api->job(d, "fills", fill, NULL, WHARF_S("{\"crashes\": 100}"));
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const int table = 1;
    static const wharf_hooks rules = {.head = WHARF_HEAD(wharf_hooks), .normalize = normalize};
    static const wharf_hooks own = {.head = WHARF_HEAD(wharf_hooks), .written = written};
    const wharf_resource fault = {.head = WHARF_HEAD(wharf_resource),
        .name = "fault",
        .definition = FAULT_DEFINITION,
        .definition_hash = FAULT_DEFINITION_HASH,
        .hooks = &own};
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
    more_routes(d, api);
    api->hook(d, "location", &rules, 0);
    api->provide(d, "faulty.answers", 1, 0, &table);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
