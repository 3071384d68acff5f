/* render_place.c - one page of the source onto one page of the medium: box, turning, fit, scale,
 * clipping. See render.h.
 *
 * The page becomes a form of its own, so that nothing that its content leaves behind (an open
 * `q`, a colour) reaches further, and is drawn once through one matrix. Vectors stay vectors.
 * Annotations that are for print are drawn too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "render.h"

struct matrix {
    double a, b, c, d, e, f; /* x' = a x + c y + e, y' = b x + d y + f */
};

#define POINTS_MAX 72000.0 /* a kilometre of paper is nobody's page */

static struct matrix times(struct matrix first, struct matrix then)
{
    return (struct matrix){.a = first.a * then.a + first.b * then.c,
        .b = first.a * then.b + first.b * then.d,
        .c = first.c * then.a + first.d * then.c,
        .d = first.c * then.b + first.d * then.d,
        .e = first.e * then.a + first.f * then.c + then.e,
        .f = first.e * then.b + first.f * then.d + then.f};
}

static struct matrix render_place_moved(double x, double y)
{
    return (struct matrix){1, 0, 0, 1, x, y};
}

static struct matrix render_place_scaled(double by)
{
    return (struct matrix){by, 0, 0, by, 0, 0};
}

/* Returns the matrix of a sheet of that size turned clockwise, its lower left corner again at the
 * origin. */
static struct matrix render_place_turned(unsigned degrees, double width, double height)
{
    switch (degrees) {
    case 90:
        return (struct matrix){0, -1, 1, 0, 0, width};
    case 180:
        return (struct matrix){-1, 0, 0, -1, width, height};
    case 270:
        return (struct matrix){0, 1, -1, 0, height, 0};
    default:
        return render_place_scaled(1);
    }
}

static void swap_if(bool turn, double *a, double *b)
{
    double t = *a;

    if (turn) {
        *a = *b;
        *b = t;
    }
}

/* ---- boxes ---- */

static bool numbers(struct source *s, qpdf_oh array, double *ret, int n)
{
    if (!qpdf_oh_is_array(s->q, array) || qpdf_oh_get_array_n_items(s->q, array) != n)
        return false;
    for (int i = 0; i < n; i++) {
        qpdf_oh item = qpdf_oh_get_array_item(s->q, array, i);

        if (!qpdf_oh_is_number(s->q, item))
            return false;
        ret[i] = qpdf_oh_get_numeric_value(s->q, item);
        if (!isfinite(ret[i]) || fabs(ret[i]) > 1e7)
            return false;
    }
    return true;
}

static bool rectangle(struct source *s, qpdf_oh dict, const char *key, double ret[4])
{
    double r[4];

    if (!numbers(s, qpdf_oh_get_key(s->q, dict, key), r, 4))
        return false;
    ret[0] = fmin(r[0], r[2]);
    ret[1] = fmin(r[1], r[3]);
    ret[2] = fmax(r[0], r[2]);
    ret[3] = fmax(r[1], r[3]);
    return ret[2] > ret[0] && ret[3] > ret[1];
}

bool page_box(struct source *s, qpdf_oh page, struct page_box *ret)
{
    double media[4] = {0, 0, 612, 792}, crop[4], width, height;
    qpdf_oh unit = qpdf_oh_get_key(s->q, page, "/UserUnit"),
            rotate = qpdf_oh_get_key(s->q, page, "/Rotate");
    int turn = qpdf_oh_is_number(s->q, rotate)
                   ? (int)fmod(qpdf_oh_get_numeric_value(s->q, rotate), 360)
                   : 0;

    rectangle(s, page, "/MediaBox", media);
    if (rectangle(s, page, "/CropBox", crop)) {
        crop[0] = fmax(crop[0], media[0]);
        crop[1] = fmax(crop[1], media[1]);
        crop[2] = fmin(crop[2], media[2]);
        crop[3] = fmin(crop[3], media[3]);
        if (crop[2] > crop[0] && crop[3] > crop[1])
            memcpy(media, crop, sizeof(media));
    }
    *ret = (struct page_box){.x = media[0],
        .y = media[1],
        .width = media[2] - media[0],
        .height = media[3] - media[1],
        .unit = qpdf_oh_is_number(s->q, unit) ? qpdf_oh_get_numeric_value(s->q, unit) : 1,
        .rotate = (unsigned)((turn + 360) % 360 / 90 * 90)};
    if (!(ret->unit > 0) || ret->unit > 1000)
        ret->unit = 1;
    page_shown(ret, &width, &height);
    if (width < 1 || height < 1 || width > POINTS_MAX || height > POINTS_MAX)
        return source_fail(s, "invalid: a page of it is %.0f by %.0f points large", width, height);
    return true;
}

