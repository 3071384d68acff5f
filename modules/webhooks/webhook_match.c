/* webhook_match.c - see webhook_match.h. */
#include "webhook_match.h"

#include <string.h>

#include "wharf/inline.h"

enum { SCALE = 6 };

bool match_location(const wharf_json_api *json, const wharf_json *locations, wharf_str location_id)
{
    wharf_str id;

    if (!locations || json->type(locations) != WHARF_J_ARRAY)
        return true;
    for (const wharf_json *e = json->at(locations, 0); e; e = json->next(e)) {
        if (location_id.n && json->text(e, &id) && same(id, location_id))
            return true;
    }
    return false;
}

/* Tells whether the array holds the id. Ids have no characters that JSON escapes. */
static bool holds_id(wharf_str array, wharf_str id)
{
    for (size_t i = 1; i + id.n + 1 <= array.n; i++) {
        if (array.p[i - 1] == '"' && array.p[i + id.n] == '"' && !memcmp(array.p + i, id.p, id.n))
            return true;
    }
    return false;
}

bool match_places(const wharf_json_api *json, const wharf_json *locations, const wharf_event *e)
{
    wharf_str id;

    if (!locations || json->type(locations) != WHARF_J_ARRAY)
        return true;
    for (const wharf_json *l = json->at(locations, 0); l; l = json->next(l)) {
        if (json->text(l, &id) && id.n && holds_id(e->locations, id))
            return true;
    }
    return false;
}

/* ---- conditions ---- */

static const wharf_json *webhook_match_step(
    const wharf_json_api *json, const wharf_json *v, const char *name, size_t n)
{
    char key[FILTER_PATH_MAX + 1];
    size_t i = 0;

    memcpy(key, name, n);
    key[n] = 0;
    if (json->type(v) == WHARF_J_OBJECT)
        return json->get(v, key);
    if (json->type(v) != WHARF_J_ARRAY || !n || n > 6)
        return NULL;
    for (const char *p = key; *p; p++) {
        if (*p < '0' || *p > '9')
            return NULL;
        i = i * 10 + (size_t)(*p - '0');
    }
    return i < json->count(v) ? json->at(v, i) : NULL;
}

static const wharf_json *webhook_match_find(
    const wharf_json_api *json, const wharf_json *v, wharf_str path)
{
    size_t from = 0;

    while (v && from <= path.n) {
        const char *dot = memchr(path.p + from, '.', path.n - from);
        size_t to = dot ? (size_t)(dot - path.p) : path.n;

        v = webhook_match_step(json, v, path.p + from, to - from);
        from = to + 1;
    }
    return v;
}

/* -1, 0, 1; false: they can not be compared. */
static bool webhook_match_compare(
    const wharf_json_api *json, const wharf_json *a, const wharf_json *b, int *ret)
{
    wharf_str s, t;
    int64_t x, y;
    bool p, q;

    if (json->text(a, &s) && json->text(b, &t)) {
        int r = memcmp(s.p, t.p, s.n < t.n ? s.n : t.n);

        *ret = r ? r : (s.n > t.n) - (s.n < t.n);
        return true;
    }
    if ((json->integer(a, &x) && json->integer(b, &y)) ||
        (json->decimal(a, SCALE, &x) && json->decimal(b, SCALE, &y))) {
        *ret = (x > y) - (x < y);
        return true;
    }
    if (json->truth(a, &p) && json->truth(b, &q)) {
        *ret = (p > q) - (p < q);
        return true;
    }
    return false;
}

static bool webhook_match_equal(
    const wharf_json_api *json, const wharf_json *a, const wharf_json *b)
{
    int order;

    if (!a || !b)
        return false;
    if (json->type(a) == WHARF_J_NULL || json->type(b) == WHARF_J_NULL)
        return json->type(a) == json->type(b);
    return webhook_match_compare(json, a, b, &order) && order == 0;
}

static bool webhook_match_among(
    const wharf_json_api *json, const wharf_json *v, const wharf_json *list)
{
    for (const wharf_json *e = json->at(list, 0); e; e = json->next(e)) {
        if (webhook_match_equal(json, v, e))
            return true;
    }
    return false;
}

static bool ordered(
    const wharf_json_api *json, const wharf_json *v, wharf_str op, const wharf_json *value)
{
    bool text = v && json->type(v) == WHARF_J_STRING, number = v && json->type(v) == WHARF_J_NUMBER;
    int order;

    if ((!text && !number) || !webhook_match_compare(json, v, value, &order))
        return false;
    return is(op, "gt")    ? order > 0
           : is(op, "gte") ? order >= 0
           : is(op, "lt")  ? order < 0
                           : order <= 0;
}

/* Tells whether the field changed. previous_attributes has the fields of data; the path may say
 * "data." or not. */
