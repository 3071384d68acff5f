/* template_rules.c - the rules of templates (docs/spec/05-documents-and-templates.md section 7):
 * what template_data holds, which one is the default of its type, versions. Leaves the definition
 * to template_body.c. */
#include "templates.h"
#include "templates.gen.h"

enum {
    VERSIONS_KEPT = 20, /* versions of a template */
    BUILTIN_MAX = 32
};
static const char status_kind[] = "templates.status"; /* of a write that sets only the status */
static const char data_text[] = "template_data";

/* ---- those that come with the server ---- */

/* Writes the built-in ones as a list: type, name, dimensions. */
static wharf_status list_builtin(wharf_req *req, wharf_str *ret_text)
{
    wharf_out *out = W->json->writer(req);
    wharf_status s = WHARF_OK;
    const wharf_json *m;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && stock_type(i); i++) {
        s = stock_find(req, z(stock_type(i)), &m);
        if (s != WHARF_OK)
            return s;
        W->json->open(out, NULL, '{');
        W->json->put(out, "type", val_text(json_text(m, "type")));
        W->json->put(out, "name", val_text(json_text(m, "name")));
        W->json->put(out, "dimensions", val_text(stock_usual_size(m)));
        W->json->close(out);
    }
    W->json->close(out);
    *ret_text = W->json->result_text(out);
    return s;
}

/* Tells whether the organization has all of them. */
static wharf_status has_builtin(wharf_req *req, bool *ret_all)
{
    static const char sql[] =
        "SELECT count(*) FROM templates.template WHERE organization_id = $1::text AND builtin";
    const wharf_val arg = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, &arg, 1, &rows);

    *ret_all = s == WHARF_OK && row_int(rows, 0, 0) >= (int64_t)stock_count();
    return s;
}

/* Makes those that it does not have. */
static wharf_status make_builtin(wharf_req *req)
{
    wharf_str ids[BUILTIN_MAX], text;
    wharf_val args[4] = {val_text(W->req->organization(req))};
    bool all;
    wharf_status s = has_builtin(req, &all);

    if (s == WHARF_OK && !all)
        s = list_builtin(req, &text);
    if (s != WHARF_OK || all)
        return s;
    for (size_t i = 0; i < BUILTIN_MAX; i++)
        ids[i] = W->req->new_id(req, "temp");
    args[1] = val_array(req, ids, BUILTIN_MAX);
    args[2] = val_text(text);
    args[3] = val_int(W->req->now_us(req));
    return W->db->exec(req, QUERY_BUILTIN_MAKE, args, 4, NULL);
}

wharf_status templates_builtin(wharf_req *req)
{
    wharf_status s = W->db->begin(req); /* a read has none that would be committed */

    return s == WHARF_OK ? end_with(req, make_builtin(req)) : s;
}

wharf_status version_find(
    wharf_req *req, wharf_str id, wharf_str version, const wharf_rows **ret_rows)
{
    static const char sql[] =
        "SELECT template_data FROM templates.template_version WHERE organization_id = $1::text AND "
        "template_id = $2::text AND number::text = $3::text";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(id), val_text(version)};

    return W->db->query(req, sql, args, 3, ret_rows);
}

static wharf_status template_rows(wharf_req *req, wharf_where *where)
{
    wharf_str version, id;
    const wharf_rows *rows;
    wharf_status s = templates_builtin(req);

    if (s != WHARF_OK || !W->req->param(req, "version", &version))
        return s;
    if (!W->req->param(req, "id", &id))
        return W->err->fail(req, ERR_PARAM_INVALID, "version",
            "version is asked of one template; a list shows the current ones");
    s = version_find(req, id, version, &rows);
    if (s == WHARF_OK && !W->db->count(rows))
        W->res->narrow(where, TEMPLATE_ID, "eq", val_text(WHARF_S("")));
    return s;
}

/* ---- template_data ---- */

static void judge_stock(
    wharf_req *req, const wharf_json *data, const wharf_json *stock, const struct place *root)
{
    const struct place at = {.up = root, .key = "dimensions"};
    wharf_str size = json_text(data, "dimensions");

    if (size.n && !stock_has_size(stock, size))
        place_wrong(req, &at, "is no size of this type; GET /v1/templates/schema lists them");
}

static wharf_str template_size_of(
    wharf_req *req, const wharf_json *data, const wharf_json *definition, const wharf_json *stock)
{
    wharf_str size = definition ? json_text(definition, "size") : json_text(data, "dimensions");

    if (definition)
        return size.n ? text_lower(req, size) : WHARF_S("a4");
    return size.n ? size : stock_usual_size(stock);
}

