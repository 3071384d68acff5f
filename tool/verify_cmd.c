/* verify_cmd.c - `wharf verify`: what must hold of all rows and files, looked at while the server
 * serves (docs/guide/operation.md 'Verify at night').
 *
 * Leaves to others: running one check (host/host_verify.h), the checks themselves, which plugins
 * and parts declare. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/registry.h"
#include "host/host_verify.h"
#include "plugin/manifest.h"
#include "process/quarantine.h"
#include "resource/absent.h"
#include "tool/cli/cli.h"
#include "util/json.h"
#include "util/str.h"
#include "util/turns.h"

enum { SHOW = 10, SHOW_ALL = 999999, OUTPUT_MAX = 64 * 1024 * 1024 };

enum { VERIFY_FINE = 0, VERIFY_FAULTS = 1, VERIFY_NOT_RUN = 2 };

/* Which checks, and how many faults to show of each. */
struct verify_order {
    const struct engine *engine;
    const wharf_check *const *list;
    size_t n, show;
    bool json;
};

/* All checks together. */
struct outcome {
    size_t faulty, not_run;
    uint64_t faults;
};

/* ---- printing ---- */

static void print_check(const struct wharf_verify *v, const wharf_check *c)
{
    const struct verify_fault *f = v->shown.items;

    printf("%-34s %12llu %-26s ", c->name, (unsigned long long)v->looked, c->rows);
    if (v->faults)
        printf("%llu %s%s", (unsigned long long)v->faults, v->faults == 1 ? "fault" : "faults",
            v->error.n ? ", then: " : "\n");
    if (v->error.n)
        printf("could not be run: %s\n", v->error.p);
    else if (!v->faults)
        puts("ok");
    for (size_t i = 0; i < v->shown.n; i++)
        printf("    %s%s%s  %s\n", f[i].organization.p, f[i].organization.n ? "  " : "", f[i].id.p,
            f[i].wrong.p);
    if (v->faults > v->shown.n)
        printf("    and %llu more\n", (unsigned long long)(v->faults - v->shown.n));
    if (v->faults)
        printf("    What holds else: %s\n", c->summary);
    if (v->faults && c->remedy)
        printf("    What to do: %s\n", c->remedy);
    fflush(stdout); /* checks take long: who waits sees how far it is */
}

static void json_check(struct jw *w, const struct wharf_verify *v, const wharf_check *c)
{
    const struct verify_fault *f = v->shown.items;

    jw_open(w, NULL, '{');
    jw_z(w, "name", c->name);
    jw_z(w, "summary", c->summary);
    jw_z(w, "rows", c->rows);
    jw_int(w, "looked_at", (int64_t)v->looked);
    jw_int(w, "faults", (int64_t)v->faults);
    jw_z(w, "error", v->error.n ? v->error.p : NULL);
    jw_open(w, "shown", '[');
    for (size_t i = 0; i < v->shown.n; i++) {
        jw_open(w, NULL, '{');
        jw_z(w, "organization_id", f[i].organization.n ? f[i].organization.p : NULL);
        jw_str(w, "id", f[i].id);
        jw_str(w, "wrong", f[i].wrong);
        jw_close(w, '}');
    }
    jw_close(w, ']');
    jw_z(w, "remedy", v->faults ? c->remedy : NULL);
    jw_close(w, '}');
}

/* Ends the JSON and prints it. Returns false when there is too much of it. */
static bool print_json(struct jw *w, const struct outcome *o, size_t checks)
{
    jw_close(w, ']');
    jw_int(w, "count", (int64_t)checks);
    jw_int(w, "faulty", (int64_t)o->faulty);
    jw_int(w, "not_run", (int64_t)o->not_run);
    jw_int(w, "faults", (int64_t)o->faults);
    jw_close(w, '}');
    if (!w->out->failed)
        puts(w->out->p);
    else
        cli_fail("there is too much to show; say less by --show, --module or --check");
    return !w->out->failed;
}

static void print_outcome(const struct outcome *o, size_t checks)
{
    if (o->faulty)
        printf("%zu checks: %zu found %llu %s", checks, o->faulty, (unsigned long long)o->faults,
            o->faults == 1 ? "fault" : "faults");
    else if (o->not_run < checks)
        printf("%zu checks: no faults", checks);
    else
        printf("%zu checks", checks);
    if (o->not_run)
        printf(", %zu could not be run", o->not_run);
    putchar('\n');
}

