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

/* Calls for the word itself, without each letter, and without each two. */
static void each_deletion(
    wharf_req *req, const struct token *t, size_t two_from, void (*fn)(void *arg, wharf_str text), void *arg)
{
    uint32_t left[TOKEN_POINTS];
    size_t n = t->n_points;

    fn(arg, encode(req, t->points, n));
    for (size_t i = 0; n >= DELETED_ONE_FROM && i < n; i++) {
        memcpy(left, t->points, i * sizeof(*left));
        memcpy(left + i, t->points + i + 1, (n - i - 1) * sizeof(*left));
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

struct rows {
    wharf_req *req;
    wharf_out *out;
    const struct token *token;
};

static void add_deletion(void *arg, wharf_str text)
{
    struct rows *r = arg;

    W->json->open(r->out, NULL, '{');
    W->json->put(r->out, "d", wharf_text(text));
    W->json->put(r->out, "t", wharf_text(encode(r->req, r->token->points, r->token->n_points)));
    W->json->close(r->out);
}

/* What of these words the book has never seen. */
static wharf_status learn(wharf_req *req, const struct name *names, size_t n)
{
    static const char known_sql[] =
        "SELECT x FROM unnest($2::text[]) x WHERE NOT EXISTS (SELECT 1 FROM contacts.token_deletion d"
        " WHERE d.organization_id = $1::text AND d.deletion = x AND d.token = x)";
    static const char add_sql[] = "INSERT INTO contacts.token_deletion (organization_id, deletion, token)"
                                  " SELECT DISTINCT $1::text, r.d, r.t FROM json_to_recordset($2::json) AS r(d text, t "
                                  "text) ON CONFLICT DO NOTHING";
    struct ids words = {W->mem->alloc(req, (n * TOKENS_MAX + 1) * sizeof(*words.p)), 0}, fresh = {words.p, 0};
    struct rows r = {.req = req, .out = W->json->writer(req)};
    wharf_val args[2] = {wharf_text(W->req->organization(req)), wharf_null()}, v;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < names[i].n; k++)
            words.p[words.n++] = encode(req, names[i].tokens[k].points, names[i].tokens[k].n_points);
    }
    args[1] = ids_array(req, &words);
    s = W->db->query(req, known_sql, args, 2, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    fresh.p = W->mem->alloc(req, (W->db->count(rows) + 1) * sizeof(*fresh.p));
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            fresh.p[fresh.n++] = v.u.s;
    }
    W->json->open(r.out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < names[i].n; k++) {
            r.token = &names[i].tokens[k];
            if (ids_have(&fresh, encode(req, r.token->points, r.token->n_points)))
                each_deletion(req, r.token, DELETED_TWO_FROM, add_deletion, &r);
        }
    }
    W->json->close(r.out);
    args[1] = wharf_text(W->json->result_text(r.out));
    return W->db->exec(req, add_sql, args, 2, NULL);
}

wharf_status index_write(wharf_req *req, wharf_str contact, const struct name *names, size_t n)
{
    static const char clear_sql[] =
        "DELETE FROM contacts.token WHERE organization_id = $1::text AND contact_id = $2::text";
    static const char add_sql[] = "INSERT INTO contacts.token (organization_id, contact_id, token, weight) SELECT "
                                  "$1::text, $2::text, r.t, max(r.w)"
                                  " FROM json_to_recordset($3::json) AS r(t text, w real) GROUP BY r.t";
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_text(contact), wharf_null()};
    wharf_out *out = W->json->writer(req);
    wharf_status s = W->db->exec(req, clear_sql, args, 2, NULL);

    if (s != WHARF_OK || !n)
        return s;
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < names[i].n; k++) {
            const struct token *t = &names[i].tokens[k];

            W->json->open(out, NULL, '{');
            W->json->put(out, "t", wharf_text(encode(req, t->points, t->n_points)));
            W->json->put(out, "w", (wharf_val){.type = WHARF_V_DOUBLE, .u.d = name_weight(&names[i], k)});
            W->json->close(out);
        }
    }
    W->json->close(out);
    args[2] = wharf_text(W->json->result_text(out));
    s = W->db->exec(req, add_sql, args, 3, NULL);
    return s == WHARF_OK ? learn(req, names, n) : s;
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
            each_deletion(req, t, edits_allowed(t->n_points, FUZZY_AUTO) > 1 ? DELETED_TWO_FROM : TOKEN_POINTS + 1,
                add_lookup, g);
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
