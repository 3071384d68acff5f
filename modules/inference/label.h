/* label.h - what a label says (docs/spec/06-inference.md sections 4.2, 4.3, 8 and 11): the words
 * and barcodes of one picture become a tracking number, two parties and the rest of the fields.
 *
 * Pure: knows no server, no database, no network. Whose a tracking number is and where memory
 * comes from is told by struct label_env. A wrong answer is worse than none: what is not sure stays
 * empty.
 * Leaves to others: reading the picture (wharf/service/image.h), matching contacts, storing.
 * Texts of a result live in the memory of the environment or in the picture that was read. */
#ifndef LABEL_H
#define LABEL_H

#include "wharf/plugin.h"
#include "wharf/service/image.h"

/* A number that carriers know. */
struct label_number {
    wharf_str normalized; /* as it is kept; of a number within a longer code that number alone */
    wharf_str provider_id;
    wharf_str service; /* the carrier's code of a service, or empty */
    bool checked; /* its format has check digits, and they agree */
    bool ambiguous; /* formats of two or more providers fit */
    const wharf_str *others; /* ids of these providers, all of them; may be NULL */
    size_t n_others;
};

struct label_env {
    void *ctx;
    void *(*alloc)(void *ctx, size_t bytes); /* zeroed, never NULL */
    /* Tells whose tracking number it is; false: nobody's. */
    bool (*detect)(void *ctx, wharf_str number, struct label_number *ret);
    const char *country; /* two capitals, of the location or the organization; "" unknown */
    int64_t today; /* days since 1970-01-01 */
};

/* Barcodes that the client has read (barcode_values of a request). */
struct label_given {
    const wharf_str *values;
    size_t n;
};

enum label_source { LABEL_BARCODE, LABEL_TEXT, LABEL_REQUEST };

struct label_fact {
    wharf_str value; /* never empty where confidence is above 0 */
    uint32_t confidence; /* per 1,000; 0: not there */
    uint32_t source; /* enum label_source */
    wharf_image_box box; /* all zero where no place is known */
    wharf_str raw; /* as printed or scanned */
};

struct label_party {
    struct label_fact name, business, phone, email;
    struct label_fact line1, line2, city, state_code, postal_code, country_code;
    wharf_str formatted; /* the address as printed, lines joined by line breaks; empty: none */
};

struct label_measure {
    struct label_fact fact;
    int64_t value; /* thousandths of the unit */
    const char *unit; /* lb, oz, kg, g */
};

struct label_dimensions {
    struct label_fact fact;
    int64_t length, width, height; /* thousandths of the unit */
    const char *unit; /* in, cm, mm */
};

struct label_package {
    struct label_fact fact;
    uint32_t number, total;
};

struct label_reference {
    const char *type; /* purchase_order, order_number, invoice_number, ... as the fields */
    wharf_str value;
};

struct label_code {
    wharf_str value; /* bytes as scanned: may be no UTF-8 */
    const char *symbology; /* "unknown" for codes of the request */
    wharf_image_box box;
    uint32_t orientation;
    const char *purpose; /* tracking, postal, routing, sscc, carrier_2d, reference, unknown */
    uint32_t source; /* enum label_source */
};

enum {
    LABEL_TAGS_MAX = 16, /* tags of a label */
    LABEL_REFERENCES_MAX = 50, /* references of a label */
    LABEL_TEXT_MAX = 32 << 10 /* bytes of the text that is kept */
};

struct label {
    struct label_fact tracking_number, provider_id;
    bool checked_number; /* the number has check digits, and they agree */
    bool postal_agrees; /* a barcode has the recipient's postal code too */
    wharf_str service_code; /* of label_number.service of the number */
    struct label_fact service_level_name; /* ground, express, ... */
    struct label_fact provider_service_level_id; /* fedex_ground, priority_overnight, ... */
    struct label_measure weight;
    struct label_dimensions dimensions;
    struct label_package package;
    struct label_fact ship_date, delivery_date; /* value: YYYY-MM-DD */
    struct label_fact purchase_order, order_number, invoice_number, rma_number, reference_number,
        account_id;
    const struct label_reference *references;
    size_t n_references;
    struct label_party recipient, sender;
    const char *tags[LABEL_TAGS_MAX]; /* words of spec 03 section 3 */
    size_t n_tags;
    const struct label_code *codes; /* those of the picture, then those of the request */
    size_t n_codes;
    wharf_str raw_text; /* at most LABEL_TEXT_MAX bytes, whole characters */
    /* shipping_label, item_label, bill_of_lading, packing_slip, invoice, other, unreadable */
    const char *classification;
    uint32_t extraction_score; /* per 10,000, section 4.2 */
    uint32_t classifier_score; /* per 10,000; 0 where the picture has no figures */
};

/* Reads a label. given: may be NULL. */
void label_read(const struct label_env *env, const wharf_image_read *image,
    const struct label_given *given, struct label *ret);

/* Finds what is printed behind a caption of the caller's choice (options.custom_attributes).
 * Returns false when it is not printed, or nothing stands behind it. */
bool label_custom(const struct label_env *env, const wharf_image_read *image, wharf_str caption,
    struct label_fact *ret);

/* Computes how much a picture looks like a shipping label, per 10,000, without its text
 * (section 4.2). provider_valid_code: a barcode that a carrier's check digits agree with. */
uint32_t label_classify(const wharf_image_read *image, bool provider_valid_code);
/* Tells whether a barcode of the picture has check digits of a carrier that agree. */
bool label_has_valid_code(const struct label_env *env, const wharf_image_read *image);

/* ---- several pictures (section 4.3) ---- */

enum label_mode { /* options.images.classification */
    LABEL_FROM_EXTRACTION_ONLY,
    LABEL_CLASSIFIER_FEEDS_EXTRACTION,
    LABEL_CLASSIFIER_INFORMS_SELECTION
};

/* Computes the score that selection is made by. extracted: OCR and extraction ran on it. */
uint32_t label_selection(
    enum label_mode mode, uint32_t classifier, uint32_t extraction, bool extracted);

struct label_picture {
    bool failed; /* could not be fetched or read: never selected */
    bool shipping_label; /* its class */
    bool extracted;
    wharf_str tracking_number; /* or empty */
    uint32_t selection, extraction; /* scores per 10,000 */
};

enum { LABEL_NONE = -1 };

struct label_choice {
    int selected; /* index, or LABEL_NONE */
    const char *error; /* "ambiguous_label", "missing_label" or NULL */
};

/* Chooses among the pictures of one request, in order. strict: options.images.on_ambiguity is
 * "error". */
void label_select(
    const struct label_picture *pictures, size_t n, bool strict, struct label_choice *ret);

/* ---- labels of items (section 11) ---- */

enum { ITEM_LABEL_LIST_MAX = 20 };

struct item_label {
    struct label_fact item_name, carton_number, lot_number, serial_number;
    struct label_fact gtin; /* 14 digits */
    struct label_fact sku, sscc;
    struct label_fact quantity; /* a number as text */
    struct label_fact supplier; /* a name */
    struct label_fact item_numbers[ITEM_LABEL_LIST_MAX], purchase_orders[ITEM_LABEL_LIST_MAX];
    size_t n_item_numbers, n_purchase_orders;
    struct label_measure weight;
    struct label_dimensions dimensions;
    struct label_fact production_date, expiry_date; /* YYYY-MM-DD */
    const struct label_code *codes;
    size_t n_codes;
    wharf_str raw_text;
    bool any; /* some field was found */
};

void item_label_read(const struct label_env *env, const wharf_image_read *image,
    const struct label_given *given, struct item_label *ret);

#endif
