/* index.c - see index.h. Tables: migrations/0001_contacts.sql. */
#include "index.h"

enum { DELETED_ONE_FROM = 3, DELETED_TWO_FROM = 8, PREFIX_FROM = 4, TOKEN_BYTES = 4 * TOKEN_POINTS + 1 };

/* ---- texts without some of their letters ---- */

static wharf_str encode(wharf_req *req, const uint32_t *points, size_t n)
{
    char *out = W->mem->alloc(req, 4 * n + 1);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t c = points[i];

        if (c < 0x80) {
            out[k++] = (char)c;
        } else if (c < 0x800) {
            out[k++] = (char)(0xC0 | c >> 6);
            out[k++] = (char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            out[k++] = (char)(0xE0 | c >> 12);
            out[k++] = (char)(0x80 | (c >> 6 & 0x3F));
            out[k++] = (char)(0x80 | (c & 0x3F));
        } else {
            out[k++] = (char)(0xF0 | c >> 18);
            out[k++] = (char)(0x80 | (c >> 12 & 0x3F));
            out[k++] = (char)(0x80 | (c >> 6 & 0x3F));
            out[k++] = (char)(0x80 | (c & 0x3F));
        }
    }
    return (wharf_str){out, k};
}

static size_t points_of(wharf_str s, uint32_t *points)
{
    const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n;
    size_t n = 0;

    while (p < end && n < TOKEN_POINTS) {
        size_t more = *p < 0x80 ? 0 : *p < 0xE0 ? 1 : *p < 0xF0 ? 2 : 3;
        uint32_t c = more ? *p & (0x3Fu >> more) : *p;

        for (p++; more && p < end; more--, p++)
            c = c << 6 | (*p & 0x3Fu);
        points[n++] = c;
    }
    return n;
}

/* Calls for the word itself, without each letter, and without each two. */
static void each_deletion(
    wharf_req *req, const uint32_t *points, size_t n, size_t two_from, void (*fn)(void *arg, wharf_str text), void *arg)
{
    uint32_t left[TOKEN_POINTS];

    fn(arg, encode(req, points, n));
    for (size_t i = 0; n >= DELETED_ONE_FROM && i < n; i++) {
        memcpy(left, points, i * sizeof(*left));
        memcpy(left + i, points + i + 1, (n - i - 1) * sizeof(*left));
        fn(arg, encode(req, left, n - 1));
        for (size_t k = i; n >= two_from && k + 1 < n; k++) {
            uint32_t fewer[TOKEN_POINTS];

            memcpy(fewer, left, k * sizeof(*fewer));
            memcpy(fewer + k, left + k + 1, (n - k - 2) * sizeof(*fewer));
            fn(arg, encode(req, fewer, n - 2));
        }
    }
}

/* ---- writing ---- */

struct indexed {
    wharf_str contact, token;
    double weight;
};

void words_add(wharf_req *req, struct words *list, wharf_str contact, const struct name *name)
{
    for (size_t i = 0; i < name->n; i++) {
        if (list->n == list->cap) {
            size_t cap = list->cap ? 2 * list->cap : 2 * TOKENS_MAX;
            struct indexed *wider = W->mem->alloc(req, cap * sizeof(*wider));

            if (list->n)
                memcpy(wider, list->p, list->n * sizeof(*wider));
            list->p = wider;
            list->cap = cap;
        }
        list->p[list->n++] = (struct indexed){
            contact, encode(req, name->tokens[i].points, name->tokens[i].n_points), name_weight(name, i)};
    }
}

/* Pairs of a text that is left of a word, and the word. */
struct deletions {
    struct ids left, words;
    size_t cap;
    wharf_req *req;
    wharf_str word;
};

static void add_deletion(void *arg, wharf_str text)
{
    struct deletions *d = arg;

    if (d->left.n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 256;
        wharf_str *left = W->mem->alloc(d->req, cap * sizeof(*left)),
                  *words = W->mem->alloc(d->req, cap * sizeof(*words));

        if (d->cap) {
            memcpy(left, d->left.p, d->left.n * sizeof(*left));
            memcpy(words, d->words.p, d->words.n * sizeof(*words));
        }
        d->left.p = left;
        d->words.p = words;
        d->cap = cap;
    }
    d->left.p[d->left.n++] = text;
    d->words.p[d->words.n++] = d->word;
}

