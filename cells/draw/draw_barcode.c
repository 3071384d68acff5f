/* draw_barcode.c - barcodes: libzint finds the modules, and they become rectangles of one path,
 * so that no viewer shows gaps between them
 * (docs/spec/05-documents-and-templates.md section 9.6), see draw.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zint.h>

#include "child.h"
#include "draw.h"
#include "draw_code.h"
#include "util/str.h"

enum {
    ROWS_MAX = 200,
    DEFAULT_HEIGHT = 36, /* points of a linear code */
    DEFAULT_ROW = 3,
    DEFAULT_TEXT = 8
};

#define SMALLEST (0.19 * 72 / 25.4) /* points of the least module that printers print well */
#define ROUNDING 1e-6

struct code_made {
    struct zint_symbol *symbol;
    const struct code_kind *kind;
    const char *data; /* as libzint gets it */
    unsigned quiet; /* modules of white inside of the box */
    double module; /* points */
    double columns, rows; /* modules, without quiet zone; of rows as zint counts heights */
    double bars; /* height of the symbol; without text */
    double text_size; /* 0: none */
};

/* ---- what libzint is told ---- */

static double draw_barcode_option(const struct element *e, const char *key, double fallback)
{
    const struct element options = {.json = json_get(e->json, "options")};

    return el_number(&options, key, el_number(e, key, fallback));
}

/* Writes the postcode, country and class of a MaxiCode as libzint reads them. */
static bool set_primary(struct drawing *d, struct element *e, struct zint_symbol *s)
{
    const struct wharf_json *primary = json_get(json_get(e->json, "options"), "primary");
    const struct element parts = {.json = primary};
    wharf_str code = el_text(&parts, "postcode", "");
    bool digits = strspn(code.p, "0123456789") == code.n;

    if (!primary || primary->type == JSON_NULL)
        return true;
    if (json_is(primary, JSON_STRING)) {
        snprintf(s->primary, sizeof(s->primary), "%.*s", STR_ARG(primary->text));
    } else {
        if (code.n > 9 || (!digits && code.n > 6))
            return report_error(d, e, "barcode.invalid_data",
                "a postcode has at most 9 digits, or 6 digits and letters");
        snprintf(s->primary, sizeof(s->primary), "%s%.*s%03d%03d", code.p,
            digits ? (int)(9 - code.n) : (int)(6 - code.n), digits ? "000000000" : "      ",
            (int)el_number(&parts, "country", 840) % 1000,
            (int)el_number(&parts, "class", 1) % 1000);
    }
    s->option_1 = digits || json_is(primary, JSON_STRING) ? 0 : 3;
    return true;
}

/* Sets how much of the symbol may be lost. False: it is no such level. */
static bool set_ecc(struct drawing *d, struct element *e, struct zint_symbol *s)
{
    static const char levels[] = "LMQH";
    wharf_str said = el_text(e, "ecc", "");
    const char *at = said.n == 1 && said.p[0] ? strchr(levels, said.p[0]) : NULL;
    double value;

    if (s->symbology == BARCODE_QRCODE || s->symbology == BARCODE_RMQR ||
        s->symbology == BARCODE_MICROQR) {
        s->option_1 = at ? (int)(at - levels) + 1 : 2;
        if (s->symbology == BARCODE_MICROQR && !said.n)
            s->option_1 = -1;
        return at || !said.n ||
               report_error(d, e, "barcode.invalid_data", "ecc is one of L, M, Q and H");
    }
    if (!el_has(e, "ecc") || s->symbology == BARCODE_MAXICODE)
        return true;
    value = draw_barcode_option(e, "ecc", -1);
    if (value < 0 || value > 8)
        return report_error(d, e, "barcode.invalid_data", "ecc is a whole number from 0 to 8");
    s->option_1 = (int)value;
    return true;
}

