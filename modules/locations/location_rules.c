/* location_rules.c - the rules of locations (spec 02 section 2): addresses, hours, contact data,
 * the default layout. Leaves to others: rows that keep a location from being deleted; the modules
 * that have them say so by in_use() of location_directory.c in a hook on location. */
#include <stdio.h>

#include "location_address.h"
#include "hours.h"
#include "layouts.h"
#include "locations.gen.h"

enum { ZONE_NAME = 64 };

/* ---- normalize: other forms of input ---- */

struct shared { /* by the locations of a set */
    wharf_str country; /* of the organization; "": not asked for */
};

static struct shared *shared_of(const wharf_rec *rec)
{
    static const char kind[] = "locations.shared";

    return W->res->shared(rec, kind, sizeof(struct shared));
}

/* Asks for the country once, when any of the rows has an address. */
static wharf_status location_look_ahead(
    wharf_req *req, uint32_t op, const wharf_rec *const *recs, size_t n)
{
    for (size_t i = 0; org && i < n; i++) {
        if (W->res->member(recs[i], "address"))
            return org->country(req, &shared_of(recs[i])->country);
    }
    return WHARF_OK;
}

static bool is_address_id(const wharf_json *input)
{
    wharf_str s;

    return W->json->text(input, &s) && s.n > 5 && !memcmp(s.p, "addr_", 5);
}

/* Reads the address as it is sent; it is remembered when its row is written. */
static wharf_status location_take_address(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *line2 = W->res->member(rec, "address_line2"), *value;
    wharf_str second = {"", 0}, whole;
    wharf_status s;
    wharf_val v;

    if (!W->res->get(rec, LOCATION_ADDRESS, &v) || W->json->type(v.u.j) == WHARF_J_NULL)
        return WHARF_OK;
    if (line2)
        W->json->text(line2, &second);
    s = address_in(req, v.u.j, second, shared_of(rec)->country, "address", &whole);
    if (s != WHARF_OK && is_address_id(v.u.j)) /* maybe of another row of the set */
        locations_many->row_by_row(req);
    if (s == WHARF_OK)
        s = W->json->parse(req, whole, &value);
    if (s == WHARF_OK)
        W->res->set(rec, LOCATION_ADDRESS, val_json(value));
    return s;
}

static wharf_status location_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *activate = W->res->member(new_rec, "activate_location");

    if (activate) {
        if (!W->res->member(new_rec, "active"))
            W->res->set(new_rec, LOCATION_ACTIVE, val_json(activate));
        W->res->drop(new_rec, "activate_location");
    }
    return location_take_address(req, new_rec);
}

/* ---- check ---- */

/* Settles the address. Line 2 by itself: the stored address with it. */
static wharf_status settle_address(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *value, *formatted;
    wharf_str line2 = {"", 0}, whole, text_of = {"", 0};
    struct address a;
    wharf_status s;
    wharf_val v;

    if (old_rec && !W->res->sent(new_rec, LOCATION_ADDRESS) &&
        W->res->sent(new_rec, LOCATION_ADDRESS_LINE2) &&
        W->res->get(old_rec, LOCATION_ADDRESS, &v)) {
        field_get_text(new_rec, LOCATION_ADDRESS_LINE2, &line2);
        address_parts(v.u.j, &a);
        a.line2 = line2;
        s = address_json(req, &a, &whole);
        if (s == WHARF_OK)
            s = W->json->parse(req, whole, &value);
        if (s != WHARF_OK)
            return s;
        W->res->set(new_rec, LOCATION_ADDRESS, val_json(value));
    }
    if (!W->res->get(new_rec, LOCATION_ADDRESS, &v))
        return WHARF_OK;
    formatted = W->json->get(v.u.j, "formatted_address");
    if (formatted)
        W->json->text(formatted, &text_of);
    W->res->set(new_rec, LOCATION_FORMATTED_ADDRESS, val_text_or_null(text_of));
    return WHARF_OK;
}

static wharf_status check_email(wharf_req *req, const wharf_rec *rec)
{
    wharf_str s;

    if (!W->res->sent(rec, LOCATION_EMAIL) || !field_get_text(rec, LOCATION_EMAIL, &s) ||
        org->email(s))
        return WHARF_OK;
    return W->err->add(
        req, ERR_VALIDATION_FAILED, "email", "email must be an address such as dock@example.com");
}

static wharf_status settle_phone(wharf_req *req, wharf_rec *rec)
{
    wharf_str s, phone;

    if (!W->res->sent(rec, LOCATION_PHONE) || !field_get_text(rec, LOCATION_PHONE, &s))
        return WHARF_OK;
    if (!org->phone(req, s, &phone))
        return W->err->add(req, ERR_VALIDATION_FAILED, "phone", "phone " WHARF_PHONE_WRONG);
    W->res->set(rec, LOCATION_PHONE, val_text(phone));
    return WHARF_OK;
}

