/* shipment_set.c - shipments that are written together: rules and items of batches, with one
 * statement for what a single write asks or writes by itself (spec 03 section 3). The rules
 * are those of shipment_rules.c, row by row; what they would write of histories is kept and
 * written at the end. */
#include <stdlib.h>

#include "shipments.h"
#include "shipments.gen.h"

/* ---- what rows have in common ---- */

struct shipments_shared *shipments_shared(const wharf_rec *rec)
{
    static const char kind[] = "shipments.shared";

    return W->res->shared(rec, kind, sizeof(struct shipments_shared));
}

wharf_status shipments_providers(
    wharf_req *req, const wharf_rec *rec, const wharf_carriers_table **ret)
{
    struct shipments_shared *set = shipments_shared(rec);
    wharf_status s = WHARF_OK;

    *ret = set ? set->carriers : NULL;
    if (!*ret)
        s = shipments_carriers->open(req, ret);
    if (s == WHARF_OK && set)
        set->carriers = *ret;
    return s;
}

/* ---- lines of histories ---- */

enum { LINE_SHIPMENT = 2, LINE_HASHED = 19, LINES_FIRST = 64 };

/* Names of the values, as QUERY_TRACKING_UPDATES_ADD takes them; NULL: the statement says it. */
static const char *const line_names[LINE_ARGS] = {NULL, "id", "shipment_id", "status", "comment",
    "occurred_ms", "location_id", "layout_id", "container_id", "contact_id", "user_id",
    "vehicle_id", "address", "coordinates", "images", "provider_status", "comment_only", "source",
    "event", "hashed", "position", NULL, NULL, "quiet"};

void shipments_keep_line(
    wharf_req *req, struct shipments_shared *set, const wharf_val *args, bool *ret_new)
{
    struct line *more;

    *ret_new = false;
    for (size_t i = set->n;
         i-- > 0 && same(set->lines[i].args[LINE_SHIPMENT].u.s, args[LINE_SHIPMENT].u.s);) {
        if (same(set->lines[i].args[LINE_HASHED].u.s, args[LINE_HASHED].u.s))
            return;
    }
    if (set->n == set->room) {
        set->room = set->room ? 2 * set->room : LINES_FIRST;
        more = W->mem->alloc(req, set->room * sizeof(*more));
        if (set->n)
            memcpy(more, set->lines, set->n * sizeof(*more));
        set->lines = more;
    }
    memcpy(set->lines[set->n++].args, args, sizeof(set->lines->args));
    *ret_new = true;
}

static void shipment_set_put_line(wharf_out *out, const struct line *line)
{
    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < LINE_ARGS; i++) {
        wharf_val v = line->args[i];

        if (v.type == WHARF_V_TIME_US)
            v = val_int(v.u.i / 1000);
        if (line_names[i] && v.type != WHARF_V_NULL)
            W->json->put(out, line_names[i], v);
    }
    W->json->close(out);
}

static wharf_status shipment_set_write_lines(wharf_req *req, const struct shipments_shared *set)
{
    static const char sql[] = QUERY_TRACKING_UPDATES_ADD;
    wharf_out *out = W->json->writer(req);
    wharf_val args[4] = {val_text(W->req->organization(req)), val_null(),
        val_time(W->req->now_us(req)), val_text_or_null(W->req->actor(req))};

    if (!set->n)
        return WHARF_OK;
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < set->n; i++)
        shipment_set_put_line(out, &set->lines[i]);
    W->json->close(out);
    args[1] = val_text(W->json->result_text(out));
    return W->db->exec(req, sql, args, 4, NULL);
}

/* ---- rules ---- */

wharf_status shipments_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    struct shipments_shared *set;
    wharf_status s;

    (void)old_recs;
    if (op != WHARF_CREATE) {
        shipments_many->row_by_row(req);
        return WHARF_CONFLICT;
    }
    set = shipments_shared(new_recs[0]);
    set->collecting = true;
    for (size_t i = 0; i < n; i++) {
        size_t before = set->n;

        shipments_many->at(req, i);
        s = shipments_check(req, op, NULL, new_recs[i]);
        if (s == WHARF_OK)
            continue;
        set->n = before;
        if (W->err->current(req) == WHARF_OK)
            return s;
    }
    set->collecting = false;
    s = shipment_set_write_lines(req, set);
    if (s == WHARF_OK && set->n)
        shipments_many->wrote(req);
    return s;
}

wharf_status shipments_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    wharf_status s = WHARF_OK;

    (void)old_recs;
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        shipments_many->at(req, i);
        s = shipments_follow(req, op, NULL, new_recs[i]);
    }
    return s == WHARF_OK ? shipments_remember(req, new_recs, n) : s;
}

/* ---- items of batches ---- */

struct numbered { /* an item that has a number */
    wharf_str number, provider;
    size_t item;
    bool may_exist; /* a shipment of the number takes its place */
};

static int shipment_set_by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    int order = strcmp(x->number.p, y->number.p);

    return order ? order : (x->item > y->item) - (x->item < y->item);
}

