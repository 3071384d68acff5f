/* remote.c - `wharf lua pull`, `push` and `publish`: a folder and the draft of a workflow on a
 * server, over its public API.
 *
 * workflow.json has the draft's fields but source and files, and what says which draft it was:
 * id and draft_revision. Names of files come from
 * a server: they are looked at before they become paths. What was pulled or pushed is noted
 * (tracked.c): pull takes away what the draft has lost, and nothing that was not pushed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/cli/http_client.h"
#include "tool/lua/author.h"
#include "util/file.h"
#include "util/str.h"

enum { TEXT_MAX = 8 << 20 };

/* Members that workflow.json keeps of a draft. The first two are not sent back as fields. */
static const char *const kept[] = {"id", "draft_revision", "name", "description", "enabled",
    "allowed_locations", "triggers", "scopes", "http_hosts", "settings", "priority", "on_error",
    "retry", "concurrency", "record", "budget"};
enum { NOT_SENT = 2, KEPT = sizeof(kept) / sizeof(kept[0]) };

bool server_find(struct lua_server *s)
{
    if (!s->url)
        s->url = getenv("WHARF_SERVER");
    if (!s->url)
        s->url = "http://127.0.0.1:8080";
    s->key = getenv("WHARF_KEY");
    if (!s->key)
        cli_fail("the key of the API is not there: put it into the environment as WHARF_KEY");
    return s->key != NULL;
}

/* ---- JSON for people ---- */

static void pretty(struct buf *out, const struct wharf_json *v, int depth)
{
    bool object = json_is(v, JSON_OBJECT);
    struct jw w;

    if ((!object && !json_is(v, JSON_ARRAY)) || !v->child) {
        jw_init(&w, out);
        jw_value(&w, NULL, v);
        return;
    }
    buf_addz(out, object ? "{\n" : "[\n");
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        for (int i = 0; i <= depth; i++)
            buf_addz(out, "  ");
        if (object) {
            json_quote(out, m->key);
            buf_addz(out, ": ");
        }
        pretty(out, m, depth + 1);
        buf_addz(out, m->next ? ",\n" : "\n");
    }
    for (int i = 0; i < depth; i++)
        buf_addz(out, "  ");
    buf_addz(out, object ? "}" : "]");
}

wharf_str json_pretty(struct arena *a, const struct wharf_json *v)
{
    struct buf out;
    wharf_str text;

    buf_init(&out, TEXT_MAX);
    pretty(&out, v, 0);
    text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return text;
}

/* ---- the server ---- */

const struct wharf_json *server_ask(struct arena *a, const struct lua_server *s, const char *method,
    const char *path, wharf_str body)
{
    struct http_reply r = http_call_strict(a, s->url, s->key, method, path, body);
    struct json_error bad;
    const struct wharf_json *answer = json_parse(a, r.body, &bad),
                            *errors = json_get(answer, "errors"), *data = json_get(answer, "data");

    if (r.status >= 200 && r.status < 300 &&
        (json_is(data, JSON_OBJECT) || json_is(data, JSON_ARRAY)))
        return data;
    if (!r.status)
        cli_fail("%s does not answer: %s", s->url, r.failure);
    else
        cli_fail("%s (%s, %d)", json_text_or(answer, "message", "the server refused it").p,
            json_text_or(answer, "code", "no code").p, r.status);
    for (const struct wharf_json *e = json_is(errors, JSON_ARRAY) ? errors->child : NULL; e;
         e = e->next)
        fprintf(stderr, "  %s\n", e->text.p);
    return NULL;
}

/* ---- files ---- */

/* Tells whether a name is good, as workflow_rules.c of the module workflows does: words of a-z, 0-9
 * and _ with dots between. */
static bool remote_good_name(wharf_str s)
{
    bool dot = true;

    for (size_t i = 0; i < s.n; i++) {
        bool letter = s.p[i] && strchr("abcdefghijklmnopqrstuvwxyz0123456789_", s.p[i]);

        if (!letter && (s.p[i] != '.' || dot))
            return false;
        dot = !letter;
    }
    return s.n && !dot;
}

