/* backup_seal.c - see backup_seal.h. */
#include "tool/backup/backup_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/str.h"

enum { LINE_MAX_BYTES = 4096, MEMORY_MOST = 1 << 30, OPERATIONS_MOST = 16 };
enum { KEY_CONTENT = 1, KEY_NAMES = 2, KEY_SHOWN = 3 };
static const char context[crypto_kdf_CONTEXTBYTES + 1] = "wharfbak";

bool seal_passphrase(const char *file, struct arena *a, wharf_str *ret, wharf_str *ret_error)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    char line[LINE_MAX_BYTES] = "";
    struct stat st;
    ssize_t n = -1;

    *ret_error = (wharf_str){"", 0};
    if (fd < 0 || fstat(fd, &st) != 0)
        *ret_error = arena_printf(a, "%s can't be read: %s", file, strerror(errno));
    else if (S_ISREG(st.st_mode) && (st.st_mode & (S_IRWXG | S_IRWXO)))
        *ret_error = arena_printf(a, "%s can be read by others; run chmod 600 on it", file);
    else if ((n = read(fd, line, sizeof(line) - 1)) < 0)
        *ret_error = arena_printf(a, "%s can't be read: %s", file, strerror(errno));
    if (fd >= 0)
        close(fd);
    line[strcspn(line, "\r\n")] = 0;
    if (n >= 0 && strlen(line) < SEAL_PASSPHRASE)
        *ret_error = arena_printf(a,
            "the first line of %s is the passphrase: at least %d characters", file,
            SEAL_PASSPHRASE);
    if (!ret_error->n)
        *ret = arena_dupz(a, line);
    sodium_memzero(line, sizeof(line));
    return !ret_error->n;
}

/* Derives the keys. False: there is not enough memory. */
static bool derive(wharf_str passphrase, const struct seal_terms *terms, struct backup_seal *ret,
    unsigned char shown[SEAL_KEY])
{
    unsigned char key[crypto_kdf_KEYBYTES];
    bool good = crypto_pwhash(key, sizeof(key), passphrase.p, passphrase.n, terms->salt,
                    terms->operations, (size_t)terms->memory, crypto_pwhash_ALG_ARGON2ID13) == 0;

    if (good) {
        crypto_kdf_derive_from_key(ret->content, SEAL_KEY, KEY_CONTENT, context, key);
        crypto_kdf_derive_from_key(ret->names, SEAL_KEY, KEY_NAMES, context, key);
        crypto_kdf_derive_from_key(shown, SEAL_KEY, KEY_SHOWN, context, key);
    }
    sodium_memzero(key, sizeof(key));
    return good;
}

bool seal_make(wharf_str passphrase, struct seal_terms *ret_terms, struct backup_seal *ret)
{
    randombytes_buf(ret_terms->salt, sizeof(ret_terms->salt));
    ret_terms->operations = crypto_pwhash_OPSLIMIT_MODERATE;
    ret_terms->memory = crypto_pwhash_MEMLIMIT_MODERATE;
    return derive(passphrase, ret_terms, ret, ret_terms->shown);
}

bool seal_open(wharf_str passphrase, const struct seal_terms *terms, struct backup_seal *ret,
    const char **ret_why)
{
    unsigned char shown[SEAL_KEY];

    *ret_why = NULL;
    if (terms->operations < crypto_pwhash_OPSLIMIT_MIN || terms->operations > OPERATIONS_MOST ||
        terms->memory < crypto_pwhash_MEMLIMIT_MIN || terms->memory > MEMORY_MOST)
        *ret_why = "its manifest says of the passphrase what no backup says";
    else if (!derive(passphrase, terms, ret, shown))
        *ret_why = "there is not enough memory to try the passphrase";
    else if (sodium_memcmp(shown, terms->shown, SEAL_KEY) != 0)
        *ret_why = "it was encrypted with another passphrase";
    return !*ret_why;
}

void seal_name(const struct backup_seal *seal, const char *hash, char ret[SEAL_NAME + 1])
{
    unsigned char raw[SEAL_NAME / 2];

    crypto_generichash(
        raw, sizeof(raw), (const unsigned char *)hash, strlen(hash), seal->names, SEAL_KEY);
    sodium_bin2hex(ret, SEAL_NAME + 1, raw, sizeof(raw));
}
