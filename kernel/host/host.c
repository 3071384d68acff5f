/* host.c - memory, errors, log, request and JSON tables for plugins. host_data.c has the ones
 * that reach the database. */
#include "host/host.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "identity/auth.h"
#include "resource/hooks.h"
#include "process/board.h"
#include "util/id.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

/* ---- memory ---- */

static void *mem_alloc(wharf_req *req, size_t bytes)
{
    return arena_alloc(req->arena, bytes);
}

static wharf_str mem_dup(wharf_req *req, const char *p, size_t n)
{
    return arena_dup(req->arena, p, n);
}

static wharf_str mem_printf(wharf_req *req, const char *fmt, ...)
{
    wharf_str s;
    va_list ap;

    va_start(ap, fmt);
    s = arena_vprintf(req->arena, fmt, ap);
    va_end(ap);
    return s;
}

static void mem_on_release(wharf_req *req, void (*fn)(void *arg), void *arg)
{
    arena_on_release(req->arena, fn, arg);
}

/* One memory of a kind; malloc()ed, since it outlives scopes. */
struct req_slot {
    struct req_slot *next;
    const void *kind;
    size_t bytes;
    _Alignas(16) char memory[];
};

static void free_slots(void *arg)
{
    struct wharf_req *req = arg;

    for (struct req_slot *s = req->slots, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    req->slots = NULL;
}

static void *mem_slot(wharf_req *req, const void *kind, size_t bytes)
{
    struct req_slot *s;

    for (s = req->slots; s; s = s->next) {
        if (s->kind == kind && s->bytes == bytes)
            return s->memory;
    }
    s = calloc(1, sizeof(*s) + bytes);
    if (!s)
        abort();
    if (!req->slots)
        arena_on_end(req->arena, free_slots, req);
    s->next = req->slots;
    s->kind = kind;
    s->bytes = bytes;
    req->slots = s;
    return s->memory;
}

struct wharf_scope {
    struct req_scope of;
};

static wharf_scope *mem_scope_begin(wharf_req *req)
{
    /* before its own memory: residents open scopes for months */
    struct req_scope of = req_scope_begin(req);
    wharf_scope *s = ARENA_NEW(req->arena, struct wharf_scope);

    s->of = of;
    return s;
}

static void mem_scope_end(wharf_req *req, wharf_scope *scope)
{
    struct req_scope of = scope->of;

    req_scope_end(req, &of);
}

/* Allocates memory of a plugin, under a lock: threads begin at the same time, and each asks for
 * the state of its plugins. */
static void *mem_plugin_alloc(wharf_plugin *self, size_t bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    void *memory;

    pthread_mutex_lock(&lock);
    memory = arena_alloc(self->memory, bytes);
    pthread_mutex_unlock(&lock);
    return memory;
}

const wharf_mem_api host_mem = {WHARF_HEAD(wharf_mem_api), mem_alloc, mem_dup, mem_printf,
    mem_on_release, mem_scope_begin, mem_scope_end, mem_plugin_alloc, mem_slot};

/* ---- errors ---- */

static wharf_status err_vadd(
    wharf_req *req, const char *code, const char *path, const char *fmt, va_list ap)
{
    wharf_str text = fmt ? arena_vprintf(req->arena, fmt, ap) : str_z("");

    return req_problem(req, code, path ? str_z(path) : (wharf_str){NULL, 0}, NULL, text);
}

static wharf_status err_fail(
    wharf_req *req, const char *code, const char *path, const char *fmt, ...)
{
    wharf_status s;
    va_list ap;

    va_start(ap, fmt);
    s = err_vadd(req, code, path, fmt, ap);
    va_end(ap);
    return s;
}

static wharf_status err_current(const wharf_req *req)
{
    return req->problems.n ? req_failed(req) : WHARF_OK;
}

static void err_clear(wharf_req *req)
{
    req_clear_problems(&req->problems);
    req->reply.retry_after = 0; /* it was said of them */
}

static void err_base(wharf_req *req, const char *prefix)
{
    req->problems.path_base = arena_dupz(req->arena, prefix);
}

const wharf_err_api host_err = {
    WHARF_HEAD(wharf_err_api), err_fail, err_fail, err_current, err_clear, err_base};

/* ---- log ---- */

static uint32_t log_level_of(const wharf_plugin *self)
{
    (void)self;
    return log_level();
}

static void host_log_line(
    wharf_plugin *self, wharf_req *req, uint32_t level, const char *event, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    log_vwrite(level, self->plugin->name, req ? req->request_id : NULL, event, fmt, ap);
    va_end(ap);
}

const wharf_log_api host_log = {WHARF_HEAD(wharf_log_api), log_level_of, host_log_line};

/* ---- request ---- */

static wharf_str r_organization(const wharf_req *req)
{
    return req->access.who ? req->access.who->organization : str_z("");
}

static wharf_str r_actor(const wharf_req *req)
{
    return req->access.who ? req->access.who->actor_id : str_z("");
}

static bool r_param(const wharf_req *req, const char *name, wharf_str *ret_value)
{
    return req_param(req, name, ret_value);
}

static wharf_status r_body(wharf_req *req, const wharf_json **ret_body)
{
    *ret_body = req->body;
    return WHARF_OK;
}

static wharf_status r_need_scope(wharf_req *req, const char *scope)
{
    const char *colon = strchr(scope, ':');
    wharf_str area = {scope, colon ? (size_t)(colon - scope) : strlen(scope)};
    int n = area_find(&req->engine->areas, area);
    enum scope_level level = colon && !strcmp(colon, ":read") ? SCOPE_READ : SCOPE_WRITE;

    if (n >= 0)
        req->access.areas |= UINT64_C(1) << n;
    if (n >= 0 && req->access.who && req->access.who->levels[n] >= level)
        return WHARF_OK;
    return req_problem(req, ERR_SCOPE_ACCESS, str_z(scope), NULL, str_z(""));
}

static wharf_status r_need_location(wharf_req *req, wharf_str location_id)
{
    if (req->access.who &&
        principal_may_see(req->access.who, arena_dup_str(req->arena, location_id)))
        return WHARF_OK;
    return req_problem(req, ERR_LOCATION_ACCESS, location_id, NULL, str_z(""));
}

static int64_t r_now(const wharf_req *req)
{
    return req->now_us;
}

static int64_t r_deadline(const wharf_req *req)
{
    return req->deadline_us;
}

static bool r_cancelled(const wharf_req *req)
{
    if (req->job && req->job->stop(req))
        return true;
    return req->deadline_us && clock_monotonic_us() > req->deadline_us;
}

static wharf_str r_new_id(wharf_req *req, const char *prefix)
{
    char id[ID_MAX];
    size_t n = id_new(prefix, req->now_us, id);

    return arena_dup(req->arena, id, n);
}

static wharf_out *r_respond(wharf_req *req, uint32_t http_status, const char *message)
{
    req_respond(&req->reply, (int)http_status, arena_dupz(req->arena, message));
    return out_of_request(req);
}

static void *r_thread_local_state(wharf_req *req)
{
    return req->thread && req->plugin && req->thread->plugin_states
               ? req->thread->plugin_states[req->plugin->index]
               : NULL;
}

static void r_created(wharf_req *req, wharf_str path)
{
    req->reply.location_header = arena_dup_str(req->arena, path);
}

static void tell_access(wharf_req *req, void *arg)
{
    struct db_error e;

    (void)arg;
    auth_cache_clear(req->engine->auth);
    db_do(req->thread->db, "SELECT pg_notify('wharf_auth', '')", &e);
}

static void r_access_changed(wharf_req *req)
{
    req->tx.access_changed = true;
    req_after_commit(&req->tx, tell_access, NULL);
}

static void r_one_time(wharf_req *req, const char *field)
{
    struct req_reply *reply = &req->reply;
    size_t i = 0, most = sizeof(reply->one_time) / sizeof(*reply->one_time);

    while (i < most && reply->one_time[i])
        i++;
    if (i < most)
        reply->one_time[i] = field;
    else
        req_fail(req, ERR_INTERNAL, NULL, "more than %zu fields are shown once", most);
}

const wharf_req_api host_req = {WHARF_HEAD(wharf_req_api), r_organization, r_actor, r_param, r_body,
    r_need_scope, r_need_location, r_now, r_deadline, r_cancelled, r_new_id, r_respond,
    r_thread_local_state, r_created, r_access_changed, r_one_time, page_read, page_reported};

/* ---- JSON ---- */

static uint32_t j_type(const wharf_json *v)
{
    return v ? v->type : JSON_NULL;
}

static size_t j_count(const wharf_json *v)
{
    return v ? v->count : 0;
}

static bool j_text(const wharf_json *v, wharf_str *ret_s)
{
    if (!json_is(v, JSON_STRING))
        return false;
    *ret_s = v->text;
    return true;
}

static bool j_truth(const wharf_json *v, bool *ret_truth)
{
    if (!json_is(v, JSON_BOOL))
        return false;
    *ret_truth = v->truth;
    return true;
}

static wharf_str j_key(const wharf_json *v)
{
    return v && v->key.p ? v->key : str_z("");
}

static const wharf_json *j_next(const wharf_json *element)
{
    return element ? element->next : NULL;
}

static wharf_status j_parse(wharf_req *req, wharf_str text, const wharf_json **ret_v)
{
    struct json_error e;
    const struct wharf_json *v = json_parse(req->arena, text, &e);

    if (!v)
        return req_fail(req, ERR_BODY_MALFORMED, NULL, "%s at byte %zu", e.message, e.offset);
    *ret_v = v;
    return WHARF_OK;
}

/* Writes a number of that many decimals, without trailing zeros. Returns its length. */
static size_t format_decimal(char text[48], int64_t scaled, uint32_t scale)
{
    uint64_t u = scaled < 0 ? 0 - (uint64_t)scaled : (uint64_t)scaled, div = 1;
    int n;

    for (uint32_t i = 0; i < scale && i < 18; i++)
        div *= 10;
    n = snprintf(text, 48, "%s%llu", scaled < 0 ? "-" : "", (unsigned long long)(u / div));
    if (u % div)
        n += snprintf(
            text + n, 48 - (size_t)n, ".%0*llu", (int)scale, (unsigned long long)(u % div));
    while (u % div && text[n - 1] == '0')
        n--;
    return (size_t)n;
}

static void host_put_number(wharf_out *out, const char *key, const char *text, size_t n)
{
    if (out->w)
        jw_raw(out->w, key, (wharf_str){text, n});
    else
        json_build_number(out->build, key, (wharf_str){text, n});
}

static void host_put_text(wharf_out *out, const char *key, wharf_str s)
{
    if (out->w)
        jw_str(out->w, key, s);
    else
        json_build_text(out->build, key, s);
}

static void put_null(wharf_out *out, const char *key)
{
    if (out->w)
        jw_null(out->w, key);
    else
        json_build_null(out->build, key);
}

static void put_bool(wharf_out *out, const char *key, bool truth)
{
    if (out->w)
        jw_bool(out->w, key, truth);
    else
        json_build_bool(out->build, key, truth);
}

static void host_put_value(wharf_out *out, const char *key, const struct wharf_json *v)
{
    if (out->w)
        jw_value(out->w, key, v);
    else
        json_build_value(out->build, key, v);
}

static void j_put(wharf_out *out, const char *key, wharf_val v)
{
    char text[48];

    switch (v.type) {
    case WHARF_V_BOOL:
        put_bool(out, key, v.u.i != 0);
        break;
    case WHARF_V_INT:
        host_put_number(
            out, key, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)v.u.i));
        break;
    case WHARF_V_DEC:
        host_put_number(out, key, text, format_decimal(text, v.u.i, v.scale));
        break;
    case WHARF_V_DOUBLE:
        if (isfinite(v.u.d))
            host_put_number(out, key, text, (size_t)snprintf(text, sizeof(text), "%.17g", v.u.d));
        else
            put_null(out, key);
        break;
    case WHARF_V_TEXT:
        host_put_text(out, key, v.u.s);
        break;
    case WHARF_V_TIME_US:
        time_format_iso(v.u.i, text);
        host_put_text(out, key, (wharf_str){text, ISO_MS_LEN});
        break;
    case WHARF_V_JSON:
        host_put_value(out, key, v.u.j);
        break;
    default:
        put_null(out, key);
        break;
    }
}

