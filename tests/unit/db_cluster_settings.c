/* db_cluster_settings.c - cluster_settings.h: how much of a machine's memory the embedded
 * PostgreSQL takes. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "db/cluster_settings.h"

static void has(struct arena *a, int64_t memory_mib, const char *line)
{
    wharf_str text = cluster_settings(memory_mib, a);

    if (!memmem(text.p, text.n, line, strlen(line)))
        fail_msg("%lld MiB: no \"%s\" in:\n%.*s", (long long)memory_mib, line, (int)text.n, text.p);
}

static void test_share(void **state)
{
    has(*state, 512, "\nshared_buffers = 128MB\n");
    has(*state, 512, "\neffective_cache_size = 256MB\n");
    has(*state, 4096, "\nshared_buffers = 512MB\n");
    has(*state, 4096, "\neffective_cache_size = 2048MB\n");
    has(*state, 64 * 1024, "\nshared_buffers = 1024MB\n");
    has(*state, 1, "\neffective_cache_size = 128MB\n");
}

static int64_t limited(const char *text)
{
    char file[] = "/tmp/wharf-memory-XXXXXX";
    int fd = mkstemp(file);
    int64_t mib;

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    mib = cluster_memory_mib(file);
    unlink(file);
    return mib;
}

static void test_memory(void **state)
{
    int64_t all = cluster_memory_mib("/nowhere/memory.max");

    (void)state;
    assert_true(all > 0);
    assert_int_equal(limited("max\n"), all);
    assert_int_equal(limited("67108864\n"), 64);
    assert_int_equal(limited("9223372036854771712\n"), all);
    assert_int_equal(limited(""), all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_share), cmocka_unit_test(test_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
