/* named.c - see named.h. */
#include "lua/named.h"

#include <string.h>

#include "event/event_catalogue.h"
#include "plugin/manifest.h"
#include "util/json.h"
#include "util/str.h"

/* Tells whether an entry of a manifest's "hookable" is the resource, or such writes of it. */
static bool takes(wharf_str entry, wharf_str name, wharf_str action)
{
    return str_starts(entry, name.p) &&
           (entry.n == name.n ||
               (entry.p[name.n] == ':' && (!action.n || str_eqz(action, entry.p + name.n + 1))));
}

const struct resource *named_hookable(const struct engine *e, wharf_str name, wharf_str action)
{
    const struct resource *res = engine_resource(e, name.p);
    const struct wharf_json *list = res ? res->plugin->manifest->hookable : NULL;

    for (const struct wharf_json *m = list ? list->child : NULL; m; m = m->next) {
        if (m->type == JSON_STRING && takes(m->text, name, action))
            return res;
    }
    return NULL;
}

bool named_action(wharf_str action)
{
    /* also what has no route of its own: rules of modules write such rows */
    return str_eqz(action, "create") || str_eqz(action, "update") || str_eqz(action, "delete");
}

const char *named_near_resource(const struct engine *e, const char *wrong)
{
    struct str_near near = str_near(wrong);

    for (size_t i = 0; i < e->n_resources; i++) {
        if (named_hookable(e, str_z(e->resources[i].def->name), str_z("")))
            str_near_try(&near, e->resources[i].def->name);
    }
    return near.best;
}

const char *named_near_event(struct arena *a, const struct engine *e, const char *wrong)
{
    struct str_near near = str_near(wrong);

    for (size_t i = 0; i < e->n_event_types; i++) {
        const char *type = e->event_types[i].type, *dot = strrchr(type, '.');

        str_near_try(&near, type);
        if (dot)
            str_near_try(&near, arena_printf(a, "%.*s.*", (int)(dot - type), type).p);
    }
    return near.best;
}
