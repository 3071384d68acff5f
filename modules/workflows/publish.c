/* publish.c - from a draft to a version: check, publish, roll back, look at versions (spec 08
 * section 4). */
#include <stdlib.h>
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

wharf_status check_route(wharf_req *req, void *arg)
{
    const wharf_json *body;
    struct code c;
    wharf_out *out;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    c = (struct code){.name = WHARF_S("check"),
        .source = json_text(body, "source"),
        .files = W->json->get(body, "files"),
        .triggers = W->json->get(body, "triggers"),
        .scopes = W->json->get(body, "scopes")};
    s = code_check(req, &c);
    if (s == WHARF_OK)
        s = code_try(req, &c);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "The workflow can be published");
    W->json->open(out, NULL, '{');
    W->json->put(out, "ok", val_bool(true));
    W->json->close(out);
    return WHARF_OK;
}

/* ---- publish ---- */

/* Rights that a version needs of its publisher: a level for each area, in the order of
 * keys->areas. */
struct needed {
    const wharf_str *areas;
    size_t n;
    uint8_t *levels; /* WHARF_LEVEL_*; one more for what is no area that keys hold */
    wharf_str other;
};

void need_area(struct needed *needed, wharf_str area, uint32_t level)
{
    size_t i = 0;

    while (i < needed->n && !same(needed->areas[i], area))
        i++;
    if (i == needed->n)
        needed->other = area;
    if (needed->levels[i] < level)
        needed->levels[i] = (uint8_t)level;
}

static void need_scopes(struct needed *needed, const wharf_json *scopes)
{
    wharf_str scope;

    for (const wharf_json *e = scopes ? W->json->at(scopes, 0) : NULL; e; e = W->json->next(e)) {
        const char *colon = W->json->text(e, &scope) ? strchr(scope.p, ':') : NULL;

        if (colon)
            need_area(needed, (wharf_str){scope.p, (size_t)(colon - scope.p)},
                strcmp(colon, ":read") ? WHARF_LEVEL_WRITE : WHARF_LEVEL_READ);
    }
}

/* Checks that the publisher holds every scope itself, since runs act with them, and those of what
 * its triggers are told. All that are missing are told at once. */
static wharf_status check_held(wharf_req *req, const struct code *c)
{
    struct needed needed = {.other = WHARF_S("")};
    wharf_status s = WHARF_OK;

    needed.n = flow_keys->areas(req, &needed.areas);
    needed.levels = W->mem->alloc(req, needed.n + 1);
    memset(needed.levels, WHARF_LEVEL_NONE, needed.n + 1);
    need_scopes(&needed, c->scopes);
    hooks_need(c->triggers, &needed);
    events_need(c->triggers, &needed);
    for (size_t i = 0; i <= needed.n; i++) {
        wharf_str area = i < needed.n ? needed.areas[i] : needed.other;
        const char *level = needed.levels[i] == WHARF_LEVEL_WRITE ? "write" : "read";

        if (needed.levels[i] &&
            W->req->need_scope(req, W->mem->format(req, "%.*s:%s", (int)area.n, area.p, level).p) !=
                WHARF_OK)
            s = W->err->current(req);
    }
    return s;
}

static wharf_status insert_version(
    wharf_req *req, const struct code *c, int64_t number, const wharf_json *body)
{
    static const char sql[] = QUERY_VERSION_ADD;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(c->workflow_id),
        val_int(number), val_text_or_null(json_text(body, "note")), val_text(c->source),
        val_json(c->files), val_json(c->triggers), val_json(c->scopes), val_json(c->settings),
        val_time(W->req->now_us(req)), val_text(W->req->actor(req)),
        val_text(flow_keys->caller(req)->key_id), val_json(c->options)};

    return W->db->exec(req, sql, args, sizeof(args) / sizeof(args[0]), NULL);
}

/* Drops old versions; the last VERSIONS_KEPT stay. */
static wharf_status drop_old(wharf_req *req, wharf_str workflow_id, int64_t number)
{
    static const char sql[] =
        "DELETE FROM workflows.version WHERE organization_id = $1::text AND workflow_id = "
        "$2::text AND number <= $3::bigint";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(workflow_id),
        val_int(number - VERSIONS_KEPT)};

    return number > VERSIONS_KEPT ? W->db->exec(req, sql, args, 3, NULL) : WHARF_OK;
}

/* Makes a version current. The draft goes along when it is what is published; a version that comes
 * back leaves it alone. */
static wharf_status make_current(
    wharf_req *req, const struct code *c, int64_t number, int64_t revision)
{
    static const char sql[] =
        "UPDATE workflows.workflow SET hook_failures = 0, hook_failing_at = NULL, "
        "failing_since = NULL, published_version = $3::bigint, published_revision = "
        "$4::bigint, event_triggers = $7::boolean, hook_triggers = $8::boolean, published_at = "
        "$5::timestamptz, published_by = $6::text, updated_at = $5::timestamptz, updated_by = "
        "$6::text, version = version + 1 WHERE organization_id = $1::text AND id = $2::text";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(c->workflow_id),
        val_int(number), revision ? val_int(revision) : val_null(), val_time(W->req->now_us(req)),
        val_text(W->req->actor(req)), val_bool(trigger_has(c->triggers, "event")),
        val_bool(trigger_has(c->triggers, "hook"))};

    return W->db->exec(req, sql, args, 8, NULL);
}

