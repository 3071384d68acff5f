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

static struct token word(const char *text)
{
    struct token t = {.text = str_z(text)};

    for (; text[t.n_points]; t.n_points++)
        t.points[t.n_points] = (unsigned char)text[t.n_points];
    return t;
}

/* Winkler, Advanced Methods for Record Linkage (1994), table of string comparator values; the
 * pairs behind the line have an odd number of letters in another order, which implementations
 * that round half of it down (Winkler's own program, jellyfish, rapidfuzz) score higher. */
static void letter_by_letter(void **state)
{
    static const struct {
        const char *a, *b;
        double jaro, winkler;
    } rows[] = {{"SHACKLEFORD", "SHACKELFORD", 0.9697, 0.9818},
        {"DUNNINGHAM", "CUNNIGHAM", 0.8963, 0.8963}, {"NICHLESON", "NICHULSON", 0.9259, 0.9556},
        {"JONES", "JOHNSON", 0.7905, 0.8324}, {"MASSEY", "MASSIE", 0.8889, 0.9333},
        {"ABROMS", "ABRAMS", 0.8889, 0.9222}, {"HARDIN", "MARTINEZ", 0.7222, 0.7222},
        {"ITMAN", "SMITH", 0.4667, 0.4667}, {"JERALDINE", "GERALDINE", 0.9259, 0.9259},
        {"MARHTA", "MARTHA", 0.9444, 0.9611}, {"MICHELLE", "MICHAEL", 0.8690, 0.9214},
        {"JULIES", "JULIUS", 0.8889, 0.9333}, {"TANYA", "TONYA", 0.8667, 0.8800},
        {"DWAYNE", "DUANE", 0.8222, 0.8400}, {"SEAN", "SUSAN", 0.7833, 0.8050},
        {"JON", "JOHN", 0.9167, 0.9333}, {"DIXON", "DICKSONX", 0.7667, 0.8133},
        {"CRATE", "TRACE", 0.7333, 0.7333}, {"ABC", "XYZ", 0, 0}, {"SAME", "SAME", 1, 1},
        /* ---- */
        {"aidahaddad", "thadwindle", 0.5667, 0.5667}, {"abcdef", "bcadef", 0.9167, 0.9167},
        {"xabcdef", "xbcadef", 0.9286, 0.9357}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct token a = word(rows[i].a), b = word(rows[i].b);

        for (int k = 0; k < 2; k++) {
            double j = score_round(k ? jaro(&b, &a) : jaro(&a, &b)),
                   w = score_round(k ? jaro_winkler(&b, &a) : jaro_winkler(&a, &b));

            if (fabs(j - rows[i].jaro) > 1e-9 || fabs(w - rows[i].winkler) > 1e-9)
                fail_msg("%s and %s: %.4f and %.4f", rows[i].a, rows[i].b, j, w);
        }
    }
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

/* Drops what section 9.2 calls legal forms, and nothing else. */
static void legal_forms(void **state)
{
    static const char *const rows[][2] = {{"Acme Inc.", "acme"}, {"Acme, LLC", "acme"},
        {"ACME GMBH", "acme"}, {"Acme S.A.", "acme"}, {"Acme Ltd.", "acme"}, {"Acme B.V.", "acme"},
        {"株式会社ヤマト", "ヤマト"}, {"ヤマト株式会社", "ヤマト"}, {"株式会社 ヤマト", "ヤマト"},
        {"㈱ヤマト", "ヤマト"}, {"(株)ヤマト", "ヤマト"}, {"Rossi S.r.l.", "rossi"},
        {"Rossi srl", "rossi"}, {"Volvo AB", "volvo"}, {"Nokia Oy", "nokia"},
        {"Example Pty Ltd", "example"}, {"Example Pty. Limited", "example"},
        {"Müller & Söhne GmbH & Co. KG", "muller sohne"},
        {"Société Générale S.A.", "societe generale"}, {"Firma Sp. z o.o.", "firma"},
        {"Firma s.r.o.", "firma"}, {"Firma spol. s r.o.", "firma"},
        {"Cemex, S.A. de C.V.", "cemex"}, {"Casa S. de R.L. de C.V.", "casa"},
        {"S.C. Dacia S.R.L.", "dacia"}, {"PT Astra International Tbk", "astra international"},
        {"ООО «Ромашка»", "ромашка"}, {"ооо ромашка", "ромашка"}, {"OOO Lukoil", "lukoil"},
        {"SIA Rimi Latvia", "rimi latvia"}, {"UAB Vilniaus Duona", "vilniaus duona"},
        {"삼성전자 주식회사", "삼성전자"}, {"삼성전자주식회사", "삼성전자"},
        {"㈜삼성전자", "삼성전자"}, {"阿里巴巴有限公司", "阿里巴巴"},
        {"Vodafone Group Plc", "vodafone group"}, {"Skype Technologies OÜ", "skype technologies"},
        {"Novo Nordisk A/S", "novo nordisk"}, {"Gadget Sdn. Bhd.", "gadget"},
        {"Ben & Jerry's", "ben jerrys"},
        /* not forms: initials, words that only begin or end so, forms with nothing else */
        {"A-B-C Company", "a b c"}, {"A B Dick Co", "a b dick"}, {"Visa", "visa"},
        {"Costa", "costa"}, {"SC Johnson", "sc johnson"},
        {"SE Electronics Shop", "se electronics shop"}, {"GmbH", "gmbh"}, {"S.A.", "s a"},
        {"Co. Ltd.", "co ltd"}, {"株式会社", "株式会社"}, {"", ""}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        wharf_str wanted = search_form(*state, str_z(rows[i][1]), "");
        struct name name;
        struct buf b;

        business_clean(search_form(*state, str_z(rows[i][0]), ""), &name);
        buf_init(&b, 1000);
        for (size_t k = 0; k < name.n; k++)
            buf_addf(&b, "%s%.*s", k ? " " : "", STR_ARG(name.tokens[k].text));
        if (!str_eq(buf_str(&b), wanted))
            fail_msg("%s: %.*s, not %s", rows[i][0], STR_ARG(buf_str(&b)), rows[i][1]);
        buf_done(&b);
    }
}

/* Inner names and initials, reckoned by hand after section 9.4. */
static void inner_names(void **state)
{
    static const struct {
        const char *label, *contact;
        double score;
    } rows[] = {{"John M Smith", "John Michael Smith", 0.9725},
        {"John M. Smith", "John M Smith", 1}, {"J. Michael Smith", "John Michael Smith", 0.9216},
        {"John Michael Smith", "John Paul Smith", 0.8627},
        {"John Paul Smith", "John M Smith", 0.8627}, {"J M S", "John Michael Smith", 0.7059},
        {"John Mike Smith", "John Michael Smith", 0.9931},
        {"Smith, John M.", "John Michael Smith", 0.9725}, {"M Smith", "John Michael Smith", 0.7085},
        {"Maria del Carmen Lopez", "Maria Carmen Lopez", 0.9623}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double got = score(*state, rows[i].label, rows[i].contact, FUZZY_AUTO);

        if (fabs(got - rows[i].score) > 1e-9)
            fail_msg("%s and %s: %.4f", rows[i].label, rows[i].contact, got);
    }
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
        UNIT(ignored_phrases), UNIT(edits), UNIT(letter_by_letter), UNIT(kinds), UNIT(businesses),
        UNIT(legal_forms), UNIT(inner_names)};

    return cmocka_run_group_tests(tests, load, NULL);
}
