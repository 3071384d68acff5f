/* station_config.c - the agent's configuration: one JSON file, written by `pair`, read by
 * everything else. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "station.h"

struct settings settings;

enum { FILE_MAX = 1 << 20 };

static bool station_config_complain(const char *file, const char *what)
{
    fprintf(stderr, "wharf-station: %s: %s\n", file, what);
    return false;
}

static bool station_config_read_file(const char *file, struct buf *out)
{
    char block[8192];
    FILE *f = fopen(file, "re");
    size_t n;

    if (!f)
        return false;
    while ((n = fread(block, 1, sizeof(block), f)) > 0)
        buf_add(out, block, n);
    fclose(f);
    return !out->failed;
}

static void station_config_copy(
    char *to, size_t size, const cJSON *object, const char *key, const char *fallback)
{
    snprintf(to, size, "%s", member_text(object, key, fallback));
}

static void station_config_read_key(const cJSON *root)
{
    char file[PATH_TEXT];
    struct buf text;

    station_config_copy(settings.key, sizeof(settings.key), root, "key", "");
    station_config_copy(file, sizeof(file), root, "key_file", "");
    if (!file[0])
        return;
    buf_init(&text, sizeof(settings.key));
    if (station_config_read_file(file, &text) && text.n)
        snprintf(settings.key, sizeof(settings.key), "%.*s", (int)strcspn(text.p, " \r\n"), text.p);
    buf_done(&text);
}

static void read_printers(const cJSON *list)
{
    for (const cJSON *m = cJSON_IsObject(list) ? list->child : NULL;
         m && settings.n_printers < PRINTERS_MAX; m = m->next) {
        struct printer_config *p = &settings.printers[settings.n_printers++];

        snprintf(p->name, sizeof(p->name), "%s", m->string);
        station_config_copy(p->uri, sizeof(p->uri), m, "uri", "");
        station_config_copy(p->model, sizeof(p->model), m, "model", "");
        p->sizes = member(m, "sizes");
        p->languages = member(m, "languages");
        p->assume_completed = member_bool(m, "assume_completed", false);
    }
}

bool settings_read(const char *file)
{
    static cJSON *root; /* lives as long as the process: settings point into it */
    struct buf text;

    snprintf(settings.file, sizeof(settings.file), "%s", file);
    buf_init(&text, FILE_MAX);
    if (!station_config_read_file(file, &text))
        return station_config_complain(file, "can't be read; make it with `wharf-station pair`");
    root = cJSON_ParseWithOpts(text.p, NULL, true);
    buf_done(&text);
    if (!cJSON_IsObject(root))
        return station_config_complain(file, "is no JSON object");
    station_config_copy(settings.server, sizeof(settings.server), root, "server", "");
    station_config_copy(settings.station_id, sizeof(settings.station_id), root, "station_id", "");
    station_config_copy(
        settings.location_id, sizeof(settings.location_id), root, "location_id", "");
    station_config_copy(settings.name, sizeof(settings.name), root, "name", "");
    station_config_copy(
        settings.spool, sizeof(settings.spool), root, "spool", "/var/lib/wharf-station");
    station_config_copy(
        settings.pdftoppm, sizeof(settings.pdftoppm), root, "pdftoppm", "/usr/bin/pdftoppm");
    station_config_copy(settings.ca_file, sizeof(settings.ca_file), root, "ca_file", "");
    station_config_read_key(root);
    read_printers(member(root, "printers"));
    if (!settings.server[0] || !settings.key[0])
        return station_config_complain(file, "needs server and key (or key_file)");
    return true;
}

/* Adds what the file says of a printer. Returns false when there is no memory. */
static bool station_config_add_printer(cJSON *list, const struct printer_config *p)
{
    cJSON *o = cJSON_AddObjectToObject(list, p->name);
    bool good = o != NULL;

    if (p->uri[0])
        good = good && cJSON_AddStringToObject(o, "uri", p->uri);
    if (p->model[0])
        good = good && cJSON_AddStringToObject(o, "model", p->model);
    if (p->sizes)
        good = good && cJSON_AddItemToObject(o, "sizes", cJSON_Duplicate(p->sizes, true));
    if (p->languages)
        good = good && cJSON_AddItemToObject(o, "languages", cJSON_Duplicate(p->languages, true));
    if (p->assume_completed)
        good = good && cJSON_AddTrueToObject(o, "assume_completed");
    return good;
}

/* Makes the text of the file, for the caller to free. Returns NULL when there is no memory: the
 * file that is there stays. */
static char *settings_text(void)
{
    cJSON *root = cJSON_CreateObject(), *list;
    bool good = cJSON_AddStringToObject(root, "server", settings.server) &&
                cJSON_AddStringToObject(root, "key", settings.key) &&
                cJSON_AddStringToObject(root, "station_id", settings.station_id) &&
                cJSON_AddStringToObject(root, "location_id", settings.location_id) &&
                cJSON_AddStringToObject(root, "name", settings.name) &&
                cJSON_AddStringToObject(root, "spool", settings.spool) &&
                cJSON_AddStringToObject(root, "pdftoppm", settings.pdftoppm);
    char *text;

    if (settings.ca_file[0])
        good = good && cJSON_AddStringToObject(root, "ca_file", settings.ca_file);
    list = cJSON_AddObjectToObject(root, "printers");
    for (size_t i = 0; i < settings.n_printers; i++)
        good = good && station_config_add_printer(list, &settings.printers[i]);
    text = good && list ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}

bool settings_write(const char *file)
{
    char temporary[PATH_TEXT + 8], *text = settings_text();
    bool good;
    int fd;

    snprintf(temporary, sizeof(temporary), "%s.new", file);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    good = text && fd >= 0 && dprintf(fd, "%s\n", text) == (int)strlen(text) + 1 && fsync(fd) == 0;
    cJSON_free(text);
    if (fd < 0)
        return station_config_complain(temporary, "can't be written");
    if (close(fd) != 0 || !good || rename(temporary, file) != 0)
        return station_config_complain(file, "can't be written");
    return true;
}
