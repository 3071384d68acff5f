/* keys.c - where the master keys come from: a setting or a file, one key of 32 bytes in base64
 * per item or line. See secret.h. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "secret/ring.h"
#include "util/log.h"
#include "util/str.h"

enum {
    FILE_MAX = 4096, /* bytes of a file of master keys */
    KEY_TEXT = 44
};

static struct ring *ring; /* in locked memory; written before threads start, then only taken away */
static bool disabled;

const struct ring *ring_get(void)
{
    return __atomic_load_n(&disabled, __ATOMIC_RELAXED) || !ring || !ring->n ? NULL : ring;
}

void secret_disable(void)
{
    __atomic_store_n(&disabled, true, __ATOMIC_RELAXED);
}

const char *secret_key_id(size_t i)
{
    const struct ring *r = ring_get();

    return r && i < r->n ? r->keys[i].id : "";
}

const char *secret_file(const struct config *config, struct arena *a)
{
    if (config->master_key_file && *config->master_key_file)
        return config->master_key_file;
    return arena_printf(a, "%s/master.key", config->data).p;
}

size_t secret_keys_text(char ret[static SECRET_KEYS_TEXT])
{
    const struct ring *r = ring_get();
    size_t n = 0;

    ret[0] = 0;
    for (size_t i = 0; r && i < r->n; i++) {
        sodium_bin2base64(ret + n, SECRET_KEYS_TEXT - n, r->keys[i].bytes, SECRET_KEY_BYTES,
            sodium_base64_VARIANT_ORIGINAL);
        n += KEY_TEXT;
        ret[n++] = '\n';
        ret[n] = 0;
    }
    return n;
}

/* Adds a key. Returns false when it is not 32 bytes in base64, or one key too many. */
static bool add_key(const char *text, size_t n)
{
    struct master_key *k = &ring->keys[ring->n];
    unsigned char hash[crypto_generichash_BYTES_MIN];
    size_t got;

    if (ring->n == SECRET_KEYS_MAX ||
        sodium_base642bin(k->bytes, sizeof(k->bytes), text, n, NULL, &got, NULL,
            sodium_base64_VARIANT_ORIGINAL) != 0 ||
        got != sizeof(k->bytes))
        return false;
    crypto_generichash(
        hash, sizeof(hash), k->bytes, sizeof(k->bytes), (const unsigned char *)"wharf key id", 12);
    sodium_bin2hex(k->id, sizeof(k->id), hash, SECRET_KEY_ID / 2);
    ring->n++;
    return true;
}

static bool keys_add_lines(const char *text, size_t n)
{
    const char *end = text + n;

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((stop ? stop : end) - text);

        while (line && (text[line - 1] == '\r' || text[line - 1] == ' '))
            line--;
        if (line && text[0] != '#' && !add_key(text, line))
            return false;
        text = stop ? stop + 1 : end;
    }
    return true;
}

/* Reads the file. Returns the bytes read, 0 when there is no such file, -1 with an error told. */
static ssize_t keys_read_file(
    const char *file, char out[FILE_MAX], struct arena *a, wharf_str *ret_error)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    ssize_t n = -1;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) != 0)
        *ret_error = arena_printf(a, "%s can't be read: %s", file, strerror(errno));
    else if (st.st_mode & (S_IRWXG | S_IRWXO))
        *ret_error = arena_printf(a, "%s can be read by others; run chmod 600 on it", file);
    else if ((n = read(fd, out, FILE_MAX)) < 0 || n == FILE_MAX)
        *ret_error = arena_printf(a, "%s is no file of master keys", file);
    if (fd >= 0)
        close(fd);
    return n == FILE_MAX ? -1 : n;
}

static bool make_ring(struct arena *a, wharf_str *ret_error)
{
    if (sodium_init() < 0 || (!ring && !(ring = sodium_malloc(sizeof(*ring))))) {
        *ret_error = arena_dupz(a, "there is no memory for the master keys");
        return false;
    }
    sodium_memzero(ring, sizeof(*ring));
    return true;
}

bool secret_load(const struct config *config, struct arena *a, wharf_str *ret_error)
{
    const char *file = secret_file(config, a);
    char text[FILE_MAX];
    ssize_t n = 0;
    bool good = make_ring(a, ret_error);

    if (!good)
        return false;
    for (size_t i = 0; i < config->master_key.count; i++) {
        if (!add_key(config->master_key.items[i], strlen(config->master_key.items[i]))) {
            *ret_error = arena_dupz(a,
                "master_key takes keys of 32 bytes in base64, at most 16, the current one "
                "first; wharf secret key makes one");
            return false;
        }
    }
    if (config->master_key.count)
        return true;
    n = keys_read_file(file, text, a, ret_error);
    good = n >= 0 && keys_add_lines(text, (size_t)n);
    if (n >= 0 && !good)
        *ret_error = arena_printf(a,
            "%s: each line is a key of 32 bytes in base64, at most 16, the current one first; "
            "wharf secret key makes one",
            file);
    sodium_memzero(text, sizeof(text));
    return good;
}

/* Writes a new key in front of what the file has, put in its place as a whole. */
static bool keys_write_file(
    const char *file, const char *rest, size_t n, struct arena *a, wharf_str *ret_error)
{
    const char *fresh = arena_printf(a, "%s.%d", file, (int)getpid()).p;
    unsigned char key[SECRET_KEY_BYTES];
    char line[KEY_TEXT + 2];
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0;

    randombytes_buf(key, sizeof(key));
    sodium_bin2base64(line, sizeof(line) - 1, key, sizeof(key), sodium_base64_VARIANT_ORIGINAL);
    line[KEY_TEXT] = '\n';
    good = good && write(fd, line, KEY_TEXT + 1) == KEY_TEXT + 1 &&
           write(fd, rest, n) == (ssize_t)n && fsync(fd) == 0;
    if (good && n)
        good = rename(fresh, file) == 0;
    else if (good && link(fresh, file) != 0)
        good = errno == EEXIST; /* another process made one at the same moment: that one stays */
    if (!good)
        *ret_error = arena_printf(a, "%s can't be written: %s", file, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(fresh);
    }
    sodium_memzero(key, sizeof(key));
    sodium_memzero(line, sizeof(line));
    return good;
}

bool secret_ensure_file(const struct config *config, struct arena *a, wharf_str *ret_error)
{
    const char *file = secret_file(config, a);

    if (config->master_key.count || access(file, F_OK) == 0)
        return true;
    if (sodium_init() < 0)
        return false;
    log_info(
        "secrets.key", "%s is made; keep a copy of it: without it stored secrets are lost", file);
    return keys_write_file(file, "", 0, a, ret_error);
}

bool secret_rotate_file(const struct config *config, struct arena *a, wharf_str *ret_error)
{
    const char *file = secret_file(config, a);
    char text[FILE_MAX];
    ssize_t n;
    bool good;

    if (config->master_key.count) {
        *ret_error = arena_dupz(a,
            "the master keys are in the setting master_key: put a new one (wharf secret key) in "
            "front of the others there");
        return false;
    }
    n = keys_read_file(file, text, a, ret_error);
    good = n >= 0 && sodium_init() >= 0 && keys_write_file(file, text, (size_t)n, a, ret_error);
    sodium_memzero(text, sizeof(text));
    return good;
}
