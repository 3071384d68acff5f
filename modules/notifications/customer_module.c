/* customer_module.c - mails to the recipients of shipments (spec 07 section 16.3): what this half
 * of the module declares. */
#include "customers.h"

#include "notifications.gen.h"

const wharf_contacts_notices_api *customers_contacts;
const wharf_draw_api *customers_draw;
bool customers_trackers, customers_places;

void customers_declare(wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = W->service(notifications_self, "wharf.events", 1, 6);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "customers_mail", .fn = customer_step};

    declare_resource(d, api, "notification_template", (wharf_str)NOTIFICATION_TEMPLATE_DEFINITION,
        NOTIFICATION_TEMPLATE_DEFINITION_HASH, &customer_template_hooks);
    if (events)
        events->step(d, &step);
    api->job(d, "customer_mail", customer_send, NULL,
        WHARF_S("{\"transaction\": \"own\", \"retries\": 20, \"backoff\": {\"first\": \"5s\", "
                "\"max\": \"2h\"}, \"timeout\": \"3m\"}"));
    api->job(d, "customer_sweep", customer_sweep, NULL,
        WHARF_S("{\"every\": \"10m\", \"for\": \"organizations\", \"retries\": 1}"));
}

wharf_status customers_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    customers_contacts = W->service(self, "contacts.notices", 1, 0);
    customers_draw = W->service(self, "wharf.draw", 1, 1);
    customers_trackers = W->service(self, "trackers.ops", 1, 0) != NULL;
    customers_places = W->service(self, "locations.directory", 1, 0) != NULL;
    if (merge)
        merge->on_merge(customers_merged);
    return customers_draw ? customer_templates_start(req) : WHARF_UNAVAILABLE;
}

wharf_status customer_queue(wharf_req *req, wharf_str contact_id, int64_t run_at_us)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "contact", val_text(contact_id));
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK ? W->event->enqueue(req, "customer_mail", contact_id, args, run_at_us) : s;
}
