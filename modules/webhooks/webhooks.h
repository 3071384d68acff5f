/* webhooks.h - inside of the module webhooks. */
#ifndef WEBHOOKS_H
#define WEBHOOKS_H

#include <string.h>

#define W hooks_host
#include "wharf/ext/org.h"
#include "wharf/ext/webhooks.h"
#include "wharf/plugin.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/keys.h"
#include "wharf/service/logs.h"
#include "wharf/service/metrics.h"
#include "wharf/service/text.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/inline.h"

enum {
    WEBHOOKS_MAX = 50, /* of an organization */
    OLD_SECRETS_MAX = 5, /* old secrets that sign */
    BODY_KEPT = 16 * 1024, /* of an answer */
    BODY_READ = 64 * 1024, /* bytes of an answer that are read */
    URL_BYTES = 2048, /* bytes of a URL */
};
#define SECOND_US 1000000LL
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)

extern const wharf_fetch_api *hooks_fetch;
extern const wharf_crypto_api *hooks_crypto;
extern const wharf_keys_api *hooks_keys;
extern const wharf_org_directory_api *hooks_org;
extern const wharf_events_api *hooks_events;
extern const wharf_logs_api *hooks_logs;
extern const wharf_text_api *hooks_text;
extern const wharf_metrics_api *hooks_metrics;
extern wharf_plugin *hooks_self;

extern const wharf_hooks webhook_hooks;

/* ---- values ---- */

/* Returns a field of a record; the fallback when it is null. */
int64_t get_integer(const wharf_rec *rec, wharf_field f, int64_t fallback);
/* Returns a column of a row; the fallback when it is null. */
int64_t row_integer(const wharf_rows *rows, size_t row, size_t column, int64_t fallback);

/* ---- webhook_secrets.c: the secrets that sign, newest first ---- */

#define SECRETS_MAX (OLD_SECRETS_MAX + 1)
struct secrets {
    size_t n;
    wharf_str secret[SECRETS_MAX];
    int64_t expires_us[SECRETS_MAX]; /* of the first: 0 */
};
/* Reads the secrets from the column as text; those that are over are left out. */
wharf_status secrets_read(wharf_req *req, wharf_str column, int64_t now_us, struct secrets *ret);
/* Puts a new secret in front; those before it end at expires_us at the latest. Problem:
 * webhook.too_many_secrets. */
wharf_status secrets_push(
    wharf_req *req, struct secrets *s, wharf_str secret, int64_t expires_us, int64_t now_us);
wharf_str secrets_write(wharf_req *req, const struct secrets *s);

/* ---- attempt.c: one request ---- */

struct target { /* where to, as the webhook is now */
    wharf_str organization; /* whose it is; empty: the request's */
    wharf_str webhook_id, url;
    const wharf_json *headers; /* name: value, or NULL */
    struct secrets secrets;
    int64_t timeout_ms;
};
struct message { /* what */
    wharf_str event_id, type, lane, traceparent, body;
    int64_t sequence; /* 0: none */
    int64_t number; /* of the attempt, from 1 */
    int64_t superseded;
};
enum outcome { OUT_SUCCESS, OUT_FAILURE, OUT_RATE_LIMITED };
struct result {
    enum outcome outcome;
    uint32_t status; /* of the answer; 0: none */
    const char *error; /* "timeout", ...; "" for a success */
    wharf_str error_text;
    wharf_str headers; /* JSON object of the answer's headers; empty: no answer */
    wharf_str body, encoding; /* the first BODY_KEPT bytes; "base64" or empty */
    bool truncated;
    bool abort, disable; /* webhook-delivery */
    bool refused; /* a blocked address, or a name that certainly is not there */
    int64_t pause_ms; /* 429: what it asks for; 0: nothing usable */
    int64_t later_ms; /* 502, 503, 504 */
    int64_t duration_us;
};
/* Starts it. *ret_request: {url, headers} as shown, custom values masked. body must live until
 * the fetch is done. */
wharf_status attempt_start(wharf_req *req, const struct target *t, const struct message *m,
    void *tag, wharf_fetch **ret_fetch, wharf_str *ret_request);
/* Judges what became of an attempt. Texts are the request's memory. */
void attempt_judge(wharf_req *req, const wharf_fetch *f, struct result *ret);
/* Reads a target from the row; the fields that rules are about to write count. */
wharf_status target_of(wharf_req *req, const wharf_rec *rec, struct target *ret);
/* Sends one test event to t and waits for the end; *ret_attempt: the attempt as the API shows it.
 * example: data of an event of `type`, or NULL. */
wharf_status attempt_test(wharf_req *req, const struct target *t, wharf_str type,
    const wharf_json *example, struct result *ret, const wharf_json **ret_attempt);
