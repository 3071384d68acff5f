/* station_main.c - wharf-station: prints what a Wharf server sends, through CUPS, IPP or a
 * socket (docs/guide/printing.md). This file: the commands. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "station.h"

enum { CALL_S = 30 };

static const char usage_text[] =
    "wharf-station prints what a Wharf server sends.\n\n"
    "  wharf-station pair --server URL --key KEY --location ID [--name NAME]   make this computer "
    "a print station\n"
    "  wharf-station pair --refresh                                            tell the server of "
    "the printers as they are now\n"
    "  wharf-station run [--once]                                              print, until it is "
    "stopped (or nothing waits)\n"
    "  wharf-station printers                                                  what printers there "
    "are, and what they can\n"
    "  wharf-station status                                                    what the server "
    "knows of this station\n"
    "  wharf-station test PRINTER                                              print a test "
    "page\n\n"
    "  --config FILE   default /etc/wharf-station.json, or $WHARF_STATION_CONFIG\n"
    "  --ca-file FILE  pair: authorities whose certificates count, beside the system's\n"
    "  --dry-run       pair: show what would be registered; run: do everything but send documents "
    "to printers\n"
    "  --verbose       say more\n";

struct options {
    const char *config, *server, *key, *location, *name, *ca_file;
    bool once, refresh;
};

static int usage(int code)
{
    fputs(usage_text, code ? stderr : stdout);
    return code;
}

static int station_complain(const struct answer *a, const char *what)
{
    fprintf(stderr, "wharf-station: %s: %s%s%s%s\n", what, a->message[0] ? a->message : "no answer",
        a->code[0] ? " (" : "", a->code, a->code[0] ? ")" : "");
    return 1;
}

/* ---- printers ---- */

static void show_printer(const struct printer *p)
{
    printf("%s\n    %s, %s\n    %s: %s%s%s%s%dx%d dpi\n    sizes:", p->name, p->model, p->status,
        p->uri, p->takes_pdf ? "PDF, " : "", p->takes_pwg ? "PWG raster, " : "",
        p->color ? "colour, " : "", p->double_sided ? "both sides, " : "", p->dpi_x, p->dpi_y);
    for (size_t i = 0; i < n_media; i++) {
        if (p->sizes[i])
            printf(" %s", media[i].name);
    }
    printf("\n");
    if (p->n_languages) {
        printf("    raw:");
        for (size_t i = 0; i < p->n_languages; i++)
            printf(" %s", p->languages[i]);
        printf("\n");
    }
    for (size_t i = 0; i < p->n_reasons; i++)
        printf("    says %s\n", p->reasons[i]);
}

static int command_printers(void)
{
    printers_find();
    for (size_t i = 0; i < printers.n; i++)
        show_printer(&printers.list[i]);
    if (!printers.n)
        printf("No printers: CUPS has no queues, and the configuration names none.\n");
    return printers.n ? 0 : 1;
}

/* ---- pair ---- */

static void station_add_printers(cJSON *body)
{
    cJSON *list = cJSON_AddArrayToObject(body, "printers");

    for (size_t i = 0; i < printers.n; i++) {
        if (printers.list[i].found)
            cJSON_AddItemToArray(list, printer_json(&printers.list[i], true));
        else
            fprintf(stderr, "wharf-station: %s does not answer and is left out\n",
                printers.list[i].name);
    }
}

static cJSON *station_body(bool create)
{
    cJSON *body = cJSON_CreateObject();
    char token[40];

    snprintf(token, sizeof(token), "stream-%ld", (long)getpid());
    if (create) {
        cJSON_AddStringToObject(body, "name", settings.name);
        cJSON_AddStringToObject(body, "display_name", settings.name);
        cJSON_AddStringToObject(body, "location_id", settings.location_id);
        cJSON_AddStringToObject(body, "device_token", token);
        cJSON_AddStringToObject(body, "status", "offline");
        /* it listens to the stream, whatever else the server pushes by */
        cJSON_AddStringToObject(cJSON_AddObjectToObject(body, "push"), "driver", "stream");
    }
    station_add_printers(body);
    return body;
}