/* Tells whether an IANA zone is known: it is a compiled file of that name. */
static bool zone_known(wharf_str name)
{
    char path[ZONE_NAME + 32], magic[4];
    FILE *f;
    bool known;

    for (size_t i = 0; i < name.n; i++) {
        if (!strchr(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/", name.p[i]))
            return false;
    }
    if (!name.n || name.n > ZONE_NAME || name.p[0] < 'A' || name.p[0] > 'Z')
        return false;
    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%.*s", (int)name.n, name.p);
    f = fopen(path, "re");
    if (!f)
        return false;
    known = fread(magic, 1, 4, f) == 4 && memcmp(magic, "TZif", 4) == 0;
    fclose(f);
    return known;
}

static wharf_status check_timezone(wharf_req *req, const wharf_rec *rec)
{
    wharf_str s;

    if (!W->res->sent(rec, LOCATION_TIMEZONE) || !field_get_text(rec, LOCATION_TIMEZONE, &s) ||
        zone_known(s))
        return WHARF_OK;
    return W->err->add(req, ERR_VALIDATION_FAILED, "timezone",
        "timezone must be a name of the IANA list, such as America/New_York");
}

static wharf_status bad_holiday(wharf_req *req, size_t i, const char *member, const char *message)
{
    return W->err->add(req, ERR_VALIDATION_FAILED,
        W->mem->format(req, "holidays.%zu%s", i, member).p, "holidays.%zu%s %s", i, member,
        message);
}

static void check_holiday(wharf_req *req, const wharf_json *e, size_t i)
{
    static const char *const times[] = {"open", "close"};
    bool object = W->json->type(e) == WHARF_J_OBJECT;
    const wharf_json *date = object ? W->json->get(e, "date") : e;
    wharf_str s = {"", 0};
    int minutes;

    if (!date || !W->json->text(date, &s) || !hours_date(s))
        bad_holiday(req, i, object ? ".date" : "", "must be a day such as 2026-12-25");
    for (size_t k = 0; object && k < 2; k++) {
        const wharf_json *t = W->json->get(e, times[k]);

        if (t && W->json->type(t) != WHARF_J_NULL &&
            !(W->json->text(t, &s) && hours_time(s, &minutes)))
            bad_holiday(req, i, k ? ".close" : ".open", "must be a time from 00:00 to 24:00");
    }
}

static wharf_status check_holidays(wharf_req *req, const wharf_rec *rec)
{
    size_t i = 0;
    wharf_val v;

    if (!W->res->sent(rec, LOCATION_HOLIDAYS) || !W->res->get(rec, LOCATION_HOLIDAYS, &v))
        return WHARF_OK;
    for (const wharf_json *e = W->json->at(v.u.j, 0); e; e = W->json->next(e))
        check_holiday(req, e, i++);
    return W->err->current(req);
}

static wharf_status settle_hours(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *sent = W->res->sent(new_rec, LOCATION_OPERATING_HOURS)
                                 ? W->res->input(new_rec, LOCATION_OPERATING_HOURS)
                                 : NULL;
    const wharf_json *week, *display;
    wharf_val stored = {0};
    wharf_status s;

    if (op == WHARF_UPDATE && !sent)
        return WHARF_OK;
    if (old_rec)
        W->res->get(old_rec, LOCATION_OPERATING_HOURS, &stored);
    s = hours_merge(req, stored.u.j, sent, &week);
    if (s == WHARF_OK)
        s = hours_display(req, week, &display);
    if (s != WHARF_OK)
        return s;
    W->res->set(new_rec, LOCATION_OPERATING_HOURS, val_json(week));
    W->res->set(new_rec, LOCATION_OPERATING_HOURS_DISPLAY, val_json(display));
    return WHARF_OK;
}

/* Joins groups. They know their locations: what the request says of them is the groups' to keep. */
static wharf_status join_groups(wharf_req *req, const wharf_rec *rec, bool *ret_changed)
{
    const wharf_json *input = W->res->input(rec, LOCATION_GROUPS);

    *ret_changed = false;
    if (json_is_null(input))
        return WHARF_OK;
    if (!groups)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "groups",
            "groups needs the module contacts, which is not enabled");
    return groups->join(req, "location", W->res->id(rec), input, "groups", ret_changed);
}

static wharf_status join_on_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    bool changed;
    wharf_status s = join_groups(req, rec, &changed);

    if (s == WHARF_OK && changed)
        W->res->set(
            rec, LOCATION_GROUPS_CHANGES, val_int(field_int(old_rec, LOCATION_GROUPS_CHANGES) + 1));
    return s;
}

static wharf_status location_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s;

    if (op == WHARF_DELETE)
        return WHARF_OK;
    check_email(req, new_rec);
    settle_phone(req, new_rec);
    check_timezone(req, new_rec);
    check_holidays(req, new_rec);
    s = settle_hours(req, op, old_rec, new_rec);
    if (s == WHARF_OK)
        s = W->err->current(req);
    if (s == WHARF_OK)
        s = settle_address(req, old_rec, new_rec);
    if (s != WHARF_OK || op == WHARF_UPDATE)
        return s == WHARF_OK ? join_on_update(req, old_rec, new_rec) : s;
    W->res->set(
        new_rec, LOCATION_DEFAULT_LAYOUT_ID, val_text(layout_default_id(req, W->res->id(new_rec))));
    W->res->set(new_rec, LOCATION_GROUPS_CHANGES, val_int(0));
    return WHARF_OK;
}

