/* draw_pdf.c - the language of a PDF, which cairo 1.16 does not write; see draw.h.
 *
 * The catalog is the last object of cairo's file: what is put into it moves the table of objects
 * behind it, and nothing else. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "util/str.h"

/* Finds the last place of a text. Returns NULL when there is none. */
static char *find_last(const struct buf *b, const char *what)
{
    size_t n = strlen(what);

    for (size_t at = b->n >= n ? b->n - n + 1 : 0; at-- > 0;) {
        if (memcmp(b->p + at, what, n) == 0)
            return b->p + at;
    }
    return NULL;
}

static bool is_language(wharf_str s)
{
    if (!s.n || s.n > 35 || !isalpha((unsigned char)s.p[0]))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-')
            return false;
    }
    return true;
}

bool pdf_set_language(struct buf *b, wharf_str language)
{
    static const char catalog[] = "/Type /Catalog\n", begins[] = "startxref\n";
    char *at = find_last(b, catalog), *objects, *start, word[64], foot[64];
    size_t place, rest, n, said;

    if (!is_language(language) || !at)
        return false;
    n = (size_t)snprintf(word, sizeof(word), "   /Lang (%.*s)\n", STR_ARG(language));
    start = find_last(b, begins);
    said = start ? strtoul(start + sizeof(begins) - 1, NULL, 10) : 0;
    objects = said < b->n ? b->p + said : NULL;
    if (!objects || objects < at || strncmp(objects, "xref", 4) != 0 ||
        memmem(at, (size_t)(objects - at), " obj", 4))
        return false;
    snprintf(foot, sizeof(foot), "startxref\n%zu\n%%%%EOF\n", said + n);
    b->n = (size_t)(start - b->p);
    buf_addz(b, foot);
    place = (size_t)(at - b->p) + sizeof(catalog) - 1;
    rest = b->n - place;
    if (!buf_room(b, n))
        return false;
    memmove(b->p + place + n, b->p + place, rest + 1);
    memcpy(b->p + place, word, n);
    b->n += n;
    return true;
}
