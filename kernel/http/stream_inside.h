/* stream_inside.h - the hub's insides, shared by stream_hub.c (events, connections) and
 * channel_wait.c (channels). Private to both. */
#ifndef WHARF_HTTP_STREAM_INSIDE_H
#define WHARF_HTTP_STREAM_INSIDE_H

#include <pthread.h>

#include "http/stream.h"

struct stream_hub {
    struct server *server;
    struct db_conn *db;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct stream *first; /* guarded by the lock, as is what follows */
    size_t n, n_channel;
    struct parked *parked, *ready; /* ready: to be run again by the loop */
    int64_t look_us; /* when all channels are looked at again */
    bool news, stop, draining, resume; /* resume: a stream has its `wake` */
};

/* Tells the loop that a connection has something to send (hub_wake), or ends the stream with this
 * frame (hub_end). The caller holds the lock. */
void hub_wake(struct stream_hub *h, struct stream *st);
void hub_wake_loop(struct stream_hub *h);
void hub_end(struct stream_hub *h, struct stream *st, const char *frame);

/* Runs one turn of the hub's thread: messages to streams and parked requests, and what ends by
 * time. Returns false when the database is away. */
bool channel_turn(struct stream_hub *h);
/* Gives what is to run again to the threads. Called from the loop. */
void channel_run_ready(struct stream_hub *h);
/* Lets all that are parked run again, for the last time. */
void channel_drain(struct stream_hub *h);
/* Tells whether anybody is waiting. The caller holds the lock. */
bool channel_any(const struct stream_hub *h);

#endif
