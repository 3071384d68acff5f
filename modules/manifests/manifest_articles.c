/* manifest_articles.c - `articles` and `containers` of a manifest's request: their members are
 * read here, sql/articles_set.sql finds the items and writes the lines
 * (docs/spec/03-shipments-and-trackers.md section 7.1). */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

enum {
    NUMBER_MAX = 191, /* letters of a number */
    COMMENT_MAX = 2000, /* letters of a comment */
    SERIALS_MAX = 500, /* serial numbers of a line */
    TAGS_MAX = 50 /* tags of a line */
};

static const struct line_member article_members[] = {{"item_id", MEMBER_TEXT, 64, NULL, NULL},
    {"sku", MEMBER_TEXT, 400, NULL, NULL}, {"gtin", MEMBER_TEXT, 14, NULL, NULL},
    {"code", MEMBER_TEXT, NUMBER_MAX, NULL, NULL},
    {"item_transactional_unit_id", MEMBER_TEXT, 64, NULL, NULL},
    {"layout_id", MEMBER_TEXT, 64, NULL, NULL}, {"lot_number", MEMBER_TEXT, 100, NULL, NULL},
    {"expires_at", MEMBER_MOMENT, 0, NULL, NULL},
    {"serial_numbers", MEMBER_TEXTS, SERIALS_MAX, NULL, NULL},
    {"reason_code_id", MEMBER_REASON, 64, NULL, NULL},
    {"attributes", MEMBER_TEXTS, TAGS_MAX, NULL, NULL},
    {"special_handling_tags", MEMBER_TEXTS, TAGS_MAX, NULL, NULL},
    {"value", MEMBER_WHOLE, 1000000000000, NULL, NULL},
    {"harmonized_code", MEMBER_TEXT, 20, NULL, NULL},
    {"origin_country", MEMBER_TEXT, 2, NULL, NULL},
    {"comment", MEMBER_TEXT, COMMENT_MAX, NULL, NULL},
    {"requested_qty", MEMBER_QUANTITY, 0, NULL, "requested"},
    {"packed_qty", MEMBER_QUANTITY, 0, NULL, "packed"},
    {"received_qty", MEMBER_QUANTITY, 0, "verified_qty", "received"},
    {"defective_qty", MEMBER_QUANTITY, 0, "damaged_qty", "defective"}};

static const struct line_member container_members[] = {
    {"tracking_number", MEMBER_TEXT, NUMBER_MAX, NULL, NULL},
    {"container_number", MEMBER_TEXT, NUMBER_MAX, NULL, NULL},
    {"layout_id", MEMBER_TEXT, 64, NULL, NULL}, {"unpacked", MEMBER_BOOL, 0, NULL, NULL},
    {"defective", MEMBER_BOOL, 0, NULL, NULL}, {"missing", MEMBER_BOOL, 0, NULL, NULL}};

struct sent_list { /* lines or parcels of a request */
    wharf_out *out;
    wharf_str *paths, *ids; /* "articles.2.", in their order; their ids */
    size_t n, room;
};

struct sent {
    struct manifest_write *w;
    struct sent_list lines, parcels;
};

static void begin_list(wharf_req *req, struct sent_list *list, size_t room)
{
    *list = (struct sent_list){.out = W->json->writer(req), .room = room};
    list->paths = W->mem->alloc(req, (room + 1) * sizeof(*list->paths));
    list->ids = W->mem->alloc(req, (room + 1) * sizeof(*list->ids));
    W->json->open(list->out, NULL, '[');
}

/* Begins an element; its id is new when none was sent. */
static bool manifest_articles_begin_one(struct sent *t, struct sent_list *list, const wharf_json *e,
    wharf_str at, const char *prefix, wharf_str *ret_id)
{
    wharf_req *req = t->w->req;
    wharf_str id = json_text(e, "id");
    bool known = id.n > 0, gone = json_truth(W->json->get(e, "_delete"));

    if (list->n == list->room) {
        W->err->add(req, ERR_VALIDATION_FAILED, at.p, "There are too many of them");
        return false;
    }
    if (!known)
        id = W->req->new_id(req, prefix);
    for (size_t i = 0; known && i < list->n; i++) {
        if (same(list->ids[i], id))
            W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "%sid", at.p).p,
                "%s stands in the request twice", id.p);
    }
    if (gone && !known)
        W->err->add(req, ERR_VALIDATION_FAILED, W->mem->format(req, "%sid", at.p).p,
            "%sid is required with _delete", at.p);
    W->json->open(list->out, NULL, '{');
    W->json->put(list->out, "n", val_int((int64_t)list->n));
    W->json->put(list->out, "id", val_text(id));
    W->json->put(list->out, "known", val_bool(known));
    W->json->put(list->out, "delete", val_bool(gone));
    list->ids[list->n] = id;
    list->paths[list->n++] = at;
    *ret_id = id;
    return true;
}

static void manifest_articles_take_lines(
    struct sent *t, const wharf_json *sent, const char *path, wharf_str parcel)
{
    const size_t n = sizeof(article_members) / sizeof(article_members[0]);
    wharf_str id;
    size_t i = 0;

