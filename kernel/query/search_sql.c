/* search_sql.c - search terms as predicates that pg_trgm indexes serve, their score, and where
 * they hit.
 *
 * A term matches a text column as a substring, without regard to case. A list that declares
 * `search_similar` also folds
 * accents (wharf.fold); where nothing contains the terms, words like them match
 * (list_query.similar): trigram word similarity
 * >= 0.6, PostgreSQL's default for the %> operator (02 section 0 'Search hits'). The score:
 * (matched terms + similarity of the whole search to the best column) / (terms + 1), so that
 * more matched terms always rank first and an exact text scores 1. */
#include "query/filter.h"
#include "util/str.h"

enum {
    WORDS_TERM_MIN = 3, /* letters of a term that is looked for in files */
    WORDS_TOLD_MAX = 10 /* words of a file that a hit tells */
};

struct term {
    size_t text, pattern; /* parameter numbers */
    bool long_enough; /* to be looked for in columns of words */
};

struct search {
    struct sql *s;
    const struct definition *d;
    const char *fold;
    bool similar;
    bool folded; /* columns of the row stand folded in f (search_folded) */
    bool in_texts, in_words; /* where terms are looked for */
    bool one_by_one; /* of rows that were found: their score, and where they hit */
    struct term *terms;
    size_t n_terms;
};

bool search_in_words(wharf_str term)
{
    return utf8_length(term.p, term.n) >= WORDS_TERM_MIN;
}

/* Begins a search. The folding function's name is part of the indexes' expressions. */
static struct search search_begin(
    struct sql *s, const struct definition *d, const struct list_query *q)
{
    struct search search = {.s = s,
        .d = d,
        .fold = d->list.similar ? "wharf.fold" : "lower",
        .similar = d->list.similar && q->similar && q->looks_in != LOOKS_IN_WORDS,
        .in_texts = q->looks_in != LOOKS_IN_WORDS,
        .in_words = q->looks_in != LOOKS_IN_TEXTS,
        .n_terms = q->n_terms};

    search.terms = ARENA_ARRAY(s->arena, struct term, q->n_terms);
    for (size_t i = 0; i < q->n_terms; i++) {
        char *pattern = arena_alloc(s->arena, 2 * q->terms[i].n + 3);
        size_t k = 0;

        pattern[k++] = '%';
        for (size_t j = 0; j < q->terms[i].n; j++) {
            if (strchr("%_\\", q->terms[i].p[j]))
                pattern[k++] = '\\';
            pattern[k++] = q->terms[i].p[j];
        }
        pattern[k++] = '%';
        search.terms[i].pattern = sql_keep(s, (wharf_str){pattern, k});
        search.terms[i].long_enough = search_in_words(q->terms[i]);
        if (search.similar)
            search.terms[i].text = sql_keep(s, q->terms[i]);
    }
    return search;
}

/* Returns the child set that a search column belongs to, or NULL for one of the row itself. */
static const struct field *owner(const struct definition *d, const struct field *f)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct child_set *set = d->fields[i].children;

        for (size_t j = 0; set && j < set->n_fields; j++) {
            if (&set->fields[j] == f)
                return &d->fields[i];
        }
    }
    return NULL;
}

/* Writes the column as searches compare it. alias: "t" for the row itself. */
static void folded_column(const struct search *x, const char *alias, const struct field *f)
{
    if (x->folded && *alias == 't')
        sql_addf(x->s, "f.%s", f->column);
    else
        sql_addf(x->s, "%s(%s.%s)", x->fold, alias, f->column);
}

/* Writes a parameter as searches compare it: where rows are compared one by one as a query of its
 * own, which is asked once; where they are looked for so that the planner knows the text. */
static void folded_text(const struct search *x, size_t param)
{
    sql_addf(x->s, x->one_by_one ? "(SELECT %s($%zu::text))" : "%s($%zu::text)", x->fold, param);
}

static void column_matches(
    const struct search *x, const char *alias, const struct field *f, const struct term *t)
{
    folded_column(x, alias, f);
    sql_add(x->s, " LIKE ");
    folded_text(x, t->pattern);
    if (!x->similar)
        return;
    sql_add(x->s, " OR ");
    folded_column(x, alias, f);
    sql_add(x->s, " %> ");
    folded_text(x, t->text);
}

/* Writes "or the term stands in a column of words". A term that is shorter than the trigrams of
 * their index is not looked for there. */
static void words_match(const struct search *x, const struct term *t)
{
    const struct definition_list *list = &x->d->list;

    for (size_t i = 0; t->long_enough && i < list->n_words; i++) {
        sql_addf(x->s, " OR t.%s LIKE ", list->words[i].field->column);
        folded_text(x, t->pattern);
    }
}

/* Writes whether the term matches the row. by_id: the ids of rows with matching children are
 * gathered first, so that indexes on both sides serve; else each row looks at its own children. */
