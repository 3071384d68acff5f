/* print_job_paper.c - the size of the paper of a print job: as sent, or the one that the document
 * has (spec 04 section 4 'Detection from a document'). The table of sizes is in paper_sizes.c. */
#include <math.h>

#include "print_job_plan.h"

#define NEAR_INCHES    0.06 /* a side may differ so much from that of a size */
#define SMALLER_INCHES 0.15 /* 100 by 150 mm are printed on 4 by 6 inches */

wharf_status paper_check_custom(wharf_req *req, const wharf_rec *job, struct plan *p)
{
    const wharf_json *dimensions = field_json(job, PRINT_JOB_CUSTOM_DIMENSIONS);

    if (!wish_custom(p))
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
    p->width = wish_number(W->json->get(dimensions, "width"), 0);
    p->height = wish_number(W->json->get(dimensions, "height"), 0);
    return W->err->current(req);
}

static bool some_printer_has(const struct plan *p, const struct paper *size)
{
    for (size_t i = 0; i < p->printers.n; i++) {
        if (printer_has(&p->printers.list[i], size->name))
            return true;
    }
    return false;
}

wharf_str paper_missing(wharf_req *req, const struct plan *p)
{
    const struct paper *twin = p->paper ? paper_twin(&p->papers, p->paper) : NULL;
    wharf_str names = WHARF_S("");

    if (!p->paper || some_printer_has(p, p->paper) || (twin && some_printer_has(p, twin)))
        return WHARF_S("");
    for (size_t i = 0; i < p->papers.n; i++) {
        if (some_printer_has(p, &p->papers.list[i]))
            names = W->mem->format(
                req, "%s%s%s", names.p, names.n ? ", " : "", p->papers.list[i].name.p);
    }
    return W->mem->format(req,
        "%s is asked for, there is %s; choose another "
        "configuration.paper_size, or have it put into the list of the printer",
        p->paper->name.p, names.n ? names.p : "no paper");
}

/* Returns the nearest size with these sides; of equals the first, but one that some printer has
 * before one that none has. smaller, larger: how much smaller or larger than the paper the sides
 * may be, in inches. NULL: there is none. */
static const struct paper *print_job_paper_nearest(
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

static bool print_job_paper_turned(const struct plan *p)
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
        p->paper = print_job_paper_nearest(
            p, side[i % 2], side[i % 2 + 1], tries[i / 2][0], tries[i / 2][1]);
        if (p->paper && i % 2 && p->landscape == LANDSCAPE_UNKNOWN)
            p->landscape = 1;
    }
}

static wharf_status print_job_paper_detect(wharf_req *req, struct plan *p)
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

wharf_status paper_settle(wharf_req *req, struct plan *p)
{
    wharf_str size = wish_text(p, "paper_size"), orientation = wish_text(p, "orientation");
    double width = p->document.info.width, height = p->document.info.height;

    p->landscape = orientation.n ? is(orientation, "landscape") : LANDSCAPE_UNKNOWN;
    if (!wish_custom(p)) {
        wharf_status s = WHARF_OK;

        p->paper = size.n ? paper_find(&p->papers, size) : NULL;
        if (size.n && !p->paper)
            return wrong(req, "configuration.paper_size",
                "paper_size must be page_size_custom or one of GET /v1/cloud-printing/paper-sizes");
        if (!size.n)
            s = print_job_paper_detect(req, p);
        if (s != WHARF_OK || !p->paper)
            return s;
        p->width = p->paper->width;
        p->height = p->paper->height;
    }
    if (p->landscape == LANDSCAPE_UNKNOWN) /* from the document, as it will be turned */
        p->landscape = width > 0 && fabs(width - height) > 1 && fabs(p->width - p->height) > 0.01 &&
                       ((width > height) != print_job_paper_turned(p)) != (p->width > p->height);
    return WHARF_OK;
}
