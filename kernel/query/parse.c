/* parse.c - the parameters of a list (01 section 10), and each filter pair on its way to its
 * parser (filter.c).
 *
 * All problems are collected, one per parameter. Leaves to others: whether asked locations are
 * allowed (403), running anything. */
#include "query/filter.h"
#include "util/str.h"
#include "wharf/errors.h"

enum {
    SEARCH_CHARS = 256, /* letters of a search */
    SEARCH_LIMIT = 100, /* rows of a search at most */
    TERM_CHARS = 2,
    SKIP_MAX = 100000 /* rows that pages may skip */
};

enum control {
    C_PAGE,
    C_LIMIT,
    C_CURSOR,
    C_ORDER,
    C_DIRECTION,
    C_SEARCH,
    C_STRATEGY,
    C_FIELDS,
    C_TOTAL,
    C_COUNT
};
static const char *const control_names[C_COUNT] = {[C_PAGE] = "page",
    [C_LIMIT] = "limit",
    [C_CURSOR] = "cursor",
    [C_ORDER] = "order_by",
    [C_DIRECTION] = "direction",
    [C_SEARCH] = "search",
    [C_STRATEGY] = "search_strategy",
    [C_FIELDS] = "fields",
    [C_TOTAL] = "include_total_count"};

struct reported {
    const char *code;
    wharf_str param, text;
    bool unnamed;
};

struct parse {
    struct arena *a;
    const struct definition *d;
    const struct query_options *o;
    query_problem_fn *fn;
    void *arg;
    bool bad, view;
    struct reported *problems; /* of a list that orders them (list.errors) */
    size_t n_problems;
    const wharf_str *reported;
    wharf_str *tell; /* the same, to write */
    size_t n_reported;
    bool unnamed; /* the problem that comes is one of list.errors.unnamed */
    bool seen[C_COUNT], relevance_asked;
    wharf_str cursor;
    struct list_query *q;
    struct condition *conditions;
    const struct query_pair **filters; /* for the fingerprint */
    size_t n_filters;
};

static bool problem_code(struct parse *p, const char *code, wharf_str param, const char *text)
{
    p->bad = true;
    if (param.n == 0)
        param = WHARF_S("query");
    for (size_t i = 0; i < p->n_reported; i++) {
        if (str_eq(p->reported[i], param))
            return false;
    }
    param = arena_dup_str(p->a, param);
    p->tell[p->n_reported++] = param;
    if (p->problems)
        p->problems[p->n_problems++] = (struct reported){
            code, param, arena_printf(p->a, "%s %s", param.p, text), p->unnamed};
    else
        p->fn(p->arg, code, param, arena_printf(p->a, "%s %s", param.p, text));
    return false;
}

static bool parse_problem(struct parse *p, wharf_str param, const char *text)
{
    return problem_code(p, ERR_PARAM_INVALID, param, text);
}

/* Reads [1-9][0-9]*, saturating. */
bool query_whole(wharf_str s, int64_t *ret)
{
    int64_t v = 0;

    if (s.n == 0 || s.p[0] == '0')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = v > INT64_MAX / 100 ? v : v * 10 + (s.p[i] - '0');
    }
    *ret = v;
    return true;
}

static bool parse_read_limit(struct parse *p, wharf_str value)
{
    int64_t max = p->d->list.max;

    if (str_eqz(value, "all"))
        p->q->limit = max;
    else if (!query_whole(value, &p->q->limit) || p->q->limit > max)
        return parse_problem(p, WHARF_S("limit"),
            arena_printf(p->a, "must be a whole number from 1 to %lld, or all", (long long)max).p);
    return true;
}

static bool parse_read_order(struct parse *p, wharf_str value)
{
    if (str_eqz(value, "_relevance") && p->d->list.by_relevance) {
        p->relevance_asked = true;
        return true;
    }
    for (size_t i = 0; i < p->d->list.n_sorts; i++) {
        if (str_eqz(value, p->d->list.sorts[i]->name)) {
            p->q->order = p->d->list.sorts[i];
            return true;
        }
    }
    return parse_problem(p, WHARF_S("order_by"),
        p->d->list.n_sorts ? "must be a field that this list sorts by"
                           : "can't be chosen: this list has one order");
}

