/* customer_settings.c - whether and how recipients are told: the location's settings before the
 * organization's, member by member (spec 07 section 16.3, rule 1). */
#include "customers.h"

#include "notifications.gen.h"

/* Takes the members that are there. */
static void customer_settings_take(struct customer_settings *s, const wharf_json *from)
{
    const wharf_json *occasions = W->json->get(from, "occasions");
    wharf_str text;

    W->json->truth(W->json->get(from, "enabled"), &s->enabled);
    if (!json_is_null(occasions))
        s->occasions = occasions;
    if ((text = json_text(from, "reply_to")).n)
        s->reply_to = text;
    if ((text = json_text(from, "language")).n)
        s->language = text;
    if ((text = json_text(from, "time_zone")).n)
        s->time_zone = text;
}

static wharf_status take_places(
    wharf_req *req, const wharf_str *location_ids, size_t n, struct customer_settings *ret)
{
    static const char sql[] =
        "SELECT id, notification_settings, timezone FROM locations.location"
        " WHERE organization_id = $1::text AND id = ANY ((SELECT $2::text[])::text[])";
    const wharf_val args[2] = {
        val_text(W->req->organization(req)), val_array(req, location_ids, n)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        for (size_t i = 0; i < n; i++) {
            if (!same(location_ids[i], row_text(rows, r, 0)))
                continue;
            if (row_text(rows, r, 2).n)
                ret[i].time_zone = row_text(rows, r, 2);
            customer_settings_take(&ret[i], row_json(rows, r, 1));
        }
    }
    return s;
}

wharf_status customer_settings(
    wharf_req *req, const wharf_str *location_ids, size_t n, struct customer_settings *ret)
{
    const wharf_json *organization;
    wharf_status s = notifications_org->setting_json(req, "notifications.customers", &organization);

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        ret[i] = (struct customer_settings){
            .reply_to = WHARF_S(""), .language = WHARF_S(""), .time_zone = WHARF_S("UTC")};
        customer_settings_take(&ret[i], organization);
    }
    return s == WHARF_OK && customers_places ? take_places(req, location_ids, n, ret) : s;
}

bool customer_wanted(const struct customer_settings *s, const char *occasion)
{
    wharf_str one;

    if (!s->enabled || !s->occasions)
        return s->enabled;
    for (const wharf_json *v = W->json->at(s->occasions, 0); v; v = W->json->next(v)) {
        if (W->json->text(v, &one) && is(one, occasion))
            return true;
    }
    return false;
}
