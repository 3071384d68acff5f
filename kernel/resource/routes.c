/* routes.c - the tree of paths: built from resources, plugin routes and kernel routes; walked
 * for each request. */
#include <stdio.h>

#include "resource/guard.h"
#include "util/str.h"

enum { METHODS = 5 };

struct spelling { /* what a request may write in place of the path of a collection */
    wharf_str other;
    const char *collection;
};

struct route_node {
    wharf_str segment; /* "" for a parameter, and for the rest of a path */
    bool rest; /* "*path": all that is left, of one segment or more */
    struct route_node *first_child; /* static segments first, then the parameter, the rest last */
    struct route_node *next;
    const struct route *routes[METHODS]; /* in the order of methods */
};

static const char *const methods[METHODS] = {"GET", "POST", "DELETE", "PUT", "PATCH"};

static int method_index(const char *method)
{
    if (!strcmp(method, "HEAD"))
        method = "GET";
    for (int i = 0; i < METHODS; i++) {
        if (!strcmp(methods[i], method))
            return i;
    }
    return -1;
}

static wharf_str routes_next_segment(const char **p)
{
    const char *start = **p == '/' ? *p + 1 : *p;
    size_t n = strcspn(start, "/");

    *p = start + n;
    return (wharf_str){start, n};
}

static struct route_node *child_for(struct engine *e, struct route_node *node, wharf_str segment)
{
    bool rest = segment.n && segment.p[0] == '*',
         param = rest || (segment.n && segment.p[0] == ':');
    wharf_str name = param ? (wharf_str){"", 0} : arena_dup_str(e->arena, segment);
    struct route_node **at = &node->first_child;

    while (*at) {
        if (str_eq((*at)->segment, name) && (*at)->rest == rest)
            return *at;
        if ((*at)->rest || (!(*at)->segment.n && !rest))
            break; /* these stay last */
        at = &(*at)->next;
    }
    struct route_node *made = ARENA_NEW(e->arena, struct route_node);
    made->segment = name;
    made->rest = rest;
    made->next = *at;
    *at = made;
    return made;
}

static const char *route_owner(const struct route *r)
{
    return r->plugin ? r->plugin->name : "wharf";
}

static bool routes_add_route(struct engine *e, struct route *r, struct buf *problems)
{
    struct route_node *node = e->tree;
    const char *p = r->pattern;
    int m = method_index(r->method);

    while (*p) {
        wharf_str s = routes_next_segment(&p);

        if (s.n && (s.p[0] == ':' || s.p[0] == '*') && r->n_params < 4)
            r->param_names[r->n_params++] = arena_dup(e->arena, s.p + 1, s.n - 1).p;
        node = child_for(e, node, s);
    }
    if (r->absent && (m < 0 || node->routes[m]))
        return true; /* another module has it now */
    if (m < 0) {
        buf_addf(problems, "%s: the method of route %s %s is not GET, POST, DELETE, PUT or PATCH\n",
            route_owner(r), r->method, r->pattern);
        return false;
    }
    if (node->routes[m]) {
        buf_addf(problems, "%s: route %s %s is the same as %s %s of %s; change one of the paths\n",
            route_owner(r), r->method, r->pattern, r->method, node->routes[m]->pattern,
            route_owner(node->routes[m]));
        return false;
    }
    node->routes[m] = r;
    return true;
}

bool engine_owns_area(const struct engine *e, const struct plugin *p, int area)
{
    for (size_t i = 0; i < e->n_routes; i++)
        if (e->routes[i].plugin == p && e->routes[i].area == area)
            return true;
    return false;
}

static const struct route_node *routes_walk(
    const struct route_node *node, const char *p, wharf_str params[4], size_t n);