static void j_open(wharf_out *out, const char *key, char bracket)
{
    if (!out->w) {
        json_build_open(out->build, key, bracket);
        return;
    }
    if (out->depth < sizeof(out->closers))
        out->closers[out->depth++] = bracket == '{' ? '}' : ']';
    jw_open(out->w, key, bracket);
}

static void j_close(wharf_out *out)
{
    if (!out->w)
        json_build_close(out->build);
    else if (out->depth)
        jw_close(out->w, out->closers[--out->depth]);
}

static wharf_out *j_writer(wharf_req *req)
{
    return out_new(req->arena);
}

static wharf_str j_result_text(const wharf_out *out)
{
    if (out->build)
        log_error(
            "plugin.writer", "result_text() takes what writer() began; builder() has no text");
    return out_text(out);
}

static wharf_out *j_builder(wharf_req *req)
{
    return out_build_new(req->arena);
}

static wharf_status j_result(wharf_req *req, wharf_out *out, const wharf_json **ret_v)
{
    const char *wrong;

    if (!out->build) {
        log_write(WHARF_LOG_ERROR, req->plugin ? req->plugin->name : NULL, req->request_id,
            "plugin.writer", "result() takes what builder() began; writer() makes a text");
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    }
    *ret_v = json_build_result(out->build, &wrong);
    /* what is wrong came from a body that the rule copied: a name twice, too deep */
    return *ret_v ? WHARF_OK : req_fail(req, ERR_BODY_MALFORMED, NULL, "%s", wrong);
}

const wharf_json_api host_json = {WHARF_HEAD(wharf_json_api), j_type, json_get, json_at, j_count,
    j_text, json_int, json_decimal, j_parse, j_put, j_open, j_close, j_truth, j_key, j_next,
    j_writer, j_result_text, j_builder, j_result};
