/* document_links.c - what a document belongs to, as its requests say it: `resources` is read,
 * judged and written as rows of document_link (docs/spec/05-documents-and-templates.md section 5).
 * Leaves who sees a link to the definitions, and what the resources know of it to
 * document_linked.c. */
#include "documents.h"
#include "documents.gen.h"

enum {
    LINKS_MAX = 100, /* links of one request */
    DOCUMENTS_MAX = 1000 /* documents of a row */
};

/* A resource that the request names. */
struct named {
    wharf_str type, id;
    const char *path; /* "resources.add.1.id" */
};

struct named_list {
    struct named *items;
    size_t n;
};

/* The links that a write adds and removes. */
struct link_work {
    struct named_list add;
    wharf_str *remove; /* ids of links */
    size_t n_remove;
};

static const char links_kind[] = "documents.links";

/* ---- the request ---- */

static void take_list(
    wharf_req *req, const wharf_json *list, const char *base, struct named_list *ret)
{
    size_t i = 0, n = list ? W->json->count(list) : 0;

    ret->items = W->mem->alloc(req, (n + 1) * sizeof(*ret->items));
    for (const wharf_json *e = n ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++)
        ret->items[ret->n++] = (struct named){
            json_text(e, "type"), json_text(e, "id"), W->mem->format(req, "%s.%zu.id", base, i).p};
}

static bool document_links_is_among(
    const struct named_list *list, size_t n, const struct named *what)
{
    for (size_t i = 0; i < n; i++) {
        if (same(list->items[i].id, what->id) && same(list->items[i].type, what->type))
            return true;
    }
    return false;
}

/* Drops resources that the list names a second time. */
static void drop_repeated(struct named_list *list)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (!document_links_is_among(list, n, &list->items[i]))
            list->items[n++] = list->items[i];
    }
    list->n = n;
}

/* Reads `resources`. ret_whole: it says all links that there are to be. */
static wharf_status read_resources(wharf_req *req, const wharf_json *sent, struct named_list *add,
    struct named_list *remove, bool *ret_whole)
{
    bool plain = W->json->type(sent) == WHARF_J_ARRAY;
    const wharf_json *set = plain ? sent : W->json->get(sent, "set");
    const wharf_json *more = plain ? NULL : W->json->get(sent, "add");
    const wharf_json *less = plain ? NULL : W->json->get(sent, "remove");

    if (set && (more || less))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "resources",
            "resources has set beside add or remove; send one of both");
    *ret_whole = set != NULL;
    take_list(req, set ? set : more,
        plain ? "resources"
        : set ? "resources.set"
              : "resources.add",
        add);
    take_list(req, less, "resources.remove", remove);
    drop_repeated(add);
    return WHARF_OK;
}

/* ---- who may be linked ---- */

static const char *zero_ended(wharf_req *req, wharf_str s)
{
    return W->mem->dup(req, s.p, s.n).p;
}

/* Holds the resources against being removed until this request is done. */
static wharf_status hold_named(wharf_req *req, const struct named_list *list)
{
    wharf_str *ids = W->mem->alloc(req, (list->n + 1) * sizeof(*ids));

    for (size_t i = 0; i < list->n; i++)
        ids[i] = list->items[i].id;
    return list->n ? W->db->lock_many(req, LINKED_LOCK, ids, list->n) : WHARF_OK;
}

/* Judges one resource that a link is to name. must_be: one that is not there is told. */
static wharf_status judge_named(wharf_req *req, const struct named *what, bool must_be)
{
    const wharf_rec *rec;
    wharf_status s = WHARF_NOT_FOUND;

    if (W->res->links(req, what->type, "documents")) {
        s = W->res->fetch(req, zero_ended(req, what->type), what->id, 0, &rec);
        if (s != WHARF_NOT_FOUND)
            return s;
        W->err->clear(req);
    }
    return must_be ? WHARF_NOT_FOUND : WHARF_OK;
}

/* Judges all: one at a location that the caller does not reach ends it with 403, and those that are
 * not there are told together. */
