/* import.c - opening a file, and the way of a row through its format, the header, and into JSON.
 * See import.h. */
#include "import/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/reader.h"
#include "wharf/errors.h"

/* Digits from which on a whole number is no name, version or amount. */
enum { WHOLE_MIN = 7 };

bool problem_set(struct import_problem *p, const char *code, uint64_t line, uint64_t column,
    uint64_t offset, const char *fmt, ...)
{
    va_list ap;

    if (p->code)
        return false;
    p->code = code;
    p->line = line;
    p->column = column;
    p->offset = offset;
    va_start(ap, fmt);
    vsnprintf(p->message, sizeof(p->message), fmt, ap);
    va_end(ap);
    return false;
}

/* ---- cells ---- */

static bool is_plain_end(char c)
{
    return c > ' ' && c < 0x7F;
}

wharf_str cell_clean(struct arena *a, wharf_str raw)
{
    if (raw.n > 0 && (!is_plain_end(raw.p[0]) || !is_plain_end(raw.p[raw.n - 1]))) {
        wharf_str trimmed = utf8_trim(raw);

        /* what follows the cell is its own NUL, or white space of its own that may be
         * overwritten by a copy only */
        raw = trimmed.p + trimmed.n == raw.p + raw.n ? trimmed : arena_dup_str(a, trimmed);
    }
    if (raw.n > 3 && raw.p[0] == '=' && raw.p[1] == '"' && raw.p[raw.n - 1] == '"' &&
        !memchr(raw.p + 2, '"', raw.n - 3)) /* ="00777": a formula that is a text */
        raw = arena_dup(a, raw.p + 2, raw.n - 3);
    if (raw.n > 1 && raw.p[0] == '\'' &&
        (strchr("=+-@", raw.p[1]) || strspn(raw.p + 1, "0123456789- ") == raw.n - 1))
        raw = (wharf_str){raw.p + 1, raw.n - 1};
    return text_nfc(a, raw);
}

int csv_row(struct import *in)
{
    int got = csv_next(&in->csv, &in->problem);

    if (got <= 0)
        return got;
    in->row_number = in->csv.record_line;
    in->n_cells = in->csv.n_cells;
    for (size_t i = 0; i < in->n_cells; i++) {
        in->cells[i] = (wharf_str){in->csv.cells[i].p, in->csv.cells[i].n};
        in->cell_fault[i] = CELL_GOOD;
    }
    return 1;
}

static int import_table_row(struct import *in)
{
    return in->format == IMPORT_CSV ? csv_row(in) : sheet_row(in);
}

static bool import_is_empty(const struct import *in)
{
    for (size_t i = 0; i < in->n_cells; i++)
        if (in->cells[i].n > 0)
            return false;
    return true;
}

/* Finds the headers: the first row that has something, or the one that was told. */
static bool find_headers(struct import *in)
{
    int got;

    do
        got = import_table_row(in);
    while (got == 1 && (in->row_number < in->options.header_row || import_is_empty(in)));
    if (got == 0)
        problem_set(&in->problem, ERR_BATCH_DATA_EMPTY, 0, 0, 0, "the file is empty");
    return got == 1 && headers_read(in);
}

/* ---- opening ---- */

static wharf_str import_keep(struct import *in, const char *z)
{
    return arena_dupz(in->arena, z ? z : "");
}

static void keep_options(struct import *in, const struct import_options *options)
{
    struct import_mapping *mapping = ARENA_ARRAY(
        in->arena, struct import_mapping, options->n_mapping + 1);
    struct import_field *fields = ARENA_ARRAY(
        in->arena, struct import_field, options->n_fields + 1);
    struct import_alias *aliases = ARENA_ARRAY(
        in->arena, struct import_alias, options->n_aliases + 1);

    in->options = *options;
    in->options.encoding = import_keep(in, options->encoding).p;
    in->options.sheet = import_keep(in, options->sheet).p;
    for (size_t i = 0; i < options->n_mapping; i++) {
        mapping[i].path = arena_dup_str(in->arena, options->mapping[i].path);
        mapping[i].header = arena_dup_str(in->arena, options->mapping[i].header);
    }
    for (size_t i = 0; i < options->n_fields; i++) {
        fields[i] = options->fields[i];
        fields[i].path = import_keep(in, options->fields[i].path).p;
    }
    for (size_t i = 0; i < options->n_aliases; i++) {
        const struct import_alias *a = &options->aliases[i];

        aliases[i] = *a;
        aliases[i].header = import_keep(in, a->header).p;
        aliases[i].path = import_keep(in, a->path).p;
        aliases[i].beside = a->beside ? import_keep(in, a->beside).p : NULL;
    }
    in->options.mapping = mapping;
    in->options.fields = fields;
    in->options.aliases = aliases;
}

static void close_fd(void *arg)
{
    close(*(int *)arg);
}

