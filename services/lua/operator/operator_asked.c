/* operator_asked.c - ops of hooks that are asked of the API, the configuration and the metrics,
 * and what they tell others: api.*, config, secret, metric, emit, mail.send, sleep
 * (sandbox/ops.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/config.h"
#include "lua/inner.h"
#include "lua/operator/hook_limits.h"
#include "lua/operator/hosted.h"
#include "lua/operator/operator_inside.h"
#include "lua/tell.h"
#include "secret/hide.h"
#include "process/board.h"
#include "util/str.h"
#include "util/time.h"

enum {
    LABELS_TEXT = 160,
    NAME_TEXT = 64 /* of struct board_series */
};

/* ---- wharf.api ---- */

/* Makes the principal of the installation itself in another organization, or returns NULL: there
 * is none of this id, or it was ended. */
static struct principal *other_organization(struct wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT COALESCE(o.live_organization_id, o.id) FROM wharf.organization o WHERE "
        "o.organization_id = $1::text AND o.id = $1::text AND " ORGANIZATION_THERE;
    struct sql_arg arg = {id.p, id.n};
    size_t problems = req->problems.n;
    PGresult *r = id.n ? req_query(req, sql, &arg, 1) : NULL;
    struct principal *who;

    req->problems.n = problems;
    if (!r || !PQntuples(r))
        return NULL;
    who = principal_system(req->arena, arena_dup_str(req->arena, id));
    who->access.live_organization = arena_dupz(req->arena, PQgetvalue(r, 0, 0));
    who->test_mode = !str_eq(who->access.live_organization, who->organization);
    return who;
}

static const char *api_problem(const struct hook_state *st, wharf_str organization)
{
    if (st->req->tx.depth)
        return "{\"code\":\"op.unknown\",\"message\":\"inside of a request's transaction the API "
               "can't be called; use wharf.db.query\"}";
    if (!st->req->access.who && !organization.n)
        return "{\"code\":\"op.unknown\",\"message\":\"a request without a key has no organization "
               "whose API could be called; use wharf.api.as\"}";
    return NULL;
}

/* Returns a key for a write: what a job writes again when it is tried again has the same key; its
 * id is the request's. */
static wharf_str operator_asked_write_key(struct hook_state *st)
{
    if (!st->req->job)
        return str_z("");
    return arena_printf(st->req->arena, "%s:%u", st->req->request_id, ++st->api_writes);
}

unsigned asked_api_left(const struct hook_state *st)
{
    return API_CALLS_MAX - st->api_calls;
}

enum sandbox_answer asked_api(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text)
{
    wharf_str organization = json_text_or(args, "organization", "");
    const char *problem = api_problem(st, organization);
    struct inner_call call = {.method = str_eqz(op, "api.get")    ? "GET"
                                        : str_eqz(op, "api.post") ? "POST"
                                                                  : "DELETE",
        .path = json_text_or(args, "path", ""),
        .query = json_get(args, "query"),
        .who = st->req->access.who};

    if (problem)
        return host_mistake(ret_text, problem);
    if (organization.n)
        call.who = other_organization(st->req, organization);
    if (!call.who)
        return host_mistake(ret_text,
            "{\"code\":\"not_found\",\"message\":\"there is no organization of this id\"}");
    if (str_eqz(op, "api.as"))
        return SANDBOX_GIVEN;
    if (!str_starts(call.path, "/v1/"))
        return host_mistake(ret_text,
            "{\"code\":\"param.invalid\",\"message\":\"a path of the API begins with /v1/\"}");
    if (!asked_api_left(st)) {
        *ret_text = WHARF_S("{\"code\":\"workflow.budget_calls\",\"message\":\"a hook calls the "
                            "API 1,000 times at most\"}");
        return SANDBOX_ENDED;
    }
    if (!str_eqz(op, "api.get")) {
        if (!inner_key(args, &call.idempotency_key, ret_text))
            return SANDBOX_MISTAKE;
        call.key_is_ours = !call.idempotency_key.p;
        if (call.key_is_ours)
            call.idempotency_key = operator_asked_write_key(st);
    }
    st->api_calls++;
    if (str_eqz(op, "api.post"))
        call.body = json_get(args, "body");
    return inner_request(st->req, &call, ret_text) ? SANDBOX_GIVEN : SANDBOX_REFUSED;
}

