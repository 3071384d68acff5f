/* rows.c - the rows of a sheet as blocks (services/import/sheet_wire.h). Empty rows and cells
 * cost nothing beyond their XML. */
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "child.h"
#include "wharf/errors.h"

enum { ODD_MAX = 64 /* a sheet that writes its rows otherwise is not asked for ever */ };
enum kind { NUMBER, SHARED, INLINE, STRING, BOOLEAN, ERROR_VALUE, DATE };

struct reading {
    struct text_buf block; /* to be sent */
    size_t row_at; /* where the current row's head stands in block */
    uint32_t row, column; /* current, from 1 and from 0 */
    uint32_t next_column;
    uint32_t cells; /* of the row, in block */
    enum kind kind;
    unsigned style;
    struct text_buf text; /* of the cell */
    bool in_data, in_row, in_cell, collect;
    bool formula, has_value; /* the cell has a formula; a stored value or text, maybe empty */
    unsigned phonetic;
    struct plain_row *plain;
    unsigned odd; /* rows in a row that were not plain */
    size_t merge_at; /* merges before it end above the current row */
    uint64_t merge_work; /* ranges looked at */
};

/* ---- merged cells ---- */

static bool cell_name(const char *p, const char *end, uint32_t *ret_column, uint32_t *ret_row)
{
    uint32_t column = 0, row = 0;

    for (; p < end && *p >= 'A' && *p <= 'Z' && column < 100000; p++)
        column = 26 * column + (uint32_t)(*p - 'A' + 1);
    for (; p < end && *p >= '0' && *p <= '9' && row <= ROWS_MAX; p++)
        row = 10 * row + (uint32_t)(*p - '0');
    if (p != end || column == 0 || column > 16384 || row == 0 || row > ROWS_MAX)
        return false;
    *ret_column = column - 1;
    *ret_row = row;
    return true;
}

static void merge_start(struct xml *x, const char *name, const char **attributes)
{
    struct book *b = x->book;
    const char *ref = strcmp(name, "mergeCell") == 0 ? xml_attribute(attributes, "ref") : NULL;
    const char *colon = ref ? strchr(ref, ':') : NULL;
    struct merge m;

    if (!colon || !cell_name(ref, colon, &m.first_column, &m.first_row) ||
        !cell_name(colon + 1, colon + strlen(colon), &m.last_column, &m.last_row))
        return;
    if (b->n_merges == MERGES_MAX) {
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "the sheet has more than 65536 merged ranges");
        return;
    }
    if (b->n_merges % 1024 == 0)
        b->merges = cell_realloc(b->merges, (b->n_merges + 1024) * sizeof(m));
    b->merges[b->n_merges++] = m;
}

static int rows_by_row(const void *a, const void *b)
{
    const struct merge *x = a, *y = b;

    return (x->first_row > y->first_row) - (x->first_row < y->first_row);
}

/* Looks for merged ranges in the bytes: they stand behind the cells that they hide, and this look
 * is far cheaper than reading the XML twice. */
static bool has_merges(struct book *b, const struct zip_entry *entry, bool *ret_any)
{
    static const char word[] = "mergeCell";
    enum { KEEP = sizeof(word) - 2 };
    struct zip_part *part = cell_alloc(sizeof(*part));
    char *block = cell_alloc(KEEP + ZIP_BLOCK);
    size_t kept = 0;
    bool good = zip_part_open(part, &b->zip, entry, true);

    *ret_any = false;
    for (long n = 1; good && n > 0;) {
        n = zip_part_read(part, block + kept, ZIP_BLOCK);
        good = n >= 0;
        if (n <= 0)
            break;
        *ret_any = *ret_any || memmem(block, kept + (size_t)n, word, sizeof(word) - 1);
        n += (long)kept;
        kept = n < KEEP ? (size_t)n : KEEP;
        memmove(block, block + n - (long)kept, kept);
    }
    zip_part_close(part);
    free(part);
    free(block);
    return good;
}

static bool read_merges(struct book *b, const struct zip_entry *entry)
{
    struct xml x = {.book = b, .start = merge_start};
    bool any;

    if (!has_merges(b, entry, &any))
        return false;
    if (any && !xml_read(&x, entry, false))
        return false;
    if (b->n_merges)
        qsort(b->merges, b->n_merges, sizeof(*b->merges), rows_by_row);
    return true;
}

