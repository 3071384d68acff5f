/* plain.c - one row of a sheet in the form in which nearly all rows are written, taken apart
 * without the XML parser.
 *
 * Plain is: ASCII without control characters; known attributes in double quotes, none twice, no
 * references; of a cell a formula of plain text, a value, or one inline text. All else, though
 * it may be good XML, is left to expat, which also judges what is no XML at all. */
#include <string.h>

#include "book.h"

/* Kinds of characters: between tags (TEXT); in a quoted value also '>' and not '"' (VALUE); in a
 * name (NAME). */
enum { TEXT = 1, VALUE = 2, NAME = 4 };

static unsigned char classes[256];

void plain_prepare(void)
{
    for (int c = ' '; c <= '~'; c++)
        classes[c] = TEXT | VALUE;
    for (int c = 'a'; c <= 'z'; c++)
        classes[c] |= NAME, classes[c - 'a' + 'A'] |= NAME;
    classes['<'] = classes['&'] = 0;
    classes['>'] = VALUE;
    classes['"'] = TEXT;
}

/* The bytes are followed by PLAIN_PAD zeros, so comparing a short word never reads beyond them. */
#define TAKES(p, word) (!memcmp(*(p), (word), sizeof(word) - 1) && (*(p) += sizeof(word) - 1))

static struct slice plain_run_of(char **p, unsigned char class)
{
    struct slice s = {*p, 0};

    while (classes[(unsigned char)**p] & class)
        ++*p;
    s.n = (size_t)(*p - s.p);
    return s;
}

/* Reads name="value" behind a space. */
static bool attribute(char **p, struct slice *ret_name, struct slice *ret_value)
{
    while (**p == ' ')
        ++*p;
    *ret_name = plain_run_of(p, NAME);
    if (**p == ':') {
        ++*p;
        plain_run_of(p, NAME);
        ret_name->n = (size_t)(*p - ret_name->p);
    }
    if (!ret_name->n || ret_name->p[0] == ':' || !TAKES(p, "=\""))
        return false;
    *ret_value = plain_run_of(p, VALUE);
    return TAKES(p, "\"");
}

static bool plain_is_name(struct slice name, const char *word)
{
    return name.n == strlen(word) && !memcmp(name.p, word, name.n);
}

static bool row_attributes(char **p, struct slice *ret_number)
{
    static const char *const known[] = {"r", "spans", "s", "customFormat", "ht", "hidden",
        "customHeight", "outlineLevel", "collapsed", "thickTop", "thickBot", "ph",
        "x14ac:dyDescent"};
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    struct slice name, value;
    unsigned met = 0;

    *ret_number = (struct slice){NULL, 0};
    while (**p == ' ') {
        unsigned i = 0;

        if (!attribute(p, &name, &value))
            return false;
        while (i < KNOWN && !plain_is_name(name, known[i]))
            i++;
        if (i == KNOWN || met & 1u << i)
            return false;
        met |= 1u << i;
        if (i == 0)
            *ret_number = value;
    }
    return true;
}

static bool cell_attributes(char **p, struct plain_cell *c)
{
    struct slice name, value;

    while (**p == ' ') {
        struct slice *at;

        if (!attribute(p, &name, &value) || name.n != 1)
            return false;
        at = name.p[0] == 'r'   ? &c->ref
             : name.p[0] == 't' ? &c->type
             : name.p[0] == 's' ? &c->style
                                : NULL;
        if (!at || at->p)
            return false;
        *at = value;
    }
    return true;
}

static bool cell_content(char **p, struct plain_cell *c)
{
    if (TAKES(p, "<f>")) {
        plain_run_of(p, TEXT);
        if (!TAKES(p, "</f>"))
            return false;
        c->formula = true;
    }
    if (TAKES(p, "<v>")) {
        c->value = plain_run_of(p, TEXT);
        return TAKES(p, "</v></c>");
    }
    if (TAKES(p, "<is><t>") || TAKES(p, "<is><t xml:space=\"preserve\">")) {
        c->is_inline = true;
        c->value = plain_run_of(p, TEXT);
        return TAKES(p, "</t></is></c>");
    }
    return TAKES(p, "</c>");
}

static bool plain_read_cell(char **p, struct plain_cell *c)
{
    *c = (struct plain_cell){{NULL, 0}};
    return TAKES(p, "<c") && cell_attributes(p, c) &&
           (TAKES(p, "/>") || (TAKES(p, ">") && cell_content(p, c)));
}

/* Reads a row that ends in the bytes, from behind its "<row"; on return *p is where it ended, or
 * where it was not plain. */
static bool row(char **p, struct plain_row *ret)
{
    ret->n = 0;
    if (!row_attributes(p, &ret->number))
        return false;
    if (TAKES(p, "/>"))
        return true;
    if (!TAKES(p, ">"))
        return false;
    while (!TAKES(p, "</row>")) {
        if (ret->n == PLAIN_CELLS || !plain_read_cell(p, &ret->cells[ret->n]))
            return false;
        ret->n++;
    }
    return true;
}

enum plain plain_row(char *p, const char *end, struct plain_row *ret, char **ret_after)
{
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    if (TAKES(&p, "<row") && row(&p, ret)) {
        *ret_after = p;
        return PLAIN_ROW;
    }
    return end - p < PLAIN_PAD ? PLAIN_PART : PLAIN_OTHER;
}
