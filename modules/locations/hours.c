/* hours.c - see hours.h. */
#include "hours.h"
#include "wharf/errors.h"

#include <stdio.h>

#include "wharf/civil.h"

enum {
    DAYS = 7,
    RANGES = 6, /* opening times of one day */
    DAY_MINUTES = 24 * 60,
    OPEN = 9 * 60, /* minute of the day, by default */
    CLOSE = 17 * 60 /* minute of the day, by default */
};

static const char *const day_names[DAYS] = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
static const char *const short_names[DAYS] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

struct range {
    int open, close;
};
struct day {
    bool active;
    int open, close;
    struct range ranges[RANGES];
    size_t n_ranges;
};

bool hours_time(wharf_str s, int *ret_minutes)
{
    size_t colon = s.n - 3;
    int hour = 0;

    if (s.n < 4 || s.n > 5 || s.p[colon] != ':')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (i != colon && (s.p[i] < '0' || s.p[i] > '9'))
            return false;
    }
    for (size_t i = 0; i < colon; i++)
        hour = hour * 10 + (s.p[i] - '0');
    *ret_minutes = hour * 60 + (s.p[colon + 1] - '0') * 10 + (s.p[colon + 2] - '0');
    return s.p[colon + 1] < '6' && *ret_minutes <= DAY_MINUTES;
}

bool hours_date(wharf_str s)
{
    int year, month, day;

    if (s.n != 10 || s.p[4] != '-' || s.p[7] != '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (i != 4 && i != 7 && (s.p[i] < '0' || s.p[i] > '9'))
            return false;
    }
    year = (s.p[0] - '0') * 1000 + (s.p[1] - '0') * 100 + (s.p[2] - '0') * 10 + (s.p[3] - '0');
    month = (s.p[5] - '0') * 10 + (s.p[6] - '0');
    day = (s.p[8] - '0') * 10 + (s.p[9] - '0');
    return wharf_date_good(year, month, day);
}

/* Makes the pieces of a day from open to close; a close that is not later lies on the next day,
 * which makes two pieces. */
static void pieces(struct day *d)
{
    d->n_ranges = 0;
    if (!d->active)
        return;
    if (d->close > d->open) {
        d->ranges[d->n_ranges++] = (struct range){d->open, d->close};
        return;
    }
    d->ranges[d->n_ranges++] = (struct range){d->open, DAY_MINUTES};
    if (d->close > 0)
        d->ranges[d->n_ranges++] = (struct range){0, d->close};
}

static bool is_pieces(const struct day *d)
{
    struct day plain = *d;

    pieces(&plain);
    return plain.n_ranges == d->n_ranges &&
           memcmp(plain.ranges, d->ranges, d->n_ranges * sizeof(*d->ranges)) == 0;
}

/* Reads a time. Returns true when the member is there and a time. */
static bool hours_read_time(
    wharf_req *req, const wharf_json *object, const char *key, const char *path, int *ret)
{
    const wharf_json *m = object ? W->json->get(object, key) : NULL;
    wharf_str s = {"", 0};

    if (!m)
        return false;
    if (W->json->text(m, &s) && hours_time(s, ret))
        return true;
    W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "%s.%s", path, key).p,
        "%s.%s must be a time from 00:00 to 24:00", path, key);
    return false;
}

static void read_ranges(wharf_req *req, const wharf_json *list, const char *path, struct day *d)
{
    size_t n = 0;

    for (const wharf_json *e = W->json->at(list, 0); e && n < RANGES; e = W->json->next(e)) {
        const char *at = W->mem->format(req, "%s.ranges.%zu", path, n).p;

        hours_read_time(req, e, "open", at, &d->ranges[n].open);
        hours_read_time(req, e, "close", at, &d->ranges[n].close);
        n++;
    }
    d->n_ranges = n;
    if (n) {
        d->open = d->ranges[0].open;
        d->close = d->ranges[n - 1].close;
    }
}

