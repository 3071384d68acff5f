/* cache.c - principals by key hash, for at most 5 s (docs/spec/01-platform.md section 5). See
 * auth.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "identity/auth.h"
#include "identity/keytext.h"
#include "util/id.h"
#include "util/str.h"
#include "wharf/errors.h"

enum {
    SLOTS = 4096,
    KEEP_US = 5000000, /* a principal is kept without being read again */
    USED_MAX = 4096 /* keys whose use is noted at once */
};

struct slot {
    unsigned char hash[KEY_HASH];
    struct principal *who;
    int64_t until_us;
};

struct auth_cache {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];
    unsigned generation;
    struct { /* keys used since the last auth_used_take() */
        char organization[ID_MAX], key[ID_MAX];
    } used[USED_MAX];
    size_t n_used;
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
    c->generation++;
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

/* Returns the slot of a hash. SHA-256 is evenly spread: its first bytes are the place. */
static struct slot *cache_slot_of(struct auth_cache *c, const unsigned char hash[KEY_HASH])
{
    return &c->slots[(hash[0] | (unsigned)hash[1] << 8) % SLOTS];
}

struct principal *auth_cache_get(
    struct auth_cache *c, const unsigned char hash[KEY_HASH], int64_t now_us)
{
    struct slot *s = cache_slot_of(c, hash);
    struct principal *p = NULL;

    pthread_mutex_lock(&c->lock);
    if (s->who && s->until_us > now_us && memcmp(s->hash, hash, KEY_HASH) == 0) {
        p = s->who;
        principal_ref(p);
    }
    pthread_mutex_unlock(&c->lock);
    return p;
}

unsigned auth_cache_generation(struct auth_cache *c)
{
    unsigned generation;

    pthread_mutex_lock(&c->lock);
    generation = c->generation;
    pthread_mutex_unlock(&c->lock);
    return generation;
}

void auth_cache_put(struct auth_cache *c, const unsigned char hash[KEY_HASH], struct principal *p,
    unsigned generation, int64_t now_us)
{
    struct slot *s = cache_slot_of(c, hash);

    pthread_mutex_lock(&c->lock);
    if (generation == c->generation) {
        principal_ref(p);
        principal_unref(s->who);
        memcpy(s->hash, hash, KEY_HASH);
        s->who = p;
        s->until_us = now_us + KEEP_US;
    }
    pthread_mutex_unlock(&c->lock);
}

void auth_used(struct auth_cache *c, struct principal *p)
{
    size_t i;

    if (atomic_exchange_explicit(&p->noted, true, memory_order_relaxed) || !p->key_id.n)
        return;
    pthread_mutex_lock(&c->lock);
    i = c->n_used;
    if (i < USED_MAX) { /* more keys in a second than that: their next use is noted */
        snprintf(c->used[i].organization, ID_MAX, "%s", p->access.live_organization.p);
        snprintf(c->used[i].key, ID_MAX, "%s", p->key_id.p);
        c->n_used++;
    }
    pthread_mutex_unlock(&c->lock);
}

bool auth_used_take(struct auth_cache *c, struct buf *ret_organizations, struct buf *ret_keys)
{
    bool any;

    pthread_mutex_lock(&c->lock);
    any = c->n_used > 0;
    for (size_t i = 0; i < c->n_used; i++) {
        buf_addf(ret_organizations, "%s%s", i ? "," : "{", c->used[i].organization);
        buf_addf(ret_keys, "%s%s", i ? "," : "{", c->used[i].key);
    }
    c->n_used = 0;
    pthread_mutex_unlock(&c->lock);
    if (any) {
        buf_addc(ret_organizations, '}');
        buf_addc(ret_keys, '}');
    }
    return any;
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

bool auth_key_hash(const struct auth_headers *h, const char *pepper,
    unsigned char ret_hash[KEY_HASH], const char **ret_code)
{
    wharf_str key = key_text(h);
    bool test;

    if (!key.n) {
        *ret_code = ERR_API_KEY_MISSING;
        return false;
    }
    if (!keytext_check(key, &test)) {
        *ret_code = ERR_API_KEY_INVALID;
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
