/* batch_answer.c - what requests see of a batch: its row with results and errors, and its
 * items one by one (spec 10 sections 1 and 10). */
#include "batches.h"
#include "batches.gen.h"
#include "wharf/errors.h"

/* ---- the answer of a creation ---- */

static void batch_answer_put_line(wharf_out *out, const wharf_rows *rows, size_t r)
{
    static const char *const keys[] = {"message", "errors", "violations", "duplicate_of"};
    const wharf_json *line = row_json(rows, r, 4);
    wharf_val v;

    W->json->open(out, NULL, '{');
    W->json->put(out, "index", val_int(row_int(rows, r, 0)));
    W->json->put(out, "row", W->db->value(rows, r, 1, WHARF_V_INT, &v) ? v : val_null());
    W->json->put(out, "phase", val_text(row_text(rows, r, 2)));
    W->json->put(out, "code", val_text(row_text(rows, r, 3)));
    for (size_t i = 0; line && i < sizeof(keys) / sizeof(*keys); i++) {
        if (W->json->get(line, keys[i]))
            W->json->put(out, keys[i], val_json(W->json->get(line, keys[i])));
    }
    W->json->put(out, "id", val_text_or_null(row_text(rows, r, 5)));
    W->json->close(out);
}

static const char lines_sql[] = QUERY_BATCH_LINES;

