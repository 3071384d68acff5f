/* template_walk.c - goes through the elements of a body, at every depth (spec 05 section 9.3). */
#include "templates.h"

enum { DEPTH_MAX = 32 }; /* elements inside of each other */

struct walk {
    wharf_req *req;
    element_fn *fn;
    void *arg;
};

static void template_walk_one(
    const struct walk *w, const wharf_json *v, const struct place *at, unsigned depth);

static void many(
    const struct walk *w, const wharf_json *list, const struct place *at, unsigned depth)
{
    size_t i = 0;

    if (W->json->type(list) != WHARF_J_ARRAY)
        return;
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e), i++) {
        const struct place here = {.up = at, .index = i};

        template_walk_one(w, e, &here, depth);
    }
}

/* Goes through what each column of a flow or a table holds. */
static void columns(
    const struct walk *w, const wharf_json *v, const struct place *at, unsigned depth)
{
    const wharf_json *list = W->json->get(v, "columns");
    const struct place all = {.up = at, .key = "columns"};
    size_t i = 0;

    if (W->json->type(list) != WHARF_J_ARRAY)
        return;
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e), i++) {
        const struct place here = {.up = &all, .index = i},
                           children = {.up = &here, .key = "children"},
                           element = {.up = &here, .key = "element"};

        if (W->json->type(e) != WHARF_J_OBJECT)
            continue;
        many(w, W->json->get(e, "children"), &children, depth + 1);
        template_walk_one(w, W->json->get(e, "element"), &element, depth + 1);
    }
}

static void template_walk_one(
    const struct walk *w, const wharf_json *v, const struct place *at, unsigned depth)
{
    const struct place children = {.up = at, .key = "children"};
    struct element e = {.json = v, .at = at, .inside = depth > 0};

    if (W->json->type(v) != WHARF_J_OBJECT || depth > DEPTH_MAX)
        return;
    e.type = json_text(v, "type");
    w->fn(w->req, &e, w->arg);
    many(w, W->json->get(v, "children"), &children, depth + 1);
    columns(w, v, at, depth);
}

void elements_each(
    wharf_req *req, const wharf_json *body, const struct place *at, element_fn *fn, void *arg)
{
    static const char *const bands[] = {"header", "footer"};
    const struct walk w = {req, fn, arg};
    const struct place raw = {.up = at, .key = "raw"}, mark = {.up = at, .key = "watermark"};

    many(&w, W->json->get(body, "raw"), &raw, 0);
    for (size_t i = 0; i < 2; i++) {
        const wharf_json *band = W->json->get(body, bands[i]);
        const struct place here = {.up = at, .key = bands[i]}, inside = {.up = &here, .key = "raw"};

        if (W->json->type(band) == WHARF_J_OBJECT)
            many(&w, W->json->get(band, "raw"), &inside, 0);
    }
    template_walk_one(&w, W->json->get(body, "watermark"), &mark, 0);
}
