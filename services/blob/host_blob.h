/* host_blob.h - the table wharf.blob (plugin-api/wharf/service/blob.h). */
#ifndef WHARF_BLOB_HOST_BLOB_H
#define WHARF_BLOB_HOST_BLOB_H

#include "wharf/service/blob.h"

extern const struct wharf_blob_api host_blob;

#endif
