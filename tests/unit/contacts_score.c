/* contacts_score.c - contact_names.h, score.h and the search form: the worked examples of
 * docs/spec/06-inference.md section 9.4 as they stand there, and the rules around them. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "score.h"
#include "util/search_form.h"

static void clean(struct arena *a, const char *text, unsigned flags, struct cleaned *ret)
{
    name_clean(search_form(a, str_z(text), ",#/"), NULL, 0, flags, ret);
}

static double score(struct arena *a, const char *label, const char *contact, enum fuzziness f)
{
    struct cleaned l, c;
    struct name_score s;

    clean(a, label, 0, &l);
    clean(a, contact, 0, &c);
    name_compare(&l.name, &c.name, f, &s);
    return score_round(s.score);
}

/* Rows of the table: label, contact, score at AUTO:4,9, score at 0; two in a line. */
static void worked_examples(void **state)
{
    wharf_str doc = unit_file(*state, "docs/spec/06-inference.md");
    char *line = strstr(doc.p, "| Label | Contact | AUTO:4,9 |"), *cells[12], *next;
    int seen = 0;

    assert_non_null(line);
    line = strchr(strchr(line, '\n') + 1, '\n') + 1;
    for (; *line == '|'; line = next) {
        size_t n = 0;

        next = strchr(line, '\n');
        *next++ = 0;
        for (char *p = line + 1, *bar; n < 12 && (bar = strchr(p, '|')) != NULL; p = bar + 1) {
            *bar = 0;
            cells[n++] = p;
        }
        assert_int_equal(n, 9);
        for (size_t i = 0; i < 9; i += 5) {
            double fuzzy = score(*state, cells[i], cells[i + 1], FUZZY_AUTO);
            double exact = score(*state, cells[i], cells[i + 1], FUZZY_NONE);

            if (fabs(fuzzy - strtod(cells[i + 2], NULL)) > 1e-9 ||
                fabs(exact - strtod(cells[i + 3], NULL)) > 1e-9)
                fail_msg("%s and %s: %.4f and %.4f, not %s and %s", cells[i], cells[i + 1], fuzzy,
                    exact, cells[i + 2], cells[i + 3]);
            seen++;
        }
    }
    assert_int_equal(seen, 18);
}

