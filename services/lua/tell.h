/* tell.h - what runs and hooks tell others: wharf.emit and wharf.mail (ops emit and mail.send of
 * sandbox/ops.md; docs/spec/08-workflows-and-lua.md section 5). An event is written as every
 * other one is, into the outbox; a mail is queued. Who asks counts how many a run may have of
 * them. */
#ifndef WHARF_LUA_TELL_H
#define WHARF_LUA_TELL_H

#include "lua/sandbox/sandbox.h"
#include "resource/request.h"

struct lua_sender {
    struct principal *who; /* whose event or mail it is */
    wharf_str resource_type, resource_id; /* of an event that names none */
    wharf_str location_id; /* of an event that names none; or empty */
    bool bound; /* that location counts as named: it has to be one that who reaches */
    /* of this mail: the same when the run is tried again, so that mail programs show it once; or
     * empty */
    wharf_str key;
};

/* Answers an op, in a transaction of its own, or in the open one. The text lives in the request's
 * arena. */
enum sandbox_answer lua_emit(struct wharf_req *req, const struct lua_sender *s,
    const struct wharf_json *args, wharf_str *ret_text);
enum sandbox_answer lua_mail(struct wharf_req *req, const struct lua_sender *s,
    const struct wharf_json *args, wharf_str *ret_text);

#endif
