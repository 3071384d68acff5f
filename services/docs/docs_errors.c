/* docs_errors.c - the error codes of this server, as rows of a page and as JSON. See
 * docs_routes.h.
 *
 * A code's text is its cause, and behind the first semicolon what to do about it. */
#include "docs/docs_routes.h"

#include "util/json.h"
#include "util/str.h"

struct told {
    wharf_str cause, remedy; /* remedy may be empty */
};

static struct told docs_errors_told_of(const struct error_code *c)
{
    wharf_str text = str_z(c->text);
    const char *at = strstr(text.p, "; ");

    if (!at)
        return (struct told){text, str_z("")};
    return (struct told){{text.p, (size_t)(at - text.p)}, str_z(at + 2)};
}

static void error_row(struct buf *b, const struct error_code *c)
{
    struct told told = docs_errors_told_of(c);

    BUF_LIT(b, "<tr id=\"");
    buf_add_html(b, str_z(c->code));
    BUF_LIT(b, "\"><th scope=\"row\"><a href=\"#");
    buf_add_html(b, str_z(c->code));
    BUF_LIT(b, "\"><code>");
    buf_add_html(b, str_z(c->code));
    buf_addf(b, "</code></a></th><td>%d</td><td>", c->status);
    buf_add_html(b, told.cause);
    BUF_LIT(b, "</td><td>");
    buf_add_html(b, told.remedy);
    BUF_LIT(b, "</td><td>");
    buf_add_html(b, str_z(c->plugin ? c->plugin : "platform"));
    BUF_LIT(b, "</td></tr>\n");
}

void docs_error_rows(struct buf *b, const struct engine *e, bool modules)
{
    for (size_t i = 0; i < e->n_codes; i++) {
        if (modules || !e->codes[i].plugin)
            error_row(b, &e->codes[i]);
    }
}

void docs_error_json(struct buf *b, const struct engine *e)
{
    struct jw w;

    jw_init(&w, b);
    jw_open(&w, NULL, '{');
    jw_open(&w, "errors", '[');
    for (size_t i = 0; i < e->n_codes; i++) {
        struct told told = docs_errors_told_of(&e->codes[i]);

        jw_open(&w, NULL, '{');
        jw_z(&w, "code", e->codes[i].code);
        jw_int(&w, "status", e->codes[i].status);
        jw_str(&w, "cause", told.cause);
        jw_str(&w, "remedy", told.remedy);
        jw_z(&w, "module", e->codes[i].plugin);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    jw_close(&w, '}');
}