static bool changed(const wharf_json_api *json, const wharf_json *body, wharf_str path)
{
    const wharf_json *previous = json->get(body, "previous_attributes");

    if (!previous || json->type(previous) != WHARF_J_OBJECT)
        return false;
    if (path.n > 5 && !memcmp(path.p, "data.", 5))
        path = (wharf_str){path.p + 5, path.n - 5};
    return webhook_match_find(json, previous, path) != NULL;
}

static bool webhook_match_holds(
    const wharf_json_api *json, const wharf_json *condition, const wharf_json *body)
{
    const wharf_json *value = json->get(condition, "value"), *v;
    wharf_str path = WHARF_S(""), op = WHARF_S("");

    json->text(json->get(condition, "path"), &path);
    json->text(json->get(condition, "op"), &op);
    if (is(op, "changed"))
        return changed(json, body, path);
    v = webhook_match_find(json, body, path);
    if (is(op, "exists"))
        return v != NULL;
    if (is(op, "!exists"))
        return v == NULL;
    if (is(op, "eq"))
        return webhook_match_equal(json, v, value);
    if (is(op, "!eq"))
        return !webhook_match_equal(json, v, value);
    if (is(op, "in"))
        return webhook_match_among(json, v, value);
    if (is(op, "!in"))
        return !webhook_match_among(json, v, value);
    return ordered(json, v, op, value);
}

bool match_filter(const wharf_json_api *json, const wharf_json *conditions, const wharf_json *body)
{
    if (!conditions || json->type(conditions) != WHARF_J_ARRAY)
        return true;
    for (const wharf_json *c = json->at(conditions, 0); c; c = json->next(c)) {
        if (!webhook_match_holds(json, c, body))
            return false;
    }
    return true;
}

/* ---- checking what clients send ---- */

static bool webhook_match_scalar(const wharf_json_api *json, const wharf_json *v)
{
    return v && json->type(v) != WHARF_J_ARRAY && json->type(v) != WHARF_J_OBJECT;
}

static const char *value_problem(const wharf_json_api *json, wharf_str op, const wharf_json *value)
{
    static const char *const without[] = {"exists", "!exists", "changed"},
                             *const lists[] = {"in", "!in"}, *const single[] = {"eq", "!eq"},
                             *const order[] = {"gt", "gte", "lt", "lte"};

    for (size_t i = 0; i < 3; i++) {
        if (is(op, without[i]))
            return value ? "exists, !exists and changed take no value" : NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        if (is(op, single[i]))
            return webhook_match_scalar(json, value)
                       ? NULL
                       : "value must be a text, a number, true, false or null";
        if (!is(op, lists[i]))
            continue;
        if (!value || json->type(value) != WHARF_J_ARRAY || !json->count(value) ||
            json->count(value) > 100)
            return "value of in and !in is an array of 1 to 100 values";
        for (const wharf_json *e = json->at(value, 0); e; e = json->next(e)) {
            if (!webhook_match_scalar(json, e))
                return "the values of in and !in are texts, numbers, true, false or null";
        }
        return NULL;
    }
    for (size_t i = 0; i < 4; i++) {
        if (is(op, order[i]))
            return value && (json->type(value) == WHARF_J_NUMBER ||
                                json->type(value) == WHARF_J_STRING)
                       ? NULL
                       : "value of gt, gte, lt and lte is a number or a text";
    }
    return "op is one of eq, !eq, in, !in, gt, gte, lt, lte, exists, !exists, changed";
}

const char *match_condition_problem(const wharf_json_api *json, const wharf_json *condition)
{
    static const char previous[] = "previous_attributes";
    wharf_str path, op;

    if (json->type(condition) != WHARF_J_OBJECT)
        return "a condition is an object of path, op and value";
    for (const wharf_json *m = json->at(condition, 0); m; m = json->next(m)) {
        wharf_str key = json->key(m);

        if (!is(key, "path") && !is(key, "op") && !is(key, "value"))
            return "a condition has path, op and value, nothing else";
    }
    if (!json->get(condition, "path") || !json->text(json->get(condition, "path"), &path) ||
        !path.n || path.n > FILTER_PATH_MAX || path.p[0] == '.' || path.p[path.n - 1] == '.')
        return "path is a dotted path into the event's body, such as data.status";
    if (!json->get(condition, "op") || !json->text(json->get(condition, "op"), &op))
        return "op is one of eq, !eq, in, !in, gt, gte, lt, lte, exists, !exists, changed";
    if (is(op, "changed") && path.n >= sizeof(previous) - 1 &&
        !memcmp(path.p, previous, sizeof(previous) - 1))
        return "the path of changed is that of the field, such as status";
    return value_problem(json, op, json->get(condition, "value"));
}