wharf_status data_judge(wharf_req *req, const wharf_json *data, const struct place *root,
    const wharf_json **ret_stock, const wharf_json **ret_body)
{
    const struct place at = {.up = root, .key = "definition"};
    const wharf_json *definition = W->json->get(data, "definition");
    bool custom = is(json_text(data, "type"), "custom__pdf");
    struct page page;
    wharf_status s;

    shape_judge(req, shape_named("TemplateDataInput"), data, root);
    if (custom && json_is_null(definition))
        place_wrong(req, &at, "is needed with the type custom__pdf");
    if (!custom && !json_is_null(definition))
        place_wrong(req, &at, "goes with the type custom__pdf; this one takes texts for its slots");
    if (custom && !json_is_null(definition))
        body_judge(req, definition, NULL, &at, &page);
    s = W->err->current(req);
    if (s == WHARF_OK)
        s = stock_find(req, json_text(data, "type"), ret_stock);
    if (s == WHARF_OK && !custom)
        judge_stock(req, data, *ret_stock, root);
    if (s == WHARF_OK)
        s = W->err->current(req);
    *ret_body = definition;
    if (s == WHARF_OK && !custom)
        s = stock_compose(
            req, *ret_stock, data, template_size_of(req, data, NULL, *ret_stock), ret_body);
    return s;
}

/* Judges template_data, and sets what follows of it. */
static wharf_status settle_data(wharf_req *req, wharf_rec *rec)
{
    static const struct place root = {.key = data_text};
    const wharf_json *data = field_json(rec, TEMPLATE_TEMPLATE_DATA), *stock, *body, *paths;
    bool custom = is(json_text(data, "type"), "custom__pdf");
    wharf_status s = data_judge(req, data, &root, &stock, &body);

    if (s == WHARF_OK)
        s = placeholders_find(req, body, &paths);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, TEMPLATE_TYPE, val_text(json_text(data, "type")));
    W->res->set(rec, TEMPLATE_DIMENSIONS,
        val_text_or_null(template_size_of(req, data, custom ? body : NULL, stock)));
    W->res->set(rec, TEMPLATE_PLACEHOLDERS, val_json(paths));
    return WHARF_OK;
}

/* ---- the default ---- */

struct status_write {
    const char *status;
};

static wharf_status template_set_status(wharf_req *req, wharf_str id, const char *status)
{
    struct status_write context = {status};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "template",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = status_kind,
        .context = &context};
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &w.body);

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* Finds the default of exactly this location, or of all. Answers an empty text when there is
 * none. */
static wharf_status template_find_default(
    wharf_req *req, wharf_str type, wharf_str location, wharf_str *ret_id)
{
    static const char sql[] =
        "SELECT id FROM templates.template WHERE organization_id = $1::text AND type = $2::text "
        "AND "
        "coalesce(location_id, '') = $3::text AND status = 'default' AND deleted_at IS NULL";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(type), val_text(location)};
    const wharf_rows *rows;
    wharf_status s = W->db->lock(req, "templates.default", type);

    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    if (s == WHARF_OK)
        *ret_id = W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

/* Makes room for a new default: the one before becomes custom. */
static wharf_status template_take_place(wharf_req *req, const wharf_rec *rec)
{
    wharf_str before;
    wharf_status s = template_find_default(
        req, field_text(rec, TEMPLATE_TYPE), field_text(rec, TEMPLATE_LOCATION_ID), &before);

    if (s != WHARF_OK || !before.n || same(before, W->res->id(rec)))
        return s;
    return template_set_status(req, before, "custom");
}

/* Makes the built-in one the default again, where none is left for all locations. */
static wharf_status template_give_back(wharf_req *req, wharf_str type)
{
    static const char sql[] = "SELECT id FROM templates.template WHERE organization_id = $2::text "
                              "AND type = $1::text AND builtin";
    const wharf_rows *rows;
    wharf_str now;
    wharf_status s = template_find_default(req, type, WHARF_S(""), &now);

    if (s != WHARF_OK || now.n)
        return s;
    s = query_about(req, sql, type, &rows);
    return s == WHARF_OK && W->db->count(rows)
               ? template_set_status(req, row_text(rows, 0, 0), "default")
               : s;
}

/* ---- check ---- */

static bool is_default(const wharf_rec *rec)
{
    return is(field_text(rec, TEMPLATE_STATUS), "default");
}

/* Settles the status of a template that is created or updated. */
static wharf_status template_settle_status(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    bool was = old_rec && is_default(old_rec),
         wanted = W->res->sent(rec, TEMPLATE_SET_AS_DEFAULT)
                      ? field_int(rec, TEMPLATE_SET_AS_DEFAULT) != 0
                      : was;

    if (!old_rec || wanted != was)
        W->res->set(
            rec, TEMPLATE_STATUS, val_text(wanted ? WHARF_S("default") : WHARF_S("custom")));
    return wanted ? template_take_place(req, rec) : WHARF_OK;
}

