/* wharf/service/crypto.h - signatures and sealed texts: service "wharf.crypto", version 1.3.
 *
 * Signatures are those of Standard Webhooks 1.0 (docs/spec/07-events-and-webhooks.md section 6).
 * Sealing is what columns with "store": "secret" do (docs/guide/secrets.md), for rows that a plugin
 * reads by its own SQL. Rules of this header: wharf/plugin.h. */
#ifndef WHARF_SERVICE_CRYPTO_H
#define WHARF_SERVICE_CRYPTO_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum wharf_signature_verdict {
    WHARF_SIGNATURE_GOOD = 0,
    WHARF_SIGNATURE_WRONG = 1,
    WHARF_SIGNATURE_LATE = 2,        /* right, but its timestamp is more than five minutes away */
    WHARF_SIGNATURE_MALFORMED = 3    /* the timestamp is no number, or the secret none */
};

typedef struct wharf_hiding wharf_hiding; /* values that texts must not have, prepared */

typedef struct wharf_crypto_api {
    wharf_head head;
    wharf_str (*new_secret)(wharf_req *req); /* "whsec_...", 32 random bytes. [worker] */
    bool (*secret_valid)(wharf_str secret); /* "whsec_" and the base64 of 24 to 64 bytes. [any] */
    /* The value of webhook-signature: one entry for each secret, in their order; empty when a
     * secret is not valid. [worker] */
    wharf_str (*sign)(wharf_req *req, const wharf_str *secrets, size_t n, wharf_str id,
        int64_t timestamp_s, wharf_str body);
    uint32_t (*verify)(wharf_str secret, wharf_str id, wharf_str timestamp, wharf_str signatures,
        wharf_str body, int64_t now_s);
    void (*hmac_sha256)(wharf_str key, wharf_str data, unsigned char ret_hash[32]); /* [any] */
    /* The sealed text of a column of this plugin's schema ("webhooks.webhook"), for the row with
     * that id. False: this machine has no key that opens it, or it is no sealed text. [worker] */
    bool (*open)(wharf_req *req, const char *table, const char *column, wharf_str id,
        wharf_str sealed, wharf_str *ret_text);
    bool (*seal)(wharf_req *req, const char *table, const char *column, wharf_str id,
        wharf_str text, wharf_str *ret_sealed);
    wharf_str (*base64)(wharf_req *req, wharf_str bytes); /* 1.1: with padding. [worker] */
    /* 1.2: the signature of text as RS256 of JSON Web Tokens has it, not encoded. pem: a private
     * key of 2,048 bits or more, without a passphrase. False: it is none. [worker] */
    bool (*rs256)(wharf_req *req, wharf_str pem, wharf_str text, wharf_str *ret_signature);
    /* 1.3: n secrets for hide(), for as long as the request. Values of fewer than six bytes are
     * not looked for. [worker] */
    const wharf_hiding *(*hiding)(
        wharf_req *req, const wharf_str *names, const wharf_str *values, size_t n);
    /* The text with "[secret:NAME]" wherever one of them stands, in any form that gives it away:
     * letters of another case, escaped, hex, base64 also behind a user's name. cut: the text
     * went on, so its end may be the beginning of one. [worker] */
    wharf_str (*hide)(wharf_req *req, const wharf_hiding *hiding, wharf_str text, bool cut);
    /* 1.3: a hash that nobody computes who does not have this installation's key: for ids that
     * follow from what they name. The same on all machines of one database, another one for each
     * purpose, which begins with the plugin's name: "locations.address". [worker] */
    void (*keyed_hash)(
        wharf_req *req, const char *purpose, wharf_str data, unsigned char ret_hash[32]);
} wharf_crypto_api;

#ifdef __cplusplus
}
#endif
#endif
