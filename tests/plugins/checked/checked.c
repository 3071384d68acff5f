/* checked.c - checks of every kind: queries (checks/), and functions. For
 * tests/api/operation/test_verify.py. */
#include "wharf/plugin.h"

#include "checked.gen.h"

static const wharf_verify_api *V;

static wharf_status found(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    (void)v, (void)values, (void)n;
    *(bool *)arg = true;
    return WHARF_OK;
}

/* Looks for the pair of a thing, while the rows of things still come. */
static wharf_status look(wharf_verify *v, const wharf_val *values, size_t n, void *arg)
{
    bool there = false;
    const wharf_val pair[] = {values[0], values[2]};
    wharf_status s;

    (void)n, (void)arg;
    V->looked(v, 1);
    if (values[2].type == WHARF_V_NULL)
        return WHARF_OK;
    s = V->each(v, "SELECT 1 FROM checked.thing WHERE organization_id = $1 AND id = $2", pair, 2,
        found, &there);
    if (s == WHARF_OK && !there)
        V->fault(v, values[0].u.s, values[1].u.s, "its pair %s is not there", values[2].u.s.p);
    return s;
}

static wharf_status pairs(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    V = api;
    return api->each(v, arg, NULL, 0, look, NULL);
}

static wharf_status away(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    (void)arg;
    return api->fail(v, "the scales do not answer; switch them on");
}

static wharf_status silent(wharf_verify *v, const wharf_verify_api *api, void *arg)
{
    (void)v, (void)api, (void)arg;
    return WHARF_INTERNAL;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const char things[] =
        "SELECT organization_id, id, pair FROM checked.thing ORDER BY organization_id, id";
    const wharf_check by_function[] = {
        {.head = WHARF_HEAD(wharf_check),
            .name = "pairs",
            .summary = "The pair of each thing is there.",
            .rows = "things",
            .run = pairs,
            .arg = (void *)things},
        {.head = WHARF_HEAD(wharf_check),
            .name = "away",
            .summary = "The scales say what the rows say.",
            .rows = "scales",
            .run = away},
        {.head = WHARF_HEAD(wharf_check),
            .name = "silent",
            .summary = "Whoever fails says why.",
            .rows = "nothing",
            .run = silent},
    };

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    CHECKS(api, d);
    for (size_t i = 0; i < sizeof(by_function) / sizeof(*by_function); i++)
        api->check(d, &by_function[i]);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    (void)h;
    return &desc;
}
