/* keytext.c - see keytext.h. Leaves to others: where hashes are stored and looked up. */
#include "identity/keytext.h"

#include <string.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <zlib.h>

#include "util/digest.h"
#include "util/id.h"
#include "util/str.h"

enum { PREFIX_LEN = 8, RANDOM_LEN = 32, CHECK_LEN = 6 };
_Static_assert(
    PREFIX_LEN + RANDOM_LEN + CHECK_LEN == KEYTEXT_LEN, "the parts of a key make the key");
_Static_assert((int)KEYTEXT_HASH == DIGEST_BYTES, "keys are stored as SHA-256");

static void check_digits(const char *key, char out[CHECK_LEN])
{
    base62_u128(crc32(0, (const Bytef *)key, PREFIX_LEN + RANDOM_LEN), out, CHECK_LEN);
}

void keytext_new(bool test, char out[KEYTEXT_LEN + 1])
{
    memcpy(out, test ? "wh_test_" : "wh_live_", PREFIX_LEN);
    random_base62(out + PREFIX_LEN, RANDOM_LEN);
    check_digits(out, out + PREFIX_LEN + RANDOM_LEN);
    out[KEYTEXT_LEN] = 0;
}

bool keytext_check(wharf_str s, bool *ret_test)
{
    char check[CHECK_LEN];
    bool test = str_starts(s, "wh_test_");

    if (s.n != KEYTEXT_LEN || (!test && !str_starts(s, "wh_live_")))
        return false;
    for (size_t i = PREFIX_LEN; i < KEYTEXT_LEN; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
                (s.p[i] >= 'a' && s.p[i] <= 'z')))
            return false;
    check_digits(s.p, check);
    if (memcmp(check, s.p + PREFIX_LEN + RANDOM_LEN, CHECK_LEN) != 0)
        return false;
    *ret_test = test;
    return true;
}

void keytext_hash(wharf_str s, const char *pepper, unsigned char out[KEYTEXT_HASH])
{
    if (pepper && *pepper)
        HMAC(EVP_sha256(), pepper, (int)strlen(pepper), (const unsigned char *)s.p, s.n, out, NULL);
    else
        digest_sha256(&s, 1, out);
}
