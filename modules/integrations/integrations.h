/* integrations.h - inside of the module integrations. */
#ifndef INTEGRATIONS_H
#define INTEGRATIONS_H

#include "wharf/ext/org.h"
#include "wharf/ext/webhooks.h"
#include "wharf/ext/workflows.h"
#include "wharf/plugin.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/http.h"
#include "wharf/service/text.h"
#include "wharf/service/token.h"

extern const wharf_host *int_host; /* these are set once, before anything of this module runs */
extern const wharf_fetch_api *int_fetch;
extern const wharf_crypto_api *int_crypto;
extern const wharf_events_api *int_events;
extern const wharf_http_api *int_http;
extern const wharf_text_api *int_text;
extern const wharf_token_api *int_tokens;
extern const wharf_webhooks_rules_api *int_rules;
extern const wharf_org_directory_api *int_org;
/* NULL: the module workflows is not loaded; no integration has a workflow then */
extern const wharf_workflows_runs_api *int_flows;
extern wharf_plugin *int_self;

#define W int_host
#include "wharf/inline.h"

enum {
    INTEGRATIONS_MAX = 50, /* of an organization */
    SECRETS_MAX = 20 /* of an integration */
};
#define SECOND_US 1000000LL
#define DAY_US    (86400 * SECOND_US)
/* of names of wharf.token: ids of integrations in public paths */
#define INCOMING_KIND   "incoming"
#define OUTGOING_NOTICE "outgoing_integration"
#define INCOMING_NOTICE "incoming_webhook"

/* ---- integration_rules.c ---- */
extern const wharf_hooks integration_hooks;

/* ---- integration_secrets.c ---- */
wharf_handler secret_put, secret_remove;
/* Returns the key of the secret that proves a sender: auth.secret, or "secret" where the row does
 * not say. */
wharf_str secret_key(const wharf_json *auth);
/* Reads the value of a key; empty when the integration has none of that key, or it does not open
 * on this machine. In a transaction. */
wharf_status secret_value(
    wharf_req *req, wharf_str integration_id, wharf_str key, wharf_str *ret_value);

/* ---- proof.c: who sent a request? ---- */

struct proof { /* what a sender offers */
    wharf_str authorization; /* the header, or the one that auth.header names */
    wharf_str id, timestamp, signature; /* webhook-* */
};
/* Reads the proof from the headers of the request. */
void proof_of(wharf_req *req, const wharf_json *auth, struct proof *ret);
/* Makes of a proof a text to be sealed (proof_text), and reads it back (proof_parse). */
wharf_str proof_text(wharf_req *req, const struct proof *p);
wharf_status proof_parse(wharf_req *req, wharf_str text, struct proof *ret);
/* Judges a proof. Returns NULL when it is good; else what is wrong. at_s: when the request came. */
const char *proof_problem(wharf_req *req, const wharf_json *auth, wharf_str secret,
    const struct proof *p, wharf_str body, int64_t at_s);

/* ---- integration_runs.c: workflows that get requests, or make them ---- */

struct shown_integration { /* as its workflow sees it */
    wharf_str id, name, provider, url, method;
};
/* Sets what on_run gets: {integration, key: value}. */
void runs_input(wharf_req *req, const struct shown_integration *shown, const char *key,
    const wharf_json *value, wharf_workflow_start *start);
/* Queues the runs, in the request's transaction; where that can't be, the run says why. */
wharf_status runs_start(wharf_req *req, wharf_workflow_start *const *starts, size_t n);
/* Makes {code, message}. */
wharf_status error_made(
    wharf_req *req, const char *code, const char *message, const wharf_json **ret);

/* ---- incoming.c, outgoing.c, integration_engine.c ---- */
wharf_handler incoming_take, incoming_retry, outgoing_retry, outgoing_run;
wharf_status outgoing_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);

/* ---- notices.c ---- */
/* Tells of errors of this kind when there are as many as the settings allow, after one was noted
 * in integrations.failure. In its transaction. */
wharf_status notice_error(wharf_req *req, const char *kind, wharf_str id);
wharf_handler retention_run;

#endif
