/* json.h - strict reading of JSON text, writing it, and building values without a text.
 *
 * Reading follows docs/spec/01-platform.md section 2.3 'Strict JSON': RFC 8259, refusing
 * trailing text, comments, invalid UTF-8, lone surrogate escapes, duplicate keys, depth over 64,
 * NaN/Infinity, leading zeros and numbers that overflow a double. A UTF-8 BOM is dropped.
 * Numbers keep their text, so that decimals stay exact. The tree lives in an arena and is
 * read-only. Duplicate keys are found in linear time, whatever the object's size. */
#ifndef WHARF_UTIL_JSON_H
#define WHARF_UTIL_JSON_H

#include "util/arena.h"
#include "util/buf.h"

enum { JSON_DEPTH_MAX = 64 }; /* levels of JSON */

/* The numbers are part of the plugin interface (wharf_json_api.type). */
enum json_type {
    JSON_NULL = WHARF_J_NULL,
    JSON_BOOL = WHARF_J_BOOL,
    JSON_NUMBER = WHARF_J_NUMBER,
    JSON_STRING = WHARF_J_STRING,
    JSON_ARRAY = WHARF_J_ARRAY,
    JSON_OBJECT = WHARF_J_OBJECT,
};

struct wharf_json {
    uint32_t type; /* enum json_type */
    bool truth; /* JSON_BOOL */
    bool has_nul; /* JSON_STRING: contains U+0000 (text then has "\xEF\xBF\xBD" in its place) */
    bool key_nul; /* the same of the key */
    wharf_str key; /* of an object's member, decoded */
    wharf_str text; /* JSON_STRING decoded; JSON_NUMBER as written */
    uint32_t count; /* of children */
    struct wharf_json *child; /* first child, in the order of the text */
    struct wharf_json *next;
};

struct json_error {
    size_t offset; /* byte where reading stopped */
    const char *message; /* static, complete sentence part: "duplicate key" */
    bool no_memory; /* the arena's budget ran out: the text has too many values */
};

/* Parses a text. Returns NULL and *ret_error when the text is refused. Takes about text.n bytes
 * and 64 per value of the arena; when the arena's budget runs out on the way the text is refused
 * too ("too many values", no_memory). */
const struct wharf_json *json_parse(struct arena *a, wharf_str text, struct json_error *ret_error);

const struct wharf_json *json_get(
    const struct wharf_json *object, const char *key); /* or NULL; also when not an object */
const struct wharf_json *json_get_n(const struct wharf_json *object, wharf_str key);
/* Returns the i-th element of an array or member of an object; NULL past the end. */
const struct wharf_json *json_at(const struct wharf_json *array, size_t i);
/* Tells whether v has this type; v may be NULL. */
static inline bool json_is(const struct wharf_json *v, uint32_t type)
{
    return v && v->type == type;
}
/* For looking up many keys of one object: n log n once, log n per look-up. object may be NULL or
 * no object. */
struct json_index {
    const struct wharf_json *object, **sorted; /* sorted NULL: few members, looked up one by one */
};
struct json_index json_index(struct arena *a, const struct wharf_json *object);
const struct wharf_json *json_index_get(const struct json_index *index, wharf_str key);
/* Returns the text of a string member, or fallback when it is absent or of another type. */
wharf_str json_text_or(const struct wharf_json *object, const char *key, const char *fallback);
bool json_bool_or(const struct wharf_json *object, const char *key, bool fallback);
int64_t json_int_or(const struct wharf_json *object, const char *key, int64_t fallback);
/* Converts a number exactly. Returns false when v is not a number, not whole ("1.0" and "1e2" are
 * whole), or out of range. */
bool json_int(const struct wharf_json *v, int64_t *ret_i);
/* Converts a number exactly: value = *ret_scaled / 10^scale. Returns false when digits beyond the
 * scale are not zero, or it is out of range. */
bool json_decimal(const struct wharf_json *v, uint32_t scale, int64_t *ret_scaled);
/* Tells whether v is a number without a fraction, of any size. */
bool json_whole(const struct wharf_json *v);
/* Tells whether a is an exact multiple of b (b not 0, at most 18 significant digits). Both are
 * texts of RFC 8259. */
