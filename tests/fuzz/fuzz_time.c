/* fuzz_time.c - date values: parsing never crashes; what was read is written and read again as
 * the same instant. */
#include <stdio.h>
#include <stdlib.h>

#include "util/id.h"
#include "util/str.h"
#include "util/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void check_instant(int64_t us)
{
    char iso[ISO_MS_LEN + 1], pg[40], id[ID_MAX];
    int64_t again = 0;

    time_format_iso(us, iso);
    must(strlen(iso) == ISO_MS_LEN && iso[ISO_MS_LEN - 1] == 'Z', "instants have a text");
    must(time_parse(str_z(iso), false, &again) && again == us, "the text is the instant");
    snprintf(pg, sizeof(pg), "%.10s %.12s+00", iso, iso + 11);
    must(time_parse_pg(str_z(pg), &again) && again == us, "PostgreSQL's text is the instant");
    if (us >= 0) {
        id_new("x", us, id);
        must(id_time_ms(str_z(id)) == us / 1000, "ids carry their time");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    wharf_str s = {text, size};
    int64_t us, plain;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    if (time_parse(s, false, &us))
        check_instant(us);
    if (time_parse(s, true, &plain)) {
        check_instant(plain);
        must(memchr(text, ' ', size) || (time_parse(s, false, &us) && us == plain),
            "a space makes the only difference");
    }
    if (time_parse_iso(s, false, &us))
        must(time_parse(s, false, &plain) && plain == us, "the ISO part is part of the grammar");
    if (time_parse_pg(s, &us))
        must(us % 1000 != 0 || size > 0, "PostgreSQL's texts");
    id_time_ms(s);
    id_shape(s, "x");
    free(text);
    return 0;
}
