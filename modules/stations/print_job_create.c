/* print_job_create.c - the rules of making a print job, in the order of spec 04 section 7
 * 'Create': station and printer, document, paper size, capability, room. All before the row is
 * written. */
#include <math.h>

#include "print_job_plan.h"

enum { NAME_TAIL = 6 };

/* ---- where ---- */

/* Sets the station's location as the job's. */
static wharf_status settle_location(wharf_req *req, wharf_rec *job)
{
    wharf_str station = field_text(job, PRINT_JOB_PRINT_STATION_ID),
              location = field_text(job, PRINT_JOB_LOCATION_ID);
    struct station_row row;
    uint32_t flags;
    wharf_status s;

    if (!station.n && !location.n)
        return wrong(req, "location_id", "location_id is needed without print_station_id");
    if (!station.n &&
        (field_text(job, PRINT_JOB_PRINTER_NAME).n || field_text(job, PRINT_JOB_PRINTER_ID).n))
        return wrong(req, "print_station_id", "printer_name and printer_id need print_station_id");
    if (station.n) {
        s = station_read(req, station, false, &row);
        if (s != WHARF_OK)
            return s;
        if (location.n && !same(location, row.location_id))
            return wrong(req, "location_id",
                "The print station is at another location; leave location_id out");
        location = row.location_id;
        W->res->set(job, PRINT_JOB_LOCATION_ID, val_text(location));
    }
    s = stations_locations->flags(req, location, &flags);
    if (s == WHARF_OK && !(flags & WHARF_LOCATION_CLOUD_PRINTING))
        return W->err->fail(req, ERR_LOCATION_CLOUD_PRINTING_DISABLED, "location_id", NULL);
    return s;
}

/* Finds the named printer, a live one of the station; of the list only it stays. */
static wharf_status name_printer(wharf_req *req, const wharf_rec *job, struct plan *p)
{
    wharf_str name = field_text(job, PRINT_JOB_PRINTER_NAME),
              id = field_text(job, PRINT_JOB_PRINTER_ID);
    const char *path = name.n ? "printer_name" : "printer_id";

    if (!name.n && !id.n)
        return WHARF_OK;
    p->named = true;
    for (size_t i = 0; i < p->printers.n; i++) {
        struct printer_at *one = &p->printers.list[i];

        if ((name.n && !same(one->name, name)) || (id.n && !same(one->id, id)))
            continue;
        p->printers = (struct printers){one, 1};
        return WHARF_OK;
    }
    return W->err->fail(req, ERR_VALIDATION_FAILED, path, "The print station has no printer %s%s",
        name.n ? name.p : id.p, name.n && id.n ? " with this printer_id" : "");
}

/* ---- capability ---- */

static wharf_status print_job_create_choose(wharf_req *req, struct plan *p)
{
    const struct wish w = {.papers = &p->papers,
        .paper = p->paper,
        .language = p->document.language,
        .color = wish_truth(p, "color_print", false),
        .double_sided = wish_truth(p, "double_sided", false) && p->pages > 1};
    const char *fields[4];
    wharf_str paper;
    size_t n;

    if (p->named && wish_custom(p)) { /* at whatever is in it */
        p->printer = p->printers.list;
        p->candidates = 1;
        p->reason = "named printer";
        return WHARF_OK;
    }
    p->printer = printer_choose(&p->printers, &w, &p->candidates, &p->reason);
    if (p->named)
        p->reason = "named printer";
    if (p->printer)
        return WHARF_OK;
    paper = paper_missing(req, p);
    if (!p->named && paper.n && p->printers.n)
        return W->err->fail(req, ERR_PRINT_JOB_NO_PRINTER, NULL,
            "No printer that you may use here has the paper: %s", paper.p);
    if (!p->named)
        return W->err->fail(req, ERR_PRINT_JOB_NO_PRINTER, NULL, NULL);
    n = printer_lacks(p->printers.list, &w, fields);
    for (size_t i = 0; i < n; i++)
        W->err->add(req, ERR_PRINT_JOB_UNSUPPORTED, fields[i], "The printer %s can't do this%s%s",
            p->printers.list->name.p, paper.n ? ": " : "", paper.p);
    return W->err->current(req);
}

