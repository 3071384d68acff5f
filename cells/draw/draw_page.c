/* draw_page.c - all pages of all records: head, foot and watermark, elements, then bytes; see
 * draw.h. */
#include <cairo-pdf.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "draw.h"
#include "draw_table.h"
#include "render/draw_wire.h"
#include "util/str.h"
#include "util/time.h"

enum {
    DPI = 300, /* dots per inch of pictures, where the template has no dpi */
    DPI_MIN = 72,
    DPI_MAX = 1200,
    ZPL_DPI = 203, /* dots per inch of ZPL without snap_barcodes */
    PNG_PIXELS_MAX = 40000000, /* pixels of a page as PNG */
    PNG_SIDE_MAX = 32000 /* pixels of a side of it */
};

struct band { /* head or foot */
    const struct wharf_json *json;
    double height, y;
    struct element *first;
};

struct sheet { /* labels beside each other */
    bool is;
    unsigned columns, rows, next; /* next: which cell is filled next */
    double width, height; /* of the sheet */
    double gap_x, gap_y, x, y;
};

struct pages {
    struct drawing *d;
    struct buf *out;
    cairo_surface_t *surface; /* of the PDF, or of one page */
    struct band head, foot;
    struct element *watermark; /* the first of its copies */
    struct sheet sheet;
    double scale; /* points to dots */
    unsigned wanted; /* page of a PNG; 0: all */
    bool open; /* something is on the page that is not shown yet */
};

/* ---- sizes ---- */

/* Reads the size of a label by its name: "label_2_25x1_25", in inches. */
static bool label_size(wharf_str name, double *ret_width, double *ret_height)
{
    char room[32];
    const char *x;

    if (!str_starts(name, "label_") || name.n >= sizeof(room))
        return false;
    snprintf(room, sizeof(room), "%.*s", STR_ARG(name));
    for (char *p = room + 6; *p; p++)
        *p = *p == '_' ? '.' : *p;
    x = strchr(room + 6, 'x');
    *ret_width = strtod(room + 6, NULL) * 72;
    *ret_height = x ? strtod(x + 1, NULL) * 72 : 0;
    return *ret_width > 0 && *ret_height > 0;
}

static bool named_size(wharf_str name, double *ret_width, double *ret_height)
{
    static const struct {
        const char *name;
        double width, height;
    } sizes[] = {{"a4", 595, 842}, {"letter", 612, 792}, {"4x6", 288, 432}, {"a6", 298, 420},
        {"legal", 612, 1008}, {"tabloid", 792, 1224}, {"executive", 522, 756}, {"a3", 842, 1191},
        {"a5", 420, 595}};
    char low[32] = "";

    for (size_t i = 0; i < name.n && i < sizeof(low) - 1; i++)
        low[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (strcmp(low, sizes[i].name) == 0) {
            *ret_width = sizes[i].width;
            *ret_height = sizes[i].height;
            return true;
        }
    }
    return label_size(str_z(low), ret_width, ret_height);
}

static bool take_size(struct drawing *d)
{
    const struct element body = {.json = d->body}, told = {.json = d->request};
    wharf_str name = el_text(&body, "size", "A4");
    double w = el_number(&told, "width", 0), h = el_number(&told, "height", 0);

    if (w > 0 && h > 0) {
        /* the server says it, after the orientation */
    } else if (str_eqz(name, "custom")) {
        w = el_number(&body, "width", 0);
        h = el_number(&body, "height", 0);
    } else if (!named_size(name, &w, &h)) {
        return report_problem(d, str_z("size"), "there is no paper %.*s", STR_ARG(name));
    }
    if (w < 1 || h < 1 || w > SIDE_MAX || h > SIDE_MAX)
        return report_problem(d, str_z("size"), "a page of %g by %g pt can't be drawn", w, h);
    if (str_eqz(el_text(&body, "orientation", ""), "landscape") && w < h) {
        double other = w;

        w = h;
        h = other;
    }
    d->page_width = w;
    d->page_height = h;
    return true;
}

