/* told.c - see told.h. */
#include "resource/told.h"

#include "resource/plan.h"

struct view told_view(const struct definition *d)
{
    return (struct view){.in = IN_RETRIEVE,
        .without = d->events.without,
        .n_without = d->events.n_without,
        .newest = d->events.newest,
        .n_newest = d->events.n_newest};
}

wharf_status told_compute(
    struct wharf_req *req, const struct resource *res, struct wharf_rec *const *recs, size_t n)
{
    const struct view view = told_view(res->def);
    size_t asked = req->head.n_pairs;
    wharf_status s;

    /* ?include_shipments=true is for the answer of the request, and changes no event. */
    req->head.n_pairs = 0;
    s = compute_fields(req, res, recs, n, &view);
    req->head.n_pairs = asked;
    return s;
}
