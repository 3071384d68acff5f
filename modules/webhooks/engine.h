/* engine.h - what the delivery engine is made of: the webhooks it knows (endpoints.c), its requests and what is reported of them (outcome.c). */
#ifndef WEBHOOKS_ENGINE_H
#define WEBHOOKS_ENGINE_H

#include "webhooks.h"

enum { CACHE_MOST = 4096, CACHE_BUCKETS = 1024 };

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
    wharf_str organization, webhook, attempt, lane, resource_type, resource_id, event, type, trigger, traceparent, body,
        request;
    int64_t sequence, number, retries, superseded;
    char *report; /* JSON of the outcome, for webhooks.complete() */
    size_t report_bytes;
    bool unsigned_here; /* given back, nothing was sent */
    bool failed, disable; /* counts as a failure of the webhook; the receiver wants no more */
};

void *engine_need(void *p); /* memory that there is, or the process ends */
/* Copies texts into one block. */
char *engine_keep(wharf_str *const *texts, size_t n);
/* One function of the module's schema in a transaction of its own. */
wharf_status engine_call(wharf_req *req, const char *sql, const wharf_val *args, size_t n, const wharf_rows **ret_rows);

/* ---- endpoints.c ---- */
struct endpoint *endpoints_find(struct endpoints *list, wharf_str organization, wharf_str id); /* or NULL */
void endpoints_empty(struct endpoints *list);
void endpoint_leave(struct endpoint *e); /* a request of it is over; or NULL */
/* Reads the webhooks of these rows (organization, id, version) whose version is not the one that is kept. */
wharf_status endpoints_learn(wharf_req *req, struct endpoints *list, const wharf_rows *rows);

/* ---- outcome.c ---- */
/* Makes the job's report for webhooks.complete(), and says what follows for the webhook. */
void job_report(wharf_req *req, struct job *j, const struct result *r);
#define LOCKED_US 5000000LL /* without claims after a secret that does not open */

#endif
