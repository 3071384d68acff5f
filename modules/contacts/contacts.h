/* contacts.h - inside of the module contacts. */
#ifndef CONTACTS_H
#define CONTACTS_H

#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/service/batch.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/import.h"
#include "wharf/service/keys.h"
#include "wharf/service/many.h"
#include "wharf/service/text.h"
#include "wharf/values.h"

#define W contacts_host
extern const wharf_host *W; /* set once, before anything of this module runs */
#include "wharf/inline.h"
extern const wharf_org_directory_api *contacts_org;
extern const wharf_batch_api *contacts_batch;
extern const wharf_locations_directory_api *contacts_places;
extern const wharf_text_api *contacts_forms;
extern const wharf_import_api *contacts_files;
extern const wharf_fetch_api *contacts_web;
extern const wharf_events_api *contacts_events;
extern const wharf_keys_api *contacts_keys;
extern const wharf_many_api *contacts_many;

extern const wharf_hooks contact_hooks, group_hooks, contacts_location_hooks;
extern const struct wharf_contacts_groups_api contacts_groups; /* wharf/ext/contacts.h */
extern const struct wharf_contacts_merge_api contacts_merge;
extern const struct wharf_contacts_match_api contacts_match;
extern const struct wharf_contacts_notices_api contacts_notices;

wharf_status group_children(wharf_req *req, void *arg); /* GET /v1/groups/:id/children */

/* Handles POST /v1/contacts: one contact, or a file of them (contact_import.c). */
wharf_status contacts_create(wharf_req *req, void *arg);
/* Runs the search of contacts (search.c). */
wharf_status contact_search(wharf_req *req, wharf_str text, bool all_words, wharf_hits *hits);

/* Brings about what follows from a written contact (contact_written.c). */
wharf_status contact_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec);
wharf_status contact_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n);

/* Returns an e-mail address without what stands around it: a name and brackets, quotes, "mailto:"
 * (contact_emails.c). The text itself where there is nothing of the kind. */
wharf_str email_bare(wharf_str s);
/* Takes email and alternate_emails of a body in that form. */
wharf_status contact_take_emails(wharf_req *req, wharf_rec *rec);

wharf_status contacts_merge_route(wharf_req *req, void *arg); /* merge.c */

/* Sets the contact's `notifications` from what was sent, and ends a refusal when the address is
 * another one (contact_notices.c). */
wharf_status contact_settle_notices(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec);

enum {
    CHILDREN_MAX = 10000, /* members of a group */
    GROUPS_MAX = 200 /* groups of a contact */
};

/* Ids of a JSON array of texts. */
struct ids {
    wharf_str *p;
    size_t n;
};
/* Reads the ids of a list. list may be NULL or no array: none. room: that many more are going to
 * be added. */
struct ids ids_of(wharf_req *req, const wharf_json *list, size_t room);
bool ids_have(const struct ids *list, wharf_str id);
/* Returns the ids that are in a and not in b. */
struct ids ids_without(wharf_req *req, const struct ids *a, const struct ids *b);
/* Returns the ids as PostgreSQL reads text[]. */
wharf_val ids_array(wharf_req *req, const struct ids *list);
wharf_status ids_json(wharf_req *req, const struct ids *list, const wharf_json **ret);

/* Makes the value object of an address as it is sent (addresses.c); contacts_remember() keeps
 * those that written contacts were sent. */
wharf_status contact_address(wharf_req *req, const wharf_json *input, wharf_str line2,
    const char *path, const wharf_json **ret);
/* Restores the members that are null, which an address lost when it was merged into others. */
wharf_status contact_complete_addresses(wharf_req *req, wharf_rec *rec);
wharf_status contacts_remember(wharf_req *req, const wharf_rec *const *recs, size_t n);
wharf_status contacts_thread(wharf_plugin *self, void **ret_state); /* thread_start */

/* Writes the other side of what one side says, in its transaction (membership.c). */
wharf_status contact_joined(
    wharf_req *req, wharf_str contact, const struct ids *added, const struct ids *removed);
/* Lets new contacts join groups (gain), and deleted ones leave theirs (lose): contacts[i] that of
 * groups[i]. */
wharf_status groups_gain(wharf_req *req, const struct ids *groups, const struct ids *contacts);
wharf_status groups_lose(wharf_req *req, const struct ids *groups, const struct ids *contacts);
wharf_status group_took(
    wharf_req *req, wharf_str group, const struct ids *added, const struct ids *removed);
wharf_status group_ended(wharf_req *req, wharf_str group);

#endif
