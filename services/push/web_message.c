/* web_message.c - see web_message.h. */
#include "push/web_message.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

enum { KEY = 16, NONCE = 12, HASH = 32 };

static void web_message_hmac(
    const unsigned char *key, size_t key_n, const void *text, size_t n, unsigned char ret[HASH])
{
    HMAC(EVP_sha256(), key, (int)key_n, text, n, ret, NULL);
}

/* Computes the material that both sides know (RFC 8291 section 3.3). */
static bool web_message_shared(
    const struct web_reader *to, const struct p256 *once, unsigned char ret[HASH])
{
    static const char label[] = "WebPush: info"; /* with its NUL */
    unsigned char secret[P256_SECRET], prk[HASH];
    unsigned char info[sizeof(label) + 2 * P256_PUBLIC + 1];

    if (!p256_secret(once, to->public, secret))
        return false;
    memcpy(info, label, sizeof(label));
    memcpy(info + sizeof(label), to->public, P256_PUBLIC);
    memcpy(info + sizeof(label) + P256_PUBLIC, once->public, P256_PUBLIC);
    info[sizeof(info) - 1] = 1;
    web_message_hmac(to->auth, WEB_AUTH, secret, sizeof(secret), prk);
    web_message_hmac(prk, sizeof(prk), info, sizeof(info), ret);
    OPENSSL_cleanse(secret, sizeof(secret));
    OPENSSL_cleanse(prk, sizeof(prk));
    return true;
}

/* Encrypts plain and the sign of the last record (RFC 8188 section 2) into out, which gets the tag
 * too. */
static bool encrypt(const unsigned char key[KEY], const unsigned char nonce[NONCE], wharf_str plain,
    unsigned char *out)
{
    static const unsigned char last = 2;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0, end = 0;
    bool good = ctx && EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key, nonce) == 1 &&
                EVP_EncryptUpdate(ctx, out, &n, (const unsigned char *)plain.p, (int)plain.n) ==
                    1 &&
                EVP_EncryptUpdate(ctx, out + plain.n, &n, &last, 1) == 1 &&
                EVP_EncryptFinal_ex(ctx, out + plain.n + 1, &end) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, WEB_TAG, out + plain.n + 1) == 1;

    EVP_CIPHER_CTX_free(ctx);
    return good;
}

size_t web_message_seal(const struct web_reader *to, const struct p256 *once,
    const unsigned char salt[WEB_SALT], wharf_str plain, unsigned char out[WEB_RECORD])
{
    static const char key_label[] = "Content-Encoding: aes128gcm\0\1",
                      nonce_label[] = "Content-Encoding: nonce\0\1";
    unsigned char ikm[HASH], prk[HASH], key[HASH], nonce[HASH];
    bool good;

    if (plain.n > WEB_PLAIN_MAX || !web_message_shared(to, once, ikm))
        return 0;
    web_message_hmac(salt, WEB_SALT, ikm, sizeof(ikm), prk);
    web_message_hmac(prk, sizeof(prk), key_label, sizeof(key_label) - 1, key);
    web_message_hmac(prk, sizeof(prk), nonce_label, sizeof(nonce_label) - 1, nonce);
    memcpy(out, salt, WEB_SALT);
    out[WEB_SALT] = out[WEB_SALT + 1] = out[WEB_SALT + 3] = 0;
    out[WEB_SALT + 2] = WEB_RECORD >> 8;
    out[WEB_SALT + 4] = P256_PUBLIC;
    memcpy(out + WEB_SALT + 5, once->public, P256_PUBLIC);
    good = encrypt(key, nonce, plain, out + WEB_HEAD);
    OPENSSL_cleanse(ikm, sizeof(ikm));
    OPENSSL_cleanse(prk, sizeof(prk));
    OPENSSL_cleanse(key, sizeof(key));
    return good ? WEB_HEAD + plain.n + 1 + WEB_TAG : 0;
}
