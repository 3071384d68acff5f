/* label_inside.h - inside of the reader of labels (label.h, docs/spec/06-inference.md section 8):
 * the page as pieces of lines with captions, and the parts that read it, one after the other. */
#ifndef LABEL_INSIDE_H
#define LABEL_INSIDE_H

#include <stdio.h>
#include <string.h>

#include "label.h"
#include "wharf/civil.h"
#include "wharf/inline.h"

/* ---- words (label_tables.c, made by label_tables.py of schemas/labels.json) ---- */

enum label_kind { /* the order is that of label_tables.py */
    LABEL_RECIPIENT,
    LABEL_SENDER,
    LABEL_TRACKING,
    LABEL_MASTER,
    LABEL_WEIGHT,
    LABEL_DIMENSIONS,
    LABEL_PACKAGE,
    LABEL_PURCHASE_ORDER,
    LABEL_ORDER_NUMBER,
    LABEL_INVOICE_NUMBER,
    LABEL_RMA_NUMBER,
    LABEL_REFERENCE_NUMBER,
    LABEL_ACCOUNT_ID,
    LABEL_SHIP_DATE,
    LABEL_DELIVERY_DATE,
    LABEL_PHONE,
    LABEL_EMAIL,
    LABEL_PERSON, /* attn */
    LABEL_CARE, /* c/o */
    LABEL_COMPANY,
    LABEL_OTHER, /* ends the value of another caption, and no more */
    LABEL_CARTON_NUMBER, /* from here on of items */
    LABEL_LOT_NUMBER,
    LABEL_SERIAL_NUMBER,
    LABEL_SKU,
    LABEL_ITEM_NUMBER,
    LABEL_QUANTITY,
    LABEL_EXPIRY_DATE,
    LABEL_PRODUCTION_DATE,
    LABEL_GTIN,
    LABEL_ITEM_NAME,
    LABEL_SSCC,
    LABEL_SUPPLIER,
    LABEL_NO_CAPTION, /* looks like one: "po box" */
    LABEL_FILLER, /* may stand between a caption and its value */
    LABEL_LEGAL,
    LABEL_BUSINESS,
    LABEL_OF,
    LABEL_TAG,
    LABEL_CARRIER,
    LABEL_SERVICE,
    LABEL_CLASS,
    LABEL_MONTH,
    LABEL_UNIT,
    LABEL_KINDS
};
#define LABEL_BIT(kind) (UINT64_C(1) << (kind))

/* Captions of shipping labels, of labels of items. */
#define LABEL_SHIPPING_CAPTIONS ((LABEL_BIT(LABEL_OTHER + 1) - 1) | LABEL_BIT(LABEL_NO_CAPTION))
#define LABEL_ITEM_CAPTIONS                                                                        \
    (LABEL_BIT(LABEL_PURCHASE_ORDER) | LABEL_BIT(LABEL_WEIGHT) | LABEL_BIT(LABEL_DIMENSIONS) |     \
        (LABEL_BIT(LABEL_SUPPLIER + 1) - LABEL_BIT(LABEL_OTHER)) | LABEL_BIT(LABEL_NO_CAPTION))

/* Where a phrase is a caption; a mark is a colon, a number sign, or the end of the piece. */
enum label_needs { LABEL_ANYWHERE, LABEL_MARKED, LABEL_BEGINS };

struct label_word {
    const char *key; /* without case and accents, one blank between words */
    uint8_t kind, needs;
    uint16_t ref; /* into label_names or label_services; the month */
};
struct label_service {
    const char *provider, *level, *name, *codes;
};
struct label_numeric { /* ISO 3166-1; ends with number 0 */
    uint16_t number;
    char code[3];
};
struct label_area { /* letters that postal codes of a country begin with; ends with NULL */
    const char *country, *begins;
};
struct label_weights { /* tenths */
    int bias, long_linear, provider_code, matrix, ruled, height_variance, dense, many_lines;
};
extern const struct label_word label_words[];
extern const size_t label_words_count;
extern const struct label_word label_near_names[]; /* of carriers, one word; ends with NULL */
extern const char *const label_names[];
extern const struct label_service label_services[];
extern const size_t label_services_count;
extern const struct label_numeric label_numerics[];
extern const struct label_area label_areas[];
extern const struct label_weights label_weights;

