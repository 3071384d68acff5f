/* run_cmd.c - `wharf lua run`: one run of a folder's code, as a case of a test makes it
 * (services/lua/testing/testing.h). */
#include <stdio.h>
#include <string.h>

#include "tool/cli/http_client.h"
#include "tool/lua/author.h"
#include "event/event_catalogue.h"
#include "lua/samples.h"
#include "lua/testing/testing.h"
#include "schema/tenant.h"
#include "util/file.h"
#include "util/str.h"
#include "util/zone.h"

enum { INPUT_MAX = 8 << 20, RESULT_MAX = 32 << 20 };

struct running {
    struct arena *a;
    const struct lua_server *server;
};

static bool run_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    char *bytes = arena_alloc(((struct running *)arg)->a, ZONE_BYTES_MAX);

    *ret_bytes = (wharf_str){bytes, zone_read(name, bytes, ZONE_BYTES_MAX)};
    return ret_bytes->n > 0;
}

static int run_live(
    void *arg, const char *method, const char *path, wharf_str body, wharf_str *ret_text)
{
    struct running *r = arg;
    struct http_reply reply = http_call_far(
        r->a, r->server->url, r->server->key, method, path, body);

    *ret_text = reply.body;
    return reply.status;
}

static const char *run_handler_of(const char *trigger)
{
    static const struct {
        const char *trigger, *handler;
    } all[] = {{"event", "on_event"}, {"http", "on_http"}, {"schedule", "on_schedule"},
        {"manual", "on_run"}, {"before", "before"}, {"after", "after"}};

    for (size_t i = 0; trigger && i < sizeof(all) / sizeof(all[0]); i++) {
        if (!strcmp(all[i].trigger, trigger))
            return all[i].handler;
    }
    return NULL;
}

/* Prints the result, or why there is none. */
static int run_tell(struct arena *a, const struct lua_folder *f, const struct wharf_json *said)
{
    const struct wharf_json *result = json_get(said, "result"), *error = json_get(said, "error");
    wharf_str file = json_text_or(error, "file", "");

    if (result) {
        puts(json_pretty(a, result).p);
        return str_eqz(json_text_or(result, "status", ""), "succeeded") ? LUA_FINE : LUA_FAILED;
    }
    if (file.n)
        cli_fail("%s:%lld: %s", folder_path(a, f, file.p), (long long)json_int_or(error, "line", 0),
            json_text_or(error, "message", "").p);
    else
        cli_fail("%s", json_text_or(error, "message", "the run did not end").p);
    return LUA_BROKEN;
}

/* Adds the stubs: a file of the folder, or one elsewhere that stands beside it as "stubs". Returns
 * false after a message. */
static bool add_stubs(
    struct arena *a, const char *path, struct sandbox_file *files, size_t *n, struct testing *t)
{
    wharf_str text = file_read(path, INPUT_MAX, a);

    if (!text.p) {
        cli_fail("%s: there is no such file", path);
        return false;
    }
    files[(*n)++] = (struct sandbox_file){.name = "stubs_test", .text = text};
    t->test = "stubs_test";
    return true;
}

static void wrong_input(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    if (message.p)
        cli_fail("%.*s", STR_ARG(message));
}

/* Tells whether the trigger is asked what it takes: the manual one, or one of events of this
 * type. */
static bool asks(const struct engine *e, const struct wharf_json *t, wharf_str event)
{
    const struct wharf_json *list = json_get(t, "events");
    const struct event_type *type = event.n ? event_type_find(e, event) : NULL;

    if (json_is(json_get(t, "enabled"), JSON_BOOL) && !json_get(t, "enabled")->truth)
        return false;
    if (!event.n)
        return str_eqz(json_text_or(t, "type", ""), "manual");
    for (const struct wharf_json *p = json_is(list, JSON_ARRAY) ? list->child : NULL; p;
         p = p->next) {
        if (json_is(p, JSON_STRING) && type && event_matches(type, event, p->text))
            return str_eqz(json_text_or(t, "type", ""), "event");
    }
    return false;
}

/* Tells whether the input fits one of the triggers that it is for, as the server does. event: its
 * type, or empty. Returns false after what is wrong was told. */
