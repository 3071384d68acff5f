/* draw_path.c - SVG path data as a path of cairo: M L H V C S Q T A Z in both cases; see draw.h.
 * The data are placed at the element's x and y. Leaves to others: fill and outline
 * (draw_element.c). */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "util/str.h"

enum {
    NUMBERS = 7,
    STEPS_MAX = 100000 /* commands of one path */
};

struct pen {
    const char *p, *end;
    cairo_t *c;
    double ox, oy; /* of the element */
    double x, y, start_x, start_y; /* without those */
    double control_x, control_y; /* of the last curve */
    char last; /* command in capitals */
};

static bool has_power(const char *room, size_t n)
{
    return memchr(room, 'e', n) || memchr(room, 'E', n);
}

/* Tells whether a sign goes on with the number that was read so far. */
static bool goes_on(const char *room, size_t n, char c)
{
    if (c == '+' || c == '-')
        return !n || room[n - 1] == 'e' || room[n - 1] == 'E';
    if (c == '.')
        return !memchr(room, '.', n) && !has_power(room, n);
    if (c == 'e' || c == 'E')
        return n && !has_power(room, n);
    return isdigit((unsigned char)c);
}

static void draw_path_skip_blanks(struct pen *pen)
{
    while (pen->p < pen->end && (isspace((unsigned char)*pen->p) || *pen->p == ','))
        pen->p++;
}

static bool draw_path_next_number(struct pen *pen, double *ret)
{
    char room[40];
    size_t n = 0;

    draw_path_skip_blanks(pen);
    while (pen->p < pen->end && n < sizeof(room) - 1 && goes_on(room, n, *pen->p))
        room[n++] = *pen->p++;
    room[n] = 0;
    *ret = strtod(room, NULL);
    return strcspn(room, "0123456789") < n && !strchr("eE+-", room[n - 1]) && isfinite(*ret) &&
           fabs(*ret) < 1e6;
}

/* Reads a flag of an arc: one digit, with nothing behind it. */
static bool next_flag(struct pen *pen, double *ret)
{
    draw_path_skip_blanks(pen);
    if (pen->p == pen->end || (*pen->p != '0' && *pen->p != '1'))
        return false;
    *ret = *pen->p++ - '0';
    return true;
}

static void curve(struct pen *pen, double x1, double y1, double x2, double y2, double x, double y)
{
    cairo_curve_to(
        pen->c, pen->ox + x1, pen->oy + y1, pen->ox + x2, pen->oy + y2, pen->ox + x, pen->oy + y);
    pen->control_x = x2;
    pen->control_y = y2;
}

static void quadratic(struct pen *pen, double x1, double y1, double x, double y)
{
    curve(pen, pen->x + (x1 - pen->x) * 2 / 3, pen->y + (y1 - pen->y) * 2 / 3, x + (x1 - x) * 2 / 3,
        y + (y1 - y) * 2 / 3, x, y);
    pen->control_x = x1;
    pen->control_y = y1;
}

/* Draws an arc of an ellipse as SVG 1.1 appendix F.6.5 computes it. */
static void arc(struct pen *pen, const double *v, double x, double y)
{
    double rx = fabs(v[0]), ry = fabs(v[1]), turn = v[2] * M_PI / 180;
    double hx = (pen->x - x) / 2, hy = (pen->y - y) / 2;
    double px = cos(turn) * hx + sin(turn) * hy, py = -sin(turn) * hx + cos(turn) * hy;
    double over, root, cx, cy, from, to;
    cairo_matrix_t before;

    if (rx < LEAST_SCALE || ry < LEAST_SCALE || (hx == 0 && hy == 0)) {
        cairo_line_to(pen->c, pen->ox + x, pen->oy + y);
        return;
    }
    over = px * px / (rx * rx) + py * py / (ry * ry);
    if (over > 1) {
        rx *= sqrt(over);
        ry *= sqrt(over);
        over = 1;
    }
    root = sqrt(fmax(1 / over - 1, 0)) * ((v[3] != 0) == (v[4] != 0) ? -1 : 1);
    cx = root * rx * py / ry;
    cy = -root * ry * px / rx;
    from = atan2((py - cy) / ry, (px - cx) / rx);
    to = atan2((-py - cy) / ry, (-px - cx) / rx);
    cairo_get_matrix(pen->c, &before);
    cairo_translate(pen->c, pen->ox + cos(turn) * cx - sin(turn) * cy + (pen->x + x) / 2,
        pen->oy + sin(turn) * cx + cos(turn) * cy + (pen->y + y) / 2);
    cairo_rotate(pen->c, turn);
    cairo_scale(pen->c, rx, ry);
    if (v[4] != 0)
        cairo_arc(pen->c, 0, 0, 1, from, to);
    else
        cairo_arc_negative(pen->c, 0, 0, 1, from, to);
    cairo_set_matrix(pen->c, &before);
}

