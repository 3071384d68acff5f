/* book.c - the order in which a workbook is read; see book.h. */
#include "book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_book(struct book b, int fd, const char *wanted, char error[200])
{
    char *name = NULL;
    bool good = zip_open(&b.zip, fd) && parts_find(&b, wanted, &name);

    if (good) {
        struct text_buf first = {0};

        text_add(&first, (const char[]){SHEET_NAME}, 1);
        text_add(&first, name, strlen(name));
        b.sink(b.arg, first.p, first.n);
        free(first.p);
        good = styles_read(&b) && strings_read(&b) && rows_read(&b);
    }
    snprintf(error, 200, "%s",
        good             ? ""
        : b.zip.error[0] ? b.zip.error
                         : "file.xlsx_invalid: the spreadsheet can't be read");
    free(name);
    free(b.sheet_part);
    free(b.strings_part);
    free(b.styles_part);
    free(b.style_format);
    for (size_t i = 0; i < b.n_zeros; i++)
        free(b.zeros[i]);
    free(b.zeros);
    free(b.merges);
    strings_free(&b);
    zip_close(&b.zip);
    return good;
}

bool book_read(int fd, const char *wanted, void (*sink)(void *arg, const void *p, size_t n),
    void *arg, char error[200])
{
    return read_book((struct book){.sink = sink, .arg = arg}, fd, wanted, error);
}

bool book_read_parsed(int fd, const char *wanted, void (*sink)(void *arg, const void *p, size_t n),
    void *arg, char error[200])
{
    return read_book(
        (struct book){.sink = sink, .arg = arg, .parser_only = true}, fd, wanted, error);
}
