/* lua_region.c - memory that is forgotten whole (services/lua/sandbox/region.h): blocks keep
 * what is in them, and two never share a byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lua/sandbox/region.h"

enum { BLOCKS = 2000, TURNS = 50000 };

static struct kept {
    unsigned char *p;
    size_t n;
    unsigned char mark;
} kept[BLOCKS];

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Most are small, as Lua's are; each size is met at the borders of those that are cut from
 * chunks. */
static size_t some_size(uint64_t *seed)
{
    uint64_t kind = next_random(seed) % 20;

    if (kind == 0)
        return 1000 + next_random(seed) % 50;
    return 1 + next_random(seed) % (kind == 1 ? 20000 : kind < 5 ? 1200 : 100);
}

static void check(const struct kept *k, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(k->p[i], k->mark);
}

static void turn(struct region *g, uint64_t *seed)
{
    struct kept *k = &kept[next_random(seed) % BLOCKS];
    size_t size = next_random(seed) % 3 ? some_size(seed) : 0;

    check(k, k->n);
    if (!size) {
        assert_null(region_allocate(g, k->p, k->n, 0));
        *k = (struct kept){0};
        return;
    }
    k->p = region_allocate(g, k->p, k->n, size);
    assert_non_null(k->p);
    assert_int_equal((uintptr_t)k->p % 16, 0);
    check(k, k->n < size ? k->n : size);
    k->n = size;
    k->mark = (unsigned char)next_random(seed);
    memset(k->p, k->mark, size);
}

static void test_blocks_are_their_owners(void **state)
{
    struct region *g = region_new();
    uint64_t seed = 7;

    (void)state;
    assert_non_null(g);
    for (int life = 0; life < 3; life++) {
        for (int i = 0; i < TURNS; i++)
            turn(g, &seed);
        for (size_t i = 0; i < BLOCKS; i++)
            check(&kept[i], kept[i].n);
        memset(kept, 0, sizeof(kept));
        region_forget(g);
    }
    region_free(g);
}

static void test_the_next_life_has_the_same_memory(void **state)
{
    struct region *g = region_new();
    char *first = region_allocate(g, NULL, 0, 100), *second;

    (void)state;
    for (int i = 0; i < 100000; i++)
        assert_non_null(region_allocate(g, NULL, 0, 200)); /* more than is kept */
    region_forget(g);
    second = region_allocate(g, NULL, 0, 100);
    assert_ptr_equal(first, second);
    /* there is no such memory, and the block stays */
    assert_null(region_allocate(g, second, 100, SIZE_MAX - 8));
    memset(second, 1, 100);
    region_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_their_owners),
        cmocka_unit_test(test_the_next_life_has_the_same_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
