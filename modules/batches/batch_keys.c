/* batch_keys.c - keys of items that must differ inside a batch: a hash table that outlives the
 * scopes of the request's memory (spec 10 section 6). */
#include <stdlib.h>

#include "batches.h"

enum { FIRST_SLOTS = 1024, ROOM = 64 * 1024, KEY_MAX = 4096 };

struct slot {
    const char *text; /* kind, then the key; NULL: free */
    uint32_t n, hash, index;
};

struct room {
    struct room *next;
    size_t used;
    char bytes[ROOM];
};

struct keys {
    struct slot *slots;
    size_t cap, n;
    struct room *rooms;
};

struct keys *keys_new(void)
{
    struct keys *k = calloc(1, sizeof(*k));

    if (k)
        k->slots = calloc(FIRST_SLOTS, sizeof(*k->slots));
    if (k && !k->slots) {
        free(k);
        return NULL;
    }
    if (k)
        k->cap = FIRST_SLOTS;
    return k;
}

void keys_free(struct keys *k)
{
    while (k && k->rooms) {
        struct room *next = k->rooms->next;

        free(k->rooms);
        k->rooms = next;
    }
    if (k)
        free(k->slots);
    free(k);
}

static struct slot *batch_keys_find(const struct keys *k, const char *text, size_t n, uint32_t hash)
{
    size_t i = hash & (k->cap - 1);

    while (k->slots[i].text &&
           !(k->slots[i].hash == hash && k->slots[i].n == n && !memcmp(k->slots[i].text, text, n)))
        i = (i + 1) & (k->cap - 1);
    return &k->slots[i];
}

static bool batch_keys_grow(struct keys *k)
{
    struct keys wider = {.cap = 2 * k->cap, .slots = calloc(2 * k->cap, sizeof(*wider.slots))};

    if (!wider.slots)
        return false;
    for (size_t i = 0; i < k->cap; i++) {
        const struct slot *s = &k->slots[i];

        if (s->text)
            *batch_keys_find(&wider, s->text, s->n, s->hash) = *s;
    }
    free(k->slots);
    k->slots = wider.slots;
    k->cap = wider.cap;
    return true;
}

static char *batch_keys_keep(struct keys *k, const char *text, size_t n)
{
    if (!k->rooms || k->rooms->used + n > ROOM) {
        struct room *more = malloc(sizeof(*more));

        if (!more)
            return NULL;
        *more = (struct room){.next = k->rooms};
        k->rooms = more;
    }
    k->rooms->used += n;
    return memcpy(k->rooms->bytes + k->rooms->used - n, text, n);
}

int64_t keys_meet(struct keys *k, int kind, wharf_str key, uint32_t index)
{
    char text[KEY_MAX];
    size_t n = key.n < KEY_MAX - 1 ? key.n : KEY_MAX - 1; /* no field that is a key is longer */
    struct slot *s;
    uint32_t hash;

    if (k->n * 2 >= k->cap && !batch_keys_grow(k))
        return -2;
    text[0] = (char)('0' + kind);
    memcpy(text + 1, key.p, n);
    n++;
    /* keyed: who sends the keys can not make them meet */
    hash = (uint32_t)batches_text->hash((wharf_str){text, n});
    s = batch_keys_find(k, text, n, hash);
    if (s->text)
        return s->index;
    *s = (struct slot){batch_keys_keep(k, text, n), (uint32_t)n, hash, index};
    k->n++;
    return s->text ? -1 : -2;
}
