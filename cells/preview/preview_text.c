/* preview_text.c - the text that pages of a PDF carry, for searches
 * (docs/spec/05-documents-and-templates.md section 3.7). A page that is a picture has none: the
 * server has those read by others. */
#include <glib.h>
#include <string.h>

#include "preview.h"

/* Adds the text of a page, as much as there is room for. Returns false when there is no more. */
static bool text_read_page(struct picture *p, PopplerDocument *document, int at)
{
    PopplerPage *page = poppler_document_get_page(document, at);
    char *text = page ? poppler_page_get_text(page) : NULL;
    size_t n = text ? strlen(text) : 0, room = PREVIEW_TEXT_MAX - 1 - p->n;
    bool whole = n <= room;

    if (!whole)
        n = (size_t)(g_utf8_find_prev_char(text, text + room + 1) - text);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\f')
            text[i] = '\n';
    }
    whole = picture_add(p, text, n, PREVIEW_TEXT_MAX) &&
            picture_add(p, "\f", 1, PREVIEW_TEXT_MAX) && whole && p->n < PREVIEW_TEXT_MAX;
    g_free(text);
    if (page)
        g_object_unref(page);
    return whole;
}

bool text_read(struct picture *p, PopplerDocument *document, const struct preview_call *wish)
{
    int pages = poppler_document_get_n_pages(document), at = (int)wish->page - 1;

    if (pages <= 0)
        return picture_fail(p, "invalid: it has no pages");
    p->made = (struct preview_made){.pages = (uint32_t)pages};
    while (at < pages && at < PREVIEW_TEXT_PAGES && text_read_page(p, document, at))
        at++;
    return true;
}
