/* tracker_set.c - trackers that are written together: items of batches, the shipments inside
 * them, and the rules of both, with one statement for what a single write asks by itself (spec
 * 03 section 5). What can't go in a set is left, item by item, to trackers_batch_item. */
#include <stdlib.h>

#include "trackers.h"
#include "trackers.gen.h"

static wharf_status one_by_one(wharf_req *req)
{
    trackers_many->row_by_row(req);
    return WHARF_CONFLICT;
}

/* ---- rules of trackers ---- */

static wharf_status tracker_set_check_one(
    wharf_req *req, wharf_rec *rec, const struct seed *seed, const struct chain *c)
{
    wharf_status s = trackers_settle_place(req, WHARF_CREATE, NULL, rec);

    return s == WHARF_OK ? trackers_begin(req, rec, seed, c) : s;
}

wharf_status trackers_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    const struct seed **seeds = W->mem->alloc(req, (n + 1) * sizeof(*seeds));
    wharf_str *shipments = W->mem->alloc(req, (n + 1) * sizeof(*shipments)),
              *trackers = W->mem->alloc(req, (n + 1) * sizeof(*trackers)),
              *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    struct chain *chains;
    wharf_status s = WHARF_OK;
    size_t left = 0;

    (void)old_recs;
    if (op != WHARF_CREATE)
        return one_by_one(req);
    for (size_t i = 0; i < n; i++) {
        seeds[i] = W->res->context(new_recs[i], trackers_seed_kind);
        if (!seeds[i])
            return one_by_one(req);
        ids[i] = W->res->id(new_recs[i]);
        if (seeds[i]->entered)
            continue;
        shipments[left] = seeds[i]->shipment_id;
        trackers[left++] = ids[i];
    }
    chains = W->mem->alloc(req, n * sizeof(*chains));
    if (left)
        s = trackers_shipments->set_trackers(req, shipments, trackers, left);
    if (s == WHARF_OK)
        s = trackers_load_many(req, ids, n, chains);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        trackers_many->at(req, i);
        s = row_passed(req, tracker_set_check_one(req, new_recs[i], seeds[i], &chains[i]));
    }
    return s;
}

wharf_status trackers_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    (void)old_recs;
    (void)new_recs;
    (void)n;
    return op == WHARF_DELETE ? one_by_one(req) : WHARF_OK;
}

/* ---- shipments that were created ---- */

struct around { /* trackers around shipments */
    wharf_str *ids; /* of the trackers; or empty */
    const wharf_json **bodies;
    struct seed *seeds;
    void **contexts;
    struct wanted **wanted;
    size_t n;
};

static struct around around_room(wharf_req *req, size_t n)
{
    return (struct around){.ids = W->mem->alloc(req, (n + 1) * sizeof(wharf_str)),
        .bodies = W->mem->alloc(req, (n + 1) * sizeof(const wharf_json *)),
        .seeds = W->mem->alloc(req, (n + 1) * sizeof(struct seed)),
        .contexts = W->mem->alloc(req, (n + 1) * sizeof(void *)),
        .wanted = W->mem->alloc(req, (n + 1) * sizeof(struct wanted *))};
}

/* Makes the trackers; when one of them is refused, shipments and trackers go one by one. */
static wharf_status make_around(wharf_req *req, const struct around *a)
{
    const wharf_many_write w = {.head = WHARF_HEAD(wharf_many_write),
        .resource = "tracker",
        .op = WHARF_CREATE,
        .n = a->n,
        .ids = a->ids,
        .bodies = a->bodies,
        .kind = trackers_seed_kind,
        .contexts = a->contexts};
    const wharf_many *many;
    wharf_status s = trackers_many->write(req, &w, &many);

    if (s == WHARF_OK && trackers_many->refused(many))
        return one_by_one(req);
    for (size_t i = 0; s == WHARF_OK && i < a->n; i++) {
        if (a->wanted[i])
            a->wanted[i]->tracker_id = trackers_many->id(many, i);
    }
    return s;
}

wharf_status trackers_legs_check(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        trackers_leg_check(req, op, old_recs ? old_recs[i] : NULL, new_recs ? new_recs[i] : NULL);
    return WHARF_OK;
}

