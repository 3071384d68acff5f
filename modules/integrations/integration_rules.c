/* integration_rules.c - what may stand in an integration (spec 07 section 12). Events,
 * locations, filters, headers and URLs are judged as those of webhooks are.
 *
 * Leaves to others: secrets (integration_secrets.c), what is done with it (incoming.c,
 * outgoing.c). */
#include "integrations.gen.h"
#include "integrations.h"

static wharf_status integration_need(
    wharf_req *req, const wharf_rec *rec, wharf_field f, const char *path, const char *direction)
{
    wharf_val v;

    if (W->res->get(rec, f, &v) && (v.type != WHARF_V_JSON || !json_is_null(v.u.j)))
        return WHARF_OK;
    return W->err->add(
        req, ERR_VALIDATION_FAILED, path, "An %s integration needs %s", direction, path);
}

/* Refuses what belongs to the other direction. */
static void integration_refuse(
    wharf_req *req, const wharf_rec *rec, wharf_field f, const char *path, const char *direction)
{
    wharf_val v;

    if (W->res->get(rec, f, &v) &&
        (v.type != WHARF_V_JSON ||
            (!json_is_null(v.u.j) && (f != INTEGRATION_HEADERS || W->json->count(v.u.j)))))
        W->err->add(
            req, ERR_VALIDATION_FAILED, path, "An %s integration has no %s", direction, path);
}

struct rule {
    wharf_field field;
    const char *path;
    bool needed;
};
static const struct rule outgoing_rules[] = {{INTEGRATION_EVENTS, "events", true},
    {INTEGRATION_URL, "url", true}, {INTEGRATION_LOCATION_IDS, "location_ids", false},
    {INTEGRATION_FILTER, "filter", false}, {INTEGRATION_METHOD, "method", false},
    {INTEGRATION_HEADERS, "headers", false}};
static const struct rule incoming_rules[] = {{INTEGRATION_AUTH, "auth", true}};
enum {
    OUTGOING_RULES = sizeof(outgoing_rules) / sizeof(*outgoing_rules),
    INCOMING_RULES = sizeof(incoming_rules) / sizeof(*incoming_rules),
};

/* Tells whether a workflow makes the requests, or gets them. */
static bool has_workflow(const wharf_rec *rec)
{
    return field_text(rec, INTEGRATION_WORKFLOW_ID).n != 0;
}

static wharf_status check_direction(wharf_req *req, const wharf_rec *rec, bool outgoing)
{
    const struct rule *own = outgoing ? outgoing_rules : incoming_rules;
    const struct rule *others = outgoing ? incoming_rules : outgoing_rules;
    size_t n_own = outgoing ? OUTGOING_RULES : INCOMING_RULES,
           n_others = outgoing ? INCOMING_RULES : OUTGOING_RULES;
    const char *direction = outgoing ? "outgoing" : "incoming";

    for (size_t i = 0; i < n_own; i++) {
        if (own[i].needed && !(own[i].field == INTEGRATION_URL && has_workflow(rec)))
            integration_need(req, rec, own[i].field, own[i].path, direction);
    }
    for (size_t i = 0; i < n_others; i++)
        integration_refuse(req, rec, others[i].field, others[i].path, direction);
    return W->err->current(req);
}

/* ---- outgoing ---- */

static void integration_keep(wharf_rec *rec, wharf_field f, wharf_status s, const wharf_json *list)
{
    if (s == WHARF_OK && list)
        W->res->set(rec, f, val_json(list));
}

static wharf_status integration_check_headers(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *given = field_json(new_rec, INTEGRATION_HEADERS), *shown;
    wharf_str values;
    wharf_status s = WHARF_OK;

    if (!given)
        return s;
    s = int_rules->headers(
        req, given, field_text(old_rec, INTEGRATION_SEALED_HEADERS), "headers", &shown, &values);
    if (s != WHARF_OK)
        return s;
    W->res->set(new_rec, INTEGRATION_HEADERS, val_json(shown));
    W->res->set(new_rec, INTEGRATION_SEALED_HEADERS, val_text_or_null(values));
    return s;
}

/* Sets the owner. A key that chooses what is sent, or where to, gives the integration its own
 * rights: else it would read with those of another key. */
static wharf_status take_owner(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_val key;
    wharf_status s;

    if (old_rec && !W->res->sent(new_rec, INTEGRATION_EVENTS) &&
        !W->res->sent(new_rec, INTEGRATION_LOCATION_IDS) &&
        !W->res->changed(old_rec, new_rec, INTEGRATION_URL) &&
        !W->res->changed(old_rec, new_rec, INTEGRATION_WORKFLOW_ID))
        return WHARF_OK;
    s = int_rules->owner(req, field_json(new_rec, INTEGRATION_EVENTS), &key);
    if (s == WHARF_OK)
        W->res->set(new_rec, INTEGRATION_OWNER_KEY, key);
    return s;
}