static wharf_status count_waiting(wharf_req *req, wharf_str station_id, int64_t *ret_n)
{
    static const char sql[] =
        "SELECT count(*) FROM (SELECT 1 FROM stations.print_job WHERE organization_id = $2::text "
        "AND print_station_id = $1::text"
        " AND status = 'queued' AND deleted_at IS NULL LIMIT " SQL_NUMBER(QUEUE_MAX) ") q";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, station_id, &rows);

    *ret_n = s == WHARF_OK ? row_int(rows, 0, 0) : 0;
    return s;
}

static wharf_status queue_full(wharf_req *req)
{
    return W->err->fail(req, ERR_PRINT_STATION_QUEUE_FULL, NULL, NULL);
}

static wharf_status print_job_create_check_room(
    wharf_req *req, const wharf_rec *job, const struct plan *p)
{
    wharf_str station = p->printer->station_id;
    wharf_status s;
    int64_t n;

    if (field_int(job, PRINT_JOB_REQUIRE_ONLINE) && !printer_reachable(p->printer))
        return W->err->fail(req, ERR_PRINT_STATION_OFFLINE, NULL, NULL);
    s = count_waiting(req, station, &n);
    return s == WHARF_OK && n >= QUEUE_MAX ? queue_full(req) : s;
}

/* Holds room for a job. Jobs that others are making meanwhile were not counted. So when little
 * room is left, those of a station are counted and made one after the other; before, there is more
 * room than jobs can be on their way. */
static wharf_status hold_room(wharf_req *req, wharf_str station)
{
    int64_t n;
    wharf_status s = count_waiting(req, station, &n);

    if (s != WHARF_OK || n < QUEUE_NEAR)
        return s;
    s = W->db->lock(req, "print_room", station);
    if (s == WHARF_OK)
        s = count_waiting(req, station, &n);
    return s == WHARF_OK && n >= QUEUE_MAX ? queue_full(req) : s;
}

/* ---- the prepared document ---- */

static wharf_status print_job_create_finish(wharf_req *req, wharf_rec *job, wharf_blob_writer *w,
    wharf_str name, wharf_str type, wharf_field field, wharf_blob_info *ret)
{
    wharf_str id;
    wharf_status s = print_blob->finish(req, w, name, type, 0, &id);

    if (s != WHARF_OK)
        return s;
    W->res->set(job, field, val_text(id));
    *ret = (wharf_blob_info){.head = WHARF_HEAD(wharf_blob_info)};
    return print_blob->info(req, id, ret);
}

static wharf_status print_job_create_prepare(wharf_req *req, wharf_rec *job, struct plan *p)
{
    const wharf_render_plan want = {.head = WHARF_HEAD(wharf_render_plan),
        .width = p->width * POINTS,
        .height = p->height * POINTS,
        .scale = wish_scaling(p),
        .fit = wish_fit(p),
        .rotate = (uint32_t)wish_int(p, "rotate", 0),
        .landscape = p->landscape == 1,
        .n_ranges = p->n_ranges,
        .ranges = p->ranges};
    wharf_blob_writer *to;
    wharf_blob_info info;
    wharf_status s = print_blob->begin(req, 0, &to);

    if (s == WHARF_OK)
        s = print_render->make(req, p->document.render, &want, to, &p->pages);
    if (s != WHARF_OK)
        return s;
    if (print_render->verdict(p->document.render) == WHARF_RENDER_NO_PAGES)
        return wrong(
            req, "configuration.page_ranges", "page_ranges leaves no page of the document");
    if (print_render->verdict(p->document.render))
        return W->err->fail(req, ERR_PRINT_JOB_DOCUMENT_INVALID, "data",
            "The document can't be printed: %s", print_render->reason(p->document.render).p);
    print_render->info(p->document.render, &p->document.info); /* what make() knows of it */
    s = print_job_create_finish(req, job, to, WHARF_S("document.pdf"), WHARF_S("application/pdf"),
        PRINT_JOB_PREPARED_FILE, &info);
    if (s == WHARF_OK)
        W->res->set(job, PRINT_JOB_PREPARED_SHA256, val_text(info.sha256));
    return s;
}