/* Tells whether the current cell is hidden under the top left one of a range. */
static bool rows_is_hidden(struct xml *x, struct reading *r)
{
    const struct book *b = x->book;

    while (r->merge_at < b->n_merges && b->merges[r->merge_at].last_row < r->row)
        r->merge_at++;
    for (size_t i = r->merge_at; i < b->n_merges && b->merges[i].first_row <= r->row; i++) {
        const struct merge *m = &b->merges[i];

        if (++r->merge_work > MERGE_WORK_MAX)
            xml_fail(x, ERR_FILE_TOO_COMPLEX, "the sheet's merged ranges overlap too much");
        if (r->row <= m->last_row && r->column >= m->first_column && r->column <= m->last_column)
            return r->row != m->first_row || r->column != m->first_column;
    }
    return false;
}

/* ---- sending ---- */

static void rows_flush(struct book *b, struct reading *r)
{
    if (r->block.n > 1)
        b->sink(b->arg, r->block.p, r->block.n);
    r->block.n = 0;
    text_add(&r->block, (const char[]){SHEET_ROWS}, 1);
}

static void begin_row(struct reading *r)
{
    struct sheet_row_head head = {0};

    r->row_at = r->block.n;
    r->cells = 0;
    text_add(&r->block, &head, sizeof(head));
}

static void finish_row(struct book *b, struct reading *r)
{
    struct sheet_row_head head = {.row = r->row, .n = r->cells};

    if (r->cells == 0) {
        r->block.n = r->row_at;
        return;
    }
    memcpy(r->block.p + r->row_at, &head, sizeof(head));
    if (r->block.n >= SHEET_BLOCK)
        rows_flush(b, r);
}

static void rows_put_cell(struct xml *x, struct reading *r, const char *p, size_t n, uint16_t type)
{
    struct sheet_cell c = {.column = (uint16_t)r->column, .type = type, .n = (uint32_t)n};

    if (n == 0 || (x->book->n_merges && rows_is_hidden(x, r)))
        return;
    if (r->column >= COLUMNS_MAX) {
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "the sheet has more than 512 columns");
    } else if (n > CELL_MAX || r->block.n - r->row_at + n > ROW_MAX) {
        xml_fail(x, ERR_FILE_TOO_COMPLEX,
            "a cell of the sheet is longer than 1 MiB, or a row than 4 MiB");
    } else {
        text_add(&r->block, &c, sizeof(c));
        text_add(&r->block, p, n);
        text_add(&r->block, "", 1);
        r->cells++;
    }
}

/* ---- values ---- */

static void put_shared(struct xml *x, struct reading *r, const char *p, size_t length)
{
    const char *text;
    uint32_t n;
    size_t index = 0;

    for (size_t i = 0; i < length; i++) {
        char c = p[i];

        if (c < '0' || c > '9' || index > STRINGS_MAX) {
            index = STRINGS_MAX;
            break;
        }
        index = 10 * index + (size_t)(c - '0');
    }
    text = strings_get(x->book, index, &n);
    if (text)
        rows_put_cell(x, r, text, n, SHEET_TEXT);
    else
        xml_fail(x, ERR_FILE_XLSX_INVALID, "a cell refers to a text that the workbook has not");
}

static void rows_put_number(struct xml *x, struct reading *r, const char *p, size_t length)
{
    const struct book *b = x->book;
    char out[40];
    size_t n = 0;

    if (r->style < b->n_styles && b->style_format[r->style] == FORMAT_DATE)
        n = value_date(p, length, b->epoch_1904, out);
    else if (r->style < b->n_styles && b->style_format[r->style] >= FORMAT_ZEROS)
        n = value_zeros(p, length, b->zeros[b->style_format[r->style] - FORMAT_ZEROS], out);
    if (n == 0)
        n = value_number(p, length, out);
    rows_put_cell(x, r, out, n, SHEET_TEXT);
}

