/* wharf/service/text.h - forms of text that need more than a C library: service "wharf.text",
 * version 1.2.
 *
 * Rules of this header: wharf/plugin.h. */
#ifndef WHARF_SERVICE_TEXT_H
#define WHARF_SERVICE_TEXT_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_digest wharf_digest; /* SHA-256 of bytes that come in pieces */

typedef struct wharf_text_api {
    wharf_head head;
    /* Returns the part of a text that counts when names are looked for
     * (docs/spec/06-inference.md section 9.1): words of folded letters without marks, separated
     * by one space. keep: ASCII characters that become words of their own, or "". Lives in the
     * request. */
    wharf_str (*search_form)(wharf_req *req, wharf_str text, const char *keep);
    /* SHA-256 of the bytes as 64 hexadecimal digits, for checksums. Lives in the request. */
    wharf_str (*sha256)(wharf_req *req, wharf_str bytes);
    /* "data:text/csv;charset=x;base64,...": its type as written and what it holds, until the
     * request ends. White space inside the payload does no harm. False: it is no such URL, or
     * its alphabet or padding is wrong. */
    bool (*data_url)(wharf_req *req, wharf_str url, wharf_str *ret_type, wharf_str *ret_bytes);
    /* 1.1: UTF-8 without zeros, as the database takes it. [any] */
    bool (*is_text)(wharf_str bytes);
    /* 1.2: for tables of what clients send: keyed, so that nobody finds texts that meet; another
     * one in each process. [any] */
    uint64_t (*hash)(wharf_str bytes);
    /* 1.2: sha256() of all that was added. A digest lives in the request, across memory scopes
     * that began before it. */
    wharf_digest *(*digest)(wharf_req *req);
    void (*digest_add)(wharf_digest *digest, wharf_str bytes);
    wharf_str (*digest_end)(wharf_req *req, wharf_digest *digest);
    /* 1.2: a parameter of a type ("text/csv; charset=x"), its name in any case, without quotes;
     * "": there is none. Lives in the request. */
    wharf_str (*type_param)(wharf_req *req, wharf_str type, const char *name);
} wharf_text_api;

#ifdef __cplusplus
}
#endif
#endif