static bool remote_put_file(struct arena *a, const char *path, wharf_str text)
{
    wharf_str old = file_read(path, TEXT_MAX, a), error;
    char *copy = (char *)arena_dupz(a, path).p;

    if (old.p && str_eq(old, text))
        return true;
    for (char *c = strchr(copy + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = 0;
        mkdir(copy, 0777);
        *c = '/';
    }
    if (file_replace(path, text, 0644, a, &error))
        return true;
    cli_fail("%s", error.p);
    return false;
}

/* Returns the file of a name: "lib.names" is lib/names.lua. */
static const char *remote_file_of(struct arena *a, const char *name)
{
    char *path = (char *)arena_printf(a, "%s", name).p;

    for (char *c = path; *c; c++)
        *c = *c == '.' ? '/' : *c;
    return arena_printf(a, "%s.lua", path).p;
}

static bool good_module(const struct wharf_json *file)
{
    if (remote_good_name(file->key) && json_is(file, JSON_STRING))
        return true;
    cli_fail("the server has a file with a name that is none: %s", file->key.p);
    return false;
}

static wharf_str manifest_text(
    struct arena *a, const struct wharf_json *draft, const struct wharf_json *version)
{
    struct json_error bad;
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, TEXT_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < KEPT; i++) {
        const struct wharf_json *other = i < NOT_SENT ? NULL : json_get(version, kept[i]),
                                *v = other ? other : json_get(draft, kept[i]);

        if (v)
            jw_value(&w, kept[i], v);
    }
    jw_close(&w, '}');
    text = json_pretty(a, json_parse(a, arena_dup_str(a, buf_str(&out)), &bad));
    buf_done(&out);
    return arena_printf(a, "%s\n", text.p);
}

bool flow_texts(struct arena *a, const struct wharf_json *row, struct lua_texts *ret)
{
    const struct wharf_json *files = json_get(row, "files"), *source = json_get(row, "source");
    size_t n = 2;

    if (!json_is(source, JSON_STRING)) {
        cli_fail("the key may not read the source: it needs workflow:write");
        return false;
    }
    for (const struct wharf_json *f = json_is(files, JSON_OBJECT) ? files->child : NULL; f;
         f = f->next)
        n++;
    ret->items = ARENA_ARRAY(a, struct lua_text, n);
    ret->items[0] = (struct lua_text){"main.lua", source->text};
    ret->n = 1;
    for (const struct wharf_json *f = json_is(files, JSON_OBJECT) ? files->child : NULL; f;
         f = f->next) {
        if (!good_module(f))
            return false;
        ret->items[ret->n++] = (struct lua_text){remote_file_of(a, f->key.p), f->text};
    }
    return true;
}

void flow_texts_of_folder(struct arena *a, const struct lua_folder *f, struct lua_texts *ret)
{
    *ret = (struct lua_texts){ARENA_ARRAY(a, struct lua_text, f->n + 1), 0};
    for (size_t i = 0; i < f->n; i++)
        ret->items[ret->n++] = (struct lua_text){
            remote_file_of(a, f->files[i].name), f->files[i].text};
}

/* Reads all files of a draft, with its workflow.json; or of a version, whose members take the
 * place of the draft's. Returns false after a message. */
static bool texts_of(struct arena *a, const struct wharf_json *draft,
    const struct wharf_json *version, struct lua_texts *ret)
{
    if (!flow_texts(a, version ? version : draft, ret))
        return false;
    ret->items[ret->n++] = (struct lua_text){"workflow.json", manifest_text(a, draft, version)};
    return true;
}

/* ---- which workflow, which folder ---- */

struct named {
    const char *id, *dir;
};

/* Reads the words behind the command: an id (wkf_…), a folder, or both. Returns false when there
 * are more. */
