/* author_flow.c - what runs of a folder may do, as its workflow.json says it: for `wharf lua test`
 * and `run`, which refuse what the server would refuse (services/lua/testing/testing.h). */
#include "tool/lua/author.h"
#include "resource/engine.h"
#include "util/str.h"

enum { TOLD_MAX = 4 << 20 };

static void put_routes(const struct engine *e, struct arena *a, struct jw *w)
{
    jw_open(w, "routes", '[');
    for (size_t i = 0; i < e->n_routes; i++) {
        const struct route *r = &e->routes[i];

        if (r->area >= 0 && r->level != SCOPE_NONE)
            jw_str(w, NULL,
                arena_printf(a, "%s %s %s:%s", r->method, r->pattern, e->areas.names[r->area],
                    r->level == SCOPE_WRITE ? "write" : "read"));
    }
    jw_close(w, ']');
}

const struct wharf_json *folder_told(
    struct arena *a, const struct lua_folder *f, const struct engine *e)
{
    static const char *const members[] = {"settings", "scopes", "http_hosts"};
    const struct wharf_json *told;
    struct json_error bad;
    struct buf out;
    struct jw w;

    if (!f->workflow || f->hooks)
        return NULL;
    buf_init(&out, TOLD_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (json_get(f->workflow, members[i]))
            jw_value(&w, members[i], json_get(f->workflow, members[i]));
    }
    put_routes(e, a, &w);
    jw_close(&w, '}');
    told = json_parse(a, arena_dup_str(a, buf_str(&out)), &bad);
    buf_done(&out);
    return told;
}
