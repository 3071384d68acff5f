/* webhook_match.h - does an event concern a webhook? Its locations and its filter
 * (docs/spec/07-events-and-webhooks.md section 5).
 *
 * Values are those of the webhook's columns, checked when they were written; json is the
 * server's table of JSON functions. Pure. */
#ifndef WEBHOOKS_MATCH_H
#define WEBHOOKS_MATCH_H

#include "wharf/service/events.h"

enum {
    FILTER_MAX = 10, /* conditions of a filter */
    FILTER_PATH_MAX = 200 /* letters of a path */
};

/* Tells whether the location is one of these. locations: array of ids, or NULL for all; an event
 * without location is met by all only. */
bool match_location(const wharf_json_api *json, const wharf_json *locations, wharf_str location_id);
/* Tells the same for an event, whose row may have several. */
bool match_places(const wharf_json_api *json, const wharf_json *locations, const wharf_event *e);
/* Tells whether the event meets all conditions. conditions: array of {path, op, value}, or NULL
 * for none. body: the event's body. */
bool match_filter(const wharf_json_api *json, const wharf_json *conditions, const wharf_json *body);
/* Tells what is wrong with a condition as a client sent it; NULL: nothing. */
const char *match_condition_problem(const wharf_json_api *json, const wharf_json *condition);

#endif
