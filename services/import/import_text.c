/* import_text.c - see import_text.h. */
#include "import/import_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <utf8proc.h>

#include "import/problem.h"
#include "wharf/errors.h"

enum { BLOCK = 256 << 10 };

size_t bytes_read(const struct bytes *b, uint64_t offset, char *to, size_t room)
{
    size_t n = offset < b->size && b->size - offset < room ? (size_t)(b->size - offset) : room;
    ssize_t got;

    if (offset >= b->size)
        return 0;
    if (b->fd < 0) {
        memcpy(to, b->p + offset, n);
        return n;
    }
    do
        got = pread(b->fd, to, n, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

/* ---- which encoding ---- */

static const char *const names[] = {
    "utf-8", "utf-16le", "utf-16be", "windows-1252", "iso-8859-1", "iso-8859-15"};

const char *text_encoding_name(enum text_encoding e)
{
    return names[e];
}

static bool import_text_known_name(const char *name, enum text_encoding *ret)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i]) == 0) {
            *ret = (enum text_encoding)i;
            return true;
        }
    return false;
}

static bool has_mark(struct text *t)
{
    char head[3] = {0};
    size_t n = bytes_read(&t->bytes, 0, head, sizeof(head));

    if (n >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) {
        t->encoding = TEXT_UTF8;
        t->at = 3;
    } else if (n >= 2 && (memcmp(head, "\xFF\xFE", 2) == 0 || memcmp(head, "\xFE\xFF", 2) == 0)) {
        t->encoding = head[0] == '\xFF' ? TEXT_UTF16LE : TEXT_UTF16BE;
        t->at = 2;
    } else {
        return false;
    }
    return true;
}

size_t text_check(const char *p, size_t n, bool more, size_t *ret_whole)
{
    size_t i = 0;

    while (i < n) {
        uint64_t eight;
        uint32_t cp;
        size_t step;

        if (n - i >= 8) {
            memcpy(&eight, p + i, 8);
            if (!(eight & 0x8080808080808080u)) {
                i += 8;
                continue;
            }
        }
        step = (unsigned char)p[i] < 0x80 ? 1 : utf8_step(p + i, n - i, &cp);
        if (step == 0) {
            unsigned char c = (unsigned char)p[i];
            size_t wanted = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;

            *ret_whole = i;
            /* what stands there may become a character with the next block; if not, it is found
             * then */
            return more && c >= 0xC2 && c <= 0xF4 && n - i < wanted ? n : i;
        }
        i += step;
    }
    *ret_whole = n;
    return n;
}

/* Reads all: is it UTF-8? *ret_bad: where it is not. */
static bool is_utf8(const struct text *t, uint64_t *ret_bad)
{
    char *block = malloc(BLOCK);
    uint64_t at = t->at;
    bool good = block != NULL;

    *ret_bad = at;
    while (good) {
        size_t n = bytes_read(&t->bytes, at, block, BLOCK), whole = n, bad;

        if (n == 0)
            break;
        bad = text_check(block, n, at + n < t->bytes.size, &whole);
        *ret_bad = at + bad;
        good = bad == n && whole > 0;
        at += whole;
    }
    free(block);
    return good;
}

/* Counts, over the whole file, the characters of several bytes that UTF-8 has, and the places
 * where bytes above 127 belong to none; finds line and column (both from 1) of the first such
 * byte. */
struct utf8_count {
    uint64_t good, bad, line, column;
};

static void count_utf8(const struct text *t, struct utf8_count *count)
{
    char *block = malloc(BLOCK);
    uint64_t at = t->at, line = 1, column = 1;
    bool broken = false;

    *count = (struct utf8_count){0};
    while (block) {
        size_t n = bytes_read(&t->bytes, at, block, BLOCK), i = 0;
        /* a character at the end of the block is read again with the next one */
        size_t sure = at + n < t->bytes.size && n > 4 ? n - 4 : n;

        if (n == 0)
            break;
        while (i < sure) {
            uint32_t cp;
            size_t step = (unsigned char)block[i] < 0x80 ? 1 : utf8_step(block + i, n - i, &cp);

            count->good += step > 1;
            if (step == 0 && !broken && count->bad++ == 0) {
                count->line = line;
                count->column = column;
            }
            broken = step == 0;
            line += block[i] == '\n';
            column = block[i] == '\n' ? 1 : column + 1;
            i += step ? step : 1;
        }
        at += i;
    }
    free(block);
}

static bool refuse_encoding(
    struct import_problem *problem, uint64_t at, const struct utf8_count *count)
{
    return problem_set(problem, ERR_FILE_ENCODING, count->line, count->column, at,
        "line %llu, column %llu (byte %llu) of the file is not UTF-8; save it as UTF-8, or name "
        "its encoding",
        (unsigned long long)count->line, (unsigned long long)count->column, (unsigned long long)at);
}

bool text_open(struct text *t, struct bytes bytes, const char *declared, bool only_utf8,
    struct import_problem *problem)
{
    bool reported = declared && declared[0], marked;
    struct utf8_count count;
    uint64_t bad;

    *t = (struct text){.bytes = bytes};
    marked = has_mark(t);
    if (!marked && reported && !import_text_known_name(declared, &t->encoding))
        return problem_set(problem, ERR_PARAM_INVALID, 0, 0, 0,
            "file.encoding must be one of: utf-8, utf-16le, utf-16be, windows-1252, "
            "iso-8859-1, iso-8859-15");
    if (t->encoding == TEXT_UTF16LE || t->encoding == TEXT_UTF16BE)
        return true;
    if (t->encoding != TEXT_UTF8 || is_utf8(t, &bad))
        return true;
    count_utf8(t, &count);
    /* UTF-8 in which some bytes were damaged is not guessed about: read as an encoding of one byte
     * every other character would be wrong. Text of one byte per character hardly ever has
     * sequences that are UTF-8 by chance, and fewer of them than of others. */
    if (reported || marked || only_utf8 || (count.good && count.good >= count.bad))
        return refuse_encoding(problem, bad, &count);
    t->encoding = TEXT_WINDOWS_1252;
    t->fallback = true;
    return true;
}

