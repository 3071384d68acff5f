/* customer_words.c - a mail made of a template and data: values are put in by a sandboxed process
 * (wharf.draw), so that no template takes more time or memory than a drawing may (spec 07 section
 * 16.3 'Templates'). */
#include "customers.h"
#include "customer_html.h"

#include "notifications.gen.h"

static wharf_str customer_words_wish_of(
    wharf_req *req, const struct customer_template *t, const wharf_json *data)
{
    wharf_out *out = W->json->writer(req);
    wharf_str text;

    W->json->open(out, NULL, '{');
    W->json->open(out, "body", '{');
    W->json->put(out, "subject", val_text(t->subject));
    W->json->put(out, "text", val_text(t->text));
    W->json->put(out, "html", val_text_or_null(t->html));
    W->json->put(out, "data", val_json(data));
    W->json->close(out);
    W->json->close(out);
    text = W->json->result_text(out);
    return W->mem->dup(req, text.p, text.n);
}

/* Makes one problem of what has no place in the text. */
static wharf_status whole_problem(wharf_req *req, wharf_str why, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '[');
    W->json->open(out, NULL, '{');
    W->json->put(out, "path", val_text(WHARF_S("text")));
    W->json->put(out, "message", val_text(why));
    W->json->put(out, "line", val_int(1));
    W->json->put(out, "column", val_int(1));
    W->json->close(out);
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* ---- the line that ends mails ---- */

/* Puts a line with the link behind a text that has no such link. */
static wharf_str with_link(wharf_req *req, wharf_str text, wharf_str language, wharf_str url)
{
    wharf_str word = customer_word(language, "opt_out");

    if (memmem(text.p, text.n, url.p, url.n))
        return text;
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    return W->mem->format(
        req, "%.*s\n\n%.*s: %.*s\n", (int)text.n, text.p, (int)word.n, word.p, (int)url.n, url.p);
}

/* Puts it into HTML, before the end of the body where it has one. */
static wharf_str with_html_link(wharf_req *req, wharf_str html, wharf_str language, wharf_str url)
{
    wharf_str word = customer_word(language, "opt_out"), link = html_escape(req, url);
    const char *end;

    if (memmem(html.p, html.n, link.p, link.n))
        return html;
    end = memmem(html.p, html.n, "</body>", 7);
    end = end ? end : html.p + html.n;
    return W->mem->format(req, "%.*s<p style=\"font-size:13px\"><a href=\"%.*s\">%.*s</a></p>%.*s",
        (int)(end - html.p), html.p, (int)link.n, link.p, (int)word.n, word.p,
        (int)(html.p + html.n - end), end);
}

/* Makes one line of at most SUBJECT_MAX characters. */
static wharf_str customer_words_one_line(wharf_req *req, wharf_str s)
{
    char *to = W->mem->alloc(req, s.n + 1);
    size_t n = 0, characters = 0;

    for (size_t i = 0; i < s.n; i++) {
        bool blank = (unsigned char)s.p[i] <= ' ';

        if (blank && (!n || to[n - 1] == ' '))
            continue;
        characters += (s.p[i] & 0xc0) != 0x80;
        if (characters > SUBJECT_MAX)
            break;
        to[n++] = s.p[i];
        if (blank)
            to[n - 1] = ' ';
    }
    while (n && to[n - 1] == ' ')
        n--;
    to[n] = 0;
    return (wharf_str){to, n};
}

/* Takes the texts of the report, and what every mail has. */
static void take_texts(wharf_req *req, const struct customer_template *t, const wharf_json *data,
    const wharf_json *report, struct customer_mail *ret)
{
    wharf_str url = json_text(data, "opt_out_url"), none;

    ret->missing = json_is_null(W->json->get(report, "missing")) ? NULL
                                                                 : W->json->get(report, "missing");
    ret->subject = customer_words_one_line(req, json_text(report, "subject"));
    ret->text = with_link(req, json_text(report, "text"), t->language, url);
    none = json_text(report, "html");
    ret->html = none.n ? with_html_link(req, none, t->language, url) : html_of_text(req, ret->text);
}

wharf_status customer_make(wharf_req *req, const struct customer_template *t,
    const wharf_json *data, struct customer_mail *ret)
{
    const wharf_draw_wish wish = {.head = WHARF_HEAD(wharf_draw_wish),
        .format = WHARF_DRAW_WORDS,
        .request = customer_words_wish_of(req, t, data)};
    wharf_draw_made made = {.head = WHARF_HEAD(wharf_draw_made)};
    const wharf_json *report;
    wharf_status s = customers_draw->draw(req, &wish, &made);

    *ret = (struct customer_mail){.subject = WHARF_S(""), .text = WHARF_S(""), .html = WHARF_S("")};
    if (s == WHARF_OK && made.verdict == WHARF_DRAW_TOO_COMPLEX)
        return whole_problem(req, made.reason, &ret->problems);
    if (s == WHARF_OK)
        s = W->json->parse(req, made.report, &report);
    if (s == WHARF_OK && made.verdict == WHARF_DRAW_REFUSED)
        ret->problems = W->json->get(report, "problems");
    else if (s == WHARF_OK)
        take_texts(req, t, data, report, ret);
    return s;
}
