/* cluster_settings.c - what the embedded PostgreSQL is told when it is made: for one machine
 * that others use as well.
 *
 * Written once, at the end of postgresql.conf, so that the operator can change it there. Leaves
 * to others: where that is (cluster.c). */
#include "db/cluster_settings.h"

#include <stdio.h>
#include <unistd.h>

enum {
    MIB = 1024 * 1024,
    SHARED_LEAST_MIB = 128, /* the least shared_buffers */
    SHARED_MOST_MIB = 1024 /* the most shared_buffers */
};

/* Pages that do not fit in shared_buffers are written again and again while a batch runs, and
 * each commit of others waits behind them: an eighth of the memory keeps what a batch of 100,000
 * touches. Segments of the write-ahead log that were used before are written again, which asks
 * the file system for nothing: 1 GB of them stay. */
static const char text[] = "\n# written by wharf when the cluster was made; change what you like\n"
                           "shared_buffers = %lldMB\n"
                           "effective_cache_size = %lldMB\n"
                           "work_mem = 8MB\n"
                           "maintenance_work_mem = 128MB\n"
                           "max_connections = 400\n"
                           "min_wal_size = 1GB\n"
                           "max_wal_size = 2GB\n"
                           "checkpoint_timeout = 15min\n"
                           "random_page_cost = 1.1\n"
                           "jit = off\n"
                           "autovacuum_naptime = 10s\n"
                           "synchronous_commit = on\n"
                           "wal_level = replica\n"
                           "wal_init_zero = off\n"
                           "huge_pages = off\n"
                           "recovery_init_sync_method = syncfs\n"
                           "log_checkpoints = off\n"
                           "log_min_duration_statement = 5s\n"
                           "timezone = 'UTC'\n"
                           "log_timezone = 'UTC'\n";

/* Reads the limit in bytes; 0: no limit, which the file calls "max". */
static int64_t limit_of(const char *limits_file)
{
    FILE *f = fopen(limits_file, "re");
    long long limit = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%lld", &limit) != 1)
        limit = 0;
    fclose(f);
    return limit;
}

int64_t cluster_memory_mib(const char *limits_file)
{
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE),
            limit = limit_of(limits_file) / MIB;
    int64_t mib = pages > 0 && page > 0 ? pages * page / MIB : 1;

    return limit > 0 && limit < mib ? limit : mib > 0 ? mib : 1;
}

wharf_str cluster_settings(int64_t memory_mib, struct arena *a)
{
    int64_t shared = memory_mib / 8, cache = memory_mib / 2;

    shared = shared < SHARED_LEAST_MIB  ? SHARED_LEAST_MIB
             : shared > SHARED_MOST_MIB ? SHARED_MOST_MIB
                                        : shared;
    return arena_printf(a, text, (long long)shared, (long long)(cache < shared ? shared : cache));
}
