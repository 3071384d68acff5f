/* parts.h - the services of the server, as parts (resource/part.h): what only some plugins or
 * operators need. One line each. */
#ifndef WHARF_PARTS_H
#define WHARF_PARTS_H

#include "resource/part.h"

extern const struct part net_part; /* net/: outgoing HTTP, wharf.fetch */
extern const struct part push_part; /* push/: messages to phones and browsers, wharf.push */
extern const struct part blob_part; /* blob/: big bytes, signed links, wharf.blob */
extern const struct part mail_part; /* mail/: wharf.mail */
extern const struct part import_part; /* import/: rows of files, wharf.import */
extern const struct part render_part; /* render/: wharf.render, wharf.preview, wharf.draw */
extern const struct part image_part; /* image/: wharf.image */
extern const struct part batch_part; /* batch/: wharf.batch */
extern const struct part operator_part; /* lua/operator/: hooks of the operator */
extern const struct part lua_part; /* lua/: workflows of organizations, wharf.lua */
extern const struct part docs_part; /* docs/: the pages of /docs */

#endif
