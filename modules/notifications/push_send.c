/* push_send.c - sends what users are told: a resident that claims what is due, pushes it to each
 * address of the user, and notes what became of it (spec 07 section 16.2).
 *
 * One per job worker; notifications.push_claim settles who does what. What a service answered is
 * noted address by address, so a crash repeats only what was not answered or noted yet; its lease
 * is a minute. */
#include <stdio.h>
#include <stdlib.h>

#include "user_push.h"

enum {
    RUNNING_MOST = 200, /* pushes under way */
    CLAIM_MOST = 50,
    LOOK_MS = 1000,
    AWAY_MS = 500,
    TTL_S = 86400, /* a service keeps a push for a device that is off */
    DATA_MOST = 5
};
#define END_US 10000000LL

struct job { /* one push, while an address of it is under way */
    char organization[48], id[48], user[48];
    size_t pending;
};

struct address {
    struct job *job;
    char name[64], subscription[48]; /* subscription empty: a phone */
    char *token; /* of a phone */
};

struct sender {
    char server[48];
    wharf_pusher *pusher;
    size_t running;
    int64_t due_ms;
};

static void *push_send_need(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void address_free(struct address *a)
{
    if (--a->job->pending == 0)
        free(a->job);
    free(a->token);
    free(a);
}

/* ---- what became of it ---- */

/* Removes an address that the service does not know any more. */
static wharf_status remove_address(wharf_req *req, const struct address *a)
{
    static const char phone_sql[] =
        "UPDATE wharf.user SET fcm_tokens = fcm_tokens - $3::text, version = version + 1"
        " WHERE organization_id = $1::text AND id = $2::text AND fcm_tokens ? $3::text";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(z(a->job->user)),
        val_text(z(a->token ? a->token : ""))};
    wharf_status s;

    if (a->token)
        return W->db->exec(req, phone_sql, args, 3, NULL);
    s = W->res->remove(req, "push_subscription", z(a->subscription));
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req); /* its user was faster */
        return WHARF_OK;
    }
    return s;
}

static wharf_status push_send_note(
    wharf_req *req, const struct sender *g, const struct address *a, const wharf_push_result *r)
{
    static const char *const outcomes[] = {[WHARF_PUSH_TAKEN] = "taken",
        [WHARF_PUSH_DEAD] = "dead",
        [WHARF_PUSH_AGAIN] = "again",
        [WHARF_PUSH_REFUSED] = "refused"};
    static const char sql[] = "SELECT became, why FROM notifications.push_note($1::text, $2::text, "
                              "$3::text, $4::text, $5::text, $6::bigint, $7::boolean, "
                              "$8::timestamptz)";
    const wharf_val args[] = {val_text(z(a->job->organization)), val_text(z(a->job->id)),
        val_text(z(g->server)), val_text(z(a->name)), val_text(z(outcomes[r->end])),
        val_int(r->later_ms), val_bool(a->job->pending == 1), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_str why;
    wharf_status s = W->db->query(req, sql, args, 8, &rows);

    if (s == WHARF_OK && W->db->count(rows)) {
        why = row_text(rows, 0, 1);
        s = notification_end(req, z(a->job->id), row_text(rows, 0, 0).p, why.n ? why.p : NULL);
    }
    return s == WHARF_OK && r->end == WHARF_PUSH_DEAD ? remove_address(req, a) : s;
}

/* Notes it and forgets it. What can't be noted is made again when its lease is over. */
static void push_send_settle(
    wharf_req *req, struct sender *g, struct address *a, const wharf_push_result *r)
{
    wharf_status s = notifications_events->act_for(req, z(a->job->organization));

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s == WHARF_OK) {
        s = push_send_note(req, g, a, r);
        if (s != WHARF_OK || W->db->commit(req) != WHARF_OK)
            W->db->rollback(req);
    }
    if (r->end == WHARF_PUSH_REFUSED)
        W->log->write(notifications_self, req, WHARF_LOG_WARN, "notifications.push",
            "a push service refused %s: %s", a->job->id, r->error.p);
    W->err->clear(req);
    notifications_events->act_for(req, WHARF_S(""));
    address_free(a);
    g->running--;
}

