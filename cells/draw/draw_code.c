/* draw_code.c - symbologies as a table, and check digits; see draw_code.h. Leaves to others: the
 * drawing (draw_barcode.c). */
#include "draw_code.h"

#include <string.h>
#include <zint.h>

#include "util/str.h"

static const struct code_kind kinds[] = {
    {"code128", BARCODE_CODE128, CODE_BARS, CODE_FREE, 10, false, true},
    {"gs1_128", BARCODE_GS1_128, CODE_BARS, CODE_FREE, 10, true, false},
    {"code39", BARCODE_CODE39, CODE_BARS, CODE_FREE, 10, false, false},
    {"code93", BARCODE_CODE93, CODE_BARS, CODE_FREE, 10, false, false},
    {"codabar", BARCODE_CODABAR, CODE_BARS, CODE_FREE, 10, false, false},
    {"itf", BARCODE_C25INTER, CODE_BARS, CODE_FREE, 10, false, false},
    {"itf14", BARCODE_ITF14, CODE_BARS, CODE_ITF14, 10, false, false},
    {"ean13", BARCODE_EANX, CODE_BARS, CODE_EAN13, 11, false, false},
    {"ean8", BARCODE_EANX, CODE_BARS, CODE_EAN8, 7, false, false},
    {"upca", BARCODE_UPCA, CODE_BARS, CODE_UPCA, 9, false, false},
    {"upce", BARCODE_UPCE, CODE_BARS, CODE_UPCE, 9, false, false},
    {"isbn", BARCODE_ISBNX, CODE_BARS, CODE_ISBN, 11, false, false},
    {"msi", BARCODE_MSI_PLESSEY, CODE_BARS, CODE_FREE, 12, false, false},
    {"pharmacode", BARCODE_PHARMA, CODE_BARS, CODE_FREE, 6, false, false},
    {"postnet", BARCODE_POSTNET, CODE_POSTAL, CODE_FREE, 6, false, false},
    {"usps_imb", BARCODE_USPS_IMAIL, CODE_POSTAL, CODE_FREE, 6, false, false},
    {"royal_mail", BARCODE_RM4SCC, CODE_POSTAL, CODE_FREE, 6, false, false},
    {"kix", BARCODE_KIX, CODE_POSTAL, CODE_FREE, 6, false, false},
    {"dpd", BARCODE_DPD, CODE_BARS, CODE_FREE, 10, false, false},
    {"japanpost", BARCODE_JAPANPOST, CODE_POSTAL, CODE_FREE, 6, false, false},
    {"auspost", BARCODE_AUSPOST, CODE_POSTAL, CODE_FREE, 6, false, false},
    {"qr", BARCODE_QRCODE, CODE_SQUARES, CODE_FREE, 4, false, true},
    {"microqr", BARCODE_MICROQR, CODE_SQUARES, CODE_FREE, 2, false, true},
    {"rmqr", BARCODE_RMQR, CODE_SQUARES, CODE_FREE, 2, false, true},
    {"datamatrix", BARCODE_DATAMATRIX, CODE_SQUARES, CODE_FREE, 1, false, true},
    {"gs1_datamatrix", BARCODE_DATAMATRIX, CODE_SQUARES, CODE_FREE, 1, true, false},
    {"pdf417", BARCODE_PDF417, CODE_STACK, CODE_FREE, 2, false, true},
    {"micropdf417", BARCODE_MICROPDF417, CODE_STACK, CODE_FREE, 1, false, true},
    {"maxicode", BARCODE_MAXICODE, CODE_HEXAGONS, CODE_FREE, 1, false, true},
    {"aztec", BARCODE_AZTEC, CODE_SQUARES, CODE_FREE, 0, false, true},
    {"dotcode", BARCODE_DOTCODE, CODE_DOTS, CODE_FREE, 3, false, true},
    {"databar", BARCODE_DBAR_OMN, CODE_BARS, CODE_FREE, 1, false, false},
    {"databar_expanded", BARCODE_DBAR_EXP, CODE_BARS, CODE_FREE, 1, true, false},
    {"sscc18", BARCODE_NVE18, CODE_BARS, CODE_SSCC, 10, false, false},
    {"ean14", BARCODE_EAN14, CODE_BARS, CODE_ITF14, 10, false, false},
    {"telepen", BARCODE_TELEPEN, CODE_BARS, CODE_FREE, 10, false, false},
    {"plessey", BARCODE_PLESSEY, CODE_BARS, CODE_FREE, 12, false, false}};

const struct code_kind *code_find(wharf_str name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eqz(name, kinds[i].name))
            return &kinds[i];
    }
    return NULL;
}

/* ---- check digits ---- */

