/* recording.c - record.io: what a run asked for and got, kept so that `wharf lua replay` can
 * do it again without asking (spec 08 section 8; the reader is tool/lua/replay.c). Secrets are
 * taken out of everything; bodies of HTTP, which travel in base64, are kept as texts for that. */
#include <string.h>
#include <strings.h>

#include "workflows.gen.h"
#include "workflows.h"

enum {
    IO_MAX = 1 << 20, /* bytes of one recording */
    SECRET_MIN = 6
};

bool recording_wanted(const struct code *c)
{
    const wharf_json *rule = c->options ? W->json->get(c->options, "record") : NULL;

    return rule && json_truth(W->json->get(rule, "io"));
}

/* ---- what must not be kept ---- */

static int recording_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

wharf_str bytes_of_base64(wharf_req *req, wharf_str s)
{
    char *out = W->mem->alloc(req, s.n / 4 * 3 + 4);
    uint32_t bits = 0;
    size_t n = 0, held = 0, end = s.n;

    while (end && s.n - end < 2 && s.p[end - 1] == '=')
        end--;
    if (s.n % 4)
        return (wharf_str){NULL, 0};
    for (size_t i = 0; i < end; i++) {
        if (recording_digit(s.p[i]) < 0)
            return (wharf_str){NULL, 0};
        bits = bits << 6 | (uint32_t)recording_digit(s.p[i]);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[n++] = (char)(bits >> held & 255);
        }
    }
    out[n] = 0;
    return (wharf_str){out, n};
}

static bool recording_masked(wharf_str name)
{
    static const char *const names[] = {"authorization", "cookie", "svc-api-key", "x-api-key"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (name.n == strlen(names[i]) && !strncasecmp(name.p, names[i], name.n))
            return true;
    }
    return false;
}

static void recording_put_member(wharf_req *req, struct asked *a, wharf_out *out, const char *key,
    const wharf_json *v, bool http);

/* Writes a body as text under "text", when it is one; else as it is, unless a secret is in its
 * bytes. */
static void recording_put_body(wharf_req *req, struct asked *a, wharf_out *out, wharf_str base64)
{
    wharf_str bytes = bytes_of_base64(req, base64),
              hidden = bytes.p ? secrets_hide(req, a->secrets, bytes) : bytes;

    if (bytes.p && flow_text->is_text(bytes)) {
        W->json->put(out, "text", val_text(hidden));
    } else if (hidden.p == bytes.p) {
        W->json->put(out, "body", val_text(base64));
    } else {
        a->io_lost = true;
        W->json->put(out, "body", val_null());
    }
}

static void recording_put_object(
    wharf_req *req, struct asked *a, wharf_out *out, const wharf_json *v, bool http)
{
    wharf_str text;

    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m)) {
        wharf_str key = secrets_hide(req, a->secrets, W->json->key(m));

        if (http && recording_masked(key))
            W->json->put(out, key.p, val_text(WHARF_S("***")));
        else if (http && is(key, "body") && W->json->text(m, &text))
            recording_put_body(req, a, out, text);
        else
            recording_put_member(req, a, out, key.p, m, http);
    }
}

static void recording_put_member(wharf_req *req, struct asked *a, wharf_out *out, const char *key,
    const wharf_json *v, bool http)
{
    uint32_t type = W->json->type(v);
    wharf_str text;

    if (type == WHARF_J_STRING && W->json->text(v, &text)) {
        W->json->put(out, key, val_text(secrets_hide(req, a->secrets, text)));
    } else if (type == WHARF_J_OBJECT) {
        W->json->open(out, key, '{');
        recording_put_object(req, a, out, v, http);
        W->json->close(out);
    } else if (type == WHARF_J_ARRAY) {
        W->json->open(out, key, '[');
        for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e))
            recording_put_member(req, a, out, NULL, e, http);
        W->json->close(out);
    } else {
        W->json->put(out, key, val_json(v));
    }
}

/* ---- while it runs ---- */

static void put_question(wharf_req *req, struct asked *a, wharf_out *out, wharf_str op,
    const wharf_json *args, uint32_t how, wharf_str answer)
{
    static const char *const ends[] = {"given", "refused", "mistake", "ended"};
    bool http = is(op, "http.request") || is(op, "http.all"), secret = is(op, "secret");
    const wharf_json *v = NULL;
    wharf_str value = secret ? secret_of(a->secrets, json_text(args, "key")) : WHARF_S("");

    W->json->put(out, "op", val_text(op));
    recording_put_member(req, a, out, "args", args, http);
    W->json->put(out, "how", val_text(z(ends[how < 4 ? how : 3])));
    if (secret &&
        /* its value is never written; a short one can't be found again in what is sent */
        how == WHARF_LUA_GIVEN) {
        a->io_lost = a->io_lost || value.n < SECRET_MIN;
        return;
    }
    if (answer.n && W->json->parse(req, answer, &v) != WHARF_OK)
        W->err->clear(req);
    if (v)
        recording_put_member(req, a, out, "answer", v, http);
}

void recording_add(wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args,
    uint32_t how, wharf_str answer)
{
    wharf_out *out = W->json->writer(req);
    const wharf_json *entry = NULL;
    wharf_str text;

    if (a->io_lost)
        return;
    W->json->open(out, NULL, '{');
    if (is(op, "note"))
        recording_put_object(req, a, out, args, false);
    else
        put_question(req, a, out, op, args, how, answer);
    W->json->close(out);
    text = W->json->result_text(out);
    a->io_bytes += text.n;
    a->io_lost = a->io_lost || a->io_bytes > IO_MAX || is(json_text(args, "note"), "full");
    if (a->io_lost || W->json->parse(req, text, &entry) != WHARF_OK) {
        W->err->clear(req);
        a->io_lost = true;
        return;
    }
    W->json->put(a->io, NULL, val_json(entry));
}