static bool set_options(struct drawing *d, struct element *e, struct code_made *m)
{
    struct zint_symbol *s = m->symbol;
    double columns = draw_barcode_option(e, "columns", 0);

    s->symbology = m->kind->zint;
    s->show_hrt = 1;
    s->scale = 0.5f; /* of a vector: a module is one unit */
    s->output_options = BARCODE_NO_QUIET_ZONES;
    s->input_mode = m->kind->utf8 ? UNICODE_MODE : DATA_MODE;
    if (m->kind->gs1 || el_truth(e, "gs1", false)) {
        s->input_mode = GS1_MODE | GS1PARENS_MODE;
        s->warn_level = WARN_FAIL_ALL; /* wrong lengths and check digits are warnings there */
    }
    if (m->kind->zint == BARCODE_DATAMATRIX && draw_barcode_option(e, "rectangular", 0) == 0)
        s->option_3 = DM_SQUARE;
    if (columns >= 1 && columns <= 67 &&
        (m->kind->zint == BARCODE_PDF417 || m->kind->zint == BARCODE_MICROPDF417 ||
            m->kind->zint == BARCODE_DOTCODE))
        s->option_2 = (int)columns;
    if (m->kind->zint == BARCODE_MSI_PLESSEY)
        s->option_2 = (int)draw_barcode_option(e, "check", 0);
    if (m->kind->zint == BARCODE_MAXICODE && !set_primary(d, e, s))
        return false;
    return set_ecc(d, e, s);
}

/* Makes the sentence of libzint ours: without "Error 123: ". */
static const char *reason_of(const struct zint_symbol *s)
{
    const char *text = strstr(s->errtxt, ": ");

    return text ? text + 2 : s->errtxt;
}

static bool draw_barcode_encode(
    struct drawing *d, struct element *e, struct code_made *m, wharf_str value)
{
    const char *wrong = NULL, *data = code_value(d->arena, m->kind, value, &wrong);
    unsigned char *bytes = (unsigned char *)data;
    int status;

    if (!data)
        return report_error(d, e, "barcode.invalid_data", "%s", wrong);
    m->data = data;
    if (!set_options(d, e, m))
        return false;
    status = m->kind->shape == CODE_HEXAGONS
                 ? ZBarcode_Encode_and_Buffer_Vector(m->symbol, bytes, (int)strlen(data), 0)
                 : ZBarcode_Encode(m->symbol, bytes, (int)strlen(data));
    if (status == ZINT_ERROR_MEMORY)
        cell_out_of_memory();
    return status < ZINT_ERROR || report_error(d, e, "barcode.invalid_data",
                                      "it can't be encoded "
                                      "as %s: %s",
                                      m->kind->name, reason_of(m->symbol));
}

/* ---- sizes ---- */

/* Returns the height of a row, where 0 stands for the part that all such rows share. */
static double row_height(const struct code_made *m, int row)
{
    return m->symbol->row_height[row] > 0 ? m->symbol->row_height[row] : 0;
}

static void count_modules(struct code_made *m)
{
    int n = m->symbol->rows < ROWS_MAX ? m->symbol->rows : ROWS_MAX;

    m->columns = m->symbol->width;
    m->rows = 0;
    for (int i = 0; i < n; i++) {
        double height = row_height(m, i);

        if (m->kind->shape == CODE_STACK && height <= 0)
            height = DEFAULT_ROW;
        m->rows += m->kind->shape == CODE_SQUARES || m->kind->shape == CODE_DOTS ? 1 : height;
    }
    if (m->kind->shape == CODE_HEXAGONS) {
        m->columns = m->symbol->vector->width;
        m->rows = m->symbol->vector->height;
    }
}

