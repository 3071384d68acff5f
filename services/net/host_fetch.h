/* host_fetch.h - the table wharf.fetch (plugin-api/wharf/service/fetch.h). */
#ifndef WHARF_NET_HOST_FETCH_H
#define WHARF_NET_HOST_FETCH_H

#include "wharf/service/fetch.h"

extern const struct wharf_fetch_api host_fetch;

#endif