static wharf_status template_check_create(wharf_req *req, wharf_rec *rec)
{
    wharf_status s = make_builtin(req);

    if (s == WHARF_OK)
        s = settle_data(req, rec);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, TEMPLATE_BUILTIN, val_bool(false));
    W->res->set(rec, TEMPLATE_VERSION, val_int(1));
    return template_settle_status(req, NULL, rec);
}

static bool template_is_changed(const wharf_rec *old_rec, const wharf_rec *rec)
{
    return W->res->changed(old_rec, rec, TEMPLATE_NAME) ||
           W->res->changed(old_rec, rec, TEMPLATE_LOCATION_ID) ||
           W->res->changed(old_rec, rec, TEMPLATE_TEMPLATE_DATA);
}

static wharf_status template_check_update(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    static const struct place root = {.key = data_text}, type = {.up = &root, .key = "type"};
    bool builtin = field_int(old_rec, TEMPLATE_BUILTIN) != 0;
    wharf_status s = WHARF_OK;

    if (builtin &&
        (template_is_changed(old_rec, rec) || (W->res->sent(rec, TEMPLATE_SET_AS_DEFAULT) &&
                                                  !field_int(rec, TEMPLATE_SET_AS_DEFAULT))))
        return W->err->fail(req, ERR_TEMPLATE_BUILTIN, NULL, NULL);
    if (W->res->changed(old_rec, rec, TEMPLATE_TEMPLATE_DATA)) {
        s = settle_data(req, rec);
        if (s == WHARF_OK &&
            !same(field_text(old_rec, TEMPLATE_TYPE), field_text(rec, TEMPLATE_TYPE)))
            place_wrong(req, &type, "can't be changed; make another template");
        s = W->err->current(req);
    }
    if (s == WHARF_OK)
        s = template_settle_status(req, old_rec, rec);
    if (s == WHARF_OK &&
        (template_is_changed(old_rec, rec) || W->res->changed(old_rec, rec, TEMPLATE_STATUS)))
        W->res->set(rec, TEMPLATE_VERSION, val_int(field_int(old_rec, TEMPLATE_VERSION) + 1));
    return s;
}

static wharf_status template_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const struct status_write *only = new_rec ? W->res->context(new_rec, status_kind) : NULL;

    if (op == WHARF_DELETE)
        return field_int(old_rec, TEMPLATE_BUILTIN)
                   ? W->err->fail(req, ERR_TEMPLATE_BUILTIN, NULL, NULL)
                   : WHARF_OK;
    if (only) {
        W->res->set(new_rec, TEMPLATE_STATUS, val_text(z(only->status)));
        return WHARF_OK;
    }
    return op == WHARF_CREATE ? template_check_create(req, new_rec)
                              : template_check_update(req, old_rec, new_rec);
}

/* ---- written ---- */

static wharf_status keep_version(wharf_req *req, const wharf_rec *rec)
{
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(W->res->id(rec)),
        val_int(field_int(rec, TEMPLATE_VERSION)),
        val_json(field_json(rec, TEMPLATE_TEMPLATE_DATA)), val_time(W->req->now_us(req)),
        val_text_or_null(W->req->actor(req)), val_int(VERSIONS_KEPT)};

    return W->db->exec(req, QUERY_VERSION_ADD, args, sizeof(args) / sizeof(args[0]), NULL);
}

static wharf_status template_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    bool was = old_rec && is_default(old_rec) && !field_text(old_rec, TEMPLATE_LOCATION_ID).n,
         is_now = op != WHARF_DELETE && is_default(new_rec) &&
                  !field_text(new_rec, TEMPLATE_LOCATION_ID).n;
    wharf_status s = WHARF_OK;

    if (new_rec && W->res->context(new_rec, status_kind)) {
        W->res->row_kept(new_rec);
        return WHARF_OK;
    }
    if (op != WHARF_DELETE &&
        (!old_rec || field_int(old_rec, TEMPLATE_VERSION) != field_int(new_rec, TEMPLATE_VERSION)))
        s = keep_version(req, new_rec);
    if (s == WHARF_OK && was && !is_now)
        s = template_give_back(req, field_text(old_rec, TEMPLATE_TYPE));
    if (s == WHARF_OK && op != WHARF_DELETE)
        W->res->row_kept(new_rec);
    return s;
}

const wharf_hooks template_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = template_check,
    .written = template_written,
    .restrict_rows = template_rows};

/* ---- locations that go ---- */

static wharf_status template_location_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] = "SELECT id FROM templates.template WHERE organization_id = $2::text "
                              "AND location_id = $1::text AND deleted_at IS NULL ORDER BY id";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, W->res->id(old_rec), &rows);

    (void)op;
    (void)new_rec;
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = W->res->remove(req, "template", row_text(rows, i, 0));
    return s;
}

const wharf_hooks template_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = template_location_written, .ops = WHARF_DELETE};
