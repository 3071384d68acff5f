/* shipment_updates.c - tracking updates as they are sent: every member checked, times read
 * (docs/spec/03-shipments-and-trackers.md section 4). Leaves what they do to shipment_history.c. */
#include <stdlib.h>

#include "shipments.h"
#include "wharf/errors.h"
#include "wharf/moment.h"

enum {
    COMMENT_MAX = 2000, /* letters of a comment */
    IMAGES_MAX = 10, /* images of an update */
    ID_LENGTH = 191
};

static wharf_status shipment_updates_bad(
    wharf_req *req, const char *path, const char *member, const char *message)
{
    const char *at = W->mem->format(req, "%s%s", path, member).p;

    return W->err->add(req, ERR_VALIDATION_FAILED, at, "%s %s", at, message);
}

static size_t shipment_updates_characters(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

static void shipment_updates_read_text(wharf_req *req, const wharf_json *input, const char *path,
    const char *key, size_t most, wharf_str *ret)
{
    const wharf_json *v = W->json->get(input, key);

    *ret = WHARF_S("");
    if (json_is_null(v))
        return;
    if (!W->json->text(v, ret)) {
        *ret = WHARF_S("");
        shipment_updates_bad(req, path, key, "must be text");
    } else if (shipment_updates_characters(*ret) > most) {
        shipment_updates_bad(
            req, path, key, W->mem->format(req, "must have at most %zu characters", most).p);
    }
}

/* ---- times ---- */

static void read_when(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    const wharf_json *v = W->json->get(input, "occurred_at");
    int64_t now = W->req->now_us(req) / 1000 * 1000, whole;
    wharf_str s = WHARF_S("");

    u->occurred_us = now;
    u->dated = !json_is_null(v);
    if (!u->dated)
        return;
    if (W->json->integer(v, &whole))
        s = W->mem->format(req, "%lld", (long long)whole);
    else
        W->json->text(v, &s);
    if (!wharf_moment_read(s.p, &u->occurred_us))
        shipment_updates_bad(req, path, "occurred_at",
            "must be a date and time with Z or a UTC offset, or epoch seconds or milliseconds");
    else if (u->occurred_us > now + DAY_US)
        shipment_updates_bad(req, path, "occurred_at", "must not be more than 24 hours ahead");
}

/* ---- the other members ---- */

static bool is_image(wharf_str s)
{
    return strncmp(s.p, "https://", 8) == 0 || strncmp(s.p, "http://", 7) == 0 ||
           strncmp(s.p, "data:image/", 11) == 0;
}

static void read_images(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    const wharf_json *many = W->json->get(input, "images"), *one = W->json->get(input, "image");
    wharf_out *out;
    wharf_str s;

    u->images = NULL;
    if (json_is_null(many) && json_is_null(one))
        return;
    if (!json_is_null(many)) {
        if (W->json->type(many) != WHARF_J_ARRAY || W->json->count(many) > IMAGES_MAX) {
            shipment_updates_bad(
                req, path, "images", "must be an array of at most 10 URLs or data URLs");
            return;
        }
        for (const wharf_json *e = W->json->at(many, 0); e; e = W->json->next(e)) {
            if (!W->json->text(e, &s) || !is_image(s))
                shipment_updates_bad(req, path, "images", "must be URLs or data URLs of images");
        }
        u->images = many;
        return;
    }
    out = W->json->builder(req);
    W->json->open(out, NULL, '[');
    W->json->put(out, NULL, val_json(one));
    W->json->close(out);
    W->json->result(req, out, &u->images);
}

static void read_coordinates(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    const wharf_json *v = W->json->get(input, "coordinates");
    int64_t degrees[2];

    u->coordinates = NULL;
    if (json_is_null(v))
        return;
    if (W->json->type(v) != WHARF_J_ARRAY || W->json->count(v) != 2 ||
        !W->json->decimal(W->json->at(v, 0), 9, &degrees[0]) ||
        !W->json->decimal(W->json->at(v, 1), 9, &degrees[1]) || llabs(degrees[0]) > 90000000000LL ||
        llabs(degrees[1]) > 180000000000LL)
        shipment_updates_bad(req, path, "coordinates", "must be [latitude, longitude]");
    else
        u->coordinates = v;
}

/* Reads the address of an update: often only a city and a state, so no rule of addresses is
 * asked. */
static void shipment_updates_read_address(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    const wharf_json *v = W->json->get(input, "address");
    wharf_out *out;
    wharf_str s;

    u->address = NULL;
    if (json_is_null(v))
        return;
    if (W->json->type(v) == WHARF_J_OBJECT) {
        u->address = v;
    } else if (W->json->text(v, &s) && s.n && shipment_updates_characters(s) <= 512) {
        out = W->json->builder(req);
        W->json->open(out, NULL, '{');
        W->json->put(out, "formatted_address", val_text(s));
        W->json->close(out);
        W->json->result(req, out, &u->address);
    } else {
        shipment_updates_bad(
            req, path, "address", "must be text of up to 512 characters or an object");
    }
}

static void read_provider_status(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    const wharf_json *v = W->json->get(input, "provider_status");

    u->provider_status = json_is_null(v) ? NULL : v;
    if (u->provider_status && W->json->type(v) != WHARF_J_OBJECT)
        shipment_updates_bad(req, path, "provider_status", "must be an object: code, description");
}

static void shipment_updates_read_status(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    shipment_updates_read_text(req, input, path, "status", ID_LENGTH, &u->status);
    if (u->status.n) {
        u->status = shipments_canonical(u->status);
        if (!u->status.n)
            shipment_updates_bad(req, path, "status", "must be a status of shipments");
    } else if (!u->comment.n) {
        shipment_updates_bad(req, path, "status", "must be given when there is no comment");
    }
}

wharf_status shipments_read_update(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    if (W->json->type(input) != WHARF_J_OBJECT)
        return shipment_updates_bad(req, path, "status", "must stand in an object");
    shipment_updates_read_text(req, input, path, "comment", COMMENT_MAX, &u->comment);
    if (strspn(u->comment.p, " \t\r\n") >= u->comment.n)
        u->comment = WHARF_S("");
    shipment_updates_read_status(req, input, path, u);
    read_when(req, input, path, u);
    shipment_updates_read_text(req, input, path, "location_id", ID_LENGTH, &u->location_id);
    shipment_updates_read_text(req, input, path, "layout_id", ID_LENGTH, &u->layout_id);
    shipment_updates_read_text(req, input, path, "container_id", ID_LENGTH, &u->container_id);
    shipment_updates_read_text(req, input, path, "contact_id", ID_LENGTH, &u->contact_id);
    shipment_updates_read_text(req, input, path, "user_id", ID_LENGTH, &u->user_id);
    shipment_updates_read_text(req, input, path, "vehicle_id", ID_LENGTH, &u->vehicle_id);
    read_images(req, input, path, u);
    read_coordinates(req, input, path, u);
    shipment_updates_read_address(req, input, path, u);
    read_provider_status(req, input, path, u);
    return W->err->current(req);
}

/* Judges a row that the update names: one that is not there, or that the caller does not see, is
 * told as those that fields refer to (spec 01 section 7). */
static wharf_status check_named(
    wharf_req *req, const char *path, const char *member, const char *resource, wharf_str id)
{
    const wharf_rec *rec;
    wharf_status s = id.n ? W->res->fetch(req, resource, id, 0, &rec) : WHARF_OK;

    if (s == WHARF_OK || (s != WHARF_UNAVAILABLE && s != WHARF_NOT_FOUND && s != WHARF_DENIED))
        return s;
    W->err->clear(req);
    if (s == WHARF_UNAVAILABLE) /* its module is left out, and nobody knows its rows */
        return WHARF_OK;
    if (s == WHARF_NOT_FOUND)
        return shipment_updates_bad(
            req, path, member, W->mem->format(req, "must be the id of a %s", resource).p);
    return W->err->add(req, ERR_LOCATION_ACCESS, id.p, NULL);
}

wharf_status shipments_check_update(
    wharf_req *req, const wharf_tracking_update *u, const char *path)
{
    wharf_status s = check_named(req, path, "contact_id", "contact", u->contact_id);

    if (s == WHARF_OK)
        s = check_named(req, path, "user_id", "user", u->user_id);
    return s == WHARF_OK ? check_named(req, path, "container_id", "container", u->container_id) : s;
}

wharf_status shipments_take_update(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *u)
{
    wharf_status s = shipments_read_update(req, input, path, u);

    return s == WHARF_OK ? shipments_check_update(req, u, path) : s;
}

static int by_time(const void *a, const void *b)
{
    const wharf_tracking_update *x = a, *y = b;

    return (x->occurred_us > y->occurred_us) - (x->occurred_us < y->occurred_us);
}

/* Sorts updates, which are few and nearly in order: equal times stay as they were sent. */
static void sort(wharf_tracking_update *list, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t k = i; k && by_time(&list[k - 1], &list[k]) > 0; k--) {
            wharf_tracking_update one = list[k];

            list[k] = list[k - 1];
            list[k - 1] = one;
        }
    }
}

wharf_status shipments_read_updates(
    wharf_req *req, const wharf_json *input, wharf_tracking_update **ret, size_t *ret_n)
{
    bool many = W->json->type(input) == WHARF_J_ARRAY;
    size_t n = many ? W->json->count(input) : 1, i = 0;

    *ret_n = n;
    *ret = W->mem->alloc(req, (n + 1) * sizeof(**ret));
    if (!many)
        return shipments_read_update(req, input, "tracking_update.", *ret);
    if (!n || n > UPDATES_MOST)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "tracking_update", "Send 1 to 100 tracking updates");
    for (const wharf_json *e = W->json->at(input, 0); e; e = W->json->next(e), i++)
        shipments_read_update(req, e, W->mem->format(req, "%zu.", i).p, &(*ret)[i]);
    sort(*ret, n);
    return W->err->current(req);
}
