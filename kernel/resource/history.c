/* history.c - see history.h. */
#include "resource/history.h"

#include <stdlib.h>

#include "db/copy.h"
#include "db/notifier.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"

enum { DATA_MAX = 1024 * 1024, COPIED_FROM = 50 /* rows */ };

/* Offsets from the first parameter. */
enum {
    P_ORGANIZATION,
    P_RESOURCE,
    P_RESOURCE_ID,
    P_PARENT_ID,
    P_LOCATION_ID,
    P_ACTION,
    P_CHANGES,
    P_MESSAGE,
    P_ACTOR_TYPE,
    P_ACTOR_ID,
    P_ACTOR_NAME,
    P_REQUEST_ID,
    P_NOW,
    P_LOG_ID,
    P_EVENT_ID,
    P_TYPE,
    P_DATA,
    P_PREVIOUS,
    P_EXPIRES_AT,
    P_BATCH,
    P_DEPTH,
    P_TRACE,
    P_DISABLE,
    P_TRUNCATED,
    P_LOCATIONS,
    P_AUDIENCE,
    P_PARTS,
};
_Static_assert(P_PARTS + 1 == HISTORY_PARAMS, "the list of parameters and its length");

enum slot_type { A_TEXT, A_JSON, A_JSONB, A_MOMENT, AN_INTEGER, A_BOOLEAN };
static const struct {
    const char *sql;
    enum binary_type form;
} types[] = {[A_TEXT] = {"text", BINARY_TEXT},
    [A_JSON] = {"json", BINARY_TEXT},
    [A_JSONB] = {"jsonb", BINARY_JSONB},
    [A_MOMENT] = {"timestamptz", BINARY_MOMENT},
    [AN_INTEGER] = {"integer", BINARY_INT4},
    [A_BOOLEAN] = {"boolean", BINARY_BOOL}};

struct slot {
    const char *column;
    int param;
    enum slot_type type;
};

static const struct slot log_slots[] = {
    {"organization_id", P_ORGANIZATION, A_TEXT},
    {"id", P_LOG_ID, A_TEXT},
    {"resource", P_RESOURCE, A_TEXT},
    {"resource_id", P_RESOURCE_ID, A_TEXT},
    {"parent_id", P_PARENT_ID, A_TEXT},
    {"action", P_ACTION, A_TEXT},
    {"changes", P_CHANGES, A_JSONB},
    {"message", P_MESSAGE, A_TEXT},
    {"actor_type", P_ACTOR_TYPE, A_TEXT},
    {"actor_id", P_ACTOR_ID, A_TEXT},
    {"actor_name", P_ACTOR_NAME, A_TEXT},
    {"request_id", P_REQUEST_ID, A_TEXT},
    {"event_id", P_EVENT_ID, A_TEXT},
    {"batch_id", P_BATCH, A_TEXT},
    {"location_id", P_LOCATION_ID, A_TEXT},
    {"created_at", P_NOW, A_MOMENT},
    {"locations", P_LOCATIONS, A_JSONB},
    {"audience", P_AUDIENCE, A_JSONB},
};

static const struct slot event_slots[] = {
    {"organization_id", P_ORGANIZATION, A_TEXT},
    {"id", P_EVENT_ID, A_TEXT},
    {"type", P_TYPE, A_TEXT},
    {"timestamp", P_NOW, A_MOMENT},
    {"location_id", P_LOCATION_ID, A_TEXT},
    {"resource_type", P_RESOURCE, A_TEXT},
    {"resource_id", P_RESOURCE_ID, A_TEXT},
    {"actor_type", P_ACTOR_TYPE, A_TEXT},
    {"actor_id", P_ACTOR_ID, A_TEXT},
    {"actor_name", P_ACTOR_NAME, A_TEXT},
    {"request_id", P_REQUEST_ID, A_TEXT},
    {"data", P_DATA, A_JSON},
    {"previous_attributes", P_PREVIOUS, A_JSON},
    {"created_at", P_NOW, A_MOMENT},
    {"expires_at", P_EXPIRES_AT, A_MOMENT},
    {"batch_id", P_BATCH, A_TEXT},
    {"depth", P_DEPTH, AN_INTEGER},
    {"traceparent", P_TRACE, A_TEXT},
    {"disable_webhooks", P_DISABLE, A_BOOLEAN},
    {"data_truncated", P_TRUNCATED, A_BOOLEAN},
    {"locations", P_LOCATIONS, A_JSONB},
    {"audience", P_AUDIENCE, A_JSONB},
    {"parts", P_PARTS, A_JSON},
};

