/* score.h - how alike two names are: cleaning and the score of docs/spec/06-inference.md
 * sections 9.2 to 9.4.
 *
 * Pure functions over texts in search form (wharf/service/text.h: normal form, words separated
 * by one space, and ',' '#' '/' words of their own). The same input always gives the same score.
 * Leaves to others: finding candidates (index.h), what else a contact and a label may share
 * (channels.h), words that are known (contact_names.h). */
#ifndef CONTACTS_SCORE_H
#define CONTACTS_SCORE_H

#include "contact_names.h"
#include "wharf/plugin.h"

enum {
    TOKENS_MAX = 12, /* words of a name */
    TOKEN_POINTS = 40
};

struct token {
    wharf_str text; /* in the text that was cleaned */
    uint32_t points[TOKEN_POINTS]; /* the beginning, in code points */
    size_t n_points;
    const struct word *word;
};

/* A cleaned name. */
struct name {
    struct token tokens[TOKENS_MAX];
    size_t n;
    int generation; /* of its suffix, 0: none */
};

struct cleaned {
    struct name name, business; /* business: what c/o or attn told apart */
    wharf_str unit; /* "4b", or empty */
};

enum clean_flag {
    CLEAN_KEEP_TITLES = 1 /* without steps 5 and 6: the transitional score of older clients */
};
/* Cleans a name. ignore: phrases in search form that are removed everywhere. */
void name_clean(wharf_str search_form, const wharf_str *ignore, size_t n_ignore, unsigned flags,
    struct cleaned *ret);
/* Cleans the name of a business: its words without legal forms. */
void business_clean(wharf_str search_form, struct name *ret);

/* Drops what only says in which legal form a business is (legal_forms.c). Returns how many words
 * are left, in their order; none: there was nothing else. */
size_t legal_forms_drop(wharf_str *words, size_t n);

enum fuzziness { FUZZY_AUTO, FUZZY_NONE }; /* "AUTO:4,9", "0" */

enum match_kind {
    MATCH_NONE,
    MATCH_PARTIAL,
    MATCH_INITIAL,
    MATCH_TRUNCATED,
    MATCH_FUZZY,
    MATCH_NICKNAME,
    MATCH_SWAPPED,
    MATCH_EXACT
};

struct name_score {
    double score; /* 0 to 1 */
    double coverage; /* share of the label's tokens that found one */
    enum match_kind kind; /* the weakest that was used */
    double matched[TOKENS_MAX]; /* by token of the label: similarity of its partner, 0: none */
};

/* Compares names after section 9.4, channel name. */
void name_compare(
    const struct name *label, const struct name *contact, enum fuzziness f, struct name_score *ret);
/* Returns what the i-th word counts in its name. */
double name_weight(const struct name *name, size_t i);
/* Compares by the formula of businesses and streets: every word counts 1, generic ones 0.4. */
double business_compare(const struct name *a, const struct name *b, enum fuzziness f);
/* Returns how many edits may be between a searched token of that many code points and its
 * partner. */
int edits_allowed(size_t points, enum fuzziness f);
/* Computes how alike two tokens are letter by letter, 0 to 1: of letters that stand near each
 * other in both, and of half of those that stand in another order, which is not rounded. */
double jaro(const struct token *a, const struct token *b);
/* Computes the same with the prefix that both have: up to 4 letters count 0.1 each, above 0.7. */
double jaro_winkler(const struct token *a, const struct token *b);
/* Computes the optimal string alignment distance. */
int edit_distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m);
/* Rounds half up to four decimals, as all scores are shown. */
double score_round(double score);

#endif