/* ---- the row ---- */

static wharf_val size_name(wharf_req *req, const struct plan *p)
{
    return val_text(p->paper ? W->mem->format(req, "page_size_%s", p->paper->name.p)
                             : WHARF_S("page_size_custom"));
}

static void print_job_create_put_text(
    wharf_out *out, const struct plan *p, const char *key, const char *fallback)
{
    wharf_str s = wish_text(p, key);

    W->json->put(out, key, s.n ? val_text(s) : fallback ? val_text(z(fallback)) : val_null());
}

static wharf_status set_json(wharf_req *req, wharf_rec *job, wharf_field field, wharf_out *out)
{
    const wharf_json *v;
    wharf_status s;

    W->json->close(out);
    s = W->json->result(req, out, &v);
    if (s == WHARF_OK)
        W->res->set(job, field, val_json(v));
    return s;
}

static wharf_status set_configuration(wharf_req *req, wharf_rec *job, const struct plan *p)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "copies", val_int(wish_int(p, "copies", 1)));
    W->json->put(out, "color_print", val_bool(wish_truth(p, "color_print", false)));
    W->json->put(out, "double_sided", val_bool(wish_truth(p, "double_sided", false)));
    print_job_create_put_text(out, p, "duplex_edge", "long");
    W->json->put(out, "orientation",
        val_text(p->landscape == 1 ? WHARF_S("landscape") : WHARF_S("portrait")));
    W->json->put(out, "paper_size", size_name(req, p));
    W->json->put(out, "print_all_pages", val_bool(wish_truth(p, "print_all_pages", true)));
    print_job_create_put_text(out, p, "page_ranges", NULL);
    W->json->put(out, "scaling", val_double(wish_scaling(p)));
    W->json->put(out, "fit", val_text(z(wish_fit_words[wish_fit(p)])));
    W->json->put(out, "rotate", val_int(wish_int(p, "rotate", 0)));
    W->json->put(out, "collate", val_bool(wish_truth(p, "collate", true)));
    print_job_create_put_text(out, p, "media_source", NULL);
    return set_json(req, job, PRINT_JOB_CONFIGURATION, out);
}

static wharf_status set_document(
    wharf_req *req, wharf_rec *job, const struct plan *p, const wharf_blob_info *info)
{
    const wharf_render_info *reported = &p->document.info;
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "content_type", val_text(p->document.type));
    W->json->put(out, "size", val_int(info->size));
    W->json->put(out, "pages",
        p->pages ? val_int(reported->pages ? reported->pages : p->pages) : val_null());
    W->json->put(out, "width",
        reported->width > 0 ? val_double(round(reported->width / POINTS * 1000) / 1000)
                            : val_null());
    W->json->put(out, "height",
        reported->width > 0 ? val_double(round(reported->height / POINTS * 1000) / 1000)
                            : val_null());
    W->json->put(out, "sha256", val_text(info->sha256));
    W->json->put(out, "paper_size_detected", val_bool(p->detected));
    W->json->put(out, "mixed_sizes", val_bool(reported->mixed != 0));
    W->json->put(out, "cropped", val_bool(reported->cropped != 0));
    W->json->put(out, "available_until", val_null());
    return set_json(req, job, PRINT_JOB_DOCUMENT, out);
}

static wharf_status set_routing(wharf_req *req, wharf_rec *job, const struct plan *p)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "automatic", val_bool(!p->named));
    W->json->put(out, "candidates", val_int((int64_t)p->candidates));
    W->json->put(out, "reason", val_text(z(p->reason)));
    return set_json(req, job, PRINT_JOB_ROUTING, out);
}

