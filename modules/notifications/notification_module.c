/* notification_module.c - the module notifications (spec 07 section 16): what it declares. Rows:
 * notification_rows.c; customers: customer_*.c; users: user_*.c and push_*.c. */
#include "customers.h"
#include "user_push.h"

#include "notifications.gen.h"

const wharf_host *notifications_host;
const wharf_config_api *notifications_config;
const wharf_crypto_api *notifications_crypto;
const wharf_events_api *notifications_events;
const wharf_keys_api *notifications_keys;
const wharf_mail_api *notifications_mail;
const wharf_metrics_api *notifications_metrics;
const wharf_token_api *notifications_token;
const wharf_org_directory_api *notifications_org;
wharf_plugin *notifications_self;

/* The two of opt_out are pages for people: a look shows a button, only the button does something,
 * since mail programs look at links by themselves. */
static const wharf_route routes[] = {
    {ROUTE_PUSH_KEY, .handler = push_key},
    {ROUTE_SUBSCRIBE, .handler = push_subscribe},
    {ROUTE_UNSUBSCRIBE, .handler = push_unsubscribe},
    {ROUTE_RESEND, .handler = notification_resend},
    {ROUTE_OPT_OUT_PAGE, .handler = customer_page},
    {ROUTE_OPT_OUT_DONE, .handler = customer_ended},
    {ROUTE_PREVIEW, .handler = customer_preview},
    {ROUTE_TEST, .handler = customer_test},
};

wharf_str notification_keep(wharf_str text)
{
    char *to = W->mem->plugin_alloc(notifications_self, text.n + 1);

    memcpy(to, text.p, text.n);
    to[text.n] = 0;
    return (wharf_str){to, text.n};
}

static void notification_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    notifications_self = self;
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "notification", (wharf_str)NOTIFICATION_DEFINITION,
        NOTIFICATION_DEFINITION_HASH, NULL);
    ROUTES(api, d, routes);
    api->job(d, "tidy", notification_tidy, NULL,
        WHARF_S("{\"every\": \"1h\", \"for\": \"organizations\", \"retries\": 1, \"background\": "
                "true}"));
    customers_declare(d, api);
    users_declare(d, api);
}

static wharf_status notification_start(wharf_plugin *self, wharf_req *req)
{
    wharf_status s;

    notifications_self = self;
    notifications_config = W->service(self, "wharf.config", 1, 2);
    notifications_crypto = W->service(self, "wharf.crypto", 1, 3);
    notifications_events = W->service(self, "wharf.events", 1, 6);
    notifications_keys = W->service(self, "wharf.keys", 1, 0);
    notifications_mail = W->service(self, "wharf.mail", 1, 2);
    notifications_metrics = W->service(self, "wharf.metrics", 1, 0);
    notifications_token = W->service(self, "wharf.token", 1, 3);
    notifications_org = W->service(self, "org.directory", 1, 2);
    s = customers_start(self, req);
    return s == WHARF_OK ? users_start(self, req) : s;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = notification_declare,
        .start = notification_start};

    notifications_host = host;
    return &desc;
}
