/* export_rules.c - what may be exported, links to the files, and canceling (spec 01 section 15). */
#include "exports.h"

#include "exports.gen.h"

/* ---- what is asked for ---- */

/* Resources of the specification whose modules may be absent. */
static const char *const known[] = {"contact", "group", "fulfillment", "item", "location",
    "manifest", "shipment", "tracker", "shipping_label_inference", "asset", "container", "parcel",
    "audit", "document", "log"};

wharf_str area_of(wharf_req *req, wharf_str resource)
{
    const wharf_json *definition = exports_kernel->definition(req, resource.p);
    const wharf_json *x = definition ? W->json->get(definition, "x-wharf") : NULL;
    wharf_str area = WHARF_S("");

    if (x && (W->json->get(x, "export") || export_source_of(resource))) {
        W->json->text(W->json->get(x, "scope"), &area);
        return area;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (!definition && is(resource, known[i])) {
            W->err->fail(req, ERR_EXPORT_RESOURCE_UNAVAILABLE, "resource", NULL);
            return area;
        }
    }
    W->err->fail(req, ERR_VALIDATION_FAILED, "resource", "There are no exports of this resource");
    return area;
}

static wharf_status export_bad(wharf_req *req, const char *member, const char *message)
{
    return W->err->add(req, ERR_VALIDATION_FAILED, member, "%s", message);
}

static bool export_named(const wharf_str *names, size_t n, wharf_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (same(names[i], name))
            return true;
    }
    return false;
}

static wharf_status check_columns(
    wharf_req *req, const wharf_json *columns, const wharf_str *names, size_t n)
{
    bool truth, any = false;

    for (const wharf_json *c = columns ? W->json->at(columns, 0) : NULL; c; c = W->json->next(c)) {
        wharf_str name = W->json->key(c);

        any |= W->json->truth(c, &truth) && truth;
        if (!export_named(names, n, name))
            export_bad(req,
                W->mem->format(req, "csv_field_options.columns.%.*s", (int)name.n, name.p).p,
                "The list has no member of this name");
    }
    if (columns && !any && W->err->current(req) == WHARF_OK)
        export_bad(req, "csv_field_options.columns", "Name at least one column, with true");
    return W->err->current(req);
}

static wharf_status check_csv(wharf_req *req, const wharf_json *o, const wharf_str *names, size_t n)
{
    const wharf_json *columns = W->json->get(o, "columns"),
                     *format = W->json->get(o, "datetime_format");
    wharf_str s;
    bool good = true;

    if (W->json->get(o, "timezone") && W->json->text(W->json->get(o, "timezone"), &s)) {
        wharf_status status = date_zone_known(req, s, &good);

        if (status != WHARF_OK)
            return status;
    }
    if (!good)
        export_bad(req, "csv_field_options.timezone",
            "timezone must be a name of the IANA list, such as America/New_York");
    if (format && W->json->text(format, &s) && !date_format_good(s))
        export_bad(req, "csv_field_options.datetime_format",
            "datetime_format has the tokens y M d H h m s S a; other letters stand in 'quotes'");
    return check_columns(
        req, columns && W->json->type(columns) == WHARF_J_OBJECT ? columns : NULL, names, n);
}

/* Keeps the columns in the order in which they were sent. */
static void keep_columns(wharf_req *req, wharf_rec *rec, const wharf_json *csv)
{
    const wharf_json *columns = csv ? W->json->get(csv, "columns") : NULL, *list;
    wharf_out *out = W->json->builder(req);
    bool truth;

    if (!columns || W->json->type(columns) != WHARF_J_OBJECT)
        return;
    W->json->open(out, NULL, '[');
    for (const wharf_json *c = W->json->at(columns, 0); c; c = W->json->next(c)) {
        if (W->json->truth(c, &truth) && truth)
            W->json->put(out, NULL, val_text(W->json->key(c)));
    }
    W->json->close(out);
    if (W->json->result(req, out, &list) == WHARF_OK)
        W->res->set(rec, EXPORT_CHOSEN_COLUMNS, val_json(list));
}

static wharf_status export_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec)
{
    static const wharf_field counts[] = {
        EXPORT_EXPORTED_ROWS, EXPORT_ERROR_ROWS, EXPORT_SANITIZED_ROWS, EXPORT_PROGRESS};
    wharf_str resource = field_text(rec, EXPORT_RESOURCE), area = area_of(req, resource);
    const wharf_json *csv = W->res->input(rec, EXPORT_CSV_FIELD_OPTIONS);
    const wharf_export_source *source = export_source_of(resource);
    const wharf_caller *caller = exports_keys->caller(req);
    const wharf_str *names;
    size_t n;
    wharf_status s;

    (void)op, (void)old_rec;
    if (!area.n)
        return W->err->current(req);
    s = W->req->need_scope(req, W->mem->format(req, "%.*s:read", (int)area.n, area.p).p);
    if (s == WHARF_OK && !field_json(rec, EXPORT_OPTIONS))
        s = W->err->add(req, ERR_VALIDATION_FAILED, "options", "options must be an object");
    if (s == WHARF_OK)
        s = export_names(req, resource, field_json(rec, EXPORT_OPTIONS), &names, &n);
    if (s == WHARF_OK && source)
        s = source->check(req, field_json(rec, EXPORT_OPTIONS), OPTIONS);
    if (s == WHARF_OK && csv && W->json->type(csv) == WHARF_J_OBJECT)
        s = check_csv(req, csv, names, n);
    keep_columns(req, rec, csv);
    W->res->set(rec, EXPORT_KEY_ID, val_text(caller->key_id));
    W->res->set(rec, EXPORT_STATE, val_text(WHARF_S("queued")));
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        W->res->set(rec, counts[i], val_int(0));
    return s;
}

