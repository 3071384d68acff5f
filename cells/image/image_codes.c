/* image_codes.c - linear barcodes, by libzbar. See image.h. Leaves to others: codes of two
 * dimensions (image_matrix.cc). Kinds without a check digit count only where several scan lines
 * agree: a wrong value is worse than none. */
#include <stdlib.h>
#include <string.h>
#include <zbar.h>

#include "image.h"

enum {
    AGREE_UNCHECKED = 6, /* lines that must agree on a code without check digit */
    AGREE_CHECKED = 2,
    SHORT_MAX = 5 /* signs of a value that counts as short */
};
enum { MANY_PIXELS = 4000000 }; /* of which every third line is read */

static zbar_image_scanner_t *scanner; /* made before the walls */

bool codes_prepare(void)
{
    static const zbar_symbol_type_t wanted[] = {ZBAR_CODE128, ZBAR_CODE39, ZBAR_CODE93, ZBAR_I25,
        ZBAR_CODABAR, ZBAR_EAN13, ZBAR_EAN8, ZBAR_UPCA, ZBAR_UPCE, ZBAR_DATABAR, ZBAR_DATABAR_EXP};

    scanner = zbar_image_scanner_create();
    if (!scanner || zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0) != 0)
        return false;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (zbar_image_scanner_set_config(scanner, wanted[i], ZBAR_CFG_ENABLE, 1) != 0)
            return false;
    }
    return true;
}

/* Tells the symbology; false: none that is reported. */
static bool image_codes_symbology_of(const zbar_symbol_t *symbol, struct image_code *ret)
{
    static const struct {
        zbar_symbol_type_t type;
        uint32_t symbology;
        bool checked;
    } known[] = {{ZBAR_CODE128, IMAGE_CODE_128, true}, {ZBAR_CODE39, IMAGE_CODE_39, false},
        {ZBAR_CODE93, IMAGE_CODE_93, true}, {ZBAR_I25, IMAGE_ITF, false},
        {ZBAR_CODABAR, IMAGE_CODABAR, false}, {ZBAR_EAN13, IMAGE_EAN_13, true},
        {ZBAR_EAN8, IMAGE_EAN_8, true}, {ZBAR_UPCA, IMAGE_UPC_A, true},
        {ZBAR_UPCE, IMAGE_UPC_E, true}, {ZBAR_DATABAR, IMAGE_DATABAR, true},
        {ZBAR_DATABAR_EXP, IMAGE_DATABAR_EXPANDED, true}};
    zbar_symbol_type_t type = zbar_symbol_get_type(symbol);

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].type == type) {
            ret->symbology = known[i].symbology;
            ret->checked = known[i].checked;
            if (type == ZBAR_CODE128 && zbar_symbol_get_modifiers(symbol) & 1U << ZBAR_MOD_GS1)
                ret->symbology = IMAGE_GS1_128;
            return true;
        }
    }
    return false;
}

/* Returns how many lines of the picture agree. zbar counts the halves of retail codes; where the
 * picture was made larger, one line of it is there more than once. */
static int agreeing_lines(const zbar_symbol_t *symbol, double scale)
{
    int lines = zbar_symbol_get_quality(symbol);

    switch (zbar_symbol_get_type(symbol)) {
    case ZBAR_EAN13:
    case ZBAR_EAN8:
    case ZBAR_UPCA:
    case ZBAR_UPCE:
        lines = (lines + 1) / 2;
        break;
    default:
        break;
    }
    return scale > 1 ? (int)(lines / scale) : lines;
}

static void take_symbol(struct shot *s, const zbar_symbol_t *symbol, double scale)
{
    struct image_code code = {0};
    unsigned n = zbar_symbol_get_loc_size(symbol), length = zbar_symbol_get_data_length(symbol);
    int quality = agreeing_lines(symbol, scale), orientation = zbar_symbol_get_orientation(symbol),
        left = 0, right = 0, top = 0, bottom = 0;

    if (!image_codes_symbology_of(symbol, &code) || !n ||
        quality < (code.checked && length > SHORT_MAX ? AGREE_CHECKED : AGREE_UNCHECKED))
        return;
    for (unsigned i = 0; i < n; i++) {
        int x = zbar_symbol_get_loc_x(symbol, i), y = zbar_symbol_get_loc_y(symbol, i);

        left = !i || x < left ? x : left;
        right = !i || x > right ? x : right;
        top = !i || y < top ? y : top;
        bottom = !i || y > bottom ? y : bottom;
    }
    code.quality = (uint32_t)quality;
    code.orientation = orientation > 0 && orientation < 4 ? (uint32_t)orientation * 90 : 0;
    code.box = found_box(s, scale, left, top, right - left, bottom - top);
    found_code(s, zbar_symbol_get_data(symbol), length, code);
}

void codes_read(struct shot *s, PIX *grey, double scale)
{
    int every = pixGetWidth(grey) * pixGetHeight(grey) > MANY_PIXELS ? 3 : 1;
    zbar_image_t *image = zbar_image_create();
    l_uint8 *bytes = NULL;
    size_t n = 0;

    if (image && pixGetRasterData(grey, &bytes, &n) == 0) {
        zbar_image_set_format(image, zbar_fourcc('Y', '8', '0', '0'));
        zbar_image_set_size(image, (unsigned)pixGetWidth(grey), (unsigned)pixGetHeight(grey));
        zbar_image_set_data(image, bytes, n, NULL);
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_X_DENSITY, every);
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_Y_DENSITY, every);
        zbar_scan_image(scanner, image);
        for (const zbar_symbol_t *symbol = zbar_image_first_symbol(image); symbol;
             symbol = zbar_symbol_next(symbol))
            take_symbol(s, symbol, scale);
    }
    if (image)
        zbar_image_destroy(image);
    lept_free(bytes);
}
