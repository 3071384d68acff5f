/* webhook_retention.c - deliveries and attempts end with their event; so do they on disk, in
 * small batches (spec 07 section 7). */
#include "webhooks.h"

enum { BATCH = 1000 };

wharf_status webhooks_retention(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT webhooks.expire($1::integer)";
    const wharf_val most = val_int(BATCH);
    const wharf_rows *rows;
    wharf_status s;

    do {
        wharf_scope *scope = W->mem->scope_begin(req);
        int64_t n = 0;

        s = W->db->query(req, sql, &most, 1, &rows);
        if (s == WHARF_OK)
            n = row_integer(rows, 0, 0, 0);
        W->mem->scope_end(req, scope);
        if (!n)
            break;
    } while (s == WHARF_OK && !W->event->progress(req, 0, 0));
    return s;
}