static int draw_path_numbers_of(char command)
{
    static const char commands[] = "MLHVCSQTAZ";
    static const int counts[] = {2, 2, 1, 1, 6, 4, 4, 2, 7, 0};
    const char *at = command ? strchr(commands, command) : NULL;

    return at ? counts[at - commands] : -1;
}

/* Returns the mirror image of the last control point, where the command before was a curve of
 * the same family; the point itself elsewhere. */
static void mirrored(const struct pen *pen, const char *family, double *ret_x, double *ret_y)
{
    bool curved = pen->last && strchr(family, pen->last);

    *ret_x = curved ? 2 * pen->x - pen->control_x : pen->x;
    *ret_y = curved ? 2 * pen->y - pen->control_y : pen->y;
}

static void stroke(struct pen *pen, char command, const double *v, double x, double y)
{
    double mx, my;

    switch (command) {
    case 'M':
        cairo_move_to(pen->c, pen->ox + x, pen->oy + y);
        pen->start_x = x;
        pen->start_y = y;
        break;
    case 'C':
        curve(pen, v[0], v[1], v[2], v[3], x, y);
        break;
    case 'S':
        mirrored(pen, "CS", &mx, &my);
        curve(pen, mx, my, v[0], v[1], x, y);
        break;
    case 'Q':
        quadratic(pen, v[0], v[1], x, y);
        break;
    case 'T':
        mirrored(pen, "QT", &mx, &my);
        quadratic(pen, mx, my, x, y);
        break;
    case 'A':
        arc(pen, v, x, y);
        break;
    default:
        cairo_line_to(pen->c, pen->ox + x, pen->oy + y);
    }
    pen->x = x;
    pen->y = y;
    pen->last = command;
}

/* Takes the numbers of one command and draws it. */
static bool draw_path_one(struct pen *pen, char command, bool relative)
{
    int n = draw_path_numbers_of(command);
    double v[NUMBERS] = {0}, x = pen->x, y = pen->y;

    for (int i = 0; i < n; i++) {
        bool flag = command == 'A' && (i == 3 || i == 4);

        if (!(flag ? next_flag(pen, &v[i]) : draw_path_next_number(pen, &v[i])))
            return false;
    }
    if (relative && command == 'H')
        v[0] += pen->x;
    else if (relative && command == 'V')
        v[0] += pen->y;
    else if (relative)
        for (int i = command == 'A' ? 5 : 0; i + 1 < n; i += 2) {
            v[i] += pen->x;
            v[i + 1] += pen->y;
        }
    if (command == 'H')
        x = v[0];
    else if (command == 'V')
        y = v[0];
    else {
        x = v[n - 2];
        y = v[n - 1];
    }
    stroke(pen, command, v, x, y);
    return true;
}

static bool is_number_next(struct pen *pen)
{
    draw_path_skip_blanks(pen);
    return pen->p < pen->end && (isdigit((unsigned char)*pen->p) || strchr("+-.", *pen->p));
}

static bool draw_path_read_path(struct pen *pen)
{
    unsigned steps = 0;

    while (pen->p < pen->end) {
        char said, command;

        is_number_next(pen); /* past the blanks */
        if (pen->p == pen->end)
            break;
        said = *pen->p++;
        command = (char)toupper((unsigned char)said);
        if (draw_path_numbers_of(command) < 0 || (!pen->last && command != 'M'))
            return false;
        if (command == 'Z') {
            cairo_close_path(pen->c);
            pen->x = pen->start_x;
            pen->y = pen->start_y;
            pen->last = 'Z';
            continue;
        }
        do {
            if (++steps > STEPS_MAX || !draw_path_one(pen, command, said != command))
                return false;
            command = command == 'M' ? 'L' : command;
            said = said == 'M' ? 'L' : said == 'm' ? 'l' : said;
        } while (is_number_next(pen));
    }
    return pen->last != 0;
}

bool path_measure(struct drawing *d, struct element *e)
{
    wharf_str data = el_text(e, "d", "");
    cairo_surface_t *none = cairo_recording_surface_create(CAIRO_CONTENT_ALPHA, NULL);
    struct pen pen = {.p = data.p, .end = data.p + data.n, .c = cairo_create(none)};
    double x2 = 0, y2 = 0;
    bool good;

    pen.ox = e->x;
    pen.oy = e->y;
    good = draw_path_read_path(&pen) ||
           report_error(d, e, "expression.invalid", "d is no path: it ends at byte %zu",
               (size_t)(pen.p - data.p));
    if (good) {
        cairo_path_extents(pen.c, &e->box_x, &e->box_y, &x2, &y2);
        e->width = x2 - e->box_x;
        e->height = y2 - e->box_y;
        e->made = cairo_copy_path(pen.c);
    }
    cairo_destroy(pen.c);
    cairo_surface_destroy(none);
    return good;
}

void path_done(struct element *e)
{
    if (e->made)
        cairo_path_destroy(e->made);
    e->made = NULL;
}
