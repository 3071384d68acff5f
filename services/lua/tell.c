/* tell.c - see tell.h. */
#include "lua/tell.h"

#include <stdarg.h>

#include "config/config.h"
#include "event/event_catalogue.h"
#include "resource/history.h"
#include "mail/mail_job.h"
#include "resource/engine.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    DATA_MAX = 64 << 10, /* bytes of an event's data */
    TYPE_MAX = 64,
    RESOURCE_ID_MAX = 100
};

/* ---- answers ---- */

__attribute__((format(printf, 5, 6))) static enum sandbox_answer say(struct wharf_req *req,
    wharf_str *ret_text, enum sandbox_answer how, const char *code, const char *fmt, ...)
{
    char message[512];
    struct buf out;
    struct jw w;
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    buf_init(&out, 4096);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "code", code);
    jw_z(&w, "message", message);
    jw_close(&w, '}');
    *ret_text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return how;
}

#define MISTAKE(...) say(req, ret_text, SANDBOX_MISTAKE, ERR_PARAM_INVALID, __VA_ARGS__)
#define REFUSED(...) say(req, ret_text, SANDBOX_REFUSED, __VA_ARGS__)

/* Ends the run: what the database has to say is nothing that a script can correct. It is tried
 * again where runs are. */
static enum sandbox_answer tell_run_lost(
    struct wharf_req *req, size_t problems, wharf_str *ret_text)
{
    req->problems.n = problems;
    return say(req, ret_text, SANDBOX_ENDED, ERR_OVERLOADED,
        "the database can't be reached at the moment");
}

static enum sandbox_answer given(struct wharf_req *req, wharf_str id, wharf_str *ret_text)
{
    *ret_text = arena_printf(req->arena, "{\"id\":\"%.*s\"}", STR_ARG(id));
    return SANDBOX_GIVEN;
}

/* ---- acting ---- */

struct before {
    struct principal *who;
    int64_t now_us;
    int depth;
    bool begun;
};

/* Begins what follows as the sender's, now, and one run deeper: as a request of the API that it
 * makes. */
static wharf_status tell_begin(
    struct wharf_req *req, const struct lua_sender *s, struct before *ret)
{
    wharf_status status;

    *ret = (struct before){req->access.who, req->now_us, req->depth, false};
    req->access.who = s->who;
    req->now_us = clock_now_us();
    req->depth++;
    status = req_begin(req);
    ret->begun = status == WHARF_OK;
    return status;
}

static wharf_status tell_end(struct wharf_req *req, const struct before *was, wharf_status s)
{
    if (s == WHARF_OK)
        s = req_commit(req);
    else if (was->begun)
        req_rollback(req);
    req->access.who = was->who;
    req->now_us = was->now_us;
    req->depth = was->depth;
    return s;
}

/* ---- wharf.emit ---- */

static bool a_word(wharf_str s)
{
    return s.n && s.n <= TYPE_MAX && strspn(s.p, "abcdefghijklmnopqrstuvwxyz0123456789_") == s.n;
}

/* Finds a location. Returns WHARF_NOT_FOUND when there is no such location, or it is not for the
 * sender. One that is gone is still that of what happens because of it. */
static wharf_status tell_find_location(
    struct wharf_req *req, const struct lua_sender *s, wharf_str id, bool gone_too)
{
    const struct resource *locations = engine_locations(req->engine);
    struct sql_arg args[2] = {{s->who->organization.p, s->who->organization.n}, {id.p, id.n}};
    PGresult *r;

    if (!locations || !principal_may_see(s->who, id))
        return WHARF_NOT_FOUND;
    r = req_query(req,
        arena_printf(req->arena, "SELECT 1 FROM %s WHERE organization_id = $1 AND id = $2%s",
            locations->def->storage.table, gone_too ? "" : " AND deleted_at IS NULL")
            .p,
        args, 2);
    return !r ? WHARF_UNAVAILABLE : PQntuples(r) ? WHARF_OK : WHARF_NOT_FOUND;
}

/* Tells what is wrong with the arguments, but for the location; NULL: nothing. */
static const char *emit_fault(const struct wharf_json *args, const struct change *c)
{
    const struct wharf_json *data = json_get(args, "data"),
                            *location = json_get(args, "location_id");

    if (!event_type_custom(str_z(c->event)))
        return "the type of an event is custom. and words of a-z, 0-9 and _ with dots between, 100 "
               "bytes at most";
    if (data && !json_is(data, JSON_OBJECT))
        return "the data of an event is a table of members";
    if (c->data.n > DATA_MAX)
        return "the data of an event has 64 KiB at most";
    if (!json_get(args, "resource_type") != !json_get(args, "resource_id"))
        return "resource_type and resource_id go together";
    if (!a_word(str_z(c->resource)) || !c->resource_id.n || c->resource_id.n > RESOURCE_ID_MAX ||
        strlen(c->resource_id.p) != c->resource_id.n)
        return "resource_type is a word such as shipment, resource_id an id of 100 bytes at most";
    if (location && !json_is(location, JSON_STRING) && !json_is(location, JSON_NULL))
        return "location_id is the id of a location, or wharf.null";
    return NULL;
}