static void term_matches(const struct search *x, const struct term *t, bool by_id)
{
    struct sql *s = x->s;
    bool texts = x->in_texts && x->d->list.n_searches;

    sql_add(s, texts ? "(" : "(false");
    for (size_t i = 0; texts && i < x->d->list.n_searches; i++) {
        const struct field *f = x->d->list.searches[i], *child = owner(x->d, f);
        const struct child_set *set = child ? child->children : NULL;

        sql_add(s, i ? " OR " : "");
        if (!set) {
            column_matches(x, "t", f, t);
            continue;
        }
        if (by_id)
            sql_addf(s, "t.id = ANY (ARRAY(SELECT c.%s FROM %s c WHERE c.organization_id = $%zu",
                set->parent_column, set->table, s->organization);
        else
            sql_addf(s,
                "EXISTS (SELECT 1 FROM %s c WHERE c.organization_id = t.organization_id AND c.%s = "
                "t.id",
                set->table, set->parent_column);
        sql_add(s, set->soft_delete ? " AND c.deleted_at IS NULL AND (" : " AND (");
        column_matches(x, "c", f, t);
        sql_add(s, by_id ? ")))" : "))");
    }
    if (*x->fold && x->in_words)
        words_match(x, t);
    sql_add(s, ")");
}

/* Begins a search for the words of `more`, in columns that keep them in their form. */
static struct search search_more(
    struct sql *s, const struct definition *d, const struct list_query *q)
{
    struct list_query words = {.terms = q->more.words, .n_terms = q->more.n_words};
    struct search x = search_begin(s, d, &words);

    x.fold = "";
    return x;
}

static void any_or_all(struct search *x, bool all)
{
    for (size_t i = 0; i < x->n_terms; i++) {
        sql_add(x->s, i == 0 ? "" : all ? " AND " : " OR ");
        term_matches(x, &x->terms[i], true);
    }
}

static void bind_found(struct sql *s, const struct list_query *q)
{
    wharf_str *ids = ARENA_ARRAY(s->arena, wharf_str, q->n_found + 1);

    for (size_t i = 0; i < q->n_found; i++)
        ids[i] = q->found[i].id;
    sql_bind_array(s, ids, q->n_found);
    sql_add(s, "::text[]");
}

/* Writes the score of found rows from an object by id: looking into it is a binary search, into an
 * array a walk for each row. */