/* What of these words the book has never seen. In one order, so that two that learn the same words don't wait for each other. */
static wharf_status learn(wharf_req *req, const struct ids *words)
{
    static const char known_sql[] =
        "SELECT DISTINCT x FROM unnest($2::text[]) x WHERE NOT EXISTS (SELECT 1 FROM contacts.token_deletion d"
        " WHERE d.organization_id = $1::text AND d.deletion = x AND d.token = x)";
    static const char add_sql[] =
        "INSERT INTO contacts.token_deletion (organization_id, deletion, token)"
        " SELECT DISTINCT $1::text, d COLLATE \"C\", t COLLATE \"C\" FROM unnest($2::text[], $3::text[]) x(d, t)"
        " ORDER BY 2, 3 ON CONFLICT DO NOTHING";
    struct deletions d = {.req = req};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), ids_array(req, words), wharf_null()}, v;
    uint32_t points[TOKEN_POINTS];
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, known_sql, args, 2, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (!W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            continue;
        d.word = v.u.s;
        each_deletion(req, points, points_of(v.u.s, points), DELETED_TWO_FROM, add_deletion, &d);
    }
    args[1] = ids_array(req, &d.left);
    args[2] = ids_array(req, &d.words);
    return W->db->exec(req, add_sql, args, 3, NULL);
}

wharf_status index_add(wharf_req *req, const struct words *list)
{
    static const char sql[] = "INSERT INTO contacts.token (organization_id, contact_id, token, weight)"
                              " SELECT $1::text, x.c, x.t, max(x.w) FROM unnest($2::text[], $3::text[], $4::real[]) "
                              "x(c, t, w) GROUP BY x.c, x.t ORDER BY x.c, x.t";
    struct ids contacts = {W->mem->alloc(req, (list->n + 1) * sizeof(*contacts.p)), list->n}, tokens = contacts,
               weights = contacts;
    wharf_val args[4] = {wharf_text(W->req->organization(req))};
    wharf_status s;

    if (!list->n)
        return WHARF_OK;
    tokens.p = W->mem->alloc(req, (list->n + 1) * sizeof(*tokens.p));
    weights.p = W->mem->alloc(req, (list->n + 1) * sizeof(*weights.p));
    for (size_t i = 0; i < list->n; i++) {
        contacts.p[i] = list->p[i].contact;
        tokens.p[i] = list->p[i].token;
        weights.p[i] = W->mem->format(req, "%.9g", list->p[i].weight);
    }
    args[1] = ids_array(req, &contacts);
    args[2] = ids_array(req, &tokens);
    args[3] = ids_array(req, &weights);
    s = W->db->exec(req, sql, args, 4, NULL);
    return s == WHARF_OK ? learn(req, &tokens) : s;
}

wharf_status index_remove(wharf_req *req, const struct ids *contacts)
{
    static const char sql[] =
        "DELETE FROM contacts.token WHERE organization_id = $1::text AND contact_id = ANY ($2::text[])";
    wharf_val args[2] = {wharf_text(W->req->organization(req)), ids_array(req, contacts)};

    return W->db->exec(req, sql, args, 2, NULL);
}

/* ---- finding ---- */

/* Words of the book that may stand for those of the name. */
struct guess {
    wharf_req *req;
    wharf_out *out; /* [{q, t, w}] */
    struct ids *lookups;
    size_t room;
};

static void add_guess(struct guess *g, size_t query, wharf_str token, double weight)
{
    W->json->open(g->out, NULL, '{');
    W->json->put(g->out, "q", wharf_integer((int64_t)query));
    W->json->put(g->out, "t", wharf_text(token));
    W->json->put(g->out, "w", (wharf_val){.type = WHARF_V_DOUBLE, .u.d = weight});
    W->json->close(g->out);
}

static void add_lookup(void *arg, wharf_str text)
{
    struct guess *g = arg;

    if (g->lookups->n < g->room)
        g->lookups->p[g->lookups->n++] = text;
}

