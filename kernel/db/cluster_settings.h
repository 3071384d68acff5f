/* cluster_settings.h - what the embedded PostgreSQL is told when it is made (docs/decisions
 * 275, 307). */
#ifndef WHARF_DB_CLUSTER_SETTINGS_H
#define WHARF_DB_CLUSTER_SETTINGS_H

#include "util/arena.h"

/* Returns how many MiB of memory this machine gives, or the control group that we run in; more
 * than 0. limits_file: the group's memory.max, which need not exist. */
int64_t cluster_memory_mib(const char *limits_file);
/* Returns lines for the end of postgresql.conf, for a machine of so many MiB, in a. */
wharf_str cluster_settings(int64_t memory_mib, struct arena *a);

#endif
