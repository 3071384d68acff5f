/* report.c - results of tests as TAP, JUnit and JSON. Nothing of when or how fast: the same
 * tests give the same bytes. */
#include <stdio.h>

#include "tool/lua/author.h"
#include "util/str.h"

enum { RUNS_MAX = 1 << 20 };

static const struct wharf_json *first_case(const struct lua_report *r)
{
    const struct wharf_json *cases = json_get(r->result, "cases");

    return json_is(cases, JSON_ARRAY) ? cases->child : NULL;
}

static bool status_is(const struct wharf_json *c, const char *status)
{
    return str_eqz(json_text_or(c, "status", ""), status);
}

static size_t cases_with(const struct lua_report *r, const char *status)
{
    size_t n = 0;

    for (const struct wharf_json *c = first_case(r); c; c = c->next)
        n += !status || status_is(c, status);
    return n;
}

/* Tells why the file as a whole failed; NULL: it did not. */
static wharf_str report_problem_of(const struct lua_report *r, struct arena *a)
{
    const struct wharf_json *e = json_get(r->result, "error");
    wharf_str message = json_text_or(e, "message", ""), file = json_text_or(e, "file", "");

    if (!r->result)
        return str_z(r->problem);
    if (!e)
        return (wharf_str){NULL, 0};
    return file.n ? arena_printf(
                        a, "%s:%lld: %s", file.p, (long long)json_int_or(e, "line", 0), message.p)
                  : message;
}

int report_code(const struct lua_report *list, size_t n)
{
    int code = LUA_FINE;

    for (size_t i = 0; i < n; i++) {
        if (!list[i].result || json_get(list[i].result, "error"))
            return LUA_BROKEN;
        if (cases_with(&list[i], "failed"))
            code = LUA_FAILED;
    }
    return code;
}

/* ---- TAP ---- */

/* Writes one line, with what TAP reads taken away. */
static void add_tap(struct buf *out, wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '#' || s.p[i] == '\\')
            buf_addc(out, '\\');
        buf_addc(out, (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i]);
    }
}

/* Writes lines of a YAML block, each behind its indent. */
static void report_add_block(struct buf *out, const char *name, wharf_str text)
{
    buf_addf(out, "  %s: |\n    ", name);
    for (size_t i = 0; i < text.n; i++) {
        buf_addc(out, text.p[i]);
        if (text.p[i] == '\n')
            buf_addz(out, "    ");
    }
    buf_addc(out, '\n');
}

/* Writes what the runs of a failed case did, a line for each error and for each line that they
 * said. */
static void report_add_runs(struct buf *out, const struct wharf_json *runs)
{
    for (const struct wharf_json *r = json_is(runs, JSON_ARRAY) ? runs->child : NULL; r;
         r = r->next) {
        const struct wharf_json *e = json_get(r, "error"), *lines = json_get(r, "logs");
        wharf_str file = json_text_or(e, "file", "");

        buf_addf(out, "%s %s", json_text_or(r, "handler", "").p, json_text_or(r, "status", "").p);
        if (e && file.n)
            buf_addf(out, ": %s:%lld", file.p, (long long)json_int_or(e, "line", 0));
        if (e)
            buf_addf(out, ": %s", json_text_or(e, "message", "").p);
        buf_addc(out, '\n');
        for (const struct wharf_json *l = json_is(lines, JSON_ARRAY) ? lines->child : NULL; l;
             l = l->next) {
            struct jw w;

            buf_addf(out, "  %s %s:%lld: %s", json_text_or(l, "level", "").p,
                json_text_or(l, "file", "").p, (long long)json_int_or(l, "line", 0),
                json_text_or(l, "message", "").p);
            if (json_is(json_get(l, "fields"), JSON_OBJECT)) {
                buf_addc(out, ' ');
                jw_init(&w, out);
                jw_value(&w, NULL, json_get(l, "fields"));
            }
            buf_addc(out, '\n');
        }
    }
}

static void tap_error(struct buf *out, const struct wharf_json *e, const struct wharf_json *runs)
{
    struct buf text;

    wharf_str file = json_text_or(e, "file", ""), code = json_text_or(e, "code", "");

    buf_addz(out, "  ---\n");
    report_add_block(out, "message", json_text_or(e, "message", ""));
    if (code.n)
        buf_addf(out, "  code: %s\n", code.p);
    if (file.n)
        buf_addf(out, "  at: %s:%lld\n", file.p, (long long)json_int_or(e, "line", 0));
    buf_init(&text, RUNS_MAX);
    report_add_runs(&text, runs);
    if (text.n)
        report_add_block(out, "runs", (wharf_str){text.p, text.n - 1});
    buf_done(&text);
    buf_addz(out, "  ...\n");
}

