/* chain.c - legs as queries/legs_load.sql orders them: which one is current, what follows for the
 * tracker (docs/spec/03-shipments-and-trackers.md section 5.3). */
#include "trackers.h"
#include "trackers.gen.h"

wharf_status trackers_load_many(
    wharf_req *req, const wharf_str *tracker_ids, size_t n, struct chain *ret)
{
    static const char sql[] = QUERY_LEGS_LOAD;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_array(req, tracker_ids, n).u.s, &rows);

    for (size_t i = 0; i < n; i++)
        ret[i].n = 0;
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct chain *c = &ret[row_int(rows, i, 0) - 1];
        struct leg *l = &c->legs[c->n++];

        l->id = row_text(rows, i, 1);
        l->status = row_text(rows, i, 2);
        l->group = trackers_shipments->group(l->status);
        l->started = l->group > WHARF_GROUP_BEFORE;
        l->row = row_json(rows, i, 3);
    }
    return s;
}

wharf_status trackers_load(wharf_req *req, wharf_str tracker_id, struct chain *c)
{
    return trackers_load_many(req, &tracker_id, 1, c);
}

const struct leg *trackers_current(const struct chain *c, wharf_str pinned)
{
    for (size_t i = 0; pinned.n && i < c->n; i++) {
        if (same(c->legs[i].id, pinned))
            return &c->legs[i];
    }
    for (size_t i = c->n; i-- > 0;) {
        if (c->legs[i].started)
            return &c->legs[i];
    }
    return c->n ? &c->legs[0] : NULL;
}

/* ---- auto close ---- */

static bool later_started(const struct chain *c, size_t i)
{
    for (size_t k = i + 1; k < c->n; k++) {
        if (c->legs[k].started)
            return true;
    }
    return false;
}

static bool closes(const struct chain *c, size_t i, wharf_str option, size_t added)
{
    const struct leg *l = &c->legs[i];

    if (l->group >= WHARF_GROUP_GOOD || i + 1 >= c->n || is(l->status, "rates_generated"))
        return false;
    if (is(option, "on_progress"))
        return later_started(c, i);
    if (is(option, "on_add"))
        return i < added;
    return is(option, "on_delivered") && c->legs[c->n - 1].group == WHARF_GROUP_GOOD;
}

wharf_status trackers_auto_close(
    wharf_req *req, const struct chain *c, wharf_str option, size_t added, bool *ret_any)
{
    static const wharf_shipment_write by_system = {
        .head = WHARF_HEAD(wharf_shipment_write), .source = "system", .skip_completed = true};
    const wharf_json *update;
    wharf_status s = W->json->parse(req,
        WHARF_S("{\"status\": \"delivered\", \"comment\": \"Handed over to the next shipment\"}"),
        &update);

    *ret_any = false;
    for (size_t i = 0; s == WHARF_OK && i < c->n; i++) {
        if (!closes(c, i, option, added))
            continue;
        s = trackers_shipments->update(req, c->legs[i].id, update, &by_system);
        *ret_any = true;
    }
    return s;
}

/* ---- what the tracker shows ---- */

static wharf_str chain_status_of(
    const struct chain *c, const struct leg *current, wharf_str chained_status)
{
    size_t at = (size_t)(current - c->legs);

    if (current->group == WHARF_GROUP_GOOD) {
        for (size_t i = at + 1; i < c->n; i++) {
            if (c->legs[i].group < WHARF_GROUP_GOOD)
                return chained_status;
        }
    }
    return (current->group == WHARF_GROUP_BAD || current->group == WHARF_GROUP_CANCELED) &&
                   later_started(c, at)
               ? chained_status
               : current->status;
}

static wharf_val chain_member(const struct leg *l, const char *key)
{
    const wharf_json *v = W->json->get(l->row, key);
    wharf_str s;

    if (json_is_null(v))
        return val_null();
    return W->json->text(v, &s) ? val_text(s) : val_json(v);
}

static wharf_val chain_moment(const struct leg *l, const char *key)
{
    const wharf_json *v = W->json->get(l->row, key);
    int64_t ms;

    return !json_is_null(v) && W->json->integer(v, &ms) ? val_time(ms * 1000) : val_null();
}

