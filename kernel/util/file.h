/* file.h - small files that are read and replaced whole. */
#ifndef WHARF_UTIL_FILE_H
#define WHARF_UTIL_FILE_H

#include "util/arena.h"

/* Writes a file whole or not at all: beside it, to disk, then renamed. Of several processes the
 * last one wins. */
bool file_replace(
    const char *file, wharf_str text, unsigned mode, struct arena *a, wharf_str *ret_error);
/* Reads a file's bytes into a, at most `limit`. p is NULL when there is no such file or it is
 * larger. */
wharf_str file_read(const char *file, size_t limit, struct arena *a);
/* Removes a folder and what is in it; nothing when it is not there. */
void file_remove_tree(const char *dir);

#endif