/* Lists the other spellings of paths. None of them is a path by itself. */
static bool routes_spellings(struct engine *e, struct buf *problems)
{
    struct spelling *list;
    bool ok = true;
    size_t n = 0;

    for (size_t i = 0; i < e->n_resources; i++)
        n += e->resources[i].def->n_spellings;
    e->spellings = list = ARENA_ARRAY(e->arena, struct spelling, n + 1);
    for (size_t i = 0; i < e->n_resources; i++) {
        const struct definition *d = e->resources[i].def;

        for (size_t k = 0; k < d->n_spellings; k++) {
            wharf_str params[4] = {{NULL, 0}};

            list[e->n_spellings++] = (struct spelling){str_z(d->spellings[k]), d->collection};
            if (!routes_walk(e->tree, d->spellings[k], params, 0))
                continue;
            buf_addf(problems, "%s: the spelling %s of %s is a path of its own; take another one\n",
                d->plugin, d->spellings[k], d->collection);
            ok = false;
        }
    }
    return ok;
}

/* Returns the path with the spelling of the definition. */
static wharf_str routes_spelled(const struct engine *e, wharf_str path, struct arena *a)
{
    for (size_t i = 0; i < e->n_spellings; i++) {
        const struct spelling *s = &e->spellings[i];

        if (path.n >= s->other.n && !memcmp(path.p, s->other.p, s->other.n) &&
            (path.n == s->other.n || path.p[s->other.n] == '/'))
            return arena_printf(a, "%s%s", s->collection, path.p + s->other.n);
    }
    return path;
}

bool route_tree_build(struct engine *e, struct buf *problems)
{
    bool ok = true;

    e->tree = ARENA_NEW(e->arena, struct route_node);
    for (size_t i = 0; i < e->n_routes; i++)
        ok = routes_add_route(e, &e->routes[i], problems) &&
             guard_link(e, &e->routes[i], problems) && ok;
    return routes_spellings(e, problems) && ok;
}

static bool ends_here(const struct route_node *node)
{
    for (int i = 0; i < METHODS; i++) {
        if (node->routes[i])
            return true;
    }
    return false;
}

static const struct route_node *routes_walk(
    const struct route_node *node, const char *p, wharf_str params[4], size_t n)
{
    const char *from = p + (*p == '/');
    wharf_str s;

    if (!*p)
        return ends_here(node) ? node : NULL;
    s = routes_next_segment(&p);
    if (!s.n)
        return NULL;
    for (const struct route_node *c = node->first_child; c; c = c->next) {
        const struct route_node *found = NULL;

        if (c->rest && n < 4) {
            params[n] = str_z(from);
            return c;
        }
        if (c->segment.n ? str_eq(c->segment, s) : n < 4) {
            if (!c->segment.n)
                params[n] = s;
            found = routes_walk(c, p, params, n + !c->segment.n);
        }
        if (found)
            return found;
    }
    return NULL;
}

static wharf_str allow_of(const struct route_node *node, struct arena *a)
{
    return arena_printf(a, "%s%s%s%s%sOPTIONS", node->routes[0] ? "GET, HEAD, " : "",
        node->routes[1] ? "POST, " : "", node->routes[2] ? "DELETE, " : "",
        node->routes[3] ? "PUT, " : "", node->routes[4] ? "PATCH, " : "");
}

enum route_result engine_route(const struct engine *e, const char *method, wharf_str path,
    struct arena *a, const struct route **ret_route, wharf_str params[4], wharf_str *ret_allow)
{
    wharf_str p = arena_dup_str(a, path);
    const struct route_node *node;
    int m = method_index(method);

    if (p.n > 1 && p.p[p.n - 1] == '/' && p.p[p.n - 2] != '/')
        ((char *)p.p)[--p.n] = 0;
    p = routes_spelled(e, p, a);
    if (p.n < 2 || p.p[0] != '/')
        return ROUTE_NONE;
    node = routes_walk(e->tree, p.p, params, 0);
    if (!node)
        return ROUTE_NONE;
    for (size_t i = 0; i < 4 && params[i].p; i++)
        params[i] = arena_dup_str(a, params[i]);
    if (m < 0 || !node->routes[m]) {
        *ret_allow = allow_of(node, a);
        return ROUTE_METHOD;
    }
    *ret_route = node->routes[m];
    return ROUTE_FOUND;
}
