/* index.c - see index.h. Tables: migrations/0001_contacts.sql. */
#include "index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "wharf/hash.h"
#include "wharf/values.h"

enum { DELETED_ONE_FROM = 3, DELETED_TWO_FROM = 8, PREFIX_FROM = 4, SHORT_NAME = 3 /* words */ };

/* ---- texts without some of their letters ---- */

static size_t put_point(uint32_t c, char *out)
{
    size_t k = 0;

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
    return k;
}

static wharf_str index_encode(wharf_req *req, const uint32_t *points, size_t n)
{
    char *out = W->mem->alloc(req, 4 * n + 1);
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        k += put_point(points[i], out + k);
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

/* Hashes of texts in the book of this organization: words of one never meet those of another. */
static uint32_t hash_start(wharf_req *req)
{
    wharf_str organization = W->req->organization(req);

    return wharf_hash32(wharf_hash32(WHARF_HASH32_START, organization.p, organization.n), "", 1);
}

/* Hashes as PostgreSQL reads integer[]. */
struct hashes {
    wharf_req *req;
    uint32_t start;
    char *p;
    size_t n, room;
};

static void hash_add(struct hashes *list, const uint32_t *points, size_t n)
{
    char text[16];
    uint32_t h = list->start;
    int len;

    for (size_t i = 0; i < n; i++)
        h = wharf_hash32(h, text, put_point(points[i], text));
    len = snprintf(text, sizeof(text), "%c%" PRId32, list->n ? ',' : '{', (int32_t)h);
    if (list->n + (size_t)len + 2 > list->room) {
        char *wider = W->mem->alloc(list->req, 2 * list->room + 512);

        if (list->n)
            memcpy(wider, list->p, list->n);
        list->p = wider;
        list->room = 2 * list->room + 512;
    }
    memcpy(list->p + list->n, text, (size_t)len);
    list->n += (size_t)len;
}

static wharf_str hashes_array(struct hashes *list)
{
    if (!list->n)
        return WHARF_S("{}");
    list->p[list->n] = '}';
    return (wharf_str){list->p, list->n + 1};
}

/* Adds the hashes of the word itself, without each letter, and without each two. */
static void hash_deletions(struct hashes *list, const uint32_t *points, size_t n, size_t two_from)
{
    uint32_t left[TOKEN_POINTS], fewer[TOKEN_POINTS];

    hash_add(list, points, n);
    for (size_t i = 0; n >= DELETED_ONE_FROM && i < n; i++) {
        memcpy(left, points, i * sizeof(*left));
        memcpy(left + i, points + i + 1, (n - i - 1) * sizeof(*left));
        hash_add(list, left, n - 1);
        for (size_t k = i; n >= two_from && k + 1 < n; k++) {
            memcpy(fewer, left, k * sizeof(*fewer));
            memcpy(fewer + k, left + k + 1, (n - k - 2) * sizeof(*fewer));
            hash_add(list, fewer, n - 2);
        }
    }
}

/* ---- writing ---- */

struct indexed {
    wharf_str contact, token;
    double weight;
};

/* Tells whether the word was there before. A word that a contact has several times counts what it
 * counts most. */
static bool had_before(struct words *list, const struct indexed *word)
{
    for (size_t i = list->n; i > 0 && list->p[i - 1].contact.p == word->contact.p; i--) {
        struct indexed *had = &list->p[i - 1];

        if (!wharf_same(had->token, word->token))
            continue;
        had->weight = word->weight > had->weight ? word->weight : had->weight;
        return true;
    }
    return false;
}

void words_add(wharf_req *req, struct words *list, wharf_str contact, const struct name *name)
{
    for (size_t i = 0; i < name->n; i++) {
        struct indexed word = {contact,
            index_encode(req, name->tokens[i].points, name->tokens[i].n_points),
            name_weight(name, i)};

        if (had_before(list, &word))
            continue;
        if (list->n == list->cap) {
            size_t cap = list->cap ? 2 * list->cap : 2 * TOKENS_MAX;
            struct indexed *wider = W->mem->alloc(req, cap * sizeof(*wider));

            if (list->n)
                memcpy(wider, list->p, list->n * sizeof(*wider));
            list->p = wider;
            list->cap = cap;
        }
        list->p[list->n++] = word;
    }
}

static void sort_distinct(struct ids *words)
{
    size_t n = 0;

    qsort(words->p, words->n, sizeof(*words->p), wharf_str_order);
    for (size_t i = 0; i < words->n; i++) {
        if (!n || !wharf_same(words->p[n - 1], words->p[i]))
            words->p[n++] = words->p[i];
    }
    words->n = n;
}

/* Learns what of these words the book has never seen. Orders them. Others may learn the same at
 * the same moment: nobody waits (`twin` in migrations/0001_contacts.sql). */
static wharf_status index_learn(wharf_req *req, struct ids *words)
{
    static const char new_sql[] =
        "SELECT x FROM unnest((SELECT $2::text[])) x LEFT JOIN LATERAL (SELECT "
        "true AS there FROM contacts.word w"
        " WHERE w.organization_id = $1::text AND w.token = x LIMIT 1) k "
        "ON true WHERE k.there IS NULL";
    static const char add_sql[] =
        "INSERT INTO contacts.word (organization_id, token, twin, deletions) SELECT $1::text, x.t, "
        "pg_backend_pid(), x.d::integer[] FROM unnest((SELECT $2::text[]), (SELECT $3::text[])) "
        "x(t, d) ON CONFLICT "
        "DO NOTHING";
    wharf_val args[3] = {wharf_text(W->req->organization(req))}, v;
    struct ids fresh, deletions;
    uint32_t points[TOKEN_POINTS];
    const wharf_rows *rows;
    wharf_status s;

    sort_distinct(words);
    args[1] = ids_array(req, words);
    s = W->db->query(req, new_sql, args, 2, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    fresh = deletions = (struct ids){NULL, 0};
    fresh.p = W->mem->alloc(req, W->db->count(rows) * sizeof(*fresh.p));
    deletions.p = W->mem->alloc(req, W->db->count(rows) * sizeof(*deletions.p));
    for (size_t i = 0; i < W->db->count(rows); i++) {
        struct hashes list = {.req = req, .start = hash_start(req)};

        if (!W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            continue;
        hash_deletions(&list, points, points_of(v.u.s, points), DELETED_TWO_FROM);
        fresh.p[fresh.n++] = v.u.s;
        deletions.p[deletions.n++] = hashes_array(&list);
    }
    args[1] = ids_array(req, &fresh);
    args[2] = ids_array(req, &deletions);
    W->db->later(req, add_sql, args, 3);
    return WHARF_OK;
}

/* Makes the columns of the list: contacts, words, weights. */
static void as_arrays(wharf_req *req, const struct words *list, struct ids ret[3])
{
    for (size_t k = 0; k < 3; k++)
        ret[k] = (struct ids){W->mem->alloc(req, (list->n + 1) * sizeof(*ret[k].p)), list->n};
    for (size_t i = 0; i < list->n; i++) {
        ret[0].p[i] = list->p[i].contact;
        ret[1].p[i] = list->p[i].token;
        ret[2].p[i] = W->mem->format(req, "%.9g", list->p[i].weight);
    }
}

wharf_status index_add(wharf_req *req, const struct words *list, bool again)
{
    static const char sql
        [] = "INSERT INTO contacts.token (organization_id, contact_id, token, weight)"
             " SELECT $1::text, x.c, x.t, x.w FROM unnest((SELECT $2::text[]), (SELECT "
             "$3::text[]), (SELECT $4::real[])) x(c, "
             "t, w)",
     again_sql[] =
         "INSERT INTO contacts.token (organization_id, contact_id, token, weight)"
         " SELECT $1::text, x.c, x.t, x.w FROM unnest((SELECT $2::text[]), (SELECT $3::text[]), "
         "(SELECT $4::real[])) x(c, t, "
         "w)"
         " ON CONFLICT (organization_id, token, contact_id) DO UPDATE SET weight = excluded.weight";
    wharf_val args[4] = {wharf_text(W->req->organization(req))};
    struct ids columns[3];

    if (!list->n)
        return WHARF_OK;
    as_arrays(req, list, columns);
    for (size_t k = 0; k < 3; k++)
        args[k + 1] = ids_array(req, &columns[k]);
    W->db->later(req, again ? again_sql : sql, args, 4);
    return index_learn(req, &columns[1]);
}

void index_remove(wharf_req *req, const struct words *list)
{
    static const char sql[] = "DELETE FROM contacts.token WHERE ctid = ANY (ARRAY(SELECT t.at FROM "
                              "unnest((SELECT $2::text[]), (SELECT $3::text[])) x(c, t)"
                              " CROSS JOIN LATERAL (SELECT y.ctid AS at FROM contacts.token y "
                              "WHERE y.organization_id = $1::text"
                              " AND y.token = x.t AND y.contact_id = x.c LIMIT 1) t))";
    wharf_val args[3] = {wharf_text(W->req->organization(req))};
    struct ids columns[3];

    if (!list->n)
        return;
    as_arrays(req, list, columns);
    args[1] = ids_array(req, &columns[0]);
    args[2] = ids_array(req, &columns[1]);
    W->db->later(req, sql, args, 3);
}

/* ---- finding ---- */

/* Words of the book that may stand for those of the name. */
struct guess {
    wharf_req *req;
    wharf_out *out; /* [{q, t, w}] */
};

static void add_guess(struct guess *g, size_t query, wharf_str token, double weight)
{
    W->json->open(g->out, NULL, '{');
    W->json->put(g->out, "q", wharf_integer((int64_t)query));
    W->json->put(g->out, "t", wharf_text(token));
    W->json->put(g->out, "w", val_double(weight));
    W->json->close(g->out);
}

/* Guesses what a word of the book may stand for. */
static void guess_word(struct guess *g, const struct name *name, wharf_str word)
{
    uint32_t points[TOKEN_POINTS];
    size_t n = points_of(word, points);

    for (size_t i = 0; i < name->n; i++) {
        const struct token *t = &name->tokens[i];
        bool begins = n > t->n_points && t->n_points >= PREFIX_FROM &&
                      !memcmp(points, t->points, t->n_points * sizeof(*points));
        int d = begins ? 1 : edit_distance(t->points, t->n_points, points, n);

        if (begins || (d > 0 && d <= edits_allowed(t->n_points, FUZZY_AUTO)))
            add_guess(g, i, word,
                name_weight(name, i) * (begins ? 0.88 : 1 - (double)d / (double)(t->n_points + 1)));
    }
}

/* Guesses words that share a deletion with one of the name's, or begin with it. */
static wharf_status guess_mistyped(wharf_req *req, const struct name *name, struct guess *g)
{
    static const char sql[] =
        "SELECT contacts.words_sharing($2::integer[])"
        " UNION SELECT x.token FROM unnest((SELECT $3::text[])) p CROSS JOIN LATERAL (SELECT "
        "w.token FROM "
        "contacts.word w WHERE w.organization_id = $1::text AND w.token > p AND w.token < p || "
        "U&'\\+10FFFF' ORDER BY w.organization_id, w.token LIMIT 50) x";
    struct hashes lookups = {.req = req, .start = hash_start(req)};
    struct ids prefixes = {W->mem->alloc(req, (TOKENS_MAX + 1) * sizeof(*prefixes.p)), 0};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(), wharf_null()}, v;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < name->n; i++) {
        const struct token *t = &name->tokens[i];
        int allowed = edits_allowed(t->n_points, FUZZY_AUTO);

        if (allowed)
            hash_deletions(&lookups, t->points, t->n_points,
                allowed > 1 ? DELETED_TWO_FROM : TOKEN_POINTS + 1);
        if (t->n_points >= PREFIX_FROM)
            prefixes.p[prefixes.n++] = index_encode(req, t->points, t->n_points);
    }
    if (!lookups.n)
        return WHARF_OK;
    args[1] = wharf_text(hashes_array(&lookups));
    args[2] = ids_array(req, &prefixes);
    s = W->db->query(req, sql, args, 3, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        if (W->db->value(rows, r, 0, WHARF_V_TEXT, &v))
            guess_word(g, name, v.u.s);
    }
    return s;
}

static void guess_forms(const struct name *name, struct guess *g)
{
    for (size_t i = 0; i < name->n; i++) {
        const struct token *t = &name->tokens[i];
        size_t at = 0, n;
        const char *p;

        add_guess(g, i, index_encode(g->req, t->points, t->n_points), name_weight(name, i));
        while (word_form(t->word, &at, &p, &n))
            add_guess(g, i, (wharf_str){p, n}, 0.95 * name_weight(name, i));
        if (t->n_points > 1)
            add_guess(g, i, index_encode(g->req, t->points, 1), 0.6 * name_weight(name, i));
    }
}

/* Finds contacts by guessed words. Among contacts that share as much, the one with the rarer
 * word is first: each contact that has a word takes a little off it. Counted before the join
 * (OFFSET 0), else it would be counted for each of its rows. */
#define GUESSES  " FROM json_to_recordset($2::json) AS r(q integer, t text, w double precision)"
#define RARENESS " n.has * 1e-12::double precision"
#define COUNTED                                                                                    \
    " CROSS JOIN LATERAL (SELECT count(*) AS has FROM contacts.token y WHERE y.organization_id = " \
    "$1::text"                                                                                     \
    " AND y.token = g.t) n OFFSET 0"
#define SHARED " JOIN contacts.token k ON k.organization_id = $1::text AND k.token = g.t"

wharf_status index_find(wharf_req *req, const struct name *name, struct ids *ret)
{
    static const char sql[] =
        "SELECT contact_id FROM (SELECT k.contact_id, g.q, max(g.w) AS w FROM (SELECT g.t, g.q, "
        "g.w -" RARENESS " AS w FROM (SELECT r.t, r.q, max(r.w) AS w" GUESSES
        " GROUP BY 1, 2) g" COUNTED ") g" SHARED
        " GROUP BY 1, 2) x GROUP BY contact_id ORDER BY sum(w) DESC, contact_id LIMIT $3::integer",
                      /* The same for the short names that nearly all are: contacts are grouped
                       * once. */
        short_sql[] =
            "SELECT k.contact_id FROM (SELECT g.t, g.a -" RARENESS " AS a, g.b -" RARENESS
            " AS b, g.c -" RARENESS " AS c FROM (SELECT r.t, max(r.w) FILTER (WHERE r.q = 0) AS a,"
            " max(r.w) FILTER (WHERE r.q = 1) AS b, max(r.w) FILTER (WHERE r.q = 2) AS c" GUESSES
            " GROUP BY 1) g" COUNTED ") g" SHARED " GROUP BY 1 ORDER BY COALESCE(max(a), 0) +"
            " COALESCE(max(b), 0) + COALESCE(max(c), 0) DESC, contact_id LIMIT $3::integer";
    struct guess g = {.req = req, .out = W->json->writer(req)};
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(),
        wharf_integer(CANDIDATES_MAX)},
              v;
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
    s = W->db->query(req, name->n <= SHORT_NAME ? short_sql : sql, args, 3, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            ret->p[ret->n++] = v.u.s;
    }
    return s;
}
