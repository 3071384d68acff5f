/* flow_cmd.c - what is done with a workflow on a server, over its public API: its runs and what
 * they said, runs once more, versions, secrets, on and off, how the folder differs. The workflow
 * is named by its id, or by its folder (remote.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/lua/author.h"
#include "util/file.h"
#include "util/str.h"

enum { BODY_MAX = 64 << 10, SECRET_MAX = 8192, PAGE = 100, RUNS_SHOWN = 20, RUNS_MOST = 1000 };

/* ---- bodies ---- */

static wharf_str closed(struct arena *a, struct jw *w, struct buf *out)
{
    wharf_str text;

    jw_close(w, '}');
    text = arena_dup_str(a, buf_str(out));
    buf_done(out);
    return text;
}

static void opened(struct jw *w, struct buf *out)
{
    buf_init(out, BODY_MAX);
    jw_init(w, out);
    jw_open(w, NULL, '{');
}

/* Returns a text of a row for a table; "-" for none. */
static const char *cell(const struct wharf_json *row, const char *name)
{
    wharf_str s = json_text_or(row, name, "");

    return s.n ? s.p : "-";
}

/* ---- runs ---- */

static void print_run(const struct wharf_json *r)
{
    const struct wharf_json *ms = json_get(r, "duration_ms"),
                            *next = json_get(r, "next_attempt_at");

    printf("%s  %-9s  %-8s  %s  attempt %lld", json_text_or(r, "id", "").p, cell(r, "status"),
        cell(json_get(r, "trigger"), "type"), cell(r, "created_at"),
        (long long)json_int_or(r, "attempt", 1));
    if (json_is(ms, JSON_NUMBER))
        printf("  %s ms", ms->text.p);
    if (json_is(next, JSON_STRING))
        printf("  next %s", next->text.p);
    putchar('\n');
}

/* Reads a page of the runs of a workflow. Returns NULL after a message. */
static const struct wharf_json *runs_of(struct arena *a, const struct lua_server *s, const char *id,
    const char *status, long limit, long page)
{
    const char *and = status ? "&status=" : "";

    return server_ask(a, s, "GET",
        arena_printf(a, "/v1/workflows/%s/runs?limit=%ld&page=%ld%s%s", id, limit, page, and,
            status ? status : "")
            .p,
        str_z(""));
}

int lua_runs_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    const char *id = flow_named(c, s, 1);
    long limit = o->limit ? strtol(o->limit, NULL, 10) : RUNS_SHOWN;
    const struct wharf_json *list;

    if (!id)
        return LUA_USAGE;
    if (limit < 1 || limit > PAGE)
        return lua_usage("--limit is a number from 1 to %d", PAGE);
    list = runs_of(c->a, s, id, o->status, limit, 1);
    for (const struct wharf_json *r = list ? list->child : NULL; r; r = r->next)
        print_run(r);
    return list ? LUA_FINE : LUA_FAILED;
}

static void print_place(const struct wharf_json *v)
{
    wharf_str file = json_text_or(v, "file", "");

    if (file.n)
        printf("%s:%lld: ", file.p, (long long)json_int_or(v, "line", 0));
}

static void print_error(const struct wharf_json *e)
{
    print_place(e);
    printf("%s (%s)\n", json_text_or(e, "message", "").p, json_text_or(e, "code", "").p);
}

static void print_lines(const struct wharf_json *lines)
{
    struct buf fields;
    struct jw w;

    for (const struct wharf_json *l = json_is(lines, JSON_ARRAY) ? lines->child : NULL; l;
         l = l->next) {
        printf("%s %-5s ", cell(l, "at"), cell(l, "level"));
        print_place(l);
        printf("%s", json_text_or(l, "message", "").p);
        if (json_is(json_get(l, "fields"), JSON_OBJECT)) {
            buf_init(&fields, BODY_MAX);
            jw_init(&w, &fields);
            jw_value(&w, NULL, json_get(l, "fields"));
            printf(" %.*s", (int)fields.n, fields.p);
            buf_done(&fields);
        }
        putchar('\n');
    }
}

int lua_logs_command(struct cli *c, struct lua_server *s)
{
    const struct wharf_json *run, *attempts;

    if (c->n_words != 2 || strncmp(c->words[1], "wkf_run_", 8) != 0)
        return lua_usage("wharf lua logs RUN: the id begins with wkf_run_");
    if (!server_find(s))
        return LUA_USAGE;
    run = server_ask(
        c->a, s, "GET", arena_printf(c->a, "/v1/workflows/runs/%s", c->words[1]).p, str_z(""));
    if (!run)
        return LUA_FAILED;
    print_run(run);
    attempts = json_get(run, "attempts");
    for (const struct wharf_json *t = json_is(attempts, JSON_ARRAY) ? attempts->child : NULL; t;
         t = t->next) {
        printf("attempt of %s: ", cell(t, "started_at"));
        print_error(json_get(t, "error"));
    }
    print_lines(json_get(run, "logs"));
    if (json_is(json_get(run, "error"), JSON_OBJECT))
        print_error(json_get(run, "error"));
    return LUA_FINE;
}

