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

enum { BODY_MAX = 64 << 10, SECRET_MAX = 8192, PAGE = 100, RUNS_SHOWN = 20 };

/* ---- bodies ---- */

static wharf_str flow_closed(struct arena *a, struct jw *w, struct buf *out)
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
static const char *flow_cell(const struct wharf_json *row, const char *name)
{
    wharf_str s = json_text_or(row, name, "");

    return s.n ? s.p : "-";
}

static bool flow_is_number(const char *text)
{
    return text[0] >= '1' && text[0] <= '9' && strlen(text) < 10 &&
           strspn(text, "0123456789") == strlen(text);
}

/* ---- runs ---- */

/* Prints a run in a line; named: with the name of its workflow. */
static void print_run(const struct wharf_json *r, bool named)
{
    const struct wharf_json *ms = json_get(r, "duration_ms"),
                            *next = json_get(r, "next_attempt_at");

    printf("%s  %-9s  %-8s  %s  attempt %lld", json_text_or(r, "id", "").p, flow_cell(r, "status"),
        flow_cell(json_get(r, "trigger"), "type"), flow_cell(r, "created_at"),
        (long long)json_int_or(r, "attempt", 1));
    if (json_is(ms, JSON_NUMBER))
        printf("  %s ms", ms->text.p);
    if (json_is(next, JSON_STRING))
        printf("  next %s", next->text.p);
    if (named)
        printf("  %s", flow_cell(json_get(r, "actor"), "name"));
    putchar('\n');
}

int lua_runs_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    long limit = o->limit ? strtol(o->limit, NULL, 10) : RUNS_SHOWN;
    const char *id = NULL, *and = o->status ? "&status=" : "";
    const struct wharf_json *list;

    if (o->all && c->n_words > 1)
        return lua_usage("wharf lua runs [ID|DIR], or wharf lua runs --all");
    if (o->all ? !server_find(s) : !(id = flow_named(c, s, 1)))
        return LUA_USAGE;
    if ((o->limit && !flow_is_number(o->limit)) || limit > PAGE)
        return lua_usage("--limit is a number from 1 to %d", PAGE);
    list = server_ask(c->a, s, "GET",
        arena_printf(c->a, "/v1/workflows/%s%sruns?limit=%ld%s%s", id ? id : "", id ? "/" : "",
            limit, and, o->status ? o->status : "")
            .p,
        str_z(""));
    for (const struct wharf_json *r = list ? list->child : NULL; r; r = r->next)
        print_run(r, o->all);
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
        printf("%s %-5s ", flow_cell(l, "at"), flow_cell(l, "level"));
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
    print_run(run, false);
    attempts = json_get(run, "attempts");
    for (const struct wharf_json *t = json_is(attempts, JSON_ARRAY) ? attempts->child : NULL; t;
         t = t->next) {
        if (!json_is(json_get(t, "error"), JSON_OBJECT)) /* the last one, which succeeded */
            continue;
        printf("attempt of %s: ", flow_cell(t, "started_at"));
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

/* Counts the elements of an answer's array; what is refused is told. */
static size_t flow_told(const struct wharf_json *list, bool refused)
{
    for (const struct wharf_json *r = list ? list->child : NULL; r; r = r->next) {
        if (refused)
            cli_fail("%s: %s", json_text_or(r, "run_id", "").p, json_text_or(r, "code", "").p);
        else
            printf(
                "%s: again as %s\n", json_text_or(r, "run_id", "").p, json_text_or(r, "id", "").p);
    }
    return list ? list->count : 0;
}

/* Asks for all failed runs once more, of one workflow or (id NULL) of all that the key sees. What
 * was done again before is not among them. */
static int all_again(struct cli *c, const struct lua_server *s, const char *id)
{
    size_t good = 0, refused = 0;
    wharf_str next = {"", 0};

    do {
        const struct wharf_json *said;
        struct buf out;
        struct jw w;

        opened(&w, &out);
        if (id)
            jw_z(&w, "workflow_id", id);
        if (next.n)
            jw_str(&w, "after", next);
        said = server_ask(c->a, s, "POST", "/v1/workflows/runs/retry", flow_closed(c->a, &w, &out));
        if (!said)
            return LUA_FAILED;
        good += flow_told(json_get(said, "retried"), false);
        refused += flow_told(json_get(said, "refused"), true);
        next = json_text_or(said, "next", "");
    } while (next.n);
    printf("%zu of %zu failed runs are queued again\n", good, good + refused);
    return refused ? LUA_FAILED : LUA_FINE;
}

int lua_retry_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    bool good = true, runs = c->n_words > 1 && !strncmp(c->words[1], "wkf_run_", 8);
    const char *id;

    if (o->all && !o->failed && c->n_words == 1)
        return server_find(s) ? all_again(c, s, NULL) : LUA_USAGE;
    if (o->failed && !o->all && !runs) {
        id = flow_named(c, s, 1);
        return id ? all_again(c, s, id) : LUA_USAGE;
    }
    if (!runs || o->failed || o->all)
        return lua_usage(
            "wharf lua retry RUN…, wharf lua retry [ID|DIR] --failed, or wharf lua retry --all");
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
            flow_cell(v, "published_at"), flow_cell(v, "published_by"), flow_cell(v, "note"));
    return list ? LUA_FINE : LUA_FAILED;
}

