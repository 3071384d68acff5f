/* workflow_rules.c - what may stand in a workflow: files, triggers, scopes, settings (spec 08
 * section 1 and 3); the draft's counter. */
#include <stdlib.h>
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

/* ---- files ---- */

/* Tells whether s is [a-z0-9_]+(\.[a-z0-9_]+)*. */
static bool workflow_file_name(wharf_str s)
{
    bool dot = true;

    for (size_t i = 0; i < s.n; i++) {
        bool letter = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') ||
                      s.p[i] == '_';

        if (!letter && (s.p[i] != '.' || dot))
            return false;
        dot = !letter;
    }
    return s.n && s.n <= FILE_NAME_MAX && !dot && !is(s, "main") && !is(s, "wharf") &&
           strncmp(s.p, "wharf.", 6) != 0;
}

static wharf_status workflow_check_text(
    wharf_req *req, const char *path, wharf_str text, size_t most)
{
    if (text.n > most)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path, "A file has at most %zu bytes", most);
    if (text.n && text.p[0] == 0x1B)
        return W->err->fail(req, ERR_VALIDATION_FAILED, path,
            "This is compiled code; send the text of the program");
    return WHARF_OK;
}

static wharf_status workflow_check_files(wharf_req *req, const wharf_json *files)
{
    size_t bytes = 0;
    wharf_status s = WHARF_OK;

    if (files && W->json->count(files) > FILES_MAX)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "files",
            "A workflow has at most %d files besides its main one", FILES_MAX);
    for (const wharf_json *f = files ? W->json->at(files, 0) : NULL; f && s == WHARF_OK;
         f = W->json->next(f)) {
        wharf_str name = W->json->key(f), text;
        const char *path = W->mem->format(req, "files.%s", name.p).p;

        if (!workflow_file_name(name))
            return W->err->fail(req, ERR_VALIDATION_FAILED, path,
                "A file's name is words of a-z, 0-9 and _ with dots between them, at most %d "
                "bytes, and not main or wharf",
                FILE_NAME_MAX);
        if (!W->json->text(f, &text))
            return W->err->fail(req, ERR_VALIDATION_FAILED, path, "A file is a text");
        s = workflow_check_text(req, path, text, FILES_BYTES);
        bytes += text.n;
    }
    if (s == WHARF_OK && bytes > FILES_BYTES)
        s = W->err->fail(req, ERR_VALIDATION_FAILED, "files",
            "All files together have at most %d bytes", FILES_BYTES);
    return s;
}

/* ---- triggers ---- */

static wharf_status workflow_check_triggers(wharf_req *req, const wharf_json *triggers)
{
    wharf_status s = WHARF_OK;
    size_t i = 0, manual = 0;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t && s == WHARF_OK;
         t = W->json->next(t), i++) {
        if (W->json->type(t) != WHARF_J_OBJECT)
            return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID,
                W->mem->format(req, "triggers.%zu", i).p, "A trigger is an object");
        s = trigger_check(req, triggers, t, i);
        manual += is(json_text(t, "type"), "manual");
    }
    if (s == WHARF_OK && manual > 1)
        s = W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, "triggers",
            "A workflow has one manual trigger at most");
    return s;
}

/* ---- scopes ---- */

static wharf_status workflow_check_scopes(wharf_req *req, const wharf_json *scopes)
{
    const wharf_str *areas;
    size_t n = flow_keys->areas(req, &areas), i = 0;

    for (const wharf_json *e = scopes ? W->json->at(scopes, 0) : NULL; e;
         e = W->json->next(e), i++) {
        const char *path = W->mem->format(req, "scopes.%zu", i).p;
        wharf_str s = {"", 0};
        const char *colon;
        bool known = false;

        W->json->text(e, &s);
        colon = strchr(s.p, ':');
        for (size_t k = 0; colon && k < n; k++)
            known = known || same(areas[k], (wharf_str){s.p, (size_t)(colon - s.p)});
        if (!known || (strcmp(colon, ":read") != 0 && strcmp(colon, ":write") != 0))
            return W->err->fail(req, ERR_VALIDATION_FAILED, path,
                "A scope is area:read or area:write of an area of this server");
    }
    return WHARF_OK;
}

