/* inference_retain.c - images that have been kept for as long as the settings say are erased
 * (settings.inferences.retain_images_days, docs/spec/06-inference.md section 2). What was read
 * stays. */
#include "inference.h"

#include "inference.gen.h"

enum { STEP = 200 }; /* rows of one transaction */

wharf_status retain_remove(wharf_req *req, const wharf_json *images)
{
    static const char *const keys[] = {"file", "held"};
    wharf_status s = WHARF_OK;

    for (const wharf_json *m = W->json->at(images, 0); m && s == WHARF_OK; m = W->json->next(m))
        for (size_t i = 0; i < 2 && s == WHARF_OK; i++) {
            wharf_str file = json_text(m, keys[i]);

            if (file.n)
                s = inference_blob->erase(req, file);
            if (s == WHARF_NOT_FOUND)
                s = WHARF_OK; /* it was named twice, or is gone */
        }
    return s;
}

/* Readings of a kind: which of them are due, where locations have settings too, and what notes that
 * their images are gone. */
struct retained {
    const char *due, *due_at, *erased;
};

/* Erases the images of the rows that are due, at most STEP of them; *ret_n: of how many. */
static wharf_status retain_step(
    wharf_req *req, const struct retained *of, const wharf_json *days, size_t *ret_n)
{
    int64_t n = 0;
    wharf_val args[4] = {val_text(W->req->organization(req)), val_null(),
        val_time(W->req->now_us(req)), val_int(STEP)};
    wharf_str *ids = W->mem->alloc(req, STEP * sizeof(*ids));
    const wharf_rows *rows;
    wharf_status s;

    if (W->json->integer(days, &n))
        args[1] = val_int(n);
    s = W->db->query(req, inference_places ? of->due_at : of->due, args, 4, &rows);
    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; i < *ret_n && s == WHARF_OK; i++) {
        ids[i] = row_text(rows, i, 0);
        s = retain_remove(req, row_json(rows, i, 1));
    }
    args[1] = val_array(req, ids, *ret_n);
    return s == WHARF_OK && *ret_n ? W->db->exec(req, of->erased, args, 2, NULL) : s;
}

/* Erases what is due of one kind, step by step. */
static wharf_status retain_all(wharf_req *req, const struct retained *of)
{
    size_t n = STEP;
    wharf_status s = WHARF_OK;

    while (n == STEP && s == WHARF_OK && !W->req->cancelled(req)) {
        wharf_scope *scope = W->mem->scope_begin(req);
        const wharf_json *days;

        s = W->db->begin(req);
        if (s == WHARF_OK) {
            s = inference_org->setting_json(req, "inferences.retain_images_days", &days);
            if (s == WHARF_OK)
                s = retain_step(req, of, days, &n);
            s = end_with(req, s);
        }
        W->mem->scope_end(req, scope);
    }
    return s;
}

wharf_status retain_job(wharf_req *req, void *arg)
{
    static const struct retained kinds[] = {
        {QUERY_RETAIN_DUE, QUERY_RETAIN_DUE_AT, QUERY_RETAIN_ERASED},
        {QUERY_RETAIN_ITEMS, QUERY_RETAIN_ITEMS_AT, QUERY_RETAIN_ITEMS_ERASED}};
    wharf_status s = WHARF_OK;

    (void)arg;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && s == WHARF_OK; i++)
        s = retain_all(req, &kinds[i]);
    return s;
}
