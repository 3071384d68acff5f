/* sha256.h - SHA-256 (FIPS 180-4) of a text. */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

void sha256(const void *data, size_t n, uint8_t out[32]);
void sha256_hex(const uint8_t hash[32], char out[65]);

#endif
