/* secret.h - secrets at rest: texts of columns with "store": "secret"
 * (docs/reference/definitions.md), sealed before they reach the database.
 *
 * XChaCha20-Poly1305 with a random nonce per value; what the value belongs to (table, column,
 * row id) is authenticated, so that a sealed text copied to another row does not open. Its form
 * is "s1.<key id>.<base64url of nonce and sealed bytes>": the key id tells which of the master
 * keys opens it, so that keys are rotated while the server runs (docs/guide/secrets.md).
 * Master keys are 32 bytes, from the setting master_key (WHARF_MASTER_KEY) or the file
 * master_key_file; the first one seals, all open. Leaves to others: which columns (schema/),
 * when (resource/), sealing again after a rotation (cli/). */
#ifndef WHARF_SECRET_SECRET_H
#define WHARF_SECRET_SECRET_H

#include "config/config.h"

enum {
    SECRET_KEY_BYTES = 32,
    SECRET_KEY_ID = 8,
    SECRET_KEYS_MAX = 16 /* master keys */
};

/* The place that a sealed text belongs to: it opens nowhere else. */
struct secret_place {
    const char *table, *column; /* "wharf.device", "device_token" */
    wharf_str id;
};

/* Reads the master keys into locked memory, once per process, before threads. No key at all is
 * no problem: then nothing can be sealed or opened. False: the setting or the file is not as it
 * must be; *ret_error (in a) says what to do. */
bool secret_load(const struct config *config, struct arena *a, wharf_str *ret_error);
/* Makes master_key_file with a new key when neither the setting nor the file is there. False as
 * above. */
bool secret_ensure_file(const struct config *config, struct arena *a, wharf_str *ret_error);
/* Makes a new key as text the first line of the file: the others stay. Returns false as above. */
bool secret_rotate_file(const struct config *config, struct arena *a, wharf_str *ret_error);
/* Writes the keys as lines of a file of master keys. Returns the length, 0 when there is no key;
 * the caller wipes it. */
enum { SECRET_KEYS_TEXT = 16 * 45 + 1 };
size_t secret_keys_text(char ret[static SECRET_KEYS_TEXT]);
/* Returns the file of master keys that the settings name. */
const char *secret_file(const struct config *config, struct arena *a);
/* Returns the id of the i-th key, the one that seals first; "" behind the last. */
const char *secret_key_id(size_t i);
/* Disables the keys: from now on nothing is sealed or opened, because this machine's keys are not
 * those of the database. */
void secret_disable(void);

/* Seals a text; the sealed text is in a. Returns false when there is no key. [any] */
bool secret_seal(struct arena *a, const struct secret_place *at, wharf_str plain, wharf_str *ret);
/* Opens a sealed text. Returns false when there is no such key, the place is another, or it is not
 * a sealed text. [any] */
bool secret_open(struct arena *a, const struct secret_place *at, wharf_str sealed, wharf_str *ret);

#endif