    if (json_is_null(sent))
        return;
    if (W->json->type(sent) != WHARF_J_ARRAY) {
        W->err->add(t->w->req, ERR_VALIDATION_FAILED, path, "%s must be an array", path);
        return;
    }
    for (const wharf_json *e = W->json->at(sent, 0); e; e = W->json->next(e), i++) {
        if (!manifest_articles_begin_one(
                t, &t->lines, e, W->mem->format(t->w->req, "%s.%zu.", path, i), "mart", &id))
            return;
        W->json->put(t->lines.out, "parcel", val_text_or_null(parcel));
        members_read(
            t->w->req, e, t->lines.paths[t->lines.n - 1], article_members, n, t->lines.out);
        W->json->close(t->lines.out);
    }
}

static void take_containers(struct sent *t, const wharf_json *sent)
{
    const size_t n = sizeof(container_members) / sizeof(container_members[0]);
    wharf_req *req = t->w->req;
    wharf_str id;
    size_t i = 0;

    for (const wharf_json *e = sent ? W->json->at(sent, 0) : NULL; e; e = W->json->next(e), i++) {
        wharf_str at = W->mem->format(req, "containers.%zu.", i);

        if (!manifest_articles_begin_one(t, &t->parcels, e, at, "prcl", &id))
            return;
        members_read(req, e, at, container_members, n, t->parcels.out);
        W->json->close(t->parcels.out);
        manifest_articles_take_lines(
            t, W->json->get(e, "articles"), W->mem->format(req, "%sarticles", at.p).p, id);
    }
}

/* ---- writing ---- */

static wharf_status manifest_articles_tell(const struct sent *t, const wharf_json *problems)
{
    wharf_req *req = t->w->req;

    for (const wharf_json *p = W->json->at(problems, 0); p; p = W->json->next(p)) {
        const struct sent_list *list = is(json_text(p, "of"), "line") ? &t->lines : &t->parcels;
        int64_t n = 0;

        W->json->integer(W->json->get(p, "n"), &n);
        manifest_tell(req, json_text(p, "problem"),
            W->mem->format(req, "%s%s", list->paths[n].p, json_text(p, "member").p).p);
    }
    return W->err->current(req);
}

static wharf_status write_sent(struct sent *t)
{
    static const char sql[] = "SELECT manifests.articles_set($1::text, $2::text, $3::jsonb,"
                              " $4::jsonb, $5::jsonb)";
    struct manifest_write *w = t->w;
    wharf_out *facts = W->json->writer(w->req);
    const wharf_rows *rows;
    const wharf_json *problems;
    wharf_status s;

    manifest_put_facts(w->req, facts);
    W->json->close(facts);
    s = W->db->query(w->req, sql,
        (const wharf_val[]){val_text(w->id), val_text(w->location),
            val_text(W->json->result_text(facts)), val_text(W->json->result_text(t->parcels.out)),
            val_text(W->json->result_text(t->lines.out))},
        5, &rows);
    problems = s == WHARF_OK ? row_json(rows, 0, 0) : NULL;
    return json_is_null(problems) ? s : manifest_articles_tell(t, problems);
}

wharf_status manifest_articles_take(struct manifest_write *w)
{
    const wharf_json *articles = W->res->input(w->rec, MANIFEST_ARTICLES),
                     *containers = W->res->input(w->rec, MANIFEST_CONTAINERS);
    struct sent t = {.w = w};
    wharf_status s;

    if (!articles && !containers)
        return WHARF_OK;
    begin_list(w->req, &t.lines, LINES_MAX);
    begin_list(w->req, &t.parcels, CONTAINERS_MAX);
    manifest_articles_take_lines(&t, articles, "articles", WHARF_S(""));
    take_containers(&t, containers);
    W->json->close(t.lines.out);
    W->json->close(t.parcels.out);
    s = W->err->current(w->req);
    if (s == WHARF_OK)
        s = write_sent(&t);
    if (s == WHARF_OK)
        s = booking_expect(w->req, w->id, w->location, true, "expected",
            &(const struct article_paths){t.lines.ids, t.lines.paths, t.lines.n});
    /* so that the row changes: it is what versions and answers are about */
    if (s == WHARF_OK)
        W->res->set(w->rec, MANIFEST_CHANGES, val_int(field_int(w->rec, MANIFEST_CHANGES) + 1));
    return s;
}

wharf_status manifest_count(struct manifest_write *w)
{
    static const char sql[] = QUERY_MANIFEST_COUNTS;
    const wharf_rows *rows;
    wharf_status s = query_about(w->req, sql, w->id, &rows);

    if (s != WHARF_OK)
        return s;
    if (row_int(rows, 0, 0) > LINES_MAX || row_int(rows, 0, 2) > CONTAINERS_MAX)
        return W->err->fail(w->req, ERR_VALIDATION_FAILED, "articles",
            "A manifest has at most 2,000 articles and 200 containers");
    if (row_int(rows, 0, 3) > CONTAINER_LINES_MAX)
        return W->err->fail(
            w->req, ERR_VALIDATION_FAILED, "containers", "A container has at most 500 articles");
    W->res->set(w->rec, MANIFEST_ARTICLE_COUNT, val_int(row_int(rows, 0, 0)));
    W->res->set(w->rec, MANIFEST_OPEN_COUNT, val_int(row_int(rows, 0, 1)));
    return WHARF_OK;
}
