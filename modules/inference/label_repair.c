/* label_repair.c - numbers in which OCR took one sign for another that looks like it
 * (docs/spec/06-inference.md section 8.2): at most two are changed, and only one way to do so may
 * have check digits that agree. See label_inside.h. */
#include "label_inside.h"

enum { REPAIR_PLACES = 14, REPAIR_LENGTH_LEAST = 9, REPAIR_LENGTH_MOST = 40 };

static const char *label_like(char c)
{
    static const char *const groups[] = {
        "O0", "0O", "I1", "L1", "1I", "S5", "5S", "B8", "8B", "Z2", "2Z", "G6", "6G"};

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (groups[i][0] == c)
            return groups[i] + 1;
    }
    return NULL;
}

static bool label_is_digit_at(wharf_str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* Tells whether the sign may be another one: a letter may be a digit anywhere, a digit a letter
 * only among letters, because nearly all signs of numbers are digits. */
static bool label_may_change(wharf_str s, size_t i)
{
    bool begins = i == 0, ends = i + 1 == s.n;

    if (!label_like(s.p[i]))
        return false;
    if (!label_is_digit_at(s, i))
        return true;
    return (begins || !label_is_digit_at(s, i - 1)) && (ends || !label_is_digit_at(s, i + 1));
}

struct label_repairing {
    const struct label_env *env;
    char *text;
    size_t n, found;
    struct label_number best;
};

/* Tries the text as it is now. */
static void label_try_repaired(struct label_repairing *r)
{
    struct label_number n = {.checked = false};
    wharf_str copy = label_copy(r->env, (wharf_str){r->text, r->n});

    if (!r->env->detect(r->env->ctx, copy, &n) || !n.checked)
        return;
    r->best = n;
    r->found++;
}

bool label_repair(const struct label_env *env, wharf_str text, struct label_number *ret)
{
    struct label_repairing r = {.env = env, .n = text.n};
    size_t places[REPAIR_PLACES], n = 0;

    if (text.n < REPAIR_LENGTH_LEAST || text.n > REPAIR_LENGTH_MOST)
        return false;
    r.text = (char *)label_copy(env, text).p;
    for (size_t i = 0; i < text.n; i++) {
        if (!label_may_change(text, i))
            continue;
        if (n == REPAIR_PLACES)
            return false;
        places[n++] = i;
    }
    for (size_t i = 0; i < n && r.found < 2; i++) {
        r.text[places[i]] = *label_like(text.p[places[i]]);
        label_try_repaired(&r);
        for (size_t k = i + 1; k < n && r.found < 2; k++) {
            r.text[places[k]] = *label_like(text.p[places[k]]);
            label_try_repaired(&r);
            r.text[places[k]] = text.p[places[k]];
        }
        r.text[places[i]] = text.p[places[i]];
    }
    *ret = r.best;
    return r.found == 1;
}