static bool parse_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool known_term(const struct list_query *q, wharf_str term)
{
    for (size_t i = 0; i < q->n_terms; i++) {
        if (str_eq(q->terms[i], term))
            return true;
    }
    return false;
}

/* Tells whether a character may be a word: scripts that are written without spaces (Thai, Lao,
 * Myanmar, Khmer, Chinese, Japanese), and Korean, whose names have one syllable. */
static bool may_be_word(uint32_t cp)
{
    static const struct {
        uint32_t first, last;
    } scripts[] = {{0x0E00, 0x0EFF}, {0x1000, 0x109F}, {0x1780, 0x17FF}, {0x2E80, 0x2FDF},
        {0x3005, 0x3007}, {0x3021, 0x30FF}, {0x31F0, 0x31FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
        {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0x20000, 0x3FFFD}};

    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        if (cp >= scripts[i].first && cp <= scripts[i].last)
            return true;
    }
    return false;
}

static bool parse_is_word(wharf_str term)
{
    uint32_t cp = 0;

    if (utf8_length(term.p, term.n) >= TERM_CHARS)
        return true;
    return term.n && utf8_step(term.p, term.n, &cp) && may_be_word(cp);
}

static bool parse_read_search(struct parse *p, wharf_str value)
{
    wharf_str *terms = ARENA_ARRAY(p->a, wharf_str, value.n / TERM_CHARS + 1);
    bool any = false;

    if (utf8_length(value.p, value.n) > SEARCH_CHARS)
        return parse_problem(p, WHARF_S("search"), "must have at most 256 characters");
    p->q->terms = terms;
    for (size_t i = 0, start; i < value.n;) {
        wharf_str term;

        for (; i < value.n && parse_is_space(value.p[i]); i++)
            ;
        start = i;
        for (; i < value.n && !parse_is_space(value.p[i]); i++)
            ;
        term = arena_dup(p->a, value.p + start, i - start);
        any = any || term.n;
        if (parse_is_word(term) && !known_term(p->q, term))
            terms[p->q->n_terms++] = term;
    }
    p->q->finds_nothing = any && !p->q->n_terms;
    return true;
}

/* Finds a field that this view can show. */
static const struct field *shown_field(const struct parse *p, wharf_str name)
{
    uint32_t in = p->view ? IN_RETRIEVE : IN_LIST;

    for (size_t i = 0; i < p->d->n_fields; i++) {
        const struct field *f = &p->d->fields[i];

        if (str_eqz(name, f->name) && ((f->in & in) || f->include_flag))
            return f;
    }
    return NULL;
}

static bool parse_read_fields(struct parse *p, wharf_str value)
{
    size_t n, k = 0;
    const wharf_str *names = filter_items(p->a, value, false, NULL, &n);
    const struct field **only;

    if (!names)
        return parse_problem(
            p, WHARF_S("fields"), "must be a list of field names with commas between");
    p->q->only = only = ARENA_ARRAY(p->a, const struct field *, n);
    for (size_t i = 0; i < n; i++) {
        const struct field *f = shown_field(p, names[i]);

        if (f)
            only[k++] = f;
        else if (!str_eqz(names[i], "id") && !str_eqz(names[i], "object"))
            return parse_problem(p, WHARF_S("fields"),
                arena_printf(p->a, "must name fields of this resource only; \"%.*s\" is none",
                    (int)names[i].n, names[i].p)
                    .p);
    }
    p->q->n_only = k;
    return true;
}

static bool parse_read_words(struct parse *p, enum control c, wharf_str value)
{
    bool truth = false;

    if (c == C_DIRECTION) {
        if (!str_eqz(value, "asc") && !str_eqz(value, "desc"))
            return parse_problem(p, WHARF_S("direction"), "must be asc or desc");
        p->q->descending = str_eqz(value, "desc");
    } else if (c == C_STRATEGY) {
        if (!str_eqz(value, "match_all") && !str_eqz(value, "match_any"))
            return parse_problem(p, WHARF_S("search_strategy"), "must be match_any or match_all");
        p->q->match_all = str_eqz(value, "match_all");
    } else if (c == C_TOTAL) {
        if (!str_eqz(value, "estimated") && !query_truth(value, &truth))
            return parse_problem(
                p, WHARF_S("include_total_count"), "must be true, false or estimated");
        p->q->total = str_eqz(value, "estimated") ? TOTAL_ESTIMATED
                      : truth                     ? TOTAL_EXACT
                                                  : TOTAL_NONE;
    }
    return true;
}

