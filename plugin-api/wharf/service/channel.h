/* wharf/service/channel.h - messages to clients that wait: service "wharf.channel", version 1.0
 * (docs/internals/events.md 'Channels').
 *
 * A channel is a name within the organization. What is sent to it reaches open streams
 * (Server-Sent Events) and parked requests in all processes within milliseconds of the commit;
 * it is kept for a day, at most 10,000 messages, so that a stream that was cut goes on where it
 * was. Messages are hints: who gets one looks at the truth. Waiting costs neither a thread nor a
 * connection to the database. Rules of this header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_CHANNEL_H
#define WHARF_SERVICE_CHANNEL_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_channel_stream {
    wharf_head head;
    wharf_str channel; /* at most 100 bytes */
    wharf_str tag; /* whose stream it is, for end(); or empty */
    /* the last message that is known; -1: the newest. Last-Event-ID goes before it */
    int64_t after;
    wharf_str hello; /* JSON object of the first frame, `event: hello`; its "seq" is added */
} wharf_channel_stream;

typedef struct wharf_channel_api {
    wharf_head head;
    /* A message in the request's transaction: `id: seq`, `event: type`, `data: {"type", "seq",
     * "at", then the members of data}`. data: an object or NULL; 1 KiB in all. */
    wharf_status (*send)(wharf_req *req, wharf_str channel, const char *type,
        const wharf_json *data, int64_t *ret_seq /* or NULL */);
    /* Streams of the channel with this tag get a frame of that type and end; nobody else sees
     * it. */
    wharf_status (*end)(wharf_req *req, wharf_str channel, const char *type, wharf_str tag);
    /* The number of the last message; 0: none yet. */
    wharf_status (*last)(wharf_req *req, wharf_str channel, int64_t *ret_seq);
    /* In a handler of GET: the answer is the channel's stream. Frames `event: resync` when
     * messages behind `after` are gone, a comment each 15 s, `event: bye` after an hour. The
     * handler returns WHARF_OK without respond(). */
    wharf_status (*stream)(wharf_req *req, const wharf_channel_stream *s);
    /* In a handler of a route with WHARF_R_NO_TX, after it found nothing to answer, and outside
     * transactions: puts the request aside. The handler, which returns WHARF_OK without
     * respond(), runs once more when a message behind `after` has come, and after wait_ms,
     * counted from the first park of the request. False: the time is over, or the server ends:
     * answer now. */
    bool (*park)(wharf_req *req, wharf_str channel, int64_t after, int64_t wait_ms);
} wharf_channel_api;

#ifdef __cplusplus
}
#endif
#endif