enum sandbox_answer lua_emit(struct wharf_req *req, const struct lua_sender *s,
    const struct wharf_json *args, wharf_str *ret_text)
{
    const struct wharf_json *data = json_get(args, "data"),
                            *location = json_get(args, "location_id");
    struct change c = {.action = "event",
        .organization = s->who->organization,
        .event = json_text_or(args, "type", "").p,
        .resource = json_text_or(args, "resource_type", s->resource_type.p).p,
        .resource_id = json_text_or(args, "resource_id", s->resource_id.p),
        .location_id = json_is(location, JSON_STRING) ? location->text
                       : location                     ? str_z("")
                                                      : s->location_id,
        .seen = {.locations = json_is(location, JSON_NULL) ? str_z("[]") : str_z("")},
        .data = data ? jw_text(req->arena, data) : str_z("{}")};
    const char *fault = emit_fault(args, &c);
    size_t problems = req->problems.n;
    wharf_status status = WHARF_OK;
    struct before was;
    wharf_str id;

    if (fault)
        return MISTAKE("%s", fault);
    if (json_is(location, JSON_STRING) || (s->bound && c.location_id.n))
        status = tell_find_location(req, s, c.location_id, !location);
    if (status == WHARF_NOT_FOUND)
        return REFUSED(ERR_LOCATION_ACCESS, "there is no location %.100s that this may be about",
            c.location_id.p);
    if (status == WHARF_OK) {
        status = tell_begin(req, s, &was);
        if (status == WHARF_OK)
            status = history_write_event(req, &c, &id);
        status = tell_end(req, &was, status);
    }
    return status == WHARF_OK ? given(req, id, ret_text) : tell_run_lost(req, problems, ret_text);
}

/* ---- wharf.mail ---- */

static size_t tell_read_words(struct wharf_req *req, const struct wharf_json *to, wharf_str **ret)
{
    size_t n = 0;

    *ret = ARENA_ARRAY(req->arena, wharf_str, MAIL_TO_MAX + 1);
    if (json_is(to, JSON_STRING))
        (*ret)[n++] = to->text;
    for (const struct wharf_json *e = json_is(to, JSON_ARRAY) ? to->child : NULL; e; e = e->next) {
        if (e->type != JSON_STRING || n == MAIL_TO_MAX)
            return 0;
        (*ret)[n++] = e->text;
    }
    return n;
}

/* Finds the addresses of users (by their id or address) and of subscribers. *ret_unknown: the
 * first that is neither. */
static wharf_status find_addresses(struct wharf_req *req, const struct lua_sender *s,
    wharf_str *words, size_t n, wharf_str *ret_unknown)
{
    const struct access *access = &s->who->access;
    struct sql q;
    PGresult *r;

    sql_init(&q, req->arena);
    sql_add(&q, "SELECT a.email FROM unnest(");
    sql_bind_set(&q, words, n, "text");
    sql_add(&q, ") WITH ORDINALITY w(word, nth) LEFT JOIN LATERAL (SELECT u.email FROM "
                "wharf.user u WHERE u.organization_id = ");
    sql_bind(&q, access->live_organization);
    sql_add(&q,
        " AND u.deleted_at IS NULL AND u.status = 'active' AND (u.id = w.word OR lower(u.email) = "
        "lower(w.word)) UNION ALL SELECT b.email FROM wharf.subscriber b WHERE b.organization_id "
        "= ");
    sql_bind(&q, s->who->organization);
    sql_add(&q, " AND lower(b.email) = lower(w.word) LIMIT 1) a ON true ORDER BY w.nth");
    r = req_query_sql(req, &q);
    if (!r || (size_t)PQntuples(r) != n)
        return WHARF_UNAVAILABLE;
    for (size_t i = 0; i < n; i++) {
        if (PQgetisnull(r, (int)i, 0)) {
            *ret_unknown = words[i];
            return WHARF_NOT_FOUND;
        }
        words[i] = arena_dupz(req->arena, PQgetvalue(r, (int)i, 0));
    }
    return WHARF_OK;
}

static enum sandbox_answer queue(struct wharf_req *req, const struct lua_sender *s,
    const struct mail *mail, wharf_str id, wharf_str *ret_text)
{
    size_t problems = req->problems.n;
    struct before was;
    const char *why;
    wharf_status status = tell_begin(req, s, &was);
    if (status == WHARF_OK)
        status = mail_queue(req, mail, NULL);
    status = tell_end(req, &was, status);
    if (status == WHARF_OK)
        return given(req, id, ret_text);
    if (req->problems.n == problems ||
        strcmp(req->problems.list[problems].code, ERR_MAIL_REFUSED) != 0)
        return tell_run_lost(req, problems, ret_text);
    why = req->problems.list[problems].text.p;
    req->problems.n = problems;
    return REFUSED(ERR_MAIL_REFUSED, "%s", why);
}

enum sandbox_answer lua_mail(struct wharf_req *req, const struct lua_sender *s,
    const struct wharf_json *args, wharf_str *ret_text)
{
    size_t problems = req->problems.n;
    wharf_str *to, unknown = {"", 0};
    size_t n = tell_read_words(req, json_get(args, "to"), &to);
    struct mail mail = {.from = str_z(""),
        .from_name = str_z(""),
        .reply_to = str_z(""),
        .subject = json_text_or(args, "subject", ""),
        .text = json_text_or(args, "text", ""),
        .html = json_text_or(args, "html", ""),
        .unsubscribe = str_z("")};
    char id[ID_MAX];

    if (!n)
        return MISTAKE("to is a user or an address, or an array of up to %d of them", MAIL_TO_MAX);
    if (!s->who->test_mode && !req->engine->config->mail_url[0])
        return REFUSED(ERR_MAIL_UNAVAILABLE, "this server has no mail server");
    switch (find_addresses(req, s, to, n, &unknown)) {
    case WHARF_OK:
        break;
    case WHARF_NOT_FOUND:
        return REFUSED("mail.recipient",
            "%.254s is no user of the organization and no active subscriber", unknown.p);
    default:
        return tell_run_lost(req, problems, ret_text);
    }
    mail.to = to;
    mail.n_to = n;
    id_new("mail", clock_now_us(), id);
    mail.message_id = arena_printf(req->arena, "%s@wharf", s->key.n ? s->key.p : id);
    return queue(req, s, &mail, str_z(id), ret_text);
}
