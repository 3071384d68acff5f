/* job_routes.c - what is not a plain write of print jobs: reprint, the document, test pages
 * (spec 04 sections 5 and 7). */
#include "printing.h"
#include "stations.gen.h"

static const char reprint_kind[] = "stations.reprint"; /* the context: struct reprint */

const struct reprint *job_reprint(const wharf_rec *job)
{
    return W->res->context(job, reprint_kind);
}

static wharf_str path_id(wharf_req *req, const char *name)
{
    wharf_str id = {"", 0};

    W->req->param(req, name, &id);
    return id;
}

static wharf_status answer_created(wharf_req *req, wharf_str id, const char *message)
{
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "print_job", id, 0, &rec);

    if (s != WHARF_OK)
        return s;
    W->res->encode(req, W->req->respond(req, 201, message), NULL, rec);
    W->req->created(req, W->mem->format(req, "/v1/cloud-printing/jobs/%s", id.p));
    return WHARF_OK;
}

/* ---- reprint ---- */

static void job_put_member(
    wharf_out *out, const char *key, const wharf_json *override, wharf_val otherwise)
{
    if (override || otherwise.type != WHARF_V_NULL)
        W->json->put(out, key, override ? val_json(override) : otherwise);
}

/* Writes the old configuration with the members that are sent. */
static void job_put_configuration(wharf_out *out, const wharf_json *old, const wharf_json *sent)
{
    W->json->open(out, "configuration", '{');
    for (const wharf_json *m = W->json->at(old, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);

        if (!sent || !W->json->get(sent, key.p))
            W->json->put(out, key.p, val_json(m));
    }
    for (const wharf_json *m = sent ? W->json->at(sent, 0) : NULL; m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    W->json->close(out);
}

static wharf_val job_text_or_null(const wharf_rec *rec, wharf_field f)
{
    return val_text_or_null(field_text(rec, f));
}

/* Makes the body of a reprint: named as it was, unless it was routed or the body names another. */
static wharf_status reprint_body(
    wharf_req *req, const wharf_rec *old_rec, const wharf_json *sent, const wharf_json **ret)
{
    bool automatic = json_truth(W->json->get(field_json(old_rec, PRINT_JOB_ROUTING), "automatic"));
    const wharf_json *station = W->json->get(sent, "print_station_id"),
                     *printer = W->json->get(sent, "printer_name");
    bool named = !automatic && !station;
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    job_put_member(out, "name", NULL, job_text_or_null(old_rec, PRINT_JOB_NAME));
    if (!station && automatic)
        job_put_member(out, "location_id", NULL, job_text_or_null(old_rec, PRINT_JOB_LOCATION_ID));
    job_put_member(out, "print_station_id", station,
        named ? job_text_or_null(old_rec, PRINT_JOB_PRINT_STATION_ID) : val_null());
    job_put_member(out, "printer_name", printer,
        named ? job_text_or_null(old_rec, PRINT_JOB_PRINTER_NAME) : val_null());
    job_put_member(out, "priority", W->json->get(sent, "priority"),
        val_int(field_int(old_rec, PRINT_JOB_PRIORITY)));
    job_put_member(out, "resource", NULL, val_json(field_json(old_rec, PRINT_JOB_RESOURCE)));
    job_put_member(
        out, "custom_dimensions", NULL, val_json(field_json(old_rec, PRINT_JOB_CUSTOM_DIMENSIONS)));
    job_put_member(out, "metadata", NULL, val_json(field_json(old_rec, PRINT_JOB_METADATA)));
    W->json->put(out, "raw", val_bool(field_int(old_rec, PRINT_JOB_RAW) != 0));
    job_put_configuration(
        out, field_json(old_rec, PRINT_JOB_CONFIGURATION), W->json->get(sent, "configuration"));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status job_reprint_route(wharf_req *req, void *arg)
{
    const wharf_json *sent;
    const wharf_rec *old_rec, *made;
    struct reprint again = {.of = path_id(req, "job_id")};
    struct job_set counted = {PRINT_JOB_REPRINTS, {0}};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "print_job",
        .op = WHARF_CREATE,
        .kind = reprint_kind,
        .context = &again,
        .ret_rec = &made};
    wharf_status s = W->req->body(req, &sent);

    if (s == WHARF_OK)
        s = W->res->fetch(req, "print_job", again.of, 0, &old_rec);
    if (s != WHARF_OK)
        return s;
    again.source_file = field_text(old_rec, PRINT_JOB_SOURCE_FILE);
    again.content_type = json_text(field_json(old_rec, PRINT_JOB_DOCUMENT), "content_type");
    if (!again.source_file.n)
        return W->err->fail(req, ERR_PRINT_JOB_DOCUMENT_EXPIRED, NULL, NULL);
    s = reprint_body(req, old_rec, sent, &w.body);
    if (s == WHARF_OK)
        s = W->res->write(req, &w);
    if (s != WHARF_OK)
        return s;
    if (s == WHARF_OK) /* locked as late as this: who removes printers locks the station first */
        s = W->res->fetch(req, "print_job", again.of, WHARF_FOR_UPDATE, &old_rec);
    counted.value = val_int(field_int(old_rec, PRINT_JOB_REPRINTS) + 1);
    if (s == WHARF_OK)
        s = job_write(req, again.of, &counted, 1);
    return s == WHARF_OK ? answer_created(req, W->res->id(made), "Print job created") : s;
}

/* ---- the document ---- */

wharf_status job_document_route(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    wharf_str file, wanted = {"", 0};
    bool prepared;
    wharf_status s = W->res->fetch(req, "print_job", path_id(req, "job_id"), 0, &rec);

    if (s != WHARF_OK)
        return s;
    prepared = W->req->param(req, "prepared", &wanted)
                   ? param_truth(req, "prepared")
                   : W->req->actor(req).n > 4 && !memcmp(W->req->actor(req).p, "dev_", 4);
    file = field_text(rec, prepared && field_text(rec, PRINT_JOB_PREPARED_FILE).n
                               ? PRINT_JOB_PREPARED_FILE
                               : PRINT_JOB_SOURCE_FILE);
    if (!file.n)
        return W->err->fail(req, ERR_PRINT_JOB_DOCUMENT_EXPIRED, NULL, NULL);
    return print_blob->respond(req, file, WHARF_S(""), false);
}

/* ---- test pages ---- */

static const wharf_json *find_printer(const wharf_json *printers, wharf_str id)
{
    for (const wharf_json *p = printers ? W->json->at(printers, 0) : NULL; p;
         p = W->json->next(p)) {
        if (same(json_text(p, "id"), id))
            return p;
    }
    return NULL;
}

/* Makes a text that fits on the smallest label. */
static wharf_status job_test_body(wharf_req *req, wharf_str station, const wharf_json *printer,
    wharf_str size, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    wharf_str name = json_text(printer, "name");

    W->json->open(out, NULL, '{');
    W->json->put(out, "name", val_text(WHARF_S("Test page")));
    W->json->put(out, "print_station_id", val_text(station));
    W->json->put(out, "printer_name", val_text(name));
    W->json->put(out, "data",
        val_text(W->mem->format(req, "data:text/plain,Wharf%%0A%s%%0Atest page", size.p)));
    W->json->open(out, "configuration", '{');
    W->json->put(out, "paper_size", val_text(size));
    W->json->close(out);
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status printer_test_page(wharf_req *req, void *arg)
{
    wharf_str station = path_id(req, "station_id"), size = {"", 0};
    wharf_out *out = W->json->builder(req);
    const wharf_json *row, *printer, *body;
    const wharf_rec *rec, *made;
    struct station_row st;
    wharf_status s = station_read(req, station, false, &st);

    if (s == WHARF_OK)
        s = W->res->fetch(req, "print_station", station, 0, &rec);
    if (s != WHARF_OK)
        return s;
    W->res->encode(req, out, NULL, rec);
    s = W->json->result(req, out, &row);
    if (s != WHARF_OK)
        return s;
    printer = find_printer(W->json->get(row, "printers"), path_id(req, "printer_id"));
    if (!printer)
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    for (const wharf_json *m = W->json->at(W->json->get(printer, "page_size"), 0); m && !size.n;
         m = W->json->next(m))
        size = json_truth(m) ? W->json->key(m) : size;
    if (!size.n)
        return W->err->fail(req, ERR_PRINT_JOB_UNSUPPORTED, "configuration.paper_size",
            "The printer has no paper size to print a test page on");
    s = job_test_body(req, station, printer, size, &body);
    if (s == WHARF_OK)
        s = W->res->create(req, "print_job", body, &made);
    return s == WHARF_OK ? answer_created(req, W->res->id(made), "Print job created") : s;
}
