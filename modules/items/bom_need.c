/* bom_need.c - the arithmetic of builds; see bom_need.h. Leaves to others: what is built of what
 * (bom_read.c), and stock. */
#include "bom_need.h"

struct bom_use bom_use_of(int64_t quantity, exact factor, int64_t output, bool asset)
{
    exact times = (exact)quantity * factor, by = (exact)output * BOM_FACTOR_ONE;
    exact common = exact_common(times, by);

    return (struct bom_use){.times = times / common, .by = by / common, .whole = asset};
}

enum bom_need_problem bom_need(const struct bom_use *use, int64_t build, int64_t *ret_need)
{
    exact rest, need = exact_share(build, use->times, use->by, &rest);

    if (use->whole && (rest || need % QUANTITY_ONE))
        return need > QUANTITY_MAX ? BOM_NEED_LARGE : BOM_NEED_FRACTION;
    need += rest >= use->by - rest;
    if (!need && build)
        need = 1;
    if (need > QUANTITY_MAX)
        return BOM_NEED_LARGE;
    *ret_need = (int64_t)need;
    return BOM_NEED_OK;
}

int64_t bom_step(int64_t step, const struct bom_use *use)
{
    /* whole needs are those of multiples of by x 1 / common, and of step: of both */
    exact by = use->by * QUANTITY_ONE, each;

    if (!step || !use->whole)
        return step;
    each = by / exact_common(use->times, by);
    if (each > QUANTITY_MAX)
        return 0;
    each = each / exact_common(each, step) * step;
    return each > QUANTITY_MAX ? 0 : (int64_t)each;
}

int64_t bom_most(const struct bom_use *use, int64_t step, int64_t available)
{
    exact rest, most;

    if (available <= 0 || !step)
        return 0;
    if (available > QUANTITY_MAX)
        available = QUANTITY_MAX;
    /* the need is at most available while build x times / by < available + half of 0.0001 */
    most = exact_share(2 * available + 1, use->by, 2 * use->times, &rest);
    most -= !rest;
    if (most > QUANTITY_MAX)
        most = QUANTITY_MAX;
    return (int64_t)(most - most % step);
}
