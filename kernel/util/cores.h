/* cores.h - how many cores this process may use: a container or taskset may give it fewer than the
 * machine has. */
#ifndef WHARF_UTIL_CORES_H
#define WHARF_UTIL_CORES_H

unsigned cores_allowed(void);

#endif
