/* wharf/ext/contacts.h - services of the module contacts: the groups that rows of other modules are in.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source: docs/spec/02-places-and-people.md section 6.
 */
#ifndef WHARF_EXT_CONTACTS_H
#define WHARF_EXT_CONTACTS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "contacts.groups", version 1.0. Groups of kind "location": their children are the rows; the group knows them, the rows do not. */
typedef struct wharf_contacts_groups_api {
    wharf_head head;
    /* outs[i] gets the groups of ids[i] as [{id, name}], by name; those at locations that the caller does not reach are left out. */
    wharf_status (*show)(wharf_req *req, const char *kind, const wharf_str *ids, size_t n, wharf_out *const *outs);
    /* The rows of a group; none when there is no such group of this kind. */
    wharf_status (*children)(
        wharf_req *req, const char *kind, wharf_str group_id, const wharf_str **ret_ids, size_t *ret_n);
    /* What a request sends as the groups of a row: {add, remove}, {set} or the whole array. Each group that changes tells of it by
     * group.updated; problems are told at path ("groups.add.0"). *ret_changed: one did. */
    wharf_status (*join)(
        wharf_req *req, const char *kind, wharf_str id, const wharf_json *input, const char *path,
        bool *ret_changed);
} wharf_contacts_groups_api;

/* References move: whatever of the organization points to one of these contacts points to `to` from now on. In the merge's transaction. */
typedef wharf_status wharf_contacts_move_fn(wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

/* Service "contacts.merge", version 1.0: for modules whose rows name contacts. */
typedef struct wharf_contacts_merge_api {
    wharf_head head;
    void (*on_merge)(wharf_contacts_move_fn *fn);                                   /* start() */
} wharf_contacts_merge_api;

#ifdef __cplusplus
}
#endif
#endif
