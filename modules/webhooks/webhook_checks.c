/* webhook_checks.c - values that clients send for webhooks, and the service webhooks.rules, by
 * which other modules take the same ones (spec 07 sections 5 and 9,
 * plugin-api/wharf/ext/webhooks.h). */
#include <strings.h>

#include "webhook_match.h"
#include "webhooks.gen.h"
#include "reply.h"
#include "webhook_schedule.h"
#include "webhooks.h"

enum {
    HEADER_NAMES_MAX = 20, /* own headers of a webhook */
    HEADER_NAME = 64, /* letters of a name */
    HEADER_VALUE = 1024 /* letters of a value */
};

/* ---- lists ---- */

static wharf_status unique_texts(wharf_req *req, const wharf_json *list, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        wharf_str a = WHARF_S(""), b;
        bool before = false;

        W->json->text(e, &a);
        for (const wharf_json *o = W->json->at(list, 0); o != e; o = W->json->next(o))
            before |= W->json->text(o, &b) && same(a, b);
        if (!before)
            W->json->put(out, NULL, val_text(a));
    }
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Checks the scopes. All patterns are looked at, so that all missing scopes are told. */
static wharf_status scopes_check(wharf_req *req, const wharf_json *patterns)
{
    wharf_str pattern;

    for (const wharf_json *e = patterns ? W->json->at(patterns, 0) : NULL; e;
         e = W->json->next(e)) {
        if (W->json->text(e, &pattern))
            hooks_events->need_pattern(req, pattern);
    }
    return W->err->current(req);
}

wharf_status owner_check(wharf_req *req, const wharf_json *patterns, wharf_val *ret_key)
{
    wharf_str key = hooks_keys->caller(req)->key_id;

    *ret_key = key.n ? val_text(key) : val_null();
    return scopes_check(req, patterns);
}

wharf_status events_check(
    wharf_req *req, const wharf_json *list, const char *path, const wharf_json **ret_list)
{
    size_t i = 0;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++) {
        wharf_str type = WHARF_S("");

        W->json->text(e, &type);
        if (!hooks_events->pattern_known(hooks_self, type))
            W->err->add(req, ERR_WEBHOOK_EVENT_UNKNOWN, W->mem->format(req, "%s.%zu", path, i).p,
                "There is no event type %.*s; GET /v1/events/types lists them", (int)type.n,
                type.p);
    }
    if (W->err->current(req) == WHARF_OK)
        scopes_check(req, list);
    return W->err->current(req) == WHARF_OK && list ? unique_texts(req, list, ret_list)
                                                    : W->err->current(req);
}

wharf_status locations_check(
    wharf_req *req, const wharf_json *list, const char *path, const wharf_json **ret_list)
{
    const wharf_caller *who = hooks_keys->caller(req);
    size_t n = list ? W->json->count(list) : 0, i = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    bool *known = W->mem->alloc(req, n + 1);
    wharf_status s;

    *ret_list = NULL;
    if (!list)
        return who->all_locations
                   ? WHARF_OK
                   : W->err->fail(req, ERR_LOCATION_ACCESS, path,
                         "The key reaches some locations only; name those that this is of");
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e))
        W->json->text(e, &ids[i++]);
    for (i = 0; i < n; i++) {
        if (W->req->need_location(req, ids[i]) != WHARF_OK)
            return W->err->current(req);
    }
    s = hooks_keys->known_locations(req, who->test_mode, ids, n, known);
    for (i = 0; s == WHARF_OK && i < n; i++) {
        if (!known[i])
            W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "%s.%zu", path, i).p,
                "There is no location %.*s", (int)ids[i].n, ids[i].p);
    }
    if (s == WHARF_OK)
        s = W->err->current(req);
    return s == WHARF_OK ? unique_texts(req, list, ret_list) : s;
}

wharf_status filter_check(wharf_req *req, const wharf_json *list, const char *path)
{
    size_t i = 0;

    if (list && W->json->count(list) > FILTER_MAX)
        return W->err->fail(
            req, ERR_WEBHOOK_FILTER_INVALID, path, "There are more than %d conditions", FILTER_MAX);
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++) {
        const char *problem = match_condition_problem(W->json, e);

        if (problem)
            W->err->add(req, ERR_WEBHOOK_FILTER_INVALID, W->mem->format(req, "%s.%zu", path, i).p,
                "%s", problem);
    }
    return W->err->current(req);
}

wharf_status reach_check(wharf_req *req, const wharf_json *list)
{
    wharf_str id;

    if (hooks_keys->caller(req)->all_locations)
        return WHARF_OK;
    if (!list)
        return W->err->fail(
            req, ERR_LOCATION_ACCESS, NULL, "This is of all locations, and the key is not");
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        if (W->json->text(e, &id) && W->req->need_location(req, id) != WHARF_OK)
            return W->err->current(req);
    }
    return WHARF_OK;
}

/* ---- headers ---- */

static bool webhook_checks_begins(wharf_str s, const char *z)
{
    return s.n >= strlen(z) && strncasecmp(s.p, z, strlen(z)) == 0;
}

static bool equals(wharf_str s, const char *z)
{
    return s.n == strlen(z) && webhook_checks_begins(s, z);
}