wharf_status code_check(wharf_req *req, const struct code *c)
{
    wharf_status s = workflow_check_text(req, "source", c->source, SOURCE_MAX);

    if (s == WHARF_OK)
        s = workflow_check_files(req, c->files);
    if (s == WHARF_OK)
        s = workflow_check_triggers(req, c->triggers);
    return s == WHARF_OK ? workflow_check_scopes(req, c->scopes) : s;
}

/* ---- the row ---- */

static wharf_status workflow_check_count(wharf_req *req)
{
    static const char sql[] = "SELECT count(*) FROM workflows.workflow WHERE organization_id = "
                              "$1::text AND deleted_at IS NULL";
    wharf_val org = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->lock(req, "workflows.count", W->req->organization(req));

    if (s == WHARF_OK)
        s = W->db->query(req, sql, &org, 1, &rows);
    if (s == WHARF_OK && row_int(rows, 0, 0) >= WORKFLOWS_MAX)
        s = W->err->fail(req, ERR_WORKFLOW_LIMIT, NULL, NULL);
    return s;
}

static bool draft_changed(const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const wharf_field of_draft[] = {WORKFLOW_NAME, WORKFLOW_DESCRIPTION, WORKFLOW_SOURCE,
        WORKFLOW_FILES, WORKFLOW_TRIGGERS, WORKFLOW_SCOPES, WORKFLOW_SETTINGS, WORKFLOW_RETRY,
        WORKFLOW_CONCURRENCY, WORKFLOW_RECORD, WORKFLOW_HTTP_HOSTS, WORKFLOW_PRIORITY,
        WORKFLOW_ON_ERROR, WORKFLOW_BUDGET};

    for (size_t i = 0; i < sizeof(of_draft) / sizeof(of_draft[0]); i++) {
        if (W->res->changed(old_rec, new_rec, of_draft[i]))
            return true;
    }
    return false;
}

static wharf_status count_revision(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    int64_t revision = field_int(old_rec, WORKFLOW_DRAFT_REVISION);

    if (W->res->sent(new_rec, WORKFLOW_IF_REVISION) &&
        field_int(new_rec, WORKFLOW_IF_REVISION) != revision)
        return W->err->fail(req, ERR_WORKFLOW_DRAFT_CONFLICT, "if_revision",
            "The draft has revision %lld by now; read it again", (long long)revision);
    if (draft_changed(old_rec, new_rec))
        W->res->set(new_rec, WORKFLOW_DRAFT_REVISION, val_int(revision + 1));
    return WHARF_OK;
}

/* Checks that a workflow is made for all locations only by who reaches all. */
static wharf_status check_everywhere(
    wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_json *list = field_json(new_rec, WORKFLOW_ALLOWED_LOCATIONS);

    if (flow_keys->caller(req)->all_locations || (list && W->json->count(list)) ||
        (old_rec && !W->res->changed(old_rec, new_rec, WORKFLOW_ALLOWED_LOCATIONS)))
        return WHARF_OK;
    return W->err->fail(req, ERR_LOCATION_ACCESS, "allowed_locations",
        "Name the locations that the workflow is for: the key reaches some only");
}

static wharf_status check_settings(wharf_req *req, const wharf_json *settings)
{
    wharf_out *out = W->json->writer(req);

    W->json->put(out, NULL, val_json(settings));
    if (W->json->result_text(out).n > SETTINGS_MAX)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "settings",
            "settings have at most %d bytes as JSON", SETTINGS_MAX);
    return WHARF_OK;
}

/* Checks names of hosts, the first label of which may be a star. */
static wharf_status check_hosts(wharf_req *req, const wharf_json *hosts)
{
    size_t i = 0;

    for (const wharf_json *e = hosts ? W->json->at(hosts, 0) : NULL; e; e = W->json->next(e), i++) {
        wharf_str name = {"", 0};
        const char *p;
        size_t n;

        W->json->text(e, &name);
        p = name.n > 2 && !memcmp(name.p, "*.", 2) ? name.p + 2 : name.p;
        n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
        if (!*p || p[n] || *p == '.' || *p == '-' || p[n - 1] == '.')
            return W->err->fail(req, ERR_VALIDATION_FAILED,
                W->mem->format(req, "http_hosts.%zu", i).p,
                "A host is a name such as api.example.com or *.example.com");
    }
    return WHARF_OK;
}

