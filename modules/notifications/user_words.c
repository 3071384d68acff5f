/* user_words.c - what a user is told of an event: title and body by its type (spec 07 section 16.2
 * rule 6). Nothing of the row is in them: who may see the phone need not see the row.
 *
 * The words of other languages stand in schemas/notifications/words/push-words.json: a title for
 * each object, a body for each change. Of types that are not there it is told in English, by the
 * catalogue of events.
 */
#include "user_push.h"

#include "notifications.gen.h"

enum { CODE = 8 };

wharf_status words_read(wharf_req *req, const wharf_json **ret_table)
{
    const wharf_json *all;
    wharf_status s = W->json->parse(req, (wharf_str)EMBEDDED, &all);

    if (s == WHARF_OK)
        *ret_table = W->json->get(all, "push-words");
    return s;
}

/* Finds the words of a language: "pt-BR" has those of "pt". */
static const wharf_json *language_of(const wharf_json *table, wharf_str language, char code[CODE])
{
    size_t n = 0;

    while (n < CODE - 1 && n < language.n && language.p[n] != '-') {
        code[n] = (char)(language.p[n] | 0x20); /* a small letter */
        n++;
    }
    code[n] = 0;
    return n ? W->json->get(table, code) : NULL;
}

/* Finds "shipment" and "status_changed" of the type in the words. */
static bool find_words(
    wharf_req *req, const wharf_json *words, wharf_str type, wharf_str *title, wharf_str *body)
{
    const char *dot = memchr(type.p, '.', type.n);
    size_t n = dot ? (size_t)(dot - type.p) : 0;

    if (!n)
        return false;
    *title = json_text(W->json->get(words, "objects"), W->mem->dup(req, type.p, n).p);
    *body = json_text(W->json->get(words, "changes"), W->mem->dup(req, dot + 1, type.n - n - 1).p);
    return title->n && body->n;
}

/* Writes "shipment.status_changed" as "Shipment status changed". */
static wharf_str title_of(wharf_req *req, wharf_str type)
{
    char *p = W->mem->alloc(req, type.n + 1);

    for (size_t i = 0; i < type.n; i++)
        p[i] = type.p[i] == '.' || type.p[i] == '_' ? ' ' : type.p[i];
    if (type.n && p[0] >= 'a' && p[0] <= 'z')
        p[0] = (char)(p[0] - 'a' + 'A');
    return (wharf_str){p, type.n};
}

struct words told_words(wharf_req *req, const wharf_json *table, wharf_str type, wharf_str language)
{
    wharf_event_type entry = {.head = WHARF_HEAD(wharf_event_type)};
    struct words w = {.language = WHARF_S("en")};
    char code[CODE];
    const wharf_json *words = language_of(table, language, code);

    if (words && find_words(req, words, type, &w.title, &w.body)) {
        w.language = W->mem->dup(req, code, strlen(code));
        return w;
    }
    w.title = title_of(req, type);
    w.body = notifications_events->type_find(notifications_self, type, &entry) ? entry.description
                                                                               : WHARF_S("");
    return w;
}
