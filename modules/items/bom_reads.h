/* bom_reads.h - routes that read bills of materials. */
#ifndef BOM_READS_H
#define BOM_READS_H

#include "items.h"

wharf_handler bom_versions_get, bom_explosion_get, bom_cost_get; /* bom_reads.c */
extern const wharf_export_source bom_export_source; /* bom_reads.c */
wharf_handler bom_where_used_get; /* bom_used.c */

#endif