static void take_band(struct drawing *d, struct band *b, const char *key, double *margin, bool foot)
{
    const struct element body = {.json = json_get(d->body, key)};

    b->json = body.json;
    if (!json_is(b->json, JSON_OBJECT))
        return;
    b->height = fmax(el_number(&body, "height", 0), 0);
    b->y = foot ? d->page_height - *margin - b->height : *margin;
    *margin += b->height;
}

static bool take_sheet(struct pages *p)
{
    const struct element e = {.json = json_get(p->d->body, "sheet")};
    const struct element told = {.json = p->d->request};
    struct sheet *s = &p->sheet;
    double start;

    if (!json_is(e.json, JSON_OBJECT))
        return true;
    s->is = true;
    s->columns = (unsigned)fmin(fmax(el_number(&e, "columns", 1), 1), 100);
    s->rows = (unsigned)fmin(fmax(el_number(&e, "rows", 1), 1), 100);
    s->gap_x = el_number(&e, "gap_x", 0);
    s->gap_y = el_number(&e, "gap_y", 0);
    s->x = el_number(&e, "offset_x", 0);
    s->y = el_number(&e, "offset_y", 0);
    start = el_number(&e, "start_at", 1);
    s->next = start >= 1 && start <= s->columns * s->rows ? (unsigned)start - 1 : 0;
    s->width = el_number(&told, "sheet_width", 0);
    s->height = el_number(&told, "sheet_height", 0);
    return (s->width > 0 && s->height > 0) ||
           named_size(el_text(&e, "size", "A4"), &s->width, &s->height) ||
           report_problem(p->d, str_z("sheet.size"), "there is no such paper");
}

static void take_page(struct pages *p)
{
    struct drawing *d = p->d;
    const struct element body = {.json = d->body}, told = {.json = d->request};

    d->top = fmax(el_number(&body, "margin_top", 18), 0);
    d->bottom = fmax(el_number(&body, "margin_bottom", 18), 0);
    d->left = fmax(el_number(&body, "margin_left", 18), 0);
    d->right = fmax(el_number(&body, "margin_right", 18), 0);
    d->dpi = fmin(fmax(el_number(&body, "dpi", DPI), DPI_MIN), DPI_MAX);
    d->snap = fmin(fmax(el_number(&body, "snap_barcodes", 0), 0), 2400);
    if (d->format == DRAW_ZPL)
        d->dpi = d->snap = d->snap > 0 ? d->snap : ZPL_DPI;
    p->scale = d->format == DRAW_PDF ? 1 : d->dpi / 72;
    p->wanted = d->format == DRAW_PNG ? (unsigned)fmax(el_number(&told, "page", 1), 1) : 0;
    take_band(d, &p->head, "header", &d->top, false);
    take_band(d, &p->foot, "footer", &d->bottom, true);
}

/* ---- the paper ---- */

static cairo_status_t draw_page_take_bytes(void *arg, const unsigned char *bytes, unsigned n)
{
    struct buf *b = arg;

    buf_add(b, bytes, n);
    return b->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static void set_info(struct drawing *d, cairo_surface_t *pdf)
{
    static const struct {
        const char *key;
        cairo_pdf_metadata_t what;
    } known[] = {{"title", CAIRO_PDF_METADATA_TITLE}, {"author", CAIRO_PDF_METADATA_AUTHOR},
        {"subject", CAIRO_PDF_METADATA_SUBJECT}, {"keywords", CAIRO_PDF_METADATA_KEYWORDS}};
    const struct wharf_json *info = json_get(d->body, "info");
    wharf_str now = json_text_or(d->request, "now", "1970-01-01T00:00:00Z");
    char date[24] = "1970-01-01T00:00:00Z";

    if (now.n >= 19)
        snprintf(date, sizeof(date), "%.19sZ", now.p);
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATOR, "Wharf");
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, date);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        wharf_str said = json_text_or(info, known[i].key, "");

        if (said.n)
            cairo_pdf_surface_set_metadata(pdf, known[i].what, said.p);
    }
}

static double paper_width(const struct pages *p)
{
    return p->sheet.is ? p->sheet.width : p->d->page_width;
}

static double paper_height(const struct pages *p)
{
    return p->sheet.is ? p->sheet.height : p->d->page_height;
}