/* Work that waits for sealing and processing: ids of rows that the same statement writes. */
static const struct slot outbox_slots[] = {
    {"organization_id", P_ORGANIZATION, A_TEXT}, {"created_at", P_NOW, A_MOMENT},
    {"log_id", P_LOG_ID, A_TEXT}, /* only with a log line */
    {"event_id", P_EVENT_ID, A_TEXT}, /* only with an event */
};
enum { OUTBOX_LOG = 2, OUTBOX_EVENT = 3, OUTBOX_SLOTS = 4 };

/* Where the values of an insert come from: the statement's parameters, or the columns of a query
 * with many rows. */
struct source {
    const char *param; /* before the number */
    const char *from;
};
static const struct source of_one = {"$", "r"}, of_many = {"u.p", "u"};

static void history_insert(struct buf *out, const char *table, const struct slot *slots, size_t n,
    size_t first, const struct source *source)
{
    buf_addf(out, "INSERT INTO %s (", table);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%s", i ? ", " : "", slots[i].column);
    buf_addz(out, ") SELECT ");
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%s%zu::%s", i ? ", " : "", source->param, first + (size_t)slots[i].param,
            types[slots[i].type].sql);
    buf_addf(out, " FROM %s", source->from);
}

enum {
    LOG_SLOTS = sizeof(log_slots) / sizeof(log_slots[0]),
    EVENT_SLOTS = sizeof(event_slots) / sizeof(event_slots[0])
};

static void history_mark(const struct slot *slots, size_t n, const char *names[HISTORY_PARAMS],
    bool used[HISTORY_PARAMS], bool uses)
{
    for (size_t i = 0; i < n; i++) {
        names[slots[i].param] = types[slots[i].type].sql;
        used[slots[i].param] |= uses;
    }
}

/* Mentions every parameter in the text whatever the flags, so that its number and type are always
 * known. */
static void mention_unused(struct buf *out, size_t first, bool log, bool event)
{
    const char *names[HISTORY_PARAMS] = {NULL};
    bool used[HISTORY_PARAMS] = {false}, any = false;

    history_mark(log_slots, LOG_SLOTS, names, used, log);
    history_mark(event_slots, EVENT_SLOTS, names, used, event);
    for (size_t i = 0; i < HISTORY_PARAMS; i++) {
        if (used[i])
            continue;
        buf_addf(out, "%s$%zu::%s", any ? ", " : ", unused AS (SELECT ", first + i, names[i]);
        any = true;
    }
    if (any)
        buf_addc(out, ')');
}

/* Writes log lines and events as WITH queries; what waits in the outbox goes into waits. Returns
 * how many columns that has. */
static size_t history_parts(struct buf *out, size_t first, bool log, bool event,
    const struct source *source, struct slot *waits)
{
    size_t n = OUTBOX_LOG;

    memcpy(waits, outbox_slots, OUTBOX_LOG * sizeof(*waits));
    if (log) {
        waits[n++] = outbox_slots[OUTBOX_LOG];
        buf_addz(out, ", g AS (");
        history_insert(out, "wharf.change_log", log_slots, LOG_SLOTS, first, source);
        buf_addc(out, ')');
    }
    if (event) {
        waits[n++] = outbox_slots[OUTBOX_EVENT];
        buf_addz(out, ", e AS (");
        history_insert(out, "wharf.event", event_slots, EVENT_SLOTS, first, source);
        buf_addc(out, ')');
    }
    return n;
}

void history_sql(struct buf *out, size_t first, bool log, bool event)
{
    struct slot waits[OUTBOX_SLOTS];
    size_t n;

    mention_unused(out, first, log, event);
    n = history_parts(out, first, log, event, &of_one, waits);
    buf_addc(out, ' ');
    if (n > OUTBOX_LOG) {
        history_insert(out, "wharf.outbox", waits, n, first, &of_one);
        buf_addz(out, " RETURNING 1");
    } else {
        buf_addz(out, "SELECT 1 FROM r");
    }
}