static void search_forms(void **state)
{
    static const char *const rows[][3] = {{"  O'Brien-Smith ", "", "obrien smith"},
        {"Ærøskøbing", "", "aeroskobing"}, {"Łódź", "", "lodz"}, {"Straße", "", "strasse"},
        {"Ｊｏｈｎ　ＳＭＩＴＨ", "", "john smith"}, {"José\u0301 Ñandú", "", "jose nandu"},
        {"ﬁne №5", "", "fine no5"}, {"Smith, John #4", ",#", "smith , john # 4"},
        {"c/o Ann", "/", "c / o ann"}, {"", "", ""}, {"!?", "", ""},
        {"Мария Иванова", "", "мария иванова"}, {"山田 太郎", "", "山田 太郎"},
        {"Þór Ðæ ıI", "", "thor dae ii"}, {"İstanbul", "", "istanbul"}, {"D’Arcy", "", "darcy"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(search_form(*state, str_z(rows[i][0]), rows[i][1]).p, rows[i][2]);
    assert_string_equal(search_form(*state, WHARF_S("ab\xC3(cd"), "").p, "");
}

static void says(
    struct arena *a, const char *text, const char *name, const char *business, const char *unit)
{
    struct cleaned c;
    struct buf b;

    clean(a, text, 0, &c);
    buf_init(&b, 1000);
    for (size_t i = 0; i < c.name.n; i++)
        buf_addf(&b, "%s%.*s", i ? " " : "", STR_ARG(c.name.tokens[i].text));
    buf_addz(&b, "|");
    for (size_t i = 0; i < c.business.n; i++)
        buf_addf(&b, "%s%.*s", i ? " " : "", STR_ARG(c.business.tokens[i].text));
    buf_addf(&b, "|%.*s", STR_ARG(c.unit));
    assert_string_equal(buf_str(&b).p, arena_printf(a, "%s|%s|%s", name, business, unit).p);
    buf_done(&b);
}

static void cleaning(void **state)
{
    struct arena *a = *state;
    struct cleaned c;

    says(a, "ATTENTION: Dr. Jane Doe PhD", "jane doe", "", "");
    says(a, "Deliver to Jane Doe", "jane doe", "", "");
    says(a, "Jane Doe c/o Acme Logistics GmbH", "jane doe", "acme logistics", "");
    says(a, "Acme Inc attn Jane Doe", "jane doe", "acme", "");
    says(a, "Jane Doe care of Acme", "jane doe", "acme", "");
    says(a, "Jane Doe, #12", "jane doe", "", "12");
    says(a, "Jane Doe Suite 400", "jane doe", "", "400");
    says(a, "Apt 4B", "apt 4b", "", ""); /* nothing would be left */
    says(a, "Doe, Jane Mary", "jane mary doe", "", "");
    says(a, "Doe, PhD", "doe", "", "");
    says(a, "Acme, Inc", "acme inc", "", ""); /* a legal form: not turned round */
    says(a, "Dr", "dr", "", "");
    says(a, "Mr. Mrs. Smith Jr. III", "smith", "", "");
    says(a, "to", "to", "", "");
    says(a, "", "", "", "");
    clean(a, "Dr Jane Doe PhD", CLEAN_KEEP_TITLES, &c);
    assert_int_equal(c.name.n, 4);
    clean(a, "John Smith Junior", 0, &c);
    assert_int_equal(c.name.n, 2);
    assert_int_equal(c.name.generation, word_of("jr", 2)->generation);
}

static void ignored_phrases(void **state)
{
    const wharf_str ignore[] = {WHARF_S("room"), WHARF_S("mail room"), WHARF_S("jane")};
    struct cleaned c;

    name_clean(search_form(*state, WHARF_S("Mail Room John Smith"), ",#/"), ignore, 3, 0, &c);
    assert_int_equal(c.name.n, 2);
    name_clean(search_form(*state, WHARF_S("Jane"), ",#/"), ignore, 3, 0, &c);
    assert_int_equal(c.name.n, 1); /* nothing would be left */
}

static int distance(const char *a, const char *b)
{
    uint32_t x[TOKEN_POINTS], y[TOKEN_POINTS];

    for (size_t i = 0; a[i]; i++)
        x[i] = (unsigned char)a[i];
    for (size_t i = 0; b[i]; i++)
        y[i] = (unsigned char)b[i];
    return edit_distance(x, strlen(a), y, strlen(b));
}

static void edits(void **state)
{
    assert_int_equal(distance("smtih", "smith"), 1);
    assert_int_equal(distance("jhon", "john"), 1);
    assert_int_equal(distance("jon", "john"), 1);
    assert_int_equal(distance("montgomry", "montgomery"), 1);
    assert_int_equal(distance("abcdefgh", "abcdefxy"), 2);
    /* optimal string alignment: no edit between swapped letters */
    assert_int_equal(distance("ca", "abc"), 3);
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(edits_allowed(3, FUZZY_AUTO), 0);
    assert_int_equal(edits_allowed(4, FUZZY_AUTO), 1);
    assert_int_equal(edits_allowed(8, FUZZY_AUTO), 1);
    assert_int_equal(edits_allowed(9, FUZZY_AUTO), 2);
    assert_int_equal(edits_allowed(20, FUZZY_NONE), 0);
    (void)state;
}

static void kinds(void **state)
{
    static const struct {
        const char *label, *contact;
        enum match_kind kind;
    } rows[] = {{"John Smith", "John Smith", MATCH_EXACT},
        {"Smith John", "John Smith", MATCH_SWAPPED},
        {"Bill Smith", "William Smith", MATCH_NICKNAME}, {"Jhon Smith", "John Smith", MATCH_FUZZY},
        {"John Smit", "John Smithson", MATCH_TRUNCATED}, {"J Smith", "John Smith", MATCH_INITIAL},
        {"John Smith", "John Michael Smith", MATCH_PARTIAL},
        {"John Smith", "Zoe Quist", MATCH_NONE}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cleaned l, c;
        struct name_score s;

        clean(*state, rows[i].label, 0, &l);
        clean(*state, rows[i].contact, 0, &c);
        name_compare(&l.name, &c.name, FUZZY_AUTO, &s);
        if (s.kind != rows[i].kind)
            fail_msg("%s and %s: kind %d", rows[i].label, rows[i].contact, s.kind);
    }
}

static void businesses(void **state)
{
    struct name a, b;

    business_clean(search_form(*state, WHARF_S("ACME Logistics GmbH"), ""), &a);
    business_clean(search_form(*state, WHARF_S("Acme"), ""), &b);
    assert_int_equal(a.n, 2);
    /* P = 1/1.4, R = 1 */
    assert_true(fabs(business_compare(&a, &b, FUZZY_AUTO) - 2 * (1 / 1.4) / (1 + 1 / 1.4)) < 1e-9);
    business_clean(search_form(*state, WHARF_S("GmbH"), ""), &b);
    assert_int_equal(b.n, 1); /* nothing else is there */
}

static int load(void **state)
{
    (void)state;
    names_load();
    names_load(); /* once more changes nothing */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(worked_examples), UNIT(search_forms), UNIT(cleaning),
        UNIT(ignored_phrases), UNIT(edits), UNIT(kinds), UNIT(businesses)};

    return cmocka_run_group_tests(tests, load, NULL);
}