/* Words that share a deletion with one of the name's, or begin with it. */
static wharf_status guess_mistyped(wharf_req *req, const struct name *name, struct guess *g)
{
    static const char sql[] = "SELECT DISTINCT token FROM contacts.token_deletion WHERE organization_id = $1::text AND "
                              "deletion = ANY ($2::text[])"
                              " UNION SELECT token FROM unnest($3::text[]) p CROSS JOIN LATERAL (SELECT DISTINCT "
                              "d.token FROM contacts.token_deletion d"
                              " WHERE d.organization_id = $1::text AND d.deletion > p AND d.deletion < p || "
                              "U&'\\+10FFFF' AND d.token = d.deletion LIMIT 50) x";
    struct ids lookups = {W->mem->alloc(req, 2000 * sizeof(*lookups.p)), 0},
               prefixes = {W->mem->alloc(req, (TOKENS_MAX + 1) * sizeof(*prefixes.p)), 0};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(), wharf_null()}, v;
    const wharf_rows *rows;
    wharf_status s;

    g->lookups = &lookups;
    g->room = 2000;
    for (size_t i = 0; i < name->n; i++) {
        const struct token *t = &name->tokens[i];

        if (edits_allowed(t->n_points, FUZZY_AUTO))
            each_deletion(req, t->points, t->n_points,
                edits_allowed(t->n_points, FUZZY_AUTO) > 1 ? DELETED_TWO_FROM : TOKEN_POINTS + 1, add_lookup, g);
        if (t->n_points >= PREFIX_FROM)
            prefixes.p[prefixes.n++] = encode(req, t->points, t->n_points);
    }
    g->lookups = NULL;
    if (!lookups.n)
        return WHARF_OK;
    args[1] = ids_array(req, &lookups);
    args[2] = ids_array(req, &prefixes);
    s = W->db->query(req, sql, args, 3, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        uint32_t points[TOKEN_POINTS];
        size_t n;

        W->db->value(rows, r, 0, WHARF_V_TEXT, &v);
        n = points_of(v.u.s, points);
        for (size_t i = 0; i < name->n; i++) {
            const struct token *t = &name->tokens[i];
            bool begins = n > t->n_points && t->n_points >= PREFIX_FROM &&
                          !memcmp(points, t->points, t->n_points * sizeof(*points));
            int d = begins ? 1 : edit_distance(t->points, t->n_points, points, n);

            if (begins || (d > 0 && d <= edits_allowed(t->n_points, FUZZY_AUTO)))
                add_guess(
                    g, i, v.u.s, name_weight(name, i) * (begins ? 0.88 : 1 - (double)d / (double)(t->n_points + 1)));
        }
    }
    return s;
}

static void guess_forms(const struct name *name, struct guess *g)
{
    for (size_t i = 0; i < name->n; i++) {
        const struct token *t = &name->tokens[i];
        size_t at = 0, n;
        const char *p;

        add_guess(g, i, encode(g->req, t->points, t->n_points), name_weight(name, i));
        while (word_form(t->word, &at, &p, &n))
            add_guess(g, i, (wharf_str){p, n}, 0.95 * name_weight(name, i));
        if (t->n_points > 1)
            add_guess(g, i, encode(g->req, t->points, 1), 0.6 * name_weight(name, i));
    }
}

wharf_status index_find(wharf_req *req, const struct name *name, struct ids *ret)
{
    static const char sql[] =
        "SELECT contact_id FROM (SELECT k.contact_id, g.q, max(g.w) AS w FROM (SELECT r.t, r.q, max(r.w) AS w"
        " FROM json_to_recordset($2::json) AS r(q integer, t text, w double precision) GROUP BY 1, 2) g"
        " JOIN contacts.token k ON k.organization_id = $1::text AND k.token = g.t GROUP BY 1, 2) x"
        " GROUP BY contact_id ORDER BY sum(w) DESC, contact_id LIMIT $3::integer";
    struct guess g = {.req = req, .out = W->json->writer(req)};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(), wharf_integer(CANDIDATES_MAX)}, v;
    const wharf_rows *rows;
    wharf_status s;

    *ret = (struct ids){W->mem->alloc(req, (CANDIDATES_MAX + 1) * sizeof(*ret->p)), 0};
    if (!name->n)
        return WHARF_OK;
    W->json->open(g.out, NULL, '[');
    guess_forms(name, &g);
    s = guess_mistyped(req, name, &g);
    W->json->close(g.out);
    if (s != WHARF_OK)
        return s;
    args[1] = wharf_text(W->json->result_text(g.out));
    s = W->db->query(req, sql, args, 3, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            ret->p[ret->n++] = v.u.s;
    }
    return s;
}
