/* migrate_file.c - see migrate_file.h. Text only; leaves running it to migrate.c. */
#include "db/migrate_file.h"

#include <string.h>

#include "util/str.h"

const char *migrate_phase_name(enum migrate_phase phase)
{
    switch (phase) {
    case PHASE_EXPAND:
        return "expand";
    case PHASE_BACKFILL:
        return "backfill";
    case PHASE_CONTRACT:
        return "contract";
    }
    return "expand";
}

static bool migrate_file_read_pair(wharf_str word, struct migrate_header *h)
{
    if (str_eqz(word, "phase=expand"))
        h->phase = PHASE_EXPAND;
    else if (str_eqz(word, "phase=backfill"))
        h->phase = PHASE_BACKFILL;
    else if (str_eqz(word, "phase=contract"))
        h->phase = PHASE_CONTRACT;
    else if (str_eqz(word, "tx=no"))
        h->tx = false;
    else if (str_eqz(word, "order=first"))
        h->order = ORDER_FIRST;
    else if (str_eqz(word, "order=last"))
        h->order = ORDER_LAST;
    else
        return str_eqz(word, "tx=yes");
    return true;
}

bool migrate_header(
    wharf_str sql, struct migrate_header *ret, struct arena *a, wharf_str *ret_error)
{
    static const char mark[] = "-- wharf:";
    const char *p = sql.p;

    *ret = (struct migrate_header){.phase = PHASE_EXPAND, .tx = true, .order = ORDER_USUAL};
    while (strncmp(p, "--", 2) == 0 || *p == '\n') {
        const char *end = p + strcspn(p, "\n");

        if (strncmp(p, mark, sizeof(mark) - 1) == 0) {
            for (p += sizeof(mark) - 1; p < end;) {
                size_t blank = strspn(p, " \t\r"), n = strcspn(p + blank, " \t\r\n");
                wharf_str word = arena_dup(a, p + blank, n);

                if (n && !migrate_file_read_pair(word, ret)) {
                    *ret_error = arena_printf(a,
                        "\"%s\" is not known after \"%s\"; write phase=expand, phase=backfill, "
                        "phase=contract, tx=no, order=first or order=last",
                        word.p, mark);
                    return false;
                }
                p += blank + n;
            }
        }
        p = *end ? end + 1 : end;
    }
    return true;
}

/* Each skip_ function returns the first byte after what begins at p; end when it is not closed. */

static const char *skip_line_comment(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));

    return newline ? newline + 1 : end;
}

static const char *skip_block_comment(const char *p, const char *end)
{
    unsigned depth = 0;

    while (p + 1 < end) {
        if (p[0] == '/' && p[1] == '*') {
            depth++;
            p += 2;
        } else if (p[0] == '*' && p[1] == '/') {
            p += 2;
            if (--depth == 0)
                return p;
        } else {
            p++;
        }
    }
    return end;
}

/* Skips a quoted text. A doubled quote ends one piece and begins the next, which comes to the
 * same. */
static const char *migrate_file_skip_quoted(const char *p, const char *end, bool escapes)
{
    char quote = *p++;

    while (p < end && *p != quote)
        p += escapes && *p == '\\' ? 2 : 1;
    return p < end ? p + 1 : end;
}

static bool is_tag_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Skips $tag$ ... $tag$; a $ that begins no tag ($1) is one character. */
static const char *skip_dollar(const char *p, const char *end)
{
    const char *tag_end = p + 1;
    size_t n;

    while (tag_end < end && is_tag_char(*tag_end))
        tag_end++;
    if (tag_end == end || *tag_end != '$' || (p[1] >= '0' && p[1] <= '9'))
        return p + 1;
    n = (size_t)(tag_end - p) + 1;
    for (const char *at = tag_end + 1; at + n <= end; at++)
        if (memcmp(at, p, n) == 0)
            return at + n;
    return end;
}

/* Tells whether the quote at p follows a lone E, as in E'it\'s'. */
static bool is_escape_quote(const char *start, const char *p)
{
    return p > start && (p[-1] | 0x20) == 'e' && !(p - 1 > start && is_tag_char(p[-2]));
}

/* Returns the end of the blank, comment, quoted text or single character at p. *ret_blank: it says
 * nothing to the server. */
static const char *skip_token(const char *start, const char *p, const char *end, bool *ret_blank)
{
    *ret_blank = true;
    if (*p && strchr(" \t\r\n\f\v", *p))
        return p + 1;
    if (p + 1 < end && p[0] == '-' && p[1] == '-')
        return skip_line_comment(p, end);
    if (p + 1 < end && p[0] == '/' && p[1] == '*')
        return skip_block_comment(p, end);
    *ret_blank = false;
    if (*p == '\'')
        return migrate_file_skip_quoted(p, end, is_escape_quote(start, p));
    if (*p == '"')
        return migrate_file_skip_quoted(p, end, false);
    /* a $ inside an identifier begins no quote */
    return *p == '$' && !(p > start && is_tag_char(p[-1])) ? skip_dollar(p, end) : p + 1;
}

bool migrate_statement(wharf_str *rest, wharf_str *ret_statement)
{
    const char *end = rest->p + rest->n, *p = rest->p, *from = NULL, *last = p;

    while (p < end && !(from && *p == ';')) {
        bool blank, empty = *p == ';';
        const char *next = skip_token(rest->p, p, end, &blank);

        if (!blank && !empty) {
            from = from ? from : p;
            last = next;
        }
        p = next;
    }
    if (!from) {
        *rest = (wharf_str){end, 0};
        return false;
    }
    *ret_statement = (wharf_str){from, (size_t)(last - from)};
    p += p < end;
    *rest = (wharf_str){p, (size_t)(end - p)};
    return true;
}
