/* cache.c - principals by key hash, for at most 5 s (docs/spec/01-platform.md section 5). See auth.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/auth.h"
#include "auth/keytext.h"
#include "util/str.h"

enum { SLOTS = 4096, KEEP_US = 5000000 };

struct slot {
    unsigned char hash[KEY_HASH];
    struct principal *who;
    int64_t until_us;
};

struct auth_cache {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];
};

struct auth_cache *auth_cache_new(void)
{
    struct auth_cache *c = calloc(1, sizeof(*c));

    if (!c) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

void auth_cache_clear(struct auth_cache *c)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < SLOTS; i++) {
        principal_unref(c->slots[i].who);
        c->slots[i].who = NULL;
    }
    pthread_mutex_unlock(&c->lock);
}

void auth_cache_free(struct auth_cache *c)
{
    if (!c)
        return;
    auth_cache_clear(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* SHA-256 is evenly spread: its first bytes are the place. */
static struct slot *slot_of(struct auth_cache *c, const unsigned char hash[KEY_HASH])
{
    return &c->slots[(hash[0] | (unsigned)hash[1] << 8) % SLOTS];
}

struct principal *auth_cache_get(struct auth_cache *c, const unsigned char hash[KEY_HASH], int64_t now_us)
{
    struct slot *s = slot_of(c, hash);
    struct principal *p = NULL;

    pthread_mutex_lock(&c->lock);
    if (s->who && s->until_us > now_us && memcmp(s->hash, hash, KEY_HASH) == 0) {
        p = s->who;
        principal_ref(p);
    }
    pthread_mutex_unlock(&c->lock);
    return p;
}

void auth_cache_put(struct auth_cache *c, const unsigned char hash[KEY_HASH], struct principal *p, int64_t now_us)
{
    struct slot *s = slot_of(c, hash);

    principal_ref(p);
    pthread_mutex_lock(&c->lock);
    principal_unref(s->who);
    memcpy(s->hash, hash, KEY_HASH);
    s->who = p;
    s->until_us = now_us + KEEP_US;
    pthread_mutex_unlock(&c->lock);
}

static wharf_str key_text(const struct auth_headers *h)
{
    if (h->svc_api_key)
        return str_z(h->svc_api_key);
    if (h->x_api_key)
        return str_z(h->x_api_key);
    if (h->authorization && !strncasecmp(h->authorization, "Bearer ", 7))
        return str_z(h->authorization + 7);
    return str_z("");
}

bool auth_key_hash(
    const struct auth_headers *h, const char *pepper, unsigned char ret_hash[KEY_HASH], const char **ret_code)
{
    wharf_str key = key_text(h);
    bool test;

    if (!key.n) {
        *ret_code = "api_key.missing";
        return false;
    }
    if (!keytext_check(key, &test)) {
        *ret_code = "api_key.invalid";
        return false;
    }
    keytext_hash(key, pepper, ret_hash);
    return true;
}

int area_find(const struct areas *a, wharf_str name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (str_eqz(name, a->names[i]))
            return (int)i;
    }
    return -1;
}

int area_number(struct areas *a, const char *name)
{
    int at = area_find(a, str_z(name));

    if (at >= 0 || a->count == AREAS_MAX)
        return at;
    a->names[a->count] = name;
    return (int)a->count++;
}
