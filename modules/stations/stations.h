/* stations.h - inside of the module stations. */
#ifndef STATIONS_H
#define STATIONS_H

#define W stations_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* set once, before anything of this module runs */
#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/inline.h"

extern const wharf_locations_directory_api *stations_locations;
extern const wharf_org_directory_api *stations_users; /* or NULL: the module org is not there */

extern const wharf_hooks station_hooks;
/* on the resource user: leaves the allow-lists when deleted */
extern const wharf_hooks station_user_hooks;
/* on the resource location: not deleted from under a station */
extern const wharf_hooks station_location_hooks;
wharf_status paper_sizes(wharf_req *req, void *text); /* text: wharf_str, the table as JSON */

#endif
