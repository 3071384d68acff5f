/* host_preview.h - the table wharf.preview (plugin-api/wharf/service/preview.h). */
#ifndef WHARF_RENDER_HOST_PREVIEW_H
#define WHARF_RENDER_HOST_PREVIEW_H

#include "wharf/service/preview.h"

extern const struct wharf_preview_api host_preview;

#endif