bool json_number_multiple(wharf_str a, wharf_str b);
/* Counts the significant digits: 0 of zero, 3 of "0.0120". */
size_t json_number_digits(wharf_str number);
double json_double(const struct wharf_json *v);
/* Compares deeply: numbers by exact value (1 equals 1.0), objects without regard to order. */
bool json_equal(const struct wharf_json *a, const struct wharf_json *b);
/* Returns a hash; equal values have equal hashes. seed is 16 random bytes when the values come
 * from outside. */
uint64_t json_hash(const struct wharf_json *v, const unsigned char seed[16]);
/* Writes the canonical text of an exact number: no exponent, no leading '+', no trailing zeros
 * after the point ("-1", "2.5"). Returns false when it has more than max_digits digits. */
bool json_number_canonical(wharf_str number, size_t max_digits, struct buf *out);
/* Compares two numbers (texts of RFC 8259) by exact value. Returns <0, 0 or >0. */
int json_number_compare(wharf_str a, wharf_str b);

/* ---- writing: compact, UTF-8 raw, only what RFC 8259 demands is escaped ---- */

struct jw {
    struct buf *out;
    uint64_t comma; /* bit per depth: a value was written at this depth */
    uint32_t depth;
};

void jw_init(struct jw *w, struct buf *out);
void jw_open(struct jw *w, const char *key /* or NULL in arrays */, char bracket);
void jw_close(struct jw *w, char bracket); /* '}' or ']' */
void jw_key(struct jw *w, wharf_str key); /* then exactly one jw_* with key NULL */
/* Writes a key that is JSON text already, with its colon. */
void jw_quoted(struct jw *w, wharf_str key);
void jw_str(struct jw *w, const char *key, wharf_str v);
void jw_z(struct jw *w, const char *key, const char *z /* NULL writes null */);
void jw_int(struct jw *w, const char *key, int64_t v);
void jw_bool(struct jw *w, const char *key, bool v);
void jw_null(struct jw *w, const char *key);
void jw_raw(struct jw *w, const char *key, wharf_str json); /* json must be one complete value */
/* Writes a parsed value, numbers as they stand in the source. */
void jw_value(struct jw *w, const char *key, const struct wharf_json *v);
/* Returns a value as text that lives in a; NULL is null. */
wharf_str jw_text(struct arena *a, const struct wharf_json *v);
/* Writes the string with its quotes, escaped, no comma logic. */
void json_quote(struct buf *out, wharf_str s);

/* ---- building a value ---- */

/* A value that is built from the outside inwards: open(), members, close(). key: name of an
 * object's member, NULL in arrays and for the whole value. Texts are copied into the arena. What
 * would be no JSON (a member without a name, a name twice, text that is not UTF-8) is noted, and
 * json_build_result() says it. */
struct json_build {
    struct arena *arena;
    struct wharf_json *root; /* NULL: nothing yet */
    const char *wrong; /* what was wrong with it, or NULL */
    struct json_build_level {
        struct wharf_json *node, *last;
    } * levels; /* what is open, the outermost first */
    unsigned depth, room;
};

void json_build_init(struct json_build *b, struct arena *a);
void json_build_open(struct json_build *b, const char *key, char bracket);
void json_build_close(struct json_build *b);
void json_build_text(struct json_build *b, const char *key, wharf_str v);
/* Adds a number. v must be one by RFC 8259. */
void json_build_number(struct json_build *b, const char *key, wharf_str v);
void json_build_bool(struct json_build *b, const char *key, bool v);
void json_build_null(struct json_build *b, const char *key);
/* Adds a value, whose members and texts are shared: they must live as long as the arena. */
void json_build_value(struct json_build *b, const char *key, const struct wharf_json *v);
/* Returns the value; NULL with *ret_wrong (static, part of a sentence) when it is none. */
const struct wharf_json *json_build_result(const struct json_build *b, const char **ret_wrong);

#endif