/* ---- wharf.emit, wharf.mail ---- */

/* Sends an event or mail of whoever the request is, about the organization and at the call's
 * location unless the hook says otherwise. */
enum sandbox_answer asked_tell(
    struct hook_state *st, wharf_str op, const struct wharf_json *args, wharf_str *ret_text)
{
    struct wharf_req *req = st->req;
    bool mail = str_eqz(op, "mail.send");
    struct lua_sender sender = {.who = req->access.who,
        .resource_type = str_z("organization"),
        .resource_id = req->access.who->organization,
        .location_id = st->location,
        .key = req->job ? arena_printf(req->arena, "%s.%u", req->request_id, st->mails + 1)
                        : str_z("")};

    if (mail ? st->mails++ == MAILS_MAX : st->emits++ == EMITS_MAX) {
        *ret_text = mail ? WHARF_S("{\"code\":\"workflow.budget_calls\",\"message\":\"a hook sends "
                                   "10 mails at most\"}")
                         : WHARF_S("{\"code\":\"workflow.budget_calls\",\"message\":\"a hook emits "
                                   "100 events at most\"}");
        return SANDBOX_ENDED;
    }
    return mail ? lua_mail(req, &sender, args, ret_text) : lua_emit(req, &sender, args, ret_text);
}

/* ---- configuration ---- */

static enum sandbox_answer give_value(
    struct arena *a, const struct wharf_json *v, wharf_str *ret_text)
{
    struct buf out;
    struct jw w;