static bool remote_named_by(const struct cli *c, struct named *ret)
{
    *ret = (struct named){NULL, NULL};
    for (size_t i = 1; i < c->n_words; i++) {
        if (!strncmp(c->words[i], "wkf_", 4) && !ret->id)
            ret->id = c->words[i];
        else if (!ret->dir)
            ret->dir = c->words[i];
        else
            return false;
    }
    return true;
}

/* ---- a target: the same workflow on another server, or of another organization ---- */

static bool good_target(const char *name)
{
    return *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

static const char *target_path(struct arena *a, const char *dir, const char *target)
{
    return arena_printf(a, "%s/workflow.%s.json", dir, target).p;
}

/* Puts what the target says in the place of what workflow.json says; ids and revisions are the
 * target's own. Returns false after a message. */
static bool take_target(struct arena *a, const char *target, struct lua_folder *f)
{
    struct json_error bad;
    struct buf out;
    struct jw w;

    if (!object_if_any(a, target_path(a, f->dir, target), &f->target))
        return false;
    if (!f->target)
        f->target = json_parse(a, str_z("{}"), &bad);
    buf_init(&out, TEXT_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (const struct wharf_json *m = f->workflow ? f->workflow->child : NULL; m; m = m->next) {
        if (!str_eqz(m->key, "id") && !str_eqz(m->key, "draft_revision") &&
            !json_get(f->target, m->key.p))
            jw_value(&w, m->key.p, m);
    }
    for (const struct wharf_json *m = f->target->child; m; m = m->next)
        jw_value(&w, m->key.p, m);
    jw_close(&w, '}');
    f->workflow = json_parse(a, arena_dup_str(a, buf_str(&out)), &bad);
    buf_done(&out);
    return true;
}

/* Notes in workflow.TARGET.json which draft it is there. Returns false after a message. */
static bool put_target(
    struct arena *a, const char *target, const struct wharf_json *draft, const struct lua_folder *f)
{
    struct json_error bad;
    struct buf out;
    struct jw w;
    bool good;

    buf_init(&out, TEXT_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < NOT_SENT; i++)
        jw_value(&w, kept[i], json_get(draft, kept[i]));
    for (const struct wharf_json *m = f->target->child; m; m = m->next) {
        if (!str_eqz(m->key, kept[0]) && !str_eqz(m->key, kept[1]))
            jw_value(&w, m->key.p, m);
    }
    jw_close(&w, '}');
    good = remote_put_file(a, target_path(a, f->dir, target),
        arena_printf(
            a, "%s\n", json_pretty(a, json_parse(a, arena_dup_str(a, buf_str(&out)), &bad)).p));
    buf_done(&out);
    return good;
}

bool flow_folder(struct cli *c, const char *dir, const struct lua_server *s, struct lua_folder *ret)
{
    struct lua_folders found;
    const char *only;

    if (s->target && !good_target(s->target)) {
        cli_fail("--target is a word of a-z, 0-9, _ and -");
        return false;
    }
    if (!folders_read(c->a, dir, &found, &only))
        return false;
    *ret = found.items[0];
    if (found.n == 1 && !ret->hooks && !only)
        return !s->target || take_target(c->a, s->target, ret);
    cli_fail("%s: is no folder of a workflow: it needs a main.lua", dir);
    return false;
}

static const char *remote_id_of(const struct named *n, const struct lua_folder *f)
{
    wharf_str id = json_text_or(f->workflow, "id", "");

    return n->id ? n->id : id.n ? id.p : NULL;
}

static const char *remote_path_of(struct arena *a, const char *id, const char *tail)
{
    return arena_printf(a, "/v1/workflows/%s%s", id, tail).p;
}

const char *flow_named(struct cli *c, struct lua_server *s, size_t word)
{
    const char *said = c->n_words > word ? c->words[word] : ".";
    struct lua_folder f;
    const char *id;

    if (c->n_words > word + 1) {
        cli_fail("%s: one workflow is named, by its id or its folder", c->words[word + 1]);
        return NULL;
    }
    if (!server_find(s))
        return NULL;
    if (!strncmp(said, "wkf_", 4))
        return said;
    if (!flow_folder(c, said, s, &f))
        return NULL;
    id = json_text_or(f.workflow, "id", "").p;
    if (*id)
        return id;
    cli_fail("%s/workflow%s%s.json has no id yet: wharf lua push makes the workflow", f.dir,
        s->target ? "." : "", s->target ? s->target : "");
    return NULL;
}

/* ---- the commands ---- */

/* Tells of files that the author has beside the draft: they are his own. */
static void tell_others(struct cli *c, const char *dir, const struct lua_texts *list)
{
    struct lua_folders found;
    const char *only;

    if (!folders_read(c->a, dir, &found, &only))
        return;
    for (size_t i = 0; i < found.items[0].n; i++) {
        const char *path = remote_file_of(c->a, found.items[0].files[i].name);
        bool known = false;

        for (size_t k = 0; k < list->n && !known; k++)
            known = !strcmp(path, list->items[k].path);
        if (!known)
            cli_fail("%s/%s: is not in the draft; it stays, and the next push adds it", dir, path);
    }
}

/* Writes the draft; nothing is written while something would be lost. */
static bool put_draft(struct cli *c, const struct named *n, const struct wharf_json *draft,
    const struct wharf_json *version, bool force)
{
    struct lua_texts list = {0};
    bool good = texts_of(c->a, draft, version, &list);

    if (good && !force && tracked_conflicts(c->a, n->dir, n->id, &list)) {
        cli_fail("nothing was pulled: push these first, move them away, or pull with --force to "
                 "lose the changes");
        return false;
    }
    for (size_t i = 0; i < list.n && good; i++)
        good = remote_put_file(
            c->a, arena_printf(c->a, "%s/%s", n->dir, list.items[i].path).p, list.items[i].text);
    good = good && tracked_remove(c->a, n->dir, n->id, &list) &&
           tracked_write(c->a, n->dir, n->id, &list);
    if (good)
        tell_others(c, n->dir, &list);
    return good;
}

int lua_pull_command(
    struct cli *c, struct lua_server *s, bool force, const struct lua_flow_options *o)
{
    struct named n;
    const struct wharf_json *draft, *version = NULL;

    if (!remote_named_by(c, &n) || !n.id || s->target)
        return lua_usage("wharf lua pull ID [DIR] [--version N] [--force]: the id begins with "
                         "wkf_; a target has no folder of its own");
    if (!server_find(s))
        return LUA_USAGE;
    draft = server_ask(c->a, s, "GET", remote_path_of(c->a, n.id, ""), str_z(""));
    if (draft && o->version)
        version = server_ask(c->a, s, "GET",
            remote_path_of(c->a, n.id, arena_printf(c->a, "/versions/%s", o->version).p),
            str_z(""));
    if (!draft || (o->version && !version))
        return LUA_FAILED;
    n.dir = n.dir ? n.dir : n.id;
    if (!put_draft(c, &n, draft, version, force))
        return LUA_FAILED;
    if (version)
        printf("%s: version %s of %s; push makes it the draft\n", n.dir, o->version, n.id);
    else
        printf("%s: draft %lld of %s\n", n.dir, (long long)json_int_or(draft, "draft_revision", 0),
            n.id);
    return LUA_FINE;
}

wharf_str folder_body(
    struct arena *a, const struct lua_folder *f, bool with_revision, const struct wharf_json *shown)
{
    const struct wharf_json *revision = json_get(f->workflow, "draft_revision");
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, TEXT_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (const struct wharf_json *m = f->workflow ? f->workflow->child : NULL; m; m = m->next) {
        const struct wharf_json *as = json_get(shown, m->key.p);
        bool own = as && json_equal(m, as); /* what is not known here is the server's to refuse */

        for (size_t i = 0; i < NOT_SENT; i++)
            own = own || str_eqz(m->key, kept[i]);
        if (!own)
            jw_value(&w, m->key.p, m);
    }
    if (with_revision && revision)
        jw_value(&w, "if_revision", revision);
    jw_open(&w, "files", '{');
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->files[i].name, "main") != 0)
            jw_str(&w, f->files[i].name, f->files[i].text);
    }
    jw_close(&w, '}');
    for (size_t i = 0; i < f->n; i++) {
        if (!strcmp(f->files[i].name, "main"))
            jw_str(&w, "source", f->files[i].text);
    }
    jw_close(&w, '}');
    text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return text;
}

