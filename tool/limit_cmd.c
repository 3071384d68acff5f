/* limit_cmd.c - `wharf org limit` and `wharf key limit`: how many requests one organization or key
 * may send, in the place of the settings rate_limit.* (docs/spec/01-platform.md section 9). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cli/cli.h"
#include "tool/people.h"
#include "util/buf.h"
#include "util/json.h"

enum { MOST = 1000000, TEXT_MAX = 4096 };

/* Limits that there are; the first of them organizations have as well. */
static const struct {
    const char *option, *member;
    int64_t least;
} kinds[] = {{"--rate", "rate", 0}, {"--burst", "burst", 1}, {"--write", "write", 0},
    {"--write-burst", "write_burst", 1}, {"--concurrency", "concurrency", 0}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), OF_ORGANIZATIONS = 2 };

static bool limit_number(const char *text, int64_t least, int64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *ret >= least && *ret <= MOST;
}

/* Makes {"rate": 10} of the options. Returns NULL after a message. */
static const char *limits_of(struct arena *a, const char *const *values, size_t n)
{
    const char *text = NULL;
    struct buf out;
    struct jw w;
    bool good = true;

    buf_init(&out, TEXT_MAX);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < n && good; i++) {
        int64_t value;

        if (!values[i])
            continue;
        good = limit_number(values[i], kinds[i].least, &value);
        if (good)
            jw_int(&w, kinds[i].member, value);
        else
            cli_fail("%s is a whole number from %lld to %d", kinds[i].option,
                (long long)kinds[i].least, MOST);
    }
    jw_close(&w, '}');
    if (good)
        text = arena_dup_str(a, buf_str(&out)).p;
    buf_done(&out);
    return text;
}

static int limit_give(struct cli *c, const struct people_limit *limit)
{
    struct config *config = cli_config(c);
    wharf_str error = {"", 0};
    struct cli_db db;
    bool good;

    if (!config || !cli_db_open(&db, config, c->a))
        return EXIT_FAILED;
    good = people_limit(db.conn, limit, c->a, &error);
    cli_db_close(&db);
    return good ? EXIT_FINE : cli_fail("%s", error.p);
}

int limit_command(int argc, char **argv, bool organization)
{
    const char *values[KINDS] = {NULL};
    struct people_limit limit = {.organization = organization};
    struct cli_option opts[KINDS + 1] = {{"--reset", NULL, &limit.anew}};
    size_t n = organization ? OF_ORGANIZATIONS : KINDS;
    bool said = false;
    struct cli c;

    for (size_t i = 0; i < n; i++)
        opts[i + 1] = (struct cli_option){kinds[i].option, &values[i], NULL};
    if (!cli_parse(&c, argc, argv, opts, n + 1))
        return EXIT_USAGE;
    for (size_t i = 0; i < n; i++)
        said = said || values[i];
    if (c.n_words != 2 || !(said || limit.anew)) {
        cli_fail(organization
                     ? "wharf org limit ORG [--rate N] [--burst N] [--reset]"
                     : "wharf key limit KEY [--rate N] [--burst N] [--write N] [--write-burst N] "
                       "[--concurrency N] [--reset]");
        return EXIT_USAGE;
    }
    limit.id = c.words[1];
    limit.limits = limits_of(c.a, values, n);
    return limit.limits ? limit_give(&c, &limit) : EXIT_USAGE;
}
