/* jobbench.c - jobs of every sort, well and ill behaved, and a route that asks for them. For
 * tests of kernel/job/. */
#include "wharf/plugin.h"

#include <stdlib.h>
#include <time.h>

#include "jobbench.gen.h"

static const wharf_host *host;

static int64_t number(wharf_req *req, const char *name, int64_t fallback)
{
    const wharf_json *body, *v;
    int64_t i = fallback;

    if (host->req->body(req, &body) == WHARF_OK && (v = host->json->get(body, name)) != NULL)
        host->json->integer(v, &i);
    return i;
}

static wharf_str text_of(wharf_req *req, const char *name)
{
    const wharf_json *body, *v;
    wharf_str s = WHARF_S("");

    if (host->req->body(req, &body) == WHARF_OK && (v = host->json->get(body, name)) != NULL)
        host->json->text(v, &s);
    return s;
}

static wharf_str param(const wharf_req *req, const char *name)
{
    wharf_str s = WHARF_S("");

    host->req->param(req, name, &s);
    return s;
}

static wharf_val text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}

static wharf_val integer(int64_t i)
{
    return (wharf_val){.type = WHARF_V_INT, .u.i = i};
}

static void rest(int64_t ms)
{
    struct timespec nap = {ms / 1000, (ms % 1000) * 1000000};

    nanosleep(&nap, NULL);
}

/* One line in the table of effects, in the job's transaction. */
static wharf_status effect(wharf_req *req, wharf_str what)
{
    wharf_val args[5] = {text(host->req->organization(req)), text(param(req, "job_id")),
        text(param(req, "key")), text(what), integer(number(req, "value", 0))};

    return host->db->exec(req,
        "INSERT INTO jobbench.effect (organization_id, job, key, what, value) VALUES ($1, $2, $3, "
        "$4, $5::bigint)",
        args, 5, NULL);
}

static wharf_status count(wharf_req *req, void *what)
{
    rest(number(req, "sleep_ms", 0));
    return effect(req, (wharf_str){what, __builtin_strlen(what)});
}

static wharf_status trivial(wharf_req *req, void *arg)
{
    (void)req, (void)arg;
    return WHARF_OK;
}

/* Its effect is written before it fails: nothing of that may be seen. */
static wharf_status fail_first(wharf_req *req, void *arg)
{
    wharf_status s = effect(req, WHARF_S("fail_first"));

    (void)arg;
    if (s == WHARF_OK && strtoll(param(req, "attempts").p, NULL, 10) < number(req, "failures", 0))
        return host->err->fail(
            req, "jobbench.not_yet", NULL, "run %s fails as it was told", param(req, "attempts").p);
    return s;
}

static wharf_status poison(wharf_req *req, void *arg)
{
    (void)arg;
    if (effect(req, WHARF_S("poison")) == WHARF_OK)
        abort();
    return WHARF_OK;
}

/* value steps of 20 ms; stops when it is told to. */
static wharf_status steps(wharf_req *req, void *arg)
{
    uint32_t n = (uint32_t)number(req, "value", 0);

    (void)arg;
    for (uint32_t i = 1; i <= n; i++) {
        rest(20);
        if (host->event->progress(req, i, n))
            return host->err->fail(req, "jobbench.not_yet", NULL, "stopped at step %u", i);
    }
    return effect(req, WHARF_S("steps"));
}

/* Until the test writes an effect "go" of its organization. */
static wharf_status hold(wharf_req *req, void *arg)
{
    wharf_val organization = text(host->req->organization(req));
    const wharf_rows *rows;
    wharf_status s;

    (void)arg;
    do {
        rest(20);
        s = host->db->query(req,
            "SELECT 1 FROM jobbench.effect WHERE organization_id = $1 AND what = 'go'",
            &organization, 1, &rows);
    } while (s == WHARF_OK && !host->db->count(rows) && !host->event->progress(req, 0, 1));
    return s == WHARF_OK ? effect(req, WHARF_S("hold")) : s;
}

/* Says when it begins and ends, in transactions of its own. */
static wharf_status in_pieces(wharf_req *req, void *arg)
{
    static const wharf_str when[] = {WHARF_S("begin"), WHARF_S("end")};
    wharf_status s = WHARF_OK;

    (void)arg;
    for (size_t i = 0; s == WHARF_OK && i < 2; i++) {
        s = host->db->begin(req);
        if (s == WHARF_OK)
            s = effect(req, when[i]);
        if (s == WHARF_OK)
            s = host->db->commit(req);
        if (i == 0)
            rest(number(req, "sleep_ms", 0));
    }
    return s;
}

/* A resource, by the pipeline, whose transaction nests in the job's; then another job. */
static wharf_status tally(wharf_req *req, void *arg)
{
    wharf_out *out = host->json->builder(req);
    const wharf_json *body;
    wharf_status s;

    (void)arg;
    host->json->open(out, NULL, '{');
    host->json->put(out, "name", text(param(req, "job_id")));
    host->json->close(out);
    s = host->json->result(req, out, &body);
    if (s == WHARF_OK)
        s = host->res->create(req, "tally", body, NULL);
    if (s == WHARF_OK)
        s = host->event->enqueue(req, "count", WHARF_S(""), NULL, 0);
    if (s == WHARF_OK && strtoll(param(req, "attempts").p, NULL, 10) < number(req, "failures", 0))
        return host->err->fail(req, "jobbench.not_yet", NULL, NULL);
    return s;
}

