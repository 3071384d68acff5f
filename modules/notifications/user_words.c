/* user_words.c - what a user is told of an event: title and body by its type (spec 07 section 16.2
 * rule 6). Nothing of the row is in them: who may see the phone need not see the row. */
#include "user_push.h"

/* Writes "shipment.status_changed" as "Shipment status changed". */
static wharf_str title_of(wharf_req *req, wharf_str type)
{
    wharf_str text = W->mem->dup(req, type.p, type.n);
    char *p = (char *)text.p;

    for (size_t i = 0; i < text.n; i++) {
        if (p[i] == '.' || p[i] == '_')
            p[i] = ' ';
    }
    if (text.n && p[0] >= 'a' && p[0] <= 'z')
        p[0] = (char)(p[0] - 'a' + 'A');
    return text;
}

struct words words_of(wharf_req *req, wharf_str type, wharf_str language)
{
    wharf_event_type entry = {.head = WHARF_HEAD(wharf_event_type)};
    bool known = notifications_events->type_find(notifications_self, type, &entry);

    return (struct words){WHARF_S("en"), title_of(req, type),
        known && entry.description.n ? entry.description : WHARF_S("")};
}
