/* contact_children.c - what is in a group (docs/spec/02-places-and-people.md section 6): GET
 * /v1/groups/:id/children, and the service contacts.groups for rows of other modules that are
 * children. Which lists a group's own request may send is group_rules.c's. */
#include "contacts.gen.h"
#include "contacts.h"
#include "wharf/ext/contacts.h"

enum {
    PAGE = 100, /* children of a page */
    PAGE_MAX = 1000 /* children of a page at most */
};

/* ---- GET /v1/groups/:id/children ---- */

static wharf_status put_page(
    wharf_req *req, const char *kind, const struct ids *ids, wharf_out *out)
{
    const wharf_rec *rec;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < ids->n; i++) {
        wharf_status s = W->res->fetch(req, kind, ids->p[i], 0, &rec);

        if (s == WHARF_OK)
            W->res->encode(req, out, NULL, rec);
        else
            W->err->clear(req); /* deleted, or at a location that the caller does not reach */
    }
    W->json->close(out);
    return WHARF_OK;
}

wharf_status group_children(wharf_req *req, void *arg)
{
    static const char sql[] = "SELECT c.id FROM contacts.contact_group g, "
                              "jsonb_array_elements_text(g.children) WITH ORDINALITY AS c(id, n)"
                              " WHERE g.organization_id = $1::text AND g.id = $2::text ORDER BY "
                              "c.n OFFSET $3::bigint LIMIT $4::bigint";
    wharf_str id = {"", 0}, kind = {"", 0};
    wharf_val args[4], v;
    const wharf_rows *rows;
    const wharf_rec *rec;
    int64_t page, limit;
    struct ids ids;
    wharf_status s = W->req->page(req, PAGE, PAGE_MAX, &page, &limit);

    (void)arg;
    W->req->param(req, "id", &id);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "group", id, 0, &rec);
    if (s != WHARF_OK)
        return s;
    field_get_text(rec, GROUP_RESOURCE, &kind);
    args[0] = wharf_text(W->req->organization(req));
    args[1] = wharf_text(id);
    args[2] = wharf_integer((page - 1) * limit);
    args[3] = wharf_integer(limit + 1);
    s = W->db->query(req, sql, args, 4, &rows);
    if (s != WHARF_OK)
        return s;
    ids = (struct ids){W->mem->alloc(req, (W->db->count(rows) + 1) * sizeof(*ids.p)), 0};
    for (size_t i = 0; i < W->db->count(rows) && ids.n < (size_t)limit; i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            ids.p[ids.n++] = v.u.s;
    }
    s = put_page(req, kind.p, &ids, W->req->respond(req, 200, "Children retrieved"));
    W->req->paged(req, page, limit, (int64_t)W->db->count(rows) > limit);
    return s;
}

/* ---- the groups of rows ---- */

static wharf_status children(
    wharf_req *req, const char *kind, wharf_str group_id, const wharf_str **ret_ids, size_t *ret_n)
{
    static const char sql[] =
        "SELECT children FROM contacts.contact_group WHERE organization_id = $1::text"
        " AND id = $2::text AND resource = $3::text AND deleted_at IS NULL";
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_text(group_id),
        wharf_text(wharf_z(kind))},
              v;
    const wharf_rows *rows;
    struct ids ids = {NULL, 0};
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    if (s == WHARF_OK && W->db->count(rows) && W->db->value(rows, 0, 0, WHARF_V_JSON, &v))
        ids = ids_of(req, v.u.j, 0);
    *ret_ids = ids.p;
    *ret_n = ids.n;
    return s;
}

/* ---- a row joins and leaves ---- */

struct wish {
    wharf_req *req;
    const char *kind, *path;
    wharf_str id;
};

static wharf_status contact_children_bad(
    const struct wish *w, const char *member, const char *message)
{
    const char *at = W->mem->format(w->req, "%s%s%s", w->path, *member ? "." : "", member).p;

    return W->err->add(w->req, ERR_VALIDATION_FAILED, at, "%s %s", at, message);
}

/* Reads a list of the input: ids, each once, of groups of this kind. whole: the input is the
 * list. */
