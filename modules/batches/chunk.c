/* chunk.c - items in the database, some hundred to a row; and what was wrong with single ones
 * (spec 10 section 4). */
#include "batches.h"
#include "batches.gen.h"

wharf_status chunk_load(struct batch *b, int number, bool lock, struct chunk *c, bool *ret_found)
{
    static const char look[] =
        "SELECT first, size, stage, item, item_tries, events, items, lines, states, ids FROM "
        "batches.chunk"
        " WHERE organization_id = $2::text AND batch_id = $1::text AND number = $3::integer";
    static const char hold[] = "SELECT first, size, stage, item, item_tries, events, items, lines, "
                               "states, ids FROM batches.chunk"
                               " WHERE organization_id = $2::text AND batch_id = $1::text AND "
                               "number = $3::integer FOR UPDATE";
    wharf_val args[3] = {val_text(b->id), val_text(W->req->organization(b->req)), val_int(number)};
    const wharf_rows *rows;
    const wharf_json *ids;
    wharf_status s = W->db->query(b->req, lock ? hold : look, args, 3, &rows);

    *ret_found = s == WHARF_OK && W->db->count(rows);
    if (!*ret_found)
        return s;
    *c = (struct chunk){.number = number,
        .first = (int)row_int(rows, 0, 0),
        .size = (int)row_int(rows, 0, 1),
        .stage = (int)row_int(rows, 0, 2),
        .item = (int)row_int(rows, 0, 3),
        .item_tries = (int)row_int(rows, 0, 4),
        .events = (size_t)row_int(rows, 0, 5),
        .items = row_json(rows, 0, 6),
        .lines = row_json(rows, 0, 7)};
    if (!c->items)
        return W->err->fail(
            b->req, ERR_INTERNAL, NULL, "the items of chunk %d can't be read", number);
    c->states = (char *)W->mem->dup(b->req, row_text(rows, 0, 8).p, (size_t)c->size).p;
    c->ids = W->mem->alloc(b->req, ((size_t)c->size + 1) * sizeof(*c->ids));
    ids = row_json(rows, 0, 9);
    for (int i = 0; i < c->size; i++)
        c->ids[i] = WHARF_S("");
    if (ids) {
        int i = 0;

        for (const wharf_json *e = W->json->at(ids, 0); e && i < c->size; e = W->json->next(e), i++)
            W->json->text(e, &c->ids[i]);
    }
    return WHARF_OK;
}

/* ---- problems ---- */

static wharf_out *open_line(struct batch *b, struct chunk *c, int i, enum phase_name phase,
    wharf_str code, wharf_str message)
{
    if (!c->problems) {
        c->problems = W->json->writer(b->req);
        W->json->open(c->problems, NULL, '[');
    }
    c->n_problems++;
    W->json->open(c->problems, NULL, '{');
    W->json->put(c->problems, "i", val_int(c->first + i));
    W->json->put(c->problems, "p", val_text(z(phase_word(phase))));
    W->json->put(c->problems, "c", val_text(code));
    W->json->open(c->problems, "l", '{');
    W->json->put(c->problems, "message", val_text(message));
    return c->problems;
}

static void put_violation(wharf_out *out, wharf_str path, wharf_str rule, wharf_str message)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "path", val_text(path));
    W->json->put(out, "rule", val_text(rule.n ? rule : WHARF_S("other")));
    W->json->put(out, "message", val_text(message));
    W->json->close(out);
}

static void close_line(wharf_out *out)
{
    W->json->close(out);
    W->json->close(out);
}

void chunk_problem(struct batch *b, struct chunk *c, int i, char state, enum phase_name phase,
    wharf_str code, wharf_str path, wharf_str rule, wharf_str message)
{
    wharf_out *out = open_line(b, c, i, phase, code, message);

    c->states[i] = state;
    W->json->open(out, "errors", '[');
    if (path.n)
        W->json->put(out, NULL, val_text(path));
    W->json->close(out);
    W->json->open(out, "violations", '[');
    put_violation(out, path, rule, message);
    W->json->close(out);
    close_line(out);
}

