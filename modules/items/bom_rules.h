/* bom_rules.h - rules of bills of materials, for the rest of the module. */
#ifndef BOM_RULES_H
#define BOM_RULES_H

#include "items.h"

#define BOM_GRAPH_LOCK "items.bom_graph" /* advisory, of an organization: who writes bills */

/* Makes all active bills of an item inactive, with reason ("item_archived", "deleted"): of an item
 * that is archived or deleted. */
wharf_status boms_deactivate(
    wharf_req *req, const wharf_rec *const *items, size_t n, const char *reason, bool together);
/* Handles DELETE of a bill: one with builds becomes inactive. */
wharf_handler bom_delete_handler;

/* ---- bom_shown.c ---- */

/* Says that this request writes bills: what its parameters ask for is not shown. */
void bom_shown_plain(wharf_req *req);
/* Takes the parameters of a read: location_id, quantity, version. */
wharf_status bom_rows(wharf_req *req, wharf_where *where);
/* Shows components and what can be built. */
wharf_status bom_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs);

#endif
