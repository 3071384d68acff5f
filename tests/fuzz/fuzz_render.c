/* fuzz_render.c - documents for printers, read in this process instead of a cell. The first byte
 * chooses the type. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum render_type types[] = {RENDER_PDF, RENDER_PNG, RENDER_JPEG, RENDER_TEXT,
        RENDER_WEBP, RENDER_GIF, RENDER_TIFF, RENDER_TEXT};
    struct render_wish wish = {.width = 288, .height = 432, .scale = 1};
    struct render_call what = {.width = 40, .height = 40};
    const unsigned char *out;
    struct source s;
    char *copy;
    size_t n;

    if (size < 1 || size > 65536)
        return 0;
    font_prepare();
    copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data + 1, size - 1);
    copy[size - 1] = 0;
    wish.landscape = data[0] >> 2 & 1;
    wish.fit = data[0] >> 3 & 3;
    wish.rotate = 90U * (data[0] >> 5 & 3); /* the uppermost bit also chooses the type */
    what.type = types[(data[0] & 3) | (data[0] >> 5 & 4)];
    what.page = data[0] == (data[0] | 0x18); /* fit 3: for a picture too */
    if (source_open(&s, &what, copy, size - 1)) {
        bool good = s.type != RENDER_TEXT || text_lay_out(&s, wish.width, wish.height);

        for (int i = 0, pages = good ? qpdf_get_num_pages(s.q) : 0; good && i < pages; i++)
            good = page_place(&s, qpdf_get_page_n(s.q, (size_t)i), &wish);
        if (good && pdf_write(&s, &out, &n) && (n < 8 || memcmp(out, "%PDF-", 5) != 0))
            abort(); /* what is good is a PDF */
        if (!good && !s.error[0])
            abort(); /* what is not says why */
    } else if (!s.error[0]) {
        abort();
    }
    source_close(&s);
    free(copy);
    return 0;
}
