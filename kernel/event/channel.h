/* channel.h - messages of channels in the database (plugin-api/wharf/service/channel.h). Leaves
 * to others: who waits for them (http/channel_wait.c), the notices between processes
 * (db/notifier.h). */
#ifndef WHARF_EVENT_CHANNEL_H
#define WHARF_EVENT_CHANNEL_H

#include "resource/request.h"

enum {
    CHANNEL_NAME_MAX = 100, /* bytes of a channel's name */
    CHANNEL_DATA_MAX = 1024, /* bytes of a message */
    CHANNEL_KEPT = 10000 /* messages of a channel that are kept */
};

/* Sends a message to the channel, in the request's transaction. The row of the channel is locked
 * until it ends, so numbers are seen in order. `ends` may be empty. */
wharf_status channel_send(struct wharf_req *req, wharf_str name, const char *type,
    const struct wharf_json *data, wharf_str ends, int64_t *ret_seq);
wharf_status channel_last(struct wharf_req *req, wharf_str name, int64_t *ret_seq);
/* Runs the kernel's job that forgets messages of more than a day, and of more than CHANNEL_KEPT. */
wharf_status channel_forget_job(struct wharf_req *req, void *arg);

#endif
