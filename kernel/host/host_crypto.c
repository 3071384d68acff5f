/* host_crypto.c - the service wharf.crypto (plugin-api/wharf/service/crypto.h) on top of
 * secret/. */
#include <sodium.h>
#include <string.h>

#include "host/host.h"
#include "secret/hide.h"
#include "secret/rsa.h"
#include "secret/secret.h"
#include "secret/signature.h"
#include "util/str.h"
#include "wharf/service/crypto.h"

static wharf_str c_new_secret(wharf_req *req)
{
    char text[SIGNATURE_SECRET_TEXT];

    signature_secret(text);
    return arena_dupz(req->arena, text);
}

static wharf_str c_sign(wharf_req *req, const wharf_str *secrets, size_t n, wharf_str id,
    int64_t timestamp_s, wharf_str body)
{
    size_t room = n * (SIGNATURE_ENTRY + 1);
    char *out = arena_alloc(req->arena, room + 1);

    return (wharf_str){out, signature_make(secrets, n, id, timestamp_s, body, out, room)};
}

static uint32_t c_verify(wharf_str secret, wharf_str id, wharf_str timestamp, wharf_str signatures,
    wharf_str body, int64_t now_s)
{
    switch (
        signature_check(secret, id, timestamp, signatures, body, now_s, SIGNATURE_TOLERANCE_S)) {
    case SIGNATURE_GOOD:
        return WHARF_SIGNATURE_GOOD;
    case SIGNATURE_LATE:
        return WHARF_SIGNATURE_LATE;
    case SIGNATURE_MALFORMED:
        return WHARF_SIGNATURE_MALFORMED;
    case SIGNATURE_WRONG:
        break;
    }
    return WHARF_SIGNATURE_WRONG;
}

static void c_hmac(wharf_str key, wharf_str data, unsigned char ret_hash[32])
{
    signature_hmac(key.p, key.n, data, ret_hash);
}

/* Tells whether the table is in the plugin's own schema: a plugin opens and seals what is there. */
static bool own_table(const wharf_req *req, const char *table)
{
    const char *dot = strchr(table, '.');

    return req->plugin && dot &&
           str_eqz((wharf_str){table, (size_t)(dot - table)}, req->plugin->name);
}

static bool c_open(wharf_req *req, const char *table, const char *column, wharf_str id,
    wharf_str sealed, wharf_str *ret_text)
{
    struct secret_place at = {table, column, id};

    return own_table(req, table) && secret_open(req->arena, &at, sealed, ret_text);
}

static bool c_seal(wharf_req *req, const char *table, const char *column, wharf_str id,
    wharf_str text, wharf_str *ret_sealed)
{
    struct secret_place at = {table, column, id};

    return own_table(req, table) && secret_seal(req->arena, &at, text, ret_sealed);
}

static wharf_str c_base64(wharf_req *req, wharf_str bytes)
{
    size_t room = sodium_base64_encoded_len(bytes.n, sodium_base64_VARIANT_ORIGINAL);
    char *out = arena_alloc(req->arena, room);

    sodium_bin2base64(
        out, room, (const unsigned char *)bytes.p, bytes.n, sodium_base64_VARIANT_ORIGINAL);
    return (wharf_str){out, room - 1};
}

static bool c_rs256(wharf_req *req, wharf_str pem, wharf_str text, wharf_str *ret_signature)
{
    return rsa_sha256(req->arena, pem, text, ret_signature);
}

static const wharf_hiding *c_hiding(
    wharf_req *req, const wharf_str *names, const wharf_str *values, size_t n)
{
    wharf_str *own = arena_alloc(req->arena, (2 * n + 1) * sizeof(*own));

    for (size_t i = 0; i < n; i++) {
        own[i] = arena_dup_str(req->arena, names[i]);
        own[n + i] = arena_dup_str(req->arena, values[i]);
    }
    return (const wharf_hiding *)hide_prepare(req->arena, own, own + n, n);
}

static wharf_str c_hide(wharf_req *req, const wharf_hiding *hiding, wharf_str text, bool cut)
{
    return hide_text(req->arena, (const struct hide_list *)hiding, text, cut);
}

/* Computes a keyed hash. The key is that of cursors; the beginning of the text keeps their MACs
 * and those of purposes apart. */
static void c_keyed_hash(
    wharf_req *req, const char *purpose, wharf_str data, unsigned char ret_hash[32])
{
    wharf_str text = arena_printf(req->arena, "wharf keyed hash\n%s\n%.*s", purpose, STR_ARG(data));

    signature_hmac(req->engine->cursor_key, sizeof(req->engine->cursor_key), text, ret_hash);
}

const wharf_crypto_api host_crypto = {WHARF_HEAD(wharf_crypto_api), c_new_secret,
    signature_secret_valid, c_sign, c_verify, c_hmac, c_open, c_seal, c_base64, c_rs256, c_hiding,
    c_hide, c_keyed_hash};
