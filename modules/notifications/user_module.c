/* user_module.c - push messages to users (spec 07 section 16.2): what this half of the module
 * declares. */
#include "user_push.h"

#include "notifications.gen.h"

const wharf_cron_api *push_cron;
const wharf_fetch_api *push_fetch;
const wharf_push_api *push_service;

static wharf_str user_setting(const char *name)
{
    wharf_str text;

    return notifications_config->text(notifications_self, name, &text) ? text : WHARF_S("");
}

bool push_phones(void)
{
    return user_setting("fcm.service_account").n > 0;
}

wharf_push_account user_push_account(void)
{
    return (wharf_push_account){.head = WHARF_HEAD(wharf_push_account),
        .file = user_setting("fcm.service_account"),
        .project = user_setting("fcm.project"),
        .token_uri = user_setting("fcm.token_uri"),
        .endpoint = user_setting("fcm.endpoint"),
        .contact = user_setting("web_push.contact")};
}

void users_declare(wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = W->service(notifications_self, "wharf.events", 1, 6);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "user_push_notifications", .fn = user_step};

    declare_resource(d, api, "push_subscription", (wharf_str)PUSH_SUBSCRIPTION_DEFINITION,
        PUSH_SUBSCRIPTION_DEFINITION_HASH, &push_subscription_hooks);
    api->hook(d, "user", &push_user_hooks, 0);
    if (events)
        events->step(d, &step);
    api->job(d, "push", user_push_run, NULL, WHARF_S("{\"resident\": true}"));
}

wharf_status users_start(wharf_plugin *self, wharf_req *req)
{
    wharf_push_account account;
    const char *problem;

    push_cron = W->service(self, "wharf.cron", 1, 0);
    push_fetch = W->service(self, "wharf.fetch", 1, 2);
    push_service = W->service(self, "wharf.push", 1, 0);
    if (!push_cron || !push_fetch || !push_service)
        return WHARF_UNAVAILABLE;
    account = user_push_account();
    problem = push_phones() ? push_service->problem(req, &account) : NULL;
    return problem ? W->err->fail(req, ERR_VALIDATION_FAILED, NULL,
                         "notifications.fcm.service_account %s", problem)
                   : words_start(req);
}

wharf_status user_queue(wharf_req *req, wharf_str user_id, int64_t run_at_us)
{
    static const char sql[] = QUERY_USER_QUEUE;
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(user_id), val_time(run_at_us)};
    wharf_status s = W->db->exec(req, sql, args, 3, NULL);

    if (s == WHARF_OK)
        notifications_events->wake(req);
    return s;
}
