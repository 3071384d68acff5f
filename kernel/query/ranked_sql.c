/* ranked_sql.c - pages of a search by relevance: which rows are ranked, and what comes behind
 * them (docs/spec/01-platform.md section 10 'search', docs/decisions 491 and 831). Leaves to
 * others: which rows match, and their score (search_sql.c). */
#include "query/filter.h"
#include "query/list_sql.h"

/* Writes, as t, the rows that the search rule of a module found, and behind them those that only
 * contain its words. */
static void told_rows(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    struct list_query all = *q;

    sql_add(s, "(SELECT t.*");
    if (!q->wide) {
        list_from_where(s, d, q, who, extra, arg);
        sql_addf(s, " LIMIT %d) t", QUERY_TOLD_MAX);
        return;
    }
    all.wide = false;
    list_from_where(s, d, &all, who, extra, arg);
    sql_add(s, " UNION ALL (SELECT t.*");
    list_from_where(s, d, q, who, extra, arg);
    search_not_found(s, q);
    sql_addf(s, " LIMIT %d)) t", QUERY_TOLD_MAX);
}

/* The steps that find the rows whose relevance is looked at. */
struct candidates {
    struct sql *s;
    const struct definition *d;
    const struct list_query *q;
    const struct access *who;
    query_extra_fn *extra;
    void *arg;
    const char *join; /* before the next step */
};

/* Writes a step: at most `most` rows that the terms match. whole: a column that must be equal to
 * the whole search; NULL: none. unless: the step finds nothing where all_words has so many rows; 0:
 * it always looks. Each page must rank the same rows, so a step without `whole`
 * takes the first rows of the table:
 * - the condition on ctid makes PostgreSQL read the table from its first row on; without it a
 *   scan may begin where the scan of another session is;
 * - pg_backend_pid() may not run in parallel workers, so there are none: they would find other
 *   rows first each time. */
static void candidates_step(struct candidates *c, const struct list_query *part,
    const struct field *whole, int most, int unless)
{
    sql_addf(c->s, "%s(SELECT ", c->join);
    search_columns(c->s, c->d);
    list_from_where(c->s, c->d, part, c->who, c->extra, c->arg);
    if (whole) {
        sql_addf(c->s, " AND %s = ", list_order_expression(c->s, whole));
        list_cursor_value(c->s, whole, search_whole(c->s->arena, c->q));
        sql_add(c->s, " ORDER BY t.id");
    } else
        sql_add(c->s, " AND t.ctid >= '(0,0)' AND pg_backend_pid() > 0");
    if (unless)
        sql_addf(c->s, " AND (SELECT count(*) FROM all_words) < %d", unless);
    sql_addf(c->s, " LIMIT %d)", most);
    c->join = " UNION ALL ";
}

/* Writes the steps of rows with all of the terms; `most` and `unless` as of a step. What stands in
 * columns of words is a step of its own: a word that many files have does not take the place of
 * names, and each step reads the indexes of its columns only. A name with one word, of a row that
 * has the others in a file, is found by the step of texts only, which is therefore always there. */
static void candidates_with(
    struct candidates *c, const wharf_str *terms, size_t n, int most, int unless)
{
    struct list_query part = *c->q;

    part.terms = terms;
    part.n_terms = n;
    part.match_all = true;
    part.in_table_order = true;
    if (c->d->list.n_words)
        part.looks_in = LOOKS_IN_TEXTS;
    candidates_step(c, &part, NULL, most, c->d->list.n_words ? 0 : unless);
    if (!c->d->list.n_words || (n == 1 && !search_in_words(*terms)))
        return;
    part.looks_in = n == 1 ? LOOKS_IN_WORDS : LOOKS_IN_ALL;
    candidates_step(
        c, &part, NULL, most < QUERY_RANKED_WORDS_MAX ? most : QUERY_RANKED_WORDS_MAX, unless);
}

/* Writes the steps of rows of which a column is the search as a whole, for columns that the list
 * sorts by: the index that sorts finds them, however many rows have the words. */
static void candidates_whole(struct candidates *c)
{
    struct list_query part = *c->q;

    part.n_terms = 0;
    for (size_t i = 0; i < c->d->list.n_searches; i++) {
        const struct field *f = c->d->list.searches[i];

        for (size_t j = 0; j < c->d->list.n_sorts; j++) {
            if (c->d->list.sorts[j] != f || f->store != STORE_TEXT || f->sort_members)
                continue;
            candidates_step(c, &part, f, QUERY_RANKED_WHOLE_MAX, 0);
        }
    }
}

