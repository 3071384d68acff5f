/* host_mail.h - the table wharf.mail (plugin-api/wharf/service/mail.h). */
#ifndef WHARF_MAIL_HOST_MAIL_H
#define WHARF_MAIL_HOST_MAIL_H

#include "wharf/service/mail.h"

extern const struct wharf_mail_api host_mail;

#endif