/* ---- when it is over ---- */

/* Tells whether the recording is complete. What came from outside of the code and is not in it:
 * the clock of a process that was killed. */
static bool recording_complete(const struct run *r)
{
    const wharf_lua_outcome *o = &r->outcome;

    return !r->asked.io_lost && o->end != WHARF_LUA_DIED && o->end != WHARF_LUA_STOPPED &&
           o->end != WHARF_LUA_NO_CELL &&
           !(o->end == WHARF_LUA_OVER &&
               (is(o->code, ERR_WORKFLOW_BUDGET_TIME) || is(o->code, ERR_OVERLOADED)));
}

static const wharf_json *recording_hidden(wharf_req *req, const struct run *r, wharf_str text)
{
    const wharf_json *v = NULL;

    if (W->json->parse(req, text, &v) != WHARF_OK)
        W->err->clear(req);
    return secrets_hide_json(req, r->asked.secrets, v);
}

static void recording_put_outcome(wharf_req *req, const struct run *r, wharf_out *out)
{
    const wharf_lua_outcome *o = &r->outcome;

    W->json->open(out, "outcome", '{');
    W->json->put(out, "status", val_text(z(run_status(o))));
    W->json->put(out, "code", val_text(z(run_code(o))));
    W->json->put(out, "custom", val_text(o->end == WHARF_LUA_OVER ? WHARF_S("") : o->code));
    W->json->put(out, "message", val_text(o->message));
    if (o->result)
        W->json->put(out, "output", val_json(o->result));
    if (o->kept)
        W->json->put(out, "kept", val_json(secrets_hide_json(req, r->asked.secrets, o->kept)));
    W->json->close(out);
}

void recording_end(wharf_req *req, struct run *r)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "handler", val_text(z(r->handler)));
    W->json->put(out, "input", val_json(recording_hidden(req, r, r->input)));
    W->json->put(out, "context", val_json(recording_hidden(req, r, r->context)));
    W->json->put(out, "seed", val_text(W->mem->format(req, "%llu", (unsigned long long)r->seed)));
    W->json->put(out, "instructions", val_int((int64_t)r->own.instructions));
    W->json->put(out, "memory", val_int((int64_t)r->own.memory));
    W->json->put(out, "result_max", val_int((int64_t)r->own.result_max));
    recording_put_outcome(req, r, out);
    W->json->put(
        out, "exchanges", val_json(recording_hidden(req, r, W->json->result_text(r->asked.io))));
    W->json->close(out);
    r->recording = W->json->result_text(out);
    r->replayable = recording_complete(r);
}

void recording_put(wharf_req *req, const struct run *r, wharf_out *out)
{
    const wharf_json *data = NULL;

    if (W->json->parse(req, r->recording, &data) != WHARF_OK)
        W->err->clear(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "i", val_text(r->id));
    W->json->put(out, "n", val_int(r->attempt));
    W->json->put(out, "c", val_bool(r->replayable));
    W->json->put(out, "d", val_json(data));
    W->json->close(out);
}

wharf_status recordings_keep(wharf_req *req, wharf_str given)
{
    static const char sql[] = "SELECT workflows.keep_recordings($1::text, $2::json)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(given)};
    const wharf_rows *none;

    return W->db->query(req, sql, args, 2, &none);
}

/* ---- GET /v1/workflows/runs/:run/recording ---- */

static void put_recording(wharf_req *req, const wharf_rec *run, const struct code *code,
    const wharf_json *data, wharf_out *out)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("workflow_recording")));
    W->json->put(out, "run_id", val_text(W->res->id(run)));
    W->json->put(out, "workflow_id", val_text(code->workflow_id));
    W->json->put(out, "version", code->version ? val_int(code->version) : val_null());
    for (const wharf_json *m = W->json->at(data, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    if (code->version) { /* a draft is what it is by now */
        W->json->put(out, "source", val_text(code->source));
        W->json->put(out, "files", code->files ? val_json(code->files) : val_null());
    }
    W->json->close(out);
}

wharf_status recording_route(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT data FROM workflows.recording WHERE run_id = $1::text AND "
                              "organization_id = $2::text";
    const wharf_rec *run, *workflow;
    const wharf_rows *rows = NULL;
    struct code code = {.version = 0};
    bool enabled, found = false;
    wharf_str id = {"", 0};
    wharf_status s;

    W->req->param(req, "run", &id);
    s = W->res->fetch(req, "workflow_run", id, 0, &run);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "workflow", field_text(run, WORKFLOW_RUN_WORKFLOW_ID),
            WHARF_WITH_DELETED, &workflow);
    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows) || !field_int(run, WORKFLOW_RUN_REPLAYABLE))
        return W->err->fail(req, ERR_NOT_FOUND, NULL,
            "This run was not recorded, or not all of it could be: its workflow has to say "
            "{\"record\": {\"io\": true}}");
    if (field_int(run, WORKFLOW_RUN_VERSION))
        s = code_load(req, W->res->id(workflow), field_int(run, WORKFLOW_RUN_VERSION), &code,
            &enabled, &found);
    code.workflow_id = W->res->id(workflow);
    if (s == WHARF_OK && field_int(run, WORKFLOW_RUN_VERSION) && !found)
        code.version = 0; /* older than the versions that are kept */
    if (s == WHARF_OK)
        put_recording(req, run, &code, row_json(rows, 0, 0),
            W->req->respond(req, 200, "Recording of the run"));
    return s;
}