/* Lays what was sent (or is stored) of a day over it. */
static void read_day(wharf_req *req, const wharf_json *object, const char *path, struct day *d)
{
    const wharf_json *active = W->json->get(object, "active"),
                     *ranges = W->json->get(object, "ranges");
    bool custom = ranges && W->json->type(ranges) == WHARF_J_ARRAY && W->json->count(ranges) > 0,
         times;
    bool was_active = d->active;

    if (active)
        W->json->truth(active, &d->active);
    times = hours_read_time(req, object, "open", path, &d->open);
    times = hours_read_time(req, object, "close", path, &d->close) || times;
    if (custom)
        read_ranges(req, ranges, path, d);
    else if (times || ranges || was_active != d->active)
        pieces(d);
}

static void put_time(wharf_req *req, wharf_out *out, const char *key, int minutes)
{
    W->json->put(out, key, val_text(W->mem->format(req, "%02d:%02d", minutes / 60, minutes % 60)));
}

static void put_day(wharf_req *req, wharf_out *out, const char *name, const struct day *d)
{
    W->json->open(out, name, '{');
    W->json->put(out, "active", val_bool(d->active));
    put_time(req, out, "open", d->open);
    put_time(req, out, "close", d->close);
    W->json->open(out, "ranges", '[');
    for (size_t i = 0; d->active && i < d->n_ranges; i++) {
        W->json->open(out, NULL, '{');
        put_time(req, out, "open", d->ranges[i].open);
        put_time(req, out, "close", d->ranges[i].close);
        W->json->close(out);
    }
    W->json->close(out);
    W->json->close(out);
}

static struct day default_day(size_t i)
{
    struct day d = {.active = i < 5, .open = OPEN, .close = CLOSE};

    pieces(&d);
    return d;
}

static void load_day(
    wharf_req *req, const wharf_json *week, size_t i, const char *path, struct day *d)
{
    const wharf_json *object = week ? W->json->get(week, day_names[i]) : NULL;

    if (object && W->json->type(object) == WHARF_J_OBJECT)
        read_day(req, object, path, d);
}

wharf_status hours_merge(
    wharf_req *req, const wharf_json *stored, const wharf_json *sent, const wharf_json **ret_week)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < DAYS; i++) {
        const char *path = W->mem->format(req, "operating_hours.%s", day_names[i]).p;
        struct day d = default_day(i);

        load_day(req, stored, i, path, &d);
        load_day(req, sent, i, path, &d);
        put_day(req, out, day_names[i], &d);
    }
    W->json->close(out);
    if (W->err->current(req) != WHARF_OK)
        return W->err->current(req);
    return W->json->result(req, out, ret_week);
}

static wharf_str hours_of(wharf_req *req, const struct day *d)
{
    wharf_str s = {"", 0};
    bool plain = is_pieces(d);

    if (!d->active)
        return WHARF_S("Closed");
    for (size_t i = 0; i < (plain ? 1 : d->n_ranges); i++) {
        struct range r = plain ? (struct range){d->open, d->close} : d->ranges[i];

        s = W->mem->format(req, "%.*s%s%02d:%02d - %02d:%02d", (int)s.n, s.p, i ? ", " : "",
            r.open / 60, r.open % 60, r.close / 60, r.close % 60);
    }
    return s;
}

wharf_status hours_display(wharf_req *req, const wharf_json *week, const wharf_json **ret_list)
{
    wharf_str hours[DAYS];
    wharf_out *out = W->json->builder(req);

    for (size_t i = 0; i < DAYS; i++) {
        struct day d = default_day(i);

        load_day(req, week, i, "operating_hours", &d);
        hours[i] = hours_of(req, &d);
    }
    W->json->open(out, NULL, '[');
    for (size_t i = 0, last; i < DAYS; i = last + 1) {
        for (last = i; last + 1 < DAYS && same(hours[last + 1], hours[i]); last++)
            ;
        W->json->open(out, NULL, '{');
        W->json->put(out, "days",
            val_text(last > i ? W->mem->format(req, "%s - %s", short_names[i], short_names[last])
                              : z(short_names[i])));
        W->json->put(out, "hours", val_text(hours[i]));
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result(req, out, ret_list);
}