static bool begin_dots(struct pages *p)
{
    int w = (int)fmax(round(paper_width(p) * p->scale), 1);
    int h = (int)fmax(round(paper_height(p) * p->scale), 1);

    if ((double)w * h > PNG_PIXELS_MAX)
        return report_complex(p->d, "its picture has more than 40 million pixels; a lower dpi "
                                    "makes less of them");
    if (w > PNG_SIDE_MAX || h > PNG_SIDE_MAX)
        return report_complex(p->d, "a side of its picture has more than 32,000 pixels; a lower "
                                    "dpi makes less of them");
    p->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    if (cairo_surface_status(p->surface))
        cell_out_of_memory();
    p->open = true;
    p->d->cairo = cairo_create(p->surface);
    cairo_set_source_rgb(p->d->cairo, 1, 1, 1);
    cairo_paint(p->d->cairo);
    return true;
}

static bool begin_paper(struct pages *p)
{
    p->d->made_pages++;
    if (p->d->made_pages > PAGES_MAX)
        return report_complex(p->d, "it has more than 500 pages");
    if (p->d->format != DRAW_PDF)
        return begin_dots(p);
    p->open = true;
    if (!p->surface) {
        p->surface = cairo_pdf_surface_create_for_stream(
            draw_page_take_bytes, p->out, paper_width(p), paper_height(p));
        cairo_pdf_surface_restrict_to_version(p->surface, CAIRO_PDF_VERSION_1_5);
        set_info(p->d, p->surface);
        p->d->cairo = cairo_create(p->surface);
    }
    return true;
}

static void put_zpl(struct pages *p)
{
    int w = cairo_image_surface_get_width(p->surface);
    int h = cairo_image_surface_get_height(p->surface);
    int stride = cairo_image_surface_get_stride(p->surface);
    const unsigned char *data = cairo_image_surface_get_data(p->surface);
    unsigned char *grey = cell_alloc((size_t)w * (size_t)h);

    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            uint32_t c;

            memcpy(&c, data + (size_t)y * (size_t)stride + 4 * (size_t)x, 4);
            grey[(size_t)y * (size_t)w + (size_t)x] =
                (unsigned char)(((c >> 16 & 255) * 299 + (c >> 8 & 255) * 587 + (c & 255) * 114) /
                                1000);
        }
    }
    zpl_page(p->out, grey, w, h, w, p->d->native ? buf_str(p->d->native) : (wharf_str){"", 0});
    if (p->d->native)
        buf_clear(p->d->native);
    free(grey);
}

/* Judges how cairo ended a page, or the file. */
static void draw_page_judge(struct pages *p, cairo_status_t status)
{
    if (status == CAIRO_STATUS_NO_MEMORY)
        cell_out_of_memory();
    if (p->out->failed)
        report_complex(p->d, "its file is larger than 64 MiB");
    else if (status)
        report_complex(p->d, cairo_status_to_string(status));
}

static void end_paper(struct pages *p)
{
    cairo_status_t status;

    if (!p->open)
        return;
    p->open = false;
    if (p->d->format == DRAW_PDF) {
        cairo_show_page(p->d->cairo);
        return;
    }
    cairo_surface_flush(p->surface);
    status = cairo_status(p->d->cairo);
    if (p->d->format == DRAW_ZPL)
        put_zpl(p);
    else if (!status)
        status = cairo_surface_write_to_png_stream(p->surface, draw_page_take_bytes, p->out);
    draw_page_judge(p, status);
    cairo_destroy(p->d->cairo);
    cairo_surface_destroy(p->surface);
    p->d->cairo = NULL;
    p->surface = NULL;
}

/* ---- a page ---- */

/* Makes points of the page the unit, at its place on the paper. */
static void set_space(struct pages *p, double x, double y)
{
    struct drawing *d = p->d;

    cairo_identity_matrix(d->cairo);
    cairo_scale(d->cairo, p->scale, p->scale);
    cairo_translate(d->cairo, x, y);
    cairo_get_matrix(d->cairo, &d->to_page);
    cairo_matrix_invert(&d->to_page);
}

static void draw_list(struct drawing *d, struct element *first)
{
    for (struct element *e = first; e; e = e->next)
        element_draw(d, e, NULL);
}

