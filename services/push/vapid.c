/* vapid.c - see vapid.h. */
#include "push/vapid.h"

#include <libpq-fe.h>
#include <sodium.h>
#include <string.h>

#include "util/json.h"
#include "util/str.h"

enum { LIFE_S = 12 * 3600 }; /* a VAPID token is good */

static struct p256 own;
static char own_public[VAPID_TEXT];

wharf_str base64url(struct arena *a, const void *p, size_t n)
{
    size_t room = sodium_base64_encoded_len(n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *out = arena_alloc(a, room);

    sodium_bin2base64(out, room, p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return (wharf_str){out, room - 1};
}

bool base64url_read(wharf_str text, unsigned char *ret, size_t n)
{
    size_t got = 0;

    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    return sodium_base642bin(ret, n, text.p, text.n, NULL, &got, NULL,
               sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           got == n;
}

/* ---- the key ---- */

static bool vapid_take_key(const char *hex)
{
    unsigned char private[P256_PRIVATE];
    size_t n = 0;
    bool good = sodium_hex2bin(private, sizeof(private), hex, strlen(hex), NULL, &n, NULL) == 0 &&
                n == sizeof(private) && p256_of(private, &own);

    sodium_memzero(private, sizeof(private));
    if (good)
        sodium_bin2base64(own_public, sizeof(own_public), own.public, P256_PUBLIC,
            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return good;
}

bool vapid_load(const char *database)
{
    PGconn *pg = PQconnectdb(database);
    char hex[2 * P256_PRIVATE + 1];
    const char *values[1] = {hex};
    struct p256 fresh;
    PGresult *r;
    bool good = p256_make(&fresh);

    sodium_bin2hex(hex, sizeof(hex), fresh.private, P256_PRIVATE);
    /* Two statements: the one that loses a race sees the winner's row only in its next snapshot. */
    if (good)
        PQclear(PQexecParams(pg,
            "INSERT INTO wharf.setting (key, value) VALUES ('push.key', $1::text) ON CONFLICT "
            "(key) DO NOTHING",
            1, NULL, values, NULL, NULL, 0));
    r = PQexec(pg, "SELECT value FROM wharf.setting WHERE key = 'push.key'");
    good = good && PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1 &&
           vapid_take_key(PQgetvalue(r, 0, 0));
    sodium_memzero(hex, sizeof(hex));
    sodium_memzero(&fresh, sizeof(fresh));
    PQclear(r);
    PQfinish(pg);
    return good;
}

const char *vapid_public(void)
{
    return own_public;
}

/* ---- the token ---- */

/* Returns scheme, host and port of a URL, in lower case as they are written. */
static bool origin_of(wharf_str url, wharf_str *ret)
{
    const char *host = strstr(url.p, "://"), *end;

    if (!host)
        return false;
    end = host + 3 + strcspn(host + 3, "/?#");
    *ret = (wharf_str){url.p, (size_t)(end - url.p)};
    if (str_ends(*ret, ":443") && str_starts(url, "https"))
        ret->n -= 4;
    return end > host + 3;
}

static wharf_str claims(struct arena *a, wharf_str origin, wharf_str contact, int64_t now_us)
{
    struct buf b;
    struct jw w;
    wharf_str text;

    buf_init(&b, 1 << 16);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_str(&w, "aud", utf8_lower(a, origin));
    jw_int(&w, "exp", now_us / 1000000 + LIFE_S);
    if (contact.n)
        jw_str(&w, "sub", contact);
    jw_close(&w, '}');
    text = base64url(a, buf_str(&b).p, b.n);
    buf_done(&b);
    return text;
}

bool vapid_header_of(struct arena *a, const struct p256 *key, wharf_str endpoint, wharf_str contact,
    int64_t now_us, wharf_str *ret_value)
{
    static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ES256\"}";
    unsigned char signature[P256_SIGNATURE];
    wharf_str origin, text;

    if (!origin_of(endpoint, &origin))
        return false;
    text = arena_printf(
        a, "%s.%s", base64url(a, head, sizeof(head) - 1).p, claims(a, origin, contact, now_us).p);
    if (!p256_sign(key, text, signature))
        return false;
    *ret_value = arena_printf(a, "vapid t=%s.%s, k=%s", text.p,
        base64url(a, signature, sizeof(signature)).p, base64url(a, key->public, P256_PUBLIC).p);
    return true;
}

bool vapid_header(
    struct arena *a, wharf_str endpoint, wharf_str contact, int64_t now_us, wharf_str *ret_value)
{
    return vapid_header_of(a, &own, endpoint, contact, now_us, ret_value);
}
