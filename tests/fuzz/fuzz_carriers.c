/* fuzz_carriers.c - "pattern NEWLINE number": patterns of carriers and check digits never crash,
 * and matching agrees with regexec; or a JSON object: a table of carriers is read or refused
 * with a reason, and detection by what was read never crashes.
 *
 * Only patterns that mean the same to POSIX are compared. Whatever a check makes of a serial is
 * stable and printable. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carriers.h"
#include "host/host.h"
#include "resource/request.h"
#include "util/arena.h"
#include "util/json.h"

const wharf_host *W;
const wharf_org_directory_api *carriers_org;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *take(void *arena, size_t bytes)
{
    return arena_alloc(arena, bytes ? bytes : 1);
}

/* '.' and [^x] take printable characters only here; '\' is left out because its meaning in [ ]
 * differs. */
static bool comparable(const char *pattern, const char *subject)
{
    for (const char *p = subject; *p; p++) {
        if (*p <= ' ' || (unsigned char)*p >= PATTERN_SYMBOLS)
            return false;
    }
    return !strpbrk(pattern, "\\^.$") && strlen(pattern) < 40;
}

static void compare(const char *pattern, const char *subject, bool got)
{
    char whole[PATTERN_TEXT + 8];
    regex_t r;

    snprintf(whole, sizeof(whole), "^(%s)$", pattern);
    if (regcomp(&r, whole, REG_EXTENDED | REG_NOSUB))
        return;
    if ((regexec(&r, subject, 0, NULL, 0) == 0) != got) {
        fprintf(stderr, "%s on \"%s\": %d\n", pattern, subject, got);
        abort();
    }
    regfree(&r);
}

static void check_all(const char *serial, size_t n)
{
    static const struct check checks[] = {{CHECK_MOD10, {3, 1}, 2}, {CHECK_LUHN, {0}, 0},
        {CHECK_MOD7, {0}, 0}, {CHECK_W11, {3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1}, 11},
        {CHECK_S10, {8, 6, 4, 2, 3, 5, 9, 7}, 8}, {CHECK_MOD37_36, {0}, 0}};

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        char c = check_character(&checks[i], serial, n);

        if (c && !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')))
            abort();
    }
}

static void read_data(const uint8_t *data, size_t size)
{
    static const wharf_host host = {.mem = &host_mem, .json = &host_json, .err = &host_err};
    static const wharf_str number = WHARF_S("RR7 33191240-GB");
    struct wharf_req req = {.arena = arena_new(0)};
    struct memory m = {.req = &req};
    const char *path = NULL, *problem = NULL;
    struct json_error error;
    const struct wharf_json *json;
    struct detected d;
    struct table t;

    W = &host;
    json = json_parse(req.arena, arena_dup(req.arena, (const char *)data, size), &error);
    if (json) {
        if (table_read(&m, json, NULL, &t, &path, &problem))
            detect_number(&t, number, NULL, 0, &d);
        else if (!path || !problem || !*problem)
            abort();
    }
    arena_free(req.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = memchr(data, '\n', size);
    size_t n = line ? (size_t)(line - data) : size, rest = line ? size - n - 1 : 0;
    struct arena *a = arena_new(0);
    char *pattern = arena_alloc(a, n + 1), *subject = arena_alloc(a, rest + 1);
    const char *why = NULL;
    struct shape shape;

    if (size && data[0] == '{')
        read_data(data, size);
    memcpy(pattern, data, n);
    memcpy(subject, line ? (const char *)line + 1 : "", rest);
    check_all(subject, rest);
    if (!shape_compile(pattern, n, take, a, &shape, &why)) {
        if (!why || !*why)
            abort();
    } else if (strlen(pattern) == n && strlen(subject) == rest && rest <= PATTERN_SUBJECT) {
        bool got = shape_match(&shape, subject, rest);

        if (got && (rest < shape.least || rest > shape.most))
            abort();
        if (comparable(pattern, subject))
            compare(pattern, subject, got);
    }
    arena_free(a);
    return 0;
}
