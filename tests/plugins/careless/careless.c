/* careless.c - a plugin that makes one mistake, the one that WHARF_TEST_MISTAKE names. For
 * tests/api/plugins/test_declarations.py. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wharf/plugin.h"

#include "careless.gen.h"

static const wharf_host *W;

static bool mistake(const char *name)
{
    const char *asked = getenv("WHARF_TEST_MISTAKE");

    return asked && !strcmp(asked, name);
}

static wharf_val text(const char *z)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = {z, strlen(z)}};
}

/* Sets what the row's name asks for, whatever the definition says of it. */
static wharf_status check(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *tags;
    wharf_val name;

    (void)old_rec;
    if (op == WHARF_DELETE || !W->res->get(new_rec, MISTAKE_NAME, &name))
        return WHARF_OK;
    if (!strcmp(name.u.s.p, "long"))
        W->res->set(new_rec, MISTAKE_NAME, text("longer than twenty characters"));
    else if (!strcmp(name.u.s.p, "many"))
        W->res->set(new_rec, MISTAKE_SIZE, (wharf_val){.type = WHARF_V_INT, .u.i = 10});
    else if (!strcmp(name.u.s.p, "member"))
        W->res->set(new_rec, MISTAKE_KIND, text("medium"));
    else if (!strcmp(name.u.s.p, "items") &&
             W->json->parse(req, WHARF_S("[\"a\",\"b\",\"c\"]"), &tags) == WHARF_OK)
        W->res->set(new_rec, MISTAKE_TAGS, (wharf_val){.type = WHARF_V_JSON, .u.j = tags});
    else if (!strcmp(name.u.s.p, "good"))
        W->res->set(new_rec, MISTAKE_SIZE, (wharf_val){.type = WHARF_V_INT, .u.i = 9});
    else if (!strcmp(name.u.s.p, "greedy"))
        W->mem->alloc(req, 70u << 20);
    else if (!strcmp(name.u.s.p, "silent"))
        return WHARF_INVALID;
    return WHARF_OK;
}

/* The same for many rows: so they are written as a set. */
static wharf_status check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(req, op, old_recs ? old_recs[i] : NULL, new_recs[i]);
    return WHARF_OK;
}

static const wharf_hooks hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = check, .check_many = check_many};

/* Takes a value with one name twice. */
static wharf_status take_value(wharf_req *req, wharf_out *out)
{
    const wharf_json *v;

    W->json->open(out, NULL, '{');
    W->json->put(out, "size", (wharf_val){.type = WHARF_V_INT, .u.i = 1});
    W->json->put(out, "size", (wharf_val){.type = WHARF_V_INT, .u.i = 2});
    W->json->close(out);
    return W->json->result(req, out, &v);
}

static wharf_status handler(wharf_req *req, void *arg)
{
    const char *what = arg;
    const wharf_rows *rows;
    wharf_out *out;

    if (!strcmp(what, "silent"))
        return WHARF_INVALID;
    if (!strcmp(what, "writer") || !strcmp(what, "twice"))
        return take_value(
            req, !strcmp(what, "writer") ? W->json->writer(req) : W->json->builder(req));
    if (strstr(what, "COMMIT") || strstr(what, "ROLE") || strstr(what, "set_config"))
        return W->db->query(req, what, NULL, 0, &rows);
    if (!strcmp(what, "later")) {
        W->db->later(req, "COMMIT", NULL, 0);
        return WHARF_OK;
    }
    if (!strcmp(what, "broken"))
        return W->db->query(req, "SELECT nothing FROM careless.nowhere", NULL, 0, &rows);
    out = W->req->respond(req, 200, "Nothing was done");
    W->json->open(out, NULL, '{');
    W->json->close(out);
    return WHARF_OK;
}

