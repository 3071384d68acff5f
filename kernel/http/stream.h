/* stream.h - the live event stream: Server-Sent Events without a thread for each
 * (docs/spec/07-events-and-webhooks.md section 13, docs/internals/events.md).
 *
 * A request is opened on a worker thread (stream_open.c), then its connection belongs to
 * libmicrohttpd, which asks for bytes, and to the hub, one thread of the process that reads new
 * events once for all streams of an organization (stream_hub.c). Between the two stands
 * a buffer, guarded by the hub's lock; a connection that has nothing to send is suspended.
 * Leaves to others: events themselves (event/). */
#ifndef WHARF_HTTP_STREAM_H
#define WHARF_HTTP_STREAM_H

#include "http/exchange.h"
#include "resource/decl.h"

enum {
    STREAMS_PER_KEY = 10, /* live streams of one key */
    STREAMS_PER_ORGANIZATION = 100, /* live streams of one organization */
    STREAM_REPLAY = 10000, /* events that are made up for */
    STREAM_UNSENT = 1024 * 1024, /* bytes after which a reader is too slow */
    /* of what is made up for: no more is read before these bytes are sent */
    STREAM_AHEAD = 256 * 1024, /* bytes that wait for a slow reader */
    STREAM_BATCH = 200,
};
#define STREAM_BEAT_US  15000000 /* between two signs of life */
#define STREAM_CHECK_US 60000000 /* between two looks at the keys of streams */

/* Limit of open streams of channels (plugin-api/wharf/service/channel.h). */
enum { CHANNEL_STREAMS = 10000 }; /* streams of stations and others */
#define CHANNEL_LIFE_US 3600000000LL /* then such a stream is closed */
#define CHANNEL_LOOK_US 5000000 /* all look, whatever was told */

struct stream_hub;

/* a request that was put aside until something comes; its own memory, freed with the request or
 * when it runs again */
struct parked {
    struct parked *next;
    struct exchange *x;
    wharf_str organization, channel;
    int64_t after, until_us;
    bool reported;
    char name[]; /* of the channel */
};

struct stream { /* what was asked for, and how far it is */
    struct stream *next;
    struct stream_hub *hub;
    struct arena *arena;
    struct principal *who; /* a reference */
    unsigned char key_hash[KEY_HASH];
    int area;
    wharf_str organization, resource_type, resource_id;
    const wharf_str *types, *locations;
    size_t n_types, n_locations;
    bool thin;
    int64_t after; /* the last sequence, or message of the channel, that was looked at */
    wharf_str channel, tag; /* channel.n 0: the stream of events */
    /* in libmicrohttpd's memory of the connection, until its pages were given back */
    const char *uri;
    bool reported; /* there may be messages */
    int64_t end_us; /* monotonic; 0: never */
    int64_t gap_from, gap_to; /* to be told first; 0: none */
    uint64_t owners[2]; /* in the board's counts */
    size_t n_owners;
    /* guarded by the hub's lock: */
    struct MHD_Connection *connection; /* NULL: not on the hub yet, or gone */
    int fd; /* of it; good as long as it is there */
    struct buf out;
    size_t sent; /* of out */
    bool asleep; /* the connection is suspended */
    bool wake; /* to be resumed by the loop */
    bool ending; /* nothing is added any more; ends when out is empty */
    bool fed; /* has seen all that there was in this turn of the hub */
    bool live; /* has seen the newest event once */
    int64_t beat_us, check_us; /* when next */
    unsigned refs; /* the hub's and libmicrohttpd's */
};

struct stream_hub *stream_hub_start(struct server *s);
/* Tells the hub that events were processed, or the clock was moved: enum notifier_news. [any] */
void stream_hub_news(void *hub, unsigned news);
/* Resumes connections that have something to send. Called from the loop, once per turn. */
void stream_hub_turn(struct stream_hub *h);
/* Tells all streams that the server closes, and ends them. */
void stream_hub_drain(struct stream_hub *h);
void stream_hub_stop(struct stream_hub *h);

/* Gives pages that hold nothing but zeros back to the system: libmicrohttpd maps the memory of a
 * connection and writes zeros to it. uri: of the request whose connection it is. Called on the
 * loop, for a connection that will wait. */
void stream_give_back_zeros(const char *uri);

/* Parks a request (channel_wait.c), whose handler asked for it: it waits from here on. Called on
 * the loop. */
void stream_hub_park(struct stream_hub *h, struct exchange *x);
/* Opens the channel's stream as the answer of the request; its first frame is in it. Called on a
 * worker thread. */
wharf_status channel_stream_open(
    struct wharf_req *req, wharf_str channel, wharf_str tag, int64_t after, wharf_str hello);
/* Tells whether the server ends: nothing is parked any more. [any] */
bool stream_hub_draining(struct stream_hub *h);
/* Gets the names that notifier_on_channels() tells. */
void stream_hub_channels(void *hub, const char *names);

/* Adds the route of the stream (wharf_events_api.stream). */
void stream_declare(struct wharf_decl *d, const char *path, const char *scope, const char *tokens);
/* Checks everything, and leaves the stream in req->stream. Called on a worker thread. */
void stream_open(struct wharf_req *req);
/* Tells whether the request brings a token instead of a key. */
bool stream_by_token(const struct wharf_req *req);
/* Makes the answer, whose bytes come from the hub. A problem may be told instead (then returns
 * NULL). Called from the loop. */
struct MHD_Response *stream_response(struct exchange *x);
void stream_forget(struct wharf_req *req); /* that was opened, and is not answered */
void stream_free(struct stream *st);

#endif
