/* import_csv.c - see import_csv.h.
 *
 * Speed comes from looking at 64 bytes at once: one mask says where delimiters, quotes and line
 * ends are, and everything between them is never looked at. Cells stay where they are in the
 * buffer; a NUL goes over what ended them. */
#include "import/import_csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/problem.h"
#include "wharf/errors.h"

enum {
    BLOCK = 256 << 10,
    WIDTH = 64,
    SAMPLE_RECORDS = 20 /* rows of which the delimiter is guessed */
};

static const char candidates[] = {',', ';', '\t', '|'};

/* ---- the mask ---- */

/* Returns one bit per byte of x that equals c. */
static uint64_t equal_bytes(uint64_t x, char c)
{
    const uint64_t ones = 0x0101010101010101u, low7 = 0x7F7F7F7F7F7F7F7Fu;
    uint64_t y = x ^ (ones * (unsigned char)c), zero = ~(((y & low7) + low7) | y | low7);

    return ((zero >> 7) * 0x0102040810204080u) >> 56;
}

static uint64_t marks_of(const char *p, char delimiter)
{
    uint64_t marks = 0;

    for (int i = 0; i < WIDTH; i += 8) {
        uint64_t x;

        memcpy(&x, p + i, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        x = __builtin_bswap64(x);
#endif
        marks |= (equal_bytes(x, delimiter) | equal_bytes(x, '"') | equal_bytes(x, '\r') |
                     equal_bytes(x, '\n'))
                 << i;
    }
    return marks;
}

static void look_from(struct csv *c, size_t at)
{
    c->mark_at = at;
    c->marks = at < c->n ? marks_of(c->p + at, c->delimiter) : 0;
}

/* Returns the next mark and goes over it; c->n: there is none in the buffer. */
static inline size_t next_mark(struct csv *c)
{
    size_t found;

    while (!c->marks) {
        if (c->mark_at + WIDTH >= c->n)
            return c->n;
        look_from(c, c->mark_at + WIDTH);
    }
    found = c->mark_at + (size_t)__builtin_ctzll(c->marks);
    c->marks &= c->marks - 1;
    return found < c->n ? found : c->n;
}

/* ---- the buffer ---- */

/* Drops what was read and reads more behind the rest. Returns false when nothing more came
 * (ended), or after a problem. */
static bool import_csv_more(struct csv *c, struct import_problem *problem)
{
    size_t got = 0, before;

    if (c->ended)
        return false;
    memmove(c->p, c->p + c->at, c->n - c->at);
    c->n -= c->at;
    c->at = 0;
    if (c->cap - c->n < BLOCK + TEXT_ROOM) {
        char *p = realloc(c->p, 2 * c->cap + WIDTH + 1);

        if (!p)
            return problem_set(
                problem, ERR_FILE_TOO_COMPLEX, c->line, 0, 0, "no memory for a record so long");
        c->cap *= 2;
        c->p = p;
    }
    /* much at once: a record that is cut off is looked at again from its beginning */
    for (before = c->n; c->n - before < BLOCK && !c->ended; c->n += got) {
        if (!text_read(c->text, c->p + c->n, c->cap - c->n, &got, problem))
            return false;
        c->ended = got == 0;
    }
    memset(c->p + c->n, 0, WIDTH + 1);
    return c->n > before;
}

/* ---- one record ---- */

enum outcome { DONE, SHORT /* the buffer ends before the record */, BROKEN };

static bool import_csv_is_blank(char ch, char delimiter)
{
    return (ch == ' ' || ch == '\t') && ch != delimiter;
}

/* Reads from the opening quote at *from to the mark that ends the cell. */
static enum outcome quoted_cell(struct csv *c, size_t from, struct csv_cell *cell, uint64_t *lines,
    size_t *ret_end, struct import_problem *problem)
{
    size_t blank, end;
    bool doubled = false;

    for (;;) {
        end = next_mark(c);
        if (end == c->n) {
            if (!c->ended)
                return SHORT;
            problem_set(problem, ERR_FILE_CSV_SYNTAX, c->line, 0, 0,
                "the quote opened in line %llu is never closed; close it, or double quotes inside "
                "quoted text",
                (unsigned long long)c->line + *lines);
            return BROKEN;
        }
        if (c->p[end] != '"') {
            *lines += c->p[end] == '\n' || (c->p[end] == '\r' && c->p[end + 1] != '\n');
            continue;
        }
        if (end + 1 == c->n && !c->ended)
            return SHORT;
        if (c->p[end + 1] != '"' || end + 1 == c->n)
            break;
        next_mark(c);
        doubled = true;
    }
    *cell = (struct csv_cell){c->p + from + 1, (uint32_t)(end - from - 1), true, doubled};
    blank = end + 1;
    end = next_mark(c);
    while (blank < end && import_csv_is_blank(c->p[blank], c->delimiter))
        blank++;
    if (blank < end || (end < c->n && c->p[end] == '"')) {
        problem_set(problem, ERR_FILE_CSV_SYNTAX, c->line + *lines, 0, 0,
            "line %llu has text after a closing quote; double quotes inside quoted text",
            (unsigned long long)c->line + *lines);
        return BROKEN;
    }
    *ret_end = end;
    return end == c->n && !c->ended ? SHORT : DONE;
}

/* Returns where the opening quote of a cell stands that is quoted with something before the quote:
 * blanks, or the '=' of a formula that is a text (="00777"). NULL: none. */
static char *late_quote(const struct csv *c, size_t from)
{
    char *p = c->p + from;

    while (import_csv_is_blank(*p, c->delimiter))
        p++;
    p += *p == '=' && c->delimiter != '=';
    return *p == '"' && p > c->p + from && p < c->p + c->n ? p : NULL;
}

static enum outcome plain_cell(struct csv *c, size_t from, struct csv_cell *cell, size_t *ret_end)
{
    size_t end;

    /* a quote inside is a letter like others */
    do
        end = next_mark(c);
    while (end < c->n && c->p[end] == '"');
    *cell = (struct csv_cell){c->p + from, (uint32_t)(end - from), false, false};
    *ret_end = end;
    return end == c->n && !c->ended ? SHORT : DONE;
}

/* Reads a cell that begins with blanks or '='. When it is no whole quoted cell, its quotes are
 * letters. */
static enum outcome late_cell(struct csv *c, size_t from, char *quote, struct csv_cell *cell,
    uint64_t *lines, size_t *ret_end)
{
    struct import_problem unused = {0};
    uint64_t marks = c->marks, added = 0;
    size_t at = c->mark_at;
    enum outcome o;

    next_mark(c);
    o = quoted_cell(c, (size_t)(quote - c->p), cell, &added, ret_end, &unused);
    if (o == BROKEN) {
        c->marks = marks;
        c->mark_at = at;
        return plain_cell(c, from, cell, ret_end);
    }
    *lines += added;
    return o;
}

/* Removes one of two quotes. Only when the whole record is there: what was changed can't be read
 * again. */
static void undouble(struct csv_cell *cell)
{
    char *to = memchr(cell->p, '"', cell->n), *from = to, *end = cell->p + cell->n;

    while (from < end) {
        char *stop;

        *to++ = '"';
        from += 2;
        stop = memchr(from, '"', (size_t)(end - from));
        stop = stop ? stop : end;
        memmove(to, from, (size_t)(stop - from));
        to += stop - from;
        from = stop;
    }
    cell->n = (uint32_t)(to - cell->p);
}

static bool within_limits(
    const struct csv *c, size_t from, size_t to, struct import_problem *problem)
{
    if (c->n_cells > 0 && c->cells[c->n_cells - 1].n > IMPORT_FIELD_MAX)
        return problem_set(problem, ERR_FILE_TOO_COMPLEX, c->line, 0, 0,
            "line %llu has a cell of more than 1 MiB", (unsigned long long)c->line);
    if (to - from > IMPORT_RECORD_MAX)
        return problem_set(problem, ERR_FILE_TOO_COMPLEX, c->line, 0, 0,
            "the record in line %llu is longer than 4 MiB; is the delimiter right, and every quote "
            "closed?",
            (unsigned long long)c->line);
    return true;
}

static enum outcome one_cell(struct csv *c, size_t from, struct csv_cell *cell, uint64_t *lines,
    size_t *ret_end, struct import_problem *problem)
{
    char *late;

    if (c->p[from] == '"' && from < c->n) {
        next_mark(c);
        return quoted_cell(c, from, cell, lines, ret_end, problem);
    }
    late = late_quote(c, from);
    return late ? late_cell(c, from, late, cell, lines, ret_end)
                : plain_cell(c, from, cell, ret_end);
}

/* Reads the record at c->at. With DONE *ret_next is behind its line end. */
static enum outcome import_csv_record(
    struct csv *c, size_t *ret_next, uint64_t *ret_lines, struct import_problem *problem)
{
    size_t from = c->at, end = from;
    uint64_t lines = 0;
    enum outcome o = DONE;
    char ended_by;

    c->n_cells = 0;
    look_from(c, from);
    do {
        struct csv_cell cell;

        if (c->n_cells == IMPORT_COLUMNS_MAX) {
            problem_set(problem, ERR_FILE_TOO_COMPLEX, c->line, 0, 0,
                "line %llu has more than 512 columns", (unsigned long long)c->line);
            return BROKEN;
        }
        o = one_cell(c, from, &cell, &lines, &end, problem);
        if (o != DONE)
            break;
        c->cells[c->n_cells++] = cell;
        if (!within_limits(c, c->at, end, problem))
            return BROKEN;
        from = end + 1;
    } while (end < c->n && c->p[end] == c->delimiter);
    if (o == SHORT && !within_limits(c, c->at, c->n, problem))
        return BROKEN;
    /* whether LF follows this CR must be known */
    if (o == DONE && end + 1 >= c->n && !c->ended && c->p[end] == '\r')
        return SHORT;
    if (o != DONE)
        return o;
    ended_by = end < c->n ? c->p[end] : 0;
    *ret_next = end < c->n ? end + 1 + (ended_by == '\r' && c->p[end + 1] == '\n') : c->n;
    *ret_lines = lines + 1;
    for (size_t i = 0; i < c->n_cells; i++) {
        if (c->cells[i].doubled)
            undouble(&c->cells[i]);
        c->cells[i].p[c->cells[i].n] = 0;
    }
    return DONE;
}

static bool is_blank_line(const struct csv *c)
{
    if (c->n_cells != 1 || c->cells[0].quoted)
        return c->n_cells == 0;
    for (uint32_t i = 0; i < c->cells[0].n; i++)
        if (!strchr(" \t\x1A", c->cells[0].p[i]))
            return false;
    return true;
}

int csv_next(struct csv *c, struct import_problem *problem)
{
    for (;;) {
        uint64_t lines = 0;
        size_t next = 0;
        enum outcome o;

        if (c->at == c->n && !import_csv_more(c, problem))
            return problem->code ? -1 : 0;
        o = import_csv_record(c, &next, &lines, problem);
        if (o == BROKEN)
            return -1;
        if (o == SHORT) {
            /* when nothing more comes the same record ends with the text */
            if (!import_csv_more(c, problem) && problem->code)
                return -1;
            continue;
        }
        c->record_line = c->line;
        c->line += lines;
        c->at = next;
        if (!is_blank_line(c))
            return 1;
    }
}

/* ---- the delimiter ---- */

static bool is_line_end(char ch)
{
    return ch == '\n' || ch == '\r';
}

/* Counts how often the delimiter stands in each of the first records, outside quotes. A line
 * without anything is no record. */
static unsigned count_delimiters(const struct csv *c, char delimiter, size_t counts[SAMPLE_RECORDS])
{
    unsigned n = 0;
    bool quoted = false, fresh = true, any = false;

    counts[0] = 0;
    for (size_t at = c->at; at < c->n && n < SAMPLE_RECORDS; at++) {
        char ch = c->p[at];

        if (!quoted && is_line_end(ch)) {
            n += any;
            if (n < SAMPLE_RECORDS)
                counts[n] = 0;
            fresh = true;
            any = false;
            continue;
        }
        any = true;
        /* a doubled quote closes and opens again: the same for counting */
        if (ch == '"' && (fresh || quoted))
            quoted = !quoted;
        else if (!quoted && ch == delimiter)
            counts[n]++;
        fresh = !quoted &&
                (ch == delimiter || (fresh && (import_csv_is_blank(ch, delimiter) || ch == '=')));
    }
    return n < SAMPLE_RECORDS ? n + any : n;
}

/* Counts the first records in which this delimiter occurs equally often (the most frequent such
 * number, at least 1). */
static unsigned votes(
    const struct csv *c, char delimiter, unsigned *ret_records, bool *ret_in_first)
{
    size_t counts[SAMPLE_RECORDS];
    unsigned n = count_delimiters(c, delimiter, counts), best = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned same = 0;

        for (unsigned k = 0; k < n; k++)
            same += counts[k] == counts[i];
        if (counts[i] > 0 && same > best)
            best = same;
    }
    *ret_records = n;
    *ret_in_first = n > 0 && counts[0] > 0;
    return best;
}

