/* import_reader.c - the parts of the readers that files do not show well: UTF-8 at block ends,
 * header keys, fields of a definition, options that die before the import, memory as input.
 * tests/import has the files. */
#include "unit.h"

#include "import/import.h"
#include "import/import_text.h"

static void utf8_at_block_ends(void **state)
{
    static const char text[] = "aé€𝄞";
    size_t n = strlen(text), whole;

    for (size_t cut = 0; cut <= n; cut++) {
        /* a character that goes on in the next block is no fault; at the end of the file it is */
        bool clean = cut == 0 || cut == 1 || cut == 3 || cut == 6 || cut == 10;

        assert_int_equal(text_check(text, cut, true, &whole), cut);
        assert_true(whole <= cut && whole + 3 >= cut);
        assert_true((text_check(text, cut, false, &whole) == cut) == clean);
    }
    assert_int_equal(text_check("abcdefgh\xff", 9, true, &whole), 8);
    assert_int_equal(text_check("\xc0\x80", 2, true, &whole), 0);
    assert_int_equal(text_check("\xed\xa0\x80", 3, false, &whole), 0);
}

static void header_keys(void **state)
{
    struct arena *a = *state;
    static const char *const same[] = {"tracking number", " Tracking_Number ", "TRACKING-NUMBER",
        "\xEF\xBB\xBFtracking  number", "Tracking\xC2\xA0number", "tracking _-number"};

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        assert_string_equal(import_header_key(a, str_z(same[i])).p, "tracking number");
    assert_string_equal(
        import_header_key(a, str_z("Address . Formatted-Address")).p, "address.formatted address");
    assert_string_equal(import_header_key(a, str_z("ÄRGER")).p, "ärger");
    assert_string_equal(import_header_key(a, str_z(" _-")).p, "");
}

static void fail_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    fail_msg("%.*s: %.*s", STR_ARG(path), STR_ARG(message));
}

static const struct import_field *find(const struct import_field *f, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].path, path) == 0)
            return &f[i];
    return NULL;
}

static void fields_of_a_definition(void **state)
{
    struct arena *a = *state;
    size_t n;
    const struct definition *d = definition_compile(
        a, "locations", unit_file(a, "schemas/locations/location.json"), fail_problem, NULL);
    const struct import_field *f = import_fields(a, d, &n);

    assert_int_equal(find(f, n, "id")->type, IMPORT_T_TEXT);
    assert_int_equal(find(f, n, "active")->type, IMPORT_T_BOOL);
    assert_int_equal(find(f, n, "address")->type, IMPORT_T_JSON);
    assert_int_equal(find(f, n, "address.formatted_address")->type, IMPORT_T_TEXT);
    assert_int_equal(find(f, n, "address.coordinates")->type, IMPORT_T_LIST);
    assert_int_equal(find(f, n, "address.coordinates")->element, IMPORT_T_NUMBER);
    assert_int_equal(find(f, n, "operating_hours.monday.ranges")->type, IMPORT_T_JSON);
    assert_int_equal(find(f, n, "operating_hours.monday.ranges.#.open")->type, IMPORT_T_TEXT);
    assert_non_null(find(f, n, "metadata.*"));
    /* never written by requests */
    assert_null(find(f, n, "created_at"));
    assert_null(find(f, n, "formatted_address"));
}

static void children_and_arrays(void **state)
{
    struct arena *a = *state;
    size_t n;
    const struct definition *d = definition_compile(
        a, "stations", unit_file(a, "schemas/stations/print_station.json"), fail_problem, NULL);
    const struct import_field *f = import_fields(a, d, &n);

    assert_int_equal(find(f, n, "printers")->type, IMPORT_T_JSON);
    assert_non_null(find(f, n, "printers.#.name"));
}

static void copies_of_options(void **state)
{
    char path[] = "name", header[] = "Label", alias[] = "titel", encoding[] = "utf-8";
    struct import_field field = {path, IMPORT_T_TEXT, IMPORT_T_TEXT},
                        other = {"code", IMPORT_T_TEXT, IMPORT_T_TEXT};
    struct import_field fields[] = {field, other};
    struct import_mapping mapping = {{path, 4}, {header, 5}};
    struct import_alias aliases = {alias, "code"};
    struct import_options o = {.encoding = encoding,
        .fields = fields,
        .n_fields = 2,
        .mapping = &mapping,
        .n_mapping = 1,
        .aliases = &aliases,
        .n_aliases = 1};
    static const char text[] = "label,Titel\nAnn,7\n";
    struct import *in = import_open(-1, text, sizeof(text) - 1, &o);
    struct import_row row;

    memset(path, 'x', 4);
    memset(header, 'x', 5);
    memset(alias, 'x', 5);
    memset(fields, 0, sizeof(fields));
    assert_int_equal(import_next(in, &row), IMPORT_ROW);
    assert_string_equal(import_json(in, &row).p, "{\"name\":\"Ann\",\"code\":\"7\"}");
    assert_string_equal(row.cells[1].p, "7");
    assert_int_equal(row.row, 2);
    assert_int_equal(import_next(in, &row), IMPORT_END);
    assert_int_equal(import_next(in, &row), IMPORT_END);
    assert_null(import_problem(in));
    import_close(in);
}

/* Each record in turn is cut by the end of a block: 256 KiB and more, with lengths that shift
 * against it. */
static void records_over_block_ends(void **state)
{
    static const char filler[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    char want[200];
    struct buf text;
    struct import_options o = {0};
    struct import_field any = {"*", IMPORT_T_TEXT, IMPORT_T_TEXT};
    struct import_row row;
    struct import *in;
    unsigned seen = 0;

    buf_init(&text, 8 << 20);
    BUF_LIT(&text, "a,b,c\n");
    for (unsigned i = 0; i < 40000; i++)
        buf_addf(&text, "%u,\"q\"\"%.*s\n,y\"\"\r\n%.*s\"%s,pla\"in%.*s\r\n", i, (int)(i % 23),
            filler, (int)(i % 61), filler, i % 3 ? "" : "  ", (int)(i % 17), filler);
    o.fields = &any;
    o.n_fields = 1;
    in = import_open(-1, text.p, text.n, &o);
    for (;;) {
        enum import_event event = import_next(in, &row);

        if (event != IMPORT_ROW)
            break;
        snprintf(want, sizeof(want), "q\"%.*s\n,y\"\r\n%.*s", (int)(seen % 23), filler,
            (int)(seen % 61), filler);
        assert_int_equal(row.n_cells, 3);
        assert_int_equal(strtoul(row.cells[0].p, NULL, 10), seen);
        if (seen % 61)
            assert_string_equal(row.cells[1].p, want);
        assert_int_equal(row.cells[2].n, 6 + seen % 17);
        seen++;
    }
    assert_null(import_problem(in));
    assert_int_equal(seen, 40000);
    import_close(in);
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(utf8_at_block_ends), UNIT(header_keys),
        UNIT(fields_of_a_definition), UNIT(children_and_arrays), UNIT(copies_of_options),
        UNIT(records_over_block_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
