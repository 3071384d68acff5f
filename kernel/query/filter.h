/* filter.h - inside of kernel/query/: a parsed filter and the pieces that parse and emit it.
 *
 * One pair of the query string becomes one condition, except operator-less repeats of an enum or
 * id parameter, which are one list. Values are kept as texts that PostgreSQL reads in the type
 * of the column; nothing of them ever enters SQL text. */
#ifndef WHARF_QUERY_FILTER_H
#define WHARF_QUERY_FILTER_H

#include "query/query.h"

enum {
    FILTER_PAIRS = 50, /* filters of a request */
    FILTER_ITEMS = 500, /* values of a filter */
    FILTER_DATES = 100, /* dates of a filter */
    FILTER_ID_LENGTH = 255
};

enum condition_kind {
    COND_NULL, /* is null; an empty set of an array */
    COND_IN, /* one of values, or null when with_null */
    COND_LESS, /* values[0], as the next three */
    COND_AT_MOST,
    COND_MORE,
    COND_AT_LEAST,
    COND_BETWEEN, /* values[0] < x < values[1] */
    COND_WITHIN, /* values[0] <= x <= values[1] */
    COND_TRUTH, /* boolean of the row, or of any child row */
    COND_ITEMS, /* array: all or any of items */
    /* text: one of the present items, none of the absent; "shipment.*" is what begins so */
    COND_NAMES,
    COND_META, /* metadata key: equal to values[0] */
    COND_META_LESS,
    COND_META_MORE,
    COND_BELOW, /* one of values in a tree, or below: ids and paths of names */
    COND_ANYTHING, /* a lenient filter without a member */
};

struct item { /* of an array or name filter */
    wharf_str value;
    bool absent; /* "!value" */
};

struct condition {
    const struct filter *filter;
    enum condition_kind kind;
    bool negated; /* the exact complement */
    bool with_null; /* COND_IN */
    bool open; /* COND_IN: made without operator, so a repeat joins it */
    bool truth; /* COND_TRUTH */
    bool any; /* COND_ITEMS: one is enough */
    wharf_str key; /* COND_META* */
    const wharf_str *values;
    size_t n_values;
    const struct item *items;
    size_t n_items;
};

enum key_form {
    KEY_PLAIN, /* "status" */
    KEY_LIST, /* "status[]" */
    KEY_BRACKET, /* "status[in]" */
    KEY_DOT, /* "metadata.color" */
    KEY_BROKEN,
};

struct filter_pair {
    const struct filter *filter;
    enum key_form form;
    wharf_str inner; /* what stands in the brackets or after the dot */
    wharf_str value;
};

/* Splits a decoded key after its base name. */
enum key_form filter_key(wharf_str key, wharf_str *ret_inner);

/* Parses a filter's value. Each function returns NULL and fills *c, or returns what the value must
 * be: the end of a sentence that begins with the parameter's name. */
const char *filter_parse(struct arena *a, const struct filter_pair *p, struct condition *c);
/* Parses a filter of a date or a number. Returns NULL, or what is wrong. */
const char *filter_compare(struct arena *a, const struct filter_pair *p, struct condition *c);
/* Parses a filter of an enum, an id or flags. Returns NULL, or what is wrong. */
const char *filter_set(struct arena *a, const struct filter_pair *p, struct condition *c);
const char *filter_text(struct arena *a, const struct filter_pair *p, struct condition *c);
/* Parses a filter of a bool or a many-bool. Returns NULL, or what is wrong. */
const char *filter_bool(struct arena *a, const struct filter_pair *p, struct condition *c);
const char *filter_names(struct arena *a, const struct filter_pair *p, struct condition *c);
const char *filter_array(struct arena *a, const struct filter_pair *p, struct condition *c);
const char *filter_tree(struct arena *a, const struct filter_pair *p, struct condition *c);
const char *filter_metadata(struct arena *a, const struct filter_pair *p, struct condition *c);

/* An operator word of one of the families below. */
enum op_family { OPS_COMPARE, OPS_SET, OPS_TEXT };
bool filter_op(
    enum op_family family, wharf_str word, enum condition_kind *ret_kind, bool *ret_negated);
/* Tells whether the whole value is "null" or "!null". */
bool filter_nullness(wharf_str value, bool *ret_negated);
/* Splits the comma list, items trimmed of spaces; with `escapes` a '\' keeps the next ',', '!' or
 * '\' as data. Returns NULL when an item is empty, or when there are more than FILTER_ITEMS.
 * *ret_bang marks where an item began with an unescaped '!'; ret_bang may be NULL. */
const wharf_str *filter_items(
    struct arena *a, wharf_str list, bool escapes, const bool **ret_bang, size_t *ret_n);

/* Appends the condition as one SQL term that is never null where it is negated. Ids name rows
 * that the principal sees; NULL: all. q: the request that it is of, as expressions may ask what
 * else that says. */
void condition_sql(
    struct sql *s, const struct list_query *q, const struct condition *c, const struct access *who);
/* Writes the search: " AND (...)", and gives the expression of its score. */
void search_where(struct sql *s, const struct definition *d, const struct list_query *q);
/* Writes " AND ..." that keeps out the rows that a search rule told. */
void search_not_found(struct sql *s, const struct list_query *q);
/* Writes the score. folded: search_folded() stands in FROM. */
void search_score(
    struct sql *s, const struct definition *d, const struct list_query *q, bool folded);
/* Joins the columns of a row as searches compare them, each folded once instead of with each
 * term. */
void search_folded(struct sql *s, const struct definition *d, const struct list_query *q);
/* Writes the columns of t that the score and search_folded() are made of. */
void search_columns(struct sql *s, const struct definition *d);
/* Tells whether a term is looked for in columns of words: one that is shorter than the trigrams of
 * their index is not. */
bool search_in_words(wharf_str term);
/* Returns the terms, joined by spaces. */
wharf_str search_whole(struct arena *a, const struct list_query *q);
void search_hits(struct sql *s, const struct definition *d, const struct list_query *q);

/* Reads a cursor. Returns false when the text was not made by query_cursor for this fingerprint. */
bool cursor_read(struct arena *a, wharf_str text, const unsigned char *key, struct list_query *q);
/* Returns the hash of what cursors are bound to. pairs: the filter pairs as decoded. */
wharf_str cursor_fingerprint(struct arena *a, const struct definition *d,
    const struct query_options *o, const struct list_query *q,
    const struct query_pair *const *pairs, size_t n_pairs);

#endif
