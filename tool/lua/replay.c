/* replay.c - `wharf lua replay`: a recorded run once more, without a server: whatever it asks
 * for is answered from the recording (modules/workflows/recording.c writes it), and the first
 * question or end that is another one is told with file and line. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tool/cli/http_client.h"
#include "tool/lua/author.h"
#include "secret/hide.h"
#include "util/str.h"
#include "util/zone.h"

enum { RECORDING_MAX = 16 << 20, FILES_MAX = 32, SHOWN_MAX = 400 };

struct replay {
    struct arena *a;
    const struct lua_folder *folder; /* or NULL: the recorded source */
    const struct wharf_json *doc, *next,
        *secrets; /* next: the exchange that comes now, NULL: none; secrets: values, or NULL */
    size_t done;
    char file[64]; /* of the author's that runs now */
    int line;
    const char *difference; /* the first one, with its place; NULL: none yet */
};

/* ---- telling ---- */

static const char *replay_place(struct replay *r)
{
    if (!r->file[0])
        return "";
    return arena_printf(
        r->a, "%s:%d: ", r->folder ? folder_path(r->a, r->folder, r->file) : r->file, r->line)
        .p;
}

static const char *replay_shown(struct replay *r, const struct wharf_json *v)
{
    struct buf b;
    struct jw w;
    const char *text;

    if (!v)
        return "nothing";
    buf_init(&b, RECORDING_MAX);
    jw_init(&w, &b);
    jw_value(&w, NULL, v);
    text = b.n > SHOWN_MAX ? arena_printf(r->a, "%.*s…", SHOWN_MAX, b.p).p
                           : arena_dup_str(r->a, buf_str(&b)).p;
    buf_done(&b);
    return text;
}

static void replay_differs(struct replay *r, const char *now, const char *then)
{
    if (!r->difference)
        r->difference = arena_printf(r->a, "%s%s; recorded: %s", replay_place(r), now, then).p;
}

/* Tells what the recorded run did here: "api.get {…}". */
static const char *replay_recorded(struct replay *r)
{
    wharf_str note = json_text_or(r->next, "note", ""), op = json_text_or(r->next, "op", "");

    if (!r->next)
        return "nothing more";
    if (note.n)
        return arena_printf(
            r->a, "it looked at %s", str_eqz(note, "random") ? "randomness" : "the clock")
            .p;
    return arena_printf(r->a, "%s %s", op.p, replay_shown(r, json_get(r->next, "args"))).p;
}

/* ---- secrets: a recording has [secret:KEY] where their values were ---- */

static wharf_str replay_value_of(struct replay *r, wharf_str key)
{
    const struct wharf_json *v = json_get_n(r->secrets, key);

    return json_is(v, JSON_STRING) ? v->text : arena_printf(r->a, "[secret:%.*s]", STR_ARG(key));
}

static wharf_str replay_encoded(struct replay *r, wharf_str s, int variant)
{
    size_t room = sodium_base64_encoded_len(s.n, variant);
    char *out = arena_alloc(r->a, room);

    sodium_bin2base64(out, room, (const unsigned char *)s.p, s.n, variant);
    return str_z(out);
}

/* Hides one value, as the server hides values (secret/hide.h). */
static wharf_str hide_one(struct replay *r, wharf_str s, wharf_str key)
{
    wharf_str value = replay_value_of(r, key),
              mark = arena_printf(r->a, "[secret:%.*s]", STR_ARG(key));

    /* Where there is no value its mark stands for it, whose base64 ends within a character: that
     * one goes too. */
    s = str_replaced(
        r->a, s, replay_encoded(r, value, sodium_base64_VARIANT_ORIGINAL_NO_PADDING), mark);
    s = str_replaced(
        r->a, s, replay_encoded(r, value, sodium_base64_VARIANT_URLSAFE_NO_PADDING), mark);
    s = hide_text(r->a, hide_prepare(r->a, &key, &value, 1), s, false);
    for (size_t i = 2; i > 0;
         i--) /* padding of base64 tells the length of the value, which a mark does not have */
        s = str_replaced(r->a, s, arena_printf(r->a, "%s%s", mark.p, i == 2 ? "==" : "="), mark);
    return s;
}

