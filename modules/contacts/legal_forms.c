/* legal_forms.c - what of a business's name says only in which form it is registered
 * (docs/spec/06-inference.md section 9.2): words (GmbH, Ltd), letters with dots between (S.A.,
 * B.V.), and forms that are written without a space (株式会社). See score.h.
 *
 * Leaves to others: the words themselves (contact_names.c). SQL has the same in short, to find
 * contacts by: sql/business_key.sql. */
#include <string.h>

#include "score.h"
#include "wharf/inline.h"

enum { LETTERS_MAX = 5 /* of a form that is spelled: g.m.b.h. and one more */ };

static bool is_form(wharf_str w, uint32_t kinds)
{
    return (word_of(w.p, w.n)->kinds & kinds) != 0;
}

/* Counts the bytes of a word of one letter; 0: it is longer. */
static size_t legal_forms_letter(wharf_str w)
{
    unsigned char c = w.n ? (unsigned char)*w.p : 0;
    size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

    return w.n == n ? n : 0;
}

/* Counts the single letters at the end that spell a form together; the most of them. */
static size_t spelled(const wharf_str *w, size_t n)
{
    char joined[4 * LETTERS_MAX];
    size_t most = 0, used = sizeof(joined);

    for (size_t k = 1; k <= LETTERS_MAX && k <= n && legal_forms_letter(w[n - k]); k++) {
        used -= w[n - k].n;
        memcpy(joined + used, w[n - k].p, w[n - k].n);
        if (k > 1 &&
            is_form((wharf_str){joined + used, sizeof(joined) - used}, WORD_LEGAL | WORD_LEGAL_END))
            most = k;
    }
    return most;
}

static bool is_link(wharf_str w)
{
    static const char *const links[] = {"and", "und", "et", "e", "y", "de"};

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (is(w, links[i]))
            return true;
    }
    return false;
}

/* Counts the words at the end that are one form. more: another one stood behind them. */
static size_t form_at_end(const wharf_str *w, size_t n, bool more)
{
    size_t letters = spelled(w, n);

    if (letters)
        return letters;
    if (is_form(w[n - 1], WORD_LEGAL | WORD_LEGAL_END))
        return 1;
    if (more && n > 2 && is(w[n - 1], "de") && is(w[n - 2], "s")) /* S. de R.L. */
        return 2;
    /* GmbH & Co. KG, S.A. de C.V.: what links two forms */
    return more && n > 1 && is_link(w[n - 1]) && form_at_end(w, n - 1, false) ? 1 : 0;
}

/* Takes a form off a word that is written together with it. */
static wharf_str legal_forms_apart(wharf_str w)
{
    static const char *const forms[] = {"株式会社", "有限会社", "合同会社", "合資会社", "合名会社",
        "股份有限公司", "有限责任公司", "有限責任公司", "有限公司",
        /* 주식회사, 유한회사 as they are decomposed */
        "\u110c\u116e\u1109\u1175\u11a8\u1112\u116c\u1109\u1161",
        "\u110b\u1172\u1112\u1161\u11ab\u1112\u116c\u1109\u1161"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t n = strlen(forms[i]);

        if (w.n > n && !memcmp(w.p, forms[i], n))
            return (wharf_str){w.p + n, w.n - n};
        if (w.n > n && !memcmp(w.p + w.n - n, forms[i], n))
            return (wharf_str){w.p, w.n - n};
    }
    return w;
}

size_t legal_forms_drop(wharf_str *w, size_t n)
{
    size_t end = n, from, left = 0, form;

    while (end && (form = form_at_end(w, end, end < n)) > 0)
        end -= form;
    /* S.C. Name S.R.L., PT Name Tbk: before the name only where there is one behind it */
    from = end < n && end > 2 && is(w[0], "s") && is(w[1], "c")       ? 2
           : end < n && end > 1 && (is(w[0], "pt") || is(w[0], "sc")) ? 1
                                                                      : 0;
    for (size_t i = from; i < end; i++) {
        if (!is_form(w[i], WORD_LEGAL))
            w[left++] = legal_forms_apart(w[i]);
    }
    return left;
}