    if (!v)
        return SANDBOX_GIVEN;
    buf_init(&out, 4 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_value(&w, "value", v);
    jw_close(&w, '}');
    *ret_text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return SANDBOX_GIVEN;
}

static const struct wharf_json *operator_asked_table_of(const struct config *c, const char *name)
{
    return c ? json_get(c->module_settings, name) : NULL;
}

enum sandbox_answer asked_config(const struct hook_state *st, struct arena *a,
    const struct wharf_json *args, wharf_str *ret_text)
{
    const struct wharf_json *v = operator_asked_table_of(st->gen->engine->config, "hook_settings");
    wharf_str path = json_text_or(args, "key", "");

    while (v && path.n) {
        const char *dot = memchr(path.p, '.', path.n);
        size_t n = dot ? (size_t)(dot - path.p) : path.n;

        v = json_get_n(v, (wharf_str){path.p, n});
        path = dot ? (wharf_str){dot + 1, path.n - n - 1} : str_z("");
    }
    return give_value(a, v, ret_text);
}

/* Answers the op secret. Names are compared without regard to case: the environment has them in
 * capitals, the file as one likes. */
enum sandbox_answer asked_secret(const struct hook_state *st, struct arena *a,
    const struct wharf_json *args, wharf_str *ret_text)
{
    const struct wharf_json *all = operator_asked_table_of(st->gen->engine->config, "hook_secrets");
    wharf_str key = json_text_or(args, "key", "");

    for (const struct wharf_json *s = all ? all->child : NULL; s; s = s->next) {
        if (s->key.n == key.n && !strncasecmp(s->key.p, key.p, key.n) && s->type == JSON_STRING)
            return give_value(a, s, ret_text);
    }
    return host_mistake(ret_text,
        "{\"code\":\"secret.missing\",\"message\":\"there is no such secret in hook_secrets\"}");
}

/* Returns the values of hook_secrets, prepared. */
static const struct hide_list *hook_secrets(const struct config *c, struct arena *a)
{
    const struct wharf_json *all = operator_asked_table_of(c, "hook_secrets");
    size_t n = 0;
    wharf_str *names, *values;

    for (const struct wharf_json *s = all ? all->child : NULL; s; s = s->next)
        n += s->type == JSON_STRING;
    if (!n)
        return NULL;
    names = arena_alloc(a, 2 * n * sizeof(*names));
    values = names + n;
    n = 0;
    for (const struct wharf_json *s = all->child; s; s = s->next) {
        if (s->type != JSON_STRING)
            continue;
        names[n] = s->key;
        values[n++] = s->text;
    }
    return hide_prepare(a, names, values, n);
}

wharf_str asked_hidden(const struct config *c, struct arena *a, wharf_str text)
{
    return hide_text(a, hook_secrets(c, a), text, false);
}

wharf_str asked_hidden_cut(const struct config *c, struct arena *a, wharf_str text)
{
    wharf_str more = str_z(" …");
    bool reported = str_ends(text, more.p);

    if (reported)
        text.n -= more.n;
    text = hide_text(a, hook_secrets(c, a), text, true);
    return reported ? arena_printf(a, "%.*s%s", STR_ARG(text), more.p) : text;
}

wharf_str hook_message(const struct config *c, struct arena *a, const struct sandbox_error *e)
{
    wharf_str text = arena_dupz(a, e->message);
    bool cut = text.n + 4 >= sizeof(e->message);

    return cut ? asked_hidden_cut(c, a, text) : asked_hidden(c, a, text);
}

/* ---- metrics ---- */

static void add_label(struct buf *b, const struct wharf_json *l)
{
    buf_addf(b, "%.*s=\"", STR_ARG(l->key));
    for (size_t i = 0; i < l->text.n; i++) {
        char c = l->text.p[i];

        if (c == '"' || c == '\\')
            buf_addc(b, '\\');
        buf_addc(b, c < ' ' && c >= 0 ? ' ' : c);
    }
    buf_addz(b, "\",");
}

/* Adds labels in the order of their names, so that the same labels are the same series. */
static void add_labels(struct buf *b, const struct wharf_json *labels)
{
    const struct wharf_json *last = NULL, *next;

    do {
        next = NULL;
        for (const struct wharf_json *l = labels ? labels->child : NULL; l; l = l->next) {
            if ((!last || strcmp(l->key.p, last->key.p) > 0) &&
                (!next || strcmp(l->key.p, next->key.p) < 0))
                next = l;
        }
        if (next)
            add_label(b, next);
        last = next;
    } while (next);
}

enum sandbox_answer asked_metric(
    const struct hook_state *st, const struct wharf_json *args, wharf_str *ret_text)
{
    struct board *b = st->gen->engine->board;
    bool observed = str_eqz(json_text_or(args, "kind", ""), "observe"), good;
    struct buf labels, name;

    buf_init(&labels, LABELS_TEXT);
    buf_init(&name, NAME_TEXT);
    add_labels(&labels, json_get(args, "labels"));
    buf_addc(&labels, 0);
    buf_addf(&name, "lua_%s", json_text_or(args, "name", "").p);
    buf_addc(&name, 0);
    good = !labels.failed && !name.failed && b &&
           board_series_add(b, observed, name.p, labels.p, json_double(json_get(args, "n")));
    buf_done(&name);
    buf_done(&labels);
    return good ? SANDBOX_GIVEN
                : host_mistake(ret_text,
                      "{\"code\":\"metric.refused\",\"message\":\"a metric is counted or observed, "
                      "its labels have 150 letters at most, and there are 512 series in all\"}");
}

/* ---- time ---- */

enum sandbox_answer asked_sleep(
    struct hook_state *st, const struct wharf_json *args, wharf_str *ret_text)
{
    int64_t ms = json_int_or(args, "ms", 0),
            left_ms = (st->deadline_us - clock_monotonic_us()) / 1000;

    if (!st->req->job)
        return host_mistake(ret_text, "{\"code\":\"op.unknown\",\"message\":\"only after, event "
                                      "and schedule hooks can sleep\"}");
    if (ms < 0 || ms > SLEEP_MAX_MS - st->slept_ms)
        return host_mistake(ret_text, "{\"code\":\"workflow.budget_calls\",\"message\":\"a hook "
                                      "sleeps 10 s in all at most\"}");
    st->slept_ms += ms;
    if (ms > left_ms)
        ms = left_ms > 0 ? left_ms : 0; /* its time is over then */
    usleep((useconds_t)ms * 1000);
    return SANDBOX_GIVEN;
}