static wharf_status location_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    return check_each(req, locations_many, op, old_recs, new_recs, n, location_location_check);
}

/* ---- written ---- */

/* Remembers the addresses that are new on these rows. old_recs: NULL on create. */
static wharf_status remember_addresses(
    wharf_req *req, const wharf_rec *const *old_recs, const wharf_rec *const *new_recs, size_t n)
{
    wharf_str *addresses = W->mem->alloc(req, (n + 1) * sizeof(*addresses));
    size_t k = 0;
    wharf_val v;

    for (size_t i = 0; i < n; i++) {
        wharf_out *out;

        if (old_recs && !W->res->changed(old_recs[i], new_recs[i], LOCATION_ADDRESS))
            continue;
        if (!W->res->get(new_recs[i], LOCATION_ADDRESS, &v) ||
            W->json->type(v.u.j) != WHARF_J_OBJECT)
            continue;
        out = W->json->writer(req);
        W->json->put(out, NULL, v);
        addresses[k++] = W->json->result_text(out);
    }
    return address_remember(req, addresses, k);
}

/* Gives new locations their default layouts, and whoever made them the access to them. */
static wharf_status location_complete(wharf_req *req, const wharf_rec *const *recs, size_t n)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(recs[i]);
    s = remember_addresses(req, NULL, recs, n);
    if (s == WHARF_OK)
        layouts_make_default(req, ids, n);
    return s == WHARF_OK && org ? org->grant(req, W->req->actor(req), ids, n) : s;
}

static wharf_status remove_layouts(wharf_req *req, wharf_str location_id)
{
    static const char sql[] =
        "UPDATE locations.layout SET deleted_at = to_timestamp($2::bigint / 1000 / 1000.0), "
        "updated_by = $3::text, version = version + 1"
        " WHERE organization_id = $4::text AND location_id = $1::text AND deleted_at IS NULL";
    wharf_val args[4] = {val_text(location_id), val_int(W->req->now_us(req)),
        val_text(W->req->actor(req)), val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 4, NULL);
}

static wharf_status location_location_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    bool changed;
    wharf_status s;

    if (op == WHARF_DELETE) {
        s = remove_layouts(req, W->res->id(old_rec));
        return s == WHARF_OK && org ? org->revoke(req, W->res->id(old_rec)) : s;
    }
    if (op == WHARF_UPDATE)
        return remember_addresses(req, &old_rec, &new_rec, 1);
    s = location_complete(req, &new_rec, 1);
    return s == WHARF_OK ? join_groups(req, new_rec, &changed) : s;
}

static wharf_status location_written_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, const wharf_rec *const *new_recs, size_t n)
{
    bool alone = op != WHARF_CREATE;

    (void)old_recs;
    for (size_t i = 0; !alone && i < n; i++)
        alone = !json_is_null(W->res->input(new_recs[i], LOCATION_GROUPS));
    if (alone) {
        locations_many->row_by_row(req);
        return WHARF_CONFLICT;
    }
    return location_complete(req, new_recs, n);
}

/* ---- lists: ?user_id=, ?group_id= ---- */

static wharf_status location_only_these(
    wharf_req *req, wharf_where *where, const wharf_str *ids, size_t n)
{
    const wharf_json *list;
    wharf_status s = W->json->parse(req, val_ids(req, ids, n).u.s, &list);

    if (s == WHARF_OK)
        W->res->narrow(where, LOCATION_ID, "in", val_json(list));
    return s;
}

/* Narrows to the locations that a user or device reaches, and those of a group. */
static wharf_status location_restrict(wharf_req *req, wharf_where *where)
{
    const wharf_str *ids;
    wharf_str id;
    size_t n;
    bool all;
    wharf_status s = WHARF_OK;

    if (W->req->param(req, "location", &id))
        return WHARF_OK;
    if (org && (W->req->param(req, "user_id", &id) || W->req->param(req, "user", &id))) {
        s = org->locations(req, id, &all, &ids, &n);
        if (s == WHARF_OK && !all)
            s = location_only_these(req, where, ids, n);
    }
    if (s == WHARF_OK && groups &&
        (W->req->param(req, "group_id", &id) || W->req->param(req, "group", &id))) {
        s = groups->children(req, "location", id, &ids, &n);
        if (s == WHARF_OK)
            s = location_only_these(req, where, ids, n);
    }
    return s;
}

const wharf_hooks location_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = location_normalize,
    .check = location_location_check,
    .written = location_location_written,
    .restrict_rows = location_restrict,
    .check_many = location_check_many,
    .written_many = location_written_many,
    .look_ahead = location_look_ahead};
