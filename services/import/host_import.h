/* host_import.h - the table wharf.import (plugin-api/wharf/service/import.h). */
#ifndef WHARF_IMPORT_HOST_IMPORT_H
#define WHARF_IMPORT_HOST_IMPORT_H

#include "wharf/service/import.h"

extern const struct wharf_import_api host_import;

#endif
