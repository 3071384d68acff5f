/* org.h - inside of the module org. */
#ifndef ORG_H
#define ORG_H

#include "wharf/ext/org.h"

extern const wharf_host *org_host; /* set once, before anything of this module runs */
extern const wharf_org_directory_api org_directory;

/* The location ids of each principal of the page, as arrays. */
wharf_status org_locations_of(wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs);
/* A PostgreSQL array literal of texts, for "$n::text[]". */
wharf_str org_array(wharf_req *req, const wharf_str *values, size_t n);

#endif
