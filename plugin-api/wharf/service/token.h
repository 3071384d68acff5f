/* wharf/service/token.h - links for people without a key: service "wharf.token", version 1.3
 * (docs/reference/files.md 'Tokenized links').
 *
 * A token is 256 random bits as 43 characters, shown once; the server keeps its hash. It stands
 * for one thing of one organization: kind (of this plugin) and id. Rules of this header:
 * wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_TOKEN_H
#define WHARF_SERVICE_TOKEN_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_token_api {
    wharf_head head;
    /* A new token of the request's organization, in its transaction. kind: at most 30 of a-z and
     * _. */
    wharf_status (*make)(
        wharf_req *req, const char *kind, wharf_str id, int64_t expires_us, wharf_str *ret_token);
    /* On a public route, before any other service: from here on the request is one of the
     * token's organization, without a user, scopes or locations. Problem not_found: no such
     * token, expired or revoked. */
    wharf_status (*enter)(wharf_req *req, const char *kind, wharf_str token, wharf_str *ret_id);
    /* All tokens of the id are dead. */
    wharf_status (*revoke)(wharf_req *req, const char *kind, wharf_str id);
    /* 1.1: what a person sees behind a link: a page in English with a title, a sentence, and
     * (button not empty) one button that posts to the same address. Texts are escaped; the page
     * runs no scripts, loads nothing and can't be framed. */
    void (*page)(wharf_req *req, uint32_t http_status, wharf_str title, wharf_str sentence,
        wharf_str button);
    /* 1.2: a name in public paths that is no secret, such as the id itself, until revoke():
     * enter() takes it as it takes tokens. At most 100 bytes; names of a kind are unique for the
     * whole installation. */
    wharf_status (*name)(wharf_req *req, const char *kind, wharf_str name, wharf_str id);
    /* 1.3: page() in another language (BCP 47), which readers of the page are told. */
    void (*page_in)(wharf_req *req, uint32_t http_status, wharf_str language, wharf_str title,
        wharf_str sentence, wharf_str button);
} wharf_token_api;

#ifdef __cplusplus
}
#endif
#endif