/* Adds the tracker of a shipment. entered: its id, or empty. */
static void add_around(
    struct around *a, const wharf_rec *shipment, wharf_str entered, const wharf_json *nothing)
{
    struct wanted *wanted = trackers_wanted(shipment);

    a->ids[a->n] = entered;
    a->seeds[a->n] = (struct seed){
        W->res->id(shipment), wanted ? wanted->candidates : NULL, entered.n > 0};
    a->contexts[a->n] = &a->seeds[a->n];
    a->wanted[a->n] = wanted;
    a->bodies[a->n++] = wanted ? wanted->options : nothing;
}

wharf_status trackers_legs_written(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    struct leg_row *legs = W->mem->alloc(req, (n + 1) * sizeof(*legs));
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    size_t *of = W->mem->alloc(req, (n + 1) * sizeof(*of)), left = 0;
    struct around a = around_room(req, n);
    const wharf_json *nothing;
    wharf_status s;

    (void)old_recs;
    if (op != WHARF_CREATE)
        return one_by_one(req);
    s = W->json->parse(req, WHARF_S("{}"), &nothing);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_str entered = trackers_entered(new_recs[i]);

        if (entered.n) {
            add_around(&a, new_recs[i], entered, nothing);
        } else {
            of[left] = i;
            ids[left++] = W->res->id(new_recs[i]);
        }
    }
    if (s == WHARF_OK && left)
        s = trackers_read_legs(req, ids, left, legs);
    for (size_t k = 0; s == WHARF_OK && k < left; k++) {
        if (legs[k].tracker.n) /* a rule of another module put it into one */
            return one_by_one(req);
        if (trackers_lacks_one(&legs[k]))
            add_around(&a, new_recs[of[k]], WHARF_S(""), nothing);
    }
    return s == WHARF_OK && a.n ? make_around(req, &a) : s;
}

/* ---- items of batches ---- */

struct item {
    struct order order;
    size_t at; /* its place in the call's array */
    const wharf_json *leg; /* body of the shipment */
};

static int tracker_set_by_number(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
    int order = strcmp(x->order.number.p, y->order.number.p);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Leaves the items that have the number of one before them: they mean the same tracker. */
static void tracker_set_leave_repeated(wharf_req *req, struct item *items, size_t n)
{
    struct item **sorted = W->mem->alloc(req, (n + 1) * sizeof(struct item *));

    for (size_t i = 0; i < n; i++)
        sorted[i] = &items[i];
    qsort(sorted, n, sizeof(struct item *), tracker_set_by_number);
    for (size_t i = 1; i < n; i++) {
        if (same(sorted[i]->order.number, sorted[i - 1]->order.number))
            trackers_batch->leave(req, sorted[i]->at);
    }
}

/* Takes out the items that are left. */
static size_t keep_open(wharf_req *req, struct item *items, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (trackers_batch->is_open(req, items[i].at))
            items[k++] = items[i];
    }
    return k;
}

/* Tells whether the item has a form for sets: upper and lower case of its number are what the
 * module carriers knows, and nothing is said that a set can't hold. */
static bool tracker_set_plain(const wharf_json *body, wharf_str number)
{
    for (size_t i = 0; i < number.n; i++) {
        if (number.p[i] & 0x80)
            return false;
    }
    return !W->json->get(body, "disable_webhooks") && json_is_null(W->json->get(body, "id")) &&
           json_is_null(W->json->get(body, "inference_id"));
}

/* Reads the numbers. What is wrong with an item is told when it is looked at alone. */
static size_t tracker_set_read_numbers(
    wharf_req *req, const wharf_json *const *bodies, size_t n, struct item *items)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        struct item *it = &items[k];

        if (W->json->type(bodies[i]) != WHARF_J_OBJECT ||
            !json_text(bodies[i], "tracking_number").n) {
            trackers_batch->leave(req, i);
            continue;
        }
        if (trackers_read_number(req, bodies[i], &it->order) != WHARF_OK) {
            W->err->clear(req);
            trackers_batch->leave(req, i);
            continue;
        }
        it->at = i;
        k++;
        if (!tracker_set_plain(bodies[i], it->order.number))
            trackers_batch->leave(req, i);
    }
    return k;
}