static bool read_control(struct parse *p, enum control c, const struct query_pair *pair)
{
    wharf_str name = str_z(control_names[c]), value = pair->value;

    if (pair->key.n != name.n)
        return parse_problem(p, name, "takes no operator");
    if (p->seen[c])
        return parse_problem(p, name, "must be sent once");
    p->seen[c] = true;
    if (value.n == 0 && c != C_SEARCH)
        return parse_problem(p, name, "must have a value");
    if (c == C_DIRECTION && !p->d->list.n_sorts)
        return parse_problem(p, name, "can't be chosen: this list has one order");
    switch (c) {
    case C_PAGE:
        return query_whole(value, &p->q->page) ||
               parse_problem(p, name, "must be a whole number from 1");
    case C_LIMIT:
        return parse_read_limit(p, value);
    case C_CURSOR:
        p->q->cursor = true;
        p->cursor = value;
        return true;
    case C_ORDER:
        return parse_read_order(p, value);
    case C_SEARCH:
        return parse_read_search(p, value);
    case C_FIELDS:
        return parse_read_fields(p, value);
    case C_DIRECTION:
    case C_STRATEGY:
    case C_TOTAL:
    case C_COUNT:
        break;
    }
    return parse_read_words(p, c, value);
}

/* Tells whether the pair is include_<x> of a link whose module is not there; tells the problem
 * then. */
static bool parse_left_out(struct parse *p, const struct query_pair *pair)
{
    for (size_t i = 0; i < p->d->n_links; i++) {
        if (!str_starts(pair->key, "include_") ||
            !str_eqz((wharf_str){pair->key.p + 8, pair->key.n - 8}, p->d->links[i]))
            continue;
        parse_problem(p, pair->key,
            arena_printf(p->a, "needs the module %s, which is not enabled", p->d->links[i]).p);
        return true;
    }
    return false;
}

/* Reads include_<x> of this resource's fields and of other modules. Returns false when it is not
 * one of them. */
static bool read_include(struct parse *p, const struct query_pair *pair)
{
    bool truth = false, good = query_truth(pair->value, &truth), known = false;

    for (size_t i = 0; i < p->d->n_fields && i < 64; i++) {
        const struct field *f = &p->d->fields[i];

        if (!f->include_flag || !str_eqz(pair->key, f->include_flag))
            continue;
        known = true;
        if (truth)
            p->q->includes |= UINT64_C(1) << i;
    }
    for (size_t i = 0; i < p->o->n_embeds; i++) {
        if (!str_eqz(pair->key, p->o->embeds[i]))
            continue;
        known = true;
        if (truth)
            ((const char **)p->q->embeds)[p->q->n_embeds++] = p->o->embeds[i];
    }
    if (known && !good)
        parse_problem(p, pair->key, "must be true or false");
    return known || parse_left_out(p, pair);
}

/* Joins a repeat without operator to the list that is already there. */
static const char *parse_join(struct parse *p, struct condition *old, const struct condition *more)
{
    wharf_str *values;
    size_t n = old->n_values + more->n_values;

    if (old->kind != COND_IN || more->kind != COND_IN)
        return "takes !null only alone";
    if (n > FILTER_ITEMS)
        return "must have at most 500 values";
    values = ARENA_ARRAY(p->a, wharf_str, n);
    if (old->n_values)
        memcpy(values, old->values, old->n_values * sizeof(*values));
    if (more->n_values)
        memcpy(values + old->n_values, more->values, more->n_values * sizeof(*values));
    old->values = values;
    old->n_values = n;
    old->with_null |= more->with_null;
    return NULL;
}