/* Writes the draft's workflow.json; the code is what was sent, and is known from now on. */
static bool put_pushed(struct cli *c, const struct lua_server *s, const char *dir,
    const struct wharf_json *draft, const struct lua_folder *f)
{
    struct lua_texts list;

    if (s->target)
        return put_target(c->a, s->target, draft, f);
    flow_texts_of_folder(c->a, f, &list);
    list.items[list.n++] = (struct lua_text){"workflow.json", manifest_text(c->a, draft, NULL)};
    return remote_put_file(
               c->a, arena_printf(c->a, "%s/workflow.json", dir).p, list.items[list.n - 1].text) &&
           tracked_write(c->a, dir, json_text_or(draft, "id", "").p, &list);
}

int lua_push_command(struct cli *c, struct lua_server *s, bool force)
{
    struct named n;
    struct lua_folder f;
    const struct wharf_json *draft, *shown = NULL;
    const char *id;
    long long before, after;

    if (!remote_named_by(c, &n))
        return lua_usage("wharf lua push [ID] [DIR] [--target NAME]: one folder");
    n.dir = n.dir ? n.dir : ".";
    if (!server_find(s) || !flow_folder(c, n.dir, s, &f))
        return LUA_USAGE;
    id = remote_id_of(&n, &f);
    if (!id && !json_get(f.workflow, "name"))
        return lua_usage(
            "%s/workflow.json: a new workflow needs a name: {\"name\": \"…\", \"triggers\": […]}",
            n.dir);
    if (id)
        shown = server_ask(c->a, s, "GET", remote_path_of(c->a, id, ""), str_z(""));
    if (id && !shown)
        return LUA_FAILED;
    draft = server_ask(c->a, s, "POST", id ? remote_path_of(c->a, id, "") : "/v1/workflows",
        folder_body(c->a, &f, id && !force, shown));
    if (!draft || !put_pushed(c, s, n.dir, draft, &f))
        return LUA_FAILED;
    before = (long long)json_int_or(f.workflow, "draft_revision", -1);
    after = (long long)json_int_or(draft, "draft_revision", 0);
    printf("%s: draft %lld of %s%s\n", n.dir, after, json_text_or(draft, "id", "").p,
        id && before == after ? ", as it was" : "");
    return LUA_FINE;
}

int lua_publish_command(struct cli *c, struct lua_server *s, const char *note)
{
    struct named n;
    struct lua_folder f = {.dir = NULL};
    const struct wharf_json *row;
    struct buf body;
    struct jw w;

    if (!remote_named_by(c, &n))
        return lua_usage("wharf lua publish [ID] [DIR] [--note TEXT]: one folder");
    if (!server_find(s) || (!n.id && !flow_folder(c, n.dir ? n.dir : ".", s, &f)))
        return LUA_USAGE;
    n.id = n.id ? n.id : remote_id_of(&n, &f);
    if (!n.id)
        return lua_usage(
            "%s/workflow.json has no id yet: wharf lua push makes the workflow", f.dir);
    buf_init(&body, TEXT_MAX);
    jw_init(&w, &body);
    jw_open(&w, NULL, '{');
    if (note)
        jw_z(&w, "note", note);
    jw_close(&w, '}');
    row = server_ask(c->a, s, "POST", remote_path_of(c->a, n.id, "/publish"), buf_str(&body));
    buf_done(&body);
    if (!row)
        return LUA_FAILED;
    printf("%s: version %lld is published\n", n.id, (long long)json_int_or(row, "version", 0));
    return LUA_FINE;
}
