/* cursor.c - signed cursors: where a walk over a list goes on.
 *
 * Text: base64url of HMAC-SHA-256 (16 bytes), one byte that says whether the sort value is null,
 * one byte length of the id, the id, the sort value. The signature covers the fingerprint too,
 * so that a cursor is of use for the same list only (01 section 10). */
#include <sodium.h>

#include "query/filter.h"
#include "util/str.h"

enum {
    MAC = 16,
    HEAD = MAC + 2,
    CURSOR_MAX = 16384 /* bytes of a cursor */
};

static void cursor_sign(const unsigned char *key, wharf_str fingerprint, const unsigned char *body,
    size_t n, unsigned char out[MAC])
{
    crypto_auth_hmacsha256_state state;
    unsigned char full[crypto_auth_hmacsha256_BYTES];

    crypto_auth_hmacsha256_init(&state, key, QUERY_KEY);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)fingerprint.p, fingerprint.n);
    crypto_auth_hmacsha256_update(&state, body, n);
    crypto_auth_hmacsha256_final(&state, full);
    memcpy(out, full, MAC);
}

wharf_str query_cursor(struct arena *a, const struct list_query *q, struct sql_arg value,
    wharf_str id, const unsigned char *key)
{
    size_t value_n = value.p ? value.n : 0, n = HEAD + id.n + value_n;
    unsigned char *raw = arena_alloc(a, n);
    size_t room = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *text = arena_alloc(a, room);

    raw[MAC] = value.p ? 0 : 1;
    raw[MAC + 1] = (unsigned char)id.n;
    memcpy(raw + HEAD, id.p, id.n);
    if (value_n)
        memcpy(raw + HEAD + id.n, value.p, value_n);
    cursor_sign(key, q->fingerprint, raw + MAC, n - MAC, raw);
    sodium_bin2base64(text, room, raw, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return (wharf_str){text, strlen(text)};
}

bool cursor_read(struct arena *a, wharf_str text, const unsigned char *key, struct list_query *q)
{
    unsigned char *raw, mac[MAC];
    size_t n;

    if (text.n > CURSOR_MAX)
        return false;
    raw = arena_alloc(a, text.n + 1);
    if (sodium_base642bin(raw, text.n, text.p, text.n, NULL, &n, NULL,
            sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return false;
    if (n < HEAD || n - HEAD < raw[MAC + 1])
        return false;
    cursor_sign(key, q->fingerprint, raw + MAC, n - MAC, mac);
    if (sodium_memcmp(mac, raw, MAC) != 0)
        return false;
    q->cursor_null = raw[MAC] == 1;
    q->cursor_id = arena_dup(a, (const char *)raw + HEAD, raw[MAC + 1]);
    q->cursor_value = arena_dup(
        a, (const char *)raw + HEAD + raw[MAC + 1], n - HEAD - raw[MAC + 1]);
    return true;
}

static void cursor_hash_text(crypto_hash_sha256_state *state, wharf_str s)
{
    uint64_t n = s.n;

    crypto_hash_sha256_update(state, (const unsigned char *)&n, sizeof(n));
    crypto_hash_sha256_update(state, (const unsigned char *)s.p, s.n);
}

static int pair_order(const void *a, const void *b)
{
    const struct query_pair *x = *(const struct query_pair *const *)a,
                            *y = *(const struct query_pair *const *)b;
    int order = strcmp(x->key.p, y->key.p);

    return order ? order : strcmp(x->value.p, y->value.p);
}

wharf_str cursor_fingerprint(struct arena *a, const struct definition *d,
    const struct query_options *o, const struct list_query *q,
    const struct query_pair *const *pairs, size_t n_pairs)
{
    const struct query_pair **sorted = ARENA_ARRAY(a, const struct query_pair *, n_pairs + 1);
    unsigned char *out = arena_alloc(a, crypto_hash_sha256_BYTES);
    crypto_hash_sha256_state state;

    memcpy(sorted, pairs, n_pairs * sizeof(*pairs));
    qsort(sorted, n_pairs, sizeof(*sorted), pair_order);
    crypto_hash_sha256_init(&state);
    cursor_hash_text(&state, o->organization);
    cursor_hash_text(&state, str_z(d->name));
    cursor_hash_text(&state, o->parent);
    cursor_hash_text(&state, str_z(q->order ? q->order->name : ""));
    cursor_hash_text(&state, q->descending ? WHARF_S("desc") : WHARF_S("asc"));
    cursor_hash_text(&state, q->match_all ? WHARF_S("all") : WHARF_S("any"));
    for (size_t i = 0; i < q->n_terms; i++)
        cursor_hash_text(&state, q->terms[i]);
    cursor_hash_text(&state, WHARF_S(""));
    for (size_t i = 0; i < n_pairs; i++) {
        cursor_hash_text(&state, sorted[i]->key);
        cursor_hash_text(&state, sorted[i]->value);
    }
    crypto_hash_sha256_final(&state, out);
    return (wharf_str){(const char *)out, crypto_hash_sha256_BYTES};
}
