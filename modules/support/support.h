/* support.h - inside of the module support. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "wharf/plugin.h"
#include "wharf/service/blob.h"
#include "wharf/service/config.h"
#include "wharf/service/mail.h"
#include "wharf/service/token.h"

enum {
    ATTACHMENTS_MAX = 10, /* of one request of the API */
    ATTACHMENT_BYTES = 25 * 1024 * 1024, /* bytes of one file */
    UPLOAD_SECONDS = 15 * 60, /* an upload link lives so long, and the mail waits so long for it */
    LINK_DAYS = 30, /* links in mails */
};
#define TOKEN_KIND "attachment"

#define W support_host
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/inline.h"
extern const wharf_blob_api *support_blob;
extern const wharf_mail_api *support_mail;
extern const wharf_token_api *support_token;
extern const wharf_config_api *support_config;
extern wharf_plugin *support_self;

extern const wharf_hooks support_hooks;

/* attachments.c */
/* Makes rows and upload links of announced files. list: {name, mime_type, size}, checked;
 * message_id may be empty. */
wharf_status attachments_add(
    wharf_req *req, wharf_str request_id, wharf_str message_id, const wharf_json *list);
/* Writes all attachments of the request as shown, one value per attachment. */
wharf_status attachments_show(wharf_req *req, wharf_str request_id, wharf_out *out);
wharf_status attachments_revoke(wharf_req *req, wharf_str request_id);
wharf_status attachments_remove(wharf_req *req, wharf_str request_id);
/* Checks what the body says; problems carry the paths of it. */
wharf_status attachments_check(wharf_req *req, const wharf_json *list);
wharf_handler attachment_download; /* GET /v1/support/attachments/:token */

/* notice.c: the job that sends the one mail of a request. Arguments {"request": id} or {"file":
 * id} */
wharf_handler notice_send;

#endif
