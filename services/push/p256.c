/* p256.c - see p256.h. */
#include "push/p256.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

static const char group[] = "prime256v1";

/* Makes a key of the library's; private NULL: a public one. */
static EVP_PKEY *p256_load(const unsigned char *private, const unsigned char *public)
{
    OSSL_PARAM_BLD *list = OSSL_PARAM_BLD_new();
    BIGNUM *secret = private ? BN_bin2bn(private, P256_PRIVATE, BN_secure_new()) : NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    int what = private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
    OSSL_PARAM *params = NULL;
    EVP_PKEY *key = NULL;

    if (list && ctx && (secret || !private) &&
        OSSL_PARAM_BLD_push_utf8_string(list, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) &&
        OSSL_PARAM_BLD_push_octet_string(list, OSSL_PKEY_PARAM_PUB_KEY, public, P256_PUBLIC) &&
        (!private || OSSL_PARAM_BLD_push_BN(list, OSSL_PKEY_PARAM_PRIV_KEY, secret)))
        params = OSSL_PARAM_BLD_to_param(list);
    if (!params || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, what, params) != 1)
        key = NULL;
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(list);
    EVP_PKEY_CTX_free(ctx);
    BN_clear_free(secret);
    return key;
}

static bool p256_read_pair(EVP_PKEY *key, struct p256 *ret)
{
    BIGNUM *secret = NULL;
    size_t n = 0;
    bool good = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &secret) == 1 &&
                BN_bn2binpad(secret, ret->private, P256_PRIVATE) == P256_PRIVATE &&
                EVP_PKEY_get_octet_string_param(
                    key, OSSL_PKEY_PARAM_PUB_KEY, ret->public, P256_PUBLIC, &n) == 1 &&
                n == P256_PUBLIC && ret->public[0] == POINT_CONVERSION_UNCOMPRESSED;

    BN_clear_free(secret);
    return good;
}

bool p256_make(struct p256 *ret)
{
    EVP_PKEY *key = EVP_EC_gen(group);
    bool good = key && p256_read_pair(key, ret);

    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

bool p256_of(const unsigned char private[P256_PRIVATE], struct p256 *ret)
{
    EC_GROUP *curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    EC_POINT *point = curve ? EC_POINT_new(curve) : NULL;
    BIGNUM *secret = BN_bin2bn(private, P256_PRIVATE, BN_secure_new());
    bool good = point && secret && !BN_is_zero(secret) &&
                BN_cmp(secret, EC_GROUP_get0_order(curve)) < 0 &&
                EC_POINT_mul(curve, point, secret, NULL, NULL, NULL) == 1 &&
                EC_POINT_point2oct(curve, point, POINT_CONVERSION_UNCOMPRESSED, ret->public,
                    P256_PUBLIC, NULL) == P256_PUBLIC;

    if (good)
        memcpy(ret->private, private, P256_PRIVATE);
    BN_clear_free(secret);
    EC_POINT_free(point);
    EC_GROUP_free(curve);
    ERR_clear_error();
    return good;
}

bool p256_secret(const struct p256 *own, const unsigned char theirs[P256_PUBLIC],
    unsigned char ret_secret[P256_SECRET])
{
    EVP_PKEY *key = p256_load(own->private, own->public), *peer = p256_load(NULL, theirs);
    EVP_PKEY_CTX *ctx = key && peer ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    size_t n = P256_SECRET;
    bool good = ctx && EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, peer) == 1 &&
                EVP_PKEY_derive(ctx, ret_secret, &n) == 1 && n == P256_SECRET;

    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

bool p256_point(const unsigned char public[P256_PUBLIC])
{
    EVP_PKEY *key = public[0] == POINT_CONVERSION_UNCOMPRESSED ? p256_load(NULL, public) : NULL;
    EVP_PKEY_CTX *ctx = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    bool good = ctx && EVP_PKEY_public_check(ctx) == 1;

    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

/* Takes r and s out of what the library signs with: DER. */
static bool plain_signature(const unsigned char *der, size_t n, unsigned char ret[P256_SIGNATURE])
{
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &der, (long)n);
    int half = P256_SIGNATURE / 2;
    bool good = s && BN_bn2binpad(ECDSA_SIG_get0_r(s), ret, half) == half &&
                BN_bn2binpad(ECDSA_SIG_get0_s(s), ret + half, half) == half;

    ECDSA_SIG_free(s);
    return good;
}

bool p256_sign(const struct p256 *own, wharf_str text, unsigned char ret[P256_SIGNATURE])
{
    EVP_PKEY *key = p256_load(own->private, own->public);
    EVP_MD_CTX *ctx = key ? EVP_MD_CTX_new() : NULL;
    unsigned char der[128];
    size_t n = sizeof(der);
    bool good = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(ctx, der, &n, (const unsigned char *)text.p, text.n) == 1 &&
                plain_signature(der, n, ret);

    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}
