/* customer_template.c - which template a mail is made of, and those that come with the server:
 * schemas/notifications/mails, one layout and the words of each language (spec 07 section 16.3
 * 'Templates').
 *
 * In the layout and in words [[name]] stands for a word of the occasion, else of the language.
 * The built-in templates are composed once, when the module starts. */
#include "customers.h"

#include "notifications.gen.h"

enum { LANGUAGES = 16, OCCASIONS = 4, NESTED = 4, CODE = 36 };

static const char *const occasions[OCCASIONS] = {
    "out_for_delivery", "ready_for_pickup", "delivered", "returned"};

static const char *const page_words[] = {"language", "opt_out", "page_title", "page_sentence",
    "page_button", "ended_title", "ended_sentence"};
enum { PAGE_WORDS = sizeof(page_words) / sizeof(page_words[0]) };

/* Set by customer_templates_start(), before anything of this module runs. */
static struct language {
    wharf_str name;
    struct customer_template of[OCCASIONS];
    wharf_str words[PAGE_WORDS];
} languages[LANGUAGES];
static size_t n_languages;

/* ---- composing ---- */

/* Joins the lines of a text of the layout. */
static wharf_str lines_of(wharf_req *req, const wharf_json *lines)
{
    wharf_str all = WHARF_S(""), line;

    for (const wharf_json *v = W->json->at(lines, 0); v; v = W->json->next(v)) {
        if (W->json->text(v, &line))
            all = W->mem->format(
                req, "%.*s%s%.*s", (int)all.n, all.p, all.n ? "\n" : "", (int)line.n, line.p);
    }
    return all;
}

/* Puts words into a text, and words into those. */
static wharf_str customer_template_put_words(wharf_req *req, wharf_str text,
    const wharf_json *occasion, const wharf_json *language, unsigned depth)
{
    const char *open = memmem(text.p, text.n, "[[", 2), *close;
    wharf_str head, name, word, tail;

    if (!open || depth > NESTED)
        return text;
    close = memmem(open, text.n - (size_t)(open - text.p), "]]", 2);
    if (!close)
        return text;
    head = (wharf_str){text.p, (size_t)(open - text.p)};
    name = W->mem->dup(req, open + 2, (size_t)(close - open - 2));
    tail = (wharf_str){close + 2, (size_t)(text.p + text.n - close - 2)};
    word = json_text(occasion, name.p);
    if (!word.n)
        word = json_text(language, name.p);
    word = customer_template_put_words(req, word, occasion, language, depth + 1);
    tail = customer_template_put_words(req, tail, occasion, language, depth);
    return W->mem->format(
        req, "%.*s%.*s%.*s", (int)head.n, head.p, (int)word.n, word.p, (int)tail.n, tail.p);
}

static void customer_template_compose(
    wharf_req *req, struct language *l, const wharf_json *words, wharf_str text, wharf_str html)
{
    const wharf_json *all = W->json->get(words, "occasions");

    l->name = notification_keep(json_text(words, "language"));
    for (size_t i = 0; i < PAGE_WORDS; i++)
        l->words[i] = notification_keep(json_text(words, page_words[i]));
    for (size_t i = 0; i < OCCASIONS; i++) {
        const wharf_json *o = W->json->get(all, occasions[i]);

        l->of[i] = (struct customer_template){.language = l->name,
            .subject = notification_keep(json_text(o, "subject")),
            .text = notification_keep(customer_template_put_words(req, text, o, words, 0)),
            .html = notification_keep(customer_template_put_words(req, html, o, words, 0))};
    }
}