/* Writes the memory to a file: a cell takes files only. */
static bool memory_to_file(struct import *in)
{
    int *fd = ARENA_NEW(in->arena, int);
    uint64_t at = 0;

    *fd = memfd_create("import", MFD_CLOEXEC);
    if (*fd < 0)
        return problem_set(
            &in->problem, ERR_OVERLOADED, 0, 0, 0, "no descriptor is free; try again later");
    arena_on_release(in->arena, close_fd, fd);
    while (at < in->bytes.size) {
        ssize_t n = write(*fd, in->bytes.p + at, (size_t)(in->bytes.size - at));

        if (n <= 0)
            return problem_set(
                &in->problem, ERR_OVERLOADED, 0, 0, 0, "no memory for the file; try again later");
        at += (uint64_t)n;
    }
    in->bytes.fd = *fd;
    return true;
}

static void import_start(struct import *in)
{
    if (in->format == IMPORT_AUTO)
        in->format = detect_format(&in->bytes, in->options.encoding, &in->problem);
    if (in->problem.code)
        return;
    if (in->format == IMPORT_XLSX) {
        if ((in->bytes.fd >= 0 || memory_to_file(in)) && sheet_open(in))
            find_headers(in);
        return;
    }
    if (!text_open(
            &in->text, in->bytes, in->options.encoding, in->format == IMPORT_JSON, &in->problem))
        return;
    if (in->text.fallback)
        import_warn(
            in, ERR_FILE_ENCODING, str_z("the file is no UTF-8; it was read as Windows-1252"));
    if (in->format == IMPORT_JSON)
        json_rows_open(&in->json, &in->text, &in->problem);
    else if (csv_open(&in->csv, &in->text, in->options.delimiter, &in->problem))
        find_headers(in);
}

struct import *import_open(int fd, const char *p, size_t n, const struct import_options *options)
{
    struct import *in = calloc(1, sizeof(*in));
    struct stat st;

    if (!in)
        abort();
    in->arena = arena_new(0);
    in->row = arena_new(0);
    in->bytes = (struct bytes){fd, p, n};
    in->format = options->format;
    buf_init(&in->out, 8 * (size_t)IMPORT_RECORD_MAX);
    keep_options(in, options);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
        problem_set(
            &in->problem, ERR_FILE_NOT_AVAILABLE, 0, 0, 0, "this is no file that can be read");
    else if (fd >= 0)
        in->bytes.size = (uint64_t)st.st_size;
    if (!in->problem.code)
        import_start(in);
    return in;
}

void import_close(struct import *in)
{
    if (!in)
        return;
    sheet_close(in);
    csv_close(&in->csv);
    json_rows_close(&in->json);
    buf_done(&in->out);
    arena_free(in->row);
    arena_free(in->arena);
    free(in);
}

/* ---- rows ---- */

static void row_error(
    struct import *in, struct import_row *row, const char *code, size_t column, wharf_str message)
{
    wharf_str path = str_z("");

    if (column < in->n_columns)
        path = in->columns[column].path.n ? in->columns[column].path : in->columns[column].header;
    if (row->n_errors < IMPORT_ROW_ERRORS)
        row->errors[row->n_errors++] = (struct import_row_error){code, path, message};
}

/* Finds a character that no text has: a control character other than tab and line ends. 0: none. */
static unsigned control_character(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c < ' ' && !strchr("\t\n\r\f", c)) || c == 0x7F)
            return c;
    }
    return 0;
}

/* Tells whether the text is a number as spreadsheets show it when it has more digits than they
 * keep: "9.40011E+21", also with a comma. The digits that are missing are nowhere in the file. */
static bool is_rounded(wharf_str s)
{
    const char *p = s.p + (s.n > 0 && s.p[0] == '-'), *digits = "0123456789";
    size_t n;

    if (*p < '1' || *p > '9')
        return false;
    p++;
    if (*p == '.' || *p == ',')
        p += 1 + strspn(p + 1, digits);
    if ((p[0] != 'E' && p[0] != 'e') || p[1] != '+')
        return false;
    n = strspn(p + 2, digits);
    return n >= 2 && p + 2 + n == s.p + s.n;
}

/* Drops the ".0" that programs write behind whole numbers which they took for numbers with a
 * fraction: "491712345678.0". Only of long ones: "2.0" may be a name. */
static wharf_str without_zero_fraction(struct import *in, wharf_str s)
{
    size_t n = strspn(s.p, "0123456789");

    return n >= WHOLE_MIN && s.n == n + 2 && memcmp(s.p + n, ".0", 2) == 0
               ? arena_dup(in->row, s.p, n)
               : s;
}