/* Tells whether any printer of the model will do. */
static bool in_pool(const struct plan *p)
{
    return p->printer->pooled && !p->named;
}

static void set_rest(wharf_req *req, wharf_rec *job, const struct plan *p)
{
    const wharf_json *resource = field_json(job, PRINT_JOB_RESOURCE);
    wharf_str id = W->res->id(job);
    int64_t seconds = field_int(job, PRINT_JOB_EXPIRE_AFTER);
    bool pool = in_pool(p);

    W->res->set(job, PRINT_JOB_EXPIRES_AT,
        val_time(W->req->now_us(req) + (seconds ? seconds : EXPIRE_S) * SECOND_US));
    W->res->set(job, PRINT_JOB_PRINT_STATION_ID, val_text(p->printer->station_id));
    W->res->set(job, PRINT_JOB_PRINTER_ID, pool ? val_null() : val_text(p->printer->id));
    W->res->set(job, PRINT_JOB_PRINTER_NAME, pool ? val_null() : val_text(p->printer->name));
    W->res->set(job, PRINT_JOB_PRINTER_MODEL, val_text(p->printer->model));
    W->res->set(job, PRINT_JOB_POOL, val_bool(pool));
    W->res->set(job, PRINT_JOB_PAPER_SIZE, size_name(req, p));
    W->res->set(job, PRINT_JOB_RESOURCE_TYPE, val_text_or_null(json_text(resource, "type")));
    W->res->set(job, PRINT_JOB_RESOURCE_ID, val_text_or_null(json_text(resource, "id")));
    if (!field_text(job, PRINT_JOB_NAME).n)
        W->res->set(job, PRINT_JOB_NAME,
            val_text(
                W->mem->format(req, "Job %s", id.p + (id.n > NAME_TAIL ? id.n - NAME_TAIL : 0))));
}

/* Sets what every job begins with. */
static wharf_status set_beginning(wharf_req *req, wharf_rec *job)
{
    const struct reprint *again = job_reprint(job);
    const wharf_json *object, *array;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &object);

    if (s == WHARF_OK)
        s = W->json->parse(req, WHARF_S("[]"), &array);
    if (s != WHARF_OK)
        return s;
    W->res->set(job, PRINT_JOB_STATUS, job_status_value(JOB_QUEUED));
    W->res->set(job, PRINT_JOB_PROGRESS, val_json(object));
    W->res->set(job, PRINT_JOB_PRINTER_STATE_REASONS, val_json(array));
    W->res->set(job, PRINT_JOB_ATTEMPT, val_int(0));
    W->res->set(job, PRINT_JOB_REPRINTS, val_int(0));
    W->res->set(job, PRINT_JOB_REPRINT_OF, again ? val_text(again->of) : val_null());
    return WHARF_OK;
}

static wharf_status set_files(wharf_req *req, wharf_rec *job, struct plan *p, wharf_blob_info *ret)
{
    wharf_status s = p->document.render ? print_job_create_prepare(req, job, p) : WHARF_OK;

    if (s == WHARF_OK)
        s = print_job_create_finish(req, job, p->document.writer, WHARF_S("document"),
            p->document.type, PRINT_JOB_SOURCE_FILE, ret);
    if (s == WHARF_OK && !p->document.render)
        W->res->set(job, PRINT_JOB_PREPARED_SHA256, val_text(ret->sha256));
    return s;
}

/* Chooses the printer in turn. Two jobs that are made at once must spread: whoever counts waits
 * until the one before is committed. Locked late, when nothing slow is left. */
