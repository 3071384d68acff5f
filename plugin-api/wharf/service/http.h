/* wharf/service/http.h - a request as it came: service "wharf.http", version 1.4.
 *
 * For routes declared with WHARF_R_RAW_BODY, which judge bytes and headers themselves
 * (signatures, other formats than JSON). Of other requests there is nothing to see here but what
 * 1.3 and 1.4 add. Rules of this header: wharf/plugin.h. All functions are [worker]; texts live as
 * long as the request. */
#ifndef WHARF_SERVICE_HTTP_H
#define WHARF_SERVICE_HTTP_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owners of a limit. */
enum wharf_limit_owner {
    WHARF_LIMIT_ADDRESS = 1,
    WHARF_LIMIT_USER = 2, /* who acts: a user, a device, or the key without either */
    WHARF_LIMIT_ORGANIZATION = 3
};

typedef struct wharf_http_api {
    wharf_head head;
    wharf_str (*body)(wharf_req *req); /* decompressed; unlike other texts it may hold zeros */
    /* of several lines the first; "" when there is none */
    wharf_str (*header)(wharf_req *req, const char *name);
    /* The i-th line, from 0 on, in the order in which they came; false: there are no more. Bytes
     * that are not UTF-8 are shown as '?'. */
    bool (*header_at)(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value);
    /* ---- 1.1 ---- */
    wharf_str (*address)(wharf_req *req); /* of the client, as text; "" when it is not known */
    /* decoded; as header_at */
    bool (*query_at)(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value);
    /* On public routes with "key": "optional" in their definition, behind wharf.token's enter():
     * from here on the request is one of the key that came with it. Problems: those of a missing
     * or refused key; not_found when the key is of another organization. */
    wharf_status (*use_key)(wharf_req *req);
    /* Takes one of per_minute tokens of the client's address for this purpose, at most 60 bytes.
     * Problem: rate_limited. */
    wharf_status (*limit)(wharf_req *req, wharf_str purpose, uint32_t per_minute);
    /* The answer is this, as it is, instead of an envelope; status 200 to 599. Somebody else
     * wrote it: it is sent with a Content-Security-Policy that lets it run nothing in this
     * server's name. */
    void (*answer)(wharf_req *req, uint32_t status, wharf_str type, wharf_str body);
    /* A header of the answer, whatever it is. Nothing is checked: name a token, value without
     * control characters. */
    void (*answer_header)(wharf_req *req, wharf_str name, wharf_str value);
    /* ---- 1.2 ---- */
    /* Takes one of per_minute tokens that the owner (enum wharf_limit_owner) has for this purpose,
     * at most 60 bytes; 0: no limit. Takes nothing when the setting rate_limit.endpoint is off,
     * nor from an address outside of HTTP requests (jobs, batches). Problem: rate_limited with the
     * reason endpoint. */
    wharf_status (*limit_endpoint)(
        wharf_req *req, uint32_t owner, wharf_str purpose, uint32_t per_minute);
    /* ---- 1.3 ---- */
    /* Adds a text to `errors` of the answer, though the request succeeds: what of it did not. Goes
     * with the answer of respond(), and is forgotten when the request fails. */
    void (*remark)(wharf_req *req, wharf_str text);
    /* The one of the route's "other_types" that the client would rather have than JSON; "": none.
     * It is sent by answer(), and not kept for an Idempotency-Key. */
    wharf_str (*accepted)(wharf_req *req);
    /* ---- 1.4 ---- */
    /* Tells whether the client would rather hear at once that the work was taken (202) than wait
     * for it: "Prefer: respond-async" (RFC 7240). Ask only to do so: from here on the answer says
     * Preference-Applied. */
    bool (*respond_async)(wharf_req *req);
} wharf_http_api;

#ifdef __cplusplus
}
#endif
#endif
