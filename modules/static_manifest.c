/* static_manifest.c - compiled once for each module of the static build: its manifest under a
 * name of its own. */
#include "wharf/plugin.h"

#include WHARF_STATIC_HEADER

extern const wharf_str WHARF_CAT(WHARF_STATIC_NAME, _manifest);
const wharf_str WHARF_CAT(WHARF_STATIC_NAME, _manifest) = MANIFEST;
