/* customers.h - inside of the half for customers: mails to the recipients of shipments (spec 07
 * section 16.3). */
#ifndef CUSTOMERS_H
#define CUSTOMERS_H

#include "notifications.h"

#include "wharf/ext/contacts.h"
#include "wharf/ext/shipments.h"
#include "wharf/service/draw.h"

#define HOUR_US  3600000000LL
#define LINK     "/v1/notifications/opt-out"
#define OPT_KIND "opt_out"

enum {
    SUBJECT_MAX = 200, /* letters of a subject */
    PERSON_ROOM = 64
};

extern const wharf_contacts_notices_api *customers_contacts; /* or NULL: nobody is told */
extern const wharf_draw_api *customers_draw;
extern bool customers_trackers, customers_places; /* the modules are there */

/* ---- customer_step.c ---- */

wharf_status customer_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);

/* ---- customer_settings.c: what the organization and the location say ---- */

struct customer_settings {
    bool enabled;
    const wharf_json *occasions; /* NULL: all */
    wharf_str reply_to, language, time_zone;
};
/* Reads those that hold at each of n locations, which may be empty texts. */
wharf_status customer_settings(
    wharf_req *req, const wharf_str *location_ids, size_t n, struct customer_settings *ret);
bool customer_wanted(const struct customer_settings *s, const char *occasion);

/* ---- customer_template.c: which words ---- */

struct customer_template {
    wharf_str subject, text, html; /* html empty: is made from the text */
    wharf_str language;
};
/* Chooses the template: the location's, the organization's, the built-in one. languages: those
 * that are looked for, the most wanted first; "en" is added. */
wharf_status customer_template(wharf_req *req, wharf_str occasion, wharf_str location_id,
    const wharf_str *languages, size_t n, struct customer_template *ret);
/* Returns a word of the built-in ones in a language, or in English: "opt_out". */
wharf_str customer_word(wharf_str language, const char *name);
wharf_status customer_templates_start(wharf_req *req);

/* ---- customer_template_rules.c ---- */

extern const wharf_hooks customer_template_hooks;
wharf_handler customer_preview, customer_test;

/* ---- customer_words.c: a mail made of a template and data ---- */

struct customer_mail {
    wharf_str subject, text, html;
    /* Why it could not be made: {path, message, line, column} each; NULL: it was. */
    const wharf_json *problems;
    /* The first placeholder that stays empty for want of a value, the same; NULL: none does. */
    const wharf_json *missing;
};
wharf_status customer_make(wharf_req *req, const struct customer_template *t,
    const wharf_json *data, struct customer_mail *ret);

/* ---- customer_data.c: what templates may say ---- */

struct customer_about {
    /* event_id empty: the shipment as it is now */
    wharf_str event_id, shipment_id, contact_id, occasion;
    wharf_str time_zone, opt_out_url;
};
wharf_status customer_data(
    wharf_req *req, const struct customer_about *about, const wharf_json **ret);

/* ---- customer_opt_out.c: the link that ends mails ---- */

/* Makes the link of a contact, the same each time. */
wharf_status customer_link(wharf_req *req, wharf_str contact_id, wharf_str *ret_url);
wharf_handler customer_page, customer_ended;

/* ---- customer_send.c ---- */

wharf_handler customer_send; /* the job of a contact */
wharf_handler customer_sweep; /* puts what no job is about into the queue again */

/* ---- customer_merge.c ---- */

wharf_status customers_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

#endif