static void draw_band(struct pages *p, struct band *b)
{
    const struct element e = {.json = b->json};
    struct drawing *d = p->d;

    if ((d->page == 1 && !el_truth(&e, "first_page", true)) ||
        (d->page == d->pages && !el_truth(&e, "last_page", true)))
        return;
    cairo_save(d->cairo);
    cairo_translate(d->cairo, 0, b->y);
    draw_list(d, b->first);
    cairo_restore(d->cairo);
}

static void draw_content(struct pages *p, const struct layout *l)
{
    struct drawing *d = p->d;

    cairo_save(d->cairo);
    if (p->sheet.is) {
        cairo_rectangle(d->cairo, 0, 0, d->page_width, d->page_height);
        cairo_clip(d->cairo);
    }
    draw_list(d, p->watermark);
    for (size_t i = 0; i < l->n && l->pieces[i].page <= d->page; i++) {
        if (l->pieces[i].page == d->page)
            element_draw(d, l->pieces[i].e, &l->pieces[i]);
    }
    draw_band(p, &p->head);
    draw_band(p, &p->foot);
    cairo_restore(d->cairo);
}

static bool draw_page_draw_page(struct pages *p, const struct layout *l)
{
    struct sheet *s = &p->sheet;
    unsigned cells = s->is ? s->columns * s->rows : 1, row = s->is ? s->next / s->columns : 0;

    if (!p->open && !begin_paper(p))
        return false;
    set_space(p, s->is ? s->x + (s->next % s->columns) * (p->d->page_width + s->gap_x) : 0,
        s->is ? s->y + row * (p->d->page_height + s->gap_y) : 0);
    draw_content(p, l);
    if (++s->next >= cells) {
        s->next = 0;
        end_paper(p);
    }
    return report_goes_on(p->d);
}

/* ---- a record ---- */

static void note_sources(struct drawing *d, struct element *first);

/* Notes those of the cells of a table. */
static void note_cells(struct drawing *d, struct element *e)
{
    const struct table *t;

    if (!table_make(d, e))
        return;
    t = e->made;
    for (unsigned r = 0; r < t->n_rows; r++) {
        for (unsigned i = 0; t->rows[r].kind == ROW_BODY && i < t->n_columns; i++)
            note_sources(d, t->rows[r].cells[i].e);
    }
    table_done(e);
}

/* Notes where images come from, for who fetches them. */
static void note_sources(struct drawing *d, struct element *first)
{
    for (struct element *e = first; e; e = e->next) {
        wharf_str from = image_source(e);

        note_sources(d, e->child);
        if (!e->failed && e->kind->measure == table_measure)
            note_cells(d, e);
        if (e->failed || e->kind->measure != image_measure || !image_is_elsewhere(e, from))
            continue;
        if (d->sources->n > 1)
            buf_addc(d->sources, ',');
        json_quote(d->sources, e->path);
        buf_addc(d->sources, ':');
        json_quote(d->sources, from);
    }
    if (d->sources->failed)
        report_complex(d, "what names its images has more than 4 MiB together");
}

/* Returns the path of a member of the body: of several records with the number of this one. */
static wharf_str draw_page_path_of(struct drawing *d, const char *member)
{
    return d->records > 1 ? arena_printf(d->arena, "%u:%s", d->record, member) : str_z(member);
}

static bool expand_band(
    struct drawing *d, struct band *b, const char *path, const struct draw_vars *vars)
{
    const struct wharf_json *raw = json_get(b->json, "raw");

    if (json_is(raw, JSON_ARRAY))
        b->first = expand_list(d, raw, draw_page_path_of(d, path), vars);
    return !d->complex;
}