static void put_date(struct xml *x, struct reading *r, const char *p, size_t n)
{
    /* ISO 8601 as stored; without an offset it is UTC */
    const char *rest = n >= 19 && !memchr(p + 10, 'Z', n - 10) && !memchr(p + 10, '+', n - 10) &&
                               !memchr(p + 10, '-', n - 10)
                           ? "Z"
                       : n == 10 ? "T00:00:00.000Z"
                                 : "";

    if (*rest) {
        struct text_buf whole = {0};

        text_add(&whole, p, n);
        text_add(&whole, rest, strlen(rest));
        rows_put_cell(x, r, whole.p, whole.n, SHEET_TEXT);
        free(whole.p);
    } else {
        rows_put_cell(x, r, p, n, SHEET_TEXT);
    }
}

/* Takes the value as it stands in the XML; changes it in place. */
static void finish_cell(struct xml *x, struct reading *r, char *p, size_t n)
{
    if (n == 0)
        return;
    switch (r->kind) {
    case NUMBER:
        rows_put_number(x, r, p, n);
        return;
    case SHARED:
        put_shared(x, r, p, n);
        return;
    case INLINE:
    case STRING:
        rows_put_cell(x, r, p, value_unescape(p, n), SHEET_TEXT);
        return;
    case BOOLEAN:
        if (p[0] == '1' || p[0] == 't')
            rows_put_cell(x, r, "true", 4, SHEET_TEXT);
        else
            rows_put_cell(x, r, "false", 5, SHEET_TEXT);
        return;
    case ERROR_VALUE:
        rows_put_cell(x, r, p, n, SHEET_ERROR);
        return;
    case DATE:
        put_date(x, r, p, n);
        return;
    }
}

/* ---- events ---- */

static void begin_cells(struct xml *x, struct reading *r, const char *number)
{
    unsigned long row = number ? strtoul(number, NULL, 10) : r->row + 1ul;

    if (row <= r->row || row > ROWS_MAX) {
        xml_fail(x, ERR_FILE_XLSX_INVALID, "the rows of the sheet are out of order");
        return;
    }
    r->row = (uint32_t)row;
    r->next_column = 0;
    begin_row(r);
}

static enum kind rows_kind_of(const char *type)
{
    switch (type ? type[0] : 'n') {
    case 's':
        return type[1] == 't' ? STRING : SHARED;
    case 'i':
        return INLINE;
    case 'b':
        return BOOLEAN;
    case 'e':
        return ERROR_VALUE;
    case 'd':
        return DATE;
    default:
        return NUMBER;
    }
}

/* Begins a cell. An attribute that is NULL is absent. */
static void rows_begin_cell(struct xml *x, struct reading *r, const char *ref, size_t ref_n,
    const char *type, const char *style)
{
    uint32_t row = r->row;

    r->column = r->next_column;
    if (ref && (!cell_name(ref, ref + ref_n, &r->column, &row) || row != r->row ||
                   r->column < r->next_column)) {
        xml_fail(x, ERR_FILE_XLSX_INVALID, "the cells of the sheet are out of order");
        return;
    }
    r->next_column = r->column + 1;
    r->kind = rows_kind_of(type);
    r->style = style ? (unsigned)strtoul(style, NULL, 10) : 0;
}

static void cell_start(struct xml *x, struct reading *r, const char **attributes)
{
    const char *ref = NULL, *type = NULL, *style = NULL;

    for (; *attributes; attributes += 2) {
        if (attributes[0][0] && attributes[0][1])
            continue;
        if (attributes[0][0] == 'r')
            ref = attributes[1];
        else if (attributes[0][0] == 't')
            type = attributes[1];
        else if (attributes[0][0] == 's')
            style = attributes[1];
    }
    rows_begin_cell(x, r, ref, ref ? strlen(ref) : 0, type, style);
    r->text.n = 0;
    r->formula = r->has_value = false;
    r->in_cell = true;
    r->phonetic = 0;
}

