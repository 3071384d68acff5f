/* host_batch.h - the table wharf.batch (plugin-api/wharf/service/batch.h). */
#ifndef WHARF_BATCH_HOST_BATCH_H
#define WHARF_BATCH_HOST_BATCH_H

#include "wharf/service/batch.h"

extern const struct wharf_batch_api host_batch;

#endif
