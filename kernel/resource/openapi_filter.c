/* openapi_filter.c - what the description says of filters: words, operators and schemas by type
 * (docs/spec/01-platform.md section 11). */
#include "resource/openapi_schema.h"

#include "util/str.h"

/* The operators of values that have an order (filter_op(), OPS_COMPARE). */
#define OF_ORDER "eq !eq gt gte lt lte bwe !bwe bwi !bwi in !in"

static const struct {
    const char *name, *help, *operators; /* operators: words by blanks */
} filter_types[] = {
    [FILTER_NONE] = {"", "", ""},
    [FILTER_DATE] = {"date", "Date and time with zone (2026-01-31T08:30:00Z), or epoch seconds.",
        OF_ORDER},
    [FILTER_NUMBER] = {"number", "A number.", OF_ORDER},
    [FILTER_ENUM] = {"enum", "One or more of the values, by comma.", "eq !eq in !in"},
    [FILTER_ID] = {"id", "One or more ids, by comma.", "eq !eq in !in"},
    [FILTER_TEXT] = {"text", "The whole text, in any case.", "eq !eq in !in"},
    [FILTER_BOOL] = {"bool", "true or false.", ""},
    [FILTER_MANY_BOOL] = {"many-bool", "true or false, some: or none: before it.", ""},
    [FILTER_ARRAY] = {"array", "Items by comma; AND: OR: !AND: !OR: before them, ! before an item.",
        ""},
    [FILTER_METADATA] = {"metadata",
        "metadata=key:value, metadata.key=value; equals: lt: gt: before the value.", ""},
    [FILTER_NAMES] = {"names",
        "Names by comma; ! before one leaves it out, shipment.* takes all "
        "that begin so.",
        ""},
    [FILTER_TREE] = {"tree",
        "One or more ids, or paths of names from the root (/Aisle 1/Shelf A), "
        "by comma: rows there or below.",
        ""},
    [FILTER_FLAGS] = {"flags", "One or more of the names, by comma.", ""},
};

const char *filter_type_name(enum filter_type t)
{
    return filter_types[t].name;
}

const char *filter_help(enum filter_type t)
{
    return filter_types[t].help;
}

void schema_filters(struct jw *w, const struct definition_list *list)
{
    jw_open(w, "x-filters", '[');
    for (size_t i = 0; i < list->n_filters; i++) {
        const struct filter *f = &list->filters[i];

        jw_open(w, NULL, '{');
        jw_z(w, "name", f->name);
        jw_z(w, "type", filter_type_name(f->type));
        jw_z(w, "operators", filter_types[f->type].operators);
        if (f->type == FILTER_ARRAY) /* some readers take every object with a type for a schema */
            jw_raw(w, "items", WHARF_S("{\"type\":\"string\"}"));
        jw_bool(w, "nullable", f->nullable);
        if (f->ids && f->field->ref)
            jw_z(w, "ref", f->field->ref);
        if (f->lenient)
            jw_bool(w, "lenient", true);
        if (f->n_members) {
            jw_open(w, "members", '[');
            for (size_t k = 0; k < f->n_members; k++)
                jw_z(w, NULL, f->members[k]);
            jw_close(w, ']');
        }
        jw_close(w, '}');
    }
    jw_close(w, ']');
}