static wharf_status contact_children_read_list(
    const struct wish *w, const wharf_json *list, const char *name, struct ids *ret)
{
    static const char sql[] =
        "SELECT 1 FROM contacts.contact_group WHERE organization_id = $1::text AND id = $2::text"
        " AND resource = $3::text AND deleted_at IS NULL";
    const char *dot = *name ? "." : "";
    bool set = !strcmp(name, "set");

    *ret = ids_of(w->req, list, 0);
    if (!list)
        return WHARF_OK;
    if (W->json->type(list) != WHARF_J_ARRAY || ret->n != W->json->count(list) ||
        ret->n > GROUPS_MAX)
        return contact_children_bad(w, name, "must be an array of up to 200 ids of groups");
    for (size_t i = 0; i < ret->n; i++) {
        struct ids before = {ret->p, i};
        wharf_val args[3] = {wharf_text(W->req->organization(w->req)), wharf_text(ret->p[i]),
            wharf_text(wharf_z(w->kind))};
        const wharf_rows *rows;
        wharf_status s = W->db->query(w->req, sql, args, 3, &rows);

        if (s != WHARF_OK)
            return s;
        if (ids_have(&before, ret->p[i]))
            return contact_children_bad(w,
                set ? name : W->mem->format(w->req, "%s%s%zu", name, dot, i).p,
                "has an id twice; send each once");
        else if (!W->db->count(rows))
            contact_children_bad(w, W->mem->format(w->req, "%s%s%zu", name, dot, i).p,
                "names no group of this kind");
    }
    return W->err->current(w->req);
}

static wharf_status contact_children_change(
    const struct wish *w, const struct ids *groups, const char *verb)
{
    wharf_out *out = W->json->builder(w->req);
    const wharf_json *body;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->open(out, verb, '[');
    W->json->put(out, NULL, wharf_text(w->id));
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(w->req, out, &body);
    W->err->base(w->req, W->mem->format(w->req, "%s.", w->path).p);
    for (size_t i = 0; s == WHARF_OK && i < groups->n; i++)
        s = W->res->update(w->req, "group", groups->p[i], body, NULL);
    W->err->base(w->req, "");
    return s;
}

static wharf_status contact_children_groups_of(const struct wish *w, struct ids *ret)
{
    static const char sql[] =
        "SELECT id FROM contacts.contact_group WHERE organization_id = $1::text"
        " AND resource = $2::text AND children ? $3::text AND deleted_at IS NULL ORDER BY id";
    wharf_val args[3] = {wharf_text(W->req->organization(w->req)), wharf_text(wharf_z(w->kind)),
        wharf_text(w->id)},
              v;
    const wharf_rows *rows;
    wharf_status s = W->db->query(w->req, sql, args, 3, &rows);

    *ret = (struct ids){
        W->mem->alloc(w->req, ((s == WHARF_OK ? W->db->count(rows) : 0) + 1) * sizeof(*ret->p)), 0};
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &v))
            ret->p[ret->n++] = v.u.s;
    }
    return s;
}

static struct ids ids_both(wharf_req *req, const struct ids *a, const struct ids *b)
{
    struct ids missing = ids_without(req, a, b);

    return ids_without(req, a, &missing);
}

static wharf_status contact_children_join(wharf_req *req, const char *kind, wharf_str id,
    const wharf_json *input, const char *path, bool *ret_changed)
{
    const struct wish w = {req, kind, path, id};
    bool whole = W->json->type(input) == WHARF_J_ARRAY;
    const wharf_json *set = whole ? input : W->json->get(input, "set"), *add = NULL, *remove = NULL;
    struct ids now, wanted, more, less;
    wharf_status s = contact_children_groups_of(&w, &now);

    *ret_changed = false;
    if (!whole) {
        add = W->json->get(input, "add");
        remove = W->json->get(input, "remove");
    }
    if (set && (add || remove))
        return contact_children_bad(&w, "set", "replaces; send it without add and remove");
    if (s == WHARF_OK)
        s = contact_children_read_list(&w, set, whole ? "" : "set", &wanted);
    if (s == WHARF_OK)
        s = contact_children_read_list(&w, add, "add", &more);
    if (s == WHARF_OK)
        s = contact_children_read_list(&w, remove, "remove", &less);
    for (size_t i = 0; s == WHARF_OK && i < more.n; i++) {
        if (ids_have(&less, more.p[i]))
            s = contact_children_bad(
                &w, W->mem->format(req, "add.%zu", i).p, "is in both lists; say either");
    }
    if (s != WHARF_OK)
        return s;
    if (set) {
        more = wanted;
        less = ids_without(req, &now, &wanted);
    }
    more = ids_without(req, &more, &now);
    less = ids_both(req, &less, &now);
    *ret_changed = more.n || less.n;
    s = contact_children_change(&w, &more, "add");
    return s == WHARF_OK ? contact_children_change(&w, &less, "remove") : s;
}

const wharf_contacts_groups_api contacts_groups = {
    WHARF_HEAD(wharf_contacts_groups_api), children, contact_children_join};

/* ---- deleted locations leave their groups ---- */

static wharf_status contact_children_location_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    struct wish w = {.req = req, .kind = "location", .path = "groups"};
    struct ids groups;
    wharf_status s;

    (void)new_rec;
    w.id = W->res->id(old_rec);
    s = contact_children_groups_of(&w, &groups);
    return s == WHARF_OK ? contact_children_change(&w, &groups, "remove") : s;
}

const wharf_hooks contacts_location_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .written = contact_children_location_written,
    .ops = WHARF_DELETE};