/* Asks for a run once more. Returns false after a message. */
static bool again(struct cli *c, const struct lua_server *s, const char *run)
{
    const struct wharf_json *made = server_ask(
        c->a, s, "POST", arena_printf(c->a, "/v1/workflows/runs/%s/retry", run).p, str_z("{}"));

    if (made)
        printf("%s: again as %s\n", run, json_text_or(made, "id", "").p);
    return made != NULL;
}

/* Asks for all failed runs of a workflow once more: first they are read, so that none of the new
 * ones is among them. */
static int all_again(struct cli *c, const struct lua_server *s, const char *id)
{
    const char *runs[RUNS_MOST];
    size_t n = 0, good = 0;

    for (long page = 1; n < RUNS_MOST; page++) {
        const struct wharf_json *list = runs_of(c->a, s, id, "failed", PAGE, page);

        if (!list)
            return LUA_FAILED;
        for (const struct wharf_json *r = list->child; r && n < RUNS_MOST; r = r->next)
            runs[n++] = json_text_or(r, "id", "").p;
        if (list->count < PAGE)
            break;
    }
    for (size_t i = 0; i < n; i++)
        good += again(c, s, runs[i]);
    printf("%zu of %zu failed runs are queued again\n", good, n);
    return good == n ? LUA_FINE : LUA_FAILED;
}

int lua_retry_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    bool good = true, runs = c->n_words > 1 && !strncmp(c->words[1], "wkf_run_", 8);
    const char *id;

    if (o->failed && !runs) {
        id = flow_named(c, s, 1);
        return id ? all_again(c, s, id) : LUA_USAGE;
    }
    if (!runs || o->failed)
        return lua_usage("wharf lua retry RUN…, or wharf lua retry [ID|DIR] --failed");
    if (!server_find(s))
        return LUA_USAGE;
    for (size_t i = 1; i < c->n_words; i++)
        good = again(c, s, c->words[i]) && good;
    return good ? LUA_FINE : LUA_FAILED;
}

/* ---- versions ---- */

int lua_versions_command(struct cli *c, struct lua_server *s)
{
    const char *id = flow_named(c, s, 1);
    const struct wharf_json *list;

    if (!id)
        return LUA_USAGE;
    list = server_ask(
        c->a, s, "GET", arena_printf(c->a, "/v1/workflows/%s/versions", id).p, str_z(""));
    for (const struct wharf_json *v = list ? list->child : NULL; v; v = v->next)
        printf("%lld  %s  %s  %s\n", (long long)json_int_or(v, "version", 0),
            cell(v, "published_at"), cell(v, "published_by"), cell(v, "note"));
    return list ? LUA_FINE : LUA_FAILED;
}

static bool is_number(const char *text)
{
    return text[0] >= '1' && text[0] <= '9' && strlen(text) < 10 &&
           strspn(text, "0123456789") == strlen(text);
}

int lua_roll_back_command(struct cli *c, struct lua_server *s, const char *note)
{
    const struct wharf_json *row;
    const char *id;
    struct buf out;
    struct jw w;

    if (c->n_words < 2 || !is_number(c->words[1]))
        return lua_usage("wharf lua roll-back VERSION [ID|DIR] [--note TEXT]");
    id = flow_named(c, s, 2);
    if (!id)
        return LUA_USAGE;
    opened(&w, &out);
    jw_int(&w, "version", strtol(c->words[1], NULL, 10));
    if (note)
        jw_z(&w, "note", note);
    row = server_ask(c->a, s, "POST", arena_printf(c->a, "/v1/workflows/%s/publish", id).p,
        closed(c->a, &w, &out));
    if (!row)
        return LUA_FAILED;
    printf("%s: version %lld is published, the code of version %s\n", id,
        (long long)json_int_or(row, "version", 0), c->words[1]);
    return LUA_FINE;
}

/* ---- secrets, on and off ---- */

/* Reads a value from standard input: an argument would be seen by everybody on the machine. One
 * line break at the end is not of it. Returns NULL after a message. */
