/* host_push.h - the table wharf.push (plugin-api/wharf/service/push.h). */
#ifndef WHARF_PUSH_HOST_PUSH_H
#define WHARF_PUSH_HOST_PUSH_H

#include "wharf/service/push.h"

extern const struct wharf_push_api host_push;

#endif
