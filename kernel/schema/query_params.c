/* query_params.c - "params" of a definition (docs/reference/definitions.md): the query parameters
 * that rules of the resource read. Leaves to others: their values in a request (query/parse.c). */
#include <string.h>

#include "schema/compile.h"
#include "util/str.h"

/* Compiles one: a name, or an object with one and what is said of it. */
static void compile_param(
    struct compile *c, const struct wharf_json *v, const struct place *at, struct query_param *p)
{
    static const char *const keys[] = {
        "name", "enum", "refs", "restricts", "description", "schema", "ops", NULL};

    p->ops = OP_CREATE | OP_LIST | OP_RETRIEVE | OP_UPDATE | OP_DELETE;
    if (json_is(v, JSON_STRING)) {
        p->name = v->text.p;
    } else if (opt_object(c, v, at, keys)) {
        p->name = opt_need(c, v, at, "name");
        p->words = opt_texts(c, v, at, "enum", &p->n_words);
        p->refs = opt_texts(c, v, at, "refs", &p->n_refs);
        p->ids = ARENA_ARRAY(c->arena, const struct definition_ids *, p->n_refs + 1);
        p->restricts = opt_bool(c, v, at, "restricts", false);
        p->description = opt_text(c, v, at, "description", NULL);
        p->schema = json_get(v, "schema");
        p->ops = opt_ops(c, v, at);
        c->d->restricts_by_params |= p->restricts;
    } else {
        p->name = "";
    }
    if (!*p->name)
        opt_problem(c, at, "this is the name of a parameter, or an object with one");
    for (const struct query_param *other = c->d->params; other < p; other++) {
        if (!strcmp(other->name, p->name))
            opt_problem(c, at, "%s is there twice", p->name);
    }
}

void query_params_compile(struct compile *c, const struct wharf_json *x, const struct place *at)
{
    const struct wharf_json *list = json_get(x, "params");
    struct place list_at = place_key(at, WHARF_S("params"));
    struct query_param *params;
    size_t n = 0;

    if (list && !json_is(list, JSON_ARRAY))
        opt_member_problem(c, at, "params", "this is an array");
    if (!json_is(list, JSON_ARRAY))
        return;
    c->d->params = params = ARENA_ARRAY(c->arena, struct query_param, list->count + 1);
    for (const struct wharf_json *v = list->child; v; v = v->next, n++) {
        struct place v_at = place_index(&list_at, n);

        compile_param(c, v, &v_at, &params[n]);
    }
    c->d->n_params = n;
}

const char *param_words(struct arena *a, const struct query_param *p)
{
    const char *text = "";

    for (size_t i = 0; i < p->n_words; i++)
        text = arena_printf(a, "%s%s%s", text,
            !i                   ? ""
            : i + 1 < p->n_words ? ", "
                                 : " or ",
            p->words[i])
                   .p;
    return text;
}

const struct query_param *definition_param(const struct definition *d, wharf_str name)
{
    for (size_t i = 0; i < d->n_params; i++) {
        if (str_eqz(name, d->params[i].name))
            return &d->params[i];
    }
    return NULL;
}
