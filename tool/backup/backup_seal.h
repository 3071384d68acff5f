/* backup_seal.h - the keys of an encrypted backup, made from a passphrase.
 *
 * Argon2id makes one key from the passphrase and a salt; three are derived from it: one for the
 * bytes of files, one for the names of objects (whose hashes would tell who knows a document that
 * it is there), and one that is shown, so that another passphrase is told as such. */
#ifndef WHARF_TOOL_BACKUP_SEAL_H
#define WHARF_TOOL_BACKUP_SEAL_H

#include <sodium.h>
#include <stdint.h>

#include "util/arena.h"

enum { SEAL_SALT = crypto_pwhash_SALTBYTES, SEAL_KEY = 32, SEAL_NAME = 64, SEAL_PASSPHRASE = 12 };

/* Terms of the passphrase, which the manifest shows. */
struct seal_terms {
    unsigned char salt[SEAL_SALT], shown[SEAL_KEY];
    uint64_t operations, memory; /* of Argon2id */
};

struct backup_seal {
    unsigned char content[SEAL_KEY], names[SEAL_KEY];
};

/* Reads the first line of a file that only its owner may read. False and what to do. */
bool seal_passphrase(const char *file, struct arena *a, wharf_str *ret, wharf_str *ret_error);
/* Makes new terms and the keys that belong to them. False: there is not enough memory. */
bool seal_make(wharf_str passphrase, struct seal_terms *ret_terms, struct backup_seal *ret);
/* Makes the keys by terms of a manifest. False and why: it is another passphrase, the terms are
 * none, or there is not enough memory for them. */
bool seal_open(wharf_str passphrase, const struct seal_terms *terms, struct backup_seal *ret,
    const char **ret_why);
/* Writes the name that an object has in the backup: hex digits, as its hash. */
void seal_name(const struct backup_seal *seal, const char *hash, char ret[SEAL_NAME + 1]);

#endif
