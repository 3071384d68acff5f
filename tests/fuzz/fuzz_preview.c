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

static bool wish_is_one(const struct preview_call *w)
{
    return w->text ? w->page == 1
                   : w->page && w->width <= PREVIEW_SIDE_MAX && w->height <= PREVIEW_SIDE_MAX;
}

static bool text_is_good(const struct picture *p)
{
    return p->n > 0 && p->n <= PREVIEW_TEXT_MAX && p->bytes[p->n - 1] == '\f';
}

static bool picture_is_good(const struct picture *p, const struct preview_call *wish)
{
    return p->n >= 40 && !memcmp(p->bytes, "\x89PNG\r\n\x1a\n", 8) && p->made.width &&
           p->made.width <= wish->width && p->made.height && p->made.height <= wish->height &&
           side_of(p->bytes, 16) == p->made.width && side_of(p->bytes, 20) == p->made.height;
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
    else if (!wish_is_one(&wish))
        abort();
    wish.width = wish.width > SMALL ? SMALL : wish.width;
    wish.height = wish.height > SMALL ? SMALL : wish.height;
    pdf_n = write_pdf(pdf, sizeof(pdf), data + n, size - n);
    if (!page_draw(pdf, pdf_n, &wish, &picture)) {
        if (strncmp(picture.error, "invalid: ", 9) != 0 &&
            strncmp(picture.error, "pages: ", 7) != 0)
            abort(); /* what is not drawn says why */
    } else if (wish.text ? !text_is_good(&picture) : !picture_is_good(&picture, &wish)) {
        abort();
    }
    free(picture.bytes);
    return 0;
}