void page_shown(const struct page_box *box, double *ret_width, double *ret_height)
{
    *ret_width = box->width * box->unit;
    *ret_height = box->height * box->unit;
    swap_if(box->rotate % 180 != 0, ret_width, ret_height);
}

/* ---- the way ---- */

static double fit_of(const struct source *s, const struct render_wish *w, double width,
    double height, double to_width, double to_height)
{
    double least = fmin(to_width / width, to_height / height),
           most = fmax(to_width / width, to_height / height);

    switch ((enum render_fit)w->fit) {
    case RENDER_FIT_NONE:
        return s->unsized ? least : 1;
    case RENDER_FIT_SHRINK:
        return fmin(1, least);
    case RENDER_FIT_FIT:
        return least;
    case RENDER_FIT_FILL:
        return most;
    }
    return 1;
}

/* Tells whether a page is landscape where the first page is portrait, or the other way round. The
 * orientation of a job is that of its first page, so such a page would be cut. */
static bool lies_otherwise(const struct source *s, double width, double height)
{
    bool first_lies = s->reported.width > s->reported.height;

    return s->reported.width > 0 && fabs(s->reported.width - s->reported.height) > 1 &&
           fabs(width - height) > 1 && (width > height) != first_lies;
}

static struct matrix way(
    const struct source *s, const struct page_box *box, const struct render_wish *w)
{
    double width = box->width * box->unit, height = box->height * box->unit;
    double canvas_width = w->width, canvas_height = w->height, scale;
    struct matrix m = times(render_place_moved(-box->x, -box->y), render_place_scaled(box->unit));
    bool landscape;

    m = times(m, render_place_turned(box->rotate, width, height));
    swap_if(box->rotate % 180 != 0, &width, &height);
    landscape = w->landscape != lies_otherwise(s, width, height);
    m = times(m, render_place_turned(w->rotate, width, height));
    swap_if(w->rotate % 180 != 0, &width, &height);
    swap_if(landscape, &canvas_width, &canvas_height);
    scale = fit_of(s, w, width, height, canvas_width, canvas_height) * w->scale;
    m = times(m, render_place_scaled(scale));
    m = times(m, render_place_moved(
                     (canvas_width - width * scale) / 2, (canvas_height - height * scale) / 2));
    /* as IPP's orientation-requested 4: the canvas is turned by 90 degrees counter-clockwise */
    return landscape ? times(m, render_place_turned(270, canvas_width, canvas_height)) : m;
}

/* Tells whether a page that goes that way stands over the edges of the medium by more than paper
 * sizes are told by. */
static bool is_cropped(const struct page_box *box, struct matrix way, const struct render_wish *w)
{
    const double near = 4.32; /* 0.06 inches */

    for (int i = 0; i < 4; i++) {
        double x = box->x + (i & 1 ? box->width : 0), y = box->y + (i & 2 ? box->height : 0);
        double to_x = way.a * x + way.c * y + way.e, to_y = way.b * x + way.d * y + way.f;

        if (to_x < -near || to_y < -near || to_x > w->width + near || to_y > w->height + near)
            return true;
    }
    return false;
}

/* ---- annotations ---- */

/* Finds the stream that is shown for an annotation in its present state. Returns false when
 * nothing is shown. */