/* Ends what is over; waits for it at most so long. */
static void push_send_collect(wharf_req *req, struct sender *g, int64_t wait_ms)
{
    wharf_push_result r = {.head = WHARF_HEAD(wharf_push_result)};
    wharf_fetch *f;

    for (; (f = push_fetch->next(req, wait_ms)); wait_ms = 0) {
        if (!push_service->finished(req, g->pusher, f))
            push_fetch->done(req, f);
    }
    while (push_service->next(req, g->pusher, &r))
        push_send_settle(req, g, r.tag, &r);
}

/* ---- sending ---- */

/* Columns of notifications.push_claim, in the order of the statement. */
enum {
    C_ORGANIZATION,
    C_ID,
    C_USER,
    C_EVENT,
    C_TYPE,
    C_RESOURCE_TYPE,
    C_RESOURCE,
    C_LOCATION,
    C_TITLE,
    C_BODY,
    C_ADDRESS,
    C_TOKEN,
    C_SUBSCRIPTION,
    C_ENDPOINT,
    C_P256DH,
    C_AUTH
};

static struct address *push_send_address_of(const wharf_rows *rows, size_t r, struct job *job)
{
    struct address *a = push_send_need(calloc(1, sizeof(*a)));
    wharf_str token = row_text(rows, r, C_TOKEN);

    a->job = job;
    snprintf(a->name, sizeof(a->name), "%s", row_text(rows, r, C_ADDRESS).p);
    snprintf(a->subscription, sizeof(a->subscription), "%s", row_text(rows, r, C_SUBSCRIPTION).p);
    if (token.n)
        a->token = push_send_need(strdup(token.p));
    return a;
}

static struct job *job_of(const wharf_rows *rows, size_t r)
{
    struct job *job = push_send_need(calloc(1, sizeof(*job)));

    snprintf(
        job->organization, sizeof(job->organization), "%s", row_text(rows, r, C_ORGANIZATION).p);
    snprintf(job->id, sizeof(job->id), "%s", row_text(rows, r, C_ID).p);
    snprintf(job->user, sizeof(job->user), "%s", row_text(rows, r, C_USER).p);
    return job;
}

static bool unseal(wharf_req *req, const wharf_rows *rows, size_t r, size_t column, wharf_str *ret)
{
    const char *name = column == C_ENDPOINT ? "endpoint" : column == C_P256DH ? "p256dh" : "auth";

    return notifications_crypto->open(req, "notifications.push_subscription", name,
        row_text(rows, r, C_SUBSCRIPTION), row_text(rows, r, column), ret);
}

static size_t push_send_data_of(
    const wharf_rows *rows, size_t r, wharf_str *names, wharf_str *values)
{
    static const char *const all[DATA_MOST] = {
        "event_id", "event_type", "resource_type", "resource_id", "location_id"};
    size_t n = 0;

    for (size_t i = 0; i < DATA_MOST; i++) {
        wharf_str value = row_text(rows, r, C_EVENT + i);

        if (!value.n)
            continue; /* it has no location */
        names[n] = z(all[i]);
        values[n++] = value;
    }
    return n;
}

