/* author.h - what the commands of `wharf lua` share: folders of files, samples, the server.
 * Private to tool/lua/. Guide: docs/reference/lua-tools.md. */
#ifndef WHARF_TOOL_LUA_AUTHOR_H
#define WHARF_TOOL_LUA_AUTHOR_H

#include "tool/cli/cli.h"
#include "lua/sandbox/sandbox.h"
#include "util/json.h"

enum { LUA_FINE = 0, LUA_FAILED = 1, LUA_BROKEN = 2 /* a file can't be loaded */, LUA_USAGE = 3 };

/* ---- author_folder.c: a workflow's folder, or one of operators' hooks (without main.lua) ---- */

struct lua_file {
    const char *name; /* "main", "lib.address": what require takes */
    const char *path; /* to open it, as it is shown */
    wharf_str text;
};

struct lua_folder {
    const char *dir;
    bool hooks;
    struct lua_file *files; /* in byte order of their paths */
    size_t n;
    const struct wharf_json *workflow; /* workflow.json, or NULL; with what a target says */
    const struct wharf_json *target; /* workflow.TARGET.json, when there is a target; or NULL */
};

struct lua_folders {
    struct lua_folder *items;
    size_t n;
};

/* Reads what the path names: a folder; a folder of such folders; a file of one, then *ret_file is
 * its name ("lib.address_test"), else NULL. Returns false after a message. */
bool folders_read(
    struct arena *a, const char *path, struct lua_folders *ret, const char **ret_file);
/* Reads what the path names, when that is one folder, or a file of one. Returns false after a
 * message. */
bool folder_one(struct arena *a, const char *path, struct lua_folder *ret);
/* Returns the files of a folder: f->n of them, in its order. */
struct sandbox_file *folder_files(struct arena *a, const struct lua_folder *f);
/* Returns what is sent of a folder: the members of its workflow.json, and the code; with the
 * revision that it was pulled with. Members that the server shows as they are stay out: what is
 * shown has defaults that are not stored. shown may be NULL. */
wharf_str folder_body(struct arena *a, const struct lua_folder *f, bool with_revision,
    const struct wharf_json *shown);
/* Returns the path of an error's file ("lib.address.lua"), or the text itself. */
const char *folder_path(struct arena *a, const struct lua_folder *f, const char *file);

/* Where something stands in a text, counted from 1, columns in bytes. */
struct text_place {
    long line, column;
};
/* Finds the place of a byte of the text. */
struct text_place text_place(const char *text, const char *at);
/* Reads a file of JSON with at most `most` bytes, and its text when ret_text is not NULL. Returns
 * NULL after a message, with the place of what is no JSON. */
const struct wharf_json *json_of_file(
    struct arena *a, const char *path, size_t most, wharf_str *ret_text);
/* Reads a JSON object, such as workflow.json; *ret NULL: there is no such file. Returns false after
 * a message. */
bool object_if_any(struct arena *a, const char *path, const struct wharf_json **ret);

/* ---- cover.c: which lines ran ---- */

struct cover;
struct cover *cover_new(struct arena *a);
void cover_line(void *cover, const char *file, int line); /* fits struct testing's */
/* Writes {"main.lua": [times of line 1, …]}. */
void cover_write(const struct cover *c, struct jw *w);
/* Adds what cover_write wrote, with paths as names. */
void cover_add(struct cover *c, const struct wharf_json *lines);
/* Finds the lines of a text that have code, a byte for each: lines[1] … lines[n - 1]. Returns NULL
 * when it is no Lua. */
const char *cover_code(struct arena *a, wharf_str text, size_t *ret_n);
/* Writes lcov's format, of all files of the folders but tests. Returns false after a message. */
bool cover_report(
    const struct cover *c, const struct lua_folders *folders, const char *file, struct arena *a);

/* ---- report.c ---- */

struct lua_report {
    const char *path; /* of the test file */
    const struct wharf_json *result; /* of testing_run; NULL: it did not end, and */
    const char *problem; /* says why */
};
/* Writes a report in one format. report_format() finds the writer; NULL: there is no such
 * format. */
typedef void lua_report_fn(
    const struct lua_report *list, size_t n, struct arena *a, struct buf *out);
lua_report_fn *report_format(const char *name);
/* Returns LUA_FINE, LUA_FAILED or LUA_BROKEN. */
int report_code(const struct lua_report *list, size_t n);

/* ---- author_reference.c: what there is, from reference.txt ---- */

struct lua_entry {
    wharf_str name; /* "wharf.api.get" */
    /* "wharf.api.get(path, query?)", "data, err, meta", what it does */
    wharf_str call, returns, text;
    char who; /* 'a' everybody, 'w' workflows, 'h' operators' hooks, 't' tests */
};
const char *lua_text(const char *name); /* a text that the program carries; "" none */
const struct lua_entry *reference_entries(struct arena *a, size_t *ret_n);

/* ---- the commands: words behind `wharf lua` are in c->words[1] … ---- */

int lua_check_command(struct cli *c);
/* Tells the names that operators' hooks of the folder use and that there are not ("there is no
 * wharf.nope"): loading does not find them in functions that do not run. True: there are none. */
