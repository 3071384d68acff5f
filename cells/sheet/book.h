/* book.h - an XLSX file: its parts, and the rows of one sheet. Shared by the files of this folder.
 *
 *   zip.c      the archive                    value.c   numbers, dates, texts
 *   xml.c      a part as XML events           strings.c shared strings
 *   parts.c    relationships, workbook,       rows.c    the sheet
 *              styles                         plain.c   most of its rows
 *   sheet_main.c     the cell
 */
#ifndef WHARF_CELLS_BOOK_H
#define WHARF_CELLS_BOOK_H

#include <expat.h>

#include "import/sheet_wire.h"
#include "zip.h"

enum {
    XML_DEPTH_MAX = 64, /* levels of its XML */
    STRINGS_MAX = 2000000, /* texts of a spreadsheet */
    STRINGS_BYTES_MAX = 256 << 20, /* bytes of its texts */
    SHEETS_MAX = 1024, /* sheets */
    MERGES_MAX = 65536, /* cells that are joined, of a sheet */
    MERGE_WORK_MAX = 500000000,
    STYLES_MAX = 65536, /* styles */
    ROWS_MAX = 1048576, /* rows of a sheet */
    COLUMNS_MAX = 512, /* columns of a sheet */
    CELL_MAX = 1 << 20, /* bytes of a cell */
    ROW_MAX = 4 << 20, /* bytes of a row */
};

struct text_buf {
    char *p;
    size_t n, cap;
};
void text_add(struct text_buf *b, const void *p, size_t n);

struct merge {
    uint32_t first_row, last_row, first_column, last_column;
};

struct book {
    struct zip zip;
    void (*sink)(void *arg, const void *p, size_t n); /* takes blocks */
    void *arg;
    bool epoch_1904;
    char *sheet_part, *strings_part, *styles_part;
    uint32_t *style_format; /* by style of a cell: FORMAT_GENERAL, _DATE or _ZEROS + n */
    size_t n_styles;
    char **zeros; /* the n-th pattern of zeros: "000-00-0000" */
    size_t n_zeros;
    char **strings; /* each with its length before it */
    size_t n_strings, cap_strings, string_bytes;
    struct merge *merges;
    size_t n_merges;
    bool parser_only; /* for tests: plain rows too go through the XML parser */
};

/* Reads the wanted sheet (name, 1-based number, or "" for the first visible one) and hands its
 * blocks to sink. False: error is "code: text". */
bool book_read(int fd, const char *wanted, void (*sink)(void *arg, const void *p, size_t n),
    void *arg, char error[200]);
/* Reads with the same result as book_read(), but slower: every row goes through the XML parser.
 * For tests. */
bool book_read_parsed(int fd, const char *wanted, void (*sink)(void *arg, const void *p, size_t n),
    void *arg, char error[200]);

/* ---- xml.c ---- */

enum { XML_NAME_MAX = 64 };

struct xml {
    struct book *book;
    XML_Parser parser;
    unsigned depth;
    void *arg;
    char name[XML_NAME_MAX];
    bool prefixed; /* the element that starts is written with a prefix */
    /* local names, without prefix; "" for elements of a namespace that no spreadsheet needs; may
     * stop by xml_fail */
    void (*start)(struct xml *x, const char *name, const char **attributes);
    void (*end)(struct xml *x, const char *name);
    void (*text)(struct xml *x, const char *p, int n);
    /* May be NULL. Takes whole elements from the beginning of the bytes, which then never reach
     * the parser; called where content may stand, between elements, when `start` or `end` has
     * said so by xml_clear. Returns how many bytes it took; *ret_more: the next element may be
     * its too, but does not end in the bytes. */
    size_t (*plain)(struct xml *x, char *p, size_t n, bool *ret_more);
    const char *stop; /* how tags end behind which it may be asked */
    bool clear;
    long long fed, clear_at; /* bytes that the parser got; where the tag ended that said so */
};
/* Reads the part to its end. counted: see zip.h. */
bool xml_read(struct xml *x, const struct zip_entry *entry, bool counted);
void xml_fail(struct xml *x, const char *code, const char *text);
/* Tells the reader, from `start` or `end`, that `plain` may take over behind the current tag. */
void xml_clear(struct xml *x);
/* Finds the value of an attribute without namespace, or of the one of relationships, by its local
 * name. Returns NULL when there is none. */
const char *xml_attribute(const char **attributes, const char *name);

/* ---- parts.c ---- */
bool parts_find(struct book *b, const char *wanted, char **ret_name);
bool styles_read(struct book *b);

/* ---- strings.c ---- */
bool strings_read(struct book *b);
void strings_free(struct book *b);
/* Returns the i-th shared string and sets *ret_n to its length. Returns NULL when there is none. */
const char *strings_get(const struct book *b, size_t i, uint32_t *ret_n);

/* ---- plain.c ---- */

struct slice {
    char *p; /* NULL: absent */
    size_t n;
};
struct plain_cell {
    struct slice ref, type, style, value;
    bool is_inline, formula;
};
enum { PLAIN_CELLS = COLUMNS_MAX, PLAIN_PAD = 32 };
struct plain_row {
    struct slice number;
    size_t n;
    struct plain_cell cells[PLAIN_CELLS];
};
enum plain { PLAIN_ROW, PLAIN_PART /* perhaps, but it does not end here */, PLAIN_OTHER };
/* Fills the tables of `plain`. Must be called once, before the first row. */
void plain_prepare(void);
/* Reads white space, then a row. The bytes before `end` are followed by PLAIN_PAD zeros. */
enum plain plain_row(char *p, const char *end, struct plain_row *ret, char **ret_after);

/* ---- rows.c ---- */
bool rows_read(struct book *b);

/* ---- value.c ---- */

enum { FORMAT_GENERAL, FORMAT_DATE, FORMAT_ZEROS };
/* Tells whether the format code (or the built-in format number) is one of dates or times. */
bool format_is_date(const char *code);
bool format_number_is_date(unsigned id);
/* Returns the pattern of a format code that is nothing but zeros and what stands between them
 * ("00000\-0000" gives "00000-0000"), to be freed; NULL for all other codes. Such codes are of
 * postal codes, account numbers and the like, whose leading zeros count. */
char *format_zeros(const char *code);
/* Writes a whole number in such a pattern. Returns the length; 0 when the text is no whole number
 * of at most 15 digits. */
size_t value_zeros(const char *p, size_t n, const char *pattern, char out[40]);
/* Writes a stored number as text for people: at most 15 digits, whole numbers without exponent.
 * Returns the length. */
size_t value_number(const char *p, size_t n, char out[40]);
/* Writes a serial day as ISO text. Returns the length; 0 when the text is no serial day. */
size_t value_date(const char *p, size_t n, bool epoch_1904, char out[40]);
/* Replaces _x000D_ and the like by what they stand for, in place. Returns the new length. */
size_t value_unescape(char *p, size_t n);

#endif
