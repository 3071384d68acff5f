/* samples.c - see samples.h. */
#include "lua/samples.h"

#include "event/event_catalogue.h"
#include "resource/openapi_schema.h"
#include "util/json.h"
#include "util/str.h"

enum { SAMPLES_MAX = 4 << 20 };

/* Writes the names of fields that workflows' hooks are not shown, by resource (change.h). */
static void put_left_out(struct jw *w, const struct definition *d)
{
    bool any = false;

    for (size_t i = 0; i < d->n_fields; i++) {
        if (!d->fields[i].unhooked)
            continue;
        if (!any)
            jw_open(w, d->name, '[');
        any = true;
        jw_z(w, NULL, d->fields[i].name);
    }
    if (any)
        jw_close(w, ']');
}

wharf_str lua_samples(struct arena *a, const struct engine *e)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, SAMPLES_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_open(&w, "events", '{');
    for (size_t i = 0; i < e->n_event_types; i++) {
        jw_open(&w, e->event_types[i].type, '{');
        jw_z(&w, "resource_type", e->event_types[i].resource_type);
        jw_raw(&w, "data", e->event_types[i].example_text);
        jw_close(&w, '}');
    }
    jw_close(&w, '}');
    jw_open(&w, "resources", '{');
    for (size_t i = 0; i < e->n_resources; i++) {
        jw_open(&w, e->resources[i].def->name, '{');
        schema_event_example(e, &w, a, &e->resources[i]);
        jw_close(&w, '}');
    }
    jw_close(&w, '}');
    jw_open(&w, "left_out", '{');
    for (size_t i = 0; i < e->n_resources; i++)
        put_left_out(&w, e->resources[i].def);
    jw_close(&w, '}');
    jw_close(&w, '}');
    text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return text;
}