/* Stores new secrets and counts them: of a row that stays as it is nothing would be written, and
 * they were taken back. */
static wharf_status secrets_new(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_json *input = W->res->input(rec, WORKFLOW_SECRETS);
    wharf_status s;

    if (!input || !W->json->count(input))
        return WHARF_OK;
    s = secrets_of_body(req, W->res->id(rec), input, false);
    if (s == WHARF_OK)
        W->res->set(rec, WORKFLOW_SECRETS_CHANGES,
            val_int(field_int(old_rec, WORKFLOW_SECRETS_CHANGES) + 1));
    return s;
}

static wharf_status workflow_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct code c;
    wharf_status s;

    if (op == WHARF_DELETE)
        return WHARF_OK;
    if (op == WHARF_UPDATE && !field_int(old_rec, WORKFLOW_ENABLED) &&
        field_int(new_rec, WORKFLOW_ENABLED)) {
        W->res->set(new_rec, WORKFLOW_FAILURE_STREAK, val_int(0));
        W->res->set(new_rec, WORKFLOW_DISABLED_REASON, val_null());
    }
    c = (struct code){.source = field_text(new_rec, WORKFLOW_SOURCE),
        .files = field_json(new_rec, WORKFLOW_FILES),
        .triggers = field_json(new_rec, WORKFLOW_TRIGGERS),
        .scopes = field_json(new_rec, WORKFLOW_SCOPES)};
    s = code_check(req, &c);
    if (s == WHARF_OK)
        s = check_everywhere(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = check_hosts(req, field_json(new_rec, WORKFLOW_HTTP_HOSTS));
    if (s == WHARF_OK)
        s = check_settings(req, field_json(new_rec, WORKFLOW_SETTINGS));
    if (s == WHARF_OK && W->res->sent(new_rec, WORKFLOW_BUDGET))
        s = budget_wanted(req, field_json(new_rec, WORKFLOW_BUDGET));
    if (s == WHARF_OK)
        s = secrets_of_body(
            req, W->res->id(new_rec), W->res->input(new_rec, WORKFLOW_SECRETS), true);
    if (s == WHARF_OK && op == WHARF_CREATE) {
        W->res->set(new_rec, WORKFLOW_DRAFT_REVISION, val_int(1));
        W->res->set(new_rec, WORKFLOW_FAILURE_STREAK, val_int(0));
        W->res->set(new_rec, WORKFLOW_SECRETS_CHANGES, val_int(0));
        s = workflow_check_count(req);
    }
    if (s == WHARF_OK && op == WHARF_UPDATE)
        s = count_revision(req, old_rec, new_rec);
    if (s == WHARF_OK && op == WHARF_UPDATE)
        s = secrets_new(req, old_rec, new_rec);
    return s;
}

/* Tells whether what is kept with its hooks changed: what they are called, where they run and
 * whether they have secrets. */
static bool shown_changed(const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    return old_rec && new_rec &&
           (W->res->changed(old_rec, new_rec, WORKFLOW_NAME) ||
               W->res->changed(old_rec, new_rec, WORKFLOW_ALLOWED_LOCATIONS) ||
               W->res->changed(old_rec, new_rec, WORKFLOW_SECRETS_CHANGES));
}

/* Enables it again: its before hooks are counted anew, and it is due from now on. */
static wharf_status enabled_again(wharf_req *req, wharf_str workflow_id)
{
    static const char sql[] =
        "UPDATE workflows.workflow SET hook_failures = 0, hook_failing_at = NULL, "
        "failing_since = NULL WHERE "
        "organization_id = $2::text AND id = $1::text";
    wharf_status s = query_about(req, sql, workflow_id, NULL);

    return s == WHARF_OK ? schedule_begin(req, workflow_id) : s;
}

