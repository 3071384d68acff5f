/* quarantine.h - which plugins are left out, kept in the data folder so that a restart does not
 * bring them back.
 *
 * docs/reference/plugin-abi.md section 11 'Quarantine'. Written by the supervisor, read by whoever
 * loads plugins before it runs and by the job worker that tells the organizations. One line per
 * plugin: name, moment, crashes, window in seconds. Leaves to others: when a plugin gets here
 * (blame.c). */
#ifndef WHARF_PROCESS_QUARANTINE_H
#define WHARF_PROCESS_QUARANTINE_H

#include "util/arena.h"
#include "util/time.h"

enum {
    QUARANTINE_MAX = 32, /* plugins in quarantine */
    QUARANTINE_NAME = 32
};

struct quarantined {
    char name[QUARANTINE_NAME];
    char since[ISO_MS_LEN + 1];
    int64_t crashes, window_s;
};

/* Fills at most QUARANTINE_MAX entries; a missing file has none, lines that are not understood
 * are passed over. */
size_t quarantine_read(const char *data, struct quarantined *ret);
bool quarantine_write(const char *data, const struct quarantined *list, size_t n, struct arena *a,
    wharf_str *ret_error);
/* Returns the names as "one,two", in a. */
const char *quarantine_names(const struct quarantined *list, size_t n, struct arena *a);

#endif