/* Finds the size of a module from what the element says, and rounds it to dots of the printer. */
static bool set_module(struct drawing *d, struct element *e, struct code_made *m)
{
    double width = el_number(e, "size", el_number(e, "width", 0));
    double height = el_number(e, "size", el_number(e, "height", 0));
    double all = m->columns + 2 * m->quiet, high = m->rows + 2 * m->quiet, dot;
    bool square = m->kind->shape >= CODE_SQUARES;

    m->module = el_number(e, "module", 0);
    if (m->module <= 0)
        m->module = width > 0 ? width / all : square && height > 0 ? height / high : 1;
    if (square && height > 0 && !el_has(e, "module"))
        m->module = fmin(m->module, height / high);
    if (d->snap > 0) {
        dot = 72 / d->snap;
        m->module = floor(m->module / dot + ROUNDING) * dot;
    }
    if (m->module <= 0)
        return report_error(d, e, "barcode.does_not_fit",
            "its %g modules are narrower than a dot of %g dpi", m->columns, d->snap);
    if ((width > 0 && m->module * all > width * (1 + ROUNDING)) ||
        (square && height > 0 && m->module * high > height * (1 + ROUNDING)))
        return report_error(d, e, "barcode.does_not_fit",
            "its %g by %g modules of %.3g pt are larger than its box", all, high, m->module);
    if (m->module > IMAGE_BOX_MAX)
        return report_error(d, e, "barcode.does_not_fit", "its modules are larger than a page");
    if (m->module < SMALLEST)
        report_warning(d, e, "", "barcode.too_small",
            "its modules are %.3g mm wide; scanners want 0.19 mm", m->module * 25.4 / 72);
    e->width = width > 0 ? width : m->module * all;
    return true;
}

/* Divides its height among bars and text. */
static bool set_height(struct drawing *d, struct element *e, struct code_made *m)
{
    double said = el_number(e, "size", el_number(e, "height", 0)), quiet = m->quiet * m->module;
    double caption;

    if (el_truth(e, "show_text", false) && m->symbol->text[0])
        m->text_size = fmin(fmax(el_number(e, "text_size", DEFAULT_TEXT), 1), 200);
    caption = m->text_size * 1.25;
    switch (m->kind->shape) {
    case CODE_BARS:
        m->bars = said > 0 ? said - caption : DEFAULT_HEIGHT;
        break;
    case CODE_STACK:
        m->bars = said > 0 ? said - caption - 2 * quiet : m->rows * m->module;
        break;
    case CODE_POSTAL:
        m->bars = said > 0 ? said - caption : m->rows * m->module;
        break;
    case CODE_SQUARES:
    case CODE_DOTS:
    case CODE_HEXAGONS:
        m->bars = m->rows * m->module;
        break;
    }
    if (m->bars < 1)
        return report_error(
            d, e, "barcode.does_not_fit", "its height of %g pt leaves no room for bars", said);
    e->height = fmax(said, m->bars + caption + (m->kind->shape >= CODE_STACK ? 2 * quiet : 0));
    return true;
}

static const struct code_kind *find_kind(struct drawing *d, struct element *e)
{
    wharf_str type = el_text(e, "type", "");
    wharf_str name = str_eqz(type, "matrix")    ? WHARF_S("datamatrix")
                     : str_eqz(type, "barcode") ? el_text(e, "symbology", "")
                                                : type;
    const struct code_kind *kind = code_find(name);

    if (!kind)
        report_error(d, e, "barcode.invalid_data", "there is no symbology %.*s",
            (int)(name.n < 40 ? name.n : 40), name.p);
    return kind;
}

bool barcode_measure(struct drawing *d, struct element *e)
{
    const struct code_kind *kind = find_kind(d, e);
    wharf_str value = value_as_text(d->arena, json_get(e->json, "value"));
    struct code_made *m;

    if (!kind)
        return false;
    m = ARENA_NEW(d->arena, struct code_made);
    m->kind = kind;
    m->quiet = (unsigned)fmin(
        fmax(el_number(e, "quiet_zone", kind->zint == BARCODE_QRCODE ? kind->quiet : 0), 0), 100);
    m->symbol = ZBarcode_Create();
    if (!m->symbol)
        cell_out_of_memory();
    e->made = m;
    if (draw_barcode_encode(d, e, m, value)) {
        count_modules(m);
        if (set_module(d, e, m) && set_height(d, e, m))
            return true;
    }
    barcode_done(e);
    return false;
}

void barcode_done(struct element *e)
{
    struct code_made *m = e->made;

    if (m && m->symbol)
        ZBarcode_Delete(m->symbol);
    e->made = NULL;
    e->measured = false;
}

/* ---- the path ---- */

static bool is_dark(const struct zint_symbol *s, int row, int column)
{
    return s->encoded_data[row][column >> 3] >> (column & 7) & 1;
}

