/* contact_names.h - what is known about the words of names: titles, suffixes, nicknames, given
 * names, particles, legal forms.
 *
 * docs/spec/06-inference.md sections 9.2 and 9.4. Words are in normal form (section 9.1): lower
 * case, without accents, Korean in its parts. Data only: what follows from it is the matter of
 * clean.c, legal_forms.c and score.c. */
#ifndef CONTACTS_NAMES_H
#define CONTACTS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum word_kind {
    WORD_TITLE = 1, /* mr, dr */
    WORD_SUFFIX = 2, /* phd, esq; generational ones too */
    WORD_PARTICLE = 4, /* van, de */
    WORD_LEGAL = 8, /* gmbh, inc */
    WORD_GENERIC = 16, /* of businesses: services, store */
    WORD_UNIT = 32, /* apt, suite */
    WORD_GIVEN = 64, /* a given name */
    WORD_LEGAL_END = 128 /* sp, cv: a legal form at the end of a business, a name elsewhere */
};
enum { NICK_GROUPS = 4 };

struct word {
    uint32_t kinds; /* WORD_* */
    uint8_t generation; /* equal for suffixes that mean the same (jr, junior); 0: none */
    uint8_t n_nicks;
    uint16_t nicks[NICK_GROUPS]; /* groups of forms of one name */
};

/* Loads the lists of names. Must be called before the first word_of(), once per process. */
void names_load(void);
/* Returns what is known of a word; never NULL. */
const struct word *word_of(const char *p, size_t n);
/* Returns the forms of the word's names, one after the other: *at is 0 at first; false: there are
 * no more. */
bool word_form(const struct word *w, size_t *at, const char **ret_p, size_t *ret_n);
/* Tells whether both words are forms of one name (bill, william). */
bool word_nicknames(const struct word *a, const struct word *b);

#endif