/* ---- the page (label_page.c) ---- */

struct label_token {
    wharf_str key;
    uint32_t from, to; /* bytes of the piece's text */
    uint32_t word; /* of the picture */
    bool mark; /* a colon, a number sign or an equals sign stands behind it */
    bool digit;
};

struct label_caption {
    uint32_t kind; /* enum label_kind */
    uint32_t from, value; /* tokens: where it begins, where its value may begin */
    bool mark; /* one stands behind it */
};

enum { LABEL_CAPTIONS_MAX = 6 };

/* Part of a line, without wide gaps inside. */
struct label_piece {
    wharf_str text;
    wharf_image_box box; /* in the picture */
    wharf_image_box at; /* as if its text were upright */
    uint32_t line, first_word, n_words, orientation;
    uint32_t confidence; /* per 1,000: mean of its words, by length */
    const struct label_token *tokens;
    uint32_t n_tokens;
    struct label_caption captions[LABEL_CAPTIONS_MAX];
    uint32_t n_captions;
    uint32_t begin; /* the first token that is of a party: before it stands half a caption */
};

struct label_page {
    const struct label_env *env;
    const wharf_image_read *image;
    struct label_piece *pieces;
    size_t n_pieces;
};

/* Makes the page. captions: LABEL_SHIPPING_CAPTIONS or LABEL_ITEM_CAPTIONS. */
void label_page_make(const struct label_env *env, const wharf_image_read *image, uint64_t captions,
    struct label_page *ret);
/* Makes the tokens of a text; those of several words of the picture are numbered from first_word
 * on, a blank at a time. */
struct label_token *label_tokens(
    const struct label_env *env, wharf_str text, uint32_t first_word, uint32_t *ret_n);
/* Finds the phrase that the tokens from i are, the longest one; NULL: none. kinds: LABEL_BIT of
 * those that are meant. *ret_n: tokens of it. */
const struct label_word *label_phrase(
    const struct label_token *t, uint32_t n, uint32_t i, uint64_t kinds, uint32_t *ret_n);
/* Finds the next word of the table with the same key and another kind or ref; NULL: none. */
const struct label_word *label_next_phrase(const struct label_word *w, uint64_t kinds);
/* Tells whether some phrase of the kinds stands in the text. */
bool label_has_phrase(const struct label_env *env, wharf_str text, uint64_t kinds);

/* Finds the value behind a caption: to the next caption, else the piece to the right on the same
 * line. Empty: none. *ret_box is where it stands, *ret_piece the piece, *ret_from its first
 * token. */
wharf_str label_value(const struct label_page *page, const struct label_piece *piece, uint32_t k,
    wharf_image_box *ret_box, const struct label_piece **ret_piece, uint32_t *ret_from);
/* Returns the text of tokens from to to (not included), without outer punctuation. */
wharf_str label_text_of(const struct label_piece *piece, uint32_t from, uint32_t to);
wharf_image_box label_box_of(
    const struct label_page *page, const struct label_piece *piece, uint32_t from, uint32_t to);

/* ---- small things (label_text.c) ---- */

#define label_new(env, type, n) ((type *)(env)->alloc((env)->ctx, ((n) ? (n) : 1) * sizeof(type)))

wharf_str label_copy(const struct label_env *env, wharf_str s);
/* Copies what snprintf() wrote to a room of LABEL_FORMAT_MAX bytes. */
wharf_str label_written(const struct label_env *env, const char *room, int n);
enum { LABEL_FORMAT_MAX = 512 };
/* Formats as printf() does, to memory of the environment. */
#define label_format(env, ...)                                                                     \
    ({                                                                                             \
        char room_[LABEL_FORMAT_MAX];                                                              \
        label_written(env, room_, snprintf(room_, sizeof(room_), __VA_ARGS__));                    \
    })
wharf_str label_upper(const struct label_env *env, wharf_str s); /* a to z only */
wharf_str label_trim(wharf_str s); /* blanks and punctuation around it */
size_t label_digits(wharf_str s); /* how many */
size_t label_letters(wharf_str s); /* how many of A to Z, in any case */
bool label_all_digits(wharf_str s);
/* Writes the text without case, accents, stops and apostrophes. */
wharf_str label_key(const struct label_env *env, wharf_str s);
wharf_str label_utf8(const struct label_env *env, wharf_str s); /* without what is no UTF-8 */
/* Writes "Straße" where OCR of another language read "StraBe". */
wharf_str label_sharp_s(const struct label_env *env, wharf_str s);
void label_set(struct label_fact *f, wharf_str value, uint32_t confidence, uint32_t source);
/* Puts the fact where none is, or a weaker one; the same value from another source makes it
 * surer. */