/* Hides every secret that the recorded run asked for; show: the other way, marks become values. */
static wharf_str through_secrets(struct replay *r, wharf_str s, bool show)
{
    const struct wharf_json *list = json_get(r->doc, "exchanges");

    for (const struct wharf_json *e = list ? list->child : NULL; e; e = e->next) {
        wharf_str key = json_text_or(json_get(e, "args"), "key", "");

        if (!str_eqz(json_text_or(e, "op", ""), "secret") || !key.n)
            continue;
        s = show ? str_replaced(r->a, s, arena_printf(r->a, "[secret:%.*s]", STR_ARG(key)),
                       replay_value_of(r, key))
                 : hide_one(r, s, key);
    }
    return s;
}

static const struct wharf_json *replay_hidden(struct replay *r, wharf_str text)
{
    struct json_error bad;

    return json_parse(r->a, through_secrets(r, arena_dup_str(r->a, text), false), &bad);
}

/* ---- bodies of HTTP: base64 on their way, text in a recording ---- */

static bool replay_masked(wharf_str name)
{
    return !strcasecmp(name.p, "authorization") || !strcasecmp(name.p, "cookie") ||
           !strcasecmp(name.p, "svc-api-key") || !strcasecmp(name.p, "x-api-key");
}

static void put_http(struct replay *r, struct jw *w, const struct wharf_json *v);

static void replay_put_member(struct replay *r, struct jw *w, const struct wharf_json *m)
{
    size_t n, room = m->text.n / 4 * 3 + 4;
    char *bytes;

    if (replay_masked(m->key)) {
        jw_z(w, m->key.p, "***");
    } else if (str_eqz(m->key, "body") && m->type == JSON_STRING) {
        bytes = arena_alloc(r->a, room);
        if (sodium_base642bin((unsigned char *)bytes, room, m->text.p, m->text.n, "=", &n, NULL,
                sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
            !memchr(bytes, 0, n) && utf8_valid(bytes, n))
            jw_str(w, "text", (wharf_str){bytes, n});
        else
            jw_str(w, "body", m->text);
    } else {
        jw_key(w, m->key);
        put_http(r, w, m);
    }
}

static void put_http(struct replay *r, struct jw *w, const struct wharf_json *v)
{
    if (v->type == JSON_OBJECT) {
        jw_open(w, NULL, '{');
        for (const struct wharf_json *m = v->child; m; m = m->next)
            replay_put_member(r, w, m);
        jw_close(w, '}');
    } else if (v->type == JSON_ARRAY) {
        jw_open(w, NULL, '[');
        for (const struct wharf_json *e = v->child; e; e = e->next)
            put_http(r, w, e);
        jw_close(w, ']');
    } else {
        jw_value(w, NULL, v);
    }
}

/* Writes an answer, in which "text" is made "body" in base64 again. */
static void replay_put_answer(struct replay *r, struct jw *w, const struct wharf_json *v, bool http)
{
    if (v->type == JSON_OBJECT) {
        jw_open(w, NULL, '{');
        for (const struct wharf_json *m = v->child; m; m = m->next) {
            if (http && str_eqz(m->key, "text") && m->type == JSON_STRING) {
                jw_str(w, "body",
                    replay_encoded(
                        r, through_secrets(r, m->text, true), sodium_base64_VARIANT_ORIGINAL));
                continue;
            }
            jw_key(w, m->key);
            replay_put_answer(r, w, m, http);
        }
        jw_close(w, '}');
    } else if (v->type == JSON_ARRAY) {
        jw_open(w, NULL, '[');
        for (const struct wharf_json *e = v->child; e; e = e->next)
            replay_put_answer(r, w, e, http);
        jw_close(w, ']');
    } else if (v->type == JSON_STRING) {
        jw_str(w, NULL, through_secrets(r, v->text, true));
    } else {
        jw_value(w, NULL, v);
    }
}

static wharf_str replay_written(
    struct replay *r, const struct wharf_json *v, bool http, bool answer)
{
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, RECORDING_MAX);
    jw_init(&w, &b);
    if (answer)
        replay_put_answer(r, &w, v, http);
    else
        put_http(r, &w, v);
    text = arena_dup_str(r->a, buf_str(&b));
    buf_done(&b);
    return text;
}

