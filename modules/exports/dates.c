/* dates.c - moments in a time zone and a format (spec 01 section 15, 'csv_field_options'). The
 * database knows the zones. */
#include <stdio.h>

#include "exports.h"

struct moment {
    int year, month, day, hour, minute, second, ms, offset_s;
    bool good;
};

static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December"};

static size_t dates_run_of(wharf_str f, size_t at)
{
    size_t n = 1;

    while (at + n < f.n && f.p[at + n] == f.p[at])
        n++;
    return n;
}

static bool dates_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the length of quoted text with its quotes; '' is a quote. 0: it does not end. */
static size_t quoted_length(wharf_str f, size_t at)
{
    for (size_t i = at + 1; i < f.n; i++) {
        if (f.p[i] != '\'')
            continue;
        if (i + 1 < f.n && f.p[i + 1] == '\'' && i > at + 1)
            i++;
        else
            return i + 1 - at;
    }
    return 0;
}

bool date_format_good(wharf_str f)
{
    static const char tokens[] = "yMdHhmsSa";
    static const size_t most[] = {4, 4, 2, 2, 2, 2, 2, 6, 1};
    bool any = false;

    for (size_t i = 0, n; i < f.n; i += n) {
        const char *token = strchr(tokens, f.p[i]);

        n = f.p[i] == '\'' ? quoted_length(f, i) : dates_run_of(f, i);
        if (!n || (dates_is_letter(f.p[i]) && (!token || n > most[token - tokens])))
            return false;
        if (f.p[i] == 'y' && n == 3)
            return false;
        any |= token != NULL;
    }
    return any;
}

wharf_status date_zone_known(wharf_req *req, wharf_str zone, bool *ret_known)
{
    static const char sql[] = "SELECT count(*) FROM pg_timezone_names WHERE name = $1::text";
    const wharf_val arg = val_text(zone);
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, &arg, 1, &rows);

    *ret_known = s == WHARF_OK && row_int(rows, 0, 0) > 0;
    return s;
}

/* ---- one moment ---- */

static int dates_put_number(char *out, size_t room, int value, size_t width)
{
    return snprintf(out, room, "%0*d", (int)width, value);
}

static int put_token(char *out, size_t room, const struct moment *m, char token, size_t n)
{
    int hour12 = m->hour % 12 ? m->hour % 12 : 12;
    char fraction[8];

    switch (token) {
    case 'y':
        return n == 2 ? dates_put_number(out, room, m->year % 100, 2)
                      : dates_put_number(out, room, m->year, n);
    case 'M':
        return n == 4   ? snprintf(out, room, "%s", months[m->month - 1])
               : n == 3 ? snprintf(out, room, "%.3s", months[m->month - 1])
                        : dates_put_number(out, room, m->month, n);
    case 'd':
        return dates_put_number(out, room, m->day, n);
    case 'H':
        return dates_put_number(out, room, m->hour, n);
    case 'h':
        return dates_put_number(out, room, hour12, n);
    case 'm':
        return dates_put_number(out, room, m->minute, n);
    case 's':
        return dates_put_number(out, room, m->second, n);
    case 'S':
        snprintf(fraction, sizeof(fraction), "%03d000", m->ms);
        return snprintf(out, room, "%.*s", (int)n, fraction);
    default:
        return snprintf(out, room, "%s", m->hour < 12 ? "AM" : "PM");
    }
}

/* Writes quoted text; '' is a quote, in quoted text as well. */
static size_t put_quoted(char *out, wharf_str q)
{
    size_t n = 0;

    if (q.n == 2) {
        out[0] = '\'';
        return 1;
    }
    for (size_t i = 1; i + 1 < q.n; i++) {
        out[n++] = q.p[i];
        i += q.p[i] == '\'';
    }
    return n;
}

static wharf_str by_format(wharf_req *req, const struct moment *m, wharf_str f)
{
    size_t room = f.n * 10 + 16, at = 0;
    char *out = W->mem->alloc(req, room);

    for (size_t i = 0, n; i < f.n; i += n) {
        if (f.p[i] == '\'') {
            n = quoted_length(f, i);
            at += put_quoted(out + at, (wharf_str){f.p + i, n});
        } else if (dates_is_letter(f.p[i])) {
            n = dates_run_of(f, i);
            at += (size_t)put_token(out + at, room - at, m, f.p[i], n);
        } else {
            n = 1;
            out[at++] = f.p[i];
        }
    }
    return (wharf_str){out, at};
}

static wharf_str by_iso(wharf_req *req, const struct moment *m)
{
    int offset = m->offset_s < 0 ? -m->offset_s : m->offset_s;

    if (!m->offset_s)
        return W->mem->format(req, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", m->year, m->month, m->day,
            m->hour, m->minute, m->second, m->ms);
    return W->mem->format(req, "%04d-%02d-%02dT%02d:%02d:%02d.%03d%c%02d:%02d", m->year, m->month,
        m->day, m->hour, m->minute, m->second, m->ms, m->offset_s < 0 ? '-' : '+', offset / 3600,
        offset / 60 % 60);
}

/* ---- many ---- */

static void read_moment(wharf_str text, int64_t offset_s, struct moment *m)
{
    char own[40];

    *m = (struct moment){.offset_s = (int)offset_s};
    if (text.n >= sizeof(own))
        return;
    memcpy(own, text.p, text.n);
    own[text.n] = 0;
    m->good = sscanf(own, "%d-%d-%d%*1[T ]%d:%d:%d.%d", &m->year, &m->month, &m->day, &m->hour,
                  &m->minute, &m->second, &m->ms) == 7 &&
              m->month >= 1 && m->month <= 12;
}

/* Reads the clock on the wall of the zone at each moment. */
static wharf_status in_zone(
    wharf_req *req, wharf_str zone, const struct date_cell *cells, size_t n, struct moment *moments)
{
    static const char sql[] =
        "SELECT to_char(x.at AT TIME ZONE $2::text, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS'),"
        " extract(epoch FROM (x.at AT TIME ZONE $2::text) - (x.at AT TIME ZONE 'UTC'))::bigint"
        " FROM (SELECT v.t::timestamptz AS at, v.i FROM json_array_elements_text($1::json) WITH "
        "ORDINALITY v(t, i)) x"
        " ORDER BY x.i";
    wharf_out *list = W->json->writer(req);
    const wharf_rows *rows;
    wharf_status s;

    W->json->open(list, NULL, '[');
    for (size_t i = 0; i < n; i++)
        W->json->put(list, NULL, val_text(*cells[i].text));
    W->json->close(list);
    const wharf_val args[] = {val_text(W->json->result_text(list)), val_text(zone)};

    s = W->db->query(req, sql, args, 2, &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        read_moment(row_text(rows, i, 0), row_int(rows, i, 1), &moments[i]);
    return s;
}

wharf_status dates_render(
    wharf_req *req, const struct date_style *style, const struct date_cell *cells, size_t n)
{
    struct moment *moments = W->mem->alloc(req, (n + 1) * sizeof(*moments));
    wharf_status s = WHARF_OK;

    if (!n || style->plain)
        return WHARF_OK;
    if (is(style->zone, "UTC")) {
        for (size_t i = 0; i < n; i++)
            read_moment(*cells[i].text, 0, &moments[i]);
    } else {
        s = in_zone(req, style->zone, cells, n, moments);
    }
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (moments[i].good)
            *cells[i].text = style->format.n ? by_format(req, &moments[i], style->format)
                                             : by_iso(req, &moments[i]);
    }
    return s;
}
