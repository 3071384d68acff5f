/* customer_html.h - HTML of a plain text, for templates that have none of their own. */
#ifndef CUSTOMER_HTML_H
#define CUSTOMER_HTML_H

#include "notifications.h"

/* Escapes what has a meaning in HTML. */
wharf_str html_escape(wharf_req *req, wharf_str text);
/* Makes a whole document: paragraphs, lines, and links of what is one. */
wharf_str html_of_text(wharf_req *req, wharf_str text);

#endif