static bool input_fits(struct arena *a, const struct engine *e, const struct wharf_json *workflow,
    const struct wharf_json *input, wharf_str event)
{
    const struct wharf_json *list = json_get(workflow, "triggers");
    const char *base = event.n ? "event" : "input";
    const struct schema *unfit = NULL, *schema;
    int64_t left;

    for (const struct wharf_json *t = json_is(list, JSON_ARRAY) ? list->child : NULL; t;
         t = t->next) {
        const struct wharf_json *json = json_get(t, "input_schema");

        left = TENANT_SCHEMA_STEPS;
        if (!asks(e, t, event))
            continue;
        if (!json || json->type == JSON_NULL)
            return true;
        schema = tenant_schema(a, json, wrong_input, NULL);
        if (!schema)
            return false;
        if (schema_validate_within(schema, input, str_z(base), &left, a, NULL, NULL))
            return true;
        unfit = unfit ? unfit : schema;
    }
    left = TENANT_SCHEMA_STEPS;
    if (unfit)
        schema_validate_within(unfit, input, str_z(base), &left, a, wrong_input, NULL);
    if (!left)
        cli_fail("%s: %s", base, TENANT_SCHEMA_WORK);
    return !unfit;
}

/* Reads what the handler gets: from a file, or an event of before from the server. Returns NULL
 * after a message; *ret_text is what was read. */
static const struct wharf_json *run_read_input(struct cli *c, const struct lua_run_options *o,
    const struct lua_server *s, bool by_hand, wharf_str *ret_text)
{
    const struct wharf_json *given;
    struct json_error bad;

    if (o->input)
        return json_of_file(c->a, o->input, INPUT_MAX, ret_text);
    *ret_text = by_hand ? str_z("{}") : str_z("null"); /* as the server has it */
    if (o->event) {
        given = server_ask(
            c->a, s, "GET", arena_printf(c->a, "/v1/events/%s", o->event).p, str_z(""));
        *ret_text = given ? json_pretty(c->a, given) : *ret_text;
        return given;
    }
    return json_parse(c->a, *ret_text, &bad);
}

int lua_run_command(struct cli *c, const struct lua_run_options *o, struct lua_server *s)
{
    const char *handler = run_handler_of(o->trigger);
    struct running r = {c->a, s};
    struct testing t = {.seed = 1, .zone = run_zone, .arg = &r, .live = o->live ? run_live : NULL};
    struct lua_folder folder;
    struct sandbox_file *files;
    struct json_error bad;
    wharf_str input;
    bool by_hand = handler && !strcmp(handler, "on_run");
    const struct wharf_json *given;
    const struct engine *engine;
    struct buf out;
    int code;

    if (c->n_words != 2 || !handler)
        return lua_usage(
            "wharf lua run DIR --trigger event|http|schedule|manual|before|after [--input FILE]");
    if (o->event && (o->input || strcmp(handler, "on_event") != 0))
        return lua_usage("--event is the input of --trigger event");
    if ((o->live || o->event) && !server_find(s))
        return LUA_USAGE;
    if (!folder_one(c->a, c->words[1], &folder))
        return LUA_USAGE;
    given = run_read_input(c, o, s, by_hand, &input);
    if (!given)
        return LUA_USAGE;
    files = folder_files(c->a, &folder);
    t.n_files = folder.n;
    if (o->stubs && !add_stubs(c->a, o->stubs, files, &t.n_files, &t))
        return LUA_USAGE;
    engine = lua_engine(c);
    if (!engine || ((by_hand || !strcmp(handler, "on_event")) &&
                       !input_fits(c->a, engine, folder.workflow, given,
                           by_hand ? str_z("") : json_text_or(given, "type", "none"))))
        return LUA_BROKEN;
    t.files = files;
    t.hooks = folder.hooks;
    t.workflow = folder_told(c->a, &folder, engine);
    t.samples = json_parse(c->a, lua_samples(c->a, engine), &bad);
    buf_init(&out, RESULT_MAX);
    testing_once(&t, handler, input, &out);
    code = run_tell(c->a, &folder, json_parse(c->a, buf_str(&out), &bad));
    buf_done(&out);
    return code;
}