static void push_send_send(
    wharf_req *req, struct sender *g, const wharf_rows *rows, size_t r, struct address *a)
{
    static const wharf_push_result sealed = {
        .end = WHARF_PUSH_REFUSED, .error = {"its keys do not open with this machine's", 40}};
    wharf_str names[DATA_MOST], values[DATA_MOST];
    wharf_push_message m = {.head = WHARF_HEAD(wharf_push_message),
        .kind = a->token ? WHARF_PUSH_FCM : WHARF_PUSH_WEB,
        .ttl_s = TTL_S,
        .token = z(a->token ? a->token : ""),
        .title = row_text(rows, r, C_TITLE),
        .body = row_text(rows, r, C_BODY),
        .names = names,
        .values = values,
        .n_data = push_send_data_of(rows, r, names, values),
        .topic = W->mem->format(req, "%s %s %s", a->job->organization,
            row_text(rows, r, C_RESOURCE_TYPE).p, row_text(rows, r, C_RESOURCE).p),
        .organization = z(a->job->organization),
        .urgent = true,
        .tag = a};

    g->running++;
    if (!a->token &&
        (!unseal(req, rows, r, C_ENDPOINT, &m.endpoint) ||
            !unseal(req, rows, r, C_P256DH, &m.p256dh) || !unseal(req, rows, r, C_AUTH, &m.auth))) {
        push_send_settle(req, g, a, &sealed);
        return;
    }
    push_service->send(req, g->pusher, &m);
}

static wharf_status push_send_claim(wharf_req *req, struct sender *g)
{
    static const char sql[] =
        "SELECT organization_id, id, user_id, event_id, event_type, resource_type, resource_id, "
        "location_id, title, body, address, token, subscription_id, endpoint, p256dh, auth"
        " FROM notifications.push_claim($1::text, $2::bigint::integer, $3::boolean)";
    static const char due_sql[] = "SELECT notifications.push_due()";
    const wharf_val args[] = {val_text(z(g->server)), val_int(CLAIM_MOST), val_bool(push_phones())};
    const wharf_rows *rows;
    struct address **list;
    struct job *job = NULL;
    size_t n;
    wharf_status s = query_alone(req, sql, args, 3, &rows);

    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows);
    list = W->mem->alloc(req, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        if (!job || !is(row_text(rows, i, C_ID), job->id))
            job = job_of(rows, i);
        list[i] = push_send_address_of(rows, i, job);
        job->pending++;
    }
    for (size_t i = 0; i < n; i++)
        push_send_send(req, g, rows, i, list[i]);
    g->due_ms = 0;
    if (n)
        return WHARF_OK;
    s = query_alone(req, due_sql, NULL, 0, &rows);
    g->due_ms = s == WHARF_OK ? row_int(rows, 0, 0) : AWAY_MS;
    return s;
}

/* ---- the loop ---- */

static void push_send_round_of(wharf_req *req, struct sender *g)
{
    wharf_scope *scope = W->mem->scope_begin(req);

    g->due_ms = LOOK_MS;
    push_send_collect(req, g, 0);
    if (g->running < RUNNING_MOST && push_send_claim(req, g) != WHARF_OK)
        g->due_ms = AWAY_MS; /* the database is away */
    W->err->clear(req);
    W->mem->scope_end(req, scope);
}

/* Winds up: what runs is given some time to end; what does not is sent again by whoever comes
 * next. */
static void push_send_wind_up(wharf_req *req, struct sender *g)
{
    static const char sql[] = "SELECT notifications.push_interrupt($1::text)";
    int64_t until = W->req->now_us(req) + END_US;
    const wharf_val server = val_text(z(g->server));
    const wharf_rows *rows;

    while (g->running && W->req->now_us(req) < until) {
        push_send_collect(req, g, 100);
        notifications_events->wait(req, 0); /* reads the clock */
    }
    query_alone(req, sql, &server, 1, &rows);
    W->err->clear(req);
}

wharf_status user_push_run(wharf_req *req, void *arg)
{
    struct sender *g = push_send_need(calloc(1, sizeof(*g)));
    wharf_push_account account = user_push_account();

    g->pusher = push_service->open(req, &account);
    snprintf(g->server, sizeof(g->server), "%s", W->req->new_id(req, "nsnd").p);
    while (!W->req->cancelled(req)) {
        push_send_round_of(req, g);
        notifications_events->wait(req, g->due_ms);
    }
    push_send_wind_up(req, g);
    push_service->close(req, g->pusher);
    free(g);
    return WHARF_OK;
}