static wharf_status put_errors(struct batch *b, wharf_out *out)
{
    wharf_val args[3] = {
        val_text(b->id), val_text(W->req->organization(b->req)), val_int(SHOWN_MAX)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(b->req, lines_sql, args, 3, &rows);

    W->json->open(out, "errors", '[');
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        batch_answer_put_line(out, rows, i);
    W->json->close(out);
    return s;
}

static const char *operation_of(char letter)
{
    static const char *const words[] = {['c' - 'a'] = "created",
        ['u' - 'a'] = "updated",
        ['o' - 'a'] = "overwritten",
        ['d' - 'a'] = "deleted",
        ['n' - 'a'] = "unchanged",
        ['z' - 'a'] = NULL};

    return letter >= 'a' && letter <= 'z' ? words[letter - 'a'] : NULL;
}

static wharf_status put_results(struct batch *b, wharf_out *out)
{
    int shown = 0;
    bool found = true;
    wharf_status s = WHARF_OK;

    W->json->open(out, "results", '[');
    for (int number = 0; s == WHARF_OK && found && shown < SHOWN_MAX; number++) {
        struct chunk c;

        s = chunk_load(b, number, false, &c, &found);
        for (int i = 0; s == WHARF_OK && found && i < c.size && shown < SHOWN_MAX; i++) {
            const char *operation = operation_of(c.states[i]);

            if (!operation)
                continue;
            W->json->open(out, NULL, '{');
            W->json->put(out, "index", val_int(c.first + i));
            W->json->put(out, "id", val_text_or_null(c.ids[i]));
            W->json->put(out, "operation", val_text(z(operation)));
            W->json->close(out);
            shown++;
        }
    }
    W->json->close(out);
    return s;
}

wharf_status answer_batch(struct batch *b, uint32_t status, const char *message)
{
    wharf_out *shown = W->json->builder(b->req), *out;
    const wharf_json *row;
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(b->req, "batch", b->id, 0, &rec);

    if (s != WHARF_OK)
        return s;
    W->res->encode(b->req, shown, NULL, rec);
    s = W->json->result(b->req, shown, &row);
    if (s != WHARF_OK)
        return s;
    W->req->created(b->req, W->mem->format(b->req, "/v1/batches/%s", b->id.p));
    out = W->req->respond(b->req, status, message);
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(row, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    if (status == 201)
        s = put_results(b, out);
    if (s == WHARF_OK && status == 201)
        s = put_errors(b, out);
    W->json->close(out);
    return s;
}

/* ---- GET /v1/batches/:batch/items ---- */

/* Takes the next word of a filter's "error,skipped". Returns false when there is none. */
static bool batch_answer_next_word(wharf_str *rest, wharf_str *ret)
{
    const char *comma = rest->n ? memchr(rest->p, ',', rest->n) : NULL;

    if (!rest->n)
        return false;
    *ret = (wharf_str){rest->p, comma ? (size_t)(comma - rest->p) : rest->n};
    *rest = comma ? (wharf_str){comma + 1, rest->n - ret->n - 1} : WHARF_S("");
    return true;
}

/* Finds the letters of the states that a filter names. Returns false when one of them is no
 * state. */
static bool batch_answer_letters_of(wharf_str states, char *out)
{
    static const struct {
        const char *word, *letters;
    } all[] = {
        {"pending", "."}, {"done", "cuodn"}, {"error", "ave"}, {"ignored", "i"}, {"skipped", "s"}};
    wharf_str word;

    *out = 0;
    while (batch_answer_next_word(&states, &word)) {
        size_t i = 0;

        while (i < 5 && !is(word, all[i].word))
            i++;
        if (i == 5)
            return false;
        for (const char *p = all[i].letters; !strchr(out, *p); p++) {
            out[strlen(out) + 1] = 0;
            out[strlen(out)] = *p;
        }
    }
    return true;
}

/* Tells whether all words are phases. An unknown code can't be told from one of a module that is
 * away. */
static bool are_phases(wharf_str words)
{
    wharf_str word;

    while (batch_answer_next_word(&words, &word)) {
        if (phase_of(word) == PHASES)
            return false;
    }
    return true;
}

static const char *batch_answer_state_of(char letter)
{
    return letter == '.'          ? "pending"
           : letter == 'i'        ? "ignored"
           : letter == 's'        ? "skipped"
           : operation_of(letter) ? "done"
                                  : "error";
}

static const char items_sql[] = QUERY_BATCH_ITEMS;

static void batch_answer_put_item(wharf_out *out, const wharf_rows *rows, size_t r)
{
    char letter = row_text(rows, r, 2).p[0];
    const char *operation = operation_of(letter);
    const wharf_json *line = row_json(rows, r, 6);
    wharf_str phase = row_text(rows, r, 3);
    wharf_val v;

    W->json->open(out, NULL, '{');
    W->json->put(out, "index", val_int(row_int(rows, r, 0)));
    W->json->put(out, "row", W->db->value(rows, r, 1, WHARF_V_INT, &v) ? v : val_null());
    W->json->put(out, "state", val_text(z(batch_answer_state_of(letter))));
    W->json->put(out, "phase",
        phase.n     ? val_text(phase)
        : operation ? val_text(WHARF_S("processing"))
                    : val_null());
    W->json->put(out, "result_id", val_text_or_null(row_text(rows, r, 4)));
    W->json->put(out, "operation", operation ? val_text(z(operation)) : val_null());
    W->json->put(out, "code", val_text_or_null(row_text(rows, r, 5)));
    W->json->put(out, "message", line ? val_json(W->json->get(line, "message")) : val_null());
    if (line && W->json->get(line, "duplicate_of"))
        W->json->put(out, "duplicate_of", val_json(W->json->get(line, "duplicate_of")));
    W->json->open(out, "errors", '[');
    for (const wharf_json *e = line ? W->json->at(W->json->get(line, "errors"), 0) : NULL; e;
         e = W->json->next(e))
        W->json->put(out, NULL, val_json(e));
    W->json->close(out);
    W->json->close(out);
}

static wharf_status items_page(wharf_req *req, wharf_str id, const char *letters)
{
    wharf_str phase = WHARF_S(""), code = WHARF_S("");
    int64_t page, limit;
    const wharf_rows *rows;
    wharf_out *out;
    size_t n;
    wharf_status s = W->req->page(req, 25, 1000, &page, &limit);

    if (s != WHARF_OK)
        return s;
    W->req->param(req, "phase", &phase);
    W->req->param(req, "code", &code);
    if (!are_phases(phase))
        return W->err->fail(req, ERR_PARAM_INVALID, "phase",
            "phase is one of fetching, resolving, parsing, validating, processing");
    wharf_val args[] = {val_text(id), val_text(W->req->organization(req)), val_text(z(letters)),
        val_text_or_null(phase), val_text_or_null(code), val_int(limit + 1),
        val_int((page - 1) * limit)};
    s = W->db->query(req, items_sql, args, sizeof(args) / sizeof(*args), &rows);
    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows) > (size_t)limit ? (size_t)limit : W->db->count(rows);
    out = W->req->respond(
        req, 200, W->mem->format(req, "%zu item%s retrieved", n, n == 1 ? "" : "s").p);
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++)
        batch_answer_put_item(out, rows, i);
    W->json->close(out);
    W->req->paged(req, page, limit, W->db->count(rows) > n);
    return WHARF_OK;
}

wharf_status batches_items(wharf_req *req, void *arg)
{
    wharf_str id = WHARF_S(""), state = WHARF_S("");
    char letters[16];
    const wharf_rec *rec;
    wharf_status s;

    (void)arg;
    W->req->param(req, "batch", &id);
    s = W->res->fetch(req, "batch", id, 0, &rec);
    if (s != WHARF_OK)
        return s;
    s = check_reader(req, rec);
    if (s == WHARF_NOT_FOUND) /* its module is not there */
        return W->err->fail(req, ERR_BATCH_RESOURCE_UNAVAILABLE, "resource", NULL);
    if (s != WHARF_OK)
        return s;
    W->req->param(req, "state", &state);
    if (!batch_answer_letters_of(state, letters))
        return W->err->fail(req, ERR_PARAM_INVALID, "state",
            "state is one of pending, done, error, ignored, skipped");
    return items_page(req, id, letters);
}
