/* welcome.c - `wharf _welcome`: run once by the supervisor when all workers are ready.
 *
 * Under `wharf dev`: demonstration data through the public API (nothing is made twice), a
 * greeting, and in any case the file of --ready, which tells programs where the server is. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/cli.h"
#include "tool/devfile.h"
#include "tool/cli/http_client.h"
#include "util/file.h"
#include "util/json.h"
#include "util/str.h"
#include "wharf_version.h"

struct welcome {
    struct arena *a;
    const struct config *config;
    const char *base_url, *admin_url, *pid, *note, *ready_file;
    struct devfile dev;
};

/* ---- demonstration data ---- */

struct demo_location {
    const char *code, *body;
};

static const struct demo_location demo_locations[] = {
    {"MAIN", "{\"name\":\"Main warehouse\",\"code\":\"MAIN\",\"timezone\":\"America/New_York\","
             "\"address\":{\"line1\":\"100 Harbor "
             "Road\",\"city\":\"Newark\",\"state\":\"NJ\",\"postal_code\":\"07114\","
             "\"country_code\":\"US\"}}"},
    {"MAIL", "{\"name\":\"Mailroom\",\"code\":\"MAIL\",\"timezone\":\"America/New_York\","
             "\"address\":{\"line1\":\"1 Market "
             "Square\",\"city\":\"Newark\",\"state\":\"NJ\",\"postal_code\":\"07102\","
             "\"country_code\":\"US\"}}"},
};

struct demo_station {
    const char *name, *location_code, *rest; /* rest: members after location_id */
};

static const struct demo_station demo_stations[] = {
    {"Packing table 1", "MAIN",
        "\"device_token\":\"demo-packing-1\",\"printers\":[{\"name\":\"Label "
        "printer\",\"model\":\"ZD420\","
        "\"configuration\":{\"dpi\":\"203\"},\"page_size\":{\"label_4x6\":true},\"languages\":["
        "\"zpl\",\"pdf\"]},"
        "{\"name\":\"Office "
        "printer\",\"model\":\"LaserJet\",\"configuration\":{\"double_sided\":true},"
        "\"page_size\":{\"letter\":true,\"a4\":true},\"languages\":[\"pdf\"]}]"},
    {"Front desk", "MAIL",
        "\"device_token\":\"demo-front-desk\",\"printers\":[{\"name\":\"Badge "
        "printer\",\"model\":\"QL-820\","
        "\"configuration\":{},\"page_size\":{\"label_2x1\":true}}]"},
};

static struct http_reply call(
    struct welcome *w, const char *method, const char *path, wharf_str body)
{
    return http_call(w->a, w->base_url, w->dev.api_key, method, path, body);
}

/* Returns the id of the first row of an answer, "" when there is none. */
static const char *first_id(struct welcome *w, struct http_reply reply)
{
    cJSON *json = reply.status == 200 || reply.status == 201 ? cJSON_Parse(reply.body.p) : NULL;
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(json, "data");
    const char *id;

    if (cJSON_IsArray(data))
        data = cJSON_GetArrayItem(data, 0);
    id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "id"));
    id = id ? arena_dupz(w->a, id).p : "";
    cJSON_Delete(json);
    return id;
}

/* Finds a row by a filter, or makes it when it is not there. Returns "" when the module is not
 * enabled or refuses; says the latter. */
static const char *find_or_make(
    struct welcome *w, const char *path, const char *filter, wharf_str body)
{
    struct http_reply found = call(
        w, "GET", arena_printf(w->a, "%s?%s", path, filter).p, (wharf_str){"", 0});
    const char *id = first_id(w, found);
    struct http_reply made;

    if (id[0] || found.status == 404)
        return id;
    made = call(w, "POST", path, body);
    if (made.status != 201)
        cli_fail("demonstration data: POST %s answered %d: %s", path, made.status, made.body.p);
    return first_id(w, made);
}

