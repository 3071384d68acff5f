/* draw_layout.c - definitions become elements, and elements stand on pages, as tables
 * (docs/spec/05-documents-and-templates.md sections 9.4 and 9.5). */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "draw.h"

static const char data_text[] =
    "{\"l\":[\"a\",\"b\",\"c\"],\"o\":{\"k\":[1,2]},\"yes\":true,\"n\":3,\"w\":\"12\"}";

struct room { /* what a drawing needs to be laid out */
    struct drawing d;
    struct draw_vars vars;
};

static struct element *expand(struct arena *a, const char *raw, struct room *r)
{
    *r = (struct room){.d = {.arena = a,
                           .page_width = 200,
                           .page_height = 100,
                           .top = 10,
                           .bottom = 10,
                           .left = 10,
                           .right = 10}};
    r->vars.value = unit_json(a, data_text);
    buf_init(&r->d.report.errors, 1 << 16);
    buf_init(&r->d.report.warnings, 1 << 16);
    buf_init(&r->d.report.problems, 1 << 16);
    return expand_list(&r->d, unit_json(a, raw), WHARF_S("raw"), &r->vars);
}

static void done(struct room *r)
{
    buf_done(&r->d.report.errors);
    buf_done(&r->d.report.warnings);
    buf_done(&r->d.report.problems);
}

static void list_elements(const struct element *e, double x, double y, struct buf *out)
{
    for (; e; e = e->next) {
        buf_addf(
            out, "%s%.*s@%g,%g", out->n ? " " : "", (int)e->path.n, e->path.p, x + e->x, y + e->y);
        list_elements(e->child, x + e->x, y + e->y, out);
    }
}

#define RECT(more) "{\"type\":\"rect\",\"width\":10," more "}"

static void test_elements(void **state)
{
    static const struct {
        const char *raw, *made;
        unsigned total, errors, warnings, problems;
    } rows[] = {{"[" RECT("\"x\":1,\"y\":2") "]", "raw.0@1,2", 1, 0, 0, 0},
        {"[" RECT("\"x\":\"{{w}}\",\"y\":\"{{n * 2}}\"") "]", "raw.0@12,6", 1, 0, 0, 0},
        {"[" RECT("\"x\":1,\"if\":\"yes && n == 3\"") "," RECT("\"if\":\"!yes\"") "]", "raw.0@1,0",
            1, 0, 0, 0},
        {"[" RECT("\"if\":\"n >\"") "]", "", 1, 1, 0, 0},
        {"[" RECT("\"fill\":\"{{ | }}\"") "]", "", 1, 1, 0, 0},
        {"[" RECT("\"link\":\"{{nothing}}\"") "]", "raw.0@0,0", 1, 0, 1, 0},
        {"[" RECT("\"x\":5,\"repeat\":{\"each\":\"l\",\"dx\":10,\"dy\":1}") "]",
            "raw.0#0@5,0 raw.0#1@15,1 raw.0#2@25,2", 3, 0, 0, 0},
        {"[" RECT("\"repeat\":{\"each\":\"l\",\"dx\":10,\"dy\":20,\"per_row\":2}") "]",
            "raw.0#0@0,0 raw.0#1@10,0 raw.0#2@0,20", 3, 0, 0, 0},
        {"[" RECT("\"repeat\":{\"each\":\"l\",\"dx\":1,\"limit\":2}") "]",
            "raw.0#0@0,0 raw.0#1@1,0", 2, 0, 0, 0},
        {"[" RECT("\"x\":\"{{v}}\",\"y\":\"{{k}}\",\"repeat\":{\"each\":\"o.k\",\"as\":\"v\","
                  "\"index\":\"k\"}") "]",
            "raw.0#0@1,0 raw.0#1@2,1", 2, 0, 0, 0},
        {"[" RECT("\"repeat\":{\"each\":\"nothing\"}") "]", "", 0, 0, 1, 0},
        {"[" RECT("\"repeat\":{\"each\":\"n\"}") "]", "", 0, 1, 0, 0},
        {"[{\"type\":\"group\",\"x\":5,\"y\":6,\"children\":[" RECT("\"x\":1,\"y\":1") "," RECT(
             "\"x\":\"{{i}}\",\"repeat\":{\"each\":\"o.k\",\"dy\":3}") "]}]",
            "raw.0@5,6 raw.0.children.0@6,7 raw.0.children.1#0@5,6 raw.0.children.1#1@6,9", 3, 0, 0,
            0},
        {"[{\"type\":\"cube\"}," RECT("\"x\":1") "]", "raw.1@1,0", 1, 0, 0, 1},
        {"[{\"type\":\"group\",\"children\":[{\"type\":\"flow\",\"children\":[]}]}]", "raw.0@0,0",
            0, 0, 0, 1}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct room r;
        struct buf made;

        buf_init(&made, 1 << 16);
        list_elements(expand(*state, rows[i].raw, &r), 0, 0, &made);
        if (strcmp(buf_str(&made).p, rows[i].made) != 0)
            fail_msg("%s:\n%s\ninstead of\n%s", rows[i].raw, buf_str(&made).p, rows[i].made);
        if (r.d.report.total != rows[i].total || r.d.report.n_errors != rows[i].errors ||
            r.d.report.n_warnings != rows[i].warnings || r.d.report.n_problems != rows[i].problems)
            fail_msg("%s: %u elements, %u errors, %u warnings, %u problems", rows[i].raw,
                r.d.report.total, r.d.report.n_errors, r.d.report.n_warnings,
                r.d.report.n_problems);
        buf_done(&made);
        done(&r);
    }
}