static bool shipment_set_has(const wharf_json *item, const char *key)
{
    return !json_is_null(W->json->get(item, key));
}

/* Leaves the items that have the number of one before them: they mean the same shipment. Returns
 * how many are not left. */
static size_t shipment_set_leave_repeated(wharf_req *req, struct numbered *list, size_t n)
{
    size_t k = 0;

    qsort(list, n, sizeof(*list), shipment_set_by_number);
    for (size_t i = 0; i < n; i++) {
        if (i && same(list[i].number, list[i - 1].number))
            shipments_batch->leave(req, list[i].item);
        else
            list[k++] = list[i];
    }
    n = k;
    k = 0;
    for (size_t i = 0; i < n; i++) {
        if (shipments_batch->is_open(req, list[i].item) && list[i].may_exist)
            list[k++] = list[i];
    }
    return k;
}

/* Leaves the items whose shipment is there already. */
static wharf_status shipment_set_leave_known(wharf_req *req, struct numbered *list, size_t n)
{
    static const char sql[] = QUERY_KNOWN_NUMBERS;
    wharf_str *numbers = W->mem->alloc(req, (n + 1) * sizeof(*numbers)),
              *providers = W->mem->alloc(req, (n + 1) * sizeof(*providers));
    const wharf_carriers_table *table;
    const wharf_rows *rows;
    wharf_val args[3];
    wharf_status s = shipments_carriers->open(req, &table);

    if (s != WHARF_OK) { /* each item tells of it */
        W->err->clear(req);
        shipments_many->row_by_row(req);
        return s;
    }
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_detection found = {.head = WHARF_HEAD(wharf_detection)};

        if (!list[i].provider.n) {
            s = shipments_carriers->detect_in(req, table, list[i].number, &found);
            list[i].provider = found.provider_id;
        }
        numbers[i] = list[i].number;
        providers[i] = list[i].provider;
    }
    if (s == WHARF_OK)
        s = W->db->lock_many(req, "tracking_number", numbers, n);
    args[0] = val_array(req, numbers, n);
    args[1] = val_array(req, providers, n);
    args[2] = val_text(W->req->organization(req));
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        shipments_batch->leave(req, list[row_int(rows, i, 0) - 1].item);
    return s;
}

/* Tells whether upper and lower case of the number may be more than the module carriers knows. */
static bool beyond_ascii(wharf_str number)
{
    for (size_t i = 0; i < number.n; i++) {
        if (number.p[i] & 0x80)
            return true;
    }
    return false;
}

/* Lists the numbers of all items, also of those that are left, and leaves what has no form for
 * sets. */
static size_t name_items(
    wharf_req *req, const wharf_json *const *items, size_t n, struct numbered *list)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        wharf_str number = json_text(items[i], "tracking_number");

        if (number.n) {
            list[k] = (struct numbered){.item = i, .provider = json_text(items[i], "provider_id")};
            list[k].number = shipments_carriers->normalize(req, number);
            list[k++].may_exist = !json_truth(W->json->get(items[i], "allow_duplicate"));
        }
        if (shipment_set_has(items[i], "id") || shipment_set_has(items[i], "parent_id") ||
            beyond_ascii(number) || W->json->get(items[i], "disable_webhooks") ||
            (!shipment_set_has(items[i], "tracking_number") &&
                !(shipment_set_has(items[i], "sender") && shipment_set_has(items[i], "recipient") &&
                    shipment_set_has(items[i], "parcels"))))
            shipments_batch->leave(req, i);
    }
    return k;
}

/* Writes what is open. What is refused goes alone once more, which says so in the same words. */
static wharf_status shipment_set_write_open(
    wharf_req *req, const wharf_json *const *items, size_t n)
{
    const wharf_json **bodies = W->mem->alloc(req, (n + 1) * sizeof(*bodies));
    size_t *of = W->mem->alloc(req, (n + 1) * sizeof(*of)), k = 0;
    const wharf_many *many;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        if (!shipments_batch->is_open(req, i))
            continue;
        bodies[k] = items[i];
        of[k++] = i;
    }
    if (k < 2)
        return WHARF_OK;
    s = shipments_many->create(req, "shipment", bodies, k, 0, &many);
    for (size_t i = 0; s == WHARF_OK && i < k; i++) {
        if (shipments_many->outcome(many, i) == WHARF_MANY_WRITTEN)
            shipments_batch->done_at(req, of[i], shipments_many->id(many, i), "created");
    }
    return s;
}

wharf_status shipments_batch_items(
    wharf_req *req, const char *action, const wharf_json *const *items, size_t n)
{
    struct numbered *list = W->mem->alloc(req, (n + 1) * sizeof(*list));
    size_t named;
    wharf_status s;

    if (strcmp(action, "merge") != 0)
        return WHARF_OK;
    named = shipment_set_leave_repeated(req, list, name_items(req, items, n, list));
    s = named ? shipment_set_leave_known(req, list, named) : WHARF_OK;
    return s == WHARF_OK ? shipment_set_write_open(req, items, n) : s;
}
