/* draw_expand.c - a definition becomes elements: conditions, repeats, variables; see draw.h.
 * Leaves to others: expressions (draw_expr.c), rows of tables (draw_table.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "draw.h"
#include "util/str.h"

/* Members whose texts are not those of the element: of its children, or of each row. */
static const char *const apart[] = {"if", "repeat", "children", "columns", "rows", "group_by",
    "group_header", "footer_rows", "id", "after", NULL};

#define NUMBER_MAX 1e6 /* of a member */

/* ---- members ---- */

bool el_has(const struct element *e, const char *key)
{
    const struct wharf_json *v = json_get(e->json, key);

    return v && v->type != JSON_NULL;
}

double el_number(const struct element *e, const char *key, double fallback)
{
    double d;

    return value_as_number(json_get(e->json, key), &d) && fabs(d) <= NUMBER_MAX ? d : fallback;
}

wharf_str el_text(const struct element *e, const char *key, const char *fallback)
{
    const struct wharf_json *v = json_get(e->json, key);

    return json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER) ? v->text : str_z(fallback);
}

bool el_truth(const struct element *e, const char *key, bool fallback)
{
    const struct wharf_json *v = json_get(e->json, key);

    if (json_is(v, JSON_STRING) && str_eqz(v->text, "false"))
        return false;
    return v && v->type != JSON_NULL ? value_truth(v) : fallback;
}

int el_word(
    struct drawing *d, struct element *e, const char *key, const char *const *words, int fallback)
{
    wharf_str said = el_text(e, key, "");

    if (!said.n)
        return fallback;
    for (int i = 0; words[i]; i++) {
        if (str_eqz(said, words[i]))
            return i;
    }
    report_error(d, e, "expression.invalid", "%s is \"%.*s\", which it can't be", key,
        (int)(said.n < 40 ? said.n : 40), said.p);
    return -1;
}

static bool draw_expand_hex_digit(char c, double *ret)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

    /* 0x20 leaves digits as they are, and makes small letters of others */
    *ret = at ? (double)(at - digits) : 0;
    return at != NULL && (c > '9' || (c >= '0' && c <= '9'));
}

bool color_read(wharf_str s, struct color *ret)
{
    double v[4] = {0, 0, 0, 255}, digits[8];
    size_t n = s.n - 1;

    if (!s.n || s.p[0] != '#' || (n != 3 && n != 6 && n != 8))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!draw_expand_hex_digit(s.p[1 + i], &digits[i]))
            return false;
    }
    for (size_t i = 0; i < (n == 3 ? 3 : n / 2); i++)
        v[i] = n == 3 ? digits[i] * 17 : digits[2 * i] * 16 + digits[2 * i + 1];
    *ret = (struct color){v[0] / 255, v[1] / 255, v[2] / 255, v[3] / 255};
    return true;
}

bool color_set(struct drawing *d, struct element *e, const char *key, const char *fallback)
{
    wharf_str said = el_text(e, key, fallback);
    struct color c;

    if (!color_read(said, &c))
        return report_error(d, e, "expression.invalid", "%s is \"%.*s\", which is no color", key,
            (int)(said.n < 40 ? said.n : 40), said.p);
    cairo_set_source_rgba(d->cairo, c.r, c.g, c.b, c.a);
    return true;
}

/* ---- variables ---- */

struct draw_eval expand_eval(struct drawing *d, const struct draw_vars *vars)
{
    return (struct draw_eval){.arena = d->arena,
        .vars = vars,
        .page = d->page ? d->page : 1,
        .pages = d->pages ? d->pages : 1,
        .zones = d->zones.read ? &d->zones : NULL};
}

/* Tells whether a name is in a list that ends with NULL; the list may be NULL. */
static bool draw_expand_is_among(wharf_str name, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++) {
        if (str_eqz(name, list[i]))
            return true;
    }
    return false;
}

