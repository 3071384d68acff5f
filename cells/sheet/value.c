/* value.c - stored values as text: numbers, serial dates, escaped characters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "child.h"
#include "wharf/civil.h"

enum { ZEROS_TEXT = 24 };
enum { DIGITS_MAX = 15, LAST_SERIAL = 2958465 /* 9999-12-31 */, LEAP_ERROR = 60, DAYS_1904 = 1462 };

/* ---- formats ---- */

bool format_number_is_date(unsigned id)
{
    return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) ||
           (id >= 50 && id <= 58);
}

/* Tells whether a bracket counts time: [h], [mm] and the like do; other brackets hold colours,
 * conditions and languages. */
static bool is_elapsed(const char *p, size_t n)
{
    return n > 0 && strspn(p, "hHmMsS") >= n;
}

bool format_is_date(const char *code)
{
    for (const char *p = code; *p; p++) {
        const char *end;

        switch (*p) {
        case '"':
            end = strchr(p + 1, '"');
            if (!end)
                return false;
            p = end;
            break;
        case '[':
            end = strchr(p, ']');
            if (!end)
                return false;
            if (is_elapsed(p + 1, (size_t)(end - p - 1)))
                return true;
            p = end;
            break;
        case '\\':
        case '_':
        case '*':
            if (!p[1])
                return false;
            p++;
            break;
        case ';':
            /* the formats of negative numbers and of zero say nothing new */
            return false;
        default:
            if (strncmp(p, "General", 7) == 0)
                p += 6;
            else if (strchr("dDmMyYhHsS", *p))
                return true;
        }
    }
    return false;
}

char *format_zeros(const char *code)
{
    char *pattern = cell_alloc(strlen(code) + 1);
    size_t n = 0, zeros = 0;
    bool quoted = false, good = true;

    for (const char *p = code; *p && *p != ';'; p++) {
        bool literal = quoted || (*p == '\\' && p[1]);

        if (*p == '"') {
            quoted = !quoted;
            continue;
        }
        p += literal && !quoted;
        good = good && (literal ? *p != '0' : strchr("0-/ ()", *p) != NULL);
        zeros += *p == '0';
        pattern[n++] = *p;
    }
    pattern[n] = 0;
    if (good && !quoted && zeros >= 2 && n < ZEROS_TEXT)
        return pattern;
    free(pattern);
    return NULL;
}

/* ---- numbers ---- */

/* Tells whether it is digits with at most one point, as short as they are shown: those are taken
 * as they stand. */
static bool is_short(const char *p, size_t n)
{
    size_t at = n > 0 && p[0] == '-', figures = 0, points = 0;

    if (n - at > DIGITS_MAX + 1 || at == n || p[at] == '.' || p[n - 1] == '.')
        return false;
    if (p[at] == '0' && (at == 1 || at + 1 < n) && p[at + 1] != '.')
        return false;
    for (; at < n; at++) {
        if (p[at] == '.')
            points++;
        else if (p[at] >= '0' && p[at] <= '9')
            figures++;
        else
            return false;
    }
    return points <= 1 && figures <= DIGITS_MAX;
}

size_t value_number(const char *p, size_t n, char out[40])
{
    char text[64], *end;
    double d;

    if (n >= sizeof(text))
        n = sizeof(text) - 1;
    if (is_short(p, n) && n < 40) {
        memcpy(out, p, n);
        return n;
    }
    memcpy(text, p, n);
    text[n] = 0;
    d = strtod(text, &end);
    if (end == text || *end || !isfinite(d)) {
        /* no number: kept as it is, for validation to refuse */
        n = n < 39 ? n : 39;
        memcpy(out, p, n);
        return n;
    }
    if (d == floor(d) && fabs(d) < 1e15)
        return (size_t)snprintf(out, 40, "%.0f", d == 0 ? 0.0 : d);
    return (size_t)snprintf(out, 40, "%.15g", d);
}

size_t value_zeros(const char *p, size_t n, const char *pattern, char out[40])
{
    char digits[40];
    size_t have = value_number(p, n, digits), places = 0, at = 0, spare;

    if (have == 0 || strspn(digits, "0123456789") < have || have > DIGITS_MAX)
        return 0;
    for (const char *c = pattern; *c; c++)
        places += *c == '0';
    if (have > places && have - places + strlen(pattern) >= 40)
        return 0;
    spare = have > places ? have - places : 0; /* they stand before the first place */
    for (const char *c = pattern; *c; c++) {
        if (*c != '0') {
            out[at++] = *c;
            continue;
        }
        while (spare) {
            out[at++] = digits[have - places - spare];
            spare--;
        }
        out[at++] = places > have ? '0' : digits[have - places];
        places--;
    }
    return at;
}

/* ---- dates ---- */

size_t value_date(const char *p, size_t n, bool epoch_1904, char out[40])
{
    char text[64], *end;
    double serial;
    int64_t day, ms;
    int64_t y;
    int m, d;

    if (n == 0 || n >= sizeof(text))
        return 0;
    memcpy(text, p, n);
    text[n] = 0;
    serial = strtod(text, &end);
    if (*end || !(serial >= 0) || serial > LAST_SERIAL + 1.0 - (epoch_1904 ? DAYS_1904 : 0))
        return 0;
    day = (int64_t)floor(serial);
    ms = (int64_t)llround((serial - (double)day) * 86400000.0);
    if (ms >= 86400000) {
        ms -= 86400000;
        day++;
    }
    /* serial 0 is 1899-12-31; a 29 February 1900 that never was stands at 60: it, and all after
     * it, are one too high */
    if (epoch_1904)
        day += -24107;
    else
        day += day >= LEAP_ERROR ? -25569 : -25568;
    wharf_date_of(day, &y, &m, &d);
    if (y > 9999)
        return 0;
    return (size_t)snprintf(out, 40, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)y, m, d,
        (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
}

/* ---- texts ---- */

static int value_hex4(const char *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *at;

        at = p[i] ? strchr(digits, p[i] >= 'A' && p[i] <= 'F' ? p[i] + 32 : p[i]) : NULL;
        if (!at)
            return -1;
        v = 16 * v + (int)(at - digits);
    }
    return v;
}

size_t value_unescape(char *p, size_t n)
{
    size_t out = 0;

    if (n < 7 || !memmem(p, n, "_x", 2))
        return n;
    for (size_t i = 0; i < n; i++) {
        int v = n - i >= 7 && p[i] == '_' && p[i + 1] == 'x' && p[i + 6] == '_'
                    ? value_hex4(p + i + 2)
                    : -1;

        /* NUL and halves of pairs are no text */
        if (v > 0 && (v < 0xD800 || v > 0xDFFF)) {
            if (v < 0x80) {
                p[out++] = (char)v;
            } else if (v < 0x800) {
                p[out++] = (char)(0xC0 | v >> 6);
                p[out++] = (char)(0x80 | (v & 0x3F));
            } else {
                p[out++] = (char)(0xE0 | v >> 12);
                p[out++] = (char)(0x80 | (v >> 6 & 0x3F));
                p[out++] = (char)(0x80 | (v & 0x3F));
            }
            i += 6;
        } else if (v == 0) {
            i += 6;
        } else {
            p[out++] = p[i];
        }
    }
    return out;
}