/* ---- conversion ---- */

/* 0x80 to 0x9F of Windows-1252; 0: not assigned. */
static const uint16_t high_1252[32] = {0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
    0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178};

static uint32_t one_byte(enum text_encoding e, unsigned char c)
{
    static const struct {
        unsigned char from;
        uint16_t to;
    } of_15[] = {{0xA4, 0x20AC}, {0xA6, 0x0160}, {0xA8, 0x0161}, {0xB4, 0x017D}, {0xB8, 0x017E},
        {0xBC, 0x0152}, {0xBD, 0x0153}, {0xBE, 0x0178}};

    if (e == TEXT_WINDOWS_1252 && c >= 0x80 && c < 0xA0)
        return high_1252[c - 0x80];
    for (size_t i = 0; e == TEXT_ISO_8859_15 && i < sizeof(of_15) / sizeof(of_15[0]); i++)
        if (of_15[i].from == c)
            return of_15[i].to;
    return c;
}

static bool read_one_byte(
    struct text *t, char *to, size_t room, size_t *ret_n, struct import_problem *problem)
{
    unsigned char block[4096];
    size_t want = room / 3 < sizeof(block) ? room / 3 : sizeof(block);
    size_t n = bytes_read(&t->bytes, t->at, (char *)block, want), out = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t cp = !block[i]         ? TEXT_NUL
                      : block[i] < 0x80 ? block[i]
                                        : one_byte(t->encoding, block[i]);

        if (cp == 0)
            return problem_set(problem, ERR_FILE_ENCODING, 0, 0, t->at + i,
                "byte %llu of the file is no character of %s; save it as UTF-8, or name its "
                "encoding",
                (unsigned long long)t->at + i, names[t->encoding]);
        out += utf8_put(cp, to + out);
    }
    t->at += n;
    *ret_n = out;
    return true;
}

static uint32_t unit_at(const struct text *t, const unsigned char *p)
{
    return t->encoding == TEXT_UTF16LE ? (uint32_t)(p[0] | p[1] << 8)
                                       : (uint32_t)(p[1] | p[0] << 8);
}

/* Reads one character at p (n bytes of the file are there). Returns its bytes, 0 when it is cut
 * off, -1 when it is none. */
static int step_utf16(const struct text *t, const unsigned char *p, size_t n, uint32_t *ret_cp)
{
    uint32_t low;

    if (n < 2)
        return 0;
    *ret_cp = unit_at(t, p);
    if (*ret_cp < 0xD800 || *ret_cp > 0xDFFF)
        return 2;
    if (*ret_cp > 0xDBFF)
        return -1;
    if (n < 4)
        return 0;
    low = unit_at(t, p + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    *ret_cp = 0x10000 + ((*ret_cp - 0xD800) << 10) + (low - 0xDC00);
    return 4;
}

static bool read_utf16(
    struct text *t, char *to, size_t room, size_t *ret_n, struct import_problem *problem)
{
    unsigned char block[4096];
    size_t want = room / 3 * 2 < sizeof(block) ? room / 3 * 2 : sizeof(block), i = 0, out = 0;
    size_t n = bytes_read(&t->bytes, t->at, (char *)block, want < 4 ? 4 : want);
    bool last = t->at + n >= t->bytes.size;
    int step = 0;

    for (; i < n; i += (size_t)step) {
        uint32_t cp;

        step = step_utf16(t, block + i, n - i, &cp);
        if (step <= 0)
            break;
        out += utf8_put(cp ? cp : TEXT_NUL, to + out);
    }
    if (step < 0 || (last && i < n))
        return problem_set(problem, ERR_FILE_ENCODING, 0, 0, t->at + i,
            "byte %llu of the file is not %s", (unsigned long long)t->at + i, names[t->encoding]);
    t->at += i;
    *ret_n = out;
    return true;
}

bool text_read(struct text *t, char *to, size_t room, size_t *ret_n, struct import_problem *problem)
{
    switch (t->encoding) {
    case TEXT_UTF8:
        *ret_n = bytes_read(&t->bytes, t->at, to, room);
        for (char *p = to; (p = memchr(p, 0, (size_t)(to + *ret_n - p)));)
            *p = TEXT_NUL;
        t->at += *ret_n;
        return true;
    case TEXT_UTF16LE:
    case TEXT_UTF16BE:
        return read_utf16(t, to, room, ret_n, problem);
    case TEXT_WINDOWS_1252:
    case TEXT_ISO_8859_1:
    case TEXT_ISO_8859_15:
        return read_one_byte(t, to, room, ret_n, problem);
    }
    return false;
}

/* ---- normal form ---- */

bool text_surely_nfc(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] >= 0xCC)
            return false;
    return true;
}

wharf_str text_nfc(struct arena *a, wharf_str s)
{
    utf8proc_uint8_t *made = NULL;
    utf8proc_ssize_t n;

    if (text_surely_nfc(s.p, s.n))
        return s;
    n = utf8proc_map((const utf8proc_uint8_t *)s.p, (utf8proc_ssize_t)s.n, &made,
        UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (n >= 0 && ((size_t)n != s.n || memcmp(made, s.p, s.n) != 0))
        s = arena_dup(a, (const char *)made, (size_t)n);
    free(made);
    return s;
}