/* Tells whether a text of the value has variables. */
static bool has_variables(const struct wharf_json *v, const char *const *skipped)
{
    if (json_is(v, JSON_STRING))
        return expr_has(v->text);
    for (const struct wharf_json *c = v->child; c; c = c->next) {
        if (!draw_expand_is_among(c->key, skipped) && has_variables(c, NULL))
            return true;
    }
    return false;
}

static const struct wharf_json *expand_text(
    struct drawing *d, struct element *e, const struct draw_vars *vars, const struct wharf_json *v)
{
    struct draw_eval eval = expand_eval(d, vars);
    const struct wharf_json *made = expr_text(&eval, v->text);

    e->late = e->late || eval.said_page;
    if (!made) {
        report_error(d, e, "expression.invalid", "%.*s%s%s", STR_ARG(v->key), v->key.n ? ": " : "",
            eval.wrong);
        return NULL;
    }
    if (eval.missing.n)
        report_warning(d, e, v->key.p ? v->key.p : "", "variable.missing", "%.*s is not set",
            (int)(eval.missing.n < 100 ? eval.missing.n : 100), eval.missing.p);
    return made;
}

const struct wharf_json *expand_value(struct drawing *d, struct element *e,
    const struct draw_vars *vars, const struct wharf_json *v, const char *const *skipped)
{
    struct wharf_json *copy, **last;

    if (!has_variables(v, skipped))
        return v;
    if (v->type == JSON_STRING)
        return expand_text(d, e, vars, v);
    copy = ARENA_NEW(d->arena, struct wharf_json);
    *copy = *v;
    last = &copy->child;
    for (const struct wharf_json *c = v->child; c; c = c->next) {
        struct wharf_json *member = ARENA_NEW(d->arena, struct wharf_json);
        const struct wharf_json *made = draw_expand_is_among(c->key, skipped)
                                            ? c
                                            : expand_value(d, e, vars, c, NULL);

        if (!made)
            return NULL;
        *member = *made;
        member->key = c->key;
        member->next = NULL;
        *last = member;
        last = &member->next;
    }
    *last = NULL;
    return copy;
}

/* Puts the variables into the members of an element, and looks that numbers became numbers; one
 * that is missing is the usual one. Returns NULL when it can't be drawn, which was told. */
static const struct wharf_json *expand_members(struct drawing *d, struct element *e)
{
    static const char *const numbers[] = {"x", "y", "x2", "y2", "width", "height", "size", "module",
        "rotate", "opacity", "thickness", "radius", "padding", "gap", "box_height", "shrink_to",
        "line_height", "letter_spacing", "max_lines", "text_size", "font_size", "row_height",
        "quiet_zone", "dpi", "threshold", NULL};
    const struct wharf_json *made = expand_value(d, e, e->vars, e->written, apart);
    const struct wharf_json *w = e->written->child;
    double n;

    for (const struct wharf_json *c = made ? made->child : NULL; c; c = c->next, w = w->next) {
        wharf_str said;

        if (w->type != JSON_STRING || !expr_has(w->text) || !draw_expand_is_among(c->key, numbers))
            continue;
        said = value_as_text(d->arena, c);
        if (said.n && (!value_as_number(c, &n) || fabs(n) > NUMBER_MAX)) {
            report_error(d, e, "expression.invalid", "%.*s is \"%.*s\", which is no number",
                STR_ARG(c->key), (int)(said.n < 40 ? said.n : 40), said.p);
            return NULL;
        }
    }
    return made;
}

bool expand_again(struct drawing *d, struct element *e)
{
    const struct wharf_json *made = expand_members(d, e);

    if (!made)
        return false;
    if (e->measured && e->kind->done)
        e->kind->done(e);
    e->measured = false;
    e->made = NULL;
    e->json = made;
    return true;
}

/* ---- conditions ---- */

bool expand_wanted(struct drawing *d, struct element *e)
{
    const struct wharf_json *condition = json_get(e->written, "if"), *v = condition;
    struct draw_eval eval = expand_eval(d, e->vars);

    if (!condition || condition->type == JSON_NULL)
        return true;
    if (condition->type == JSON_STRING) {
        v = expr_value(&eval, condition->text);
        if (!v) {
            d->report.total++;
            return report_error(d, e, "expression.invalid", "if: %s", eval.wrong);
        }
        e->waits = eval.said_page;
        if (e->waits && !d->page)
            return true; /* its page decides */
    }
    return value_truth(v);
}

