/* seen_parts.c - see seen_parts.h. */
#include "identity/seen_parts.h"

#include "identity/seen.h"
#include "util/json.h"
#include "util/str.h"

/* ---- judging ---- */

/* Returns the name under which lines of this resource and location are seen together. */
static wharf_str seen_parts_kind_of(
    struct arena *a, wharf_str resource, const struct wharf_json *line)
{
    wharf_str at = json_is(line->child, JSON_STRING) ? line->child->text : str_z("");

    return arena_printf(a, "%.*s:%.*s", STR_ARG(resource), STR_ARG(at));
}

static bool sees_line(
    const struct access *who, wharf_str resource, const struct wharf_json *line, struct arena *a)
{
    wharf_str at = json_is(line->child, JSON_STRING) ? line->child->text : str_z("");

    return (!resource.n || query_reads(who, resource)) && seen_by_location(who, seen_one(a, at));
}

static bool is_line(const struct wharf_json *line)
{
    return json_is(line, JSON_ARRAY) && line->count == 2;
}

static bool seen_parts_among(const wharf_str *list, size_t n, wharf_str s)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i], s))
            return true;
    }
    return false;
}

/* Adds the kinds of lines that the principal sees. Lines of one kind mostly stand together. */
static size_t add_kinds(struct arena *a, const struct wharf_json *part, const struct access *who,
    wharf_str *kinds, size_t n)
{
    const struct wharf_json *lines = json_get(part, "lines");
    wharf_str resource = json_text_or(part, "of", "");

    for (const struct wharf_json *l = lines ? lines->child : NULL; l; l = l->next) {
        wharf_str kind = is_line(l) ? seen_parts_kind_of(a, resource, l) : str_z("");

        if (kind.n && !seen_parts_among(kinds, n, kind) && sees_line(who, resource, l, a))
            kinds[n++] = kind;
    }
    return n;
}

static size_t count_lines(const struct wharf_json *parts)
{
    size_t n = 0;

    for (const struct wharf_json *p = parts->child; p; p = p->next) {
        const struct wharf_json *lines = json_get(p, "lines");

        n += lines ? lines->count : 0;
    }
    return n;
}

static const struct wharf_json *seen_parts_parsed(struct arena *a, wharf_str parts)
{
    struct json_error e;
    const struct wharf_json *v = parts.n ? json_parse(a, parts, &e) : NULL;

    return json_is(v, JSON_OBJECT) ? v : NULL;
}

static wharf_str seen_of(struct arena *a, const struct wharf_json *parts, const struct access *who)
{
    wharf_str *kinds = ARENA_ARRAY(a, wharf_str, count_lines(parts) + 1);
    size_t n = 0;

    for (const struct wharf_json *p = parts->child; p; p = p->next)
        n = add_kinds(a, p, who, kinds, n);
    return seen_many(a, kinds, n);
}

/* ---- showing ---- */

/* Writes a part with the lines that are seen: the newest, as many as it shows; or the only one. */
static void seen_parts_put_part(
    struct jw *w, struct arena *a, const struct wharf_json *part, const wharf_str *seen)
{
    const struct wharf_json *lines = json_get(part, "lines"), *one = json_get(part, "one");
    const struct wharf_json **shown = ARENA_ARRAY(
        a, const struct wharf_json *, (lines ? lines->count : 0) + 1);
    wharf_str resource = json_text_or(part, "of", "");
    int64_t newest = INT64_MAX;
    size_t n = 0, from;

    for (const struct wharf_json *l = lines ? lines->child : NULL; l; l = l->next) {
        if (is_line(l) && (!seen || seen_among(*seen, seen_parts_kind_of(a, resource, l))))
            shown[n++] = l->child->next;
    }
    json_int(json_get(part, "newest"), &newest);
    from = (int64_t)n > newest ? n - (size_t)newest : 0;
    jw_key(w, part->key);
    if (one && one->truth) {
        if (n)
            jw_value(w, NULL, shown[n - 1]);
        else
            jw_null(w, NULL);
        return;
    }
    jw_open(w, NULL, '[');
    for (size_t i = from; i < n; i++)
        jw_value(w, NULL, shown[i]);
    jw_close(w, ']');
}

static wharf_str seen_parts_members(
    struct arena *a, const struct wharf_json *parts, const wharf_str *seen)
{
    wharf_str s;
    struct buf b;
    struct jw w;

    buf_init(&b, SIZE_MAX / 2);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    for (const struct wharf_json *p = parts->child; p; p = p->next)
        seen_parts_put_part(&w, a, p, seen);
    jw_close(&w, '}');
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    if (!parts->child)
        return str_z("");
    ((char *)s.p)[0] = ','; /* the braces of an object of its own go */
    return (wharf_str){s.p, s.n - 1};
}

wharf_str parts_for(struct arena *a, wharf_str parts, const struct access *who, wharf_str *ret_seen)
{
    const struct wharf_json *v = seen_parts_parsed(a, parts);

    *ret_seen = v ? seen_of(a, v, who) : str_z("");
    return v ? seen_parts_members(a, v, ret_seen) : str_z("");
}

wharf_str parts_members(struct arena *a, wharf_str parts, wharf_str seen)
{
    const struct wharf_json *v = seen_parts_parsed(a, parts);

    return v ? seen_parts_members(a, v, &seen) : str_z("");
}

wharf_str parts_put(struct arena *a, wharf_str text, size_t at, wharf_str added)
{
    return arena_printf(
        a, "%.*s%.*s%.*s", (int)at, text.p, STR_ARG(added), (int)(text.n - at), text.p + at);
}

wharf_str parts_shown(struct arena *a, wharf_str object, wharf_str parts, const struct access *who)
{
    const struct wharf_json *v = seen_parts_parsed(a, parts);
    wharf_str seen;

    if (!v || object.n < 2)
        return object;
    seen = who ? seen_of(a, v, who) : str_z("");
    return parts_put(a, object, object.n - 1, seen_parts_members(a, v, who ? &seen : NULL));
}
