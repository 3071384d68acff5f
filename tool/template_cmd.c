/* template_cmd.c - `wharf template render`: a definition and its data become a label or a paper,
 * for people who write definitions (docs/guide/templates.md 'At your desk'). No server and no
 * database: the module templates is loaded here, judges the files as its routes do, and has them
 * drawn by the same cell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "host/registry.h"
#include "net/client.h"
#include "resource/engine.h"
#include "tool/cli/cli.h"
#include "util/file.h"
#include "util/str.h"
#include "wharf/ext/templates.h"
#include "wharf/service/draw.h"

enum { FILE_MAX = 64 << 20, PAGE_MAX = 500, SETTLE_MS = 30 };

static const char usage[] = "wharf template render FILE [--data DATA] [--out FILE] [--format "
                            "pdf|png|zpl] [--page N] [--watch]";
static const char *const formats[] = {"pdf", "png", "zpl"};

struct desk {
    struct cli c;
    const char *file, *data, *out;
    uint32_t format, page;
    struct engine *engine;
    struct thread_ctx thread;
    const struct plugin *plugin;
    const wharf_templates_render_api *templates;
};

/* ---- what is asked for ---- */

/* Finds a format by the word, or by how the file's name ends. Returns 0 when it is none. */
static uint32_t template_format_of(const char *word)
{
    const char *point = strrchr(word, '.');

    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(point ? point + 1 : word, formats[i]) == 0)
            return WHARF_DRAW_PDF + i;
    }
    return 0;
}

/* Returns the name of the definition, with the ending of the format. */
static const char *out_beside(struct desk *d)
{
    const char *point = strrchr(d->file, '.'), *slash = strrchr(d->file, '/');
    int n = (int)(point && (!slash || point > slash + 1) ? (size_t)(point - d->file)
                                                         : strlen(d->file));

    return arena_printf(d->c.a, "%.*s.%s", n, d->file, formats[d->format - WHARF_DRAW_PDF]).p;
}

static bool template_read_options(struct desk *d, const char *format, const char *page)
{
    char *end = NULL;
    unsigned long n = page ? strtoul(page, &end, 10) : 1;

    d->format = format   ? template_format_of(format)
                : d->out ? template_format_of(d->out)
                         : WHARF_DRAW_PDF;
    if (d->c.n_words != 2 || strcmp(d->c.words[0], "render") != 0 || !d->format || n < 1 ||
        n > PAGE_MAX || (end && *end) || (format && strchr(format, '.'))) {
        cli_fail("%s", usage);
        return false;
    }
    d->page = (uint32_t)n;
    d->file = d->c.words[1];
    if (!d->out)
        d->out = out_beside(d);
    if (strcmp(d->out, d->file) != 0 && (!d->data || strcmp(d->out, d->data) != 0))
        return true;
    cli_fail("%s would be overwritten by its own drawing; name another file with --out", d->out);
    return false;
}

/* ---- the module ---- */

static struct wharf_req template_begin(struct desk *d)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (struct wharf_req){.arena = arena_new(0),
        .engine = d->engine,
        .thread = &d->thread,
        .plugin = d->plugin,
        .now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
}

/* Prints each problem of the request as a line about a file. */
static void template_tell_problems(const char *about, const struct wharf_req *req)
{
    for (size_t i = 0; i < req->problems.n; i++)
        cli_fail("%s: %.*s", about, STR_ARG(req->problems.list[i].text));
}

/* Starts the module templates, and no other one. */
static bool start_module(struct desk *d)
{
    struct wharf_req req;
    bool good;

    for (size_t i = 0; i < d->engine->n_plugins; i++) {
        if (strcmp(d->engine->plugins[i].name, "templates") == 0)
            d->plugin = &d->engine->plugins[i];
    }
    for (size_t i = 0; i < d->engine->n_services; i++) {
        if (strcmp(d->engine->services[i].name, "templates.render") == 0)
            d->templates = d->engine->services[i].table;
    }
    if (!d->plugin || !d->templates || !WHARF_HAS(wharf_templates_render_api, d->templates, draft))
        return cli_fail("the module templates is not among the modules of these settings") ==
               EXIT_FINE;
    req = template_begin(d);
    good = d->plugin->desc->start(d->plugin->handle, &req) == WHARF_OK;
    if (!good)
        template_tell_problems("the module templates", &req);
    arena_free(req.arena);
    return good;
}

static bool open_desk(struct desk *d)
{
    struct config *config;
    struct registry *r;
    wharf_str why;

    if (!d->c.config_given && !cli_is_set(&d->c, "modules"))
        cli_set(&d->c, "modules", "org,locations,templates"); /* it needs no others */
    config = cli_config(&d->c);
    if (!config)
        return false;
    r = registry_load(config, "", REGISTRY_PLAIN, d->c.a, &why);
    if (!r)
        return cli_fail("the plugins have problems:\n%s", why.p) == EXIT_FINE;
    d->engine = registry_engine(r);
    d->engine->net = net_start(config, d->c.a, &why);
    if (!d->engine->net)
        return cli_fail("%s", why.p) == EXIT_FINE;
    return start_module(d);
}

/* ---- one drawing ---- */

static unsigned line_at(wharf_str text, size_t offset)
{
    unsigned line = 1;

    for (size_t i = 0; i < offset && i < text.n; i++)
        line += text.p[i] == '\n';
    return line;
}

