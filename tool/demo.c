/* demo.c - the demonstration data of `wharf dev`: the steps of demo.json, one request each.
 *
 * A step is {as, path, find, list, body}: it is looked for with the filter `find` in `list`
 * (without it: in `path`), and made by POST of `body` to `path` when it is not there. $NAME stands
 * for the id of the step of that name, in all of them. A step without body only looks. */
#include "tool/demo.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "demo_steps.h"
#include "tool/cli/cli.h"
#include "tool/cli/http_client.h"
#include "util/str.h"

enum { STEPS_MAX = 64 };

struct demo {
    struct arena *a;
    const char *base_url, *api_key;
    struct {
        const char *name, *id; /* id "": its module is not there */
    } done[STEPS_MAX];
    size_t n;
};

/* Returns the id of the first row of an answer, "" when there is none. */
static const char *first_id(const struct demo *d, const struct http_reply *reply)
{
    cJSON *json = reply->status == 200 || reply->status == 201 ? cJSON_Parse(reply->body.p) : NULL;
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(json, "data");
    const char *id;

    if (cJSON_IsArray(data))
        data = cJSON_GetArrayItem(data, 0);
    id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "id"));
    id = id ? arena_dupz(d->a, id).p : "";
    cJSON_Delete(json);
    return id;
}

static const char *demo_id_of(const struct demo *d, const char *name, size_t n)
{
    for (size_t i = 0; i < d->n; i++) {
        if (strlen(d->done[i].name) == n && !memcmp(d->done[i].name, name, n))
            return d->done[i].id;
    }
    return "";
}

/* Puts ids in the place of $NAME. Returns NULL when one of these rows is not there. */
static const char *with_ids(const struct demo *d, const char *text)
{
    const char *at = strchr(text, '$'), *id, *rest;
    size_t n;

    if (!at)
        return text;
    n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
    id = demo_id_of(d, at + 1, n);
    rest = id[0] ? with_ids(d, at + 1 + n) : NULL;
    return rest ? arena_printf(d->a, "%.*s%s%s", (int)(at - text), text, id, rest).p : NULL;
}

static const char *demo_member(const cJSON *step, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(step, name));

    return text ? text : "";
}

/* Finds the row of a step, or makes it. Returns its id, "" when the module is not enabled or
 * refuses. */
static const char *demo_find_or_make(const struct demo *d, const cJSON *step)
{
    const char *list = demo_member(step, "list"), *path = with_ids(d, demo_member(step, "path"));
    const char *find = with_ids(d, demo_member(step, "find"));
    char *printed = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(step, "body"));
    const char *body = with_ids(d, printed ? printed : "");
    struct http_reply reply;
    const char *id = "";

    list = list[0] ? with_ids(d, list) : path;
    if (list && path && find && body) {
        reply = http_call(d->a, d->base_url, d->api_key, "GET",
            arena_printf(d->a, "%s?%s", list, find).p, (wharf_str){"", 0});
        id = first_id(d, &reply);
        if (!id[0] && reply.status != 404) {
            reply = http_call(d->a, d->base_url, d->api_key, "POST", path, str_z(body));
            id = first_id(d, &reply);
            if (reply.status != 201 && reply.status != 200)
                cli_fail("demonstration data: POST %s answered %d: %s", path, reply.status,
                    reply.body.p);
        }
    }
    cJSON_free(printed);
    return id;
}

void demo_make(struct arena *a, const char *base_url, const char *api_key)
{
    struct demo d = {.a = a, .base_url = base_url, .api_key = api_key};
    cJSON *steps = cJSON_Parse(demo_steps[0].text), *step;

    cJSON_ArrayForEach(step, steps) {
        if (d.n == STEPS_MAX)
            break;
        d.done[d.n].name = arena_dupz(a, demo_member(step, "as")).p;
        d.done[d.n].id = demo_find_or_make(&d, step);
        d.n++;
    }
    cJSON_Delete(steps);
}
