/* id.c - identifiers and random text, see id.h. Leaves to others: which prefix belongs to which
 * resource. */
#include "util/id.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>

#include "util/str.h"

enum { POOL = 1024, RANDOM_BYTES = 10, STEP_BYTES = 6 };

static const char ALPHABET[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Random bytes are fetched from the kernel in blocks, per thread. A child after fork must not
 * repeat its parent's: it sees another generation and throws its copy away. */
static _Thread_local struct {
    unsigned char bytes[POOL];
    size_t left;
    unsigned generation;
} pool;
static _Atomic unsigned generation = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forked(void)
{
    atomic_fetch_add(&generation, 1);
}

static void id_prepare(void)
{
    if (sodium_init() < 0)
        sodium_misuse();
    pthread_atfork(NULL, NULL, forked);
}

void random_bytes(void *out, size_t n)
{
    unsigned char *to = out;

    pthread_once(&once, id_prepare);
    if (n > POOL / 4) {
        randombytes_buf(out, n);
        return;
    }
    if (pool.generation != atomic_load_explicit(&generation, memory_order_relaxed) ||
        pool.left < n) {
        pool.generation = atomic_load_explicit(&generation, memory_order_relaxed);
        randombytes_buf(pool.bytes, POOL);
        pool.left = POOL;
    }
    pool.left -= n;
    memcpy(to, pool.bytes + pool.left, n);
    /* Keys are made of these: no copy stays behind. */
    explicit_bzero(pool.bytes + pool.left, n);
}

void random_base62(char *out, size_t n)
{
    unsigned char block[64];
    size_t done = 0;

    while (done < n) {
        size_t want = n - done < sizeof(block) ? n - done : sizeof(block);

        random_bytes(block, want);
        for (size_t i = 0; i < want; i++)
            if (block[i] < 248) /* 4 * 62: the rest would favour the first letters */
                out[done++] = ALPHABET[block[i] % 62];
    }
    out[n] = 0;
    explicit_bzero(block, sizeof(block));
}

void uuid_v4(char out[37])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char b[16];
    char *to = out;

    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0F) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3F) | 0x80);
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = hex[b[i] >> 4];
        *to++ = hex[b[i] & 15];
    }
    *to = 0;
}

void base62_u128(unsigned __int128 value, char *out, size_t width)
{
    const uint64_t chunk = 839299365868340224u; /* 62^10 */

    while (width) {
        uint64_t part = (uint64_t)(value % chunk);

        value /= chunk;
        for (int i = 0; i < 10 && width; i++) {
            out[--width] = ALPHABET[part % 62];
            part /= 62;
        }
    }
}

/* Makes the last 80 bits of an id: random, and of those that a thread makes one after the other of
 * one millisecond each stands some random way behind the one before. */
static unsigned __int128 tail_of(uint64_t ms)
{
    static _Thread_local struct {
        uint64_t ms;
        unsigned __int128 tail;
        unsigned generation;
    } last;
    unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    bool begun = last.generation == now && last.ms == ms;
    unsigned char random[RANDOM_BYTES];
    unsigned __int128 value = 0;

    random_bytes(random, sizeof(random));
    for (int i = begun ? RANDOM_BYTES - STEP_BYTES : 0; i < RANDOM_BYTES; i++)
        value = value << 8 | random[i];
    if (begun)
        value += last.tail + 1;
    last.ms = ms;
    last.generation = now;
    last.tail = value & (((unsigned __int128)1 << (8 * RANDOM_BYTES)) - 1);
    return last.tail;
}

size_t id_new(const char *prefix, int64_t now_us, char out[ID_MAX])
{
    size_t n = strnlen(prefix, ID_MAX - ID_BODY - 2);
    uint64_t ms = (uint64_t)(now_us / 1000) & 0xFFFFFFFFFFFFu;

    memcpy(out, prefix, n);
    out[n] = '_';
    base62_u128((unsigned __int128)ms << (8 * RANDOM_BYTES) | tail_of(ms), out + n + 1, ID_BODY);
    out[n + 1 + ID_BODY] = 0;
    return n + 1 + ID_BODY;
}

/* Returns the digit's value, or -1. */
static int base62_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 36;
    return -1;
}

bool id_shape(wharf_str s, const char *prefix)
{
    size_t n = strlen(prefix);

    if (s.n != n + 1 + ID_BODY || memcmp(s.p, prefix, n) != 0 || s.p[n] != '_')
        return false;
    for (size_t i = n + 1; i < s.n; i++)
        if (base62_digit(s.p[i]) < 0)
            return false;
    return true;
}

int64_t id_time_ms(wharf_str s)
{
    unsigned __int128 value = 0;
    const char *body;

    if (s.n < ID_BODY + 2 || s.p[s.n - ID_BODY - 1] != '_')
        return -1;
    body = s.p + s.n - ID_BODY;
    for (int i = 0; i < ID_BODY; i++) {
        int digit = base62_digit(body[i]);

        if (digit < 0 || value > (~(unsigned __int128)0 - (unsigned)digit) / 62)
            return -1;
        value = value * 62 + (unsigned)digit;
    }
    return (int64_t)(value >> 80);
}
