/* user_words.c - what a user is told of an event: title and body by its type (spec 07 section 16.2
 * rule 6). Nothing of the row is in them: who may see the phone need not see the row.
 *
 * The words of other languages stand in schemas/notifications/words/push-words.json: a title for
 * each object, a body for each change. Of types that are not there it is told in English, by the
 * catalogue of events. */
#include "user_push.h"

#include "notifications.gen.h"

enum { CODE = 8 };

/* A title of an object, or the body of a change, in one language. */
struct word {
    char code[CODE];
    bool change;
    wharf_str key, text;
};
/* Set by words_start(), before anything of this module runs. */
static struct word *words;
static size_t n_words;

/* ---- reading ---- */

/* Writes the language in small letters: "pt-BR" has the words of "pt". */
static void user_words_code_of(wharf_str language, char code[CODE])
{
    size_t n = 0;

    while (n < CODE - 1 && n < language.n && language.p[n] != '-') {
        code[n] = (char)(language.p[n] | 0x20);
        n++;
    }
    code[n] = 0;
}

static void keep_words(const wharf_json *language, const char *of, bool change)
{
    wharf_str code = W->json->key(language), text;
    const wharf_json *list = W->json->get(language, of);

    for (const wharf_json *v = W->json->at(list, 0); v; v = W->json->next(v)) {
        struct word *one = &words[n_words];

        if (!W->json->text(v, &text))
            continue;
        *one = (struct word){.change = change,
            .key = notification_keep(W->json->key(v)),
            .text = notification_keep(text)};
        user_words_code_of(code, one->code);
        n_words++;
    }
}

wharf_status words_start(wharf_req *req)
{
    const wharf_json *all, *languages;
    size_t room = 0;
    wharf_status s = W->json->parse(req, (wharf_str)EMBEDDED, &all);

    if (s != WHARF_OK)
        return s;
    languages = W->json->get(all, "push-words");
    for (const wharf_json *l = W->json->at(languages, 0); l; l = W->json->next(l))
        room += W->json->count(W->json->get(l, "objects")) +
                W->json->count(W->json->get(l, "changes"));
    words = W->mem->plugin_alloc(notifications_self, (room + 1) * sizeof(*words));
    for (const wharf_json *l = W->json->at(languages, 0); l; l = W->json->next(l)) {
        keep_words(l, "objects", false);
        keep_words(l, "changes", true);
    }
    return WHARF_OK;
}

/* ---- finding ---- */

static wharf_str find_word(const char *code, bool change, wharf_str key)
{
    for (size_t i = 0; i < n_words; i++) {
        if (words[i].change == change && !strcmp(words[i].code, code) && same(words[i].key, key))
            return words[i].text;
    }
    return WHARF_S("");
}

/* Finds "shipment" and "status_changed" of the type in a language. */
static bool user_words_find_words(const char *code, wharf_str type, struct words *ret)
{
    const char *dot = memchr(type.p, '.', type.n);
    size_t n = dot ? (size_t)(dot - type.p) : 0;

    if (!n)
        return false;
    ret->title = find_word(code, false, (wharf_str){type.p, n});
    ret->body = find_word(code, true, (wharf_str){dot + 1, type.n - n - 1});
    return ret->title.n && ret->body.n;
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

struct words told_words(wharf_req *req, wharf_str type, wharf_str language)
{
    wharf_event_type entry = {.head = WHARF_HEAD(wharf_event_type)};
    struct words w = {.language = WHARF_S("en")};
    char code[CODE];

    user_words_code_of(language, code);
    if (user_words_find_words(code, type, &w)) {
        w.language = W->mem->dup(req, code, strlen(code));
        return w;
    }
    w.title = title_of(req, type);
    w.body = notifications_events->type_find(notifications_self, type, &entry) ? entry.description
                                                                               : WHARF_S("");
    return w;
}