static wharf_status document_links_judge_all(
    wharf_req *req, const struct named_list *add, const struct named_list *remove)
{
    bool *missing = W->mem->alloc(req, add->n + 1);
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < remove->n && s == WHARF_OK; i++)
        s = judge_named(req, &remove->items[i], false);
    for (size_t i = 0; i < add->n && s == WHARF_OK; i++) {
        s = judge_named(req, &add->items[i], true);
        missing[i] = s == WHARF_NOT_FOUND;
        s = missing[i] ? WHARF_OK : s;
    }
    for (size_t i = 0; i < add->n && s == WHARF_OK; i++) {
        if (missing[i])
            W->err->add(req, ERR_VALIDATION_FAILED, add->items[i].path,
                "%s: there is no %s with the id %s that documents can be linked to",
                add->items[i].path, zero_ended(req, add->items[i].type),
                zero_ended(req, add->items[i].id));
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

/* ---- what changes ---- */

/* Reads the links of the document that the caller sees. */
static wharf_status document_links_read_links(
    wharf_req *req, wharf_str document, const wharf_rec *const **ret, size_t *ret_n)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *query;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "document_id", val_text(document));
    W->json->put(out, "limit", val_int(LINKS_MAX));
    W->json->close(out);
    s = W->json->result(req, out, &query);
    return s == WHARF_OK ? W->res->list(req, "document_link", query, ret, ret_n) : s;
}

static struct named link_named(const wharf_rec *link)
{
    return (struct named){.type = field_text(link, DOCUMENT_LINK_RESOURCE_TYPE),
        .id = field_text(link, DOCUMENT_LINK_RESOURCE_ID)};
}

/* Compares what is asked for with the links that are there: what is there is not added again, and
 * what is not is not removed. A set leaves alone what the caller does not see. */
static void compare_links(wharf_req *req, const wharf_rec *const *links, size_t n,
    const struct named_list *remove, bool whole, struct link_work *w)
{
    struct named_list there = {W->mem->alloc(req, (n + 1) * sizeof(struct named)), 0};
    size_t kept = 0;

    w->remove = W->mem->alloc(req, (n + 1) * sizeof(*w->remove));
    for (size_t i = 0; i < n; i++) {
        const struct named what = link_named(links[i]);

        there.items[there.n++] = what;
        if (!document_links_is_among(&w->add, w->add.n, &what) &&
            (whole || document_links_is_among(remove, remove->n, &what)))
            w->remove[w->n_remove++] = W->res->id(links[i]);
    }
    for (size_t i = 0; i < w->add.n; i++) {
        if (!document_links_is_among(&there, there.n, &w->add.items[i]))
            w->add.items[kept++] = w->add.items[i];
    }
    w->add.n = kept;
}

static wharf_status document_links_check_room(
    wharf_req *req, wharf_str document, const struct link_work *w)
{
    size_t n = w->add.n;
    wharf_str *types = W->mem->alloc(req, (n + 1) * sizeof(*types)),
              *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    const wharf_json *full;
    wharf_status s;

    if (!n)
        return WHARF_OK;
    for (size_t i = 0; i < n; i++) {
        types[i] = w->add.items[i].type;
        ids[i] = w->add.items[i].id;
    }
    s = W->db->query(req, QUERY_LINKS_FULL,
        (const wharf_val[]){val_text(W->req->organization(req)), val_text(document),
            val_array(req, types, n), val_array(req, ids, n), val_int(DOCUMENTS_MAX)},
        5, &rows);
    if (s != WHARF_OK)
        return s;
    if (row_int(rows, 0, 0) - (int64_t)w->n_remove + (int64_t)n > LINKS_MAX)
        return W->err->fail(req, ERR_DOCUMENT_TOO_MANY_LINKS, "resources",
            "A document may have %d links; remove some", LINKS_MAX);
    full = row_json(rows, 0, 1);
    for (const wharf_json *e = W->json->at(full, 0); e; e = W->json->next(e)) {
        int64_t place;

        if (W->json->integer(e, &place))
            W->err->add(req, ERR_DOCUMENT_TOO_MANY_LINKS, w->add.items[place].path,
                "A resource may have %d documents; remove some of this one's", DOCUMENTS_MAX);
    }
    return W->err->current(req);
}