/* Returns the end of the dark run that begins at a module. */
static int draw_barcode_run_end(const struct zint_symbol *s, int row, int column)
{
    while (column < s->width && is_dark(s, row, column))
        column++;
    return column;
}

/* Tells whether a row has the same run, and not a longer one. */
static bool same_run(const struct zint_symbol *s, int row, int from, int to)
{
    return (!from || !is_dark(s, row, from - 1)) && is_dark(s, row, from) &&
           draw_barcode_run_end(s, row, from) == to;
}

/* Adds the run, and those below that are the same, as one rectangle. */
static void draw_barcode_add_run(cairo_t *c, const struct code_made *m, const double *tops, int row,
    int from, int to, double x, double y)
{
    const struct zint_symbol *s = m->symbol;
    int last = row + 1;

    if (row && same_run(s, row - 1, from, to))
        return; /* is part of that */
    while (last < s->rows && same_run(s, last, from, to))
        last++;
    cairo_rectangle(
        c, x + from * m->module, y + tops[row], (to - from) * m->module, tops[last] - tops[row]);
}

/* Draws a single row. Cairo writes a PDF in steps of 1/256 pt: rounded inwards, no bar touches
 * another dot of the printer. */
static void draw_barcode_add_row(struct drawing *d, const struct code_made *m, double x, double y)
{
    const struct zint_symbol *s = m->symbol;
    double inwards = d->vector && d->snap > 0 ? 1.0 / 256 : 0;

    for (int from = 0; from < s->width; from++) {
        int to = draw_barcode_run_end(s, 0, from);

        if (to > from)
            cairo_rectangle(d->cairo, x + from * m->module + inwards, y,
                (to - from) * m->module - 2 * inwards, m->bars);
        from = to > from ? to : from;
    }
}

static void add_bars(struct drawing *d, const struct code_made *m, double x, double y)
{
    const struct zint_symbol *s = m->symbol;
    double tops[ROWS_MAX + 1] = {0}, fixed = 0;
    int rows = s->rows < ROWS_MAX ? s->rows : ROWS_MAX, shared = 0;
    bool stretched = m->kind->shape == CODE_STACK || m->kind->shape == CODE_POSTAL;

    for (int i = 0; i < rows; i++) {
        shared += row_height(m, i) <= 0;
        fixed += row_height(m, i);
    }
    for (int i = 0; i < rows; i++) {
        double height = m->kind->shape == CODE_SQUARES ? m->module
                        : row_height(m, i) <= 0
                            ? fmax(m->bars - fixed * m->module, 0) / shared
                            : row_height(m, i) *
                                  (stretched && !shared ? m->bars / fixed : m->module);

        tops[i + 1] = tops[i] + height;
    }
    for (int row = 0; row < rows; row++) {
        for (int from = 0; from < s->width; from++) {
            int to = draw_barcode_run_end(s, row, from);

            if (to > from)
                draw_barcode_add_run(d->cairo, m, tops, row, from, to, x, y);
            from = to > from ? to : from;
        }
    }
}

static void add_dots(struct drawing *d, const struct code_made *m, double x, double y)
{
    const struct zint_symbol *s = m->symbol;

    for (int row = 0; row < s->rows && row < ROWS_MAX; row++) {
        for (int column = 0; column < s->width; column++) {
            if (!is_dark(s, row, column))
                continue;
            cairo_new_sub_path(d->cairo);
            cairo_arc(d->cairo, x + (column + 0.5) * m->module, y + (row + 0.5) * m->module,
                0.4 * m->module, 0, 2 * M_PI);
        }
    }
}