/* ---- the host of the sandbox ---- */

static enum sandbox_answer replay_stopped(wharf_str *ret_text)
{
    *ret_text = str_z("{\"code\":\"replay.differs\",\"message\":\"the run goes another way than "
                      "the recorded one\"}");
    return SANDBOX_ENDED;
}

/* Returns {"deadline_ms", "api_calls", "http_calls"}: the first is a note of its own behind the
 * answer. */
static wharf_str replay_budget(struct replay *r, const struct wharf_json *answer)
{
    int64_t left = 0;

    if (str_eqz(json_text_or(r->next, "note", ""), "deadline")) {
        left = json_int_or(r->next, "value", 0);
        r->next = r->next->next;
    }
    return arena_printf(r->a, "{\"deadline_ms\":%lld,\"api_calls\":%lld,\"http_calls\":%lld}",
        (long long)left, (long long)json_int_or(answer, "api_calls", 0),
        (long long)json_int_or(answer, "http_calls", 0));
}

static wharf_str secret(struct replay *r, wharf_str key)
{
    wharf_str text;
    struct buf b;
    struct jw w;

    buf_init(&b, RECORDING_MAX);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_str(&w, "value", replay_value_of(r, key));
    jw_close(&w, '}');
    text = arena_dup_str(r->a, buf_str(&b));
    buf_done(&b);
    return text;
}

static enum sandbox_answer replay_answered(
    struct replay *r, const char *op, bool http, wharf_str *ret_text)
{
    static const char *const ends[] = {"given", "refused", "mistake"};
    const struct wharf_json *e = r->next, *answer = json_get(e, "answer");
    wharf_str how = json_text_or(e, "how", "ended");
    size_t i = 0;

    r->next = e->next;
    r->done++;
    if (!strcmp(op, "budget"))
        *ret_text = replay_budget(r, answer);
    else if (!strcmp(op, "secret") && str_eqz(how, "given"))
        *ret_text = secret(r, json_text_or(json_get(e, "args"), "key", ""));
    else
        *ret_text = answer ? replay_written(r, answer, http, true) : str_z("");
    while (i < 3 && !str_eqz(how, ends[i]))
        i++;
    return i == 0   ? SANDBOX_GIVEN
           : i == 1 ? SANDBOX_REFUSED
           : i == 2 ? SANDBOX_MISTAKE
                    : SANDBOX_ENDED;
}

static enum sandbox_answer replay_call(
    void *arg, const char *op, wharf_str text, wharf_str *ret_text)
{
    struct replay *r = arg;
    bool http = !strncmp(op, "http.", 5);
    struct json_error bad;
    const struct wharf_json *args;

    *ret_text = str_z("");
    if (!strcmp(op, "log"))
        return SANDBOX_GIVEN;
    args = json_parse(r->a, arena_dup_str(r->a, text), &bad);
    args = replay_hidden(r, args && http ? replay_written(r, args, true, false) : text);
    if (r->difference)
        return replay_stopped(ret_text);
    if (!json_get(r->next, "args") || !str_eqz(json_text_or(r->next, "op", ""), op) ||
        !json_equal(
            args, replay_hidden(r, replay_written(r, json_get(r->next, "args"), false, true)))) {
        replay_differs(r, arena_printf(r->a, "the run asks for %s %s", op, replay_shown(r, args)).p,
            replay_recorded(r));
        return replay_stopped(ret_text);
    }
    return replay_answered(r, op, http, ret_text);
}

static const struct wharf_json *noted(struct replay *r, const char *note, const char *what)
{
    const struct wharf_json *e = r->next;

    if (!str_eqz(json_text_or(e, "note", ""), note)) {
        replay_differs(r, arena_printf(r->a, "the run looks at %s", what).p, replay_recorded(r));
        return NULL;
    }
    r->next = e->next;
    return e;
}

static int64_t replay_now_us(void *arg)
{
    return json_int_or(noted(arg, "now", "the clock"), "value", 0);
}