/* Shows what would be sent, and frees it. */
static int show_call(const char *path, cJSON *body)
{
    char *text = cJSON_PrintUnformatted(body);

    printf("POST %s\n%s\n", path, text ? text : "");
    cJSON_free(text);
    cJSON_Delete(body);
    return 0;
}

static int register_station(bool create)
{
    char path[120] = "/v1/cloud-printing/stations";
    cJSON *body = station_body(create);
    struct answer a;
    int result = 0;

    if (!create)
        snprintf(path, sizeof(path), "/v1/cloud-printing/stations/%s", settings.station_id);
    if (settings.dry_run)
        return show_call(path, body);
    api_call("POST", path, body, CALL_S, &a);
    if (a.status != (create ? 201 : 200)) {
        result = station_complain(&a, "the station can't be registered");
    } else {
        snprintf(
            settings.station_id, sizeof(settings.station_id), "%s", member_text(a.data, "id", ""));
        printf("%s is station %s with %zu printers.\n", settings.name, settings.station_id,
            printers.n);
    }
    answer_done(&a);
    return result;
}

/* Keeps the whole path: the service runs in another folder. Returns false when it told why not. */
static bool set_ca_file(const char *file)
{
    char *whole = realpath(file, NULL);
    int n = whole ? snprintf(settings.ca_file, sizeof(settings.ca_file), "%s", whole) : 0;

    free(whole);
    if (n <= 0)
        fprintf(stderr, "wharf-station: %s can't be read: %s\n", file, strerror(errno));
    else if (n >= (int)sizeof(settings.ca_file))
        fprintf(stderr, "wharf-station: the path of %s is too long\n", file);
    return n > 0 && n < (int)sizeof(settings.ca_file);
}

static void use_default_places(void)
{
    if (!settings.spool[0])
        snprintf(settings.spool, sizeof(settings.spool), "/var/lib/wharf-station");
    if (!settings.pdftoppm[0])
        snprintf(settings.pdftoppm, sizeof(settings.pdftoppm), "/usr/bin/pdftoppm");
}

static int command_pair(const struct options *o)
{
    char host[192] = "station";
    int result;

    if (access(o->config, R_OK) == 0 && !settings_read(o->config))
        return 1;
    gethostname(host, sizeof(host) - 1);
    if (o->server)
        snprintf(settings.server, sizeof(settings.server), "%.*s",
            (int)(strlen(o->server) - (o->server[strlen(o->server) - 1] == '/')), o->server);
    if (o->key)
        snprintf(settings.key, sizeof(settings.key), "%s", o->key);
    if (o->location)
        snprintf(settings.location_id, sizeof(settings.location_id), "%s", o->location);
    if (o->name || !settings.name[0])
        snprintf(settings.name, sizeof(settings.name), "%s", o->name ? o->name : host);
    if (o->ca_file && !set_ca_file(o->ca_file))
        return 1;
    use_default_places();
    if (!settings.server[0] || !settings.key[0] ||
        (!settings.station_id[0] && !settings.location_id[0]))
        return usage(2);
    if (command_printers() != 0)
        return 1;
    result = register_station(!settings.station_id[0]);
    return result || settings.dry_run ? result : settings_write(o->config) ? 0 : 1;
}

/* ---- status, test ---- */

static int command_status(void)
{
    char path[140];
    const cJSON *list, *p;
    struct answer a;

    snprintf(path, sizeof(path), "/v1/cloud-printing/stations/%s?include_print_jobs_count=true",
        settings.station_id);
    api_call("GET", path, NULL, CALL_S, &a);
    if (a.status != 200) {
        int result = station_complain(&a, "the station can't be read");

        answer_done(&a);
        return result;
    }
    printf("%s (%s) is %s, %d jobs wait\n", member_text(a.data, "name", ""), settings.station_id,
        member_text(a.data, "status", ""), member_int(a.data, "print_jobs_count", 0));
    list = member(a.data, "printers");
    cJSON_ArrayForEach(p, list)
        printf("  %-30s %s\n", member_text(p, "name", ""), member_text(p, "status", ""));
    answer_done(&a);
    return 0;
}