static void copy_current(wharf_rec *rec, const struct leg *l)
{
    static const struct {
        wharf_field field;
        const char *key;
    } plain[] = {{TRACKER_TRACKING_NUMBER, "tracking_number"}, {TRACKER_PROVIDER_ID, "provider_id"},
        {TRACKER_PROVIDER, "provider"}, {TRACKER_TRACKING_URL, "tracking_url"},
        {TRACKER_COORDINATES, "coordinates"}, {TRACKER_SENDER, "sender"},
        {TRACKER_RECIPIENT, "recipient"}, {TRACKER_FULFILLMENT_ID, "fulfillment_id"}},
      times[] = {{TRACKER_ESTIMATED_DELIVERY_AT, "estimated_delivery_at"},
          {TRACKER_PICKUP_AT, "pickup_at"}, {TRACKER_DELIVERED_AT, "delivered_at"}};

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        W->res->set(rec, plain[i].field, chain_member(l, plain[i].key));
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        W->res->set(rec, times[i].field, chain_moment(l, times[i].key));
}

static bool has_tag(wharf_str *tags, size_t n, wharf_str tag)
{
    for (size_t i = 0; i < n; i++) {
        if (same(tags[i], tag))
            return true;
    }
    return false;
}

static wharf_status set_tags(wharf_req *req, wharf_rec *rec, const struct chain *c)
{
    wharf_str seen[64], tag;
    wharf_out *out = W->json->builder(req);
    const wharf_json *tags;
    size_t n = 0;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < c->n; i++) {
        const wharf_json *list = W->json->get(c->legs[i].row, "tags");

        for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
            if (!W->json->text(e, &tag) || n == 64 || has_tag(seen, n, tag))
                continue;
            seen[n++] = tag;
            W->json->put(out, NULL, val_text(tag));
        }
    }
    W->json->close(out);
    s = W->json->result(req, out, &tags);
    if (s == WHARF_OK)
        W->res->set(rec, TRACKER_TAGS, val_json(tags));
    return s;
}

static void set_sums(wharf_req *req, wharf_rec *rec, const struct chain *c)
{
    wharf_str search = WHARF_S(""), legs = WHARF_S("");
    bool parent = false, plain = false;
    int64_t history = 0, one;

    for (size_t i = 0; i < c->n; i++) {
        const struct leg *l = &c->legs[i];

        if (json_truth(W->json->get(l->row, "is_parent")))
            parent = true;
        else
            plain = true;
        if (W->json->integer(W->json->get(l->row, "history_count"), &one))
            history += one;
        search = W->mem->format(
            req, "%s%s%s", search.p, i ? " " : "", json_text(l->row, "search_text").p);
        legs = W->mem->format(
            req, "%s%s%s", legs.p, i ? "," : "", json_text(l->row, "version_text").p);
    }
    W->res->set(rec, TRACKER_HAS_PARENT_SHIPMENT, val_bool(parent));
    W->res->set(rec, TRACKER_HAS_PLAIN_SHIPMENT, val_bool(plain));
    W->res->set(rec, TRACKER_LEGS_COUNT, val_int((int64_t)c->n));
    W->res->set(rec, TRACKER_SEARCH_TEXT, val_text_or_null(search));
    W->res->set(rec, TRACKER_LEGS_HASH, val_text(legs));
    W->res->set(rec, TRACKER_HISTORY_COUNT, val_int(history));
}

wharf_status trackers_derive(wharf_req *req, wharf_rec *rec, const struct chain *c)
{
    const struct leg *current = trackers_current(c, field_text(rec, TRACKER_PINNED_SHIPMENT_ID));
    wharf_str chained = field_text(rec, TRACKER_CHAINED_STATUS), status;
    const wharf_json *filters;
    wharf_status s;

    set_sums(req, rec, c);
    if (!current)
        return WHARF_OK;
    status = chain_status_of(c, current, chained.n ? chained : WHARF_S("package_at_waypoint"));
    s = trackers_shipments->filters(req, status, &filters);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, TRACKER_CURRENT_SHIPMENT_ID, val_text(current->id));
    W->res->set(rec, TRACKER_STATUS, val_text(status));
    W->res->set(rec, TRACKER_FILTERS, val_json(filters));
    copy_current(rec, current);
    return set_tags(req, rec, c);
}

wharf_status trackers_contacts_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] = WHARF_PARTIES_MERGED("trackers.tracker");
    wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}
