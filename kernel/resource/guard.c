/* guard.c - see guard.h. */
#include "resource/guard.h"

#include "resource/access.h"
#include "util/str.h"

/* Takes the next segment of a path, without its slash. */
static wharf_str guard_segment(const char **p)
{
    const char *start = **p == '/' ? *p + 1 : *p;
    size_t n = strcspn(start, "/");

    *p = start + n;
    return (wharf_str){start, n};
}

static bool is_param(wharf_str segment)
{
    return segment.n && (segment.p[0] == ':' || segment.p[0] == '*');
}

/* Returns which parameter of the pattern is the id of a row of the resource, -1 when the pattern
 * is not below the path of such rows. Where the parameter is something else, such as the key of
 * a secret, its value has not the shape of an id, and no row is read for it. */
static int id_param_of(const struct resource *res, const char *pattern)
{
    const char *own = res->def->collection;
    int params = 0;
    wharf_str a, b;

    while (*own) {
        a = guard_segment(&own);
        b = guard_segment(&pattern);
        if (is_param(a) ? !is_param(b) : !str_eq(a, b))
            return -1;
        params += is_param(a);
    }
    b = guard_segment(&pattern);
    return is_param(b) ? params : -1;
}

/* Reads what the definition says of parameters that no resource's path explains: {"run":
 * "workflow_run", "number": "none", "location": "location?"}, with ? for a resource of a module
 * that may be left out. */
static bool declared_param(const struct engine *e, struct route *r, size_t i, struct buf *problems)
{
    wharf_str name = json_text_or(json_get(r->definition, "params"), r->param_names[i], "");
    bool maybe = str_ends(name, "?"); /* of a module that may be left out */

    if (str_eqz(name, "none"))
        return true;
    name.n -= maybe;
    r->guards[i] = name.n ? engine_resource(e, arena_dup_str(e->arena, name).p) : NULL;
    if (r->guards[i] || maybe)
        return true;
    buf_addf(problems,
        "%s: route %s %s: nothing says what :%s is; add \"params\": {\"%s\": \"<resource>\"} to "
        "its definition when it is the id of a row, or \"none\" when it is no row's\n",
        r->plugin->name, r->method, r->pattern, r->param_names[i], r->param_names[i]);
    return false;
}

bool guard_link(const struct engine *e, struct route *r, struct buf *problems)
{
    size_t first = 0; /* the first parameter behind those that paths of resources explain */
    bool ok = true;

    if (r->kind != ROUTE_PLUGIN || r->public_route || !strcmp(r->plugin->name, "wharf"))
        return true;
    for (size_t i = 0; i < e->n_resources; i++) {
        int at = id_param_of(&e->resources[i], r->pattern);

        if (at < 0)
            continue;
        r->guards[at] = &e->resources[i];
        first = (size_t)at + 1 > first ? (size_t)at + 1 : first;
    }
    for (size_t i = first; i < r->n_params; i++)
        ok = declared_param(e, r, i, problems) && ok;
    return ok;
}

bool guard_rows(struct wharf_req *req)
{
    const struct route *r = req->route;

    for (size_t i = 0; i < r->n_params; i++) {
        if (r->guards[i] && may_be_refused(req, r->guards[i]) &&
            !check_access_of(req, r->guards[i], req->params[i]))
            return false;
    }
    return true;
}
