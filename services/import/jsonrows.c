/* jsonrows.c - the objects of a JSON file, one at a time: an array of objects, or one object per
 * line.
 *
 * Where an object ends is found by counting brackets outside texts; the object is then read by
 * the strict reader, which has the last word. Leaves to others: what the objects mean. */
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"
#include "util/json.h"
#include "wharf/errors.h"

enum { BLOCK = 64 << 10 };

static bool syntax(const struct json_rows *j, struct import_problem *problem, uint64_t line,
    uint64_t column, const char *why)
{
    (void)j;
    return problem_set(problem, ERR_FILE_JSON_SYNTAX, line, column, 0, "line %llu, column %llu: %s",
        (unsigned long long)line, (unsigned long long)column, why);
}

static bool jsonrows_more(struct json_rows *j, struct import_problem *problem)
{
    size_t got = 0, before;

    if (j->ended)
        return false;
    memmove(j->p, j->p + j->at, j->n - j->at);
    j->n -= j->at;
    j->at = 0;
    if (j->cap - j->n < BLOCK + TEXT_ROOM) {
        char *p = realloc(j->p, 2 * j->cap + 1);

        if (!p)
            return problem_set(
                problem, ERR_FILE_TOO_COMPLEX, j->line, 0, 0, "no memory for an object so long");
        j->cap *= 2;
        j->p = p;
    }
    for (before = j->n; j->n - before < BLOCK && !j->ended; j->n += got) {
        if (!text_read(j->text, j->p + j->n, j->cap - j->n, &got, problem))
            return false;
        j->ended = got == 0;
    }
    j->p[j->n] = 0;
    return j->n > before;
}

/* Skips white space; *ret_newline: a line end was among it. Returns the next character, 0 at the
 * end or after a problem. */
static char jsonrows_skip(struct json_rows *j, bool *ret_newline, struct import_problem *problem)
{
    *ret_newline = false;
    for (;;) {
        while (j->at < j->n) {
            char c = j->p[j->at];

            if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
                return c;
            j->column++;
            if (c == '\n') {
                j->line++;
                j->column = 1;
                *ret_newline = true;
            }
            j->at++;
        }
        if (!jsonrows_more(j, problem))
            return 0;
    }
}

/* Moves line and column over [from, to) of the text: columns count characters. */
static void count_over(const char *p, size_t n, uint64_t *line, uint64_t *column)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n') {
            ++*line;
            *column = 1;
        } else {
            *column += ((unsigned char)p[i] & 0xC0) != 0x80;
        }
    }
}

struct scan {
    size_t i, depth;
    bool text, escape;
};

/* Goes on to the end of the object. True: found, s->i is behind it. */
static bool scan_object(struct json_rows *j, struct scan *s, struct import_problem *problem)
{
    for (; j->at + s->i < j->n; s->i++) {
        char c = j->p[j->at + s->i];

        if (s->escape) {
            s->escape = false;
        } else if (s->text) {
            s->escape = c == '\\';
            s->text = c != '"';
        } else if (c == '"') {
            s->text = true;
        } else if (c == '{' || c == '[') {
            if (++s->depth > IMPORT_JSON_DEPTH)
                return problem_set(problem, ERR_FILE_TOO_COMPLEX, j->line, 0, 0,
                    "the object in line %llu is nested deeper than %d", (unsigned long long)j->line,
                    IMPORT_JSON_DEPTH);
        } else if ((c == '}' || c == ']') && --s->depth == 0) {
            s->i++;
            return true;
        }
    }
    return false;
}

/* Takes the object at j->at, which is a '{'. */
static int jsonrows_take_object(struct json_rows *j, struct arena *a, wharf_str *ret_object,
    uint64_t *ret_line, struct import_problem *problem)
{
    struct scan s = {0};
    struct json_error e = {0};
    uint64_t line = j->line, column = j->column;

    while (!scan_object(j, &s, problem)) {
        if (problem->code)
            return -1;
        if (s.i > IMPORT_RECORD_MAX) {
            problem_set(problem, ERR_FILE_TOO_COMPLEX, j->line, 0, 0,
                "the object in line %llu is longer than 4 MiB", (unsigned long long)j->line);
            return -1;
        }
        if (!jsonrows_more(j, problem) && !problem->code && j->at + s.i >= j->n) {
            count_over(j->p + j->at, s.i, &line, &column);
            syntax(j, problem, line, column, "the file ends inside an object");
        }
        if (problem->code)
            return -1;
    }
    *ret_line = j->line;
    *ret_object = (wharf_str){j->p + j->at, s.i};
    if (s.i > IMPORT_RECORD_MAX) {
        problem_set(problem, ERR_FILE_TOO_COMPLEX, j->line, 0, 0,
            "the object in line %llu is longer than 4 MiB", (unsigned long long)j->line);
        return -1;
    }
    if (!json_parse(a, *ret_object, &e)) {
        count_over(j->p + j->at, e.offset < s.i ? e.offset : s.i, &line, &column);
        syntax(j, problem, line, column, e.message);
        return -1;
    }
    count_over(j->p + j->at, s.i, &j->line, &j->column);
    j->at += s.i;
    j->any = true;
    return 1;
}

static int jsonrows_wrong(struct json_rows *j, struct import_problem *problem, const char *why)
{
    if (!problem->code)
        syntax(j, problem, j->line, j->column, why);
    return -1;
}

static void jsonrows_over(struct json_rows *j)
{
    j->at++;
    j->column++;
}

static int next_of_array(struct json_rows *j, struct import_problem *problem)
{
    bool newline;
    char c = jsonrows_skip(j, &newline, problem);

    if (c == ']') {
        jsonrows_over(j);
        j->closed = true;
        return jsonrows_skip(j, &newline, problem) == 0 && !problem->code
                   ? 0
                   : jsonrows_wrong(j, problem, "text after the array");
    }
    if (j->any) {
        if (c != ',')
            return jsonrows_wrong(
                j, problem, c ? "a comma or ] is missing" : "the array is not closed");
        jsonrows_over(j);
        c = jsonrows_skip(j, &newline, problem);
    }
    return c == '{' ? 1
                    : jsonrows_wrong(
                          j, problem, c ? "an object is expected here" : "the array is not closed");
}

static int next_of_lines(struct json_rows *j, struct import_problem *problem)
{
    bool newline;
    char c = jsonrows_skip(j, &newline, problem);

    if (!c)
        return problem->code ? -1 : 0;
    if (j->any && !newline)
        return jsonrows_wrong(j, problem, "each object stands in a line of its own");
    return c == '{' ? 1 : jsonrows_wrong(j, problem, "an object is expected here");
}

bool json_rows_open(struct json_rows *j, struct text *text, struct import_problem *problem)
{
    bool newline;

    *j = (struct json_rows){.text = text, .cap = BLOCK, .line = 1, .column = 1};
    j->p = malloc(j->cap + 1);
    if (!j->p)
        return problem_set(problem, ERR_FILE_TOO_COMPLEX, 0, 0, 0, "no memory to read the file");
    if (jsonrows_skip(j, &newline, problem) == '[') {
        j->array = true;
        jsonrows_over(j);
    }
    return !problem->code;
}

void json_rows_close(struct json_rows *j)
{
    free(j->p);
    j->p = NULL;
}

int json_rows_next(struct json_rows *j, struct arena *a, wharf_str *ret_object, uint64_t *ret_line,
    struct import_problem *problem)
{
    int got = j->closed ? 0 : j->array ? next_of_array(j, problem) : next_of_lines(j, problem);

    return got == 1 ? jsonrows_take_object(j, a, ret_object, ret_line, problem) : got;
}
