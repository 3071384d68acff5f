/* seen.c - see seen.h. */
#include "identity/seen.h"

#include "util/json.h"
#include "util/str.h"

/* Goes through a JSON array of ids, which have no escapes. False: there is no more. */
static bool seen_next(wharf_str array, size_t *at, wharf_str *ret_id)
{
    const char *open = memchr(array.p + *at, '"', array.n - *at), *end;

    end = open ? memchr(open + 1, '"', array.n - (size_t)(open + 1 - array.p)) : NULL;
    if (!end)
        return false;
    *ret_id = (wharf_str){open + 1, (size_t)(end - open - 1)};
    *at = (size_t)(end + 1 - array.p);
    return true;
}

static bool seen_reaches(const struct access *who, wharf_str id)
{
    for (size_t low = 0, high = who->n_locations; low < high;) {
        size_t mid = (low + high) / 2;
        int order = str_order(who->locations[mid], id);

        if (!order)
            return true;
        low = order < 0 ? mid + 1 : low;
        high = order < 0 ? high : mid;
    }
    return false;
}

bool seen_among(wharf_str array, wharf_str id)
{
    wharf_str one;

    for (size_t at = 0; seen_next(array, &at, &one);) {
        if (str_eq(one, id))
            return true;
    }
    return false;
}

bool seen_by_location(const struct access *who, wharf_str locations)
{
    wharf_str one;
    bool any = false;

    if (who->all_locations)
        return true;
    for (size_t at = 0; seen_next(locations, &at, &one); any = true) {
        if (seen_reaches(who, one))
            return true;
    }
    return locations.n && !any;
}

bool seen_by_all_locations(const struct access *who, wharf_str locations)
{
    wharf_str one;

    if (who->all_locations)
        return true;
    for (size_t at = 0; seen_next(locations, &at, &one);) {
        if (!seen_reaches(who, one))
            return false;
    }
    return locations.n != 0;
}

enum sight principal_sight(const struct principal *p, const struct reported_of *what)
{
    if (!principal_reads(p, what->resource))
        return SIGHT_NO_SCOPE;
    if (!seen_by_location(&p->access, what->by.locations))
        return SIGHT_NO_LOCATION;
    if (what->by.audience.n && p->access.user_id.n &&
        !seen_among(what->by.audience, p->access.user_id))
        return SIGHT_NO_AUDIENCE;
    return SIGHT_YES;
}

wharf_str seen_many(struct arena *a, const wharf_str *ids, size_t n)
{
    wharf_str s;
    struct buf b;
    struct jw w;

    buf_init(&b, SIZE_MAX / 2);
    jw_init(&w, &b);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; i < n; i++)
        jw_str(&w, NULL, ids[i]);
    jw_close(&w, ']');
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

wharf_str seen_one(struct arena *a, wharf_str id)
{
    return id.n ? arena_printf(a, "[\"%.*s\"]", STR_ARG(id)) : str_z("[]");
}

wharf_str seen_locations(struct arena *a, wharf_str location_id, wharf_str recorded)
{
    return recorded.n || !location_id.n ? recorded : seen_one(a, location_id);
}
