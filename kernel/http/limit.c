/* limit.c - rate limits of a request, and the headers that tell of them
 * (docs/spec/01-platform.md section 9). See process/limits.h.
 *
 * All buckets of a request are charged; the emptiest answers. What an operator gave one key or
 * organization stands in the place of the settings. Leaves to others: how buckets work
 * (process/limits.c). */
#include <sodium.h>
#include <stdio.h>

#include "http/exchange.h"
#include "process/board.h"
#include "util/str.h"
#include "wharf/errors.h"

enum { SECOND_US = 1000000, MINUTE_US = 60 * SECOND_US };

static uint64_t limit_owner_of(const struct board *b, char kind, const void *id, size_t n)
{
    char text[128] = {kind};
    uint64_t hash;

    n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
    memcpy(text + 1, id, n);
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)text, n + 1, b->hash_key);
    return hash ? hash : 1;
}

uint64_t limit_owner(const struct board *b, char kind, wharf_str id)
{
    return limit_owner_of(b, kind, id.p, id.n);
}

/* Returns the rate of a bucket: its own, with twice as much in it when nothing is said of that. */
static struct limit_rate per_second(const struct config_rate *r, const struct own_rate *own)
{
    int64_t rate = own->rate >= 0 ? own->rate : r->rate;
    int64_t burst = own->burst > 0 ? own->burst : own->rate >= 0 ? 2 * own->rate : r->burst;

    return (struct limit_rate){rate, burst, SECOND_US};
}

static bool is_write(const struct req_head *head)
{
    return !strcmp(head->method, "POST") || !strcmp(head->method, "DELETE");
}

static void limit_add(
    struct exchange *x, enum limit_reason reason, struct limit_rate rate, char kind, wharf_str id)
{
    struct charge *c = &x->charges[x->n_charges];

    if (!rate.rate)
        return;
    *c = (struct charge){.reason = reason,
        .rate = rate,
        .owner = limit_owner_of(x->req.engine->board, kind, id.p, id.n)};
    c->left = limit_take(
        &x->req.engine->board->limits, c->owner, &rate, x->server->turn_us, &c->wait_us);
    x->n_charges++;
}

/* Limits of the route itself: of an organization per minute, or of a key per second. */
static void add_of_route(struct exchange *x)
{
    const struct wharf_req *req = &x->req;
    const struct route *r = req->route;
    wharf_str owner = r->per_second ? req->access.who->key_id : req->access.who->organization;
    struct limit_rate rate = r->per_second
                                 ? (struct limit_rate){r->per_second, r->burst, SECOND_US}
                                 : (struct limit_rate){r->per_minute, r->per_minute, MINUTE_US};

    if (rate.rate)
        limit_add(x, LIMIT_BY_ENDPOINT, rate, 'e',
            arena_printf(req->arena, "%.*s %s", STR_ARG(owner), r->pattern));
}

/* Returns the charge with the fewest tokens; among empty ones the one that is empty longest. */
static const struct charge *emptiest(const struct exchange *x)
{
    const struct charge *least = NULL;

    for (size_t i = 0; i < x->n_charges; i++) {
        const struct charge *c = &x->charges[i];

        if (!least || c->left < least->left ||
            (c->left < 0 && c->left == least->left && c->wait_us > least->wait_us))
            least = c;
    }
    return least;
}

static bool limit_refuse(struct exchange *x, enum limit_reason reason, int64_t wait_us)
{
    x->req.reply.retry_after = (int)((wait_us + SECOND_US - 1) / SECOND_US);
    if (x->req.reply.retry_after < 1)
        x->req.reply.retry_after = 1;
    atomic_fetch_add_explicit(&x->req.engine->board->rate_limited[reason], 1, memory_order_relaxed);
    req_fail(&x->req, ERR_RATE_LIMITED, limit_reasons[reason], NULL);
    return false;
}

