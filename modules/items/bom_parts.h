/* bom_parts.h - the components that a request sends for a bill of materials
 * (docs/spec/09-items-and-assembly.md section 10). */
#ifndef BOM_PARTS_H
#define BOM_PARTS_H

#include "bom_read.h"

struct bom_parts {
    struct bom_part *list;
    size_t n;
    wharf_str assembly; /* item that is built, and what it is */
    bool is_assembly, archived, is_asset, counted;
};

/* Reads `components` and the items they name, which are held as they are until the transaction
 * ends, and so is the item that is built. list NULL: only that item is read. Problems, at the path
 * of each: bom.components_required, bom.duplicate_component, bom.component_not_found,
 * bom.component_archived, item.fractional_quantity, item.unit_not_found, item.unit_inactive,
 * validation.failed. */
wharf_status bom_parts_take(
    wharf_req *req, wharf_str assembly, const wharf_json *list, struct bom_parts *ret);
/* Fills use and base_quantity, which depend on what a version yields; 400 when a quantity is too
 * large, or when there is no quantity that can be built. */
wharf_status bom_parts_reckon(wharf_req *req, struct bom_parts *parts, int64_t output_qty);
/* Tells whether both are of the same items, quantities and units, in any order. */
bool bom_parts_equal(
    const struct bom_part *a, size_t n_a, const struct bom_part *b, size_t n_b);
/* Writes the parts as items.bom_version_add() takes them. */
wharf_str bom_parts_text(wharf_req *req, const struct bom_parts *parts);

#endif