/* Runs the checks one after the other and prints what each found. Returns the exit code. */
static int run_checks(const struct verify_order *order, const struct config *config, PGconn *conn)
{
    struct outcome o = {0, 0, 0};
    bool told = true;
    struct buf out;
    struct jw w;

    buf_init(&out, OUTPUT_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_open(&w, "checks", '[');
    for (size_t i = 0; i < order->n; i++) {
        struct wharf_verify v = {.config = config,
            .engine = order->engine,
            .conn = conn,
            .arena = arena_new(0),
            .show = order->show};

        verify_run(&v, order->list[i]);
        o.faulty += v.faults > 0;
        o.not_run += v.error.n > 0;
        o.faults += v.faults;
        if (order->json)
            json_check(&w, &v, order->list[i]);
        else
            print_check(&v, order->list[i]);
        arena_free(v.arena);
    }
    if (order->json)
        told = print_json(&w, &o, order->n);
    else
        print_outcome(&o, order->n);
    buf_done(&out);
    return o.faulty ? VERIFY_FAULTS : o.not_run || !told ? VERIFY_NOT_RUN : VERIFY_FINE;
}

/* ---- choosing ---- */

/* Options of the command. */
struct chosen {
    const char *module, *check;
    bool list, json;
    size_t show;
};

static bool verify_wanted(const struct chosen *c, const char *name)
{
    size_t n = c->module ? strlen(c->module) : 0;

    return (!c->module || (!strncmp(name, c->module, n) && name[n] == '.')) &&
           (!c->check || !strcmp(name, c->check));
}

/* Loads the plugins but those in quarantine. Returns NULL after a message. */
static const struct engine *verify_load(const struct config *config, struct arena *a)
{
    struct quarantined out[QUARANTINE_MAX];
    size_t n = quarantine_read(config->data, out);
    wharf_str problems;
    struct registry *r = registry_load(
        config, quarantine_names(out, n, a), REGISTRY_GUARDED, a, &problems);

    if (!r)
        cli_fail("the plugins have problems:\n%s", problems.p);
    return r ? registry_engine(r) : NULL;
}

/* Tells which plugins' checks are left out of those that were chosen. Returns how many plugins. */
static size_t verify_tell_absent(const struct engine *e, const struct chosen *c)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n_absent; i++) {
        const char *name = e->absent[i].manifest->name;

        if (c->check || (c->module && strcmp(c->module, name) != 0))
            continue;
        if (e->absent[i].quarantined)
            cli_fail("the checks of %s are left out, because it is in quarantine; `wharf plugin "
                     "release %s` ends that",
                name, name);
        else
            cli_fail("the checks of %s are left out, because it needs a plugin that is in "
                     "quarantine",
                name);
        n++;
    }
    return n;
}

static int verify_list(const struct verify_order *order)
{
    for (size_t i = 0; i < order->n; i++)
        printf("%-34s %s\n", order->list[i]->name, order->list[i]->summary);
    return VERIFY_FINE;
}

/* Puts the session of an embedded database behind those that clients wait for, where that is
 * allowed; another database is not of this machine. */
static void verify_step_back(const struct config *config, PGconn *conn)
{
    int session = -1;

    if (strcmp(config->database, "embedded") != 0)
        return;
    turns_step_back(PQbackendPID(conn), STEP_BACK_NICE, &session);
    if (!turns_session_nice(&session, STEP_BACK_NICE))
        close(session);
}

static int verify_cmd_run(const struct chosen *c, const struct config *config, struct arena *a)
{
    const struct engine *e = verify_load(config, a);
    const wharf_check **chosen = e ? ARENA_ARRAY(a, const wharf_check *, e->n_checks + 1) : NULL;
    struct verify_order order = {e, chosen, 0, c->show, c->json};
    struct cli_db db;
    size_t n_absent;
    int code;

    if (!e)
        return VERIFY_NOT_RUN;
    n_absent = verify_tell_absent(e, c);
    for (size_t i = 0; i < e->n_checks; i++) {
        if (verify_wanted(c, e->checks[i].name))
            chosen[order.n++] = &e->checks[i];
    }
    if (!order.n) {
        cli_fail("there is no such check; `wharf verify --list` names them");
        return VERIFY_NOT_RUN;
    }
    if (c->list)
        return verify_list(&order);
    if (!cli_db_open(&db, config, a))
        return VERIFY_NOT_RUN;
    verify_step_back(config, db.conn);
    code = run_checks(&order, config, db.conn);
    cli_db_close(&db);
    return code == VERIFY_FINE && n_absent ? VERIFY_NOT_RUN : code;
}

int verify_area(struct cli *c, const char *area)
{
    const struct chosen chosen = {.module = area, .show = SHOW_ALL};
    struct config *config = cli_config(c);

    return config ? verify_cmd_run(&chosen, config, c->a) : VERIFY_NOT_RUN;
}

int command_verify(int argc, char **argv)
{
    struct chosen chosen = {.show = SHOW};
    const char *show = NULL;
    const struct cli_option opts[] = {{"--module", &chosen.module, NULL},
        {"--check", &chosen.check, NULL}, {"--show", &show, NULL}, {"--list", NULL, &chosen.list},
        {"--json", NULL, &chosen.json}};
    struct config *config;
    struct cli c;

    if (!cli_parse(&c, argc, argv, opts, sizeof(opts) / sizeof(opts[0])))
        return EXIT_USAGE;
    if (c.n_words ||
        (show && (!*show || strspn(show, "0123456789") != strlen(show) || strlen(show) > 6))) {
        cli_fail("wharf verify [--module NAME] [--check NAME] [--show N] [--json], N up to 999999, "
                 "or wharf verify --list");
        return EXIT_USAGE;
    }
    if (show)
        chosen.show = strtoul(show, NULL, 10);
    config = cli_config(&c);
    return config ? verify_cmd_run(&chosen, config, c.a) : VERIFY_NOT_RUN;
}
