/* proof.c - does a request come from who knows the integration's secret? Four kinds (spec 07
 * section 12). See integrations.h. */
#include <strings.h>

#include "integrations.h"

enum { HASH = 32, HEX = 2 * HASH };

/* Takes as long whatever differs. */
static bool proof_equal(wharf_str a, wharf_str b)
{
    unsigned char difference = a.n != b.n;

    for (size_t i = 0; i < a.n && i < b.n; i++)
        difference |= (unsigned char)(a.p[i] ^ b.p[i]);
    return !difference;
}

static wharf_str proof_after(wharf_str s, const char *word)
{
    size_t n = strlen(word);

    return s.n >= n && !strncasecmp(s.p, word, n) ? (wharf_str){s.p + n, s.n - n}
                                                  : (wharf_str){"", 0};
}

void proof_of(wharf_req *req, const wharf_json *auth, struct proof *ret)
{
    wharf_str header = json_text(auth, "header");

    *ret = (struct proof){
        .authorization = int_http->header(req, header.n ? header.p : "authorization"),
        .id = int_http->header(req, "webhook-id"),
        .timestamp = int_http->header(req, "webhook-timestamp"),
        .signature = int_http->header(req, "webhook-signature")};
}

wharf_str proof_text(wharf_req *req, const struct proof *p)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "authorization", val_text(p->authorization));
    W->json->put(out, "id", val_text(p->id));
    W->json->put(out, "timestamp", val_text(p->timestamp));
    W->json->put(out, "signature", val_text(p->signature));
    W->json->close(out);
    return W->json->result_text(out);
}

wharf_status proof_parse(wharf_req *req, wharf_str text, struct proof *ret)
{
    const wharf_json *v;
    wharf_status s = W->json->parse(req, text, &v);

    if (s == WHARF_OK)
        *ret = (struct proof){json_text(v, "authorization"), json_text(v, "id"),
            json_text(v, "timestamp"), json_text(v, "signature")};
    return s;
}

/* ---- the four kinds ---- */

static const char *standard(wharf_str secret, const struct proof *p, wharf_str body, int64_t at_s)
{
    if (!p->id.n || !p->timestamp.n || !p->signature.n)
        return "The headers webhook-id, webhook-timestamp and webhook-signature are needed";
    switch (int_crypto->verify(secret, p->id, p->timestamp, p->signature, body, at_s)) {
    case WHARF_SIGNATURE_GOOD:
        return NULL;
    case WHARF_SIGNATURE_LATE:
        return "webhook-timestamp is more than five minutes away";
    case WHARF_SIGNATURE_MALFORMED:
        return "webhook-timestamp is no number, or the secret is not one of Standard Webhooks";
    default:
        return "webhook-signature is not that of the secret";
    }
}

static const char *proof_hmac(
    wharf_req *req, wharf_str secret, const struct proof *p, wharf_str body)
{
    static const char digits[] = "0123456789abcdef";
    wharf_str given = proof_after(p->authorization, "sha256=");
    unsigned char hash[HASH];
    char hex[HEX + 1], lower[HEX + 1];

    if (!given.n)
        given = p->authorization;
    if (!given.n)
        return "The header with the signature is missing";
    int_crypto->hmac_sha256(secret, body, hash);
    if (given.n == HEX) {
        for (size_t i = 0; i < HASH; i++) {
            hex[2 * i] = digits[hash[i] >> 4];
            hex[2 * i + 1] = digits[hash[i] & 15];
        }
        for (size_t i = 0; i < HEX; i++)
            lower[i] = given.p[i] >= 'A' && given.p[i] <= 'F' ? (char)(given.p[i] + 32)
                                                              : given.p[i];
        if (proof_equal((wharf_str){hex, HEX}, (wharf_str){lower, HEX}))
            return NULL;
    } else if (proof_equal(int_crypto->base64(req, (wharf_str){(const char *)hash, HASH}), given)) {
        return NULL;
    }
    return "The signature is not that of the secret";
}

static const char *basic(
    wharf_req *req, wharf_str username, wharf_str secret, const struct proof *p)
{
    wharf_str both = W->mem->format(
        req, "%.*s:%.*s", (int)username.n, username.p, (int)secret.n, secret.p);
    wharf_str given = proof_after(p->authorization, "basic ");

    return given.n && proof_equal(int_crypto->base64(req, both), given)
               ? NULL
               : "Username or password are not those of the integration";
}

const char *proof_problem(wharf_req *req, const wharf_json *auth, wharf_str secret,
    const struct proof *p, wharf_str body, int64_t at_s)
{
    wharf_str type = json_text(auth, "type");

    if (!secret.n)
        return "The integration has no secret yet of the key that auth.secret names";
    if (is(type, "standard_webhooks"))
        return standard(secret, p, body, at_s);
    if (is(type, "hmac_sha256"))
        return proof_hmac(req, secret, p, body);
    if (is(type, "basic"))
        return basic(req, json_text(auth, "username"), secret, p);
    return proof_equal(proof_after(p->authorization, "bearer "), secret)
               ? NULL
               : "The bearer token is not that of the integration";
}