/* Pages are 100 high with margins of 10: page 1 shows 0 to 90, each other one 80. */
static const struct {
    const char *raw, *made; /* page:y of each piece, in the order of drawing; /y: cut there */
    unsigned pages;
} pages[] = {{"[" RECT("\"y\":95,\"height\":50") "]", "1:95", 1},
    {"[" RECT("\"y\":99.9,\"height\":1") "," RECT("\"y\":0,\"height\":500") "]", "1:99.9 1:0", 1},
    {"[" RECT("\"y\":5,\"height\":10") "," RECT("\"y\":100,\"height\":10") "]", "1:5 2:20", 2},
    {"[" RECT("\"y\":85,\"height\":10") "," RECT("\"y\":110,\"height\":10") "]", "2:10 2:35", 2},
    {"[" RECT("\"y\":85,\"height\":10") "," RECT("\"y\":85,\"height\":2") "," RECT(
         "\"y\":110,\"height\":10") "]",
        "2:10 2:10 2:35", 2},
    {"[" RECT("\"y\":250,\"height\":10") "," RECT("\"y\":5,\"height\":10") "]", "1:5 4:10", 4},
    {"[" RECT("\"y\":0,\"height\":200") "," RECT("\"y\":300,\"height\":1") "]", "1:0/90 4:60", 4},
    {"[" RECT("\"y\":60,\"height\":10,\"page\":3") "]", "3:60", 3},
    {"[" RECT("\"y\":120,\"height\":5") "," RECT("\"y\":120,\"height\":5,\"page\":1") "]",
        "1:120 2:40", 2},
    {"[{\"type\":\"flow\",\"x\":0,\"y\":70,\"id\":\"f\",\"gap\":5,\"children\":[" RECT(
         "\"height\":15") "," RECT("\"height\":15") "," RECT("\"height\":40") "]}," RECT("\"y\""
                                                                                         ":3,"
                                                                                         "\"hei"
                                                                                         "ght\""
                                                                                         ":20,"
                                                                                         "\"aft"
                                                                                         "er\":"
                                                                                         "\"f"
                                                                                         "\"") "]",
        "1:70 2:10 2:30 3:10", 3},
    {"[{\"type\":\"flow\",\"x\":0,\"y\":20,\"children\":[" RECT(
         "\"height\":15") ",{\"type\":"
                          "\"page_break\"}," RECT("\"height\":15") ",{\"type\":\"spacer\","
                                                                   "\"height\":20}," RECT(
                                                                       "\"height\":15") "]}]",
        "1:20 2:10 2:45", 2},
    {"[{\"type\":\"flow\",\"x\":0,\"y\":60,\"keep_together\":true,\"children\":[" RECT(
         "\"height\":15") "," RECT("\"height\":15") "," RECT("\"height\":15") "]}]",
        "2:10 2:25 2:40", 2}};

static void test_pages(void **state)
{
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        struct layout l;
        struct room r;
        struct element *first = expand(*state, pages[i].raw, &r);
        struct buf made;

        buf_init(&made, 1 << 16);
        assert_true(layout_make(&r.d, first, &l));
        for (size_t k = 0; k < l.n; k++) {
            buf_addf(&made, "%s%u:%g", k ? " " : "", l.pieces[k].page,
                l.pieces[k].e->y + l.pieces[k].dy);
            if (l.pieces[k].clip > 0)
                buf_addf(&made, "/%g", l.pieces[k].clip);
        }
        if (strcmp(buf_str(&made).p, pages[i].made) != 0 || l.pages != pages[i].pages)
            fail_msg("%s:\n%s, %u pages\ninstead of\n%s", pages[i].raw, buf_str(&made).p, l.pages,
                pages[i].made);
        free(l.pieces);
        buf_done(&made);
        done(&r);
    }
}

static void test_colors(void **state)
{
    static const struct {
        const char *said;
        bool good;
        double r, a;
    } rows[] = {{"#f00", true, 1, 1}, {"#FF0000", true, 1, 1},
        {"#33000080", true, 0.2, 128 / 255.0}, {"f00", false, 0, 0}, {"#ff00", false, 0, 0},
        {"#gg0000", false, 0, 0}, {"", false, 0, 0}, {"#", false, 0, 0}, {"#-10000", false, 0, 0},
        {"#\x10\x10\x10", false, 0, 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct color c = {0};

        if (color_read(str_z(rows[i].said), &c) != rows[i].good)
            fail_msg("%s", rows[i].said);
        assert_true(fabs(c.r - rows[i].r) < 1e-9 && fabs(c.a - rows[i].a) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_elements), UNIT(test_pages), UNIT(test_colors)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
