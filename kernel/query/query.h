/* query.h - the query string of a list, checked and turned into SQL.
 *
 * docs/spec/01-platform.md sections 10 and 11: pagination, sorting, search, field sets, filter
 * grammar. All problems are collected as param.invalid with the base parameter
 * (pagination.too_deep and cursor.invalid have codes of their own). The SQL text holds column
 * names from the definition and $n only. Leaves to others: running it, encoding rows. */
#ifndef WHARF_QUERY_QUERY_H
#define WHARF_QUERY_QUERY_H

#include "schema/definition.h"
#include "util/arena.h"
#include "util/buf.h"

struct query_pair {
    wharf_str key, value; /* decoded */
    /* broken escape, text that is not UTF-8, or U+0000: key is then what could be read of it */
    bool broken;
    bool misnamed; /* brackets where they mean nothing */
};

/* Splits and decodes a raw query string ('+' is a space, %XX). False when a pair is broken;
 * *ret_bad is then the base name of the first one. The pairs are written either way: query_parse
 * tells all broken ones, other callers look at the answer. */
bool query_split(struct arena *a, wharf_str raw, const struct query_pair **ret_pairs,
    size_t *ret_count, wharf_str *ret_bad);
/* Reads the filters of a JSON body (batch `filters`, export `options`) as pairs, after 01 section
 * 11.3 'JSON bodies'. Pairs whose JSON has no meaning as a filter are marked broken. */
void query_from_json(struct arena *a, const struct definition *d, const struct wharf_json *object,
    const struct query_pair **ret_pairs, size_t *ret_count);
/* Returns "created_at" of "created_at[gte]", "metadata" of "metadata.color". */
wharf_str query_base(wharf_str key);

/* Tells a problem found in parameters: code is "param.invalid", "pagination.too_deep" or
 * "cursor.invalid". */
typedef void query_problem_fn(void *arg, const char *code, wharf_str param, wharf_str message);

struct access { /* whose rows */
    wharf_str organization;
    /* of a test key: whose users, devices and roles it sees; else the same */
    wharf_str live_organization;
    bool all_locations;
    const wharf_str *locations; /* sorted, when not all */
    size_t n_locations;
    wharf_str reach; /* the same as a JSON array; empty for all */
    bool reads_all; /* rows of every resource */
    const wharf_str *reads; /* when not all: the resources whose rows it reads, in byte order */
    size_t n_reads;
    wharf_str read_areas; /* JSON array of the areas that it may read */
    wharf_str user_id; /* "" when the principal is no user */
    wharf_str device_id; /* "" when it is no device */
    wharf_str key_id; /* "" when it came by no key */
    int log_days,
        /* settings.logs.retain_days and request_retain_days; 0: not read, nothing is hidden */
        request_log_days;
};

enum total_mode { TOTAL_NONE, TOTAL_EXACT, TOTAL_ESTIMATED };

struct condition; /* one filter, parsed */

struct hit { /* a row that a search rule of a plugin found */
    wharf_str id;
    double score;
    const struct wharf_json *members; /* object: shown at the row's end */
};

/* Rows that match beside those that a search rule told, by the words that they contain. */
struct list_more {
    const wharf_str *words; /* as the search columns keep them; none: what was told is all */
    size_t n_words;
    const struct wharf_json *members; /* object: shown at the end of each; or NULL */
};

struct list_query { /* everything a list was asked for, checked */
    int64_t page; /* 0 with cursor */
    int64_t limit;
    bool cursor; /* cursor was sent */
    wharf_str cursor_value,
        /* where to go on; empty for cursor=start. Value is the canonical text, see below */
        cursor_id;
    bool cursor_null; /* the sort value there was null */
    const struct field *order; /* never NULL except relevance */
    bool relevance, descending;
    enum total_mode total;
    const wharf_str *terms; /* of search, folded */
    size_t n_terms;
    bool finds_nothing; /* a search was asked for, and no word of it is long enough */
    bool match_all;
    /* terms match what is only like them, too; set by the caller when nothing contains them */
    bool similar;
    /* where terms are looked for: in columns of texts, of words (list.search_words), or in both */
    enum { LOOKS_IN_ALL, LOOKS_IN_TEXTS, LOOKS_IN_WORDS } looks_in;
    bool in_table_order; /* some rows, the same ones each time */
    bool ranked; /* what matches, and how well, is in found instead */
    const struct hit *found;
    size_t n_found;
    /* more than n_found: found is sorted, and the page looks at the best of them only */
    size_t n_all_found;
    struct list_more more;
    bool wide; /* the rows of `more` too, behind those of found */
    const struct condition *conditions;
    size_t n_conditions;
    /* every id named by a filter on the location field: to be checked for access (403) */
    const wharf_str *locations_asked;
    size_t n_locations_asked;
    const struct field *const *only; /* fields=, or NULL */
    size_t n_only;
    uint64_t includes; /* bit per field index < 64 whose include_flag is true */
    const char *const *embeds; /* those of options.embeds that were true */
    size_t n_embeds;
    bool hits; /* with terms: the page has two more columns, see query_page_sql */
    /* select list of the page (alias t), set by the caller; NULL: definition.storage.columns */
    const char *columns;
    const struct query_pair *asked; /* all that was sent, for {caller.asks:…} */
    size_t n_asked;
    wharf_str fingerprint; /* what a cursor is bound to: organization, filters, order, direction */
};

