/* memory.c - see memory.h. Leaves to others: what an owner counts, and when. */
#include "util/memory.h"

#include <malloc.h>

const char *const memory_owners[MEMORY_OWNERS] = {
    [MEMORY_REQUESTS] = "requests",
    [MEMORY_REQUESTS_KEPT] = "requests_kept",
    [MEMORY_BODIES] = "bodies",
    [MEMORY_BUFFERS] = "buffers",
    [MEMORY_RESULTS] = "results",
    [MEMORY_DATABASE] = "database",
    [MEMORY_DEFINITIONS] = "definitions",
    [MEMORY_API_DESCRIPTION] = "api_description",
    [MEMORY_KEYS] = "keys",
    [MEMORY_CLIENTS] = "clients",
    [MEMORY_REQUEST_LOG] = "request_log",
    [MEMORY_LUA] = "lua",
};

static _Atomic int64_t own[MEMORY_OWNERS];

_Atomic int64_t *memory_held = own;

void memory_share(_Atomic int64_t *held)
{
    for (size_t i = 0; i < MEMORY_OWNERS; i++)
        atomic_store(&held[i], atomic_load(&memory_held[i]));
    memory_held = held;
}

void memory_heap(int64_t *ret_used, int64_t *ret_free)
{
    struct mallinfo2 m = mallinfo2();

    *ret_used = (int64_t)(m.uordblks + m.hblkhd);
    *ret_free = (int64_t)m.fordblks;
}
