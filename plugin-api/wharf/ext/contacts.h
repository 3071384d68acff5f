/* wharf/ext/contacts.h - services of the module contacts: the groups that rows of other modules
 * are in, contacts that become one, and whom a label means.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/02-places-and-people.md section 6. */
#ifndef WHARF_EXT_CONTACTS_H
#define WHARF_EXT_CONTACTS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "contacts.groups", version 1.0. Groups of kind "location": their children are the
 * rows; the group knows them, the rows do not. A field of a definition with "shown_by":
 * "contacts.groups" shows the groups of its row as [{id, name}], by name; those at locations that
 * the caller does not reach are left out (docs/reference/definitions.md). */
typedef struct wharf_contacts_groups_api {
    wharf_head head;
    /* The rows of a group; none when there is no such group of this kind. */
    wharf_status (*children)(wharf_req *req, const char *kind, wharf_str group_id,
        const wharf_str **ret_ids, size_t *ret_n);
    /* Writes the groups of a row out of the request's input: {add, remove}, {set} or the whole
     * array. Each group that changes tells of it by group.updated; problems are told at path
     * ("groups.add.0"). *ret_changed: a group changed. */
    wharf_status (*join)(wharf_req *req, const char *kind, wharf_str id, const wharf_json *input,
        const char *path, bool *ret_changed);
} wharf_contacts_groups_api;

/* References move: whatever of the organization points to one of these contacts points to `to`
 * from now on. In the merge's transaction. */
typedef wharf_status wharf_contacts_move_fn(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

/* Service "contacts.merge", version 1.0: for modules whose rows name contacts. */
typedef struct wharf_contacts_merge_api {
    wharf_head head;
    void (*on_merge)(wharf_contacts_move_fn *fn); /* start() */
} wharf_contacts_merge_api;

/* Scores are whole ten-thousandths in what callers give: 8000 is 0.8. */
enum wharf_match_default {
    WHARF_MATCH_THRESHOLD = 8000,
    WHARF_MATCH_TOLERANCE = 200,
    WHARF_MATCH_LIMIT = 5
};
enum wharf_match_flag {
    WHARF_MATCH_EXACT = 1, /* search_fuzziness "0": exact tokens only */
    /* contacts of other locations than location_id are left out. Since 1.2 */
    WHARF_MATCH_AT_LOCATION = 2
};
enum wharf_match_order { WHARF_MATCH_PRECEDENCE, WHARF_MATCH_RELEVANCE, WHARF_MATCH_RANK };

/* The person of a label. An empty text or NULL: the label does not say it. */
typedef struct wharf_match_label {
    wharf_head head;
    wharf_str name, business, email, phone;
    const wharf_json *address; /* a value object of locations.directory */
    /* of the location where it lies: shared by everybody there, so it tells nobody apart */
    const wharf_json *own_address;
    wharf_str location_id; /* contacts that belong to it have a marker */
    const wharf_str *ignore; /* name_ignore_terms, as sent */
    size_t n_ignore;
    const wharf_str *remembered; /* contacts that somebody chose for this searched name before */
    size_t n_remembered;
    uint32_t flags, order; /* WHARF_MATCH_* */
    uint32_t limit; /* candidates that are told, at most 25 */
    uint32_t threshold, tolerance;
} wharf_match_label;

/* Service "contacts.match", version 1.3: whom a label means (docs/spec/06-inference.md section
 * 9). The same label and contact always have the same score; only contacts at locations that the
 * caller reaches are looked at. */
typedef struct wharf_contacts_match_api {
    wharf_head head;
    /* {"searched_name", "searched_business": text or null, "matches": [candidates as of section
     * 9.5, the best `limit` of them in the order asked for], "decision": {"matches": how many
     * candidates reach the threshold, "best_score": section 9.6, "error": text or null,
     * "contact_id": id or null}}. Problems: none of its own. */
    wharf_status (*find)(wharf_req *req, const wharf_match_label *label, const wharf_json **ret);
    /* {"name", "email", "phone", "business", "address"} of a contact, each may be null; business
     * is what its metadata says (business, company). NULL in *ret: there is no such contact
     * within the caller's reach. Tells no problem. Since 1.3 also "locations": ids, [] stands for
     * all; "manual_match": true when its metadata says that labels are to be given to it by hand
     * alone, else false or null. */
    wharf_status (*who)(wharf_req *req, wharf_str contact_id, const wharf_json **ret);
    /* 1.1: who of n contacts; ret has n places. */
    wharf_status (*who_many)(
        wharf_req *req, const wharf_str *contact_ids, size_t n, const wharf_json **ret);
} wharf_contacts_match_api;

/* Service "contacts.notices", version 1.0: how contacts are told of their shipments by mail
 * (docs/spec/07-events-and-webhooks.md section 16.3). Whatever the caller reaches. */
typedef struct wharf_contacts_notices_api {
    wharf_head head;
    /* {"name", "email": text or null, "language": text or null (of its metadata), "opted_out",
     * "bounced": booleans} of n contacts; ret has n places. NULL: there is no such contact. */
    wharf_status (*reach)(
        wharf_req *req, const wharf_str *contact_ids, size_t n, const wharf_json **ret);
    /* The contact wants no more of them. */
    wharf_status (*opt_out)(wharf_req *req, wharf_str contact_id);
    /* The address was refused for good, in these words. Nothing is noted when the contact has
     * another one by now, or is gone. */
    wharf_status (*bounced)(
        wharf_req *req, wharf_str contact_id, wharf_str address, wharf_str words);
} wharf_contacts_notices_api;

#ifdef __cplusplus
}
#endif
#endif
