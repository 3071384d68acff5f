/* wharf/ext/shipments.h - services of the module shipments: the statuses of everything that
 * moves, and tracking updates.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/03-shipments-and-trackers.md sections 2 to 4. */
#ifndef WHARF_EXT_SHIPMENTS_H
#define WHARF_EXT_SHIPMENTS_H

#include <string.h>

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A code of this module that others answer with. */
#define ERR_SHIPMENT_STATUS_INVALID "shipment.status_invalid"

enum wharf_status_group { /* of a status, section 2 */
    WHARF_GROUP_NONE = 0, /* no status */
    WHARF_GROUP_BEFORE = 1,
    WHARF_GROUP_MOVING = 2,
    WHARF_GROUP_ISSUE = 3,
    WHARF_GROUP_GOOD = 4, /* completed from here on */
    WHARF_GROUP_BAD = 5,
    WHARF_GROUP_CANCELED = 6
};

/* A tracking update as it was read; texts may be empty, pointers NULL. The caller sets head. */
typedef struct wharf_tracking_update {
    wharf_head head;
    wharf_str status, comment; /* at least one of them */
    int64_t occurred_us;
    bool dated; /* the input said when */
    wharf_str location_id, layout_id, container_id, contact_id, user_id, vehicle_id;
    const wharf_json *address, *coordinates, *images, *provider_status;
} wharf_tracking_update;

/* One with nothing but this, undated; moments are milliseconds. */
static inline wharf_tracking_update wharf_update_of(
    wharf_str status, wharf_str comment, int64_t now_us)
{
    const wharf_str none = {"", 0};
    wharf_tracking_update u;

    memset(&u, 0, sizeof(u));
    u.head.size = sizeof(u);
    u.head.major = WHARF_ABI_MAJOR;
    u.head.minor = WHARF_ABI_MINOR;
    u.status = status;
    u.comment = comment;
    u.occurred_us = now_us / 1000 * 1000;
    u.location_id = u.layout_id = u.container_id = u.contact_id = u.user_id = u.vehicle_id = none;
    return u;
}

/* Facts that a write by another module carries beside the update. The caller sets head. */
typedef struct wharf_shipment_write {
    wharf_head head;
    const char *source; /* "container", "batch", "workflow", "system" */
    bool set_container;
    wharf_str container_id; /* with set_container; empty: out of it */
    bool skip_completed; /* a completed shipment is left as it is instead of 409 */
    /* location_id and layout_id are the shipment's from now on, also when they are empty */
    bool place;
    wharf_str location_id, layout_id;
    bool quiet; /* 1.4: the recipient is not told of the status (07 section 16.3, rule 4) */
} wharf_shipment_write;

/* Contacts $2 (text[]) of the organization $1 were merged into $3: the statement for a table
 * whose rows name a sender and a recipient. */
#define WHARF_PARTIES_MERGED(table)                                                                \
    "UPDATE " table " SET version = version + 1,"                                                  \
    " sender_contact_id = CASE WHEN sender_contact_id = ANY ($2::text[]) THEN $3::text ELSE "      \
    "sender_contact_id END,"                                                                       \
    " sender = CASE WHEN sender ->> 'contact_id' = ANY ($2::text[])"                               \
    " THEN jsonb_set(sender, '{contact_id}', to_jsonb($3::text)) ELSE sender END,"                 \
    " recipient_contact_id = CASE WHEN recipient_contact_id = ANY ($2::text[]) THEN $3::text "     \
    "ELSE recipient_contact_id END,"                                                               \
    " recipient = CASE WHEN recipient ->> 'contact_id' = ANY ($2::text[])"                         \
    " THEN jsonb_set(recipient, '{contact_id}', to_jsonb($3::text)) ELSE recipient END"            \
    " WHERE organization_id = $1::text AND (sender_contact_id = ANY ($2::text[]) OR "              \
    "recipient_contact_id = ANY ($2::text[]))"

/* Service "shipments.ops", version 1.4. */
typedef struct wharf_shipments_ops_api {
    wharf_head head;
    /* The status under its own name (input aliases are known); empty: there is no such one.
     * Static text. */
    wharf_str (*canonical)(wharf_str status);
    uint32_t (*group)(wharf_str status); /* WHARF_GROUP_* */
    /* ["outstanding", "exception"] of a status. */
    wharf_status (*filters)(wharf_req *req, wharf_str status, const wharf_json **ret_filters);
    /* Reads one update; problems are told below path ("tracking_update."). */
    wharf_status (*read)(
        wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *ret);
    /* An update of a shipment by the rules of section 4, with its events. update may be NULL:
     * only what w says. */
    wharf_status (*update)(wharf_req *req, wharf_str shipment_id, const wharf_json *update,
        const wharf_shipment_write *w);
    /* The shipment's place in a tracker; tracker empty: in none. No event: the caller's. */
    wharf_status (*set_tracker)(
        wharf_req *req, wharf_str shipment_id, wharf_str tracker_id, int64_t leg);
    /* POST /v1/shipments for another module: the body's row, or the one that is there already
     * (*ret_known). */
    wharf_status (*create)(
        wharf_req *req, const wharf_json *body, const wharf_rec **ret_rec, bool *ret_known);
    /* 1.1: set_tracker of n shipments, each the first of the tracker at its place. */
    wharf_status (*set_trackers)(wharf_req *req, const wharf_str *shipment_ids,
        const wharf_str *tracker_ids, size_t n);
    /* 1.2, check hooks of creates only: the shipment enters the tracker that is made around it in
     * the written hook, as its first leg. False, and nothing is changed: it gets none, because it
     * has no number, or rates alone, or is in one. */
    bool (*enter_tracker)(wharf_rec *rec, wharf_str tracker_id);
    /* 1.3: reads a sender or recipient of another module's row, as section 3 takes them: a
     * contact's id, or who and where. Problems are told below name ("recipient.email").
     * *ret_contact: empty when it names none; whether there is such a contact is the caller's to
     * check, as a reference. */
    wharf_status (*party)(wharf_req *req, const wharf_json *input, const char *name,
        const wharf_json **ret_party, wharf_str *ret_contact);
} wharf_shipments_ops_api;

#ifdef __cplusplus
}
#endif
#endif
