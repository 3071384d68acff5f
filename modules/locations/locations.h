/* locations.h - inside of the module locations. */
#ifndef LOCATIONS_H
#define LOCATIONS_H

#define W locations_host
#include "wharf/plugin.h"
#include "wharf/service/batch.h"
#include "wharf/service/crypto.h"
#include "wharf/service/keys.h"
#include "wharf/service/text.h"
extern const wharf_host *W; /* set once, before anything of this module runs */
extern const wharf_batch_api *locations_batch;
extern const wharf_crypto_api *locations_crypto;
extern const wharf_keys_api *locations_keys;
extern const wharf_many_api *locations_many;
extern const wharf_text_api *locations_text;
#include "wharf/ext/contacts.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/inline.h"
#include "wharf/sets.h"

extern const wharf_org_directory_api *org; /* or NULL: the module org is not there */
extern const wharf_contacts_groups_api *groups; /* or NULL: the module contacts is not there */
extern const wharf_locations_directory_api directory;

extern const wharf_hooks location_hooks, layout_hooks;

/* Tells of a location what enum wharf_location_flag says (places_known.c). rec: the row that it is
 * asked for, or NULL. */
wharf_status place_flags(
    wharf_req *req, const wharf_rec *rec, wharf_str location_id, uint32_t *ret_flags);

wharf_status layouts_upsert(wharf_req *req, void *arg); /* POST /v1/locations/:location/layouts */
/* Handles GET /v1/locations/:location/layouts/tree. */
wharf_status layouts_tree(wharf_req *req, void *arg);
wharf_status address_get(wharf_req *req, void *arg); /* GET  /v1/addresses/:id */

#endif
