/* probe.h - the cell that misbehaves on purpose, for tests/cell. Never installed. */
#ifndef WHARF_CELLS_PROBE_H
#define WHARF_CELLS_PROBE_H

#include "child.h"

/* Writes the names of the system calls that must end the process to `out`, one per line. Returns
 * how many bytes that are. */
size_t probe_calls_list(char *out, size_t size);
/* Makes the call; when the process lives on, the result says what came of it. False: there is
 * none of this name. parent: our parent's pid, which can't be asked for any more. */
bool probe_calls_run(const char *name, long parent);
/* Tells the result of a try: "refused: ..." when value is -1, else "allowed: ...". */
void probe_tell(const char *what, long value);

#endif
