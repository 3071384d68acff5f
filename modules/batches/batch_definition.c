/* batch_definition.c - what the definition of a resource says of its batches
 * (docs/reference/definitions.md 'Batches') (spec 10 section 3). */
#include "batches.h"
#include "wharf/errors.h"

/* Tells whether the name is of a resource of the specification whose module may be missing; others
 * take part by their definitions alone. */
static bool batch_definition_known_name(wharf_str name)
{
    static const char *const names[] = {"contact", "group", "shipment", "tracker",
        "shipping_label_inference", "parcel", "item", "container", "asset", "layout", "location"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (is(name, names[i]))
            return true;
    }
    return false;
}

const wharf_json *definition_x(const wharf_json *definition)
{
    return W->json->get(definition, "x-wharf");
}

wharf_status resource_find(wharf_req *req, wharf_str resource, const wharf_json **ret_definition,
    const wharf_json **ret_block)
{
    const wharf_json *d = batches_kernel->definition(req, resource.p);
    const wharf_json *block = d ? W->json->get(definition_x(d), "batch") : NULL;

    if (!d && batch_definition_known_name(resource))
        return W->err->fail(req, ERR_BATCH_RESOURCE_UNAVAILABLE, "resource", NULL);
    if (!block)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "resource",
            "There are no batches of %s; contact or shipment are such", resource.p);
    *ret_definition = d;
    *ret_block = block;
    return WHARF_OK;
}

const wharf_json *block_member(const wharf_json *block, const char *key)
{
    return block && W->json->type(block) == WHARF_J_OBJECT ? W->json->get(block, key) : NULL;
}

bool block_has(const wharf_json *block, const char *list, enum batch_action action)
{
    const wharf_json *actions = W->json->type(block) == WHARF_J_ARRAY &&
                                        strcmp(list, "need_id") != 0
                                    ? block
                                    : block_member(block, list);
    wharf_str s;

    for (const wharf_json *a = actions ? W->json->at(actions, 0) : NULL; a; a = W->json->next(a)) {
        if (W->json->text(a, &s) && is(s, action_word(action)))
            return true;
    }
    return false;
}

const wharf_json *definition_property(const wharf_json *definition, wharf_str name)
{
    return W->json->get(W->json->get(definition, "properties"), name.p);
}

bool property_is_set(const wharf_json *property)
{
    const wharf_json *x = property ? W->json->get(property, "x-wharf") : NULL;

    return x && json_truth(W->json->get(x, "set"));
}

const char *location_field(const wharf_json *definition)
{
    wharf_str name = json_text(definition_x(definition), "location");
    const wharf_json *p = name.n ? definition_property(definition, name) : NULL;

    return p && !property_is_set(p) && !is(name, "id") && !is(name, "none") ? name.p : NULL;
}