void label_offer(struct label_fact *f, const struct label_fact *other);
uint32_t label_both(uint32_t a, uint32_t b); /* 1 - (1 - a)(1 - b), per 1,000 */
bool label_same_key(const struct label_env *env, wharf_str a, wharf_str b);

/* ---- barcodes (label_codes.c, label_gs1.c, label_envelope.c) ---- */

enum { LABEL_ELEMENTS_MAX = 32, LABEL_GS1_SEPARATOR = 0x1d };

struct label_element { /* of a GS1 element string */
    wharf_str ai, value;
};
/* Takes a GS1 element string apart, with FNC1 as 0x1d or with the AIs in parentheses. Returns the
 * number of elements; 0: it is none. */
size_t label_gs1(wharf_str text, struct label_element ret[LABEL_ELEMENTS_MAX]);
/* Computes the check digit of GS1 of digits. */
char label_gs1_check(const char *digits, size_t n);

enum { LABEL_SPOTS_MAX = 64, LABEL_POSTALS_MAX = 8 };

struct label_spot { /* part of a barcode that may be a tracking number */
    wharf_str text;
    const struct label_code *code;
    bool sure; /* the symbol says that it is one */
    bool unit; /* of a logistic unit (SSCC), which need not be a carrier's */
};

/* Everything that barcodes say. */
struct label_coded {
    struct label_code *codes;
    size_t n_codes;
    struct label_fact postals[LABEL_POSTALS_MAX]; /* the destination's */
    size_t n_postals;
    struct label_party recipient; /* of codes with two dimensions */
    struct label_fact country; /* the destination's */
    struct label_fact carrier; /* a provider's id */
    struct label_fact service; /* the carrier's code */
    struct label_fact ship_date, account;
    struct label_measure weight;
    struct label_package package;
    struct label_spot spots[LABEL_SPOTS_MAX];
    size_t n_spots;
    struct label_reference references[LABEL_REFERENCES_MAX];
    const struct label_code *reference_codes[LABEL_REFERENCES_MAX];
    size_t n_references;
};
void label_coded_read(const struct label_env *env, const wharf_image_read *image,
    const struct label_given *given, struct label_coded *ret);
/* Reads a message of ISO 15434 ("[)>"). Returns false when it is none. */
bool label_envelope(
    const struct label_env *env, const struct label_code *code, struct label_coded *ret);
/* Reads one field of ANSI MH10.8.2 ("K4711"): a Data Identifier and its value. Returns false when
 * it begins with no identifier that is known. */
bool label_identifier(wharf_str field, wharf_str *ret_id, wharf_str *ret_value);
void label_coded_reference(
    struct label_coded *c, const char *type, wharf_str value, const struct label_code *code);
void label_coded_postal(const struct label_env *env, struct label_coded *c, wharf_str postal,
    wharf_str country, const struct label_code *code);
void label_coded_spot(
    struct label_coded *c, wharf_str text, const struct label_code *code, bool sure);
void label_coded_unit(struct label_coded *c, wharf_str text, const struct label_code *code);
const char *label_country_of(uint32_t numeric); /* NULL: none */
/* Makes a fact of a code. */
struct label_fact label_fact_of(
    const struct label_code *code, wharf_str value, uint32_t confidence);

/* ---- tracking number and provider (label_number.c, label_runs.c, label_repair.c) ---- */

void label_numbers(const struct label_page *page, struct label_coded *coded, struct label *ret);
/* Reads an OCR'd number with letters and digits changed that look alike. Returns false unless
 * exactly one reading has check digits that agree. */
bool label_repair(const struct label_env *env, wharf_str text, struct label_number *ret);

/* ---- parties (label_blocks.c, label_party.c, label_parties.c, label_place.c,
 * label_postal.c, label_lines.c) ---- */

enum { LABEL_BLOCK_LINES = 16 };