static void found_score(struct sql *s, const struct list_query *q)
{
    struct buf b;
    struct jw w;

    buf_init(&b, 1 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    for (size_t i = 0; i < q->n_found; i++) {
        jw_key(&w, q->found[i].id);
        jw_raw(&w, NULL, arena_printf(s->arena, "%.4f", q->found[i].score));
    }
    jw_close(&w, '}');
    sql_add(s, "coalesce((");
    sql_bind(s, buf_str(&b));
    sql_add(s, "::jsonb ->> t.id)::numeric, 0)");
    buf_done(&b);
}

void search_where(struct sql *s, const struct definition *d, const struct list_query *q)
{
    struct search x;

    sql_add(s, " AND (");
    if (q->ranked) {
        sql_add(s, "t.id = ANY (");
        bind_found(s, q);
        sql_add(s, ")");
        if (q->wide) {
            x = search_more(s, d, q);
            sql_add(s, " OR (");
            any_or_all(&x, q->match_all);
            sql_add(s, ")");
        }
    } else {
        x = search_begin(s, d, q);
        any_or_all(&x, q->match_all);
    }
    sql_add(s, ")");
}

void search_not_found(struct sql *s, const struct list_query *q)
{
    sql_add(s, " AND t.id <> ALL (");
    bind_found(s, q);
    sql_add(s, ")");
}

void search_columns(struct sql *s, const struct definition *d)
{
    sql_add(s, "t.organization_id, t.id");
    for (size_t i = 0; i < d->list.n_searches; i++) {
        if (!owner(d, d->list.searches[i]))
            sql_addf(s, ", t.%s", d->list.searches[i]->column);
    }
    for (size_t i = 0; i < d->list.n_words; i++)
        sql_addf(s, ", t.%s", d->list.words[i].field->column);
}

void search_folded(struct sql *s, const struct definition *d, const struct list_query *q)
{
    struct search x = {.s = s, .fold = d->list.similar ? "wharf.fold" : "lower"};
    const char *comma = "";

    if (q->ranked)
        return;
    sql_add(s, " CROSS JOIN LATERAL (SELECT ");
    for (size_t i = 0; i < d->list.n_searches; i++) {
        if (owner(d, d->list.searches[i]))
            continue;
        sql_add(s, comma);
        folded_column(&x, "t", d->list.searches[i]);
        sql_addf(s, " AS %s", d->list.searches[i]->column);
        comma = ", ";
    }
    sql_add(s, " OFFSET 0) f");
}

wharf_str search_whole(struct arena *a, const struct list_query *q)
{
    char *text;
    size_t k = 0, n = 1;

    for (size_t i = 0; i < q->n_terms; i++)
        n += q->terms[i].n + 1;
    text = arena_alloc(a, n);
    for (size_t i = 0; i < q->n_terms; i++) {
        if (i)
            text[k++] = ' ';
        memcpy(text + k, q->terms[i].p, q->terms[i].n);
        k += q->terms[i].n;
    }
    return (wharf_str){text, k};
}

void search_score(
    struct sql *s, const struct definition *d, const struct list_query *q, bool folded)
{
    struct search x;
    size_t whole;

    if (q->ranked) {
        found_score(s, q);
        return;
    }
    x = search_begin(s, d, q);
    x.folded = folded;
    x.one_by_one = true;
    whole = sql_keep(s, search_whole(s->arena, q));
    sql_add(s, "round(((");
    for (size_t i = 0; i < x.n_terms; i++) {
        sql_add(s, i ? " + CASE WHEN " : "CASE WHEN ");
        term_matches(&x, &x.terms[i], false);
        sql_add(s, " THEN 1 ELSE 0 END");
    }
    sql_add(s, " + greatest(0");
    for (size_t i = 0; i < d->list.n_searches; i++) {
        if (owner(d, d->list.searches[i]))
            continue;
        sql_add(s, ", similarity(");
        folded_column(&x, "t", d->list.searches[i]);
        sql_add(s, ", ");
        folded_text(&x, whole);
        sql_add(s, ")");
    }
    sql_addf(s, ")) / %zu)::numeric, 4)", x.n_terms + 1);
}

/* Writes where a row is told to contain a term: its columns, or members of an object
 * ("sender.name"). */
static void reported_value(struct sql *s, const struct hit_place *reported)
{
    sql_addf(s, reported->member ? "(t.%s ->> '%s')" : "t.%s", reported->field->column,
        reported->member);
}

static void reported_hits(struct sql *s, const struct definition_list *list, const struct search *x)
{
    for (size_t i = 0; i < list->n_reported; i++) {
        sql_addf(s, "%sSELECT '%s' AS f, ", i ? " UNION ALL " : "", list->reported[i].name);
        reported_value(s, &list->reported[i]);
        sql_add(s, " AS v WHERE (");
        for (size_t j = 0; j < x->n_terms; j++) {
            sql_addf(s, "%s%s(", j ? " OR " : "", x->fold);
            reported_value(s, &list->reported[i]);
            sql_add(s, ") LIKE ");
            folded_text(x, x->terms[j].pattern);
            if (!x->similar)
                continue;
            sql_addf(s, " OR %s(", x->fold);
            reported_value(s, &list->reported[i]);
            sql_add(s, ") %> ");
            folded_text(x, x->terms[j].text);
        }
        sql_add(s, ")");
    }
}

/* Writes the words of a row that contain a term, as lines behind those of other columns. */
static void words_hits(struct sql *s, const struct definition_list *list, const struct search *x)
{
    for (size_t i = 0; i < list->n_words; i++) {
        sql_addf(s,
            " UNION ALL SELECT '%s' AS f, w.v FROM (SELECT string_agg(o.w, ' ') AS v FROM (SELECT "
            "w FROM string_to_table(t.%s, ' ') w WHERE false",
            list->words[i].name, list->words[i].field->column);
        for (size_t j = 0; j < x->n_terms; j++) {
            if (!x->terms[j].long_enough)
                continue;
            sql_add(s, " OR w LIKE ");
            folded_text(x, x->terms[j].pattern);
        }
        sql_addf(s, " LIMIT %d) o) w WHERE w.v IS NOT NULL", WORDS_TOLD_MAX);
    }
}

void search_hits(struct sql *s, const struct definition *d, const struct list_query *q)
{
    struct search x;

    if (q->ranked) {
        sql_add(s, "NULL::text");
        return;
    }
    x = search_begin(s, d, q);
    x.one_by_one = true;
    sql_add(s,
        "(SELECT coalesce(jsonb_agg(jsonb_build_object('field', m.f, 'value', m.v)), '[]') FROM (");
    reported_hits(s, &d->list, &x);
    for (size_t i = 0; !d->list.n_reported && i < d->list.n_searches; i++) {
        const struct field *f = d->list.searches[i], *child = owner(d, f);
        const struct child_set *set = child ? child->children : NULL;

        sql_addf(s, "%sSELECT '%s%s%s' AS f, %s.%s AS v", i ? " UNION ALL " : "",
            child ? child->name : "", child ? "." : "", f->name, child ? "c" : "t", f->column);
        if (set)
            sql_addf(s, " FROM %s c", set->table);
        sql_add(s, " WHERE (");
        for (size_t j = 0; j < x.n_terms; j++) {
            sql_add(s, j ? " OR " : "");
            column_matches(&x, set ? "c" : "t", f, &x.terms[j]);
        }
        sql_add(s, ")");
        if (set)
            sql_addf(s, " AND c.organization_id = t.organization_id AND c.%s = t.id%s",
                set->parent_column, set->soft_delete ? " AND c.deleted_at IS NULL" : "");
    }
    words_hits(s, &d->list, &x);
    sql_add(s, ") m)");
}
