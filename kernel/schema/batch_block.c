/* batch_block.c - "batch" of a definition (docs/reference/definitions.md 'Batches'): checked here,
 * read by who runs batches. */
#include <string.h>

#include "schema/compile.h"
#include "util/str.h"

static const char *const ACTIONS[] = {"merge", "overwrite", "delete", NULL};

static bool is_action(wharf_str s)
{
    for (size_t i = 0; ACTIONS[i]; i++) {
        if (str_eqz(s, ACTIONS[i]))
            return true;
    }
    return false;
}

static bool batch_block_says(const struct wharf_json *list, wharf_str action)
{
    for (const struct wharf_json *a = list ? list->child : NULL; a; a = a->next) {
        if (str_eq(a->text, action))
            return true;
    }
    return false;
}

/* Checks an array of actions, all of them among those of `of` (or NULL). */
static void check_actions(struct compile *c, const struct wharf_json *list,
    const struct wharf_json *of, const struct place *at)
{
    if (!json_is(list, JSON_ARRAY) || (!of && !list->count)) {
        opt_problem(c, at, "this is an array of merge, overwrite and delete");
        return;
    }
    for (const struct wharf_json *a = list->child; a; a = a->next) {
        if (!json_is(a, JSON_STRING) || !is_action(a->text))
            opt_problem(c, at, "the actions are merge, overwrite and delete");
        else if (of && !batch_block_says(of, a->text))
            opt_problem(c, at, "%s is not among the actions", a->text.p);
    }
}

/* Checks {"email": "email"}: a key to the filter that finds rows by it. */
static void check_match(struct compile *c, const struct wharf_json *match, const struct place *at)
{
    if (match && !json_is(match, JSON_OBJECT))
        opt_problem(c, at, "this is an object of keys to names of filters");
    for (const struct wharf_json *m = json_is(match, JSON_OBJECT) ? match->child : NULL; m;
         m = m->next) {
        const struct filter *f = json_is(m, JSON_STRING) ? definition_filter(&c->d->list, m->text)
                                                         : NULL;

        if (!f || f->child ||
            (f->type != FILTER_TEXT && f->type != FILTER_ID && f->type != FILTER_ARRAY))
            opt_member_problem(c, at, m->key.p, "this names a filter of texts or ids");
        find_field(c, at, m->key.p);
    }
}

/* Checks "email|phone", "name+resource". */
static void batch_block_check_keys(
    struct compile *c, const struct wharf_json *x, const struct place *at)
{
    size_t n;
    const char *const *keys = opt_texts(c, x, at, "duplicates", &n);

    for (size_t i = 0; i < n; i++) {
        for (const char *p = keys[i]; *p;) {
            size_t k = strcspn(p, "|+");

            find_field(c, at, arena_dup(c->arena, p, k).p);
            p += k + (p[k] != 0);
        }
    }
}

static void check_compare(
    struct compile *c, const struct wharf_json *compare, const struct place *at)
{
    if (compare && !json_is(compare, JSON_OBJECT))
        opt_problem(c, at, "this is an object of fields to fold, phone or code");
    for (const struct wharf_json *m = json_is(compare, JSON_OBJECT) ? compare->child : NULL; m;
         m = m->next) {
        find_field(c, at, m->key.p);
        if (!json_is(m, JSON_STRING) ||
            !(str_eqz(m->text, "fold") || str_eqz(m->text, "phone") || str_eqz(m->text, "code")))
            opt_member_problem(c, at, m->key.p, "this is fold, phone or code");
    }
}

static void check_group(struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"by", "into", NULL};
    const struct wharf_json *group = json_get(x, "group");
    struct place at = place_key(up, WHARF_S("group"));

    if (!group || !opt_object(c, group, &at, keys))
        return;
    opt_field(c, group, &at, "by");
    opt_need(c, group, &at, "by");
    opt_need(c, group, &at, "into");
}

/* Checks {"groups": {"of": "group", "where": {"resource": "contact"}}, "group_contacts.children":
 * {"by": "resource"}}. */
static void batch_block_check_names(
    struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"of", "by", "where", NULL};
    const struct wharf_json *names = json_get(x, "names");
    struct place at = place_key(up, WHARF_S("names"));

    if (names && !json_is(names, JSON_OBJECT))
        opt_problem(c, &at, "this is an object of paths to {of} or {by}");
    for (const struct wharf_json *m = json_is(names, JSON_OBJECT) ? names->child : NULL; m;
         m = m->next) {
        struct place m_at = place_key(&at, m->key);
        const struct wharf_json *where = json_get(m, "where");

        if (!opt_object(c, m, &m_at, keys))
            continue;
        find_field(c, &m_at, arena_dup(c->arena, m->key.p, strcspn(m->key.p, ".")).p);
        opt_field(c, m, &m_at, "by");
        if ((json_get(m, "of") == NULL) == (json_get(m, "by") == NULL))
            opt_problem(c, &m_at, "this has either of or by");
        if (where && !json_is(where, JSON_OBJECT))
            opt_member_problem(c, &m_at, "where", "this is an object of filters to texts");
    }
}

void batch_compile(struct compile *c, const struct wharf_json *x, const struct place *up)
{
    static const char *const keys[] = {"actions", "filters", "need_id", "match_by", "duplicates",
        "compare", "keep", "group", "own_shape", "unordered", "columns", "names", NULL};
    const struct wharf_json *batch = json_get(x, "batch"), *actions = json_get(batch, "actions");
    struct place at = place_key(up, WHARF_S("batch")), a_at = place_key(&at, WHARF_S("actions")),
                 m_at = place_key(&at, WHARF_S("match_by")),
                 c_at = place_key(&at, WHARF_S("compare"));
    const char *const *keep;
    size_t n;

    if (json_is(batch, JSON_ARRAY))
        check_actions(c, batch, NULL, &at);
    if (!batch || batch->type == JSON_ARRAY || !opt_object(c, batch, &at, keys))
        return;
    check_actions(c, actions, NULL, &a_at);
    for (size_t i = 1; i < 3; i++) {
        struct place k_at = place_key(&at, str_z(keys[i]));

        if (json_get(batch, keys[i]) && json_is(actions, JSON_ARRAY))
            check_actions(c, json_get(batch, keys[i]), actions, &k_at);
    }
    check_match(c, json_get(batch, "match_by"), &m_at);
    batch_block_check_keys(c, batch, &at);
    check_compare(c, json_get(batch, "compare"), &c_at);
    check_group(c, batch, &at);
    batch_block_check_names(c, batch, &at);
    opt_bool(c, batch, &at, "own_shape", false);
    opt_bool(c, batch, &at, "unordered", false);
    opt_texts(c, batch, &at, "columns", &n);
    keep = opt_texts(c, batch, &at, "keep", &n);
    for (size_t i = 0; i < n; i++)
        find_field(c, &at, keep[i]);
}
