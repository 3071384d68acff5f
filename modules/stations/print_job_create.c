/* print_job_create.c - the rules of making a print job, in the order of spec 04 section 7
 * 'Create': station and printer, document, paper size, capability, room. All before the row is
 * written. */
#include <math.h>
#include <stdlib.h>

#include "printing.h"
#include "stations.gen.h"

#define NEAR_INCHES    0.06
#define SMALLER_INCHES 0.15 /* 100 by 150 mm are printed on 4 by 6 inches */
#define POINTS         72.0

enum { LANDSCAPE_UNKNOWN = -1, NAME_TAIL = 6, RANGES_MAX = 1000 };

struct plan { /* what the job becomes */
    struct papers papers;
    struct printers printers;
    const struct paper *paper; /* NULL: custom */
    double width, height; /* of the medium, inches */
    int landscape; /* 0, 1, LANDSCAPE_UNKNOWN */
    bool detected, named; /* named: a printer is */
    const wharf_json *wish; /* the configuration as sent, completed */
    struct document document;
    const struct printer_at *printer;
    size_t candidates;
    const char *reason;
    uint32_t pages;
    wharf_render_range *ranges;
    uint32_t n_ranges;
};

static wharf_status wrong(wharf_req *req, const char *path, const char *message)
{
    return W->err->fail(req, ERR_VALIDATION_FAILED, path, "%s", message);
}

/* ---- configuration ---- */

static wharf_str wish_text(const struct plan *p, const char *key)
{
    return json_text(p->wish, key);
}

static bool wish_truth(const struct plan *p, const char *key, bool fallback)
{
    const wharf_json *v = p->wish ? W->json->get(p->wish, key) : NULL;

    return json_is_null(v) ? fallback : json_truth(v);
}

static int64_t wish_int(const struct plan *p, const char *key, int64_t fallback)
{
    const wharf_json *v = p->wish ? W->json->get(p->wish, key) : NULL;
    int64_t i;

    return v && W->json->integer(v, &i) ? i : fallback;
}

/* Returns a number with four decimals kept. */
static double number(const wharf_json *v, double fallback)
{
    int64_t scaled;

    return v && W->json->decimal(v, 12, &scaled) ? round((double)scaled / 1e8) / 1e4 : fallback;
}

static double scaling(const struct plan *p)
{
    return number(p->wish ? W->json->get(p->wish, "scaling") : NULL, 1);
}

/* Reads ranges such as "1-3,5,9-". */
static wharf_status read_ranges(wharf_req *req, struct plan *p)
{
    wharf_str text = wish_text(p, "page_ranges");
    const char *at = text.p;

    if (wish_truth(p, "print_all_pages", true))
        return WHARF_OK;
    if (!text.n)
        return wrong(req, "configuration.page_ranges",
            "page_ranges says which pages when print_all_pages is false");
    p->ranges = W->mem->alloc(req, RANGES_MAX * sizeof(*p->ranges));
    while (*at && p->n_ranges < RANGES_MAX) {
        unsigned long from, to;
        char *end;

        from = strtoul(at, &end, 10);
        at = end + strspn(end, " ");
        to = from;
        if (*at == '-') {
            at++;
            at += strspn(at, " ");
            to = *at && *at != ',' ? strtoul(at, &end, 10) : UINT32_MAX;
            at = *at && *at != ',' ? end + strspn(end, " ") : at;
        }
        if (!from || to < from)
            return wrong(req, "configuration.page_ranges",
                "page_ranges is a list of pages and ranges from 1 on, such as 1-3,5,9-");
        p->ranges[p->n_ranges++] = (wharf_render_range){
            from < UINT32_MAX ? (uint32_t)from : UINT32_MAX,
            to < UINT32_MAX ? (uint32_t)to : UINT32_MAX};
        at += *at == ',';
        at += strspn(at, " ");
    }
    return WHARF_OK;
}

static uint32_t pages_wanted(const struct plan *p)
{
    uint32_t n = 0;

    for (uint32_t page = 1; page <= p->document.info.pages; page++) {
        bool in = p->n_ranges == 0;

        for (uint32_t i = 0; i < p->n_ranges && !in; i++)
            in = page >= p->ranges[i].from && page <= p->ranges[i].to;
        n += in;
    }
    return n;
}

/* ---- where ---- */

static bool custom(const struct plan *p)
{
    wharf_str size = wish_text(p, "paper_size");

    return is(size, "page_size_custom") || is(size, "custom");
}

