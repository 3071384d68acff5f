/* strings.c - the shared strings of a workbook: rich text joined, phonetic runs left out. */
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "child.h"
#include "wharf/errors.h"

void text_add(struct text_buf *b, const void *p, size_t n)
{
    if (b->cap - b->n < n) {
        b->cap = 2 * b->cap + n + 64;
        b->p = cell_realloc(b->p, b->cap);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

struct reading {
    struct text_buf now;
    bool in_t;
    unsigned phonetic; /* depth inside rPh */
};

static void string_start(struct xml *x, const char *name, const char **attributes)
{
    struct reading *r = x->arg;

    if (strcmp(name, "si") == 0)
        r->now.n = 0;
    r->phonetic += strcmp(name, "rPh") == 0;
    r->in_t = strcmp(name, "t") == 0 && r->phonetic == 0;
}

static void strings_keep(struct xml *x, struct text_buf *now)
{
    struct book *b = x->book;
    uint32_t n = (uint32_t)value_unescape(now->p, now->n);
    char *s;

    if (b->n_strings == STRINGS_MAX || b->string_bytes + n > STRINGS_BYTES_MAX) {
        xml_fail(x, ERR_FILE_TOO_COMPLEX,
            "the workbook has more than 2 000 000 texts, or 256 MB of them");
        return;
    }
    if (b->n_strings == b->cap_strings) {
        b->cap_strings = b->cap_strings ? 2 * b->cap_strings : 1024;
        b->strings = cell_realloc(b->strings, b->cap_strings * sizeof(*b->strings));
    }
    s = cell_alloc(sizeof(n) + n);
    memcpy(s, &n, sizeof(n));
    if (n)
        memcpy(s + sizeof(n), now->p, n);
    b->strings[b->n_strings++] = s;
    b->string_bytes += n;
}

static void string_end(struct xml *x, const char *name)
{
    struct reading *r = x->arg;

    if (strcmp(name, "rPh") == 0)
        r->phonetic--;
    else if (strcmp(name, "si") == 0)
        strings_keep(x, &r->now);
    r->in_t = false;
}

static void string_text(struct xml *x, const char *p, int n)
{
    struct reading *r = x->arg;

    if (!r->in_t)
        return;
    text_add(&r->now, p, (size_t)n);
    if (r->now.n > CELL_MAX)
        xml_fail(x, ERR_FILE_TOO_COMPLEX, "a text of the workbook is longer than 1 MiB");
}

bool strings_read(struct book *b)
{
    const struct zip_entry *entry = b->strings_part ? zip_find(&b->zip, b->strings_part) : NULL;
    struct reading r = {0};
    struct xml x = {
        .book = b, .arg = &r, .start = string_start, .end = string_end, .text = string_text};
    bool good = !entry || xml_read(&x, entry, true);

    free(r.now.p);
    return good;
}

void strings_free(struct book *b)
{
    for (size_t i = 0; i < b->n_strings; i++)
        free(b->strings[i]);
    free(b->strings);
}

const char *strings_get(const struct book *b, size_t i, uint32_t *ret_n)
{
    if (i >= b->n_strings)
        return NULL;
    memcpy(ret_n, b->strings[i], sizeof(*ret_n));
    return b->strings[i] + sizeof(*ret_n);
}