static void tap(const struct lua_report *list, size_t n, struct arena *a, struct buf *out)
{
    size_t total = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        total += report_problem_of(&list[i], a).p ? 1 : cases_with(&list[i], NULL);
    buf_addf(out, "TAP version 14\n1..%zu\n", total);
    for (size_t i = 0; i < n; i++) {
        wharf_str problem = report_problem_of(&list[i], a);

        if (problem.p) {
            buf_addf(out, "not ok %zu - %s %s\n  ---\n", ++at, list[i].path,
                list[i].result ? "can't be loaded" : "did not come to its end");
            report_add_block(out, "message", problem);
            buf_addz(out, "  ...\n");
            continue;
        }
        for (const struct wharf_json *c = first_case(&list[i]); c; c = c->next) {
            buf_addf(
                out, "%s %zu - %s: ", status_is(c, "failed") ? "not ok" : "ok", ++at, list[i].path);
            add_tap(out, json_text_or(c, "name", ""));
            buf_addz(out, status_is(c, "skipped") ? " # SKIP\n" : "\n");
            if (status_is(c, "failed"))
                tap_error(out, json_get(c, "error"), json_get(c, "runs"));
        }
    }
}

/* ---- JUnit ---- */

static void add_xml(struct buf *out, wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '<':
            buf_addz(out, "&lt;");
            break;
        case '>':
            buf_addz(out, "&gt;");
            break;
        case '&':
            buf_addz(out, "&amp;");
            break;
        case '"':
            buf_addz(out, "&quot;");
            break;
        default:
            if ((unsigned char)s.p[i] >= ' ')
                buf_addc(out, s.p[i]);
            else
                buf_addz(out, s.p[i] == '\n' ? "&#10;" : s.p[i] == '\t' ? "&#9;" : "?");
        }
    }
}

static void junit_case(struct buf *out, const struct lua_report *r, const struct wharf_json *c)
{
    const struct wharf_json *e = json_get(c, "error");
    wharf_str file = json_text_or(e, "file", "");

    buf_addz(out, "    <testcase classname=\"");
    add_xml(out, str_z(r->path));
    buf_addz(out, "\" name=\"");
    add_xml(out, json_text_or(c, "name", ""));
    buf_addz(out, "\">");
    if (status_is(c, "skipped"))
        buf_addz(out, "<skipped/>");
    if (e) {
        buf_addz(out, "<failure message=\"");
        add_xml(out, json_text_or(e, "message", ""));
        buf_addz(out, "\">");
        if (file.n)
            buf_addf(out, "%s:%lld: ", file.p, (long long)json_int_or(e, "line", 0));
        add_xml(out, json_text_or(e, "message", ""));
        buf_addz(out, "</failure>");
    }
    if (e && json_get(c, "runs")) {
        struct buf text;

        buf_init(&text, RUNS_MAX);
        report_add_runs(&text, json_get(c, "runs"));
        buf_addz(out, "<system-out>");
        add_xml(out, buf_str(&text));
        buf_addz(out, "</system-out>");
        buf_done(&text);
    }
    buf_addz(out, "</testcase>\n");
}

static void junit(const struct lua_report *list, size_t n, struct arena *a, struct buf *out)
{
    buf_addz(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (size_t i = 0; i < n; i++) {
        wharf_str problem = report_problem_of(&list[i], a);

        buf_addz(out, "  <testsuite name=\"");
        add_xml(out, str_z(list[i].path));
        buf_addf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\">\n",
            problem.p ? 1 : cases_with(&list[i], NULL), cases_with(&list[i], "failed"),
            problem.p != NULL, cases_with(&list[i], "skipped"));
        if (problem.p) {
            buf_addz(out, "    <testcase classname=\"");
            add_xml(out, str_z(list[i].path));
            buf_addz(out, "\" name=\"(load)\"><error message=\"");
            add_xml(out, problem);
            buf_addz(out, "\"/></testcase>\n");
        }
        for (const struct wharf_json *c = problem.p ? NULL : first_case(&list[i]); c; c = c->next)
            junit_case(out, &list[i], c);
        buf_addz(out, "  </testsuite>\n");
    }
    buf_addz(out, "</testsuites>\n");
}

/* ---- JSON ---- */

static void report_json(const struct lua_report *list, size_t n, struct arena *a, struct buf *out)
{
    size_t passed = 0, failed = 0, skipped = 0;
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_open(&w, "files", '[');
    for (size_t i = 0; i < n; i++) {
        wharf_str problem = report_problem_of(&list[i], a);

        jw_open(&w, NULL, '{');
        jw_z(&w, "path", list[i].path);
        if (problem.p)
            jw_str(&w, "problem", problem);
        jw_open(&w, "cases", '[');
        for (const struct wharf_json *c = first_case(&list[i]); c; c = c->next)
            jw_value(&w, NULL, c);
        jw_close(&w, ']');
        jw_close(&w, '}');
        passed += cases_with(&list[i], "passed");
        failed += cases_with(&list[i], "failed");
        skipped += cases_with(&list[i], "skipped");
    }
    jw_close(&w, ']');
    jw_int(&w, "passed", (int64_t)passed);
    jw_int(&w, "failed", (int64_t)failed);
    jw_int(&w, "skipped", (int64_t)skipped);
    jw_close(&w, '}');
    buf_addc(out, '\n');
}

lua_report_fn *report_format(const char *name)
{
    static const struct {
        const char *name;
        lua_report_fn *fn;
    } formats[] = {{"tap", tap}, {"junit", junit}, {"json", report_json}};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!strcmp(formats[i].name, name))
            return formats[i].fn;
    }
    return NULL;
}