void history_many_sql(struct buf *out, size_t first, bool log, bool event)
{
    struct slot waits[OUTBOX_SLOTS];
    size_t n = history_parts(out, first, log, event, &of_many, waits);

    if (n == OUTBOX_LOG)
        return;
    buf_addz(out, ", w AS (");
    history_insert(out, "wharf.outbox", waits, n, first, &of_many);
    buf_addc(out, ')');
}

static struct sql_arg history_text(wharf_str s)
{
    return (struct sql_arg){s.n ? s.p : NULL, s.n};
}

static struct sql_arg history_iso(struct wharf_req *req, int64_t us)
{
    return history_text(time_iso(req->arena, us));
}

static struct sql_arg history_new_id(struct wharf_req *req, const char *prefix)
{
    char *p = arena_alloc(req->arena, ID_MAX);
    size_t n = id_new(prefix, req->now_us, p);

    return (struct sql_arg){p, n};
}

int history_event_days(struct wharf_req *req)
{
    static const char sql[] = "SELECT settings #>> '{events,expire_after}' FROM wharf.organization"
                              " WHERE organization_id = $1 AND id = $1";
    struct principal *who = req->access.who;
    struct sql_arg organization;
    PGresult *r;

    if (who && !who->event_days && req->job && who->organization.n) {
        organization = history_text(who->organization);
        r = req_query(req, sql, &organization, 1);
        who->event_days = principal_event_days(r && PQntuples(r) ? PQgetvalue(r, 0, 0) : "");
    }
    return who && who->event_days ? who->event_days : principal_event_days("");
}

/* Returns what is left of data that is too large (docs/spec/07-events-and-webhooks.md section 1
 * 'data_truncated'). */