static wharf_status last_number(wharf_req *req, wharf_str workflow_id, int64_t *ret)
{
    static const char sql[] =
        "SELECT COALESCE(max(number), 0) FROM workflows.version WHERE organization_id = $1::text "
        "AND workflow_id = $2::text";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(workflow_id)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    if (s == WHARF_OK)
        *ret = row_int(rows, 0, 0);
    return s;
}

/* Checks the reach: a run publishes with a key that may reach more locations than the run does. */
static wharf_status check_reach(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *list = field_json(rec, WORKFLOW_ALLOWED_LOCATIONS);
    wharf_str actor = W->req->actor(req), id;
    wharf_status s = WHARF_OK;

    if (flow_keys->caller(req)->all_locations || actor.n < 4 || memcmp(actor.p, "wkf_", 4) != 0)
        return WHARF_OK;
    if (!list || !W->json->count(list))
        return W->err->fail(req, ERR_LOCATION_ACCESS, "allowed_locations",
            "The run reaches some locations only; what it publishes has to name its own");
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        if (W->json->text(e, &id) && W->req->need_location(req, id) != WHARF_OK)
            s = W->err->current(req);
    }
    return s;
}

/* Stores the version, in a transaction: what was tried is what is published, or nothing is. */
static wharf_status publish_store(
    wharf_req *req, const struct code *c, int64_t revision, const wharf_json *body)
{
    const wharf_rec *rec;
    int64_t number = 0;
    wharf_status s = W->res->fetch(req, "workflow", c->workflow_id, WHARF_FOR_UPDATE, &rec);

    if (s == WHARF_OK && field_int(rec, WORKFLOW_DRAFT_REVISION) != revision)
        s = W->err->fail(req, ERR_WORKFLOW_DRAFT_CONFLICT, NULL, NULL);
    if (s == WHARF_OK)
        s = check_reach(req, rec);
    if (s == WHARF_OK)
        s = last_number(req, c->workflow_id, &number);
    number++;
    if (s == WHARF_OK)
        s = insert_version(req, c, number, body);
    if (s == WHARF_OK)
        s = make_current(req, c, number, c->version ? 0 : revision);
    if (s == WHARF_OK && field_int(rec, WORKFLOW_ENABLED))
        s = schedule_set(req, c->workflow_id, c->triggers);
    if (s == WHARF_OK)
        s = hooks_tell(req, c->workflow_id);
    if (s == WHARF_OK)
        s = http_name(req, c->workflow_id, trigger_has(c->triggers, "http"));
    if (s == WHARF_OK)
        s = drop_old(req, c->workflow_id, number);
    return s == WHARF_OK
               ? W->event->emit(req, "workflow.published", "workflow", c->workflow_id, NULL)
               : s;
}

static wharf_status publish_stored(
    wharf_req *req, const struct code *c, int64_t revision, const wharf_json *body)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = publish_store(req, c, revision, body);
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

/* Reads the draft, or the version that the body names. */
static wharf_status what_to_publish(
    wharf_req *req, const wharf_json *body, struct code *c, int64_t *ret_revision)
{
    const wharf_json *wanted = W->json->get(body, "version");
    const wharf_rec *rec;
    int64_t number = 0;
    bool found = true;
    wharf_status s = draft_read(req, &rec, c);

    if (s != WHARF_OK)
        return s;
    *ret_revision = field_int(rec, WORKFLOW_DRAFT_REVISION);
    if (wanted && W->json->integer(wanted, &number))
        s = version_read(req, rec, number, c, &found);
    if (s == WHARF_OK && !found)
        s = W->err->fail(
            req, ERR_NOT_FOUND, NULL, "The workflow has no version %lld", (long long)number);
    return s;
}

wharf_status publish_route(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec;
    struct code c;
    int64_t revision = 0;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s == WHARF_OK) {
        s = what_to_publish(req, body, &c, &revision);
        W->db->rollback(req); /* only read; the code is tried without a transaction */
    }
    if (s == WHARF_OK)
        s = code_check(req, &c);
    if (s == WHARF_OK)
        s = code_try(req, &c);
    if (s == WHARF_OK)
        s = check_held(req, &c);
    if (s == WHARF_OK)
        s = tests_pass(req, &c, body);
    if (s == WHARF_OK)
        s = publish_stored(req, &c, revision, body);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "workflow", c.workflow_id, 0, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Workflow published"), NULL, rec);
    return s;
}

/* ---- the draft goes ---- */