static void rows_on_start(struct xml *x, const char *name, const char **attributes)
{
    struct reading *r = x->arg;

    if (r->in_cell) {
        if (strcmp(name, "rPh") == 0)
            r->phonetic++;
        /* of a formula only the stored value counts; of inline text what is in t */
        r->formula = r->formula || strcmp(name, "f") == 0;
        r->has_value = r->has_value || strcmp(name, "v") == 0 || strcmp(name, "is") == 0;
        r->collect = r->kind == INLINE ? strcmp(name, "t") == 0 && !r->phonetic
                                       : strcmp(name, "v") == 0;
    } else if (r->in_row && name[0] == 'c' && !name[1]) {
        cell_start(x, r, attributes);
    } else if (r->in_data && !r->in_row && strcmp(name, "row") == 0) {
        r->in_row = true;
        begin_cells(x, r, xml_attribute(attributes, "r"));
    } else if (x->depth == 2 && strcmp(name, "sheetData") == 0) {
        r->in_data = true;
        x->stop = "row>";
        /* rows without prefix are of the sheet's own namespace only below an element without */
        if (x->prefixed)
            x->plain = NULL;
        xml_clear(x);
    } else if (x->depth == 1 && strcmp(name, "worksheet") != 0) {
        xml_fail(x, ERR_FILE_XLSX_INVALID, "the sheet's part is no worksheet");
    }
}

static void rows_on_end(struct xml *x, const char *name)
{
    struct reading *r = x->arg;

    r->collect = false;
    if (r->in_cell) {
        if (strcmp(name, "rPh") == 0 && r->phonetic)
            r->phonetic--;
        if (name[0] == 'c' && !name[1]) {
            r->in_cell = false;
            finish_cell(x, r, r->text.p, r->text.n);
            if (r->formula && !r->has_value)
                rows_put_cell(x, r, "=", 1, SHEET_FORMULA);
        }
    } else if (r->in_row) {
        if (strcmp(name, "row") == 0) {
            r->in_row = false;
            finish_row(x->book, r);
            xml_clear(x);
        }
    } else if (r->in_data && strcmp(name, "sheetData") == 0) {
        r->in_data = false;
    }
}

static void rows_on_text(struct xml *x, const char *p, int n)
{
    struct reading *r = x->arg;

    if (!r->collect)
        return;
    text_add(&r->text, p, (size_t)n);
    if (r->text.n > CELL_MAX)
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "a cell of the sheet is longer than 1 MiB");
}

static void rows_take_row(struct xml *x, struct reading *r)
{
    const struct plain_row *row = r->plain;

    begin_cells(x, r, row->number.p);
    for (size_t i = 0; i < row->n && !x->book->zip.error[0]; i++) {
        const struct plain_cell *c = &row->cells[i];

        rows_begin_cell(x, r, c->ref.p, c->ref.n, c->type.p, c->style.p);
        if (c->is_inline == (r->kind == INLINE) && !x->book->zip.error[0])
            finish_cell(x, r, c->value.p, c->value.n);
        if (c->formula && !c->value.p && !x->book->zip.error[0])
            rows_put_cell(x, r, "=", 1, SHEET_FORMULA);
    }
    if (!x->book->zip.error[0])
        finish_row(x->book, r);
}

static size_t plain_rows(struct xml *x, char *p, size_t n, bool *ret_more)
{
    struct reading *r = x->arg;
    enum plain what;
    char *at = p;

    if (!r->in_data)
        return 0;
    while ((what = plain_row(at, p + n, r->plain, &at)) == PLAIN_ROW && !x->book->zip.error[0]) {
        r->odd = 0;
        rows_take_row(x, r);
    }
    *ret_more = what == PLAIN_PART;
    r->odd += what == PLAIN_OTHER;
    if (r->odd == ODD_MAX)
        x->plain = NULL;
    return (size_t)(at - p);
}

bool rows_read(struct book *b)
{
    const struct zip_entry *entry = zip_find(&b->zip, b->sheet_part);
    struct reading r = {.plain = cell_alloc(sizeof(*r.plain))};
    struct xml x = {.book = b,
        .arg = &r,
        .start = rows_on_start,
        .end = rows_on_end,
        .text = rows_on_text,
        .plain = b->parser_only ? NULL : plain_rows,
        .stop = "sheetData>"};
    bool good = entry || zip_fail(&b->zip, ERR_FILE_XLSX_INVALID, "the sheet's part is missing");

    plain_prepare();
    good = good && read_merges(b, entry);
    rows_flush(b, &r);
    good = good && xml_read(&x, entry, false);
    if (good)
        rows_flush(b, &r);
    free(r.block.p);
    free(r.text.p);
    free(r.plain);
    return good;
}