/* Tells whether the filter is assumed, and the value is the word that lifts it. */
static bool lifts_assumed(
    const struct parse *p, const struct filter *f, const struct query_pair *pair)
{
    for (size_t i = 0; i < p->d->list.n_assumed; i++) {
        if (p->d->list.assumed[i].filter == f && str_eqz(pair->key, f->name) &&
            str_eqz(pair->value, "all"))
            return true;
    }
    return false;
}

static bool parse_read_filter(
    struct parse *p, const struct filter *f, const struct query_pair *pair)
{
    struct filter_pair fp = {.filter = f, .value = pair->value};
    struct condition c;
    const char *text;

    fp.form = filter_key(pair->key, &fp.inner);
    if (p->n_filters == FILTER_PAIRS)
        return parse_problem(
            p, query_base(pair->key), "is one filter too many: a request takes 50");
    p->filters[p->n_filters++] = pair;
    if (lifts_assumed(p, f, pair))
        return true;
    text = filter_parse(p->a, &fp, &c);
    for (size_t i = 0; !text && c.open && i < p->q->n_conditions; i++) {
        if (p->conditions[i].open && p->conditions[i].filter == f) {
            text = parse_join(p, &p->conditions[i], &c);
            return !text || parse_problem(p, query_base(pair->key), text);
        }
    }
    if (text)
        return parse_problem(p, query_base(pair->key), text);
    p->conditions[p->q->n_conditions++] = c;
    return true;
}

static bool mentioned(const struct parse *p, const struct filter *f)
{
    for (size_t i = 0; i < p->n_filters; i++) {
        wharf_str base = query_base(p->filters[i]->key);

        if (str_eqz(base, f->name))
            return true;
    }
    return false;
}

/* Adds the filters of list.assume, which hold when the request names neither them nor a search
 * that lifts them. */
static void assume_filters(struct parse *p)
{
    for (size_t i = 0; i < p->d->list.n_assumed; i++) {
        const struct assumed *assumed = &p->d->list.assumed[i];
        struct filter_pair pair = {.filter = assumed->filter,
            .form = KEY_PLAIN,
            .inner = {"", 0},
            .value = str_z(assumed->value)};

        if (assumed->value && (assumed->searched || !p->q->n_terms) &&
            !mentioned(p, assumed->filter))
            filter_parse(p->a, &pair, &p->conditions[p->q->n_conditions++]);
    }
}

/* ---- list.errors: problems in an order of their own ---- */

static bool parse_among(const char *const *names, wharf_str name)
{
    for (; *names; names++) {
        if (str_eqz(name, *names))
            return true;
    }
    return false;
}

/* Tells whether a problem is told without a name. Of dates that is only an operator that is none;
 * their values are told by name. */
static bool is_unnamed(const struct parse *p, const struct filter *f, const struct query_pair *pair)
{
    enum condition_kind kind;
    bool negated;
    wharf_str inner;

    if (!p->problems || !parse_among(p->d->list.errors_unnamed, query_base(pair->key)))
        return false;
    if (f->type != FILTER_DATE)
        return true;
    return filter_key(pair->key, &inner) != KEY_PLAIN &&
           !filter_op(OPS_COMPARE, inner, &kind, &negated);
}

/* Tells the named problems in their order, then "" once for the others; what is in neither list
 * only when there are none of these. */
static void tell_in_order(struct parse *p)
{
    bool unnamed = false, any = false;
    wharf_str text = {"", 0};

    for (const char *const *name = p->d->list.errors_named; *name; name++) {
        for (size_t i = 0; i < p->n_problems; i++) {
            if (!str_eqz(p->problems[i].param, *name))
                continue;
            p->fn(p->arg,
                strcmp(p->problems[i].code, ERR_PARAM_INVALID) ? p->problems[i].code
                                                               : ERR_VALIDATION_FAILED,
                p->problems[i].param, p->problems[i].text);
            any = true;
        }
    }
    for (size_t i = 0; i < p->n_problems; i++) {
        text = p->problems[i].unnamed && !unnamed ? p->problems[i].text : text;
        unnamed = unnamed || p->problems[i].unnamed;
    }
    if (unnamed)
        p->fn(p->arg, ERR_VALIDATION_FAILED, WHARF_S(""), text);
    for (size_t i = 0; !any && !unnamed && i < p->n_problems; i++)
        p->fn(p->arg, p->problems[i].code, p->problems[i].param, p->problems[i].text);
}