/* {"job", "key", "keys", "args", "times", "delay_ms", "fail"}: times jobs, their args with
 * "value" from 1 on; key, or k0..k<keys-1>. */
static wharf_status enqueue(wharf_req *req, void *arg)
{
    int64_t times = number(req, "times", 1), keys = number(req, "keys", 0),
            from = number(req, "from", 0);
    int64_t delay = number(req, "delay_ms", 0), sleep_ms = number(req, "sleep_ms", 0),
            failures = number(req, "failures", 0);
    int64_t at = delay ? host->req->now_us(req) + delay * 1000 : 0;
    wharf_str key = text_of(req, "key"), job = text_of(req, "job");
    const wharf_json *args;
    wharf_status s = WHARF_OK;
    wharf_out *out;

    (void)arg;
    for (int64_t i = from; s == WHARF_OK && i < from + times; i++) {
        wharf_scope *scope = host->mem->scope_begin(req);
        wharf_str own = keys ? host->mem->format(req, "k%lld", (long long)(i % keys)) : key;

        s = host->json->parse(req,
            host->mem->format(req, "{\"value\": %lld, \"sleep_ms\": %lld, \"failures\": %lld}",
                (long long)number(req, "value", i + 1), (long long)sleep_ms, (long long)failures),
            &args);
        if (s == WHARF_OK)
            s = host->event->enqueue(req, job.p, own, args, at);
        host->mem->scope_end(req, scope);
    }
    if (s == WHARF_OK && number(req, "fail", 0))
        return host->err->fail(req, "jobbench.refused", NULL, NULL);
    if (s != WHARF_OK)
        return s;
    out = host->req->respond(req, 200, "Enqueued");
    host->json->open(out, NULL, '{');
    host->json->put(out, "times", integer(times));
    host->json->close(out);
    return WHARF_OK;
}

static void jobs(wharf_decl *d, const wharf_decl_api *api)
{
    api->job(d, "count", count, (void *)"count", WHARF_S("{\"backoff\": {\"first\": \"100ms\"}}"));
    api->job(d, "patient", count, (void *)"patient", WHARF_S("{\"long\": true}"));
    api->job(d, "hold", hold, NULL, WHARF_S("{\"long\": true}"));
    api->job(d, "hold_usual", hold, NULL, WHARF_S(""));
    api->job(d, "kept", count, (void *)"kept", WHARF_S("{\"keep\": \"1d\"}"));
    api->job(d, "trivial", trivial, NULL, WHARF_S(""));
    api->job(d, "fail_first", fail_first, NULL,
        WHARF_S("{\"retries\": 3, \"backoff\": {\"first\": \"1h\", \"factor\": 2, \"max\": "
                "\"90m\", \"jitter\": false}}"));
    api->job(d, "fail_fast", fail_first, NULL,
        WHARF_S("{\"retries\": 3, \"backoff\": {\"first\": \"50ms\", \"factor\": 1, \"max\": "
                "\"50ms\"}}"));
    api->job(d, "poison", poison, NULL, WHARF_S("{\"retries\": 5}"));
    api->job(d, "poison_thrice", poison, NULL, WHARF_S("{\"crashes\": 3}"));
    api->job(d, "steps", steps, NULL, WHARF_S("{\"timeout\": \"10s\", \"retries\": 0}"));
    api->job(d, "in_pieces", in_pieces, NULL,
        WHARF_S(
            "{\"concurrency\": 2, \"transaction\": \"own\", \"backoff\": {\"first\": \"100ms\"}}"));
    api->job(d, "tally", tally, NULL,
        WHARF_S("{\"backoff\": {\"first\": \"50ms\", \"max\": \"50ms\"}}"));
    api->job(d, "urgent", count, (void *)"urgent", WHARF_S("{\"priority\": 10}"));
    api->job(d, "lane_a", count, (void *)"lane_a", WHARF_S("{\"lane\": \"jobbench.shared\"}"));
    api->job(d, "lane_b", count, (void *)"lane_b", WHARF_S("{\"lane\": \"jobbench.shared\"}"));
    api->job(d, "hourly", count, (void *)"hourly", WHARF_S("{\"every\": \"1h\"}"));
    api->job(d, "nightly", count, (void *)"nightly",
        WHARF_S("{\"at\": \"03:00\", \"for\": \"organizations\"}"));
}

static const wharf_route routes[] = {
    {ROUTE_ENQUEUE, .handler = enqueue},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource resource = {.head = WHARF_HEAD(wharf_resource),
        .name = "tally",
        .definition = TALLY_DEFINITION,
        .definition_hash = TALLY_DEFINITION_HASH};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &resource);
    ROUTES(api, d, routes);
    jobs(d, api);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