#define DEFINED(body) WHARF_S("{\"title\": \"Other\", \"type\": \"object\", " body "}")
#define ID            "\"id\": {\"type\": \"string\", \"x-wharf\": {\"write\": \"never\"}}"
#define OTHER(name, prefix, path, property, table)                                                 \
    OTHER_IN(name, prefix, path, property, "careless." table)
#define OTHER_IN(name, prefix, path, property, table)                                              \
    DEFINED("\"$id\": \"" name "\", \"properties\": {" ID property                                 \
            "}, \"x-wharf\": {\"dialect\": 1, \"collection\": \"" path "\", \"prefix\": \"" prefix \
            "\", \"table\": \"" table "\", \"scope\": \"mistakes\", \"location\": \"none\"}")

static void another(
    wharf_decl *d, const wharf_decl_api *api, const char *name, wharf_str definition)
{
    const wharf_resource r = {
        .head = WHARF_HEAD(wharf_resource), .name = name, .definition = definition};

    api->resource(d, &r);
}

static void wrong_resources(wharf_decl *d, const wharf_decl_api *api)
{
    if (mistake("ref"))
        another(d, api, "other",
            OTHER("other", "other", "/v1/others",
                ", \"place\": {\"type\": [\"string\", \"null\"], \"maxLength\": 64, \"x-wharf\": "
                "{\"ref\": \"locaton\"}}",
                "other"));
    if (mistake("embed"))
        another(d, api, "other",
            OTHER("other", "other", "/v1/others",
                ", \"station\": {\"type\": [\"string\", \"null\"], \"maxLength\": 64, \"x-wharf\": "
                "{\"ref\": \"print_station\"}}, \"shown\": {\"type\": [\"object\", \"null\"], "
                "\"x-wharf\": {\"store\": \"embed\", \"embed\": {\"from\": \"station\", "
                "\"fields\": [\"name\"]}}}",
                "other"));
    if (mistake("name"))
        another(d, api, "location", OTHER("location", "other", "/v1/others", "", "other"));
    if (mistake("prefix"))
        another(d, api, "other", OTHER("other", "mistake", "/v1/others", "", "other"));
    if (mistake("table"))
        another(d, api, "other", OTHER("other", "other", "/v1/others", "", "mistake"));
    if (mistake("server_table"))
        another(d, api, "other", OTHER_IN("other", "other", "/v1/others", "", "wharf.setting"));
    if (mistake("locations"))
        another(d, api, "other",
            DEFINED("\"$id\": \"other\", \"properties\": {" ID
                    "}, \"x-wharf\": {\"dialect\": 1, \"collection\": "
                    "\"/v1/others\", \"prefix\": \"other\", \"table\": \"careless.other\", "
                    "\"scope\": \"mistakes\", \"location\": \"self\"}"));
    if (mistake("located"))
        another(d, api, "other",
            DEFINED("\"$id\": \"other\", \"properties\": {" ID
                    ", \"at\": {\"type\": \"string\", \"maxLength\": 64, "
                    "\"x-wharf\": {\"ref\": \"mistake\"}}}, \"x-wharf\": {\"dialect\": 1, "
                    "\"collection\": \"/v1/others\", \"prefix\": \"other\", \"table\": "
                    "\"careless.other\", \"scope\": \"mistakes\", \"location\": \"at\"}"));
    if (mistake("path"))
        another(d, api, "other", OTHER("other", "other", "/v1/locations", "", "other"));
    if (mistake("default"))
        another(d, api, "other",
            OTHER("other", "other", "/v1/others",
                ", \"size\": {\"type\": \"integer\", \"maximum\": 9, \"default\": 10}", "other"));
    if (mistake("column"))
        another(d, api, "other",
            OTHER("other", "other", "/v1/others", ", \"ctid\": {\"type\": \"string\"}", "other"));
    if (mistake("no_table"))
        another(d, api, "other", OTHER("other", "other", "/v1/others", "", "other"));
}