struct view_query { /* what a retrieve may be asked for */
    const struct field *const *only;
    size_t n_only;
    uint64_t includes;
    const char *const *embeds;
    size_t n_embeds;
};

struct query_options {
    const char *const *embeds; /* include parameters that other modules add, "include_documents" */
    size_t n_embeds;
    bool strict; /* Prefer: handling=strict: unknown parameters are problems */
    bool hits; /* the list shows `_search` (02 section 0) */
    wharf_str organization;
    wharf_str parent; /* id of the parent row, to which cursors are bound too; or empty */
    const unsigned char *cursor_key; /* QUERY_KEY bytes */
};
enum { QUERY_KEY = 32 };

/* Parses the parameters of a list. Returns NULL when there was a problem (all are told). The
 * caller itself adds the condition for rows of a parent. */
const struct list_query *query_parse(struct arena *a, const struct definition *d,
    const struct query_pair *pairs, size_t n_pairs, const struct query_options *options,
    query_problem_fn *fn, void *arg);
/* Parses the parameters of one row: `fields` and include parameters only, all others are unknown.
 * Returns NULL when there was a problem. */
const struct view_query *query_parse_view(struct arena *a, const struct definition *d,
    const struct query_pair *pairs, size_t n_pairs, const struct query_options *options,
    query_problem_fn *fn, void *arg);
/* Reads a whole number from 1. Returns false when the text is none. */
bool query_whole(wharf_str value, int64_t *ret);
/* Reads true, 1, yes or false, 0, no, in any case. Returns false when the text is something
 * else. */
bool query_truth(wharf_str value, bool *ret_truth);

/* A value bound to $n, in PostgreSQL text format. p NULL: SQL null. */
struct sql_arg {
    const char *p;
    size_t n;
};

struct sql { /* a statement being built; text and args live in the arena */
    struct arena *arena;
    struct buf *text;
    struct sql_arg *args;
    size_t n_args, cap_args;
    size_t organization; /* number of the parameter with the organization's id; 0: not bound yet */
    bool failed;
};
void sql_init(struct sql *s, struct arena *a);
void sql_add(struct sql *s, const char *text); /* literal text of ours only */
/* Adds formatted text: only names out of definitions, never values. */
void sql_addf(struct sql *s, const char *fmt, ...) WHARF_PRINTF(2, 3);
void sql_bind(struct sql *s, wharf_str value); /* appends "$n" */
void sql_bind_int(struct sql *s, int64_t value);
void sql_bind_null(struct sql *s);
/* Binds without writing: the number of the parameter, for texts that name it more than once. */
size_t sql_keep(struct sql *s, wharf_str value);
/* Binds an array of texts as one parameter, cast by the caller ("::text[]"). */
void sql_bind_array(struct sql *s, const wharf_str *values, size_t n);
/* Binds the same, of which some are null (p NULL). */
void sql_bind_cells(struct sql *s, const struct sql_arg *values, size_t n);
/* Binds an array for unnest(), with its cast: "(SELECT $1::text[])". type: of the elements,
 * "text". PostgreSQL does not see the array inside of the SELECT, takes it for 10 rows each time,
 * and keeps one plan. It does see a bare parameter and counts its elements. A plan for just so
 * many looks cheaper than the kept one, so it plans at each call, which took longer than the
 * statement (docs/decisions 486). */
void sql_bind_set(struct sql *s, const wharf_str *values, size_t n, const char *type);