static void replay_random_of(void *arg, void *p, size_t n)
{
    wharf_str hex = json_text_or(noted(arg, "random", "randomness"), "hex", "");

    memset(p, 0, n);
    sodium_hex2bin(p, n, hex.p, hex.n, NULL, NULL, NULL);
}

static bool replay_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    char *bytes = arena_alloc(((struct replay *)arg)->a, ZONE_BYTES_MAX);

    *ret_bytes = (wharf_str){bytes, zone_read(name, bytes, ZONE_BYTES_MAX)};
    return ret_bytes->n > 0;
}

static void line_reached(void *arg, const char *file, int line)
{
    struct replay *r = arg;

    snprintf(r->file, sizeof(r->file), "%s", file);
    r->line = line;
}

/* ---- the end ---- */

static const char *replay_status_of(const struct sandbox_error *e)
{
    return e->end == SANDBOX_OK ? "succeeded" : e->end == SANDBOX_REJECTED ? "rejected" : "failed";
}

static void compare_value(
    struct replay *r, const char *what, const struct buf *now, const struct wharf_json *then)
{
    const struct wharf_json *v = now->n ? replay_hidden(r, buf_str(now)) : NULL;

    if (v ? !then || !json_equal(v, then) : then != NULL)
        replay_differs(r, arena_printf(r->a, "the run %s %s", what, replay_shown(r, v)).p,
            replay_shown(r, then));
}

static void compare_end(struct replay *r, const struct sandbox_error *e, const struct buf *result,
    const struct buf *kept)
{
    const struct wharf_json *then = json_get(r->doc, "outcome");
    wharf_str message = through_secrets(r, arena_dupz(r->a, e->message), false);

    if (e->end != SANDBOX_OK && e->file[0])
        line_reached(r, e->file, e->line);
    if (e->end == SANDBOX_OK ? r->next != NULL : !r->difference && r->next != NULL)
        replay_differs(r,
            arena_printf(r->a, "the run %s%s%s", replay_status_of(e), e->end ? ": " : "",
                e->end ? message.p : "")
                .p,
            replay_recorded(r));
    if (!str_eqz(json_text_or(then, "status", ""), replay_status_of(e)) ||
        (e->end != SANDBOX_OK && !str_eq(json_text_or(then, "message", ""), message)))
        replay_differs(r,
            arena_printf(r->a, "the run %s%s%s", replay_status_of(e), e->end ? ": " : "",
                e->end ? message.p : "")
                .p,
            arena_printf(r->a, "%s%s%s", json_text_or(then, "status", "").p,
                json_text_or(then, "message", "").n ? ": " : "",
                json_text_or(then, "message", "").p)
                .p);
    if (e->end != SANDBOX_OK)
        return;
    compare_value(r, "returned", result, json_get(then, "output"));
    if (json_get(then, "kept"))
        compare_value(r, "made of its input", kept, json_get(then, "kept"));
}

/* ---- the run ---- */

static size_t replay_read_files(struct replay *r, struct sandbox_file *files)
{
    const struct wharf_json *more = json_get(r->doc, "files");
    size_t n = 0;

    if (r->folder) {
        n = r->folder->n < FILES_MAX ? r->folder->n : FILES_MAX;
        memcpy(files, folder_files(r->a, r->folder), n * sizeof(*files));
        return n;
    }
    if (json_is(json_get(r->doc, "source"), JSON_STRING))
        files[n++] = (struct sandbox_file){
            .name = "main", .text = json_get(r->doc, "source")->text};
    for (const struct wharf_json *f = json_is(more, JSON_OBJECT) && n ? more->child : NULL;
         f && n < FILES_MAX; f = f->next)
        files[n++] = (struct sandbox_file){.name = f->key.p, .text = f->text};
    return n;
}