/* Makes `last_test` of a webhook. */
wharf_status last_test_of(wharf_req *req, const struct result *r, const wharf_json **ret);

/* Writes `response` and `error` of an attempt, in an object that is open. */
void put_response(wharf_req *req, wharf_out *out, const struct result *r);
void put_error(wharf_out *out, const struct result *r);

/* ---- webhook_checks.c: as the service webhooks.rules has them ---- */

extern const wharf_webhooks_rules_api webhooks_rules;
/* Checks as `owner` of the service does. */
wharf_status owner_check(wharf_req *req, const wharf_json *patterns, wharf_val *ret_key);
wharf_status events_check(
    wharf_req *req, const wharf_json *list, const char *path, const wharf_json **ret_list);
wharf_status locations_check(
    wharf_req *req, const wharf_json *list, const char *path, const wharf_json **ret_list);
wharf_status filter_check(wharf_req *req, const wharf_json *list, const char *path);
wharf_status reach_check(wharf_req *req, const wharf_json *list);
wharf_status headers_check(wharf_req *req, const wharf_json *given, wharf_str before,
    const char *path, const wharf_json **ret_shown, wharf_str *ret_values);

/* ---- values.c: URLs ---- */

/* Checks the static rules of URLs; adds the problem. */
wharf_status url_check(wharf_req *req, wharf_str url, const char *path);
/* Checks a URL as url_check() would if net.allow_http were set. */
wharf_status url_check_http(wharf_req *req, wharf_str url, const char *path);
/* Returns the URL's host, without port. */
wharf_str url_host(wharf_str url);

/* ---- routes ---- */

wharf_handler webhook_test, webhook_secret, webhook_rotate, webhook_flush, webhook_recover,
    event_resend;
/* Finds :webhook of a path, location access included. */
wharf_status find_webhook(wharf_req *req, uint32_t flags, const wharf_rec **ret, wharf_str *ret_id);

/* The context of writes of webhooks by this module: what its hooks are to do. */
extern const char hooks_call_kind[];
struct call {
    enum { DOING_ROTATE, DOING_ENABLE, DOING_END } doing;
    struct secrets secrets; /* ROTATE */
};
/* Writes the webhook (WHARF_UPDATE without fields, or WHARF_DELETE) with that context. */
wharf_status webhook_write_by_call(wharf_req *req, uint32_t op, wharf_str id, struct call *call);

/* ---- delivery.c: making and ending deliveries ---- */

/* Runs the step webhooks_list: finds which webhooks want these events. */
wharf_status delivery_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);
/* Lets the engine look at the webhook: it was made, or changed. */
wharf_status delivery_poke(wharf_req *req, wharf_str webhook_id);
wharf_status delivery_status_changed(
    wharf_req *req, wharf_str webhook_id, wharf_str from, wharf_str to);
/* Drops all waiting deliveries. *ret_n: how many; ret_n may be NULL. */
wharf_status delivery_drop(
    wharf_req *req, wharf_str webhook_id, const char *reason, int64_t *ret_n);
/* Writes one more row for webhooks.add(). trigger: automatic, manual, recovery; at_us: its
 * created_at, the same whenever it is made again. */
void delivery_row(wharf_req *req, wharf_out *rows, const wharf_event *e, wharf_str webhook_id,
    const char *trigger, wharf_str run_id, int64_t at_us, bool supersede, wharf_str *ret_id);
wharf_status delivery_add(wharf_req *req, wharf_out *rows, int64_t *ret_added);

struct wanting { /* what a webhook wants to hear of */
    wharf_str id;
    const wharf_json *events, *locations, *filter;
    const wharf_event_reader *reader; /* whose rights it has; NULL: the caller looks at them */
    bool supersede;
    int64_t since_us; /* when it was made: what happened before is not for it */
};
/* Judges whether the webhook wants the event. The filter is asked of the body, which is parsed
 * when it comes to that. *ret_event: the event as the webhook sees it; NULL: it does not want
 * it. */
wharf_status delivery_wanted(
    wharf_req *req, const struct wanting *w, const wharf_event *e, const wharf_event **ret_event);
/* Tells whether a subscription to these patterns takes the type. */
bool wants_type(const wharf_json *patterns, wharf_str type);

/* ---- webhook_engine.c, webhook_health.c ---- */

wharf_handler engine_run; /* resident: sends what is due */
wharf_handler webhooks_retention, webhooks_recover_job; /* jobs */
/* Carries out what the figures (or a receiver, or time) ask for: "suspend", "disable", "degrade",
 * "recover", "enable", "invalid_url", "receiver_request". Must be called between transactions;
 * does its own for that organization. */
wharf_status health_care(
    wharf_req *req, wharf_str organization, wharf_str webhook_id, wharf_str care);

#endif
