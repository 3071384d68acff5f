/* containers.h - inside of the module containers. */
#ifndef CONTAINERS_H
#define CONTAINERS_H

#define W containers_host
#include "wharf/plugin.h"
#include "wharf/service/batch.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/ext/carriers.h"
#include "wharf/ext/containers.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/shipments.h"
#include "wharf/inline.h"
#include "wharf/sets.h"

extern const wharf_batch_api *containers_batch;
extern const wharf_carriers_detect_api *containers_carriers;
extern const wharf_shipments_ops_api *containers_shipments;
extern const wharf_locations_directory_api *containers_places;
extern const wharf_locations_layouts_api *containers_layouts;
extern const wharf_many_api *containers_many;

enum {
    MEMBERS_MAX = 1000 /* shipments of a container */,
    STATUS_CHANGES_MAX = 100, /* of a container */
    UPDATES_SHOWN = 100, /* newest lines that a container shows */
    POSITION_SECONDS = 30 /* between two lines of positions alone */
};

extern const wharf_hooks containers_hooks, containers_location_hooks, containers_layout_hooks;
extern const wharf_hooks containers_shipment_hooks; /* batch.c */
extern const wharf_containers_membership_api containers_membership;

/* ---- container_members.c: what goes in and out, before anything is written ---- */
struct members {
    wharf_str *added, *removed; /* those that really come or go */
    size_t n_added, n_removed;
};
/* Reads the ids of a list. */
size_t containers_read_ids(wharf_req *req, const wharf_json *list, wharf_str **ret);
wharf_status containers_members_check(
    wharf_req *req, uint32_t op, wharf_rec *rec, bool completed, struct members *ret);
/* Reads the shipments inside, in the order in which trackers are locked. */
wharf_status containers_inside(wharf_req *req, wharf_str id, wharf_str **ret_ids, size_t *ret_n);
/* Writes one shipment: status and comment may be empty. */
wharf_status containers_write_shipment(wharf_req *req, wharf_str shipment_id,
    const wharf_tracking_update *u, const wharf_shipment_write *w);

/* ---- container_updates.c: the container's own history ---- */
/* Writes address, coordinates and images of an update, those that there are. */
void containers_put_details(wharf_out *out, const wharf_tracking_update *u);
struct history_line { /* one that is written when its container is */
    wharf_str id, container, status;
    wharf_tracking_update update;
    int64_t position;
};
struct history_lines { /* that the container was created, and what was sent */
    struct history_line list[2];
    size_t n;
};
/* Applies tracking_update, direct coordinates; *ret_update: what is copied to the shipments,
 * head.size 0: nothing. bare_status: the update is a status that was sent alone. What it adds to
 * the history is kept in lines. */
wharf_status containers_apply(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec,
    bool bare_status, struct history_lines *lines, wharf_tracking_update *ret_update);
/* Writes the lines of n containers. */
wharf_status containers_write_lines(
    wharf_req *req, const struct history_lines *const *all, size_t n);
wharf_status containers_show_updates(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs);

#endif
