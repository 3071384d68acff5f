/* board_rows.h - how rows of the board's tables are claimed and filled; private to board*.c. */
#ifndef WHARF_PROCESS_BOARD_ROWS_H
#define WHARF_PROCESS_BOARD_ROWS_H

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "util/buf.h"

enum { ROW_FREE, ROW_BEING_WRITTEN, ROW_READY, ROW_DOUBLE };
/* of 50 microseconds: for a row whose writer may have been put aside, or may have died */
enum { WAITS = 2000 };

/* Waits while somebody is writing the row at this moment. */
static inline void board_wait_written(const _Atomic int *used)
{
    for (int n = 0; atomic_load(used) == ROW_BEING_WRITTEN && n < WAITS; n++)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

struct board;
void board_process_metrics(const struct board *b, struct buf *out);
void board_memory_metrics(struct board *b, struct buf *out);
void board_hook_metrics(const struct board *b, struct buf *out);

#endif