bool lua_hooks_names(struct cli *c, const char *dir);
int lua_doc_command(struct cli *c, bool annotations);

struct lua_test_options {
    const char *filter, *seed, *format, *coverage, *jobs, *timeout;
    bool update;
};
int lua_test_command(struct cli *c, const struct lua_test_options *o);

/* ---- tracked.c: files of a folder that were pulled or pushed, and whether they are as they
 * were then ---- */

struct lua_text {
    const char *path; /* in the folder: "lib/names.lua" */
    wharf_str text;
};
struct lua_texts {
    struct lua_text *items;
    size_t n;
};
/* Counts the files that have what was not pushed and would be lost when these are written; each is
 * told. */
size_t tracked_conflicts(
    struct arena *a, const char *dir, const char *id, const struct lua_texts *list);
/* Removes the files that were pulled or pushed and are not among these. False after a message. */
bool tracked_remove(struct arena *a, const char *dir, const char *id, const struct lua_texts *list);
/* Notes these files as known from now on; puts them in order. Returns false after a message. */
bool tracked_write(struct arena *a, const char *dir, const char *id, struct lua_texts *list);

/* ---- remote.c: a server, and a workflow on it ---- */

struct lua_server {
    const char *url, *key; /* --server or WHARF_SERVER; WHARF_KEY */
    /* --target: workflow.TARGET.json of the folder says what is other there; or NULL */
    const char *target;
};
/* Finds the server and the key of the API. Returns false after a message. */
bool server_find(struct lua_server *s);
/* Asks with "Prefer: handling=strict", so that nothing that is sent is ignored. Returns the data
 * of the answer, an object or an array; NULL after telling what the server said. */
const struct wharf_json *server_ask(struct arena *a, const struct lua_server *s, const char *method,
    const char *path, wharf_str body);
/* Finds the workflow that the words from the one of this number on name: by its id, or by its
 * folder ("." when nothing is said); and the server. Returns NULL after a message. */
const char *flow_named(struct cli *c, struct lua_server *s, size_t word);
/* Reads the folder of a workflow, as it is for the server's target. Returns false after a
 * message. */
bool flow_folder(
    struct cli *c, const char *dir, const struct lua_server *s, struct lua_folder *ret);
/* Takes the code of a draft or version, by the paths of its files. Returns false after a
 * message. */
bool flow_texts(struct arena *a, const struct wharf_json *row, struct lua_texts *ret);
void flow_texts_of_folder(struct arena *a, const struct lua_folder *f, struct lua_texts *ret);

struct lua_flow_options {
    const char *status, *limit; /* of runs */
    const char *version; /* diff, pull: of this one instead of the draft */
    const char *other; /* diff: of the version against this one, not against the folder */
    bool failed; /* retry: all failed ones of a workflow */
    bool all; /* runs, retry: of all workflows */
    bool erase; /* secret: remove it */
};
int lua_pull_command(
    struct cli *c, struct lua_server *s, bool force, const struct lua_flow_options *o);
int lua_push_command(struct cli *c, struct lua_server *s, bool force);
int lua_publish_command(struct cli *c, struct lua_server *s, const char *note);

/* ---- flow_cmd.c: what else is done with a workflow on a server ---- */

int lua_runs_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o);
int lua_logs_command(struct cli *c, struct lua_server *s);
int lua_retry_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o);
int lua_versions_command(struct cli *c, struct lua_server *s);
int lua_roll_back_command(struct cli *c, struct lua_server *s, const char *note);
int lua_secret_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o);
int lua_enable_command(struct cli *c, struct lua_server *s, bool enabled);
int lua_diff_command(struct cli *c, struct lua_server *s, const struct lua_flow_options *o);

/* ---- init_cmd.c: a new folder ---- */

int lua_init_command(struct cli *c, const char *template_name);
/* Returns what an editor reads of the functions there are (LuaLS). */
wharf_str lua_annotations(struct arena *a);

struct lua_run_options {
    const char *trigger, *input, *stubs;
    const char *event; /* id of an event of before, which is the input; or NULL */
    bool live;
};
int lua_run_command(struct cli *c, const struct lua_run_options *o, struct lua_server *s);

struct lua_replay_options {
    /* the code, instead of the recorded one; a file of the secrets' values; or NULL */
    const char *dir, *secrets;
};
int lua_replay_command(struct cli *c, const struct lua_replay_options *o, struct lua_server *s);

/* Returns a value as people read it: two spaces for each level, members as they come. */
wharf_str json_pretty(struct arena *a, const struct wharf_json *v);

/* Every wrong call ends so. */
#define lua_usage(...) (cli_fail(__VA_ARGS__), LUA_USAGE)
/* The samples of tests, of the modules of the settings; NULL after a message. */
struct engine;
const struct engine *lua_engine(struct cli *c);
/* Returns what the folder's workflow.json lets runs do, as testing.h wants it; NULL: there is
 * none. (author_flow.c) */
const struct wharf_json *folder_told(
    struct arena *a, const struct lua_folder *f, const struct engine *e);

#endif