bool limit_request(struct exchange *x)
{
    const struct config *c = x->server->config;
    const struct wharf_req *req = &x->req;
    const struct principal *who = req->access.who;
    const struct charge *least;
    int64_t most;

    if (!who || x->n_charges || x->flight)
        return true;
    limit_add(x, LIMIT_BY_KEY,
        per_second(who->test_mode ? &c->rate_test : &c->rate_key, &who->limits.key), 'k',
        who->key_id);
    if (is_write(&req->head) && !who->test_mode)
        limit_add(
            x, LIMIT_BY_WRITE, per_second(&c->rate_write, &who->limits.write), 'w', who->key_id);
    limit_add(x, LIMIT_BY_ORGANIZATION,
        per_second(&c->rate_organization, &who->limits.organization), 'o', who->organization);
    if (c->rate_endpoint)
        add_of_route(x);
    least = emptiest(x);
    if (least && least->left < 0)
        return limit_refuse(x, least->reason, least->wait_us);
    most = who->limits.concurrency >= 0 ? who->limits.concurrency : c->rate_concurrency;
    if (!most)
        return true;
    x->flight = limit_owner_of(req->engine->board, 'f', who->key_id.p, who->key_id.n);
    if (limit_enter(&req->engine->board->limits, x->flight, x->server->boot->slot, most))
        return true;
    x->flight = 0;
    return limit_refuse(x, LIMIT_BY_CONCURRENCY, SECOND_US);
}

void limit_done(struct exchange *x)
{
    if (x->flight)
        limit_leave(&x->req.engine->board->limits, x->flight, x->server->boot->slot);
    x->flight = 0;
}

void limit_uncharge(struct exchange *x)
{
    for (size_t i = 0; i < x->n_charges; i++) {
        struct charge *c = &x->charges[i];

        if (c->left >= 0) {
            limit_return(&x->req.engine->board->limits, c->owner, &c->rate);
            c->left++;
        }
    }
}

/* Counts failed authentication per address: the /64 of an IPv6 address is one. */
bool limit_failure(struct exchange *x)
{
    const struct config *c = x->server->config;
    struct limit_rate rate = {c->rate_ip.rate, c->rate_ip.burst, MINUTE_US};
    int64_t wait_us;
    struct ip ip;

    if (!rate.rate || !client_ip(x, &ip) || networks_have(&x->server->exempt, &ip))
        return true;
    if (limit_take(&x->req.engine->board->limits,
            limit_owner_of(x->req.engine->board, 'i', ip.b, ip_is_v4(&ip) ? sizeof(ip.b) : 8),
            &rate, x->server->turn_us, &wait_us) >= 0)
        return true;
    return limit_refuse(x, LIMIT_BY_IP, wait_us);
}

/* Writes the decimal digits of n >= 0 before `end`. Returns where they begin. */
static char *limit_digits(char *end, int64_t n)
{
    do
        *--end = (char)('0' + n % 10);
    while (n /= 10);
    return end;
}

static void number_header(struct MHD_Response *r, const char *name, int64_t n)
{
    char text[24] = "";

    MHD_add_response_header(r, name, limit_digits(text + sizeof(text) - 1, n));
}

void limit_headers(const struct exchange *x, struct MHD_Response *r)
{
    const struct charge *c = emptiest(x);
    int64_t left, reset;
    char text[96];

    if (!c)
        return;
    left = c->left > 0 ? c->left : 0;
    reset = (c->wait_us + SECOND_US - 1) / SECOND_US;
    snprintf(text, sizeof(text), "\"%s\";q=%lld;w=%lld", limit_reasons[c->reason],
        (long long)c->rate.rate, (long long)(c->rate.period_us / SECOND_US));
    MHD_add_response_header(r, "RateLimit-Policy", text);
    snprintf(text, sizeof(text), "\"%s\";r=%lld;t=%lld", limit_reasons[c->reason], (long long)left,
        (long long)reset);
    MHD_add_response_header(r, "RateLimit", text);
    number_header(r, "RateLimit-Limit", c->rate.rate);
    number_header(r, "RateLimit-Remaining", left);
    number_header(r, "RateLimit-Reset", reset);
}