/* Row visibility, a conjunction without a leading AND: organization, not deleted, location set,
 * audience; alias "t".
 * Location access as 01 section 7 'list': rows without location are visible, a location is its
 * own; one allowed location becomes "= $n", and there is no OR over a required column, so that
 * an index walk can serve the order. locations_too false: for
 * rows addressed by id, whose location answers 403. */
/* Returns the organization whose rows of this resource the principal sees (docs/decisions
 * 10). */
wharf_str organization_of(const struct access *who, const struct definition *d);
void query_visible(
    struct sql *s, const struct definition *d, const struct access *who, bool locations_too);

/* Tells whether rows that the filter names by their ids may be hidden from the principal. The
 * filter then tells of them what it tells of ids that nothing has. */
bool query_hides(const struct filter *f, const struct access *who);
/* Writes "SELECT t.id FROM ... WHERE ..." of those that it sees, deleted ones too; the caller
 * may append " AND ...". */
void query_named(struct sql *s, const struct filter *f, const struct access *who);
/* Tells whether a select list asks for what differs from caller to caller. */
bool query_asks_caller(const char *columns);
struct shown_to { /* whom rows are shown to */
    const struct access *who;
    const struct query_pair *asked; /* parameters of the read; none where nothing was asked for */
    size_t n_asked;
    bool lists; /* in a list */
};
/* Writes a select list, with what it asks about the caller. */
void query_shown(struct sql *s, const char *columns, const struct shown_to *to);
/* Finds the value of a parameter that was sent without operator. Returns false when there is
 * none. */
bool query_asked(const struct query_pair *pairs, size_t n, wharf_str name, wharf_str *ret_value);
/* Tells whether it reads rows of this resource. */
bool query_reads(const struct access *who, wharf_str resource);

/* Which records of rows a principal sees: " AND ..." for each condition; what principal_sight()
 * of identity/seen.h says, in SQL. The members are expressions, see struct definition; of
 * locations and reach one is NULL, resource and areas may be. */
struct recorded_sql {
    const char *locations, *audience, *resource, *areas, *reach;
};
void query_recorded(struct sql *s, const struct recorded_sql *r, const struct access *who);

/* Appends conditions of the caller's (" AND ..."; alias t): parent row, restrict_rows. */
typedef void query_extra_fn(struct sql *s, void *arg);
/* Writes the statement of the page: SELECT of q->columns, late look-up when page > 1, limit + 1
 * rows, order with id as the tie-breaker, nulls last. With q->hits two columns follow: the
 * relevance score (0..1) and the matches, a JSON array of {"field","value"}. extra may be NULL.
 * Returns whether one plan is good for all values. */
bool query_page_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg);
/* Writes the statement of the count, one row of one column; capped at QUERY_COUNT_CAP + 1 for
 * TOTAL_ESTIMATED (then the caller asks for the estimate). */
void query_count_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg);
enum {
    QUERY_COUNT_CAP = 10000, /* rows that are counted exactly */
    QUERY_TOLD_MAX = 10000, /* rows that a search rule told, and others that contain its words */
    /* rows with all words whose relevance is looked at; and more that have them in files */
    QUERY_RANKED_MAX = 1000,
    QUERY_RANKED_WORDS_MAX = 500,
    QUERY_RANKED_WHOLE_MAX = 100, /* those of which a column is the whole search */
    /* and that have one of several words: of each word, and of all of them together */
    QUERY_RANKED_EACH_MAX = 500,
    QUERY_RANKED_OTHERS_MAX = 4000
};
/* Writes EXPLAIN (FORMAT JSON) of the same; query_estimate reads the planner's row count from its
 * answer (-1: not understood). */
void query_estimate_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg);
int64_t query_estimate(struct arena *a, wharf_str plan);
/* Returns the conditions of one query: each filter, of texts, ids, enumerated words or arrays of
 * them, has the value. Returns NULL when one of them is no such filter, or NULL. */
const struct condition *query_equal(
    struct arena *a, const struct filter *const *filters, const wharf_str *values, size_t n);
/* Writes "SELECT t.col, ..." in the order of definition.storage.columns, no FROM. */
void query_columns(struct sql *s, const struct definition_storage *storage);
/* Makes the signed cursor after a row: value = text of the sort column as PostgreSQL wrote it (p
 * NULL: null). */
wharf_str query_cursor(struct arena *a, const struct list_query *q, struct sql_arg value,
    wharf_str id, const unsigned char *key);

#endif
