/* cores.c - see cores.h. */
#include "util/cores.h"

#include <sched.h>

unsigned cores_allowed(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0
               ? (unsigned)CPU_COUNT(&set)
               : 1;
}
