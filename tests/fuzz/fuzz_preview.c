/* fuzz_preview.c - the call of a `preview` cell, then a page whose boxes and turn are of the input:
 * the picture is as large as it may be, and is what it says. The readers of poppler itself are
 * not fuzzed here: in the cell they hold nothing but the document. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preview.h"

enum { SMALL = 64, WORDS = 9 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t side_of(const unsigned char *png, unsigned at)
{
    return (uint32_t)png[at] << 24 | (uint32_t)png[at + 1] << 16 | (uint32_t)png[at + 2] << 8 |
           png[at + 3];
}

/* Writes a document of one page, whose numbers are words of the input without other signs. */
static size_t write_pdf(char *to, size_t room, const uint8_t *data, size_t size)
{
    char words[WORDS][12] = {{0}};
    size_t at = 0;

    for (unsigned i = 0; i < WORDS; i++) {
        for (unsigned k = 0; k < 11 && at < size; k++, at++) {
            if (data[at] == ' ' || data[at] == '\n')
                break;
            words[i][k] = strchr("0123456789.-+e", data[at]) && data[at] ? (char)data[at] : '0';
        }
        at++;
    }
    return (size_t)snprintf(to, room,
        "%%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n2 0 obj <</Type /Pages /Kids "
        "[3 "
        "0 R] /Count 1>> endobj\n3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [%s %s %s %s] "
        "/CropBox [%s %s %s %s] /Rotate %s>> endobj\ntrailer <</Root 1 0 R>>\n",
        words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct preview_call usual = {.page = 1, .width = 40, .height = 60};
    struct preview_call wish;
    struct picture picture;
    char pdf[1000];
    size_t n = size < sizeof(wish) ? size : sizeof(wish), pdf_n;

    if (size > 300)
        return 0;
    if (!wish_read(data, n, &wish))
        wish = usual;
    else if (wish.width > PREVIEW_SIDE_MAX || wish.height > PREVIEW_SIDE_MAX || !wish.page)
        abort();
    wish.width = wish.width > SMALL ? SMALL : wish.width;
    wish.height = wish.height > SMALL ? SMALL : wish.height;
    pdf_n = write_pdf(pdf, sizeof(pdf), data + n, size - n);
    if (!page_draw(pdf, pdf_n, &wish, &picture)) {
        if (strncmp(picture.error, "invalid: ", 9) != 0 &&
            strncmp(picture.error, "pages: ", 7) != 0)
            abort(); /* what is not drawn says why */
    } else if (picture.n < 40 || memcmp(picture.png, "\x89PNG\r\n\x1a\n", 8) != 0 ||
               !picture.made.width || picture.made.width > wish.width || !picture.made.height ||
               picture.made.height > wish.height ||
               side_of(picture.png, 16) != picture.made.width ||
               side_of(picture.png, 20) != picture.made.height) {
        abort();
    }
    free(picture.png);
    return 0;
}
