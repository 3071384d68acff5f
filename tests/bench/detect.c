/* detect.c - numbers per second of one core: every shape and check of schemas/carriers.json on a
 * mix of numbers, without the server.
 *
 * Prints one JSON line. Run: build/tests/bench/detect schemas/carriers.json */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carriers.h"
#include "host/host.h"
#include "resource/request.h"
#include "util/str.h"

const wharf_host *W;
const wharf_org_directory_api *carriers_org;

static const char *const kinds[] = {"1Z58F2A70378657975", "371755712374", "RR733191240GB",
    "9400112704534577691524", "420100019400112704534577691524", "61296502014620168493",
    "70196204207858270842", "9622042935575918362361078852611491", "TBA123456789012", "not a number",
    "12345678901234", "JD1234567890123456"};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    static const wharf_host host = {.mem = &host_mem, .json = &host_json, .err = &host_err};
    struct wharf_req req = {.arena = arena_new(0)};
    struct memory m = {.req = &req};
    const char *path = "", *problem = "";
    struct detected d;
    const wharf_json *json;
    size_t n = 0, candidates = 0;
    double start;
    FILE *f = fopen(argc > 1 ? argv[1] : "schemas/carriers.json", "re");

    W = &host;
    if (!f ||
        host_json.parse(&req, (wharf_str){text, fread(text, 1, sizeof(text) - 1, f)}, &json) !=
            WHARF_OK ||
        !table_read(&m, json, NULL, &carriers_table, &path, &problem)) {
        fprintf(stderr, "%s %s\n", path, problem);
        return 1;
    }
    start = now();
    while (now() - start < 1) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++, n++) {
            detect_number(&carriers_table, str_z(kinds[i]), NULL, 0, &d);
            candidates += d.n_candidates;
        }
    }
    printf("{\"numbers_per_second\": %.0f, \"candidates\": %zu}\n", (double)n / (now() - start),
        candidates);
    return 0;
}
