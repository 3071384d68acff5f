/* seed.c - the memory of a sandbox: a hard limit, and a seed of strings' hashes that is ours.
 *
 * Lua makes the seed of its string hashes from addresses and the time, and the order of pairs()
 * follows from it. A run must be repeatable, so the seed is set by us. The library offers no way
 * to, but calls the allocator for the second time when its global state is filled in and no
 * string was made yet. Everything that is known of the state at that moment is compared with its
 * layout
 * (unchanged through all of Lua 5.4); only when all of it is as expected the four bytes are
 * written. */
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "lua/sandbox/region.h"

_Static_assert(LUA_VERSION_NUM == 504, "the layout below is that of Lua 5.4");

struct state_head { /* the begin of struct global_State of Lua's own sources */
    lua_Alloc allocate;
    void *ud;
    ptrdiff_t total, debt;
    size_t estimate, last_atomic;
    void *strings;
    int strings_used, strings_size;
    struct {
        int64_t value;
        unsigned char type;
    } registry, nil;
    unsigned seed;
};

static void set_seed(struct sandbox *sb, char *block, size_t size, unsigned seed)
{
    for (size_t at = 0; at + sizeof(struct state_head) <= size; at += sizeof(void *)) {
        struct state_head head;

        memcpy(&head, block + at, sizeof(head));
        if (head.allocate != sandbox_allocate || head.ud != sb)
            continue;
        if (head.total != (ptrdiff_t)size || head.debt || head.last_atomic || head.strings ||
            head.strings_used || head.strings_size)
            return;
        memcpy(block + at + offsetof(struct state_head, seed), &seed, sizeof(seed));
        sb->seeded = true;
        return;
    }
}

static void *resized(struct sandbox *sb, void *p, size_t old_size, size_t size)
{
    if (sb->region)
        return region_allocate(sb->region, p, old_size, size);
    if (size)
        return realloc(p, size);
    free(p);
    return NULL;
}

void *sandbox_allocate(void *ud, void *p, size_t old_size, size_t size)
{
    struct sandbox *sb = ud;
    void *to;

    if (!p)
        old_size = 0; /* then it is the kind of what is made */
    if (!size) {
        resized(sb, p, old_size, 0);
        sb->used -= old_size;
        return NULL;
    }
    if (sb->memory_max && size > old_size && size - old_size > sb->memory_max - sb->used) {
        /* an error of memory is raised without a handler: where it happens must be noted here */
        if (sb->lua && !sb->dead)
            errors_frames(sb->lua, &sb->refused);
        return NULL;
    }
    if (sb->allocations == 1 && sb->first)
        set_seed(sb, sb->first, sb->used, (unsigned)(sb->seed ^ sb->seed >> 32));
    to = resized(sb, p, old_size, size);
    if (!to)
        return NULL;
    sb->used += size - old_size;
    if (sb->used > sb->peak)
        sb->peak = sb->used;
    if (sb->allocations < 2 && !p) {
        sb->first = sb->allocations == 0 ? to : NULL;
        sb->allocations++;
    }
    return to;
}