/* Tells whether the value is an id of one of the resources that the parameter names. Where the
 * module of one is not there, anything may be one. */
static bool is_id_of(const struct query_param *param, wharf_str value)
{
    bool good = !param->n_refs;

    for (size_t i = 0; i < param->n_refs; i++)
        good = good || !param->ids[i] || ids_fit(param->ids[i], value);
    return good;
}

/* Checks a parameter that rules of the resource read. Returns false when it is none of these. */
static bool read_by_rules(struct parse *p, wharf_str base, const struct query_pair *pair)
{
    const struct query_param *param = definition_param(p->d, base);
    bool good = param && !param->n_words;

    for (size_t i = 0; param && i < param->n_words; i++)
        good = good || str_eqz(pair->value, param->words[i]);
    if (param && !good)
        parse_problem(p, base, arena_printf(p->a, "must be %s", param_words(p->a, param)).p);
    else if (param && !is_id_of(param, pair->value))
        parse_problem(p, base, "has a value that is no id of its kind");
    return param != NULL;
}

static bool is_former(const struct definition_list *list, wharf_str name)
{
    for (size_t i = 0; i < list->n_former; i++) {
        if (str_eqz(name, list->former[i]))
            return true;
    }
    return false;
}

/* Tells whether the pair can't be read, and tells the problem. */
static bool is_malformed(struct parse *p, wharf_str base, const struct query_pair *pair)
{
    if (pair->broken) {
        parse_problem(p, base, "must be UTF-8 text with complete %XX escapes and without U+0000");
    } else if (pair->misnamed) {
        p->unnamed = p->problems && parse_among(p->d->list.errors_unnamed, base);
        parse_problem(p, base.n ? base : pair->key,
            "must be a name, or a name with an operator in brackets, like created_at[gte]");
    }
    return pair->broken || pair->misnamed;
}

static void parse_read_pair(struct parse *p, const struct query_pair *pair)
{
    wharf_str base = query_base(pair->key);
    const struct filter *f = NULL;

    p->unnamed = false;
    if (is_malformed(p, base, pair))
        return;
    for (size_t i = 0; !p->view && !f && i < p->d->list.n_filters; i++)
        f = str_eqz(base, p->d->list.filters[i].name) ? &p->d->list.filters[i] : NULL;
    /* a parameter of one row may have the name of a filter */
    if ((!f && read_by_rules(p, base, pair)) || read_include(p, pair))
        return;
    for (enum control c = p->view ? C_FIELDS : C_PAGE; c < (p->view ? C_FIELDS + 1 : C_COUNT);
         c++) {
        if (str_eqz(base, control_names[c]) && (c != C_SEARCH || p->d->list.n_searches)) {
            read_control(p, c, pair);
            return;
        }
    }
    p->unnamed = f && is_unnamed(p, f, pair);
    if (f)
        parse_read_filter(p, f, pair);
    else if (!p->view && is_former(&p->d->list, base))
        parse_problem(p, base, "no longer exists");
    else if (p->o->strict)
        parse_problem(p, base, "is not a parameter of this route");
}

static void settle_order(struct parse *p)
{
    struct list_query *q = p->q;
    int64_t most = p->d->list.search_max ? p->d->list.search_max : SEARCH_LIMIT;

    if (p->relevance_asked && !p->seen[C_SEARCH])
        parse_problem(p, WHARF_S("order_by"), "takes _relevance only together with search");
    q->relevance = q->n_terms && (p->relevance_asked || !p->seen[C_ORDER]);
    if (q->relevance)
        q->order = NULL;
    q->hits = p->o->hits && q->n_terms;
    if (q->n_terms && q->limit > most)
        q->limit = most;
}