/* Judges a cell of a column that fills a field, and makes it good. */
static void judge_cell(struct import *in, struct import_row *row, size_t i)
{
    const struct import_field *f = &in->options.fields[in->columns[i].field];
    wharf_str s = in->cells[i], why;
    unsigned control = in->cell_fault[i] ? 0 : control_character(s);

    if (control)
        in->cell_fault[i] = CELL_CONTROL;
    else if (!in->cell_fault[i] && f->type == IMPORT_T_TEXT && is_rounded(s))
        in->cell_fault[i] = CELL_ROUNDED;
    else if (!in->cell_fault[i] && f->type == IMPORT_T_TEXT)
        in->cells[i] = without_zero_fraction(in, s);
    switch ((enum cell_fault)in->cell_fault[i]) {
    case CELL_GOOD:
        return;
    case CELL_SHEET_ERROR:
        why = arena_printf(
            in->row, "the cell holds the error %.*s; correct the formula", STR_ARG(s));
        break;
    case CELL_NO_VALUE:
        why = str_z("the cell holds a formula whose value is not in the file; open the file in a "
                    "spreadsheet program and save it again");
        break;
    case CELL_CONTROL:
        why = arena_printf(in->row, "the cell holds the control character %s; remove it",
            control == TEXT_NUL ? "U+0000 or U+0001" : arena_printf(in->row, "U+%04X", control).p);
        break;
    case CELL_ROUNDED:
        why = arena_printf(in->row,
            "%.*s is a number that a spreadsheet has rounded; format the column as text and enter "
            "the digits again",
            STR_ARG(s));
        break;
    }
    row_error(in, row, ERR_ROW_CELL_ERROR, i, why);
}

/* Tells once that a column without a header has data. */
static void warn_nameless(struct import *in, size_t column)
{
    if (!in->nameless_told)
        import_warn(in, ERR_BATCH_HEADER_MISSING,
            arena_printf(in->row,
                "column %zu has data and no header; give it one, else the data is ignored",
                column + 1));
    in->nameless_told = true;
}

/* Trims, normalizes, and looks for what does not belong. False: nothing is in the row. */
static bool make_good(struct import *in, struct import_row *row)
{
    size_t surplus = 0;
    bool any = false;

    for (size_t i = 0; i < in->n_cells; i++) {
        in->cells[i] = cell_clean(in->row, in->cells[i]);
        any = any || in->cells[i].n > 0;
        if (i >= in->n_columns && in->cells[i].n > 0)
            surplus++;
        else if (in->cells[i].n > 0 && !in->columns[i].header.n)
            warn_nameless(in, i);
        else if (i < in->n_columns && in->cells[i].n > 0 && in->columns[i].field >= 0)
            judge_cell(in, row, i);
    }
    if (surplus)
        row_error(in, row, ERR_ROW_TOO_MANY_COLUMNS, in->n_columns,
            arena_printf(
                in->row, "the row has %zu values more than the header has columns", surplus));
    row->n_cells = in->n_cells < in->n_columns ? in->n_cells : in->n_columns;
    return any;
}

static enum import_event next_of_table(struct import *in, struct import_row *row)
{
    for (;;) {
        int got = import_table_row(in);

        if (got <= 0)
            return got == 0 ? IMPORT_END : IMPORT_FAILED;
        *row = (struct import_row){.row = in->row_number, .cells = in->cells};
        if (make_good(in, row))
            return IMPORT_ROW;
    }
}

static enum import_event next_of_json(struct import *in, struct import_row *row)
{
    int got;

    *row = (struct import_row){0};
    got = json_rows_next(&in->json, in->row, &row->json, &row->row, &in->problem);
    if (got == 1)
        row->json = text_nfc(in->row, row->json);
    return got == 1 ? IMPORT_ROW : got == 0 ? IMPORT_END : IMPORT_FAILED;
}

enum import_event import_next(struct import *in, struct import_row *ret_row)
{
    enum import_event event;

    if (in->problem.code || in->ended)
        return in->problem.code ? IMPORT_FAILED : IMPORT_END;
    arena_reset(in->row);
    event = in->format == IMPORT_JSON ? next_of_json(in, ret_row) : next_of_table(in, ret_row);
    if (event == IMPORT_END && !in->any) {
        problem_set(&in->problem, ERR_BATCH_DATA_EMPTY, 0, 0, 0, "the file has no rows");
        event = IMPORT_FAILED;
    }
    in->any = true;
    in->ended = event == IMPORT_END;
    return event;
}

wharf_str import_json(struct import *in, const struct import_row *row)
{
    return in->root ? object_write(in) : row->json;
}

wharf_str import_text(struct import *in, wharf_str path, int *ret_column)
{
    *ret_column = -1;
    return in->root ? object_text(in, path, ret_column) : str_z("");
}

/* ---- what is known of the file ---- */

const struct import_problem *import_problem(const struct import *in)
{
    return in->problem.code ? &in->problem : NULL;
}

enum import_format import_format(const struct import *in)
{
    return in->format;
}

const char *import_encoding(const struct import *in)
{
    return in->format == IMPORT_XLSX ? "" : text_encoding_name(in->text.encoding);
}

char import_delimiter(const struct import *in)
{
    return in->format == IMPORT_CSV ? in->csv.delimiter : 0;
}

wharf_str import_sheet(const struct import *in)
{
    return in->sheet.name.p ? in->sheet.name : str_z("");
}

const struct import_column *import_columns(const struct import *in, size_t *ret_n)
{
    *ret_n = in->n_columns;
    return in->columns;
}

const struct import_warning *import_warnings(const struct import *in, size_t *ret_n)
{
    *ret_n = in->n_warnings;
    return in->warnings;
}