static wharf_status check_custom(wharf_req *req, const wharf_rec *job, struct plan *p)
{
    const wharf_json *dimensions = field_json(job, PRINT_JOB_CUSTOM_DIMENSIONS);

    if (!custom(p))
        return dimensions ? wrong(req, "custom_dimensions",
                                "custom_dimensions comes with the paper size page_size_custom only")
                          : WHARF_OK;
    if (!dimensions)
        W->err->add(req, ERR_VALIDATION_FAILED, "custom_dimensions",
            "page_size_custom needs custom_dimensions");
    if (!field_text(job, PRINT_JOB_PRINT_STATION_ID).n)
        W->err->add(req, ERR_VALIDATION_FAILED, "print_station_id",
            "page_size_custom needs print_station_id");
    if (!field_text(job, PRINT_JOB_PRINTER_NAME).n)
        W->err->add(
            req, ERR_VALIDATION_FAILED, "printer_name", "page_size_custom needs printer_name");
    if (!dimensions)
        return W->err->current(req);
    p->width = number(W->json->get(dimensions, "width"), 0);
    p->height = number(W->json->get(dimensions, "height"), 0);
    return W->err->current(req);
}

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

/* ---- paper size ---- */

static bool some_printer_has(const struct plan *p, const struct paper *size)
{
    for (size_t i = 0; i < p->printers.n; i++) {
        if (printer_has(&p->printers.list[i], size->name))
            return true;
    }
    return false;
}

/* Returns the nearest size with these sides; of equals the first, but one that some printer has
 * before one that none has. smaller, larger: how much smaller or larger than the paper the sides
 * may be, in inches. NULL: there is none. */
static const struct paper *nearest(
    const struct plan *p, double width, double height, double smaller, double larger)
{
    const struct paper *best = NULL;
    double least = 0;

    for (size_t i = 0; i < p->papers.n; i++) {
        const struct paper *one = &p->papers.list[i];
        double off = fmax(fabs(one->width - width), fabs(one->height - height));

        if (fmax(one->width - width, one->height - height) > smaller + 1e-9 ||
            fmax(width - one->width, height - one->height) > larger + 1e-9)
            continue;
        if (!best || off < least - 1e-9 ||
            (off < least + 1e-9 && !some_printer_has(p, best) && some_printer_has(p, one))) {
            best = one;
            least = off;
        }
    }
    return best;
}

static bool turned(const struct plan *p)
{
    return wish_int(p, "rotate", 0) % 180 != 0;
}

/* Finds the size of the document, as it stands or turned: first one that it has, then one that is a
 * little larger. */
static void find_paper(struct plan *p)
{
    static const double tries[][2] = {{NEAR_INCHES, NEAR_INCHES}, {SMALLER_INCHES, 0}};
    double width = p->document.info.width / POINTS, height = p->document.info.height / POINTS;
    const double side[] = {width, height, width};

    for (size_t i = 0; i < 4 && width > 0 && !p->paper; i++) {
        p->paper = nearest(p, side[i % 2], side[i % 2 + 1], tries[i / 2][0], tries[i / 2][1]);
        if (p->paper && i % 2 && p->landscape == LANDSCAPE_UNKNOWN)
            p->landscape = 1;
    }
}

static wharf_status detect(wharf_req *req, struct plan *p)
{
    const struct paper *twin;

    find_paper(p);
    if (!p->paper)
        return W->err->fail(
            req, ERR_PRINT_JOB_PAPER_SIZE_REQUIRED, "configuration.paper_size", NULL);
    p->detected = true;
    twin = paper_twin(&p->papers, p->paper);
    if (twin && !some_printer_has(p, p->paper) && some_printer_has(p, twin)) {
        p->paper = twin;
        if (p->landscape == LANDSCAPE_UNKNOWN)
            p->landscape = 1;
    }
    return WHARF_OK;
}

static wharf_status settle_paper(wharf_req *req, struct plan *p)
{
    wharf_str size = wish_text(p, "paper_size"), orientation = wish_text(p, "orientation");
    double width = p->document.info.width, height = p->document.info.height;

    p->landscape = orientation.n ? is(orientation, "landscape") : LANDSCAPE_UNKNOWN;
    if (!custom(p)) {
        wharf_status s = WHARF_OK;

        p->paper = size.n ? paper_find(&p->papers, size) : NULL;
        if (size.n && !p->paper)
            return wrong(req, "configuration.paper_size",
                "paper_size must be page_size_custom or one of GET /v1/cloud-printing/paper-sizes");
        if (!size.n)
            s = detect(req, p);
        if (s != WHARF_OK || !p->paper)
            return s;
        p->width = p->paper->width;
        p->height = p->paper->height;
    }
    if (p->landscape == LANDSCAPE_UNKNOWN) /* from the document, as it will be turned */
        p->landscape = width > 0 && fabs(width - height) > 1 && fabs(p->width - p->height) > 0.01 &&
                       ((width > height) != turned(p)) != (p->width > p->height);
    return WHARF_OK;
}

