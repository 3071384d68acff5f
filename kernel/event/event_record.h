/* event_record.h - an event as the steps and the API see it: a row of wharf.event and what
 * processing added, with its body (docs/spec/07-events-and-webhooks.md section 4).
 *
 * The body is put together from texts that are each stored once: the head, made when the event
 * is processed, and data and previous_attributes as they
 * were written with the change. None of them is ever written again, so the bytes are the same
 * whenever they are read. */
#ifndef WHARF_EVENT_EVENT_RECORD_H
#define WHARF_EVENT_EVENT_RECORD_H

#include "identity/seen.h"
#include "event/event_catalogue.h"
#include "resource/request.h"
#include "wharf/service/events.h"

struct event {
    wharf_event pub; /* first: what plugins get */
    const struct event_type *type; /* NULL: its module is not loaded any more */
    wharf_str created_at; /* as the database writes it, for looking the row up again */
    wharf_str data, previous, head;
    struct event *bare; /* the event without parts that this is of, when it was made for somebody */
    wharf_str parts; /* what not everybody sees (identity/seen_parts.h); pub.body is without */
    wharf_str audience; /* with pub.locations: who may see it (identity/seen.h) */
    wharf_str live_organization;
    const struct wharf_json *parsed; /* of the body, or NULL */
    const char *const *outcomes; /* of the processor */
};

/* Columns and tables of processed events, in the order in which event_from_row() reads them. */
extern const char event_columns[], event_tables[];
enum event_column {
    E_ORGANIZATION,
    E_ID,
    E_CREATED_AT,
    E_TYPE,
    E_TIMESTAMP,
    E_LOCATION,
    E_RESOURCE_TYPE,
    E_RESOURCE_ID,
    E_BATCH,
    E_ACTOR_TYPE,
    E_ACTOR_ID,
    E_ACTOR_NAME,
    E_REQUEST,
    E_DEPTH,
    E_DATA,
    E_PREVIOUS,
    E_TRUNCATED,
    E_DISABLE,
    E_EXPIRES_AT,
    E_TRACE,
    E_SEQUENCE,
    E_LOCATIONS,
    E_AUDIENCE,
    E_PARTS,
    EVENT_COLUMNS
};
/* Returns the text of a cell; "" for null. */
static inline wharf_str event_cell(const PGresult *r, int row, int column)
{
    return (wharf_str){PQgetvalue(r, row, column), (size_t)PQgetlength(r, row, column)};
}
/* Makes an event from those columns of the row; the head is made when the row has none. It is in
 * the request's arena. */
struct event *event_from_row(struct wharf_req *req, const PGresult *r, int row);
/* Makes the same of an event that is being processed: its number is not in the row, and its parts
 * are in the column that is told. */
struct event *event_from_new_row(
    struct wharf_req *req, const PGresult *r, int row, int64_t sequence, int parts);
/* Parses the event's body. Returns WHARF_INTERNAL when the stored text is not JSON, which can't
 * be. */
wharf_status event_parse(struct wharf_req *req, struct event *e, const struct wharf_json **ret);
/* Reads processed events of the request's organization that are not expired; ret has NULL where
 * there is none. Returns false after problems were told. */
bool event_read(struct wharf_req *req, const wharf_str *ids, size_t n, struct event **ret);
/* Reads events by time (wharf_events_api.range). */
bool event_range(struct wharf_req *req, int64_t since_us, int64_t until_us, int64_t after,
    size_t most, struct event ***ret, size_t *ret_n);

/* Judges whether the principal may see the event (identity/seen.h). */
enum sight event_sight(const struct principal *who, const struct event *e);
/* Returns the event as the principal sees it, NULL when it may not see it. An event without parts
 * is the same for all who see it, and returned as it is. within: the only locations that the
 * receiver is for, an array of ids; or NULL. What is made is in a. */
struct event *event_for(
    struct arena *a, const struct principal *who, const struct wharf_json *within, struct event *e);

#endif
