/* fuzz_sheet.c - spreadsheets, read in this process instead of a cell. Besides the bytes of an
 * archive, input that does not begin like one is taken for the XML of a sheet and packed into a
 * workbook, so that mutations get behind the checksums. Rows read without the XML parser must be
 * those that the parser gives. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "book.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int out_fd;
static unsigned char directory[4096];
static size_t n_directory, n_entries;
static uint32_t at;

static void put(const void *p, size_t n)
{
    if (write(out_fd, p, n) != (ssize_t)n)
        abort();
    at += (uint32_t)n;
}

static void add_entry(const char *name, const void *p, size_t n)
{
    uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), p, (unsigned)n);
    unsigned char local[30] = {'P', 'K', 3, 4, 20}, *c = directory + n_directory;
    uint16_t name_n = (uint16_t)strlen(name);
    uint32_t size = (uint32_t)n, header = at;

    memcpy(local + 14, &crc, 4);
    memcpy(local + 18, &size, 4);
    memcpy(local + 22, &size, 4);
    memcpy(local + 26, &name_n, 2);
    put(local, sizeof(local));
    put(name, name_n);
    put(p, n);
    memset(c, 0, 46);
    memcpy(c, "PK\1\2", 4);
    memcpy(c + 16, &crc, 4);
    memcpy(c + 20, &size, 4);
    memcpy(c + 24, &size, 4);
    memcpy(c + 28, &name_n, 2);
    memcpy(c + 42, &header, 4);
    memcpy(c + 46, name, name_n);
    n_directory += 46u + name_n;
    n_entries++;
}

#define REL             "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define ADD(name, text) add_entry((name), (text), sizeof(text) - 1)

static void pack(const uint8_t *sheet, size_t n)
{
    unsigned char end[22] = {'P', 'K', 5, 6};
    uint16_t count;
    uint32_t begin, bytes;

    n_directory = n_entries = at = 0;
    ADD("_rels/.rels",
        "<R><Relationship Id='a' Type='" REL "/officeDocument' Target='xl/w.xml'/></R>");
    ADD("xl/w.xml", "<workbook><sheets><sheet name='S' id='b'/></sheets></workbook>");
    ADD("xl/_rels/w.xml.rels", "<R><Relationship Id='b' Type='" REL
                               "/worksheet' Target='s.xml'/><Relationship Id='c' Type='" REL
                               "/sharedStrings' Target='t.xml'/><Relationship Id='d' Type='" REL
                               "/styles' Target='y.xml'/></R>");
    ADD("xl/t.xml", "<sst><si><t>x</t></si><si><r><t>y_x0041_</t></r></si></sst>");
    ADD("xl/y.xml", "<s><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></s>");
    add_entry("xl/s.xml", sheet, n);
    begin = at;
    bytes = (uint32_t)n_directory;
    count = (uint16_t)n_entries;
    put(directory, n_directory);
    memcpy(end + 8, &count, 2);
    memcpy(end + 10, &count, 2);
    memcpy(end + 12, &bytes, 4);
    memcpy(end + 16, &begin, 4);
    put(end, sizeof(end));
}

struct got {
    uint32_t last; /* row */
    struct text_buf all;
};

/* Blocks are whole rows, in order. */
static void check_block(void *arg, const void *p, size_t n)
{
    const char *block = p, *end = block + n;
    struct got *got = arg;
    uint32_t *last = &got->last;

    text_add(&got->all, p, n);

    if (n == 0 || (block[0] != SHEET_NAME && block[0] != SHEET_ROWS))
        abort();
    for (block++; block[-1] == SHEET_ROWS || block < end;) {
        struct sheet_row_head head;

        if (((const char *)p)[0] == SHEET_NAME || block == end)
            return;
        memcpy(&head, block, sizeof(head));
        block += sizeof(head);
        if (head.row <= *last || head.n == 0)
            abort();
        *last = head.row;
        for (uint32_t i = 0; i < head.n; i++) {
            struct sheet_cell c;

            memcpy(&c, block, sizeof(c));
            block += sizeof(c) + c.n + 1;
            if (block > end || block[-1] || c.column >= COLUMNS_MAX)
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct got quick = {0}, parsed = {0};
    char error[200], other[200];

    out_fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (out_fd < 0)
        abort();
    if (size >= 2 && memcmp(data, "PK", 2) == 0)
        put(data, size);
    else
        pack(data, size);
    if (!book_read(out_fd, "", check_block, &quick, error) && !strchr(error, ':'))
        abort();
    book_read_parsed(out_fd, "", check_block, &parsed, other);
    if (strcmp(error, other) || quick.all.n != parsed.all.n ||
        (quick.all.n && memcmp(quick.all.p, parsed.all.p, quick.all.n)))
        abort();
    free(quick.all.p);
    free(parsed.all.p);
    close(out_fd);
    return 0;
}
