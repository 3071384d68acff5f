/* label_world.c - see label_world.h. Detection is that of modules/carriers, compiled in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carriers.h"
#include "host/host.h"
#include "label_world.h"
#include "resource/request.h"
#include "util/json.h"
#include "util/str.h"

const wharf_host *W;
const wharf_org_directory_api *carriers_org;

struct label_world {
    struct wharf_req req;
    struct table table;
    struct arena *arena; /* of the call that is made */
};

static wharf_str read_carriers(struct arena *a)
{
    const char *root = getenv("WHARF_SOURCE");
    wharf_str path = arena_printf(a, "%s/schemas/carriers.json", root ? root : ".");
    FILE *f = fopen(path.p, "r");
    char *text = arena_alloc(a, 1 << 20);
    size_t n = f ? fread(text, 1, 1 << 20, f) : 0;

    if (!n) {
        fprintf(stderr, "%s can't be read\n", path.p);
        exit(2);
    }
    fclose(f);
    return (wharf_str){text, n};
}

struct label_world *label_world_new(void)
{
    static const wharf_host host = {.mem = &host_mem, .json = &host_json, .err = &host_err};
    struct label_world *w = calloc(1, sizeof(*w));
    struct memory m = {.req = &w->req};
    struct json_error error;
    const char *path = "", *problem = "no JSON";
    const struct wharf_json *json;

    W = &host;
    carriers_prefix = (wharf_str)WHARF_S("WHRF");
    w->req.arena = arena_new(0);
    json = json_parse(w->req.arena, read_carriers(w->req.arena), &error);
    if (!json || !table_read(&m, json, NULL, &w->table, &path, &problem)) {
        fprintf(stderr, "schemas/carriers.json: %s %s\n", path, problem);
        exit(2);
    }
    return w;
}

void label_world_free(struct label_world *w)
{
    arena_free(w->req.arena);
    free(w);
}

wharf_str label_world_provider(const struct label_world *w, wharf_str id)
{
    const struct provider *p = table_provider(&w->table, id);

    return p ? p->name : id;
}

static void *world_alloc(void *ctx, size_t bytes)
{
    struct label_world *w = ctx;

    return memset(arena_alloc(w->arena, bytes ? bytes : 1), 0, bytes);
}

static wharf_str slice_of(const struct label_world *w, const struct detected *d,
    const struct candidate *c, struct slice s)
{
    int n = (int)c->core_n, from = s.from < 0 ? n + s.from : s.from,
        to = s.to < 0 ? n + s.to : s.to;

    return arena_dup(w->arena, d->text + c->core + from, (size_t)(to - from));
}

static bool world_detect(void *ctx, wharf_str number, struct label_number *ret)
{
    struct label_world *w = ctx;
    struct detected d;
    wharf_str *others;

    detect_number(&w->table, number, NULL, 0, &d);
    memset(ret, 0, sizeof(*ret));
    if (!d.n_candidates)
        return false;
    others = arena_alloc(w->arena, d.n_candidates * sizeof(*others));
    for (size_t i = 0; i < d.n_candidates; i++) {
        others[i] = d.candidates[i].provider->id;
        ret->ambiguous = ret->ambiguous || !str_eq(others[i], others[0]);
    }
    ret->others = others;
    ret->n_others = d.n_candidates;
    ret->provider_id = others[0];
    ret->checked = d.candidates[0].format->check.name != CHECK_NONE;
    ret->normalized = d.candidates[0].format->has_number
                          ? slice_of(w, &d, &d.candidates[0], d.candidates[0].format->number)
                          : slice_of(w, &d, &d.candidates[0],
                                (struct slice){0, (int)d.candidates[0].core_n});
    if (d.candidates[0].format->has_service)
        ret->service = slice_of(w, &d, &d.candidates[0], d.candidates[0].format->service);
    return true;
}

struct label_env label_world_env(
    struct label_world *w, struct arena *arena, const char *country, int64_t today)
{
    w->arena = arena;
    return (struct label_env){
        .ctx = w, .alloc = world_alloc, .detect = world_detect, .country = country, .today = today};
}