/* Removes what only the workflow used. Runs that go on use its store to their end. */
static wharf_status gone(wharf_req *req, wharf_str workflow_id)
{
    static const char secrets_sql[] =
        "DELETE FROM workflows.secret WHERE organization_id = $2::text AND workflow_id = $1::text",
                      store_sql[] = "SELECT workflows.drop_store($2::text, $1::text)";
    const wharf_rows *none;
    wharf_status s = query_about(req, store_sql, workflow_id, &none);

    if (s == WHARF_OK)
        s = http_name(req, workflow_id, false);
    return s == WHARF_OK ? query_about(req, secrets_sql, workflow_id, NULL) : s;
}

/* Drops what waits of a workflow that is no more, or not to run. */
static wharf_status changed_or_gone(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char *const sqls[] = {
        "SELECT workflows.drop_waiting($2::text, $1::text, 'skipped')",
        "SELECT workflows.drop_waiting($2::text, $1::text, 'canceled')"};
    bool off = op == WHARF_UPDATE && field_int(old_rec, WORKFLOW_ENABLED) &&
               !field_int(new_rec, WORKFLOW_ENABLED);
    bool on = op == WHARF_UPDATE && !field_int(old_rec, WORKFLOW_ENABLED) &&
              field_int(new_rec, WORKFLOW_ENABLED);
    const wharf_rows *none;
    wharf_str id = W->res->id(old_rec);
    wharf_status s = on ? enabled_again(req, id) : WHARF_OK;

    if (off || op == WHARF_DELETE)
        s = schedule_clear(req, id);
    if (s == WHARF_OK && (on || off || op == WHARF_DELETE || shown_changed(old_rec, new_rec)))
        s = hooks_tell(req, id);
    if (s == WHARF_OK && (off || op == WHARF_DELETE))
        s = query_about(req, sqls[op == WHARF_DELETE], id, &none);
    return s == WHARF_OK && op == WHARF_DELETE ? gone(req, id) : s;
}

static wharf_status workflow_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    if (op != WHARF_CREATE)
        return changed_or_gone(req, op, old_rec, new_rec);
    return secrets_of_body(
        req, W->res->id(new_rec), W->res->input(new_rec, WORKFLOW_SECRETS), false);
}

static wharf_status workflow_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    return secrets_show(req, recs, n, outs);
}

/* ---- in which form one is shown ---- */

enum { VERSION_DIGITS = 18 };

/* Tells the number of a version; 0: it is none. */
static int64_t version_number(wharf_str text)
{
    bool good = text.n > 0 && text.n <= VERSION_DIGITS && text.p[0] != '0';

    for (size_t i = 0; i < text.n; i++)
        good = good && text.p[i] >= '0' && text.p[i] <= '9';
    return good ? strtoll(text.p, NULL, 10) : 0;
}

/* Finds no workflow in a form that it does not have; how it looks in one say the fields. */
static wharf_status rows(wharf_req *req, wharf_where *where)
{
    static const char sql[] =
        "SELECT 1 FROM workflows.version WHERE organization_id = $1::text AND workflow_id = "
        "$2::text AND number = COALESCE(NULLIF($3::bigint, 0), (SELECT published_version FROM "
        "workflows.workflow WHERE organization_id = $1::text AND id = $2::text))";
    wharf_str id, version;
    const wharf_rows *found;
    wharf_status s;

    if (!W->req->param(req, "id", &id) || !W->req->param(req, "version", &version) ||
        is(version, "draft"))
        return WHARF_OK;
    if (!is(version, "published") && !version_number(version))
        return W->err->fail(req, ERR_PARAM_INVALID, "version",
            "version must be draft, published or the number of a version");
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(id), val_int(version_number(version))};

    s = W->db->query(req, sql, args, 3, &found);
    if (s == WHARF_OK && !W->db->count(found))
        W->res->narrow(where, WORKFLOW_ID, "eq", val_text(WHARF_S("")));
    return s;
}

const wharf_hooks workflow_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = workflow_check,
    .written = workflow_written,
    .restrict_rows = rows,
    .compute = workflow_compute};
