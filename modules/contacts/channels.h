/* channels.h - in what a label and a contact are alike, and what that comes to: the channels,
 * markers and relevance of docs/spec/06-inference.md sections 9.4 and 9.5.
 *
 * Scores depend on the two records only. Leaves to others: names (score.h), who is looked at
 * (contact_match.c). */
#ifndef CONTACTS_CHANNELS_H
#define CONTACTS_CHANNELS_H

#include "contacts.h"
#include "score.h"

enum { PHONE_TAIL = 9 }; /* last digits of phones that are compared */

enum channel_kind {
    BY_NAME,
    BY_BUSINESS,
    BY_ADDRESS,
    BY_UNIT,
    BY_PHONE,
    BY_EMAIL,
    BY_HISTORY,
    CHANNELS
};

enum marker {
    EMAIL_EXACT,
    PHONE_EXACT,
    NAME_EXACT,
    ALTERNATE_NAME_EXACT,
    NAME_SWAPPED,
    NAME_NICKNAME,
    NAME_FUZZY,
    NAME_TRUNCATED,
    NAME_INITIAL,
    NAME_PARTIAL,
    REMEMBERED,
    ADDRESS_EXACT,
    UNIT_EXACT,
    BUSINESS_EXACT,
    BUSINESS_FUZZY,
    POSTAL_CODE,
    STREET_NUMBER,
    CITY,
    LOCATION,
    MARKERS
};

/* A label, read once for all contacts. */
struct label {
    wharf_req *req;
    /* uncleaned: with titles and suffixes, for the transitional score */
    struct cleaned name, uncleaned;
    struct name business;
    wharf_str email, unit;
    char tail[PHONE_TAIL + 1]; /* last digits of the phone; "" when there are too few */
    const wharf_json *address; /* NULL too when it is the location's own */
    const wharf_str *ignore; /* in search form */
    size_t n_ignore;
    enum fuzziness fuzziness;
};

/* A contact as it is compared. Lists and objects may be NULL. */
struct party {
    wharf_str id, name, email, phone, business, company;
    /* groups: their names */
    const wharf_json *other_names, *emails, *other_phones, *addresses, *groups;
    bool remembered, here; /* here: belongs to the label's location */
};

struct channels {
    double score[CHANNELS]; /* 0 to 1 */
    bool reported[CHANNELS]; /* there is something to compare in it */
    wharf_str value[CHANNELS]; /* of the contact, what it matched with */
    /* coverage, matched: of the name that is most alike */
    double name_v3, coverage, matched[TOKENS_MAX];
    bool marked[MARKERS];
};

/* Tells whether both sides have something in that channel, and it disagrees: below 0.5. */
bool channel_disagrees(const struct channels *c, enum channel_kind channel);
extern const char *const channel_names[CHANNELS];
extern const struct marker_kind {
    const char *name;
    int points;
} marker_kinds[MARKERS];

/* Writes the last digits of a text, up to room - 1 of them, as a string. Returns how many. */
size_t last_digits(wharf_str s, char *out, size_t room);
bool equal_folded(wharf_str a, wharf_str b);
void label_compare(const struct label *label, const struct party *contact, struct channels *ret);
/* Returns the relevance, rounded to four decimals. v3: with the name that keeps its titles. */
double label_relevance(const struct channels *c, bool v3);
int label_points(const struct channels *c);
/* Returns the unit that the second line of an address names, in search form; "": none. */
wharf_str unit_of(wharf_req *req, wharf_str line2);

#endif