static bool appearance(struct source *s, qpdf_oh annotation, qpdf_oh *ret)
{
    enum { HIDDEN = 2, PRINT = 4 }; /* PDF 1.7 section 12.5.3 */
    qpdf_oh flags = qpdf_oh_get_key(s->q, annotation, "/F"),
            looks = qpdf_oh_get_key(s->q, annotation, "/AP"), state;
    int said = qpdf_oh_is_integer(s->q, flags) ? qpdf_oh_get_int_value_as_int(s->q, flags) : 0;

    if (said & HIDDEN || !(said & PRINT))
        return false;
    if (qpdf_oh_is_name_and_equals(s->q, qpdf_oh_get_key(s->q, annotation, "/Subtype"), "/Popup") ||
        !qpdf_oh_is_dictionary(s->q, looks))
        return false;
    *ret = qpdf_oh_get_key(s->q, looks, "/N");
    state = qpdf_oh_get_key(s->q, annotation, "/AS");
    if (qpdf_oh_is_dictionary(s->q, *ret) && qpdf_oh_is_name(s->q, state))
        *ret = qpdf_oh_get_key(s->q, *ret, qpdf_oh_get_name(s->q, state));
    return qpdf_oh_is_stream(s->q, *ret);
}

/* Computes the matrix of an appearance (PDF 1.7 section 12.5.5): its box, through its own matrix,
 * is put onto the annotation's rectangle. */
static bool appearance_matrix(
    struct source *s, qpdf_oh annotation, qpdf_oh look, struct matrix *ret)
{
    qpdf_oh dict = qpdf_oh_get_dict(s->q, look);
    double rect[4], box[4], m[6] = {1, 0, 0, 1, 0, 0}, low_x = 1e9, low_y = 1e9, high_x = -1e9,
                            high_y = -1e9, sx, sy;

    if (!rectangle(s, annotation, "/Rect", rect) || !rectangle(s, dict, "/BBox", box))
        return false;
    numbers(s, qpdf_oh_get_key(s->q, dict, "/Matrix"), m, 6);
    for (int i = 0; i < 4; i++) {
        double x = box[i & 1 ? 2 : 0], y = box[i & 2 ? 3 : 1];
        double to_x = m[0] * x + m[2] * y + m[4], to_y = m[1] * x + m[3] * y + m[5];

        low_x = fmin(low_x, to_x);
        low_y = fmin(low_y, to_y);
        high_x = fmax(high_x, to_x);
        high_y = fmax(high_y, to_y);
    }
    if (!(high_x > low_x) || !(high_y > low_y))
        return false;
    sx = (rect[2] - rect[0]) / (high_x - low_x);
    sy = (rect[3] - rect[1]) / (high_y - low_y);
    *ret = (struct matrix){sx, 0, 0, sy, rect[0] - low_x * sx, rect[1] - low_y * sy};
    return true;
}

/* ---- the page ---- */

struct content {
    char *p;
    size_t n, cap;
};

static void render_place_draw(struct content *c, const struct matrix *m, const char *name)
{
    if (c->cap - c->n < 512) {
        c->cap = c->cap * 2 + 1024;
        c->p = cell_realloc(c->p, c->cap);
    }
    c->n += (size_t)snprintf(c->p + c->n, c->cap - c->n,
        "q %.6f %.6f %.6f %.6f %.6f %.6f cm /%s Do Q\n", m->a, m->b, m->c, m->d, m->e, m->f, name);
}

