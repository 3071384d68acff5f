/* stream_inside.h - the hub's insides, shared by stream_hub.c (events, connections) and channel_wait.c (channels). Private to both. */
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

/* With the lock held: the loop is told that a connection has something to send; the stream ends with this frame. */
void hub_wake(struct stream_hub *h, struct stream *st);
void hub_wake_loop(struct stream_hub *h);
void hub_end(struct stream_hub *h, struct stream *st, const char *frame);

/* One turn of the hub's thread: messages to streams and parked requests, and what ends by time. False: the database is away. */
bool channel_turn(struct stream_hub *h);
/* From the loop: what is to run again goes to the threads. */
void channel_run_ready(struct stream_hub *h);
/* All that are parked run again, for the last time. */
void channel_drain(struct stream_hub *h);
/* Is anybody waiting? With the lock held. */
bool channel_any(const struct stream_hub *h);

#endif