char code_check_digit(const char *digits, size_t n)
{
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (unsigned)(digits[i] - '0') * ((n - i) % 2 ? 3 : 1);
    return (char)('0' + (10 - sum % 10) % 10);
}

/* Takes n digits without their check digit, or n + 1 with it. Returns the n digits. */
static const char *draw_code_checked(
    struct arena *a, wharf_str value, size_t n, const char *length, const char **ret_wrong)
{
    if (strspn(value.p, "0123456789") != value.n || (value.n != n && value.n != n + 1)) {
        *ret_wrong = length;
        return NULL;
    }
    if (value.n == n + 1 && value.p[n] != code_check_digit(value.p, n)) {
        *ret_wrong = arena_printf(
            a, "the check digit of %.*s would be %c", STR_ARG(value), code_check_digit(value.p, n))
                         .p;
        return NULL;
    }
    return arena_dup(a, value.p, n).p;
}

/* Takes the digits before an add-on of 2 or 5 digits ("+12"), and puts that behind them. */
static const char *checked_add_on(
    struct arena *a, wharf_str value, size_t n, const char *length, const char **ret_wrong)
{
    const char *plus = memchr(value.p, '+', value.n), *digits;
    wharf_str front = arena_dup(a, value.p, plus ? (size_t)(plus - value.p) : value.n);
    size_t more = value.n - front.n;

    if (plus && ((more != 3 && more != 6) || strspn(plus + 1, "0123456789") != more - 1)) {
        *ret_wrong = "the add-on has 2 or 5 digits";
        return NULL;
    }
    digits = draw_code_checked(a, front, n, length, ret_wrong);
    return digits && plus ? arena_printf(a, "%s%s", digits, plus).p : digits;
}

/* Takes 6 digits (number system 0), 7 with their number system, or 8 with the check digit, which
 * is that of the long form. */
static const char *checked_upce(struct arena *a, wharf_str value, const char **ret_wrong)
{
    wharf_str seven = value.n == 6 ? arena_printf(a, "0%.*s", STR_ARG(value)) : value;
    const char *d = seven.p;
    char full[12], last;

    if ((seven.n != 7 && seven.n != 8) || strspn(d, "0123456789") != seven.n || d[0] > '1') {
        *ret_wrong = "a UPC-E has 6 to 8 digits, of which the first of 7 is 0 or 1";
        return NULL;
    }
    memcpy(full, "00000000000", 12);
    full[0] = d[0];
    last = d[6];
    memcpy(full + 1, d + 1, last == '3' ? 3 : last == '4' ? 4 : last > '4' ? 5 : 2);
    if (last <= '2') {
        full[3] = last;
        memcpy(full + 8, d + 3, 3);
    } else if (last == '3') {
        memcpy(full + 9, d + 4, 2);
    } else if (last == '4') {
        full[10] = d[5];
    } else {
        full[10] = last;
    }
    if (seven.n == 8 && d[7] != code_check_digit(full, 11)) {
        *ret_wrong = arena_printf(
            a, "the check digit of %.*s would be %c", STR_ARG(value), code_check_digit(full, 11))
                         .p;
        return NULL;
    }
    return arena_dup(a, d, 7).p;
}

/* Takes the digits of an ISBN; libzint checks them. */
static const char *plain_isbn(struct arena *a, wharf_str value)
{
    char *to = arena_alloc(a, value.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] != '-' && value.p[i] != ' ')
            to[n++] = value.p[i];
    }
    return to;
}

const char *code_value(
    struct arena *a, const struct code_kind *kind, wharf_str value, const char **ret_wrong)
{
    if (!value.n) {
        *ret_wrong = "there is nothing to encode";
        return NULL;
    }
    if (memchr(value.p, 0, value.n)) {
        *ret_wrong = "a NUL can't be encoded";
        return NULL;
    }
    switch (kind->check) {
    case CODE_FREE:
        return value.p;
    case CODE_EAN13:
        return checked_add_on(
            a, value, 12, "an EAN-13 has 13 digits, or 12 without the check digit", ret_wrong);
    case CODE_EAN8:
        return checked_add_on(
            a, value, 7, "an EAN-8 has 8 digits, or 7 without the check digit", ret_wrong);
    case CODE_UPCA:
        return checked_add_on(
            a, value, 11, "a UPC-A has 12 digits, or 11 without the check digit", ret_wrong);
    case CODE_UPCE:
        return checked_upce(a, value, ret_wrong);
    case CODE_ITF14:
        return draw_code_checked(
            a, value, 13, "it has 14 digits, or 13 without the check digit", ret_wrong);
    case CODE_SSCC:
        return draw_code_checked(
            a, value, 17, "an SSCC has 18 digits, or 17 without the check digit", ret_wrong);
    case CODE_ISBN:
        return plain_isbn(a, value);
    }
    return NULL;
}
