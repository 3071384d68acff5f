/* welcome.c - `wharf _welcome`: run once by the supervisor when all workers are ready.
 *
 * Under `wharf dev`: demonstration data (demo.c) and a greeting; in any case the file of --ready,
 * which tells programs where the server is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/cli.h"
#include "tool/demo.h"
#include "tool/devfile.h"
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
        demo_make(w.a, w.base_url, w.dev.api_key);
    good = !w.ready_file || write_ready_file(&w);
    if (dev)
        greet(&w);
    return good ? EXIT_FINE : EXIT_FAILED;
}