static const char *value_of_input(struct arena *a)
{
    char *text = arena_alloc(a, SECRET_MAX + 2);
    size_t n = fread(text, 1, SECRET_MAX + 1, stdin);

    if (n && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    if (!n || n > SECRET_MAX || memchr(text, 0, n)) {
        cli_fail("the value comes from standard input: a text of 1 to %d bytes", SECRET_MAX);
        return NULL;
    }
    return text;
}

int lua_secret_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    const char *id, *path, *value;
    struct buf out;
    struct jw w;

    if (c->n_words < 2 || c->words[1][0] < 'A' || c->words[1][0] > 'Z')
        return lua_usage("wharf lua secret KEY [ID|DIR] < value, or … KEY --delete");
    id = flow_named(c, s, 2);
    if (!id)
        return LUA_USAGE;
    path = arena_printf(c->a, "/v1/workflows/%s/secrets", id).p;
    if (o->erase)
        return server_ask(
                   c->a, s, "DELETE", arena_printf(c->a, "%s/%s", path, c->words[1]).p, str_z(""))
                   ? LUA_FINE
                   : LUA_FAILED;
    value = value_of_input(c->a);
    if (!value)
        return LUA_USAGE;
    opened(&w, &out);
    jw_z(&w, "key", c->words[1]);
    jw_z(&w, "value", value);
    return server_ask(c->a, s, "POST", path, closed(c->a, &w, &out)) ? LUA_FINE : LUA_FAILED;
}

int lua_enable_command(struct cli *c, struct lua_server *s, bool enabled)
{
    const char *id = flow_named(c, s, 1);
    const struct wharf_json *row;

    if (!id)
        return LUA_USAGE;
    row = server_ask(c->a, s, "POST", arena_printf(c->a, "/v1/workflows/%s", id).p,
        str_z(enabled ? "{\"enabled\":true}" : "{\"enabled\":false}"));
    if (row)
        printf("%s: %s\n", id, enabled ? "enabled" : "disabled");
    return row ? LUA_FINE : LUA_FAILED;
}

/* ---- how the folder differs ---- */

/* Shows how two texts differ, as diff -u does. Returns 0: not at all, 1: they do, 2: not known. */
static int differ(struct arena *a, const char *name, wharf_str theirs, wharf_str ours)
{
    const char *texts[] = {"/tmp/wharf-theirs-XXXXXX", "/tmp/wharf-ours-XXXXXX"};
    wharf_str contents[] = {theirs, ours};
    char *paths[2] = {NULL, NULL};
    int status = 2 << 8;
    pid_t child;

    for (int i = 0; i < 2; i++) {
        int fd;

        paths[i] = (char *)arena_dupz(a, texts[i]).p;
        fd = mkstemp(paths[i]);
        if (fd < 0 || write(fd, contents[i].p, contents[i].n) != (ssize_t)contents[i].n)
            cli_fail("%s: can't be written", paths[i]);
        if (fd >= 0)
            close(fd);
    }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        execlp("diff", "diff", "-u", "--label", arena_printf(a, "server/%s", name).p, "--label",
            arena_printf(a, "folder/%s", name).p, paths[0], paths[1], (char *)NULL);
        _exit(2);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static wharf_str text_in(const struct lua_texts *list, const char *path)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!strcmp(list->items[i].path, path))
            return list->items[i].text;
    }
    return str_z("");
}

/* Compares each file that is on either side once. */
static int compare(struct arena *a, const struct lua_texts *theirs, const struct lua_texts *ours)
{
    const struct lua_texts *sides[] = {theirs, ours};
    int worst = 0;

    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < sides[side]->n; i++) {
            const char *path = sides[side]->items[i].path;
            wharf_str before = text_in(theirs, path), after = text_in(ours, path);
            int code = 0;

            if (!str_eq(before, after) && !(side && before.n))
                code = differ(a, path, before, after);
            worst = code > worst ? code : worst;
        }
    }
    return worst;
}

int lua_diff_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    struct lua_texts theirs, ours;
    const struct wharf_json *row;
    struct lua_folder f;
    const char *id;

    if (o->version && !is_number(o->version))
        return lua_usage("wharf lua diff [DIR] [--version N]");
    if (!server_find(s) || !flow_folder(c, c->n_words > 1 ? c->words[1] : ".", s, &f))
        return LUA_USAGE;
    id = json_text_or(f.workflow, "id", "").p;
    if (!*id)
        return lua_usage(
            "%s/workflow.json has no id yet: wharf lua push makes the workflow", f.dir);
    row = server_ask(c->a, s, "GET",
        o->version ? arena_printf(c->a, "/v1/workflows/%s/versions/%s", id, o->version).p
                   : arena_printf(c->a, "/v1/workflows/%s", id).p,
        str_z(""));
    if (!row || !flow_texts(c->a, row, &theirs))
        return LUA_FAILED;
    flow_texts_of_folder(c->a, &f, &ours);
    switch (compare(c->a, &theirs, &ours)) {
    case 0:
        return LUA_FINE;
    case 1:
        return LUA_FAILED;
    default:
        cli_fail("diff (diffutils) is needed to show how files differ");
        return LUA_BROKEN;
    }
}
