/* address_parse.h - one string taken apart as an address (spec 02 section 1). Pure: knows no
 * server and no organization. */
#ifndef ADDRESS_PARSE_H
#define ADDRESS_PARSE_H

#include "address_tables.h"
#include "wharf/plugin.h"

/* Empty parts have no text. */
struct address {
    wharf_str line1, line2, city, state, postal_code, country_code;
};

/* At most this many bytes are taken apart; clean is longer, a blank follows each 〒. */
enum { ADDRESS_BYTES = 2048, ADDRESS_CLEAN = 3072, ADDRESS_WORDS = 320 };
enum { ADDRESS_ROOM = 2 * ADDRESS_CLEAN };

/* Takes text apart; never fails: text that is not understood is line1. country: whose form is
 * meant when the text names none. The parts lie in text, in room or in tables. */
void address_read(wharf_str text, wharf_str country, char room[ADDRESS_ROOM], struct address *ret);

/* Finds a country by a name, ISO-2 or ISO-3 code, in any case. Returns NULL when there is none. */
const struct country *country_find(wharf_str text);
/* Finds a state that has a code, by code or name. Returns NULL when there is none. */
const struct state *state_find(wharf_str country_code, wharf_str text);

/* ---- inside of the parser ---- */

/* Stand between two words, from weak to strong. */
enum address_gap { GAP_NONE, GAP_SPACE, GAP_DASH, GAP_COMMA, GAP_LINE };

enum address_mark {
    MARK_LINE, /* goes to line1 or line2 */
    MARK_CITY,
    MARK_STATE,
    MARK_POSTAL,
    MARK_DROPPED /* the country, labels */
};

struct word {
    uint16_t from, to; /* in clean */
    uint16_t key, key_n; /* in keys: without case, marks and outer punctuation */
    uint8_t gap; /* before it */
    bool digit, upper; /* has a digit; has no small letter */
};

struct words {
    char clean[ADDRESS_CLEAN], keys[2 * ADDRESS_CLEAN];
    size_t clean_n, keys_n, n;
    struct word at[ADDRESS_WORDS];
};

struct span {
    size_t from, to; /* words; equal: none */
};

/* Makes words of a text. Returns false when it is too long. */
bool words_of(wharf_str text, struct words *ret);
/* Finds the first entry of the key that is one of kinds, of the form or of all. */
const struct address_word *key_find(wharf_str key, unsigned kinds, const struct address_form *f);
/* Finds the same of the words from, from + 1, ... (n of them), joined by spaces. */
const struct address_word *words_find(
    const struct words *t, size_t from, size_t n, unsigned kinds, const struct address_form *f);
bool word_is(const struct words *t, size_t i, unsigned kinds, const struct address_form *f);
/* Tells whether words may be a postal code: a digit is in them, or they are two that end the text,
 * "HM AX" of Bermuda, and no words of streets or units. */
bool may_be_code(const struct words *t, struct span p, size_t end, const struct address_form *f);
/* Tells whether the key has the form of a pattern of struct address_form. */
bool pattern_fits(const char *pattern, wharf_str key);
const struct address_form *form_of(wharf_str country_code);
/* Returns how many words from i are a unit: "Apt 4B", "2nd Floor", "#5"; 0: none. */
size_t unit_length(const struct words *t, size_t i, size_t end, const struct address_form *f);
/* Returns how many words from i are a box with its number: "PO Box 12"; 0: none. */
size_t box_length(const struct words *t, size_t i, size_t end);
/* Writes the words that are marked MARK_LINE as line1 and line2 to room. Returns how much of it
 * is used. */
size_t lines_of(const struct words *t, const uint8_t *marks, const struct address_form *f,
    char room[ADDRESS_ROOM], struct address *ret);
/* Reads an address in the letters of Japan, China or Korea, from the large to the small. Returns
 * false when it is none. */
bool read_east(
    const struct words *t, wharf_str country, char room[ADDRESS_ROOM], struct address *ret);

static inline wharf_str key_of(const struct words *t, size_t i)
{
    return (wharf_str){t->keys + t->at[i].key, t->at[i].key_n};
}

#endif
