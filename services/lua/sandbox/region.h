/* region.h - memory of states that come one after the other in one thread: each is forgotten
 * whole, without a walk over what it made. A cell makes and throws away a state for each run;
 * freeing its thousand small blocks one by one takes as long as the run. Limits of memory are
 * not its business (seed.c counts). */
#ifndef WHARF_LUA_SANDBOX_REGION_H
#define WHARF_LUA_SANDBOX_REGION_H

#include <stddef.h>

struct region;

struct region *region_new(void); /* NULL: no memory */
void region_free(struct region *g); /* with all blocks. NULL is accepted */
/* Allocates as lua_Alloc does, with old_size 0 for a new block. Returns NULL when there is no
 * memory, and p is as it was. */
void *region_allocate(struct region *g, void *p, size_t old_size, size_t size);
/* Forgets all blocks of the region. A part of the memory is kept for those to come. */
void region_forget(struct region *g);

#endif
