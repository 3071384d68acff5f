/* image_matrix.cc - barcodes of two dimensions, by libzxing, which is C++. See image.h. It is
 * never asked for linear codes: version 1.4 aborts on ordinary labels then. */
#define ZX_USE_UTF8 1
#include <ZXing/ReadBarcode.h>

#include <algorithm>
#include <cstring>
#include <exception>

extern "C" {
#include "image_matrix.h"
}

using namespace ZXing;

static bool image_matrix_symbology_of(BarcodeFormat format, uint32_t *ret)
{
    switch (format) {
    case BarcodeFormat::QRCode:
        return *ret = IMAGE_QR, true;
    case BarcodeFormat::PDF417:
        return *ret = IMAGE_PDF417, true;
    case BarcodeFormat::DataMatrix:
        return *ret = IMAGE_DATA_MATRIX, true;
    case BarcodeFormat::Aztec:
        return *ret = IMAGE_AZTEC, true;
    case BarcodeFormat::MaxiCode:
        return *ret = IMAGE_MAXICODE, true;
    default:
        return false;
    }
}

static bool image_matrix_take(const Result &result, matrix_code *code)
{
    const ByteArray &bytes = result.bytes();

    if (!result.isValid() || !image_matrix_symbology_of(result.format(), &code->symbology) ||
        bytes.empty() || bytes.size() > sizeof(code->value))
        return false;
    std::memcpy(code->value, bytes.data(), bytes.size());
    code->n = bytes.size();
    code->orientation = static_cast<uint32_t>((result.orientation() % 360 + 360) % 360);
    const Position &at = result.position();
    code->left = std::min(std::min(at[0].x, at[1].x), std::min(at[2].x, at[3].x));
    code->right = std::max(std::max(at[0].x, at[1].x), std::max(at[2].x, at[3].x));
    code->top = std::min(std::min(at[0].y, at[1].y), std::min(at[2].y, at[3].y));
    code->bottom = std::max(std::max(at[0].y, at[1].y), std::max(at[2].y, at[3].y));
    return true;
}

extern "C" size_t matrix_read(
    const unsigned char *grey, int width, int height, bool pure, matrix_code *ret, size_t room)
{
    size_t n = 0;

    try {
        DecodeHints hints;

        hints.setFormats(pure ? BarcodeFormats(BarcodeFormat::MaxiCode)
                              : BarcodeFormat::QRCode | BarcodeFormat::PDF417 |
                                    BarcodeFormat::DataMatrix | BarcodeFormat::Aztec);
        hints.setIsPure(pure);
        hints.setMaxNumberOfSymbols(static_cast<uint8_t>(std::min<size_t>(room, 255)));
        for (const Result &result :
            ReadBarcodes(ImageView(grey, width, height, ImageFormat::Lum), hints)) {
            if (n < room && image_matrix_take(result, &ret[n]))
                n++;
        }
    } catch (const std::exception &) {
        /* a picture that it can't make sense of has no code */
    }
    return n;
}