void chunk_problems(struct batch *b, struct chunk *c, int i, char state, enum phase_name phase,
    const wharf_many *many, size_t row)
{
    wharf_str code, path, message, first = WHARF_S(ERR_INTERNAL),
                                   first_message = WHARF_S("Something went wrong on our side");
    wharf_out *out;

    c->states[i] = state;
    batches_many->problem(many, row, 0, &first, &path, &first_message);
    out = open_line(b, c, i, phase, first, first_message);
    W->json->open(out, "errors", '[');
    for (size_t k = 0; batches_many->problem(many, row, k, &code, &path, &message); k++) {
        if (path.n)
            W->json->put(out, NULL, val_text(path));
    }
    W->json->close(out);
    W->json->open(out, "violations", '[');
    for (size_t k = 0; batches_many->problem(many, row, k, &code, &path, &message); k++)
        put_violation(out, path, batches_kernel->rule(many, row, k), message);
    W->json->close(out);
    close_line(out);
}

void repeat_problem(struct batch *b, struct chunk *c, int i, int64_t of)
{
    wharf_str message = W->mem->format(b->req, "The item %lld has the same key", (long long)of);
    wharf_out *out = open_line(b, c, i, PARSING, WHARF_S(ERR_BATCH_DUPLICATE), message);

    c->states[i] = 'i';
    W->json->put(out, "duplicate_of", val_int(of));
    W->json->open(out, "errors", '[');
    W->json->close(out);
    W->json->open(out, "violations", '[');
    W->json->close(out);
    close_line(out);
}

/* ---- saving ---- */

wharf_status lines_save(struct batch *b, struct chunk *c)
{
    static const char sql[] =
        "INSERT INTO batches.line (organization_id, batch_id, index, phase, code, line)"
        " SELECT $2::text, $1::text, x.i, x.p, x.c, x.l FROM jsonb_to_recordset($3::jsonb)"
        " x(i integer, p text, c text, l jsonb)";
    wharf_val args[3] = {val_text(b->id), val_text(W->req->organization(b->req))};

    if (!c->problems)
        return WHARF_OK;
    W->json->close(c->problems);
    args[2] = val_text(W->json->result_text(c->problems));
    c->problems = NULL;
    return W->db->exec(b->req, sql, args, 3, NULL);
}

static wharf_val ids_value(struct batch *b, const struct chunk *c)
{
    wharf_out *out = W->json->writer(b->req);
    bool any = false;

    W->json->open(out, NULL, '[');
    for (int i = 0; i < c->size; i++) {
        any |= c->ids[i].n > 0;
        W->json->put(out, NULL, val_text_or_null(c->ids[i]));
    }
    W->json->close(out);
    return any ? val_text(W->json->result_text(out)) : val_null();
}

wharf_status chunk_save(struct batch *b, struct chunk *c)
{
    static const char sql[] =
        "UPDATE batches.chunk SET states = $4::text, ids = $5::jsonb, stage = $6::smallint, events "
        "= $7::integer, item = $8::integer, item_tries = $9::integer,"
        " tries = CASE stage WHEN $6::smallint THEN tries ELSE 0 END, lease = CASE stage WHEN "
        "$6::smallint THEN lease ELSE 0 END"
        " WHERE organization_id = $2::text AND batch_id = $1::text AND number = $3::integer";
    wharf_val args[] = {val_text(b->id), val_text(W->req->organization(b->req)), val_int(c->number),
        val_text((wharf_str){c->states, (size_t)c->size}), ids_value(b, c), val_int(c->stage),
        val_int((int64_t)c->events), val_int(c->item), val_int(c->item_tries)};
    wharf_status s = lines_save(b, c);

    return s == WHARF_OK ? W->db->exec(b->req, sql, args, sizeof(args) / sizeof(*args), NULL) : s;
}
