/* body_reader.h - the thread that reads large bodies, see body_reader.c. Used by the event
 * loop's thread. */
#ifndef WHARF_HTTP_BODY_READER_H
#define WHARF_HTTP_BODY_READER_H

#include "http/exchange.h"

struct body_reader;
struct activity;

/* Starts the thread, which notes in `activity` what it does. Returns NULL when there is no memory
 * or no thread to be had. */
struct body_reader *body_reader_start(struct server *s, struct activity *activity);
/* Queues the request's body to be read; it comes back by threads_done() with `reading` set. Returns
 * false when too many wait already. */
bool body_reader_push(struct body_reader *r, struct exchange *x);
/* Ends the arena now, and frees it soon and on that thread: giving many megabytes back to the
 * system takes milliseconds. */
void body_reader_free_arena(struct body_reader *r, struct arena *a);
/* Reads what waits, then ends the thread. What comes after is refused, or freed at once. r may
 * be NULL, here and below. */
void body_reader_stop(struct body_reader *r);
void body_reader_free(struct body_reader *r);

#endif
