/* label_gs1.c - GS1 element strings (GS1 General Specifications section 3) as barcodes have them,
 * with FNC1, and as people type them, with parentheses (docs/spec/06-inference.md section 8.1).
 * Leaves to others what the elements mean. See label_inside.h. */
#include "label_inside.h"

struct label_ai {
    const char *from, *to; /* application identifiers, both ends included */
    uint8_t least, most; /* characters of the value; equal: fixed */
    bool digits;
};

/* From the list of GS1, without those of medicine, coupons and payment. */
static const struct label_ai label_ais[] = {{"00", "00", 18, 18, true}, {"01", "03", 14, 14, true},
    {"10", "10", 1, 20, false}, {"11", "19", 6, 6, true}, {"20", "20", 2, 2, true},
    {"21", "22", 1, 20, false}, {"235", "235", 1, 28, false}, {"240", "241", 1, 30, false},
    {"242", "242", 1, 6, true}, {"243", "243", 1, 20, false}, {"250", "251", 1, 30, false},
    {"253", "253", 13, 30, false}, {"254", "254", 1, 20, false}, {"255", "255", 13, 25, true},
    {"30", "30", 1, 8, true}, {"3100", "3699", 6, 6, true}, {"37", "37", 1, 8, true},
    {"3900", "3949", 1, 18, true}, {"400", "401", 1, 30, false}, {"402", "402", 17, 17, true},
    {"403", "403", 1, 30, false}, {"410", "417", 13, 13, true}, {"420", "420", 1, 20, false},
    {"421", "421", 4, 15, false}, {"422", "427", 3, 18, true}, {"4300", "4333", 1, 90, false},
    {"7001", "7099", 1, 30, false}, {"8001", "8200", 1, 90, false}, {"90", "90", 1, 30, false},
    {"91", "99", 1, 90, false}};

char label_gs1_check(const char *digits, size_t n)
{
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (unsigned)(digits[n - 1 - i] - '0') * (i % 2 ? 1 : 3);
    return (char)('0' + (10 - sum % 10) % 10);
}

/* Finds the identifier that a text begins with. */
static const struct label_ai *label_ai_of(wharf_str text)
{
    for (size_t i = 0; i < sizeof(label_ais) / sizeof(label_ais[0]); i++) {
        const struct label_ai *a = &label_ais[i];
        size_t n = strlen(a->from);

        if (text.n >= n && label_all_digits((wharf_str){text.p, n}) &&
            memcmp(text.p, a->from, n) >= 0 && memcmp(text.p, a->to, n) <= 0)
            return a;
    }
    return NULL;
}

/* Tells whether the value is one of the identifier, its check digit included. */
static bool label_ai_holds(const struct label_ai *a, wharf_str value)
{
    bool keyed = !memcmp(a->from, "00", 2) || !memcmp(a->from, "01", 2) ||
                 !strcmp(a->from, "402") || !strcmp(a->from, "410");

    if (value.n < a->least || value.n > a->most || (a->digits && !label_all_digits(value)))
        return false;
    for (size_t i = 0; i < value.n; i++) {
        if ((uint8_t)value.p[i] < ' ' || (uint8_t)value.p[i] > '~')
            return false;
    }
    return !keyed || label_gs1_check(value.p, value.n - 1) == value.p[value.n - 1];
}

static wharf_str label_behind(wharf_str s, size_t n)
{
    return (wharf_str){s.p + n, s.n - n};
}

/* Reads "(01)09501101020917(10)AB-123". */
static size_t label_gs1_typed(wharf_str text, struct label_element ret[LABEL_ELEMENTS_MAX])
{
    size_t n = 0;

    while (text.n) {
        const char *close = memchr(text.p, ')', text.n), *next;
        size_t ai, k;
        const struct label_ai *a;

        if (*text.p != '(' || !close || n == LABEL_ELEMENTS_MAX)
            return 0;
        ai = (size_t)(close - text.p) - 1;
        text = label_behind(text, 1);
        a = label_ai_of((wharf_str){text.p, ai});
        if (!a || strlen(a->from) != ai)
            return 0;
        ret[n].ai = (wharf_str){text.p, ai};
        text = label_behind(text, ai + 1);
        next = memchr(text.p, '(', text.n);
        k = next ? (size_t)(next - text.p) : text.n;
        ret[n].value = (wharf_str){text.p, k};
        while (ret[n].value.n && ret[n].value.p[ret[n].value.n - 1] == ' ')
            ret[n].value.n--;
        while (ret[n].value.n && *ret[n].value.p == ' ')
            ret[n].value = label_behind(ret[n].value, 1);
        if (!label_ai_holds(a, ret[n].value))
            return 0;
        n++;
        text = label_behind(text, k);
    }
    return n;
}

static size_t label_gs1_scanned(wharf_str text, struct label_element ret[LABEL_ELEMENTS_MAX])
{
    size_t n = 0;

    while (text.n) {
        const struct label_ai *a;
        size_t ai, k;

        if (*text.p == LABEL_GS1_SEPARATOR) {
            text = label_behind(text, 1);
            continue;
        }
        a = label_ai_of(text);
        if (!a || n == LABEL_ELEMENTS_MAX)
            return 0;
        ai = strlen(a->from);
        ret[n].ai = (wharf_str){text.p, ai};
        text = label_behind(text, ai);
        if (a->least == a->most) {
            k = a->least < text.n ? a->least : text.n;
        } else {
            const char *end = memchr(text.p, LABEL_GS1_SEPARATOR, text.n);

            k = end ? (size_t)(end - text.p) : text.n;
        }
        ret[n].value = (wharf_str){text.p, k};
        if (!label_ai_holds(a, ret[n].value))
            return 0;
        n++;
        text = label_behind(text, k);
    }
    return n;
}

size_t label_gs1(wharf_str text, struct label_element ret[LABEL_ELEMENTS_MAX])
{
    static const char *const names[] = {"]C1", "]d2", "]Q3", "]e0", "]J1"}; /* ISO 15424 */

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (text.n > 3 && !memcmp(text.p, names[i], 3))
            text = label_behind(text, 3);
    }
    if (!text.n)
        return 0;
    return *text.p == '(' ? label_gs1_typed(text, ret) : label_gs1_scanned(text, ret);
}
