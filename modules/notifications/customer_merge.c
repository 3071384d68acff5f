/* customer_merge.c - contacts that became one: what waits for the others goes to it, and so do
 * their links (spec 02 section 4 'Merge'). */
#include "customers.h"

wharf_status customers_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char links_sql[] = "UPDATE notifications.link SET contact_id = $3::text"
                                    " WHERE organization_id = $1::text AND contact_id = ANY "
                                    "((SELECT $2::text[])::text[])";
    static const char rows_sql[] =
        "UPDATE notifications.notification SET contact_id = $3::text"
        " WHERE organization_id = $1::text AND contact_id = ANY ((SELECT $2::text[])::text[])"
        " AND status = 'waiting' AND NOT EXISTS (SELECT FROM notifications.notification o"
        " WHERE o.organization_id = $1::text AND o.contact_id = $3::text"
        " AND o.event_id = notification.event_id)";
    const wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};
    uint64_t moved = 0;
    wharf_status s = W->db->exec(req, links_sql, args, 3, NULL);

    if (s == WHARF_OK)
        s = W->db->exec(req, rows_sql, args, 3, &moved);
    for (uint64_t i = 0; s == WHARF_OK && i < moved; i++)
        s = customer_queue(req, to, 0);
    return s;
}