static wharf_status publish_put_back(wharf_req *req, const struct code *c)
{
    static const char *const options[] = {"retry", "concurrency", "record", "priority", "on_error"};
    static const char sql[] =
        "UPDATE workflows.workflow SET published_revision = draft_revision WHERE organization_id "
        "= $2::text AND id = $1::text";
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "source", val_text(c->source));
    W->json->put(out, "files", val_json(c->files));
    W->json->put(out, "triggers", val_json(c->triggers));
    W->json->put(out, "scopes", val_json(c->scopes));
    W->json->put(out, "settings", val_json(c->settings));
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const wharf_json *v = c->options ? W->json->get(c->options, options[i]) : NULL;

        if (!json_is_null(v))
            W->json->put(out, options[i], val_json(v));
    }
    W->json->put(out, "budget", val_json(c->options ? W->json->get(c->options, "budget") : NULL));
    W->json->put(
        out, "http_hosts", val_json(c->options ? W->json->get(c->options, "http_hosts") : NULL));
    W->json->close(out);
    s = W->json->result(req, out, &body);
    if (s == WHARF_OK)
        s = W->res->update(req, "workflow", c->workflow_id, body, &rec);
    if (s == WHARF_OK)
        s = query_about(req, sql, c->workflow_id, NULL);
    /* the update's event, with what the row shows now: there is no draft any more */
    return s == WHARF_OK ? W->event->emit(req, "workflow.updated", "workflow", c->workflow_id, NULL)
                         : s;
}

wharf_status discard_route(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    struct code c;
    bool found = false;
    wharf_status s = draft_read(req, &rec, &c);

    if (s == WHARF_OK)
        s = version_read(req, rec, 0, &c, &found);
    if (s == WHARF_OK && !found)
        return W->err->fail(req, ERR_WORKFLOW_NOT_PUBLISHED, NULL,
            "There is no published version to go back to; delete the workflow instead");
    if (s == WHARF_OK)
        s = publish_put_back(req, &c);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "workflow", c.workflow_id, 0, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Draft discarded"), NULL, rec);
    return s;
}

/* ---- versions ---- */

#define COLUMNS "number, note, sha256, published_at, published_by, triggers, scopes"

static void publish_put_version(wharf_out *out, const wharf_rows *rows, size_t i, bool source)
{
    wharf_val v;

    W->json->open(out, NULL, '{');
    W->json->put(out, "version", val_int(row_int(rows, i, 0)));
    W->json->put(out, "note", val_text_or_null(row_text(rows, i, 1)));
    W->json->put(out, "sha256", val_text(row_text(rows, i, 2)));
    if (W->db->value(rows, i, 3, WHARF_V_TIME_US, &v))
        W->json->put(out, "published_at", v);
    W->json->put(out, "published_by", val_text(row_text(rows, i, 4)));
    W->json->put(out, "triggers", val_json(row_json(rows, i, 5)));
    W->json->put(out, "scopes", val_json(row_json(rows, i, 6)));
    if (source) {
        W->json->put(out, "source", val_text(row_text(rows, i, 7)));
        W->json->put(out, "files", val_json(row_json(rows, i, 8)));
        W->json->put(out, "settings", val_json(row_json(rows, i, 9)));
    }
    W->json->close(out);
}

wharf_status versions_route(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT " COLUMNS
        " FROM workflows.version WHERE organization_id = $1::text AND workflow_id = $2::text"
        " ORDER BY number DESC LIMIT $3::bigint OFFSET $4::bigint";
    const wharf_rec *rec;
    const wharf_rows *rows;
    struct code c;
    int64_t page, limit, n;
    wharf_out *out;
    wharf_status s = draft_read(req, &rec, &c);

    if (s == WHARF_OK)
        s = W->req->page(req, 25, 100, &page, &limit);
    if (s != WHARF_OK)
        return s;
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(c.workflow_id),
        val_int(limit + 1), val_int((page - 1) * limit)};
    s = W->db->query(req, sql, args, 4, &rows);
    if (s != WHARF_OK)
        return s;
    n = (int64_t)W->db->count(rows);
    out = W->req->respond(req, 200, "Versions retrieved");
    W->json->open(out, NULL, '[');
    for (int64_t i = 0; i < n && i < limit; i++)
        publish_put_version(out, rows, (size_t)i, false);
    W->json->close(out);
    W->req->paged(req, page, limit, n > limit);
    return WHARF_OK;
}

wharf_status version_route(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT " COLUMNS ", source, files, settings FROM workflows.version"
        " WHERE organization_id = $1::text AND workflow_id = $2::text AND number::text = $3::text";
    const wharf_rec *rec;
    const wharf_rows *rows;
    wharf_str number = {"", 0};
    struct code c;
    wharf_status s = draft_read(req, &rec, &c);

    if (s != WHARF_OK)
        return s;
    W->req->param(req, "number", &number);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(c.workflow_id), val_text(number)};
    s = W->db->query(req, sql, args, 3, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, "The workflow has no version %s", number.p);
    publish_put_version(W->req->respond(req, 200, "Version retrieved"), rows, 0,
        flow_keys->level(req, WHARF_S("workflow")) == WHARF_LEVEL_WRITE);
    return WHARF_OK;
}