static wharf_status read_orders(wharf_req *req, struct item *items, size_t n)
{
    const wharf_carriers_table *table;
    wharf_status s = trackers_carriers->open(req, &table);

    if (s != WHARF_OK) { /* each item tells of it */
        W->err->clear(req);
        return one_by_one(req);
    }
    for (size_t i = 0; i < n; i++) {
        if (trackers_read_order(&items[i].order, table) == WHARF_OK &&
            trackers_leg_body(&items[i].order, &items[i].leg) == WHARF_OK)
            continue;
        W->err->clear(req);
        trackers_batch->leave(req, items[i].at);
    }
    return WHARF_OK;
}

/* Leaves the items whose number is followed already. */
static wharf_status tracker_set_leave_known(wharf_req *req, const struct item *items, size_t n)
{
    static const char sql[] = QUERY_OPEN_NUMBERS;
    wharf_str *numbers = W->mem->alloc(req, (n + 1) * sizeof(*numbers)),
              *providers = W->mem->alloc(req, (n + 1) * sizeof(*providers));
    size_t *of = W->mem->alloc(req, (n + 1) * sizeof(*of)), k = 0;
    const wharf_rows *rows;
    wharf_val args[2];
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        numbers[i] = items[i].order.number;
    s = W->db->lock_many(req, "tracking_number", numbers, n);
    for (size_t i = 0; i < n; i++) {
        if (json_truth(W->json->get(items[i].order.body, "allow_duplicate")))
            continue;
        numbers[k] = items[i].order.number;
        providers[k] = items[i].order.provider;
        of[k++] = items[i].at;
    }
    args[0] = val_array(req, numbers, k);
    args[1] = val_array(req, providers, k);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 2, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        trackers_batch->leave(req, of[row_int(rows, i, 0) - 1]);
    return s;
}

/* Leaves the items whose trackers would be refused when their shipments are there already. */
static wharf_status leave_refused(wharf_req *req, const struct item *items, size_t n)
{
    const wharf_json **bodies = W->mem->alloc(req, (n + 1) * sizeof(*bodies));
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    const wharf_many *many;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        ids[i] = WHARF_S("");
        bodies[i] = items[i].order.wanted.options;
    }
    s = trackers_batch->check(req, "tracker", "part", ids, bodies, n, &many);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (trackers_many->outcome(many, i) >= WHARF_MANY_REFUSED)
            trackers_batch->leave(req, items[i].at);
    }
    return s;
}

/* Makes the shipments, and with them the trackers. What is refused goes alone once more, which
 * says so in the same words. */
static wharf_status tracker_set_write_open(wharf_req *req, struct item *items, size_t n)
{
    const wharf_json **bodies = W->mem->alloc(req, (n + 1) * sizeof(*bodies));
    void **contexts = W->mem->alloc(req, (n + 1) * sizeof(*contexts));
    const wharf_many_write w = {.head = WHARF_HEAD(wharf_many_write),
        .resource = "shipment",
        .op = WHARF_CREATE,
        .n = n,
        .bodies = bodies,
        .kind = trackers_wanted_kind,
        .contexts = contexts};
    const wharf_many *many;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        bodies[i] = items[i].leg;
        contexts[i] = &items[i].order.wanted;
    }
    s = trackers_many->write(req, &w, &many);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (trackers_many->outcome(many, i) == WHARF_MANY_WRITTEN)
            trackers_batch->done_at(req, items[i].at, items[i].order.wanted.tracker_id, "created");
    }
    return s;
}

wharf_status trackers_batch_items(
    wharf_req *req, const char *action, const wharf_json *const *bodies, size_t n)
{
    struct item *items = W->mem->alloc(req, (n + 1) * sizeof(*items));
    size_t k;
    wharf_status s;

    if (strcmp(action, "merge") != 0)
        return WHARF_OK;
    k = tracker_set_read_numbers(req, bodies, n, items);
    tracker_set_leave_repeated(req, items, k);
    k = keep_open(req, items, k);
    s = k ? read_orders(req, items, k) : WHARF_OK;
    k = keep_open(req, items, k);
    if (s == WHARF_OK && k)
        s = tracker_set_leave_known(req, items, k);
    k = keep_open(req, items, k);
    if (s == WHARF_OK && k)
        s = leave_refused(req, items, k);
    k = keep_open(req, items, k);
    return s == WHARF_OK && k > 1 ? tracker_set_write_open(req, items, k) : s;
}
