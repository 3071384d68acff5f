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

static bool complain(const char *file, const char *what)
{
    fprintf(stderr, "wharf-station: %s: %s\n", file, what);
    return false;
}

static bool read_file(const char *file, struct buf *out)
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

static void copy(
    char *to, size_t size, const struct wharf_json *object, const char *key, const char *fallback)
{
    wharf_str s = json_text_or(object, key, fallback);

    snprintf(to, size, "%.*s", STR_ARG(s));
}

static void read_key(const struct wharf_json *root)
{
    char file[PATH_TEXT];
    struct buf text;

    copy(settings.key, sizeof(settings.key), root, "key", "");
    copy(file, sizeof(file), root, "key_file", "");
    if (!file[0])
        return;
    buf_init(&text, sizeof(settings.key));
    if (read_file(file, &text) && text.n)
        snprintf(settings.key, sizeof(settings.key), "%.*s", (int)strcspn(text.p, " \r\n"), text.p);
    buf_done(&text);
}

static void read_printers(const struct wharf_json *list)
{
    for (const struct wharf_json *m = list ? list->child : NULL;
         m && settings.n_printers < PRINTERS_MAX; m = m->next) {
        struct printer_config *p = &settings.printers[settings.n_printers++];

        snprintf(p->name, sizeof(p->name), "%.*s", STR_ARG(m->key));
        copy(p->uri, sizeof(p->uri), m, "uri", "");
        copy(p->model, sizeof(p->model), m, "model", "");
        p->sizes = json_get(m, "sizes");
        p->languages = json_get(m, "languages");
        p->assume_completed = json_bool_or(m, "assume_completed", false);
    }
}

bool settings_read(const char *file)
{
    static struct arena *memory; /* lives as long as the process: settings point into it */
    const struct wharf_json *root;
    struct json_error e;
    struct buf text;

    memory = arena_new(0);
    snprintf(settings.file, sizeof(settings.file), "%s", file);
    buf_init(&text, FILE_MAX);
    if (!read_file(file, &text))
        return complain(file, "can't be read; make it with `wharf-station pair`");
    root = json_parse(memory, arena_dup_str(memory, buf_str(&text)), &e);
    buf_done(&text);
    if (!root || root->type != JSON_OBJECT)
        return complain(file, "is no JSON object");
    copy(settings.server, sizeof(settings.server), root, "server", "");
    copy(settings.station_id, sizeof(settings.station_id), root, "station_id", "");
    copy(settings.location_id, sizeof(settings.location_id), root, "location_id", "");
    copy(settings.name, sizeof(settings.name), root, "name", "");
    copy(settings.spool, sizeof(settings.spool), root, "spool", "/var/lib/wharf-station");
    copy(settings.pdftoppm, sizeof(settings.pdftoppm), root, "pdftoppm", "/usr/bin/pdftoppm");
    copy(settings.ca_file, sizeof(settings.ca_file), root, "ca_file", "");
    read_key(root);
    read_printers(json_get(root, "printers"));
    if (!settings.server[0] || !settings.key[0])
        return complain(file, "needs server and key (or key_file)");
    return true;
}

static void write_members(struct jw *w)
{
    jw_open(w, NULL, '{');
    jw_z(w, "server", settings.server);
    jw_z(w, "key", settings.key);
    jw_z(w, "station_id", settings.station_id);
    jw_z(w, "location_id", settings.location_id);
    jw_z(w, "name", settings.name);
    jw_z(w, "spool", settings.spool);
    jw_z(w, "pdftoppm", settings.pdftoppm);
    if (settings.ca_file[0])
        jw_z(w, "ca_file", settings.ca_file);
    jw_open(w, "printers", '{');
    for (size_t i = 0; i < settings.n_printers; i++) {
        const struct printer_config *p = &settings.printers[i];

        jw_open(w, p->name, '{');
        if (p->uri[0])
            jw_z(w, "uri", p->uri);
        if (p->model[0])
            jw_z(w, "model", p->model);
        if (p->sizes)
            jw_value(w, "sizes", p->sizes);
        if (p->languages)
            jw_value(w, "languages", p->languages);
        if (p->assume_completed)
            jw_bool(w, "assume_completed", true);
        jw_close(w, '}');
    }
    jw_close(w, '}');
    jw_close(w, '}');
}

bool settings_write(const char *file)
{
    char temporary[PATH_TEXT + 8];
    struct buf out;
    struct jw w;
    ssize_t n;
    int fd;

    buf_init(&out, FILE_MAX);
    jw_init(&w, &out);
    write_members(&w);
    BUF_LIT(&out, "\n");
    snprintf(temporary, sizeof(temporary), "%s.new", file);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return complain(temporary, "can't be written");
    n = write(fd, out.p, out.n);
    if (n != (ssize_t)out.n || fsync(fd) != 0 || close(fd) != 0 || rename(temporary, file) != 0) {
        buf_done(&out);
        return complain(file, "can't be written");
    }
    buf_done(&out);
    return true;
}
