/* body_value.c - one JSON value into the canonical text of its column. See body.h. Leaves to
 * others: arrays (body_array.c), metadata (body_metadata.c). */
#include "resource/body_value.h"

#include <stdlib.h>

#include "schema/node.h"
#include "util/str.h"
#include "util/time.h"

/* Digits of a number inside JSON values: more than any double has, and far from what jsonb can't
 * hold. */
enum { DIGITS_MAX = 400 }; /* digits of a number */
static const int64_t SAFE_INTEGER = 9007199254740991; /* 2^53 - 1 */

static void schema_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct checker *c = arg;

    if (path.p && !body_describes(c, rule))
        return;
    c->fn(c->arg, path, rule, message);
    c->problems++;
}

bool body_by_schema(struct checker *c, const struct schema *s, const struct wharf_json *v,
    wharf_str path, uint32_t more)
{
    if (c->flags & BODY_STRICT)
        more |= SCHEMA_STRICT;
    return !s || schema_validate(s, v, path, more, c->arena, schema_problem, c);
}

/* ---- what texts and numbers may hold ---- */

/* Tells whether s has a character of Unicode's category Cc but TAB, LF, CR. C1 controls are two
 * bytes, C2 80 to C2 9F. */
static bool has_control(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F)
            return true;
        if (c == 0xC2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xA0)
            return true;
    }
    return false;
}

enum unclean { CLEAN, HAS_NUL, HAS_CONTROL, HAS_DIGITS };

static enum unclean unclean_text(wharf_str text, bool nul)
{
    return nul ? HAS_NUL : has_control(text) ? HAS_CONTROL : CLEAN;
}

static bool tell_unclean(struct checker *c, enum unclean why, wharf_str path)
{
    if (why == HAS_NUL)
        body_tell(c, path, "format", "%s contains U+0000, which can't be stored", path.p);
    else if (why == HAS_CONTROL)
        body_tell(c, path, "format",
            "%s contains a control character; only TAB, LF and CR may be sent", path.p);
    else if (why == HAS_DIGITS)
        body_tell(c, path, "format", "%s has more than %d digits", path.p, DIGITS_MAX);
    return why == CLEAN;
}

bool body_clean_text(struct checker *c, wharf_str text, bool nul, wharf_str path)
{
    return tell_unclean(c, unclean_text(text, nul), path);
}

/* Writes the number without exponent; "0" for what is nearer to 0 than any double. Returns false
 * when it has too many digits. */
static bool plain_number(wharf_str number, struct buf *out)
{
    size_t before = out->n;

    if (json_number_canonical(number, DIGITS_MAX, out))
        return true;
    out->n = before;
    if (strtod(number.p, NULL) != 0)
        return false;
    buf_addc(out, '0');
    return true;
}

static bool number_fits(wharf_str number)
{
    struct buf text;
    bool fits;

    buf_init(&text, 4096);
    fits = plain_number(number, &text);
    buf_done(&text);
    return fits;
}

/* Checks that v is clean. Paths are built for what is told only: a value may have as many parts as
 * a body has bytes. */
static bool clean_at(
    struct checker *c, const struct wharf_json *v, wharf_str base, const struct place *at)
{
    enum unclean why = CLEAN;
    bool ok = true;
    size_t i = 0;

    if (v->type == JSON_STRING)
        why = unclean_text(v->text, v->has_nul);
    else if (v->type == JSON_NUMBER && v->text.n > 20 && !number_fits(v->text))
        why = HAS_DIGITS;
    if (why != CLEAN)
        return body_describes(c, "format") && tell_unclean(c, why, place_path(c->arena, base, at));
    for (const struct wharf_json *m = v->child; m; m = m->next, i++) {
        struct place inner = v->type == JSON_ARRAY ? place_index(at, i) : place_key(at, m->key);

        why = v->type == JSON_OBJECT ? unclean_text(m->key, m->key_nul) : CLEAN;
        if (why != CLEAN)
            ok = body_describes(c, "format") &&
                 tell_unclean(c, why, place_path(c->arena, base, &inner));
        else if (!clean_at(c, m, base, &inner))
            ok = false;
    }
    return ok;
}

bool body_clean(struct checker *c, const struct wharf_json *v, wharf_str path)
{
    struct place root = {0};

    return clean_at(c, v, path, &root);
}

bool body_clean_member(struct checker *c, const struct wharf_json *member, wharf_str base)
{
    struct place root = {0}, at = place_key(&root, member->key);
    enum unclean why = unclean_text(member->key, member->key_nul);

    if (why != CLEAN)
        return body_describes(c, "format") && tell_unclean(c, why, place_path(c->arena, base, &at));
    return clean_at(c, member, base, &at);
}

static void add_compact(struct buf *out, const struct wharf_json *v)
{
    bool array = v->type == JSON_ARRAY;
    struct jw w;

    if (v->type == JSON_NUMBER) {
        if (!plain_number(v->text, out))
            buf_adds(out, v->text);
        return;
    }
    if (!array && v->type != JSON_OBJECT) {
        jw_init(&w, out);
        jw_value(&w, NULL, v);
        return;
    }
    buf_addc(out, array ? '[' : '{');
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        if (m != v->child)
            buf_addc(out, ',');
        if (!array) {
            json_quote(out, m->key);
            buf_addc(out, ':');
        }
        add_compact(out, m);
    }
    buf_addc(out, array ? ']' : '}');
}