static wharf_status export_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *rec)
{
    wharf_out *args = W->json->builder(req);
    const wharf_json *value;
    wharf_status s;

    (void)op, (void)old_rec;
    W->json->open(args, NULL, '{');
    W->json->put(args, "id", val_text(W->res->id(rec)));
    W->json->close(args);
    s = W->json->result(req, args, &value);
    return s == WHARF_OK ? W->event->enqueue(req, "run", WHARF_S(""), value, 0) : s;
}

/* ---- links ---- */

static bool asked(const wharf_req *req, const char *flag)
{
    wharf_str v;

    return W->req->param(req, flag, &v) && (is(v, "true") || is(v, "1") || is(v, "yes"));
}

/* Judges whether the caller may have the files. They hold what the creator saw. Others get them
 * when they may see all of it themselves. */
static bool may_have(wharf_req *req, const wharf_rec *rec)
{
    const wharf_caller *caller = exports_keys->caller(req);
    const wharf_json *definition = exports_kernel->definition(
        req, field_text(rec, EXPORT_RESOURCE).p);
    const wharf_json *x = definition ? W->json->get(definition, "x-wharf") : NULL;
    wharf_str area = WHARF_S("");

    if (x)
        W->json->text(W->json->get(x, "scope"), &area);
    if (!area.n || exports_keys->level(req, area) < WHARF_LEVEL_READ)
        return false;
    return caller->all_locations || same(caller->key_id, field_text(rec, EXPORT_KEY_ID));
}

static wharf_status export_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    static const struct {
        wharf_field shown, file;
        const char *flag;
    } links[] = {{EXPORT__CSV_URL, EXPORT_CSV_FILE, "include_csv"},
        {EXPORT__JSON_URL, EXPORT_JSON_FILE, "include_json"},
        {EXPORT__CSV_ERROR_URL, EXPORT_CSV_ERROR_FILE, "include_csv"},
        {EXPORT__CSV_SANITIZED_URL, EXPORT_CSV_SANITIZED_FILE, "include_csv"}};
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_str url = WHARF_S(""), file = WHARF_S("");
        bool wanted = false;

        for (size_t k = 0; k < sizeof(links) / sizeof(*links); k++) {
            if (links[k].shown != f)
                continue;
            file = field_text(recs[i], links[k].file);
            wanted = asked(req, links[k].flag);
        }
        if (wanted && file.n && is(field_text(recs[i], EXPORT_STATUS), "completed") &&
            may_have(req, recs[i]))
            s = exports_blob->link(req, file, WHARF_BLOB_GET, 900, &url);
        W->json->put(outs[i], NULL, url.n ? val_text(url) : val_null());
    }
    return s;
}

const wharf_hooks export_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = export_check,
    .written = export_written,
    .compute = export_compute};

/* ---- canceling ---- */

static wharf_status export_answer(wharf_req *req, wharf_str id, bool canceled)
{
    const wharf_rec *rec;
    wharf_status s;

    if (!canceled) {
        wharf_out *out = W->req->respond(req, 200, "Export deleted");

        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(id));
        W->json->put(out, "object", val_text(WHARF_S("export")));
        W->json->put(out, "deleted", val_bool(true));
        W->json->close(out);
        return WHARF_OK;
    }
    s = W->res->fetch(req, "export", id, 0, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Export canceled"), NULL, rec);
    return s;
}

/* Deletes an export. What is not over is canceled and stays to be seen; what is over goes, with
 * its files. */
wharf_status exports_delete(wharf_req *req, void *arg)
{
    static const char cancel_sql[] = "UPDATE exports.export SET state = 'canceled', finished_at = "
                                     "$3::timestamptz, expires_at = $3::timestamptz +"
                                     " interval '1 day', updated_at = $3::timestamptz, version = "
                                     "version + 1 WHERE organization_id = $1::text"
                                     " AND id = $2::text AND state IN ('queued', 'processing')";
    static const char files_sql[] =
        "SELECT f FROM exports.export e CROSS JOIN LATERAL unnest(ARRAY[e.csv_file, e.json_file,"
        " e.csv_error_file, e.csv_sanitized_file]) f WHERE e.organization_id = $1::text"
        " AND e.id = $2::text AND f IS NOT NULL";
    static const char delete_sql[] =
        "DELETE FROM exports.export WHERE organization_id = $1::text AND id = $2::text";
    const wharf_rec *rec;
    const wharf_rows *rows;
    uint64_t n = 0;
    wharf_str id = WHARF_S("");
    wharf_status s;

    (void)arg;
    W->req->param(req, "export", &id);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(id), val_time(W->req->now_us(req))};

    s = W->res->fetch(req, "export", id, WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK)
        s = W->db->exec(req, cancel_sql, args, 3, &n);
    if (s != WHARF_OK || n)
        return s == WHARF_OK ? export_answer(req, id, true) : s;
    s = W->db->query(req, files_sql, args, 2, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        s = exports_blob->remove(req, row_text(rows, i, 0));
        s = s == WHARF_NOT_FOUND ? WHARF_OK : s; /* it has expired */
    }
    if (s == WHARF_OK)
        s = W->db->exec(req, delete_sql, args, 2, NULL);
    return s == WHARF_OK ? export_answer(req, id, false) : s;
}