static wharf_status check_outgoing(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *list = NULL;
    wharf_status s = WHARF_OK;

    if (W->res->sent(new_rec, INTEGRATION_URL) && field_text(new_rec, INTEGRATION_URL).n)
        s = int_rules->url(req, field_text(new_rec, INTEGRATION_URL), "url");
    if (s == WHARF_OK && W->res->sent(new_rec, INTEGRATION_EVENTS)) {
        s = int_rules->events(req, field_json(new_rec, INTEGRATION_EVENTS), "events", &list);
        integration_keep(new_rec, INTEGRATION_EVENTS, s, list);
    }
    if (s == WHARF_OK && (op == WHARF_CREATE || W->res->sent(new_rec, INTEGRATION_LOCATION_IDS))) {
        const wharf_json *given = field_json(new_rec, INTEGRATION_LOCATION_IDS);

        s = int_rules->locations(req, json_is_null(given) ? NULL : given, "location_ids", &list);
        integration_keep(new_rec, INTEGRATION_LOCATION_IDS, s, list);
    }
    if (s == WHARF_OK)
        s = take_owner(req, old_rec, new_rec);
    if (s == WHARF_OK && W->res->sent(new_rec, INTEGRATION_FILTER)) {
        const wharf_json *given = field_json(new_rec, INTEGRATION_FILTER);

        s = int_rules->filter(req, json_is_null(given) ? NULL : given, "filter");
    }
    if (s == WHARF_OK && W->res->sent(new_rec, INTEGRATION_HEADERS))
        s = integration_check_headers(req, old_rec, new_rec);
    if (s == WHARF_OK && !field_text(new_rec, INTEGRATION_METHOD).n)
        W->res->set(new_rec, INTEGRATION_METHOD, val_text(WHARF_S("POST")));
    return s;
}

/* ---- incoming ---- */

static wharf_status check_auth(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *auth = field_json(rec, INTEGRATION_AUTH);
    wharf_str type = json_text(auth, "type");
    bool header = json_text(auth, "header").n, username = json_text(auth, "username").n;

    if (header != is(type, "hmac_sha256"))
        W->err->add(req, ERR_VALIDATION_FAILED, "auth.header",
            header ? "auth.header goes with hmac_sha256 only"
                   : "hmac_sha256 needs the name of the header");
    if (username != is(type, "basic"))
        W->err->add(req, ERR_VALIDATION_FAILED, "auth.username",
            username ? "auth.username goes with basic only" : "basic needs a username");
    if (memchr(json_text(auth, "username").p, ':', json_text(auth, "username").n))
        W->err->add(req, ERR_VALIDATION_FAILED, "auth.username", "The username has no colon");
    return W->err->current(req);
}

/* ---- workflows ---- */

/* Checks a workflow that is named from now on, and what the server itself would send: that has no
 * place beside it. */
static wharf_status check_workflow(
    wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str id = field_text(new_rec, INTEGRATION_WORKFLOW_ID);
    const wharf_json *headers = field_json(new_rec, INTEGRATION_HEADERS);

    if (!id.n)
        return WHARF_OK;
    if (headers && !json_is_null(headers) && W->json->count(headers))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "headers",
            "The workflow makes the requests, with headers of its own: leave them out");
    if (old_rec && !W->res->changed(old_rec, new_rec, INTEGRATION_WORKFLOW_ID))
        return WHARF_OK;
    return int_flows ? int_flows->choose(req, id, "workflow_id")
                     : W->err->fail(req, ERR_VALIDATION_FAILED, "workflow_id",
                           "There are no workflows on this server: its module is not on");
}

/* ---- hooks ---- */

static wharf_status integration_check_limit(wharf_req *req)
{
    static const char sql[] = "SELECT count(*) FROM integrations.integration WHERE organization_id "
                              "= $1::text AND deleted_at IS NULL";
    wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->lock(req, "integrations", organization.u.s);

    if (s == WHARF_OK)
        s = W->db->query(req, sql, &organization, 1, &rows);
    if (s == WHARF_OK && row_int(rows, 0, 0) >= INTEGRATIONS_MAX)
        return W->err->fail(req, ERR_INTEGRATION_LIMIT, NULL, NULL);
    return s;
}

static wharf_status integration_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    bool outgoing = is(field_text(old_rec ? old_rec : new_rec, INTEGRATION_DIRECTION), "outgoing");
    wharf_status s = old_rec && outgoing
                         ? int_rules->reach(req, field_json(old_rec, INTEGRATION_LOCATION_IDS))
                         : WHARF_OK;

    if (s != WHARF_OK || op == WHARF_DELETE)
        return s;
    s = check_direction(req, new_rec, outgoing);
    if (s == WHARF_OK)
        s = check_workflow(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = outgoing ? check_outgoing(req, op, old_rec, new_rec) : check_auth(req, new_rec);
    return s == WHARF_OK && op == WHARF_CREATE ? integration_check_limit(req) : s;
}

/* Registers the id of an incoming integration: it is found in a path before it is known whose it
 * is. */
static wharf_status integration_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_rec *rec = new_rec ? new_rec : old_rec;
    wharf_str id = W->res->id(rec);

    if (op == WHARF_UPDATE || is(field_text(rec, INTEGRATION_DIRECTION), "outgoing"))
        return WHARF_OK;
    return op == WHARF_CREATE ? int_tokens->name(req, INCOMING_KIND, id, id)
                              : int_tokens->revoke(req, INCOMING_KIND, id);
}

const wharf_hooks integration_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = integration_check, .written = integration_written};
