/* render_text.c - plain text as pages: Courier, ten points, twelve to the line, a quarter inch
 * of margin. See render.h.
 *
 * The fourteen fonts that every PDF reader has know the letters of Western Europe
 * (Windows-1252). A text with others is set in a font that the document carries along (font.c).
 * What that one has not, or what needs shaping, is refused rather than printed with holes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "render.h"

#define SIZE    10.0 /* points of printed text */
#define LEADING 12.0 /* points from line to line */
#define MARGIN  18.0 /* points */
#define ADVANCE (SIZE * 0.6)

enum { TAB = 8 };

struct sheet { /* the page that is being written */
    char *p;
    size_t n, cap;
    unsigned line, column, lines, columns;
    double width, height;
    bool wide; /* in the font that the document carries: two bytes of each letter, in hexadecimal */
    int font; /* its object */
};

static void render_text_put(struct sheet *t, const char *bytes, size_t n)
{
    if (t->cap - t->n < n + 8) {
        t->cap = t->cap * 2 + n + 4096;
        t->p = cell_realloc(t->p, t->cap);
    }
    memcpy(t->p + t->n, bytes, n);
    t->n += n;
}

static bool end_page(struct source *s, struct sheet *t)
{
    static const char fonts[] = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Courier "
                                "/Encoding /WinAnsiEncoding >> >> >>";
    bool good;

    if (s->reported.pages == RENDER_PAGES_MAX)
        return source_fail(s, "invalid: it has more than %d pages", RENDER_PAGES_MAX);
    render_text_put(t, t->wide ? "> Tj ET\n" : ") Tj ET\n", 8);
    good = page_add(s, t->width, t->height, t->p, t->n, t->wide ? "<< /Font << >> >>" : fonts, 0);
    if (good && t->wide)
        qpdf_oh_replace_key(s->q,
            qpdf_oh_get_key(s->q,
                qpdf_oh_get_key(s->q, qpdf_get_page_n(s->q, s->reported.pages), "/Resources"),
                "/Font"),
            "/F", qpdf_get_object_by_id(s->q, t->font, 0));
    qpdf_oh_release_all(s->q);
    s->reported.pages++;
    t->n = 0;
    t->line = t->column = 0;
    return good;
}

static void begin_page(struct sheet *t)
{
    char head[100];
    int n = snprintf(head, sizeof(head), "BT /F %.1f Tf %.1f TL %.2f %.2f Td %c", SIZE, LEADING,
        MARGIN, t->height - MARGIN - SIZE, t->wide ? '<' : '(');

    render_text_put(t, head, (size_t)n);
}

static bool render_text_new_line(struct source *s, struct sheet *t)
{
    t->column = 0;
    if (++t->line < t->lines) {
        render_text_put(t, t->wide ? "> Tj T* <" : ") Tj T* (", 9);
        return true;
    }
    if (!end_page(s, t))
        return false;
    begin_page(t);
    return true;
}

static bool put_letter(struct source *s, struct sheet *t, unsigned c)
{
    char code[8];

    if (t->column >= t->columns && !render_text_new_line(s, t))
        return false;
    snprintf(code, sizeof(code), t->wide ? "%04X" : "\\%03o", c & 0xffff);
    render_text_put(t, code, 4);
    t->column++;
    return true;
}

/* Reads the next letter of UTF-8. Returns 0 when it is none. */
static uint32_t render_text_decode(const unsigned char *p, size_t n, size_t *ret_n)
{
    unsigned more = p[0] < 0x80       ? 0
                    : p[0] >> 5 == 6  ? 1
                    : p[0] >> 4 == 14 ? 2
                    : p[0] >> 3 == 30 ? 3
                                      : 4;
    uint32_t c = more ? p[0] & (0x3fu >> more) : p[0];

    if (more > 3 || more >= n)
        return 0;
    for (unsigned i = 1; i <= more; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    *ret_n = more + 1;
    return c;
}

/* Returns the letter's place in Windows-1252, or 0. */
static unsigned char western(uint32_t c)
{
    static const uint16_t high[32] = {0x20ac, 0, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021,
        0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0, 0x17d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
        0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0, 0x17e, 0x178};

    if ((c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c <= 0xff))
        return (unsigned char)c;
    for (unsigned i = 0; i < 32; i++) {
        if (c && high[i] == c)
            return (unsigned char)(0x80 + i);
    }
    return 0;
}

static bool put_character(struct source *s, struct sheet *t, uint32_t c)
{
    unsigned letter;

    if (c == '\r')
        return true;
    if (c == '\n')
        return render_text_new_line(s, t);
    if (c == '\f')
        return end_page(s, t) && (begin_page(t), true);
    if (c == '\t') {
        do {
            if (!put_letter(s, t, t->wide ? font_glyph(' ') : ' '))
                return false;
        } while (t->column % TAB);
        return true;
    }
    letter = t->wide ? font_glyph(c) : western(c);
    if (!letter)
        return source_fail(
            s, "invalid: its character U+%04X can't be printed as text; send a PDF", (unsigned)c);
    return put_letter(s, t, letter);
}

/* Tells whether there is a letter that is not in Windows-1252. */
static bool beyond_western(const unsigned char *p, size_t n)
{
    for (size_t at = 0, step = 0; at < n; at += step) {
        uint32_t c = render_text_decode(p + at, n - at, &step);

        if (!c)
            return false;
        if (c >= 0x20 && !western(c))
            return true;
    }
    return false;
}

bool text_lay_out(struct source *s, double width, double height)
{
    struct sheet t = {.width = width, .height = height};
    size_t at = 0, step = 0;
    bool good = true;

    t.lines = height > 2 * MARGIN + LEADING ? (unsigned)((height - 2 * MARGIN) / LEADING) : 1;
    t.columns = width > 2 * MARGIN + ADVANCE ? (unsigned)((width - 2 * MARGIN) / ADVANCE) : 1;
    if (s->bytes.n >= 3 && !memcmp(s->bytes.p, "\xef\xbb\xbf", 3))
        at = 3;
    t.wide = beyond_western(s->bytes.p + at, s->bytes.n - at) && font_glyph(' ');
    if (t.wide)
        t.font = font_object(s);
    qpdf_oh_release_all(s->q);
    begin_page(&t);
    while (good && at < s->bytes.n && !(s->call.page && s->reported.pages >= s->call.page)) {
        uint32_t c = render_text_decode(s->bytes.p + at, s->bytes.n - at, &step);

        good = c ? put_character(s, &t, c) : source_fail(s, "invalid: it is no text in UTF-8");
        at += step;
    }
    /* a line feed at the very end begins no page of its own */
    if (good && (s->reported.pages == 0 || t.line || t.column))
        good = end_page(s, &t);
    free(t.p);
    return good;
}