static wharf_status links_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *sent = W->res->input(new_rec, DOCUMENT_RESOURCES);
    struct link_work *w = W->res->scratch(new_rec, links_kind, sizeof(*w));
    struct named_list remove = {NULL, 0};
    const wharf_rec *const *links = NULL;
    size_t n = 0;
    bool whole = false;
    wharf_status s;

    if (op == WHARF_CREATE)
        W->res->set(new_rec, DOCUMENT_LINKS_CHANGES, val_int(0));
    if (!sent)
        return WHARF_OK;
    s = read_resources(req, sent, &w->add, &remove, &whole);
    if (s == WHARF_OK)
        s = hold_named(req, &w->add);
    if (s == WHARF_OK)
        s = document_links_judge_all(req, &w->add, &remove);
    if (s == WHARF_OK && op == WHARF_UPDATE)
        s = document_links_read_links(req, W->res->id(new_rec), &links, &n);
    if (s != WHARF_OK)
        return s;
    compare_links(req, links, n, &remove, whole, w);
    s = document_links_check_room(req, W->res->id(new_rec), w);
    if (s == WHARF_OK && op == WHARF_UPDATE && w->add.n + w->n_remove)
        W->res->set(new_rec, DOCUMENT_LINKS_CHANGES,
            val_int(field_int(old_rec, DOCUMENT_LINKS_CHANGES) + 1));
    return s;
}

/* ---- the rows ---- */

/* Tells what a set of writes was refused for. */
static wharf_status document_links_tell_refused(wharf_req *req, const wharf_many *many, size_t n)
{
    wharf_str code, path, text;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; documents_many->problem(many, i, k, &code, &path, &text); k++)
            W->err->add(req, zero_ended(req, code), "resources", "%s", zero_ended(req, text));
    }
    return W->err->current(req);
}

wharf_status links_remove(wharf_req *req, const wharf_str *ids, size_t n)
{
    enum { AT_ONCE = 500 };
    const wharf_many *many;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && s == WHARF_OK; i += AT_ONCE) {
        size_t now = n - i < AT_ONCE ? n - i : AT_ONCE;

        s = documents_many->remove(req, "document_link", ids + i, now, WHARF_MANY_ALL, &many);
        if (s == WHARF_OK && documents_many->refused(many))
            s = document_links_tell_refused(req, many, now);
    }
    return s;
}

static wharf_status add_links(wharf_req *req, wharf_str document, const struct named_list *add)
{
    const wharf_json **bodies = W->mem->alloc(req, (add->n + 1) * sizeof(*bodies));
    const wharf_many *many;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < add->n && s == WHARF_OK; i++) {
        wharf_out *out = W->json->builder(req);

        W->json->open(out, NULL, '{');
        W->json->put(out, "document_id", val_text(document));
        W->json->put(out, "resource_type", val_text(add->items[i].type));
        W->json->put(out, "resource_id", val_text(add->items[i].id));
        W->json->close(out);
        s = W->json->result(req, out, &bodies[i]);
    }
    if (s != WHARF_OK || !add->n)
        return s;
    s = documents_many->create(req, "document_link", bodies, add->n, WHARF_MANY_ALL, &many);
    return s == WHARF_OK && documents_many->refused(many)
               ? document_links_tell_refused(req, many, add->n)
               : s;
}

static wharf_status links_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const struct link_work *w = W->res->scratch(new_rec, links_kind, sizeof(*w));
    wharf_status s = WHARF_OK;

    if (!w->add.n && !w->n_remove) {
        W->res->row_kept(new_rec);
        return WHARF_OK;
    }
    s = links_remove(req, w->remove, w->n_remove);
    return s == WHARF_OK ? add_links(req, W->res->id(new_rec), &w->add) : s;
}

const wharf_hooks documents_links_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = links_check,
    .written = links_written,
    .ops = WHARF_CREATE | WHARF_UPDATE};