wharf_status customer_templates_start(wharf_req *req)
{
    static const wharf_str embedded = EMBEDDED;
    const wharf_json *all;
    wharf_str text, html;
    wharf_status s = W->json->parse(req, embedded, &all);

    if (s != WHARF_OK)
        return s;
    text = lines_of(req, W->json->get(W->json->at(all, 0), "text"));
    html = lines_of(req, W->json->get(W->json->at(all, 0), "html"));
    for (size_t i = 1; i < W->json->count(all) && n_languages < LANGUAGES; i++) {
        if (!is(W->json->key(W->json->at(all, i)), "push-words")) /* user_words.c has these */
            customer_template_compose(
                req, &languages[n_languages++], W->json->at(all, i), text, html);
    }
    return WHARF_OK;
}

/* ---- choosing ---- */

/* Finds a language by its whole name, else by the part before the first hyphen. */
static const struct language *customer_template_find(wharf_str name)
{
    const char *hyphen = memchr(name.p, '-', name.n);

    for (size_t i = 0; i < n_languages; i++) {
        if (same(languages[i].name, name))
            return &languages[i];
    }
    return hyphen ? customer_template_find((wharf_str){name.p, (size_t)(hyphen - name.p)}) : NULL;
}

wharf_str customer_word(wharf_str language, const char *name)
{
    const struct language *l = customer_template_find(language);
    size_t i = word_place(z(name), page_words, PAGE_WORDS);

    l = l ? l : customer_template_find(WHARF_S("en"));
    return l && i < PAGE_WORDS ? l->words[i] : WHARF_S("");
}

/* Adds a language and, behind it, the part before its hyphen. */
static void customer_template_add(wharf_req *req, wharf_str *list, size_t *n, wharf_str name)
{
    const char *hyphen = memchr(name.p, '-', name.n);

    if (!name.n || name.n >= CODE)
        return;
    list[(*n)++] = text_lower(req, name);
    if (hyphen)
        list[(*n)++] = text_lower(req, (wharf_str){name.p, (size_t)(hyphen - name.p)});
}

/* Finds the best written template of a location or of the whole organization. */
static wharf_status find_written(wharf_req *req, wharf_str occasion, wharf_str location_id,
    const wharf_str *wanted, size_t n, struct customer_template *ret, bool *ret_found)
{
    static const char sql[] =
        "SELECT subject, text, html, language FROM notifications.template"
        " WHERE organization_id = $1::text AND occasion = $2::text AND deleted_at IS NULL"
        " AND (location_id IS NULL OR location_id = $3::text)"
        " AND lower(language) = ANY ((SELECT $4::text[])::text[])"
        " ORDER BY location_id IS NULL, array_position($4::text[], lower(language)) LIMIT 1";
    const wharf_val args[4] = {val_text(W->req->organization(req)), val_text(occasion),
        val_text_or_null(location_id), val_array(req, wanted, n)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    *ret_found = s == WHARF_OK && W->db->count(rows);
    if (*ret_found)
        *ret = (struct customer_template){.subject = row_text(rows, 0, 0),
            .text = row_text(rows, 0, 1),
            .html = row_text(rows, 0, 2),
            .language = row_text(rows, 0, 3)};
    return s;
}

wharf_status customer_template(wharf_req *req, wharf_str occasion, wharf_str location_id,
    const wharf_str *asked, size_t n, struct customer_template *ret)
{
    wharf_str wanted[LANGUAGES];
    size_t n_wanted = 0, place = word_place(occasion, occasions, OCCASIONS);
    const struct language *l = NULL;
    bool found;
    wharf_status s;

    for (size_t i = 0; i < n && n_wanted + 3 < LANGUAGES; i++)
        customer_template_add(req, wanted, &n_wanted, asked[i]);
    wanted[n_wanted++] = WHARF_S("en");
    s = find_written(req, occasion, location_id, wanted, n_wanted, ret, &found);
    if (s != WHARF_OK || found)
        return s;
    for (size_t i = 0; i < n_wanted && !l; i++)
        l = customer_template_find(wanted[i]);
    if (!l || place == OCCASIONS)
        return WHARF_INTERNAL;
    *ret = l->of[place];
    return WHARF_OK;
}