static bool header_name(wharf_str name)
{
    static const char token[] =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return name.n && name.n <= HEADER_NAME && strspn(name.p, token) == name.n &&
           !webhook_checks_begins(name, "webhook-") && !webhook_checks_begins(name, "wharf-") &&
           !webhook_checks_begins(name, "content-") && !hooks_fetch->header_reserved(name) &&
           !equals(name, "user-agent") && !equals(name, "traceparent");
}

static bool header_value(wharf_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
            return false;
    }
    return value.n <= HEADER_VALUE;
}

static const wharf_json *webhook_checks_named(const wharf_json *headers, wharf_str name)
{
    for (const wharf_json *m = headers ? W->json->at(headers, 0) : NULL; m; m = W->json->next(m)) {
        if (W->json->key(m).n == name.n && strncasecmp(W->json->key(m).p, name.p, name.n) == 0)
            return m;
    }
    return NULL;
}

/* Takes one pair into both objects: with its value to be sealed, and with *** to be shown. */
static void webhook_checks_take_header(wharf_req *req, const wharf_json *m, const wharf_json *old,
    const char *at, wharf_out *sealed, wharf_out *shown)
{
    wharf_str name = W->json->key(m), value = WHARF_S("");
    const char *path = W->mem->format(req, "%s.%.*s", at, (int)name.n, name.p).p;

    if (!header_name(name)) {
        W->err->add(req, ERR_WEBHOOK_HEADER_INVALID, path,
            "The name has 1 to %d characters and is none that the server sets itself", HEADER_NAME);
        return;
    }
    if (!W->json->text(m, &value) || !header_value(value)) {
        W->err->add(req, ERR_WEBHOOK_HEADER_INVALID, path,
            "The value is a text of one line with up to %d bytes", HEADER_VALUE);
        return;
    }
    if (is(value, "***") && webhook_checks_named(old, name))
        W->json->text(webhook_checks_named(old, name), &value);
    name = W->mem->dup(req, name.p, name.n);
    W->json->put(sealed, name.p, val_text(value));
    W->json->put(shown, name.p, val_text(WHARF_S("***")));
}

wharf_status headers_check(wharf_req *req, const wharf_json *given, wharf_str before,
    const char *path, const wharf_json **ret_shown, wharf_str *ret_values)
{
    wharf_out *sealed = W->json->writer(req), *shown = W->json->builder(req);
    const wharf_json *old = NULL;
    wharf_status s = before.n ? W->json->parse(req, before, &old) : WHARF_OK;

    if (s != WHARF_OK)
        return s;
    if (W->json->count(given) > HEADER_NAMES_MAX)
        return W->err->fail(req, ERR_WEBHOOK_HEADER_INVALID, path, "There are more than %d headers",
            HEADER_NAMES_MAX);
    W->json->open(sealed, NULL, '{');
    W->json->open(shown, NULL, '{');
    for (const wharf_json *m = W->json->at(given, 0); m; m = W->json->next(m)) {
        if (webhook_checks_named(given, W->json->key(m)) != m)
            W->err->add(req, ERR_WEBHOOK_HEADER_INVALID, path, "A header stands there twice");
        webhook_checks_take_header(req, m, old, path, sealed, shown);
    }
    W->json->close(sealed);
    W->json->close(shown);
    s = W->err->current(req);
    *ret_values = W->json->count(given) ? W->json->result_text(sealed) : WHARF_S("");
    return s == WHARF_OK ? W->json->result(req, shown, ret_shown) : s;
}

/* ---- the service ---- */

static wharf_status webhook_checks_wanted(wharf_req *req, const wharf_event *e,
    const wharf_json *events, const wharf_json *locations, const wharf_json *filter,
    bool *ret_wanted)
{
    const struct wanting w = {
        .id = WHARF_S(""), .events = events, .locations = locations, .filter = filter};

    const wharf_event *found;
    wharf_status s = delivery_wanted(req, &w, e, &found);

    *ret_wanted = s == WHARF_OK && found;
    return s;
}

static wharf_status webhook_checks_answer(wharf_req *req, const wharf_fetch *f,
    const wharf_json **ret_response, const wharf_json **ret_error, int64_t *ret_wait_ms)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *both;
    struct result r;
    wharf_status s;

    attempt_judge(req, f, &r);
    W->json->open(out, NULL, '{');
    put_response(req, out, &r);
    put_error(out, &r);
    W->json->close(out);
    s = W->json->result(req, out, &both);
    if (s != WHARF_OK)
        return s;
    *ret_response = W->json->get(both, "response");
    *ret_error = W->json->get(both, "error");
    if (W->json->type(*ret_response) == WHARF_J_NULL)
        *ret_response = NULL;
    if (W->json->type(*ret_error) == WHARF_J_NULL)
        *ret_error = NULL;
    *ret_wait_ms = r.pause_ms ? r.pause_ms : r.later_ms;
    return WHARF_OK;
}

static bool webhook_checks_retry_wait(
    const char *mode, uint32_t retries, double random, int64_t *ret_ms)
{
    return schedule_wait((wharf_str){mode, strlen(mode)}, retries, random, ret_ms);
}

const wharf_webhooks_rules_api webhooks_rules = {WHARF_HEAD(wharf_webhooks_rules_api), events_check,
    locations_check, filter_check, headers_check, url_check, reach_check, webhook_checks_wanted,
    webhook_checks_answer, webhook_checks_retry_wait, owner_check};