/* ---- elements ---- */

struct list {
    struct element *first, **last;
    unsigned depth;
    bool flows; /* what goes on over pages may stand here */
};

static void expand_any(struct drawing *d, const struct wharf_json *v, wharf_str path,
    const struct draw_vars *vars, struct list *list);

static void take_children(struct drawing *d, struct element *e, unsigned depth);

/* Makes the columns of a flow elements, which hold the children. */
static void draw_expand_take_columns(
    struct drawing *d, struct element *e, const struct wharf_json *columns, unsigned depth)
{
    struct element **last = &e->child;
    unsigned i = 0;

    for (const struct wharf_json *c = columns->child; c && !d->complex; c = c->next, i++) {
        struct element *column = ARENA_NEW(d->arena, struct element);

        *column = (struct element){.json = c, .written = c, .vars = e->vars, .kind = e->kind};
        column->path = arena_printf(d->arena, "%.*s.columns.%u", STR_ARG(e->path), i);
        column->index = e->index;
        *last = column;
        last = &column->next;
        take_children(d, column, depth + 1);
    }
}

static void take_children(struct drawing *d, struct element *e, unsigned depth)
{
    const struct wharf_json *children = json_get(e->written, "children"),
                            *columns = json_get(e->written, "columns");
    struct list list = {.last = &e->child, .depth = depth + 1, .flows = e->kind->place != NULL};
    unsigned i = 0;

    if (e->kind->place && e->kind->is_frame && json_is(columns, JSON_ARRAY)) {
        draw_expand_take_columns(d, e, columns, depth);
        return;
    }
    if (!json_is(children, JSON_ARRAY))
        return;
    if (depth >= GROUPS_MAX) {
        report_complex(d, "groups are nested deeper than 32");
        return;
    }
    for (const struct wharf_json *c = children->child; c && !d->complex; c = c->next, i++)
        expand_any(
            d, c, arena_printf(d->arena, "%.*s.children.%u", STR_ARG(e->path), i), e->vars, &list);
}

/* Returns the place in `raw` that a path leads to or into; -1: it leads elsewhere. */
static int index_of(wharf_str path)
{
    const char *colon = memchr(path.p, ':', path.n), *at = colon ? colon + 1 : path.p;

    return strncmp(at, "raw.", 4) == 0 ? (int)strtol(at + 4, NULL, 10) : -1;
}

/* Makes the element itself, or notes why it is none. */
static void expand_one(struct drawing *d, const struct wharf_json *v, wharf_str path,
    const struct draw_vars *vars, double dx, double dy, struct list *list)
{
    struct element *e = ARENA_NEW(d->arena, struct element);

    if (d->elements >= ELEMENTS_MAX) {
        report_complex(d, "it has more than 20,000 elements");
        return;
    }
    d->elements++;
    *e = (struct element){.json = v, .written = v, .vars = vars, .path = path};
    e->kind = kind_of(json_text_or(v, "type", ""));
    e->index = index_of(path);
    if (!e->kind) {
        report_problem(d, path, "%s elements are not drawn by this version",
            json_text_or(v, "type", "such").p);
        return;
    }
    if (e->kind->place && e->kind->is_frame && !list->flows) {
        report_problem(d, path, "a flow stands in raw or in another flow, not here");
        return;
    }
    if (!expand_wanted(d, e))
        return;
    if (e->waits && e->kind->place && e->kind->is_frame)
        report_problem(d, path, "the condition of a flow can't ask for page or pages");
    d->report.total += !e->kind->is_frame && !e->waits;
    e->json = expand_members(d, e);
    if (!e->json) /* told */
        return;
    if (str_eqz(json_text_or(v, "type", ""), "page_number") && !el_has(e, "value"))
        e->late = true;
    e->x = el_number(e, "x", 0) + dx;
    e->y = el_number(e, "y", 0) + dy;
    take_children(d, e, list->depth);
    *list->last = e;
    list->last = &e->next;
}

