/* arrival.h - telling plugins that the bytes of a file they await have come, in the request that
 * brings them and in its transaction.
 *
 * So what a plugin keeps of the file and the file itself change together. Leaves to others: the
 * row of the file (blob_file.h), the request (files_route.c). */
#ifndef WHARF_BLOB_ARRIVAL_H
#define WHARF_BLOB_ARRIVAL_H

#include "resource/request.h"

typedef wharf_status arrival_fn(struct wharf_req *req, wharf_str file, wharf_str *ret_refused);

typedef wharf_status damage_fn(struct wharf_req *req, wharf_str file, uint32_t state);

/* Notes whom to tell of files that the plugin awaits. From start() only. */
void arrival_listen(const wharf_plugin *self, arrival_fn *fn);
/* Notes whom to tell of stored bytes of the plugin that are damaged. From start() only. */
void arrival_listen_damage(const wharf_plugin *self, damage_fn *fn);
/* Notes whom to tell that bytes of such a file are not taken, and why: "size_mismatch",
 * "too_large", "missing" (empty), "rejected". */
typedef wharf_status refusal_fn(struct wharf_req *req, wharf_str file, const char *reason);
void arrival_listen_refusals(const wharf_plugin *self, refusal_fn *fn);
/* Tells whether the plugin that the request is in is told of its files. */
bool arrival_heard(const struct wharf_req *req);
/* Tells the plugin of that name, acting for the organization; nobody listens: nothing is done.
 * ret_refused: why the bytes are not wanted, or empty. */
wharf_status arrival_tell(struct wharf_req *req, wharf_str plugin, wharf_str organization,
    wharf_str file, wharf_str *ret_refused);
/* Tells the plugin of that name what state (enum wharf_blob_state) a file is in, in the open
 * transaction, acting for the organization; nobody listens: nothing is done. */
wharf_status arrival_tell_damage(struct wharf_req *req, wharf_str plugin, wharf_str organization,
    wharf_str file, uint32_t state);
/* Tells it that bytes are not taken, in the same way. */
wharf_status arrival_refuse(struct wharf_req *req, wharf_str plugin, wharf_str organization,
    wharf_str file, const char *reason);

#endif