/* Finds the id under which the server knows the printer. */
static bool printer_id(const char *name, char to[ID_TEXT])
{
    char path[120];
    const cJSON *list;
    struct answer a;
    bool found = false;

    snprintf(path, sizeof(path), "/v1/cloud-printing/stations/%s", settings.station_id);
    api_call("GET", path, NULL, CALL_S, &a);
    list = member(a.data, "printers");
    for (const cJSON *p = list ? list->child : NULL; p && !found; p = p->next) {
        found = !strcmp(member_text(p, "name", ""), name);
        snprintf(to, ID_TEXT, "%s", member_text(p, "id", ""));
    }
    answer_done(&a);
    return found;
}

static int command_test(const char *name)
{
    char path[200], id[ID_TEXT];
    struct answer a;
    int result = 0;

    if (!name || !printer_id(name, id)) {
        fprintf(stderr,
            "wharf-station: the station has no printer \"%s\"; `wharf-station status` names them\n",
            name ? name : "");
        return 1;
    }
    snprintf(path, sizeof(path), "/v1/cloud-printing/stations/%s/printers/%s/test-page",
        settings.station_id, id);
    api_call("POST", path, cJSON_CreateObject(), CALL_S, &a);
    if (a.status == 201)
        printf("Test page %s is queued.\n", member_text(a.data, "id", ""));
    else
        result = station_complain(&a, "no test page");
    answer_done(&a);
    return result;
}

static int command_run(const struct options *o)
{
    if (!settings.station_id[0]) {
        fprintf(stderr,
            "wharf-station: this computer is no print station yet; run `wharf-station pair`\n");
        return 1;
    }
    if (!journal_open())
        return 1;
    printers_find();
    for (size_t i = 0; i < printers.n; i++)
        say(printers.list[i].name, "%s",
            printers.list[i].found ? printers.list[i].status : "does not answer yet");
    return session_run(o->once);
}

static void station_read_options(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {{"server", 1, 0, 's'}, {"key", 1, 0, 'k'},
        {"location", 1, 0, 'l'}, {"name", 1, 0, 'n'}, {"config", 1, 0, 'c'}, {"ca-file", 1, 0, 'a'},
        {"once", 0, 0, '1'}, {"refresh", 0, 0, 'r'}, {"dry-run", 0, 0, 'd'}, {"verbose", 0, 0, 'v'},
        {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
    const char *environment = getenv("WHARF_STATION_CONFIG");
    int c;

    o->config = environment && *environment ? environment : "/etc/wharf-station.json";
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        const char **to[] = {&o->server, &o->key, &o->location, &o->name, &o->config, &o->ca_file};
        const char *at = strchr("sklnca", c);

        if (at && c)
            *to[at - "sklnca"] = optarg;
        else if (c == '1')
            o->once = true;
        else if (c == 'r')
            o->refresh = true;
        else if (c == 'd')
            settings.dry_run = true;
        else if (c == 'v')
            settings.verbose = true;
        else
            exit(usage(c == 'h' ? 0 : 2));
    }
}

int main(int argc, char **argv)
{
    struct options o = {0};
    const char *command;

    station_read_options(argc, argv, &o);
    command = argc > optind ? argv[optind] : "";
    api_start();
    if (!strcmp(command, "pair"))
        return command_pair(&o);
    if (!strcmp(command, "run") || !strcmp(command, "status") || !strcmp(command, "test")) {
        if (!settings_read(o.config))
            return 1;
        return !strcmp(command, "run")      ? command_run(&o)
               : !strcmp(command, "status") ? command_status()
                                            : command_test(argv[optind + 1]);
    }
    if (strcmp(command, "printers") != 0)
        return usage(*command ? 2 : 0);
    if (access(o.config, R_OK) == 0 && !settings_read(o.config))
        return 1;
    return command_printers();
}