wharf_str body_compact(struct arena *a, const struct wharf_json *v)
{
    struct buf out;
    wharf_str s;

    buf_init(&out, SIZE_MAX / 2);
    add_compact(&out, v);
    s = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return s;
}

/* ---- stores ---- */

static bool body_value_is_type(
    struct checker *c, const struct wharf_json *v, uint32_t type, wharf_str path, const char *words)
{
    if (v->type == type)
        return true;
    body_tell(c, path, "type", "%s must be %s", path.p, words);
    return false;
}

static void body_value_text_value(struct checker *c, const struct field *f,
    const struct wharf_json *v, wharf_str path, struct value *ret)
{
    struct wharf_json text = *v;

    if (!body_value_is_type(c, v, JSON_STRING, path, "a string"))
        return;
    if (f->trim)
        text.text = arena_dup_str(c->arena, utf8_trim(v->text));
    if (f->fold)
        text.text = utf8_lower(c->arena, text.text);
    if (body_clean_text(c, text.text, v->has_nul, path) &&
        body_by_schema(c, f->schema, &text, path, 0))
        ret->text = text.text;
}

static void int_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    int64_t i;

    if (!json_whole(v))
        body_tell(c, path, "type", "%s must be a whole number", path.p);
    else if (!json_int(v, &i) || i > SAFE_INTEGER || i < -SAFE_INTEGER)
        body_tell(c, path, *v->text.p == '-' ? "min" : "max", "%s must be between -%lld and %lld",
            path.p, (long long)SAFE_INTEGER, (long long)SAFE_INTEGER);
    else if (body_by_schema(c, f->schema, v, path, 0))
        ret->text = arena_printf(c->arena, "%lld", (long long)i);
}

static void decimal_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    size_t whole, fraction, places = f->precision - f->scale;
    const char *point;
    struct buf out;
    wharf_str text;

    if (!body_value_is_type(c, v, JSON_NUMBER, path, "a number") ||
        !body_by_schema(c, f->schema, v, path, 0))
        return;
    buf_init(&out, 4096);
    text = json_number_canonical(v->text, DIGITS_MAX, &out) ? arena_dup_str(c->arena, buf_str(&out))
                                                            : WHARF_S("");
    buf_done(&out);
    point = memchr(text.p, '.', text.n);
    fraction = point ? (size_t)(text.p + text.n - point - 1) : 0;
    whole = text.n - (point ? fraction + 1 : 0) - (*text.p == '-');
    if (whole == 1 && text.p[*text.p == '-'] == '0')
        whole = 0;
    if (!text.n)
        body_tell(c, path, "format", "%s has more digits than can be stored exactly", path.p);
    else if (fraction > f->scale)
        body_tell(
            c, path, "format", "%s must have at most %u digits after the point", path.p, f->scale);
    else if (whole > places)
        body_tell(c, path, *text.p == '-' ? "min" : "max",
            "%s must have at most %zu digits before the point", path.p, places);
    else
        ret->text = text;
}

static void bool_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    if (body_value_is_type(c, v, JSON_BOOL, path, "true or false") &&
        body_by_schema(c, f->schema, v, path, 0))
        ret->text = v->truth ? WHARF_S("true") : WHARF_S("false");
}

static void time_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    int64_t us, epoch;
    bool ok = false;

    (void)f; /* its schema is for documents: the values of section 11.2 count */
    if (v->type == JSON_STRING)
        ok = time_parse(v->text, false, &us);
    else if (json_int(v, &epoch))
        ok = time_parse(arena_printf(c->arena, "%lld", (long long)epoch), false, &us);
    if (!ok) {
        body_tell(c, path, "format",
            "%s must be a date and time with Z or a UTC offset, or epoch seconds or milliseconds",
            path.p);
        return;
    }
    ret->text = time_iso(c->arena, us);
}

static void json_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    struct value patch = {.present = true, .json = v};

    if (!body_clean(c, v, path) ||
        !body_by_schema(c, f->schema, v, path, f->merge ? SCHEMA_PATCH : 0))
        return;
    /* null members stand for nothing; then the whole must be right */
    if (f->merge && c->op & OP_CREATE) {
        value_merge(c->arena, f, WHARF_S(""), &patch, path, ret, schema_problem, c);
        return;
    }
    ret->json = v;
    ret->text = body_compact(c->arena, v);
    ret->patch = f->merge;
}

void body_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret)
{
    ret->present = true;
    switch (f->store) {
    case STORE_TEXT:
    case STORE_SECRET:
        body_value_text_value(c, f, v, path, ret);
        break;
    case STORE_INT:
        int_value(c, f, v, path, ret);
        break;
    case STORE_DEC:
        decimal_value(c, f, v, path, ret);
        break;
    case STORE_BOOL:
        bool_value(c, f, v, path, ret);
        break;
    case STORE_TIME:
        time_value(c, f, v, path, ret);
        break;
    case STORE_JSON:
        json_value(c, f, v, path, ret);
        break;
    case STORE_ARRAY:
        body_array(c, f, v, path, ret);
        break;
    case STORE_METADATA:
        body_metadata(c, f, v, path, ret);
        break;
    case STORE_NONE:
        ret->present = false;
        break;
    }
}