static void wrong_links(wharf_decl *d, const wharf_decl_api *api)
{
    if (mistake("place"))
        another(d, api, "other",
            OTHER("other", "other", "/v1/others",
                ", \"at\": {\"type\": \"string\", \"x-wharf\": {\"write\": \"never\", "
                "\"expression\": \"{place mistakes,t.kind}\"}}",
                "other"));
    if (mistake("linked"))
        another(d, api, "other",
            DEFINED("\"$id\": \"other\", \"properties\": {" ID
                    ", \"all\": {\"type\": \"boolean\"}, \"users\": {\"type\": \"array\", "
                    "\"items\": {\"type\": \"string\"}}, \"at\": {\"type\": \"string\", "
                    "\"x-wharf\": {\"write\": \"never\", \"expression\": "
                    "\"{place mistakes,t.id,t.id}\"}}}, \"x-wharf\": {\"dialect\": 1, "
                    "\"collection\": \"/v1/others\", \"prefix\": \"other\", \"table\": "
                    "\"careless.other\", \"scope\": \"mistakes\", \"location\": \"none\", "
                    "\"links\": [\"mistakes\"], \"audience\": {\"all\": \"all\", \"users\": "
                    "\"users\"}}"));
    if (mistake("embed_key"))
        api->embed(d, "include_mistakes", "mistakes", NULL);
}

static void wrong_migrations(wharf_decl *d, const wharf_decl_api *api)
{
    static const char *const outside[][2] = {
        {"outside_table",
            "-- wharf: phase=expand\nALTER TABLE locations.location ADD COLUMN careless text;"},
        {"outside_rows", "-- wharf: phase=expand\nDELETE FROM wharf.migration WHERE plugin = "
                         "'wharf' AND number = 1;"},
        {"outside_update", "-- wharf: phase=expand\nDO $$ BEGIN EXECUTE 'UPDATE wharf.' || "
                           "'migration SET name = name'; END $$;"},
        {"outside_function", "-- wharf: phase=expand\nCREATE FUNCTION public.careless() RETURNS "
                             "int LANGUAGE sql AS 'SELECT 1';"},
        {"outside_trigger", "-- wharf: phase=expand\nCREATE FUNCTION careless.t() RETURNS trigger "
                            "LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER c AFTER "
                            "INSERT ON locations.location FOR EACH ROW EXECUTE FUNCTION "
                            "careless.t();"},
        {"outside_part",
            "-- wharf: phase=expand\nDO $$ BEGIN BEGIN CREATE TABLE public.careless_part (); "
            "EXCEPTION WHEN division_by_zero THEN NULL; END; END $$;"},
        {"waits", "-- wharf: phase=expand\nCREATE TABLE careless.waited (id text); CREATE FUNCTION "
                  "careless.waited() RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT "
                  "pg_advisory_xact_lock(6204);"},
        {"outside_schema", "-- wharf: phase=expand\nCREATE SCHEMA careless_too;"},
        {"outside_index", "-- wharf: phase=expand tx=no\nCREATE INDEX CONCURRENTLY IF NOT EXISTS c "
                          "ON locations.location (id);"},
        {"outside_repeatable",
            "CREATE OR REPLACE FUNCTION wharf.log_days(settings jsonb, key text, otherwise integer)"
            " RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';"},
        {"repeatable_phase", "-- wharf: phase=contract\nSELECT 1;"},
        {"no_column", "-- wharf: phase=expand\nALTER TABLE careless.mistake DROP COLUMN kind;"},
        {"wrong_type",
            "-- wharf: phase=expand\nALTER TABLE careless.mistake ALTER COLUMN size TYPE text;"},
    };

    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        if (mistake(outside[i][0]))
            api->migration(d, strstr(outside[i][0], "repeatable") ? 0 : 2, "outside",
                (wharf_str){outside[i][1], strlen(outside[i][1])});
    }
}