int lua_roll_back_command(struct cli *c, struct lua_server *s, const char *note)
{
    const struct wharf_json *row;
    const char *id;
    struct buf out;
    struct jw w;

    if (c->n_words < 2 || !flow_is_number(c->words[1]))
        return lua_usage("wharf lua roll-back VERSION [ID|DIR] [--note TEXT]");
    id = flow_named(c, s, 2);
    if (!id)
        return LUA_USAGE;
    opened(&w, &out);
    jw_int(&w, "version", strtol(c->words[1], NULL, 10));
    if (note)
        jw_z(&w, "note", note);
    row = server_ask(c->a, s, "POST", arena_printf(c->a, "/v1/workflows/%s/publish", id).p,
        flow_closed(c->a, &w, &out));
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
    return server_ask(c->a, s, "POST", path, flow_closed(c->a, &w, &out)) ? LUA_FINE : LUA_FAILED;
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

/* ---- how the folder, or another version, differs ---- */

/* One of the two sides of a comparison. */
struct side {
    const char *name; /* before the paths of its files: "folder", "version 3" */
    struct lua_texts texts;
};

/* Shows how a file differs, as diff -u does. Returns 0: not at all, 1: it does, 2: not known. */
static int flow_differ(
    struct arena *a, const struct side sides[2], const char *name, wharf_str theirs, wharf_str ours)
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
        execlp("diff", "diff", "-u", "--label", arena_printf(a, "%s/%s", sides[0].name, name).p,
            "--label", arena_printf(a, "%s/%s", sides[1].name, name).p, paths[0], paths[1],
            (char *)NULL);
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

/* Compares each file that is on either side once. Returns a code of the command. */
static int flow_compare(struct arena *a, const struct side sides[2])
{
    int worst = 0;

    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < sides[side].texts.n; i++) {
            const char *path = sides[side].texts.items[i].path;
            wharf_str before = text_in(&sides[0].texts, path),
                      after = text_in(&sides[1].texts, path);
            int code = 0;

            if (!str_eq(before, after) && !(side && before.n))
                code = flow_differ(a, sides, path, before, after);
            worst = code > worst ? code : worst;
        }
    }
    if (worst < 2)
        return worst ? LUA_FAILED : LUA_FINE;
    cli_fail("diff (diffutils) is needed to show how files differ");
    return LUA_BROKEN;
}

/* Reads the code of a version, or of the draft when version is NULL or "draft". Returns false after
 * a message. */
static bool read_side(struct arena *a, const struct lua_server *s, const char *id,
    const char *version, struct side *ret)
{
    bool draft = !version || !strcmp(version, "draft");
    const struct wharf_json *row = server_ask(a, s, "GET",
        arena_printf(a, "/v1/workflows/%s%s%s", id, draft ? "" : "/versions/", draft ? "" : version)
            .p,
        str_z(""));

    ret->name = draft ? "draft" : arena_printf(a, "version %s", version).p;
    return row && flow_texts(a, row, &ret->texts);
}

static bool is_version(const char *text)
{
    return !text || flow_is_number(text) || !strcmp(text, "draft");
}

int lua_diff_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o)
{
    struct side sides[2] = {{.name = "draft"}, {.name = "folder"}};
    struct lua_folder f;
    const char *id;

    if (!is_version(o->version) || !is_version(o->other) || (o->other && !o->version))
        return lua_usage("wharf lua diff [DIR] [--version N|draft], or wharf lua diff [ID|DIR] "
                         "--version N|draft --against N|draft");
    if (o->other) {
        id = flow_named(c, s, 1);
        if (!id)
            return LUA_USAGE;
        return read_side(c->a, s, id, o->version, &sides[0]) &&
                       read_side(c->a, s, id, o->other, &sides[1])
                   ? flow_compare(c->a, sides)
                   : LUA_FAILED;
    }
    if (!server_find(s) || !flow_folder(c, c->n_words > 1 ? c->words[1] : ".", s, &f))
        return LUA_USAGE;
    id = json_text_or(f.workflow, "id", "").p;
    if (!*id)
        return lua_usage(
            "%s/workflow.json has no id yet: wharf lua push makes the workflow", f.dir);
    if (!read_side(c->a, s, id, o->version, &sides[0]))
        return LUA_FAILED;
    sides[0].name = "server";
    flow_texts_of_folder(c->a, &f, &sides[1].texts);
    return flow_compare(c->a, sides);
}