static void parse_settle_place(struct parse *p)
{
    struct list_query *q = p->q;

    if (q->cursor && p->seen[C_PAGE])
        parse_problem(p, WHARF_S("page"), "can not be sent together with cursor");
    else if (!q->cursor && (q->page - 1) > SKIP_MAX / q->limit)
        problem_code(p, ERR_PAGINATION_TOO_DEEP, WHARF_S("page"),
            "is too deep: walk longer lists with cursor=start");
    if (!q->cursor)
        return;
    q->page = 0;
    if (q->relevance)
        parse_problem(p, WHARF_S("cursor"), "needs an order: send order_by together with search");
    if (!p->bad && !str_eqz(p->cursor, "start") &&
        !cursor_read(p->a, p->cursor, p->o->cursor_key, q))
        problem_code(p, ERR_CURSOR_INVALID, WHARF_S("cursor"),
            "is not one of this list: begin again with cursor=start");
}

/* Collects the locations that a condition names: values of one, or items of a set. Returns how
 * many. */
static size_t named_locations(const struct condition *c, wharf_str *ids)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_values; i++)
        ids[n++] = c->values[i];
    for (size_t i = 0; i < c->n_items; i++)
        ids[n++] = c->items[i].value;
    return n;
}

static void collect_locations(struct parse *p)
{
    struct list_query *q = p->q;
    wharf_str *ids;
    size_t most = 0;

    for (size_t i = 0; i < q->n_conditions; i++)
        most += q->conditions[i].n_values + q->conditions[i].n_items;
    q->locations_asked = ids = ARENA_ARRAY(p->a, wharf_str, most + 1);
    for (size_t i = 0; i < q->n_conditions; i++) {
        const struct filter *f = q->conditions[i].filter;
        const struct field *location = f->of ? f->of->place.location : p->d->place.location;

        if (location && f->field == location)
            q->n_locations_asked += named_locations(&q->conditions[i], ids + q->n_locations_asked);
    }
}

static struct parse parse_begin(
    struct arena *a, const struct definition *d, size_t n_pairs, const struct query_options *o)
{
    struct parse p = {.a = a, .d = d, .o = o, .q = ARENA_NEW(a, struct list_query)};

    p.reported = p.tell = ARENA_ARRAY(a, wharf_str, n_pairs + C_COUNT);
    p.conditions = ARENA_ARRAY(a, struct condition, n_pairs + d->list.n_assumed + 1);
    p.filters = ARENA_ARRAY(a, const struct query_pair *, FILTER_PAIRS);
    p.q->conditions = p.conditions;
    p.q->embeds = ARENA_ARRAY(a, const char *, n_pairs + 1);
    p.q->page = 1;
    p.q->limit = d->list.limit;
    p.q->order = d->list.order;
    p.q->descending = d->list.descending;
    return p;
}

const struct list_query *query_parse(struct arena *a, const struct definition *d,
    const struct query_pair *pairs, size_t n_pairs, const struct query_options *options,
    query_problem_fn *fn, void *arg)
{
    struct parse p = parse_begin(a, d, n_pairs, options);

    p.fn = fn;
    p.arg = arg;
    if (d->list.errors_named)
        p.problems = ARENA_ARRAY(a, struct reported, n_pairs + C_COUNT + 4);
    p.q->asked = pairs;
    p.q->n_asked = n_pairs;
    for (size_t i = 0; i < n_pairs; i++)
        parse_read_pair(&p, &pairs[i]);
    p.unnamed = false;
    assume_filters(&p);
    settle_order(&p);
    p.q->fingerprint = cursor_fingerprint(a, d, options, p.q, p.filters, p.n_filters);
    parse_settle_place(&p);
    collect_locations(&p);
    if (p.problems)
        tell_in_order(&p);
    return p.bad ? NULL : p.q;
}

const struct view_query *query_parse_view(struct arena *a, const struct definition *d,
    const struct query_pair *pairs, size_t n_pairs, const struct query_options *options,
    query_problem_fn *fn, void *arg)
{
    struct parse p = parse_begin(a, d, n_pairs, options);
    struct view_query *view = ARENA_NEW(a, struct view_query);

    p.fn = fn;
    p.arg = arg;
    p.view = true;
    for (size_t i = 0; i < n_pairs; i++)
        parse_read_pair(&p, &pairs[i]);
    *view = (struct view_query){.only = p.q->only,
        .n_only = p.q->n_only,
        .includes = p.q->includes,
        .embeds = p.q->embeds,
        .n_embeds = p.q->n_embeds};
    return p.bad ? NULL : view;
}
