/* blob_check.h - the checks files.checksums, files.damaged and files.objects of `wharf verify`.
 * See blob_check.c and scrub_check.c. */
#ifndef WHARF_BLOB_BLOB_CHECK_H
#define WHARF_BLOB_BLOB_CHECK_H

#include "wharf/plugin.h"

extern const wharf_check blob_checksums, blob_damaged, blob_objects;

#endif