static char find_delimiter(const struct csv *c)
{
    char most = 0, any = ',';
    unsigned most_votes = 0, any_votes = 0;

    for (size_t i = 0; i < sizeof(candidates); i++) {
        unsigned records;
        bool in_first;
        unsigned n = votes(c, candidates[i], &records, &in_first);

        if (2 * n > records && n > most_votes) {
            most = candidates[i];
            most_votes = n;
        }
        /* no majority: the header decides, whose cells the rows should have */
        if (in_first && n > any_votes) {
            any = candidates[i];
            any_votes = n;
        }
    }
    return most ? most : any;
}

/* Reads a first line "sep=X", which names the delimiter and is no record; also in quotes, in
 * capitals, with "\t" for a tab, and with empty cells behind it. */
static bool reported_by_first_line(struct csv *c)
{
    const char *p = c->p + c->at;
    bool quoted = *p == '"';
    char found;

    p += quoted;
    if (strncasecmp(p, "sep=", 4) != 0)
        return false;
    p += 4;
    found = strncmp(p, "\\t", 2) == 0 ? '\t' : *p;
    if (strchr("\n\r\"", found)) /* NUL too: the file ends here */
        return false;
    p += found == '\t' && *p == '\\' ? 2 : 1;
    if (quoted && *p++ != '"')
        return false;
    /* a program that saved the file again has written it as a row with empty cells */
    while (import_csv_is_blank(*p, 0) || (*p == found && found != '\t'))
        p++;
    if (*p && !is_line_end(*p))
        return false;
    c->delimiter = found;
    p += *p == '\r' && p[1] == '\n' ? 2 : *p != 0;
    c->at = (size_t)(p - c->p);
    c->line++;
    return true;
}

bool csv_open(struct csv *c, struct text *text, char delimiter, struct import_problem *problem)
{
    memset(c, 0, offsetof(struct csv, cells));
    c->n_cells = 0;
    c->text = text;
    c->line = 1;
    c->cap = 2 * BLOCK;
    c->p = malloc(c->cap + WIDTH + 1);
    if (!c->p)
        return problem_set(problem, ERR_FILE_TOO_COMPLEX, 0, 0, 0, "no memory to read the file");
    while (c->n < BLOCK && import_csv_more(c, problem))
        continue;
    if (problem->code)
        return false;
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r')
        return problem_set(
            problem, ERR_PARAM_INVALID, 0, 0, 0, "file.delimiter can't be a quote or a line end");
    if (reported_by_first_line(c) && !delimiter)
        return true;
    c->delimiter = delimiter ? delimiter : find_delimiter(c);
    return true;
}

void csv_close(struct csv *c)
{
    free(c->p);
    c->p = NULL;
}