static void fill_hexagons(struct drawing *d, const struct code_made *m, double x, double y)
{
    const struct zint_vector *v = m->symbol->vector;

    for (const struct zint_vector_hexagon *h = v->hexagons; h; h = h->next) {
        double cx = x + h->x * m->module, cy = y + h->y * m->module;
        double r = h->diameter / 2 * m->module;

        for (int i = 0; i < 6; i++)
            (i ? cairo_line_to : cairo_move_to)(
                d->cairo, cx + r * sin(i * M_PI / 3), cy + r * cos(i * M_PI / 3));
        cairo_close_path(d->cairo);
    }
    cairo_fill(d->cairo);
    for (const struct zint_vector_circle *c = v->circles; c; c = c->next) {
        double width = c->width * m->module;

        cairo_arc(d->cairo, x + c->x * m->module, y + c->y * m->module, c->diameter / 2 * m->module,
            0, 2 * M_PI);
        cairo_close_path(d->cairo);
        cairo_set_line_width(d->cairo, width);
        if (width > 0)
            cairo_stroke(d->cairo);
        else
            cairo_fill(d->cairo);
    }
}

/* ---- its place ---- */

/* Moves a point to the next dot of the printer. */
static void snap(struct drawing *d, double *x, double *y)
{
    double dot = d->snap > 0 ? 72 / d->snap : 0;

    if (dot <= 0)
        return;
    to_page(d, x, y);
    *x = round(*x / dot) * dot;
    *y = round(*y / dot) * dot;
    from_page(d, x, y);
}

/* Warns when the white that readers need beside it is beyond the page. */
static void check_quiet(struct drawing *d, struct element *e, const struct code_made *m, double x,
    double y, double width)
{
    double needed = m->kind->quiet * m->module, from_x = x - needed, from_y = y;
    double to_x = x + width + needed, to_y = y;

    to_page(d, &from_x, &from_y);
    to_page(d, &to_x, &to_y);
    if (fmin(from_x, to_x) < -0.01 || fmin(from_y, to_y) < -0.01 ||
        fmax(from_x, to_x) > d->page_width + 0.01 || fmax(from_y, to_y) > d->page_height + 0.01)
        report_warning(d, e, "", "barcode.too_small",
            "its quiet zone of %u modules is beyond the edge of the page", m->kind->quiet);
}

/* Leaves the code to the printer, which makes Code 128 and QR codes by itself. */
static bool leave_to_printer(
    struct drawing *d, struct element *e, const struct code_made *m, double x, double y)
{
    wharf_str color = el_text(e, "color", "#000000"), ecc = el_text(e, "ecc", "M");
    const struct zpl_code code = {.value = m->data,
        .qr = m->kind->zint == BARCODE_QRCODE,
        .ecc = ecc.n ? ecc.p[0] : 'M',
        .x = x,
        .y = y,
        .module = m->module,
        .width = m->columns * m->module,
        .height = m->bars};

    return d->native && (code.qr || str_eqz(str_z(m->kind->name), "code128")) &&
           (str_eqz(color, "#000000") || str_eqz(color, "#000")) && zpl_native(d, &code);
}

static void draw_code(struct drawing *d, const struct code_made *m, double x, double y)
{
    cairo_new_path(d->cairo);
    if (m->kind->shape == CODE_HEXAGONS)
        fill_hexagons(d, m, x, y);
    else if (m->kind->shape == CODE_DOTS)
        add_dots(d, m, x, y);
    else if (m->kind->shape == CODE_BARS && m->symbol->rows == 1)
        draw_barcode_add_row(d, m, x, y);
    else
        add_bars(d, m, x, y);
    cairo_fill(d->cairo);
}

bool barcode_draw(struct drawing *d, struct element *e)
{
    struct code_made *m = e->made;
    double width = m->columns * m->module, quiet = m->quiet * m->module;
    double x = e->box_x + fmax((e->width - width) / 2, 0), y = e->box_y;
    double over = e->height - m->bars - m->text_size * 1.25;

    if (m->kind->shape >= CODE_SQUARES)
        y += fmax(over / 2, 0);
    else if (m->kind->shape == CODE_STACK)
        y += fmin(quiet, fmax(over / 2, 0));
    snap(d, &x, &y);
    if (!color_set(d, e, "color", "#000000"))
        return false;
    check_quiet(d, e, m, x, y, width);
    if (!leave_to_printer(d, e, m, x, y))
        draw_code(d, m, x, y);
    if (m->text_size > 0)
        text_caption(d, (const char *)m->symbol->text, x, y + m->bars + m->text_size * 0.05, width,
            m->text_size);
    return true;
}