static void make_demo(struct welcome *w)
{
    const char *ids[sizeof(demo_locations) / sizeof(demo_locations[0])];
    size_t n_locations = sizeof(ids) / sizeof(ids[0]);

    for (size_t i = 0; i < n_locations; i++)
        ids[i] = find_or_make(w, "/v1/locations",
            arena_printf(w->a, "code=%s", demo_locations[i].code).p, str_z(demo_locations[i].body));
    for (size_t i = 0; i < sizeof(demo_stations) / sizeof(demo_stations[0]); i++) {
        const struct demo_station *s = &demo_stations[i];
        size_t at = 0;

        while (at + 1 < n_locations && strcmp(demo_locations[at].code, s->location_code) != 0)
            at++;
        if (ids[at][0])
            find_or_make(w, "/v1/cloud-printing/stations",
                arena_printf(w->a, "location_id=%s", ids[at]).p,
                arena_printf(w->a,
                    "{\"name\":\"%s\",\"display_name\":\"%s\",\"location_id\":\"%s\",%s}", s->name,
                    s->name, ids[at], s->rest));
    }
}

/* ---- telling ---- */

static bool write_ready_file(struct welcome *w)
{
    struct buf out;
    struct jw j;
    wharf_str error;
    bool good;

    buf_init(&out, 8192);
    jw_init(&j, &out);
    jw_open(&j, NULL, '{');
    jw_z(&j, "base_url", w->base_url);
    jw_z(&j, "admin_url", w->admin_url[0] ? w->admin_url : NULL);
    jw_z(&j, "api_key", w->dev.api_key[0] ? w->dev.api_key : NULL);
    jw_z(&j, "organization_id", w->dev.organization_id[0] ? w->dev.organization_id : NULL);
    jw_int(&j, "pid", strtol(w->pid, NULL, 10));
    jw_close(&j, '}');
    buf_addc(&out, '\n');
    good = file_replace(w->ready_file, buf_str(&out), 0600, w->a, &error);
    if (!good)
        cli_fail("%s", error.p);
    buf_done(&out);
    return good;
}

static void greet(const struct welcome *w)
{
    printf("\nWharf %s is ready.\n\n  API      %s\n", WHARF_VERSION, w->base_url);
    if (w->dev.api_key[0])
        printf("  Key      %s\n", w->dev.api_key);
    if (w->admin_url[0])
        printf("  Metrics  %s/metrics\n", w->admin_url);
    printf("  Data     %s\n", w->config->data);
    if (strcmp(w->config->log_file, "-") != 0)
        printf("  Log      %s\n", w->config->log_file);
    if (w->note[0])
        printf("  Note     %s\n", w->note);
    if (w->dev.api_key[0])
        printf(
            "\nTry:\n\n  curl -H 'SVC-API-KEY: %s' %s/v1/locations\n", w->dev.api_key, w->base_url);
    printf("\nCtrl-C stops it; the next start finds its data.\n\n");
    fflush(stdout);
}

int command_welcome(int argc, char **argv)
{
    struct welcome w = {.base_url = "", .admin_url = "", .pid = "0", .note = "", .dev.api_key = ""};
    bool dev = false, no_demo = false, good;
    const struct cli_option opts[] = {{"--base-url", &w.base_url, NULL},
        {"--admin-url", &w.admin_url, NULL}, {"--pid", &w.pid, NULL}, {"--note", &w.note, NULL},
        {"--ready", &w.ready_file, NULL}, {"--dev", NULL, &dev}, {"--no-demo", NULL, &no_demo}};
    struct cli c;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    w.a = c.a;
    w.config = cli_config(&c);
    if (!w.config)
        return EXIT_FAILED;
    if (dev)
        devfile_read(w.config->data, &w.dev, w.a);
    if (dev && !no_demo && w.dev.api_key[0])
        make_demo(&w);
    good = !w.ready_file || write_ready_file(&w);
    if (dev)
        greet(&w);
    return good ? EXIT_FINE : EXIT_FAILED;
}