static wharf_str reduced(struct wharf_req *req, const struct change *c)
{
    wharf_str s;
    struct buf b;
    struct jw w;

    buf_init(&b, 4096);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_str(&w, "id", c->resource_id);
    jw_z(&w, "object", c->resource);
    if (c->location_id.n)
        jw_str(&w, "location_id", c->location_id);
    else
        jw_null(&w, "location_id");
    jw_close(&w, '}');
    s = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

void history_args(struct wharf_req *req, const struct change *c, struct sql_arg *args)
{
    const struct principal *who = req->access.who;
    int64_t keep_us = (int64_t)history_event_days(req) * 86400 * 1000000;
    bool large = c->data.n + c->parts.n > DATA_MAX;

    args[P_ORGANIZATION] = history_text(c->organization.n ? c->organization
                                        : who             ? who->organization
                                                          : str_z(""));
    args[P_RESOURCE] = history_text(str_z(c->resource));
    args[P_RESOURCE_ID] = history_text(c->resource_id);
    args[P_PARENT_ID] = history_text(c->parent_id);
    args[P_LOCATION_ID] = history_text(c->location_id);
    args[P_ACTION] = history_text(str_z(c->action));
    args[P_CHANGES] = history_text(c->changes.n ? c->changes : str_z("[]"));
    args[P_MESSAGE] = history_text(c->message);
    args[P_ACTOR_TYPE] = history_text(who ? who->actor_type : str_z("system"));
    args[P_ACTOR_ID] = history_text(who ? who->actor_id : str_z(""));
    args[P_ACTOR_NAME] = history_text(who ? who->actor_name : str_z(""));
    args[P_REQUEST_ID] = history_text(str_z(req->request_id));
    args[P_NOW] = history_iso(req, req->now_us);
    args[P_LOG_ID] = history_new_id(req, "log");
    args[P_EVENT_ID] = c->event ? history_new_id(req, "evt") : (struct sql_arg){NULL, 0};
    args[P_TYPE] = history_text(str_z(c->event));
    args[P_DATA] = history_text(large ? reduced(req, c) : c->data);
    args[P_PREVIOUS] = history_text(large ? str_z("") : c->previous);
    args[P_EXPIRES_AT] = history_iso(req, req->now_us + keep_us);
    args[P_BATCH] = history_text(req->batch_id);
    args[P_DEPTH] = history_text(arena_printf(req->arena, "%d", req->depth));
    args[P_TRACE] = history_text(req->head.traceparent);
    args[P_DISABLE] = history_text(
        str_z(c->disable_webhooks || req->disable_webhooks ? "true" : "false"));
    args[P_TRUNCATED] = history_text(str_z(large ? "true" : "false"));
    args[P_LOCATIONS] = history_text(c->location_id.n ? str_z("") : c->seen.locations);
    args[P_AUDIENCE] = history_text(c->seen.audience);
    args[P_PARTS] = history_text(large ? str_z("") : c->parts);
}

/* ---- one event per type, row and transaction ---- */

static struct event_note *find_note(
    const struct req_transaction *tx, const struct change *c, wharf_str organization)
{
    struct event_note *n = tx->depth && tx->emitted_of
                               ? tx->emitted_of[event_bucket(c->resource_id)]
                               : NULL;

    while (n && !(str_eq(n->organization, organization) && str_eq(n->resource_id, c->resource_id) &&
                    (!strcmp(n->type, c->event) || (c->unless && !strcmp(n->type, c->unless)))))
        n = n->beside;
    return n;
}

static wharf_str arg_str(const struct sql_arg *a)
{
    return (wharf_str){a->p ? a->p : "", a->n};
}

static void history_note(
    struct req_transaction *tx, const struct change *c, const struct sql_arg *args)
{
    struct event_note *n, **bucket;
    struct arena *a;

    if (!tx->depth)
        return;
    a = req_tx_memory(tx);
    if (!tx->emitted_of)
        tx->emitted_of = ARENA_ARRAY(a, struct event_note *, EVENT_BUCKETS);
    bucket = &tx->emitted_of[event_bucket(c->resource_id)];
    n = ARENA_NEW(a, struct event_note);
    *n = (struct event_note){.next = tx->emitted,
        .beside = *bucket,
        .type = arena_dupz(a, c->event).p,
        .organization = arena_dup_str(a, arg_str(&args[P_ORGANIZATION])),
        .resource_id = arena_dup_str(a, c->resource_id),
        .id = arena_dup_str(a, arg_str(&args[P_EVENT_ID])),
        .created_at = arena_dup_str(a, arg_str(&args[P_NOW])),
        .previous = arena_dup_str(a, arg_str(&args[P_PREVIOUS])),
        .depth = tx->depth};
    tx->emitted = *bucket = n;
}

/* Merges previous values: of a field that was changed twice the oldest value counts. */
static wharf_str older(struct wharf_req *req, wharf_str first, wharf_str second)
{
    struct json_error e;
    const struct wharf_json *a = json_parse(req->arena, first, &e),
                            *b = json_parse(req->arena, second, &e);
    wharf_str s;
    struct buf out;
    struct jw w;

    if (!json_is(a, JSON_OBJECT) || !json_is(b, JSON_OBJECT))
        return first.n ? first : second;
    buf_init(&out, SIZE_MAX / 2);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (const struct wharf_json *m = a->child; m; m = m->next) {
        jw_key(&w, m->key);
        jw_value(&w, NULL, m);
    }
    for (const struct wharf_json *m = b->child; m; m = m->next) {
        if (json_get_n(a, m->key))
            continue;
        jw_key(&w, m->key);
        jw_value(&w, NULL, m);
    }
    jw_close(&w, '}');
    s = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return s;
}

/* Merges the change into the event that is there already, which takes the row as it is now. */
static bool history_merge(
    struct wharf_req *req, const struct change *c, struct event_note *n, const struct sql_arg *args)
{
    static const char sql[] = "UPDATE wharf.event SET data = $4::json, data_truncated = "
                              "data_truncated OR $5::boolean, location_id = $6,"
                              " previous_attributes = $7::json, locations = $8::jsonb, audience = "
                              "$9::jsonb, parts = $10::json WHERE organization_id = $1 AND "
                              "created_at = $2::timestamptz AND id = $3";
    bool same = !strcmp(n->type, c->event);
    struct sql_arg values[10] = {args[P_ORGANIZATION], history_text(n->created_at),
        history_text(n->id), args[P_DATA], args[P_TRUNCATED], args[P_LOCATION_ID], {NULL, 0},
        args[P_LOCATIONS], args[P_AUDIENCE], args[P_PARTS]};

    if (same)
        n->previous = arena_dup_str(
            req_tx_memory(&req->tx), older(req, n->previous, arg_str(&args[P_PREVIOUS])));
    values[6] = history_text(n->previous);
    return req_query(req, sql, values, 10) != NULL;
}

wharf_status history_write_event(
    struct wharf_req *req, const struct change *c, wharf_str *ret_event_id)
{
    struct sql_arg args[HISTORY_PARAMS];
    struct event_note *before;
    struct buf sql;
    bool written;

    *ret_event_id = str_z("");
    if (!c->log && !c->event)
        return WHARF_OK;
    history_args(req, c, args);
    before = c->event ? find_note(&req->tx, c, arg_str(&args[P_ORGANIZATION])) : NULL;
    if (before) {
        args[P_EVENT_ID] = history_text(before->id);
        if (!history_merge(req, c, before, args))
            return WHARF_UNAVAILABLE;
        *ret_event_id = before->id;
        if (!c->log)
            return WHARF_OK;
    }
    buf_init(&sql, 8192);
    buf_addz(&sql, "WITH r AS (SELECT 1)");
    history_sql(&sql, 1, c->log, c->event && !before);
    written = req_ahead(req, buf_str(&sql).p, args, HISTORY_PARAMS);
    buf_done(&sql);
    if (written && c->event && !before) {
        history_note(&req->tx, c, args);
        req_tell(req, NEWS_EVENTS);
        *ret_event_id = arg_str(&args[P_EVENT_ID]);
    }
    return written ? WHARF_OK : WHARF_UNAVAILABLE;
}

wharf_status history_write(struct wharf_req *req, const struct change *c)
{
    wharf_str id;

    return history_write_event(req, c, &id);
}

/* ---- many rows ---- */

/* Parameters that differ between the rows of a set; the others are sent once. */
static const unsigned char varies[HISTORY_PARAMS] = {[P_RESOURCE_ID] = 1,
    [P_PARENT_ID] = 1,
    [P_LOCATION_ID] = 1,
    [P_CHANGES] = 1,
    [P_MESSAGE] = 1,
    [P_LOG_ID] = 1,
    [P_EVENT_ID] = 1,
    [P_TYPE] = 1,
    [P_DATA] = 1,
    [P_PREVIOUS] = 1,
    [P_DISABLE] = 1,
    [P_TRUNCATED] = 1,
    [P_LOCATIONS] = 1,
    [P_AUDIENCE] = 1,
    [P_PARTS] = 1};

static void insert_many(struct sql *s, const char *table, const struct slot *slots, size_t n,
    const struct sql_arg *args, size_t rows)
{
    struct sql_arg *cells = ARENA_ARRAY(s->arena, struct sql_arg, rows);
    const char *comma = "";

    sql_addf(s, "INSERT INTO %s (", table);
    for (size_t i = 0; i < n; i++)
        sql_addf(s, "%s%s", i ? ", " : "", slots[i].column);
    sql_add(s, ") SELECT ");
    for (size_t i = 0; i < n; i++) {
        const struct sql_arg *same = &args[slots[i].param];

        sql_add(s, i ? ", " : "");
        if (varies[slots[i].param])
            sql_addf(s, "u.p%zu", i);
        else if (same->p)
            sql_bind(s, (wharf_str){same->p, same->n});
        else
            sql_bind_null(s);
        sql_addf(s, "::%s", types[slots[i].type].sql);
    }
    sql_add(s, " FROM unnest(");
    for (size_t i = 0; i < n; i++) {
        if (!varies[slots[i].param])
            continue;
        for (size_t k = 0; k < rows; k++)
            cells[k] = args[k * HISTORY_PARAMS + (size_t)slots[i].param];
        sql_add(s, comma);
        sql_bind_cells(s, cells, rows);
        sql_add(s, "::text[]");
        comma = ", ";
    }
    sql_add(s, ") u(");
    comma = "";
    for (size_t i = 0; i < n; i++) {
        if (varies[slots[i].param])
            sql_addf(s, "%sp%zu", comma, i);
        if (varies[slots[i].param])
            comma = ", ";
    }
    sql_add(s, ")");
}

/* Writes lines, events, and what waits for the processor, as history_sql does. */
static void many_sql(struct sql *s, struct wharf_req *req, const struct sql_arg *args, size_t rows,
    bool log, bool event)
{
    struct slot waits[OUTBOX_SLOTS] = {outbox_slots[0], outbox_slots[1]};
    size_t n = OUTBOX_LOG;

    sql_init(s, req->arena);
    if (log) {
        waits[n++] = outbox_slots[OUTBOX_LOG];
        sql_add(s, "WITH g AS (");
        insert_many(s, "wharf.change_log", log_slots, LOG_SLOTS, args, rows);
        sql_add(s, ")");
    }
    if (event) {
        waits[n++] = outbox_slots[OUTBOX_EVENT];
        sql_add(s, log ? ", e AS (" : "WITH e AS (");
        insert_many(s, "wharf.event", event_slots, EVENT_SLOTS, args, rows);
        sql_add(s, ")");
    }
    insert_many(s, "wharf.outbox", waits, n, args, rows);
}

/* Writes rows by COPY, which takes half of the time that the statement of a set takes, and a few
 * round trips more. */
static bool history_copy_rows(struct wharf_req *req, const char *table, const struct slot *slots,
    size_t n, const struct sql_arg *args, size_t rows)
{
    struct buf sql, cells;
    bool good;

    buf_init(&sql, 4096);
    buf_init(&cells, SIZE_MAX / 2);
    buf_addf(&sql, "COPY %s (", table);
    for (size_t i = 0; i < n; i++)
        buf_addf(&sql, "%s%s", i ? ", " : "", slots[i].column);
    buf_addz(&sql, ") FROM STDIN (FORMAT binary)");
    binary_begin(&cells);
    for (size_t k = 0; k < rows; k++) {
        binary_row(&cells, n);
        for (size_t i = 0; i < n; i++) {
            const struct sql_arg *a = &args[k * HISTORY_PARAMS + (size_t)slots[i].param];

            binary_value(&cells, types[slots[i].type].form, (wharf_str){a->p, a->n});
        }
    }
    binary_end(&cells);
    good = req_copy(req, buf_str(&sql).p, &cells);
    buf_done(&sql);
    buf_done(&cells);
    return good;
}

static bool copy_many(
    struct wharf_req *req, const struct sql_arg *args, size_t rows, bool log, bool event)
{
    struct slot waits[OUTBOX_SLOTS] = {outbox_slots[0], outbox_slots[1]};
    size_t n = OUTBOX_LOG;

    if (log)
        waits[n++] = outbox_slots[OUTBOX_LOG];
    if (event)
        waits[n++] = outbox_slots[OUTBOX_EVENT];
    return (!log || history_copy_rows(req, "wharf.change_log", log_slots, LOG_SLOTS, args, rows)) &&
           (!event ||
               history_copy_rows(req, "wharf.event", event_slots, EVENT_SLOTS, args, rows)) &&
           history_copy_rows(req, "wharf.outbox", waits, n, args, rows);
}

wharf_status history_write_many(struct wharf_req *req, const struct change *changes, size_t n)
{
    struct sql_arg *args = arena_alloc(req->arena, (n + 1) * HISTORY_PARAMS * sizeof(*args));
    const struct change **left = ARENA_ARRAY(req->arena, const struct change *, n + 1);
    size_t rows = 0;
    struct sql s;

    if (n == 1) /* it travels with the next statement */
        return history_write(req, changes);
    for (size_t i = 0; i < n; i++) {
        struct sql_arg *own = args + rows * HISTORY_PARAMS;

        if (!changes[i].log && !changes[i].event)
            continue;
        history_args(req, &changes[i], own);
        if ((rows && !changes[i].event != !left[0]->event) ||
            (changes[i].event && find_note(&req->tx, &changes[i], arg_str(&own[P_ORGANIZATION])))) {
            if (history_write(req, &changes[i]) != WHARF_OK)
                return WHARF_UNAVAILABLE;
        } else {
            left[rows++] = &changes[i];
        }
    }
    if (!rows)
        return WHARF_OK;
    if (rows >= COPIED_FROM) {
        if (!copy_many(req, args, rows, left[0]->log, left[0]->event != NULL))
            return WHARF_UNAVAILABLE;
    } else {
        many_sql(&s, req, args, rows, left[0]->log, left[0]->event != NULL);
        if (!req_query_sql(req, &s))
            return WHARF_UNAVAILABLE;
    }
    for (size_t i = 0; left[0]->event && i < rows; i++)
        history_note(&req->tx, left[i], args + i * HISTORY_PARAMS);
    if (left[0]->event)
        req_tell(req, NEWS_EVENTS);
    return WHARF_OK;
}
