/* inference_similarity.c - the older score of candidates, only when it is asked for
 * (options.match.legacy_scoring, docs/spec/06-inference.md section 2). It is shown, and decides
 * nothing. */
#include "inference.h"

#include "inference.gen.h"

enum { SIMILAR_MAX = 25, SIMILAR_SCALE = 4 };

static void similarity_put(
    wharf_out *out, const wharf_json *match, const wharf_rows *rows, size_t row)
{
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(match, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    W->json->put(out, "_similarity", val_decimal(row_int(rows, row, 0), SIMILAR_SCALE));
    W->json->close(out);
}

wharf_status similarity_add(
    wharf_req *req, wharf_str name, const wharf_json *found, const wharf_json **ret)
{
    static const char sql[] =
        "SELECT round(10000 * public.similarity(lower($1::text), lower(n.name))::numeric)::integer"
        " FROM unnest((SELECT $2::text[])) WITH ORDINALITY n (name, place) ORDER BY n.place";
    const wharf_json *matches = W->json->get(found, "matches");
    wharf_out *out = W->json->builder(req);
    wharf_str names[SIMILAR_MAX];
    size_t n = 0;
    const wharf_rows *rows;
    wharf_val args[2];
    wharf_status s;

    for (const wharf_json *m = W->json->at(matches, 0); m && n < SIMILAR_MAX; m = W->json->next(m))
        names[n++] = json_text(m, "name");
    args[0] = val_text(name);
    args[1] = val_array(req, names, n);
    s = W->db->query(req, sql, args, 2, &rows);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(found, 0); m; m = W->json->next(m)) {
        if (!is(W->json->key(m), "matches")) {
            W->json->put(out, W->json->key(m).p, val_json(m));
            continue;
        }
        W->json->open(out, "matches", '[');
        for (size_t i = 0; i < n; i++)
            similarity_put(out, W->json->at(matches, i), rows, i);
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result(req, out, ret);
}