static void wrong_routes(wharf_decl *d, const wharf_decl_api *api, wharf_route route)
{
    if (mistake("handler"))
        route.handler = NULL;
    else if (mistake("scope"))
        route.scope = "mistaks:read";
    else if (mistake("level"))
        route.scope = "mistakes:see";
    else if (mistake("route"))
        route.path = "/v1/locations";
    else if (mistake("parameters"))
        route.path = "/v1/mistakes/:a/:b/:c/:d/:e";
    else
        return;
    route.method = "GET";
    api->route(d, &route);
}

static void add_route(wharf_decl *d, const wharf_decl_api *api, const wharf_route *like,
    const char *path, const char *what)
{
    wharf_route route = *like;

    route.path = path;
    route.arg = (void *)what;
    api->route(d, &route);
}

static void wrong_checks(wharf_decl *d, const wharf_decl_api *api)
{
    wharf_check check = {.head = WHARF_HEAD(wharf_check),
        .name = "mistakes",
        .summary = "No mistake was changed before it was made.",
        .rows = "careless.mistake",
        .sql = "SELECT organization_id, id, 'is older than its making' FROM "
               "careless.mistake WHERE updated_at < created_at"};

    if (mistake("check_name"))
        check.name = "Mis.takes";
    if (mistake("check_says_nothing"))
        check.summary = NULL;
    if (mistake("check_does_nothing"))
        check.sql = NULL;
    api->check(d, &check);
    if (mistake("check_twice"))
        api->check(d, &check);
}

static void wrong_process(void)
{
    if (mistake("crash"))
        __builtin_trap();
    if (mistake("exit"))
        _exit(3);
    while (mistake("loop"))
        pause();
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const int table = 1;
    const wharf_resource own = {.head = WHARF_HEAD(wharf_resource),
        .name = "mistake",
        .definition = MISTAKE_DEFINITION,
        .definition_hash = MISTAKE_DEFINITION_HASH,
        .hooks = &hooks};
    const wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/mistakes/nothing",
        .scope = "mistakes:write",
        .definition = WHARF_S("{\"summary\": \"Makes a mistake\", \"location\": \"none\"}"),
        .handler = handler,
        .arg = (void *)"nothing"};

    wrong_process();
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &own);
    if (!mistake("provides"))
        api->provide(d, "careless.answers", 1, mistake("version") ? 1 : 0, &table);
    if (mistake("provided"))
        api->provide(d, "careless.more", 1, 0, &table);
    if (mistake("service"))
        W->service(self, "wharf.blob", 1, 0);
    wrong_links(d, api);
    if (mistake("hook"))
        api->hook(d, "locaton", &hooks, 0);
    if (mistake("event"))
        api->on_event(d, "location.creatd", handler, NULL);
    if (mistake("code"))
        api->errors(d, WHARF_S("{\"loose.code\": {\"status\": 400, \"text\": \"Loose\"}}"));
    wrong_resources(d, api);
    wrong_migrations(d, api);
    wrong_routes(d, api, route);
    wrong_checks(d, api);
    add_route(d, api, &route, "/v1/mistakes/nothing", "nothing");
    add_route(d, api, &route, "/v1/mistakes/silent", "silent");
    add_route(d, api, &route, "/v1/mistakes/writer", "writer");
    add_route(d, api, &route, "/v1/mistakes/twice", "twice");
    add_route(d, api, &route, "/v1/mistakes/commit", "COMMIT");
    add_route(d, api, &route, "/v1/mistakes/chain", "COMMIT AND CHAIN");
    add_route(d, api, &route, "/v1/mistakes/role", "SET LOCAL ROLE NONE");
    add_route(d, api, &route, "/v1/mistakes/setting", "SELECT set_config('role', 'none', true)");
    add_route(d, api, &route, "/v1/mistakes/later", "later");
    add_route(d, api, &route, "/v1/mistakes/broken", "broken");
    /* it does not look at the row */
    add_route(d, api, &route, "/v1/locations/:location/mistakes", "nothing");
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    W = host;
    return &desc;
}