static wharf_status choose_in_turn(wharf_req *req, const wharf_rec *job, struct plan *p)
{
    wharf_str location = field_text(job, PRINT_JOB_LOCATION_ID),
              station = field_text(job, PRINT_JOB_PRINT_STATION_ID);
    const char *gone = "";
    wharf_status s = p->named ? WHARF_OK : W->db->lock(req, "print_route", location);

    while (s == WHARF_OK && gone) { /* again when the printer was removed meanwhile */
        if (!p->named)
            s = printers_load(req, W->req->actor(req), location, station, &p->printers);
        if (s == WHARF_OK && !p->named)
            s = print_job_create_choose(req, p);
        if (s == WHARF_OK)
            s = printer_hold(req, p->printer->station_id, in_pool(p) ? WHARF_S("") : p->printer->id,
                p->printer->model, &gone);
        if (s == WHARF_OK && gone && p->named)
            return wrong(req, "printer_name", "The printer was removed from the print station");
    }
    return s == WHARF_OK ? hold_room(req, p->printer->station_id) : s;
}

static wharf_status set_all(wharf_req *req, wharf_rec *job, struct plan *p)
{
    wharf_blob_info info;
    wharf_status s = set_files(req, job, p, &info);

    if (s == WHARF_OK)
        s = choose_in_turn(req, job, p);
    if (s == WHARF_OK)
        s = set_configuration(req, job, p);
    if (s == WHARF_OK)
        s = set_document(req, job, p, &info);
    if (s == WHARF_OK)
        s = set_routing(req, job, p);
    if (s == WHARF_OK)
        set_rest(req, job, p);
    return s == WHARF_OK ? set_beginning(req, job) : s;
}

static wharf_status print_job_create_check_resource(wharf_req *req, const wharf_rec *job)
{
    const wharf_json *resource = field_json(job, PRINT_JOB_RESOURCE);
    wharf_str type = json_text(resource, "type"), id = json_text(resource, "id");
    const wharf_rec *rec;
    wharf_status s;

    if (!resource)
        return WHARF_OK;
    s = W->res->fetch(req, type.p, id, 0, &rec);
    if (s == WHARF_OK)
        return WHARF_OK;
    W->err->clear(req);
    if (s == WHARF_NOT_FOUND)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "resource.id", "There is no %s %s", type.p, id.p);
    return s == WHARF_UNAVAILABLE ? WHARF_OK : s; /* of a module that is not there */
}

static wharf_status print_job_create_settle_document(
    wharf_req *req, const wharf_rec *job, struct plan *p)
{
    const struct reprint *again = job_reprint(job);
    wharf_status s = again ? document_again(req, again->source_file,
                                 field_int(job, PRINT_JOB_RAW) != 0, again->content_type,
                                 &p->document)
                           : document_take(req, job, &p->document);

    p->pages = p->document.info.pages ? wish_pages(p) : 0;
    if (s == WHARF_OK && p->document.info.pages && !p->pages)
        return wrong(
            req, "configuration.page_ranges", "page_ranges leaves no page of the document");
    return s;
}

wharf_status job_create_check(wharf_req *req, wharf_rec *job)
{
    struct plan *p = W->mem->alloc(req, sizeof(*p));
    wharf_str location;
    wharf_status s;

    p->wish = field_json(job, PRINT_JOB_CONFIGURATION);
    s = settle_location(req, job);
    if (s == WHARF_OK)
        s = papers_load(req, &p->papers);
    location = field_text(job, PRINT_JOB_LOCATION_ID);
    if (s == WHARF_OK)
        s = printers_load(req, W->req->actor(req), location,
            field_text(job, PRINT_JOB_PRINT_STATION_ID), &p->printers);
    if (s == WHARF_OK)
        s = name_printer(req, job, p);
    if (s == WHARF_OK)
        s = paper_check_custom(req, job, p);
    if (s == WHARF_OK)
        s = wish_ranges(req, p);
    if (s == WHARF_OK)
        s = print_job_create_check_resource(req, job);
    if (s == WHARF_OK)
        s = print_job_create_settle_document(req, job, p);
    if (s == WHARF_OK)
        s = paper_settle(req, p);
    if (s == WHARF_OK)
        s = print_job_create_choose(req, p);
    if (s == WHARF_OK)
        s = print_job_create_check_room(req, job, p);
    if (s == WHARF_OK)
        s = set_all(req, job, p);
    return s;
}