/* Tells whether rows with some of the words only match as well. */
static bool any_word_matches(const struct list_query *q)
{
    return q->n_terms > 1 && !q->match_all;
}

/* Returns how many rows with one of several words are ranked. */
static int ranked_each(const struct list_query *q)
{
    int each = QUERY_RANKED_OTHERS_MAX / (int)q->n_terms;

    return each < QUERY_RANKED_EACH_MAX ? each : QUERY_RANKED_EACH_MAX;
}

/* Writes, as t, the rows whose relevance is computed: those that are the search as a whole, those
 * with all words, and, where any of several words is enough, some with each word, unless so many
 * have all of them that no page of theirs is asked for. All rows with a rare word are among them;
 * of a frequent word only some are. Returns the smallest limit of its steps: with fewer rows than
 * that no step was full, and no other row matches. */
static int list_sql_candidates(struct candidates *c)
{
    const struct list_query *q = c->q;
    int each = ranked_each(q);
    bool any = any_word_matches(q);

    sql_add(c->s, "(SELECT DISTINCT ON (t.id) * FROM (");
    c->join = any ? "SELECT * FROM all_words UNION ALL " : "";
    if (!any)
        candidates_with(c, q->terms, q->n_terms, QUERY_RANKED_MAX, 0);
    for (size_t i = 0; any && i < q->n_terms; i++)
        candidates_with(c, &q->terms[i], 1, each, each);
    candidates_whole(c);
    sql_add(c->s, ") t) t");
    return any ? each : c->d->list.n_words ? QUERY_RANKED_WORDS_MAX : QUERY_RANKED_MAX;
}

static void list_sql_scores(struct sql *s, const struct definition *d, const struct list_query *q)
{
    sql_add(s, "SELECT t.id, ");
    search_score(s, d, q, true);
    sql_add(s, " AS score, 0 AS behind FROM ");
}

/* Writes ids and scores of the rows of a search. What is not looked at comes last, by id, with the
 * least score that a row that matches can have; it is read only when there is such a row, and for
 * pages that the others do not fill. */
static void list_sql_ranked(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    struct candidates c = {s, d, q, who, extra, arg, ""};
    size_t matched = q->match_all ? q->n_terms : 1;
    int least;

    sql_add(s, "WITH ");
    if (any_word_matches(q)) {
        sql_add(s, "all_words AS MATERIALIZED (");
        candidates_with(&c, q->terms, q->n_terms, QUERY_RANKED_MAX, 0);
        sql_add(s, "), ");
    }
    sql_add(s, "w AS MATERIALIZED (");
    list_sql_scores(s, d, q);
    least = list_sql_candidates(&c);
    search_folded(s, d, q);
    sql_addf(s,
        ") SELECT id, score, behind FROM w UNION ALL (SELECT t.id, round(%zu.0 / %zu, 4), 1",
        matched, q->n_terms + 1);
    list_from_where(s, d, q, who, extra, arg);
    sql_addf(s, " AND (SELECT count(*) FROM w) BETWEEN %d AND ", least);
    sql_bind_int(s, q->page * q->limit);
    sql_add(s, "::bigint AND t.id NOT IN (SELECT id FROM w) ORDER BY 1 LIMIT ");
    sql_bind_int(s, q->page * q->limit + 1);
    sql_add(s, ")");
}

/* Writes a page by relevance. It is computed once per matching row, in an inner select that
 * carries nothing else; of a word that is everywhere not for all rows, which would take seconds. */
void ranked_page_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg)
{
    list_page_columns(s, d, q, who, "p.score");
    sql_add(s, " FROM (");
    if (q->ranked) {
        list_sql_scores(s, d, q);
        told_rows(s, d, q, who, extra, arg);
    } else
        list_sql_ranked(s, d, q, who, extra, arg);
    sql_add(s, " ORDER BY 3, 2 DESC, 1");
    list_page_limit(s, d, q, false);
    sql_addf(s,
        ") p JOIN %s t ON t.organization_id = $%zu AND t.id = p.id"
        " ORDER BY p.behind, p.score DESC, p.id",
        d->storage.table, s->organization);
}