static struct draw_vars *variable(
    struct drawing *d, const struct draw_vars *up, wharf_str name, const struct wharf_json *value)
{
    struct draw_vars *v = ARENA_NEW(d->arena, struct draw_vars);

    *v = (struct draw_vars){up, name, value};
    return v;
}

/* Finds the list that an element is repeated for. NULL: there is none, which was told when it is
 * a mistake. */
static const struct wharf_json *repeat_list(struct drawing *d, const struct wharf_json *v,
    const struct wharf_json *repeat, wharf_str path, const struct draw_vars *vars)
{
    const struct wharf_json *each = json_get(repeat, "each");
    struct element e = {.json = v, .written = v, .vars = vars, .path = path};
    struct draw_eval eval = expand_eval(d, vars);

    e.index = index_of(path);
    if (json_is(each, JSON_STRING)) {
        each = expr_value(&eval, each->text);
        if (!each) {
            d->report.total++;
            report_error(d, &e, "expression.invalid", "repeat.each: %s", eval.wrong);
            return NULL;
        }
    }
    if (!each || each->type == JSON_NULL)
        report_warning(d, &e, "repeat.each", "variable.missing", "there is no list to repeat for");
    else if (each->type != JSON_ARRAY)
        report_error(d, &e, "expression.invalid", "repeat.each is no list");
    return json_is(each, JSON_ARRAY) ? each : NULL;
}

static void expand_repeat(struct drawing *d, const struct wharf_json *v,
    const struct wharf_json *repeat, wharf_str path, const struct draw_vars *vars,
    struct list *list)
{
    const struct wharf_json *each = repeat_list(d, v, repeat, path, vars);
    struct element steps = {.json = repeat};
    double dx = el_number(&steps, "dx", 0), dy = el_number(&steps, "dy", 0);
    double per_row = el_number(&steps, "per_row", 0), limit = el_number(&steps, "limit", 1e6);
    wharf_str as = json_text_or(repeat, "as", "item"), index = json_text_or(repeat, "index", "i");
    unsigned i = 0;

    for (const struct wharf_json *c = each ? each->child : NULL; c && i < limit && !d->complex;
         c = c->next, i++) {
        const struct draw_vars *inner = variable(d, vars, as, c);
        double column = per_row >= 1 ? fmod(i, floor(per_row)) : i;
        double row = per_row >= 1 ? floor(i / floor(per_row)) : i;

        inner = variable(d, inner, index, value_number(d->arena, i));
        expand_one(d, v, arena_printf(d->arena, "%.*s#%u", STR_ARG(path), i), inner, column * dx,
            row * dy, list);
        if (!report_goes_on(d))
            return;
    }
}

static void expand_any(struct drawing *d, const struct wharf_json *v, wharf_str path,
    const struct draw_vars *vars, struct list *list)
{
    const struct wharf_json *repeat = json_get(v, "repeat");

    if (!report_goes_on(d))
        return;
    if (json_is(repeat, JSON_OBJECT))
        expand_repeat(d, v, repeat, path, vars, list);
    else
        expand_one(d, v, path, vars, 0, 0, list);
}

struct element *expand_list(
    struct drawing *d, const struct wharf_json *list, wharf_str base, const struct draw_vars *vars)
{
    struct list made = {
        .last = &made.first, .flows = str_eqz(base, "raw") || str_ends(base, ":raw")};
    unsigned i = 0;

    for (const struct wharf_json *v = list ? list->child : NULL; v && !d->complex; v = v->next, i++)
        expand_any(d, v, arena_printf(d->arena, "%.*s.%u", STR_ARG(base), i), vars, &made);
    return made.first;
}

struct element *expand_member(
    struct drawing *d, const struct wharf_json *v, wharf_str path, const struct draw_vars *vars)
{
    struct list made = {.last = &made.first};

    if (json_is(v, JSON_OBJECT))
        expand_any(d, v, path, vars, &made);
    return made.first;
}
