/* search_form.c - see search_form.h. */
#include "util/search_form.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "util/buf.h"

static const struct {
    utf8proc_int32_t letter;
    const char *spelled;
} spelled[] = {{0xE6, "ae"}, {0x153, "oe"}, {0xF8, "o"}, {0x111, "d"}, {0xF0, "d"}, {0xFE, "th"},
    {0x142, "l"}, {0x131, "i"}};

static bool is_apostrophe(utf8proc_int32_t c)
{
    return c == '\'' || c == '`' || c == 0xB4 || (c >= 0x2018 && c <= 0x201B) || c == 0x2BC ||
           c == 0x2BB || c == 0x2032;
}

static bool counts(utf8proc_int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);

    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) ||
           (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

static void end_word(struct buf *b)
{
    if (b->n && b->p[b->n - 1] != ' ')
        buf_addc(b, ' ');
}

static void add_letter(struct buf *b, utf8proc_int32_t c)
{
    utf8proc_uint8_t text[4];

    for (size_t i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
        if (c == spelled[i].letter) {
            buf_addz(b, spelled[i].spelled);
            return;
        }
    }
    buf_add(b, (const char *)text, (size_t)utf8proc_encode_char(c, text));
}

static void add_point(struct buf *b, utf8proc_int32_t c, const char *keep)
{
    if (is_apostrophe(c))
        return;
    if (counts(c)) {
        add_letter(b, c);
        return;
    }
    end_word(b);
    if (c > 0 && c < 0x80 && strchr(keep, (int)c)) {
        buf_addc(b, (char)c);
        buf_addc(b, ' ');
    }
}

/* Tells whether s is ASCII, as most names are: nothing to decompose. */
static bool ascii(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    }
    return true;
}

static void add_ascii(struct buf *b, wharf_str s, const char *keep)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            buf_addc(b, c);
        else if (c >= 'A' && c <= 'Z')
            buf_addc(b, (char)(c + ('a' - 'A')));
        else
            add_point(b, c, keep);
    }
}

static void add_folded(struct buf *b, wharf_str s, const char *keep)
{
    utf8proc_uint8_t *folded = NULL;
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)s.p, (utf8proc_ssize_t)s.n, &folded,
        UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_STRIPMARK |
            UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);

    for (utf8proc_ssize_t i = 0, used; i < n; i += used) {
        used = utf8proc_iterate(folded + i, n - i, &c);
        if (used < 1)
            break;
        add_point(b, c, keep);
    }
    free(folded);
}

wharf_str search_form(struct arena *a, wharf_str s, const char *keep)
{
    wharf_str made;
    struct buf b;

    buf_init(&b, 1 << 20);
    if (ascii(s))
        add_ascii(&b, s, keep);
    else
        add_folded(&b, s, keep);
    while (b.n && b.p[b.n - 1] == ' ')
        b.n--;
    made = arena_dup(a, b.p ? b.p : "", b.n);
    buf_done(&b);
    return made;
}
