/* customer_html.c - see customer_html.h (spec 07 section 16.3 'Templates'). */
#include "customer_html.h"

static const char begin[] =
    "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" "
    "content=\"light dark\"></head><body style=\"font-family:Helvetica,Arial,sans-serif;"
    "font-size:16px;line-height:1.5;max-width:560px;margin:24px auto;padding:0 16px\"><p>";
static const char end[] = "</p></body></html>\n";

enum { WIDEST = 6 }; /* of a byte that is escaped */

struct html {
    char *p;
    size_t n;
};

static void customer_html_put(struct html *h, const char *p, size_t n)
{
    memcpy(h->p + h->n, p, n);
    h->n += n;
}

static void put_byte(struct html *h, char c)
{
    const char *with = c == '&'    ? "&amp;"
                       : c == '<'  ? "&lt;"
                       : c == '>'  ? "&gt;"
                       : c == '"'  ? "&quot;"
                       : c == '\'' ? "&#39;"
                                   : NULL;

    customer_html_put(h, with ? with : &c, with ? strlen(with) : 1);
}

static void customer_html_put_text(struct html *h, wharf_str s)
{
    for (size_t i = 0; i < s.n; i++)
        put_byte(h, s.p[i]);
}

wharf_str html_escape(wharf_req *req, wharf_str text)
{
    struct html h = {.p = W->mem->alloc(req, text.n * WIDEST + 1)};

    customer_html_put_text(&h, text);
    return (wharf_str){h.p, h.n};
}

/* Tells how long the link is that begins here; 0: there is none. */
static size_t link_length(const char *p, const char *stop)
{
    size_t n = (size_t)(stop - p), k = 0;

    if ((n < 9 || memcmp(p, "https://", 8) != 0) && (n < 8 || memcmp(p, "http://", 7) != 0))
        return 0;
    while (k < n && (unsigned char)p[k] > ' ' && !strchr("<>\"'", p[k]))
        k++;
    while (k && strchr(".,;:!?)", p[k - 1]))
        k--;
    return k;
}

wharf_str html_of_text(wharf_req *req, wharf_str text)
{
    /* a link is written twice, a line end has the widest of all in its place */
    struct html h = {.p = W->mem->alloc(req, text.n * (2 * WIDEST + 16) + sizeof(begin) + 64)};
    const char *p = text.p, *stop = text.p + text.n;

    customer_html_put(&h, begin, sizeof(begin) - 1);
    while (stop > p && stop[-1] == '\n')
        stop--;
    while (p < stop) {
        size_t link = link_length(p, stop);

        if (link) {
            customer_html_put(&h, "<a href=\"", 9);
            customer_html_put_text(&h, (wharf_str){p, link});
            customer_html_put(&h, "\">", 2);
            customer_html_put_text(&h, (wharf_str){p, link});
            customer_html_put(&h, "</a>", 4);
            p += link;
        } else if (*p == '\n' && p + 1 < stop && p[1] == '\n') {
            customer_html_put(&h, "</p><p>", 7);
            while (p < stop && *p == '\n')
                p++;
        } else {
            *p == '\n' ? customer_html_put(&h, "<br>", 4) : put_byte(&h, *p);
            p++;
        }
    }
    customer_html_put(&h, end, sizeof(end) - 1);
    return (wharf_str){h.p, h.n};
}