static void replay_run(struct replay *r, const struct sandbox_file *files, size_t n)
{
    const struct sandbox_host host = {r, replay_call, replay_now_us, replay_random_of, replay_zone};
    const struct sandbox_config config = {.memory = (size_t)json_int_or(r->doc, "memory", 64 << 20),
        .limits = {.instructions = (uint64_t)json_int_or(r->doc, "instructions", 0)},
        .seed = strtoull(json_text_or(r->doc, "seed", "0").p, NULL, 10),
        .repeatable = true,
        .host = &host,
        .line = line_reached,
        .line_arg = r};
    const struct wharf_json *input = json_get(r->doc, "input"),
                            *context = json_get(r->doc, "context");
    struct sandbox *sb = sandbox_prepare() ? sandbox_new(&config) : NULL;
    struct sandbox_error e = {.end = SANDBOX_FAILED, .message = "there is not enough memory"};
    struct buf result, kept;

    buf_init(&result, (size_t)json_int_or(r->doc, "result_max", 1 << 20));
    buf_init(&kept, 1 << 20);
    if (sb) {
        const struct sandbox_call c = {.handler = json_text_or(r->doc, "handler", "").p,
            .arg = input ? replay_written(r, input, false, true) : str_z("null"),
            .context = context ? replay_written(r, context, false, true) : str_z("{}"),
            .keep = json_get(json_get(r->doc, "outcome"), "kept") ? "input" : NULL};

        sandbox_files(sb, files, n);
        if (sandbox_load(sb, "main", &e) && sandbox_call(sb, &c, &result, &kept, &e))
            e.end = SANDBOX_OK;
    }
    compare_end(r, &e, &result, &kept);
    sandbox_free(sb);
    buf_done(&result);
    buf_done(&kept);
}

/* ---- the command ---- */

/* Reads a file with an object. Returns NULL after a message. */
static const struct wharf_json *replay_object_of(struct replay *r, const char *path)
{
    const struct wharf_json *v = json_of_file(r->a, path, RECORDING_MAX, NULL);

    if (json_is(json_get(v, "data"), JSON_OBJECT) &&
        json_get(v, "status")) /* the answer of the API, as it came */
        v = json_get(v, "data");
    if (v && !json_is(v, JSON_OBJECT))
        cli_fail("%s: is no JSON object, but another kind of value", path);
    return json_is(v, JSON_OBJECT) ? v : NULL;
}

static bool read_recording(struct replay *r, const char *word, struct lua_server *s)
{
    if (strncmp(word, "wkf_run_", 8) != 0)
        r->doc = replay_object_of(r, word);
    else if (server_find(s))
        r->doc = server_ask(r->a, s, "GET",
            arena_printf(r->a, "/v1/workflows/runs/%s/recording", word).p, str_z(""));
    if (!r->doc)
        return false;
    if (json_is(json_get(r->doc, "exchanges"), JSON_ARRAY) && json_get(r->doc, "handler"))
        return true;
    cli_fail("%s: is no recording of a run: GET /v1/workflows/runs/RUN/recording is one", word);
    return false;
}

int lua_replay_command(struct cli *c, const struct lua_replay_options *o, struct lua_server *s)
{
    struct replay r = {.a = c->a};
    struct sandbox_file files[FILES_MAX];
    struct lua_folder folder;
    size_t n;

    if (c->n_words != 2)
        return lua_usage(
            "wharf lua replay RUN|FILE [--dir FOLDER] [--secrets FILE]: RUN begins with wkf_run_");
    if (o->dir && !folder_one(c->a, o->dir, &folder))
        return LUA_USAGE;
    if (!read_recording(&r, c->words[1], s))
        return LUA_USAGE;
    if (o->secrets && !(r.secrets = replay_object_of(&r, o->secrets)))
        return LUA_USAGE;
    r.folder = o->dir ? &folder : NULL;
    r.next = json_get(r.doc, "exchanges")->child;
    n = replay_read_files(&r, files);
    if (!n)
        return lua_usage("the run was of a draft, whose code is not kept: say --dir FOLDER");
    replay_run(&r, files, n);
    if (r.difference) {
        fprintf(stderr, "wharf: %s\n", r.difference);
        return LUA_FAILED;
    }
    printf("%s: the same (%zu answered, %s)\n", json_text_or(r.doc, "run_id", c->words[1]).p,
        r.done, json_text_or(json_get(r.doc, "outcome"), "status", "").p);
    return LUA_FINE;
}