/* Reads a file of JSON. Returns NULL after a message. */
static const struct wharf_json *read_json(struct arena *a, const char *path)
{
    wharf_str text;
    const struct wharf_json *v;
    struct json_error bad;

    errno = 0;
    text = file_read(path, FILE_MAX, a);
    if (!text.p) {
        cli_fail("%s can't be read: %s", path, errno ? strerror(errno) : "it is too large");
        return NULL;
    }
    v = json_parse(a, text, &bad);
    if (!v)
        cli_fail("%s:%u: it is no JSON: %s", path, line_at(text, bad.offset), bad.message);
    return v;
}

/* Prints what the report has in a list. Returns how many there were. */
static unsigned tell_notes(const struct desk *d, const struct wharf_json *list, const char *kind)
{
    unsigned n = 0;

    if (!json_is(list, JSON_ARRAY))
        return 0;
    for (const struct wharf_json *e = list->child; e; e = e->next, n++)
        fprintf(stderr, "wharf: %s: %s%s: %s\n", d->file, kind, json_text_or(e, "path", "").p,
            json_text_or(e, "message", "").p);
    return n;
}

/* Writes the drawing and tells of it. Returns the exit code. */
static int template_keep(struct desk *d, struct arena *a, const wharf_templates_drawn *drawn)
{
    long long pages = json_int_or(drawn->report, "pages", 0);
    wharf_str why;
    unsigned failed;

    tell_notes(d, json_get(drawn->report, "warnings"), "warning: ");
    failed = tell_notes(d, json_get(drawn->report, "element_errors"), "");
    if (!file_replace(d->out, drawn->bytes, 0644, a, &why))
        return cli_fail("%s can't be written: %s", d->out, why.p);
    printf("%s: %lld page%s, %zu bytes\n", d->out, pages, pages == 1 ? "" : "s", drawn->bytes.n);
    fflush(stdout);
    return failed ? EXIT_FAILED : EXIT_FINE;
}

static int template_cmd_draw(struct desk *d)
{
    struct wharf_req req = template_begin(d);
    wharf_templates_draft draft = {
        .head = WHARF_HEAD(wharf_templates_draft), .format = d->format, .page = d->page};
    wharf_templates_drawn drawn = {.head = WHARF_HEAD(wharf_templates_drawn)};
    int code = EXIT_FAILED;

    draft.definition = read_json(req.arena, d->file);
    draft.data = d->data ? read_json(req.arena, d->data) : NULL;
    if (draft.data && !json_is(draft.data, JSON_OBJECT) && !json_is(draft.data, JSON_ARRAY)) {
        cli_fail("%s: data is an object, or an array of objects, one for each copy", d->data);
    } else if (draft.definition && (draft.data || !d->data)) {
        if (d->templates->draft(&req, &draft, &drawn) == WHARF_OK)
            code = template_keep(d, req.arena, &drawn);
        else
            template_tell_problems(d->file, &req);
    }
    arena_free(req.arena);
    return code;
}

/* ---- again and again ---- */

/* Begins to hear of changes in the folder of a file: editors put a new file in the place of the
 * old one. */
static bool template_watch(struct desk *d, int fd, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *folder = slash ? arena_dup(d->c.a, file, (size_t)(slash - file) + 1).p : ".";

    return inotify_add_watch(fd, folder, IN_CLOSE_WRITE | IN_MOVED_TO) >= 0;
}

static bool template_is_named(const struct inotify_event *e, const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;

    return file && e->len && strcmp(e->name, slash ? slash + 1 : file) == 0;
}

/* Waits until one of the files was written. Returns false when nothing more can be heard. */
static bool wait_change(struct desk *d, int fd)
{
    const struct timespec settle = {.tv_nsec = SETTLE_MS * 1000000L};
    _Alignas(struct inotify_event) char events[16384];
    bool changed = false;
    ssize_t n;

    while (!changed) {
        n = read(fd, events, sizeof(events));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        for (char *at = events; at < events + n;) {
            const struct inotify_event *e = (const struct inotify_event *)at;

            changed = changed || (e->mask & IN_Q_OVERFLOW) || template_is_named(e, d->file) ||
                      template_is_named(e, d->data);
            at += sizeof(*e) + e->len;
        }
    }
    nanosleep(&settle, NULL); /* both files may be written by one command */
    return true;
}

static int draw_again(struct desk *d)
{
    int fd = inotify_init1(IN_CLOEXEC);

    if (fd < 0 || !template_watch(d, fd, d->file) || (d->data && !template_watch(d, fd, d->data)))
        return cli_fail("the files can't be watched: %s", strerror(errno));
    do
        template_cmd_draw(d);
    while (wait_change(d, fd));
    close(fd);
    return cli_fail("the files can't be watched any more: %s", strerror(errno));
}

int command_template(int argc, char **argv)
{
    struct desk d = {.format = 0};
    const char *format = NULL, *page = NULL;
    bool again = false;
    const struct cli_option opts[] = {{"--data", &d.data, NULL}, {"--out", &d.out, NULL},
        {"--format", &format, NULL}, {"--page", &page, NULL}, {"--watch", NULL, &again}};
    int code;

    if (!cli_parse(&d.c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])) ||
        !template_read_options(&d, format, page))
        return EXIT_USAGE;
    if (!open_desk(&d))
        return EXIT_FAILED;
    code = again ? draw_again(&d) : template_cmd_draw(&d);
    net_stop(d.engine->net);
    return code;
}