/* ---- capability ---- */

static wharf_status choose(wharf_req *req, struct plan *p)
{
    const struct wish w = {.papers = &p->papers,
        .paper = p->paper,
        .language = p->document.language,
        .color = wish_truth(p, "color_print", false),
        .double_sided = wish_truth(p, "double_sided", false) && p->pages > 1};
    const char *fields[4];
    size_t n;

    if (p->named && custom(p)) { /* at whatever is in it */
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
    if (!p->named)
        return W->err->fail(req, ERR_PRINT_JOB_NO_PRINTER, NULL, NULL);
    n = printer_lacks(p->printers.list, &w, fields);
    for (size_t i = 0; i < n; i++)
        W->err->add(req, ERR_PRINT_JOB_UNSUPPORTED, fields[i], "The printer %s can't do this",
            p->printers.list->name.p);
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

static wharf_status check_room(wharf_req *req, const wharf_rec *job, const struct plan *p)
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

static uint32_t fit_of(const struct plan *p)
{
    static const char *const words[] = {"none", "shrink", "fit", "fill"};
    wharf_str fit = wish_text(p, "fit");

    for (uint32_t i = 0; i < 4; i++) {
        if (is(fit, words[i]))
            return i;
    }
    return WHARF_RENDER_NONE;
}

static wharf_status finish(wharf_req *req, wharf_rec *job, wharf_blob_writer *w, wharf_str name,
    wharf_str type, wharf_field field, wharf_blob_info *ret)
{
    wharf_str id;
    wharf_status s = print_blob->finish(req, w, name, type, 0, &id);

    if (s != WHARF_OK)
        return s;
    W->res->set(job, field, val_text(id));
    *ret = (wharf_blob_info){.head = WHARF_HEAD(wharf_blob_info)};
    return print_blob->info(req, id, ret);
}

static wharf_status prepare(wharf_req *req, wharf_rec *job, struct plan *p)
{
    const wharf_render_plan want = {.head = WHARF_HEAD(wharf_render_plan),
        .width = p->width * POINTS,
        .height = p->height * POINTS,
        .scale = scaling(p),
        .fit = fit_of(p),
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
    s = finish(req, job, to, WHARF_S("document.pdf"), WHARF_S("application/pdf"),
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

static void put_text(wharf_out *out, const struct plan *p, const char *key, const char *fallback)
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
    put_text(out, p, "duplex_edge", "long");
    W->json->put(out, "orientation",
        val_text(p->landscape == 1 ? WHARF_S("landscape") : WHARF_S("portrait")));
    W->json->put(out, "paper_size", size_name(req, p));
    W->json->put(out, "print_all_pages", val_bool(wish_truth(p, "print_all_pages", true)));
    put_text(out, p, "page_ranges", NULL);
    W->json->put(out, "scaling", val_double(scaling(p)));
    put_text(out, p, "fit", "none");
    W->json->put(out, "rotate", val_int(wish_int(p, "rotate", 0)));
    W->json->put(out, "collate", val_bool(wish_truth(p, "collate", true)));
    put_text(out, p, "media_source", NULL);
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
    wharf_status s = p->document.render ? prepare(req, job, p) : WHARF_OK;

    if (s == WHARF_OK)
        s = finish(req, job, p->document.writer, WHARF_S("document"), p->document.type,
            PRINT_JOB_SOURCE_FILE, ret);
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
            s = choose(req, p);
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

static wharf_status check_resource(wharf_req *req, const wharf_rec *job)
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

static wharf_status settle_document(wharf_req *req, const wharf_rec *job, struct plan *p)
{
    const struct reprint *again = job_reprint(job);
    wharf_status s = again ? document_again(req, again->source_file,
                                 field_int(job, PRINT_JOB_RAW) != 0, again->content_type,
                                 &p->document)
                           : document_take(req, job, &p->document);

    p->pages = p->document.info.pages ? pages_wanted(p) : 0;
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
        s = check_custom(req, job, p);
    if (s == WHARF_OK)
        s = read_ranges(req, p);
    if (s == WHARF_OK)
        s = check_resource(req, job);
    if (s == WHARF_OK)
        s = settle_document(req, job, p);
    if (s == WHARF_OK)
        s = settle_paper(req, p);
    if (s == WHARF_OK)
        s = choose(req, p);
    if (s == WHARF_OK)
        s = check_room(req, job, p);
    if (s == WHARF_OK)
        s = set_all(req, job, p);
    return s;
}