/* Makes a form of the page's content and resources. */
static bool as_form(struct source *s, qpdf_oh page, const struct page_box *box, qpdf_oh *ret_form)
{
    unsigned char *data = NULL;
    size_t n = 0;
    char dict_text[300];
    qpdf_oh dict, null = qpdf_oh_new_null(s->q), group = qpdf_oh_get_key(s->q, page, "/Group"),
                  resources = qpdf_oh_get_key(s->q, page, "/Resources");

    qpdf_oh_get_page_content_data(s->q, page, &data, &n);
    if (!source_good(s)) {
        free(data);
        return false;
    }
    *ret_form = qpdf_oh_new_stream(s->q);
    snprintf(dict_text, sizeof(dict_text),
        "<< /Type /XObject /Subtype /Form /BBox [%.6f %.6f %.6f %.6f] /Resources << >> >>", box->x,
        box->y, box->x + box->width, box->y + box->height);
    dict = qpdf_oh_parse(s->q, dict_text);
    if (qpdf_oh_is_dictionary(s->q, resources))
        qpdf_oh_replace_key(s->q, dict, "/Resources", resources);
    if (qpdf_oh_is_dictionary(s->q, group))
        qpdf_oh_replace_key(s->q, dict, "/Group", group);
    qpdf_oh_replace_stream_data(s->q, *ret_form, data, n, null, null);
    free(data);
    for (qpdf_oh_begin_dict_key_iter(s->q, dict); qpdf_oh_dict_more_keys(s->q);) {
        const char *key = qpdf_oh_dict_next_key(s->q);

        qpdf_oh_replace_key(
            s->q, qpdf_oh_get_dict(s->q, *ret_form), key, qpdf_oh_get_key(s->q, dict, key));
    }
    return source_good(s);
}

static void draw_annotations(
    struct source *s, qpdf_oh page, qpdf_oh forms, struct matrix to_page, struct content *content)
{
    qpdf_oh list = qpdf_oh_get_key(s->q, page, "/Annots"), look;
    int n = qpdf_oh_is_array(s->q, list) ? qpdf_oh_get_array_n_items(s->q, list) : 0;

    for (int i = 0; i < n; i++) {
        qpdf_oh annotation = qpdf_oh_get_array_item(s->q, list, i);
        struct matrix m;
        char name[24];

        if (!qpdf_oh_is_dictionary(s->q, annotation) || !appearance(s, annotation, &look) ||
            !appearance_matrix(s, annotation, look, &m))
            continue;
        snprintf(name, sizeof(name), "/A%d", i);
        qpdf_oh_replace_key(s->q, forms, name, look);
        qpdf_oh_replace_key(
            s->q, qpdf_oh_get_dict(s->q, look), "/Subtype", qpdf_oh_new_name(s->q, "/Form"));
        m = times(m, to_page);
        render_place_draw(content, &m, name + 1);
    }
}

bool page_place(struct source *s, qpdf_oh page, const struct render_wish *wish)
{
    static const char *const gone[] = {"/CropBox", "/TrimBox", "/BleedBox", "/ArtBox", "/Rotate",
        "/UserUnit", "/Annots", "/Group", "/AA", "/B", "/Thumb", "/Metadata", "/StructParents",
        "/PieceInfo", "/VP"};
    struct content content = {0};
    struct page_box box;
    struct matrix m;
    qpdf_oh form, forms = qpdf_oh_new_dictionary(s->q), resources = qpdf_oh_new_dictionary(s->q),
                  stream, null = qpdf_oh_new_null(s->q);
    char media[100];

    if (!page_box(s, page, &box) || !as_form(s, page, &box, &form))
        return false;
    m = way(s, &box, wish);
    s->cropped += is_cropped(&box, m, wish);
    render_place_draw(&content, &m, "P");
    qpdf_oh_replace_key(s->q, forms, "/P", form);
    draw_annotations(s, page, forms, m, &content);
    qpdf_oh_replace_key(s->q, resources, "/XObject", forms);
    stream = qpdf_oh_new_stream(s->q);
    qpdf_oh_replace_stream_data(s->q, stream, (unsigned char *)content.p, content.n, null, null);
    free(content.p);
    snprintf(media, sizeof(media), "[0 0 %.4f %.4f]", wish->width, wish->height);
    qpdf_oh_replace_key(s->q, page, "/MediaBox", qpdf_oh_parse(s->q, media));
    qpdf_oh_replace_key(s->q, page, "/Resources", resources);
    qpdf_oh_replace_key(s->q, page, "/Contents", stream);
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        qpdf_oh_remove_key(s->q, page, gone[i]);
    return source_good(s);
}