static bool draw_record(struct pages *p, const struct wharf_json *data, unsigned i)
{
    struct drawing *d = p->d;
    const struct draw_vars vars = {.up = d->builtins, .value = data};
    struct element *first;
    struct layout l = {0};

    d->record = i;
    d->page = d->pages = 0;
    first = expand_list(d, json_get(d->body, "raw"), draw_page_path_of(d, "raw"), &vars);
    p->watermark = expand_member(
        d, json_get(d->body, "watermark"), draw_page_path_of(d, "watermark"), &vars);
    if (!expand_band(d, &p->head, "header.raw", &vars) ||
        !expand_band(d, &p->foot, "footer.raw", &vars))
        return false;
    if (d->sources) {
        note_sources(d, first);
        note_sources(d, p->watermark);
        note_sources(d, p->head.first);
        note_sources(d, p->foot.first);
        return report_goes_on(d);
    }
    if (d->report.n_problems)
        return true; /* all of them are told */
    if (layout_make(d, first, &l)) {
        d->pages = l.pages;
        for (d->page = 1; d->page <= l.pages && !d->complex; d->page++) {
            bool wanted = !p->wanted || p->wanted == p->d->made_pages + 1;

            if (wanted && !draw_page_draw_page(p, &l))
                break;
            d->made_pages += !wanted;
        }
    }
    elements_done(first);
    elements_done(p->watermark);
    elements_done(p->head.first);
    elements_done(p->foot.first);
    free(l.pieces);
    return report_goes_on(d);
}

static void draw_records(struct pages *p)
{
    struct drawing *d = p->d;
    const struct wharf_json *records = json_get(d->request, "records");
    const struct wharf_json *data = json_get(d->body, "data");
    unsigned i = 0;

    d->records = json_is(records, JSON_ARRAY) ? records->count : 1;
    if (!json_is(records, JSON_ARRAY)) {
        draw_record(p, data ? data : &value_null, 0);
        return;
    }
    if (records->count > RECORDS_MAX) {
        report_complex(d, "it has more than 1,000 records");
        return;
    }
    for (const struct wharf_json *r = records->child; r && draw_record(p, r, i); r = r->next)
        i++;
}

/* ---- all ---- */

static void draw_page_finish(struct pages *p)
{
    cairo_status_t status = CAIRO_STATUS_SUCCESS;

    end_paper(p);
    if (p->surface) {
        status = cairo_status(p->d->cairo);
        cairo_destroy(p->d->cairo);
        cairo_surface_finish(p->surface);
        status = status ? status : cairo_surface_status(p->surface);
        cairo_surface_destroy(p->surface);
        p->d->cairo = NULL;
    }
    draw_page_judge(p, status);
}

/* Makes text be measured in points and without hints, so that it stands at the same place in forms
 * of all densities. Pango is told of no scale: it divides the ascent of a scaled font, the place of
 * its underline and the box of a missing letter by it once more. Each time it is told of something
 * it forgets how letters are placed, so it is told once, before anything is measured. */
static void set_text_options(const struct pages *p)
{
    cairo_surface_t *nothing = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
    cairo_t *cairo = cairo_create(nothing);
    cairo_font_options_t *options = cairo_font_options_create();

    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(p->d->pango, options);
    pango_cairo_context_set_resolution(p->d->pango, 72);
    pango_context_set_round_glyph_positions(p->d->pango, FALSE);
    pango_cairo_update_context(cairo, p->d->pango);
    cairo_font_options_destroy(options);
    cairo_destroy(cairo);
    cairo_surface_destroy(nothing);
}

bool draw_all(struct drawing *d, struct buf *out)
{
    struct pages p = {.d = d, .out = out};
    struct buf native;

    d->vector = d->format == DRAW_PDF;
    if (!take_size(d))
        return false;
    take_page(&p);
    if (!take_sheet(&p) || !fonts_take(d)) {
        fonts_leave(d);
        return false;
    }
    buf_init(&native, DRAW_BYTES_MAX);
    if (d->format == DRAW_ZPL && value_truth(json_get(d->body, "zpl_native")))
        d->native = &native;
    set_text_options(&p);
    draw_records(&p);
    draw_page_finish(&p);
    if (p.wanted && !d->complex && !d->report.n_problems && !out->n && !d->sources)
        report_problem(d, str_z("page"), "it has %u pages", d->made_pages);
    if (d->vector && out->n && json_is(json_get(json_get(d->body, "info"), "lang"), JSON_STRING) &&
        !pdf_set_language(out, json_text_or(json_get(d->body, "info"), "lang", "")))
        report_problem(d, str_z("info.lang"), "it is no language, which is like en or pt-BR");
    d->native = NULL;
    buf_done(&native);
    image_forget(d);
    fonts_leave(d);
    return !d->complex && !d->report.n_problems;
}