enum label_ends {
    LABEL_ENDS_NOTHING,
    LABEL_ENDS_PERHAPS, /* digits and a word: an address of a country that nothing tells */
    LABEL_ENDS_PLACE,
    LABEL_ENDS_CODE /* a postal code alone: the line above is the place */
};

struct label_line { /* of a block */
    const struct label_piece *piece;
    uint32_t from, to; /* its tokens: behind the caption of a party, before others */
    uint32_t place; /* enum label_ends: whether it ends an address */
};

struct label_block {
    struct label_line lines[LABEL_BLOCK_LINES];
    size_t n;
    wharf_image_box at; /* as if its text were upright */
    uint32_t orientation, left; /* left: where its lines begin */
    int role; /* LABEL_RECIPIENT, LABEL_SENDER, -1: no caption says */
    const struct label_piece *caption; /* or NULL */
    bool ended; /* an address ends in it */
};
/* Makes blocks of the pieces that may be parties. Returns how many. */
size_t label_blocks(const struct label_page *page, struct label_block **ret);
void label_parties(
    const struct label_page *page, const struct label_coded *coded, struct label *ret);
/* Reads a block as a party. country: whose form is meant where none is printed. Returns false when
 * it has no address. */
bool label_party_read(const struct label_page *page, const struct label_block *block,
    wharf_str country, struct label_party *ret);

struct label_place { /* an address that was read */
    wharf_str line1, line2, city, state_code, postal_code, country_code;
    bool country_told; /* it is printed, or the postal code has a form of that country alone */
    bool disagrees; /* the state has no such postal codes */
    bool repaired; /* signs of the postal code were taken for others */
};
/* Takes the lines apart as an address. last: where its last lines begin, in which the postal code
 * stands; country: whose form is meant where none is printed. Returns false when there is no postal
 * code with a place in it. */
bool label_place_read(const struct label_env *env, wharf_str text, size_t last, wharf_str country,
    struct label_place *ret);
/* Tells whether postal codes of the country are written so. */
bool label_is_postal_form(wharf_str postal, wharf_str country);
/* Writes the text with the postal code at the begin or end of one of its last lines as its form
 * wants it, "T5J ON3" as "T5J 0N3". Returns false unless there is exactly one way to do so. */
bool label_postal_repair(
    const struct label_env *env, wharf_str text, wharf_str country, wharf_str *ret);
bool label_is_country(wharf_str text);
/* Tells whether the line ends an address of the country that the line below it names. */
bool label_ends_named(const struct label_env *env, wharf_str text, wharf_str country);
/* Tells whether the line begins the street of an address. */
bool label_is_street(wharf_str text);
/* Tells whether the line is a unit or box alone. */
bool label_is_unit(wharf_str text);
/* Tells whether the line ends an address: a postal code and a place. */
enum label_ends label_ends_place(const struct label_env *env, wharf_str text);
bool label_looks_business(const struct label_env *env, wharf_str text);
bool label_looks_person(wharf_str text);
bool label_is_phone(wharf_str text);
bool label_is_email(wharf_str text);

/* ---- the rest (label_fields.c, label_measures.c, label_dates.c, label_service.c,
 * label_class.c) ---- */

void label_fields(
    const struct label_page *page, const struct label_coded *coded, struct label *ret);
void label_services_read(
    const struct label_page *page, const struct label_coded *coded, struct label *ret);
void label_tags(const struct label_page *page, struct label *ret);
/* Reads "12.5 LBS", "1 LB 4 OZ", "2,5KG" at the begin of a text. Returns how many bytes it is; 0:
 * none, or it has no unit. */
size_t label_weight_read(
    const struct label_env *env, wharf_str text, int64_t *ret_value, const char **ret_unit);
bool label_dimensions_read(
    const struct label_env *env, wharf_str text, struct label_dimensions *ret);
/* Reads a date that a text begins with. Returns false when there is none, when it can't be, or
 * when it is more than span days from today. */
bool label_date(const struct label_env *env, wharf_str text, int64_t span, int64_t *ret_days);
wharf_str label_date_text(const struct label_env *env, int64_t days);
/* Reads a number with up to three decimals, in thousandths; returns how many bytes it is, 0:
 * none. */
size_t label_decimal(wharf_str text, int64_t *ret);
void label_class_read(const struct label_page *page, struct label *ret);
wharf_str label_raw_text(const struct label_env *env, const wharf_image_read *image);

#endif
