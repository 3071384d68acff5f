/* ring.h - the master keys of this process. Private to kernel/secret. */
#ifndef WHARF_SECRET_RING_H
#define WHARF_SECRET_RING_H

#include "secret/secret.h"

struct master_key {
    unsigned char bytes[SECRET_KEY_BYTES];
    char id[SECRET_KEY_ID + 1]; /* hex of the first bytes of its hash */
};

struct ring {
    struct master_key keys[SECRET_KEYS_MAX];
    size_t n;
};

/* Returns the keys, or NULL when no key was loaded, or they were disabled. */
const struct ring *ring_get(void);

#endif
