/* fuzz_query.c - query strings of lists: parsing never crashes, and no byte of them enters SQL
 * text.
 *
 * The input is a raw query string, or a JSON object of filters. When it parses, the page and the
 * count are built and each word of their text must be one that we wrote: a keyword, a function,
 * a name of the definition, a parameter number. */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/query_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char words[] =
    " SELECT FROM WHERE AND OR NOT NULL IS TRUE ANY ARRAY EXISTS COLLATE C ORDER BY DESC NULLS "
    "LAST LIMIT OFFSET JOIN CROSS LATERAL WITH MATERIALIZED IN ON AS LIKE CASE WHEN THEN ELSE "
    "END UNION ALL DISTINCT BETWEEN count lower unnest pg_backend_pid ctid "
    "coalesce greatest similarity round numeric bigint boolean timestamptz text jsonb false"
    " jsonb_agg jsonb_build_object wharf fold t c p m u f v w score behind all_words 0 1 2 4 "
    "field value organization_id deleted_at bench row leg row_id id created_at completed_at qty "
    "status location_id name is_active errors tags metadata note rank is_parent label sizes legs "
    "device_id users open_to_all starts_with true ";

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static void check_text(const char *sql, size_t n_args)
{
    for (const char *p = sql; *p;) {
        char word[64];
        const char *start = p;

        if (!is_word(*p)) {
            if (!strchr(" (),.=<>'\"$:[]*|&@?-+%/", *p))
                abort();
            p++;
            continue;
        }
        while (is_word(*p))
            p++;
        if (start > sql && start[-1] == '$') {
            if (strtoul(start, NULL, 10) > n_args)
                abort();
            continue;
        }
        if (p - start > 40)
            abort();
        snprintf(word, sizeof(word), " %.*s ", (int)(p - start), start);
        if (!strstr(words, word) && strtoul(start, NULL, 10) == 0) {
            fprintf(stderr, "%s in %s\n", word, sql);
            abort();
        }
    }
}

static void ignore_problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    if (!utf8_valid(param.p, param.n) || !utf8_valid(message.p, message.n) || param.n == 0)
        abort();
}

static void build(struct arena *a, const struct definition *d, const struct list_query *q)
{
    static const wharf_str places[] = {{"loc_a", 5}, {"loc_b", 5}};
    const struct access who = {.organization = {"org", 3},
        .locations = places,
        .n_locations = 2,
        .user_id = {"user_1", 6},
        .device_id = {"", 0}};
    struct list_query hits = *q;
    struct sql page, count;

    hits.hits = q->n_terms > 0;
    sql_init(&page, a);
    query_page_sql(&page, d, &hits, &who, NULL, NULL);
    sql_init(&count, a);
    query_count_sql(&count, d, q, &who, NULL, NULL);
    if (!page.failed)
        check_text(buf_str(page.text).p, page.n_args);
    if (!count.failed)
        check_text(buf_str(count.text).p, count.n_args);
    for (size_t i = 0; i < page.n_args; i++) {
        if (page.args[i].p && page.args[i].p[page.args[i].n] != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct query_options o = {
        .organization = {"org", 3}, .parent = {"", 0}, .cursor_key = bench_key};
    struct arena *a = arena_new(0);
    struct definition d = bench_definition();
    const struct query_pair *pairs;
    const struct list_query *q;
    wharf_str bad, raw = arena_dup(a, (const char *)data, size);
    size_t n;

    d.list.similar = size && (data[0] & 1);
    d.audience.all = &bench_fields[B_OPEN];
    d.audience.users = &bench_fields[B_USERS];
    if (size && data[0] == '{') {
        struct json_error e;
        const struct wharf_json *json = json_parse(a, raw, &e);

        if (!json) {
            arena_free(a);
            return 0;
        }
        query_from_json(a, &d, json, &pairs, &n);
    } else {
        query_split(a, raw, &pairs, &n, &bad);
    }
    query_parse_view(a, &d, pairs, n, &o, ignore_problem, NULL);
    q = query_parse(a, &d, pairs, n, &o, ignore_problem, NULL);
    if (q)
        build(a, &d, q);
    arena_free(a);
    return 0;
}
