/* webhook_engine.h - what the delivery engine is made of: the webhooks it knows (endpoints.c),
 * its requests (send.c), what is reported of them (outcome.c), and its turns with the database
 * (turn.c). */
#ifndef WEBHOOKS_ENGINE_H
#define WEBHOOKS_ENGINE_H

#include "webhooks.h"

enum {
    CACHE_MOST = 4096,
    CACHE_BUCKETS = 1024,
    IN_FLIGHT_MOST = 1000, /* requests of one engine */
    CLAIM_LEAST = 16, /* deliveries asked for, whatever the last turn found */
};

struct endpoint { /* a webhook as it last was */
    struct endpoint *next;
    int64_t version;
    int users; /* requests that run */
    bool stale; /* there is a newer one: freed with its last user */
    char *memory; /* holds the texts */
    char organization[40], id[40];
    wharf_str url, headers, secrets, retry_mode;
    int64_t timeout_ms;
};

struct endpoints { /* those of one engine */
    struct endpoint *bucket[CACHE_BUCKETS];
    size_t n;
};

struct job { /* one request */
    struct job *next;
    struct endpoint *endpoint;
    char *memory; /* holds the texts */
    wharf_str organization, webhook, attempt, lane, resource_type, resource_id, event, type,
        trigger, traceparent, body, request;
    int64_t sequence, number, retries, superseded;
    char *report; /* JSON of the outcome, for webhooks.complete() */
    size_t report_bytes;
    bool unsigned_here; /* given back, nothing was sent */
    bool failed, disable; /* counts as a failure of the webhook; the receiver wants no more */
    bool held; /* somebody held its queue: told again */
};

struct care { /* what a webhook's health asks for, done between the rounds */
    struct care *next;
    char organization[40], webhook[40], what[24];
};

struct engine {
    char server[48];
    struct care *care, **care_last;
    struct endpoints endpoints;
    struct job *over, **over_last; /* to be told with the next turn */
    struct job *reported; /* with the turn that runs */
    size_t n_over, n_reported, running;
    size_t unsent; /* claimed a moment ago */
    size_t n_busy; /* of those that are over: somebody held their queues */
    bool asked; /* a turn runs */
    size_t wanted; /* deliveries that the next turn asks for: follows what there is */
    size_t room; /* that this one asked for */
    uint64_t seen; /* news that it knew of */
    /* there is something to do; none before; busy ones may be told again */
    int64_t due_us, again_us, busy_until_us;
    int64_t minute_us, second_us;
    int64_t locked_until_us; /* no claims before: this machine could not open a secret */
    bool leads; /* does what is done by time */
    bool ends; /* claims no more */
};

void *engine_need(void *p); /* memory that there is, or the process ends */
/* Copies texts into one block. */
char *engine_keep(wharf_str *const *texts, size_t n);
/* Calls one function of the module's schema in a transaction of its own. */
wharf_status engine_call(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n, const wharf_rows **ret_rows);

void engine_ask_for_care(
    struct engine *g, wharf_str organization, wharf_str webhook, wharf_str what);

/* ---- turn.c ---- */
void turn_ask(wharf_req *req, struct engine *g); /* none may run */
void turn_end(wharf_req *req,
    /* if it is over: the next is asked for, if one is wanted, and what was claimed is sent */
    struct engine *g);
/* Returns the microseconds until the next turn is wanted; 0: now. */
int64_t turn_wait_us(wharf_req *req, const struct engine *g);

/* ---- send.c ---- */
/* Makes a job of a row of webhooks.turn(). */
struct job *job_of(wharf_req *req, struct engine *g, const wharf_rows *rows, size_t i);
void job_send(wharf_req *req, struct engine *g, struct job *j);
/* Notes the end of a job; the next turn tells it to the database. */
void job_over(wharf_req *req, struct engine *g, struct job *j, const struct result *r);
void job_free(struct job *j);
/* Takes all requests that are over; with one left the loop would not sleep. */
void jobs_collect(wharf_req *req, struct engine *g);

/* ---- endpoints.c ---- */
/* Finds a webhook's endpoint, or NULL. */
struct endpoint *endpoints_find(struct endpoints *list, wharf_str organization, wharf_str id);
void endpoints_empty(struct endpoints *list);
void endpoint_leave(struct endpoint *e); /* a request of it is over; or NULL */
/* Reads the webhooks of these rows (organization, id, version) whose version is not the one that
 * is kept. */
wharf_status endpoints_learn(wharf_req *req, struct endpoints *list, const wharf_rows *rows);

/* ---- outcome.c ---- */
/* Makes the job's report for webhooks.complete(), and says what follows for the webhook. */
void job_report(wharf_req *req, struct job *j, const struct result *r);
#define LOCKED_US 5000000LL /* without claims after a secret that does not open */

#endif
