/* phone_form.c - see phone_form.h. What numbers there are is phone_number.cc's. */
#include "phone_form.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "phone_number.h"

enum {
    PHONE_MIN = 7, /* digits of a phone */
    PHONE_MAX = 15, /* digits of a phone */
    EXTENSION_MAX = 11, /* digits of an extension */
    TEXT_ROOM = 160
};

/* ---- what people write ---- */

/* Characters that are written for others, or that nobody sees: copied with the number from pages
 * and mails. */
static const struct {
    uint32_t from, to;
    char as; /* 0: left out */
} lookalikes[] = {
    {0x00a0, 0x00a0, ' '},
    {0x00ad, 0x00ad, 0},
    {0x2000, 0x200a, ' '},
    {0x200b, 0x200f, 0},
    {0x2010, 0x2015, '-'},
    {0x202a, 0x202e, 0},
    {0x202f, 0x202f, ' '},
    {0x205f, 0x205f, ' '},
    {0x2060, 0x2069, 0},
    {0x2212, 0x2212, '-'},
    {0x3000, 0x3000, ' '},
    {0xfe63, 0xfe63, '-'},
    {0xfeff, 0xfeff, 0},
    {0xff08, 0xff08, '('},
    {0xff09, 0xff09, ')'},
    {0xff0b, 0xff0b, '+'},
    {0xff0d, 0xff0d, '-'},
};

/* The zeros of other scripts; nine more digits follow each. */
static const uint32_t zeros[] = {0x0660, 0x06f0, 0x0966, 0x09e6, 0x0e50, 0xff10};

/* Reads one character of UTF-8 at p, of which n > 0 bytes are left. Returns its length; texts of
 * requests are whole. */
static size_t phone_char(const char *p, size_t n, uint32_t *ret)
{
    const unsigned char *s = (const unsigned char *)p;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    *ret = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    if (length > n)
        return n;
    for (size_t i = 1; i < length; i++)
        *ret = *ret << 6 | (s[i] & 0x3fu);
    return length;
}

/* Tells which ASCII character c stands for; 0: it is left out, -1: it is of no phone. */
static int phone_plain(uint32_t c)
{
    if (c < 0x80)
        return c == '\t' ? ' ' : c < ' ' ? -1 : (int)c;
    for (size_t i = 0; i < sizeof(zeros) / sizeof(*zeros); i++)
        if (c >= zeros[i] && c < zeros[i] + 10)
            return (int)('0' + c - zeros[i]);
    for (size_t i = 0; i < sizeof(lookalikes) / sizeof(*lookalikes); i++)
        if (c >= lookalikes[i].from && c <= lookalikes[i].to)
            return lookalikes[i].as;
    return -1;
}

/* Writes text in ASCII, without blanks around it and without "tel:". Returns false when something
 * in it is of no phone, or it is too long. */
static bool phone_ascii(wharf_str text, char out[TEXT_ROOM])
{
    size_t n = 0, skip = 0;
    uint32_t c;

    for (size_t i = 0; i < text.n;) {
        int plain;

        i += phone_char(text.p + i, text.n - i, &c);
        plain = phone_plain(c);
        if (plain < 0 || n == TEXT_ROOM - 1)
            return false;
        if (plain && (n || plain != ' '))
            out[n++] = (char)plain;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
    if (!strncasecmp(out, "tel:", 4))
        skip = 4;
    memmove(out, out + skip, n + 1 - skip);
    return true;
}

/* Words before an extension; blanks and commas may stand before them. */
static const char *const extension_words[] = {
    ";ext=", "extension", "extn", "ext", "x", "#", "int", "anexo", "poste"};

/* Takes the digits of an extension at p, the end of a number. Returns false when it is none. */
static bool phone_extension(const char *p, char out[EXTENSION_MAX + 1])
{
    size_t n = 0;

    p += strspn(p, " ,");
    for (size_t i = 0; i < sizeof(extension_words) / sizeof(*extension_words); i++) {
        size_t length = strlen(extension_words[i]);

        if (strncasecmp(p, extension_words[i], length) != 0)
            continue;
        p += length;
        p += strspn(p, ".:= ");
        n = strspn(p, "0123456789");
        break;
    }
    if (!n || n > EXTENSION_MAX || p[n])
        return false;
    memcpy(out, p, n);
    out[n] = 0;
    return true;
}

/* ---- what is kept ---- */

/* Tells whether there is no such number: more than 15 digits, or an area of North America that
 * does not begin with 2 to 9. */
static bool phone_is_impossible(const char *e164)
{
    return strlen(e164) > 1 + PHONE_MAX || (e164[1] == '1' && e164[2] < '2');
}

/* Reads a number that says its country. One that is written as it is stored stays as it is: what
 * tables and other programs kept must come back unchanged. Returns false when its country gives no
 * such numbers. */
static bool phone_international(const char *text, const char *country, char out[PHONE_E164])
{
    struct phone_number number;
    size_t n = strspn(text + 1, "0123456789");

    if (!phone_number_read(text, strlen(text), country, &number) || !number.possible ||
        phone_is_impossible(number.e164))
        return false;
    memcpy(out, number.e164, PHONE_E164);
    if (!text[1 + n] && n <= PHONE_MAX)
        memcpy(out, text, n + 2);
    return true;
}

/* Reads a number as it is dialled in its country. In North America each number of ten digits
 * counts: what is given out changes too often there. */
static bool phone_national(const char *text, const char *country, char out[PHONE_E164])
{
    struct phone_number number;

    if (!phone_number_read(text, strlen(text), country, &number))
        return false;
    if (!number.possible || phone_is_impossible(number.e164) ||
        (!number.valid && number.e164[1] != '1'))
        return false;
    memcpy(out, number.e164, PHONE_E164);
    return true;
}

/* Leaves the digits of text alone. Returns how many. */
static size_t phone_digits(char *text)
{
    size_t n = 0;

    for (const char *p = text; *p; p++)
        if (*p >= '0' && *p <= '9')
            text[n++] = *p;
    text[n] = 0;
    return n;
}

/* Reads a number that its country does not give out: behind "00" an international one, else its
 * digits alone. Changes text. */
static bool phone_other(char *text, const char *country, char out[PHONE_E164])
{
    size_t n = phone_digits(text);

    if (text[0] == '0' && text[1] == '0') {
        text[1] = '+';
        return phone_international(text + 1, country, out);
    }
    if (n < PHONE_MIN || n > PHONE_MAX)
        return false;
    memcpy(out, text, n + 1);
    return true;
}

bool phone_kept(wharf_str country, wharf_str text, char out[PHONE_ROOM])
{
    char ascii[TEXT_ROOM], home[3] = "US";
    char number[PHONE_E164], extension[EXTENSION_MAX + 1] = "";
    size_t end;

    if (!phone_ascii(text, ascii))
        return false;
    end = strspn(ascii, "+0123456789 ()-./");
    if (ascii[end] && !phone_extension(ascii + end, extension))
        return false;
    while (end && ascii[end - 1] == ' ')
        end--;
    ascii[end] = 0;
    if (strchr(ascii + (ascii[0] != 0), '+'))
        return false; /* in the middle */
    if (country.n == 2)
        memcpy(home, country.p, 2);

    if (ascii[0] == '+' ? !phone_international(ascii, home, number)
                        : !phone_national(ascii, home, number) && !phone_other(ascii, home, number))
        return false;
    snprintf(out, PHONE_ROOM, "%s%s%s", number, extension[0] ? ";ext=" : "", extension);
    return true;
}
