/* wharf/hash.h - FNV-1a: spreads texts over tables, lanes and moments. For modules and for the
 * server; header only, [any], nothing of it is ABI.
 *
 * Not for what an attacker chooses to make meet, and not for checksums: wharf/service/text.h and
 * crypto.h have SHA-256. */
#ifndef WHARF_HASH_H
#define WHARF_HASH_H

#include <stddef.h>
#include <stdint.h>

#define WHARF_HASH32_START 2166136261u
#define WHARF_HASH64_START 14695981039346656037u

/* Returns h with n more bytes; begin with WHARF_HASH32_START. */
static inline uint32_t wharf_hash32(uint32_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 16777619u;
    return h;
}

/* The same with 64 bits; begin with WHARF_HASH64_START. */
static inline uint64_t wharf_hash64(uint64_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 1099511628211u;
    return h;
}

#endif
