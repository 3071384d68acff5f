/* bom_need.h - what a build needs of its components, and how much can be built of what is there.
 *
 * docs/spec/09-items-and-assembly.md section 2. Exact: one rounding, at the very end, half away
 * from zero. Pure: no server, no memory. Quantities are whole numbers of 0.0001 (exact.h). */
#ifndef BOM_NEED_H
#define BOM_NEED_H

#include "exact.h"

#define BOM_FACTOR_ONE ((exact)10000000000) /* 1, of FACTOR_SCALE */

/* How much of a component a build takes: need = build x times / by, in lowest terms. */
struct bom_use {
    exact times, by;
    bool whole; /* the component is an asset item: its need has to be whole */
};

enum bom_need_problem {
    BOM_NEED_OK,
    BOM_NEED_FRACTION, /* of an asset item: 400 bom.fractional_component */
    BOM_NEED_LARGE /* above QUANTITY_MAX */
};

/* Makes the use of a component: quantity (above zero) units of factor base units each (above zero,
 * of FACTOR_SCALE) are in output (above zero) base units of the assembly. */
struct bom_use bom_use_of(int64_t quantity, exact factor, int64_t output, bool asset);
/* Reckons what building build (0 or more) takes; at least 0.0001 when something is built. */
enum bom_need_problem bom_need(const struct bom_use *use, int64_t build, int64_t *ret_need);

/* Returns the step of an assembly without asset components. counted: it is an asset item, or its
 * uom_category is count. */
static inline int64_t bom_first_step(bool counted)
{
    return counted ? QUANTITY_ONE : 1;
}
/* Raises the step (above zero) of a version to the smallest multiple for which this component's
 * need is whole, if it has to be. Returns 0 when there is none up to QUANTITY_MAX; of 0 it stays
 * 0. The order of the components does not matter. */
int64_t bom_step(int64_t step, const struct bom_use *use);
/* Returns the largest multiple of step, up to QUANTITY_MAX, whose need is at most available; 0
 * when there is none, or step is 0. The largest quantity that all components allow is the
 * smallest of theirs. */
int64_t bom_most(const struct bom_use *use, int64_t step, int64_t available);

#endif
