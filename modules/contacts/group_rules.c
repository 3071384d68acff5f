/* group_rules.c - the rules of groups (spec 02 section 6): who may be a child, the forms in
 * which children are sent. */
#include <stdlib.h>

#include "contacts.gen.h"
#include "contacts.h"

/* ---- normalize: every form of input becomes the field members ---- */

static const char *const lists[] = {
    "children", "primary", "add", "remove", "primary_add", "primary_remove"};
enum { L_CHILDREN, L_PRIMARY, L_ADD, L_REMOVE, L_PRIMARY_ADD, L_PRIMARY_REMOVE, LISTS };

static wharf_status no_list(wharf_req *req, const char *path, const char *message)
{
    return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

struct place {
    wharf_str id;
    size_t index;
};

static int group_by_id(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    int order = memcmp(a->id.p, b->id.p, a->id.n < b->id.n ? a->id.n : b->id.n);

    if (!order)
        order = (a->id.n > b->id.n) - (a->id.n < b->id.n);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static void each_once(wharf_req *req, const struct ids *ids, const char *path)
{
    struct place *sorted = W->mem->alloc(req, (ids->n + 1) * sizeof(*sorted));

    for (size_t i = 0; i < ids->n; i++)
        sorted[i] = (struct place){ids->p[i], i};
    qsort(sorted, ids->n, sizeof(*sorted), group_by_id);
    for (size_t i = 1; i < ids->n; i++) {
        if (wharf_same(sorted[i].id, sorted[i - 1].id))
            no_list(req, W->mem->format(req, "%s.%zu", path, sorted[i].index).p,
                "was sent before; send each id once");
    }
}

/* Checks that a list has texts, each once. path names the list in the request. */
static void check_list(wharf_req *req, const wharf_json *list, const char *path)
{
    struct ids ids = ids_of(req, list, 0);

    if (W->json->type(list) != WHARF_J_ARRAY)
        no_list(req, path, "must be an array of ids");
    else if (ids.n != W->json->count(list))
        no_list(req, path, "must contain ids only");
    else if (ids.n > CHILDREN_MAX)
        no_list(req, path, "may have at most 10000 ids");
    else
        each_once(req, &ids, path);
}

/* Returns what the request says of a list: inside group_contacts or beside it. */
static const wharf_json *sent_list(const wharf_rec *rec, size_t which)
{
    const wharf_json *whole = W->res->member(rec, "group_contacts");

    if (which >= L_ADD)
        return W->res->member(rec, lists[which]);
    return whole && W->json->type(whole) == WHARF_J_OBJECT ? W->json->get(whole, lists[which])
                                                           : NULL;
}

static wharf_status group_normalize(wharf_req *req, uint32_t op, wharf_rec *rec)
{
    const wharf_json *whole = W->res->member(rec, "group_contacts"),
                     *type = W->res->member(rec, "type"), *value;
    wharf_out *out = W->json->builder(req);
    bool any = false;
    wharf_status s;

    if (type && !W->res->member(rec, "resource"))
        W->res->set(rec, GROUP_RESOURCE, wharf_value(type));
    W->res->drop(rec, "type");
    if (whole && W->json->type(whole) != WHARF_J_OBJECT)
        no_list(req, "group_contacts", "must be an object with children and primary");
    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < LISTS; i++) {
        const wharf_json *list = sent_list(rec, i);

        if (!list)
            continue;
        any = true;
        check_list(
            req, list, i < L_ADD ? W->mem->format(req, "group_contacts.%s", lists[i]).p : lists[i]);
        W->json->put(out, lists[i], wharf_value(list));
    }
    W->json->close(out);
    for (size_t i = L_ADD; i < LISTS; i++)
        W->res->drop(rec, lists[i]);
    W->res->drop(rec, "group_contacts");
    W->res->drop(rec, "members");
    if (W->err->current(req) != WHARF_OK || (!any && op != WHARF_CREATE))
        return W->err->current(req);
    s = W->json->result(req, out, &value);
    if (s == WHARF_OK)
        W->res->set(rec, GROUP_MEMBERS, wharf_value(value));
    return s;
}

/* ---- check: who they are afterwards ---- */

static wharf_status in_both(
    wharf_req *req, const struct ids *a, const struct ids *b, const char *path)
{
    for (size_t i = 0; i < a->n; i++) {
        if (ids_have(b, a->p[i]))
            no_list(req, W->mem->format(req, "%s.%zu", path, i).p, "is in both lists; say either");
    }
    return W->err->current(req);
}

static wharf_status primary_in_both(wharf_req *req, const wharf_json *sent)
{
    struct ids more = ids_of(req, W->json->get(sent, "primary_add"), 0),
               less = ids_of(req, W->json->get(sent, "primary_remove"), 0);

    return in_both(req, &more, &less, "primary_add");
}

/* Settles a list: replaced, then added to, then taken from. */
static struct ids group_settle(wharf_req *req, const struct ids *before, const wharf_json *sent,
    size_t whole, size_t add, size_t take)
{
    const wharf_json *replaced = W->json->get(sent, lists[whole]);
    struct ids more = ids_of(req, W->json->get(sent, lists[add]), 0),
               less = ids_of(req, W->json->get(sent, lists[take]), 0);
    struct ids base = replaced ? ids_of(req, replaced, 0) : *before,
               fresh = ids_without(req, &more, &base), all;

    all = (struct ids){W->mem->alloc(req, (base.n + fresh.n + 1) * sizeof(*all.p)), base.n};
    memcpy(all.p, base.p, base.n * sizeof(*all.p));
    for (size_t i = 0; i < fresh.n; i++)
        all.p[all.n++] = fresh.p[i];
    return less.n ? ids_without(req, &all, &less) : all;
}

static const char *group_path_of(
    wharf_req *req, const wharf_json *sent, wharf_str id, size_t whole, size_t add)
{
    static const size_t none = (size_t)-1;
    const size_t order[2] = {whole, add};

    for (size_t k = 0; k < 2; k++) {
        struct ids ids = ids_of(req, W->json->get(sent, lists[order[k]]), 0);
        size_t at = none;

        for (size_t i = 0; i < ids.n && at == none; i++)
            at = wharf_same(ids.p[i], id) ? i : none;
        if (at != none)
            return W->mem->format(req, k ? "%s.%zu" : "group_contacts.%s.%zu", lists[order[k]], at)
                .p;
    }
    return "group_contacts";
}

static wharf_status contacts_known(wharf_req *req, const wharf_json *sent, const struct ids *fresh)
{
    static const char sql[] =
        "SELECT x, EXISTS (SELECT 1 FROM contacts.contact c WHERE c.organization_id = $1::text AND "
        "c.id = x AND c.deleted_at IS NULL) FROM unnest((SELECT $2::text[])) x WHERE NOT EXISTS "
        "(SELECT 1 FROM contacts.contact c WHERE c.organization_id = $1::text AND c.id = x AND "
        "c.deleted_at IS NULL AND jsonb_array_length(c.groups) < $3::integer)";
    wharf_val args[3] = {wharf_text(W->req->organization(req)), ids_array(req, fresh),
        wharf_integer(GROUPS_MAX)},
              id, there;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        W->db->value(rows, i, 0, WHARF_V_TEXT, &id);
        if (W->db->value(rows, i, 1, WHARF_V_BOOL, &there) && there.u.i)
            W->err->add(req, ERR_VALIDATION_FAILED,
                group_path_of(req, sent, id.u.s, L_CHILDREN, L_ADD),
                "The contact %.*s is in %d groups already", (int)id.u.s.n, id.u.s.p, GROUPS_MAX);
        else
            W->err->add(req, ERR_VALIDATION_FAILED,
                group_path_of(req, sent, id.u.s, L_CHILDREN, L_ADD), "There is no contact %.*s",
                (int)id.u.s.n, id.u.s.p);
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

static wharf_status locations_known(wharf_req *req, const wharf_json *sent, const struct ids *fresh)
{
    for (size_t i = 0; i < fresh->n; i++) {
        uint32_t flags = 0;

        if (contacts_places->flags(req, fresh->p[i], &flags) != WHARF_OK)
            return W->err->current(req);
        if (!(flags & WHARF_LOCATION_KNOWN))
            W->err->add(req, ERR_VALIDATION_FAILED,
                group_path_of(req, sent, fresh->p[i], L_CHILDREN, L_ADD),
                "There is no location %.*s", (int)fresh->p[i].n, fresh->p[i].p);
    }
    return W->err->current(req);
}

static struct ids group_stored(wharf_req *req, const wharf_rec *old_rec, const char *name)
{
    const wharf_json *members = old_rec ? field_json(old_rec, GROUP_MEMBERS) : NULL;

    return ids_of(req, members ? W->json->get(members, name) : NULL, 0);
}

static wharf_status members_json(
    wharf_req *req, const struct ids *children, const struct ids *primary, const wharf_json **ret)
{
    const wharf_json *parts[2];
    wharf_out *out = W->json->builder(req);

    if (ids_json(req, children, &parts[0]) != WHARF_OK ||
        ids_json(req, primary, &parts[1]) != WHARF_OK)
        return W->err->current(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "children", wharf_value(parts[0]));
    W->json->put(out, "primary", wharf_value(parts[1]));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static wharf_status group_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *sent = op == WHARF_DELETE ? NULL : field_json(new_rec, GROUP_MEMBERS),
                     *whole = NULL, *list = NULL;
    struct ids before, children, primary, fresh, more, less;
    wharf_str resource = {"", 0};
    wharf_status s;

    if (!sent || !W->res->sent(new_rec, GROUP_MEMBERS))
        return WHARF_OK;
    more = ids_of(req, W->json->get(sent, "add"), 0);
    less = ids_of(req, W->json->get(sent, "remove"), 0);
    if (in_both(req, &more, &less, "add") != WHARF_OK || primary_in_both(req, sent) != WHARF_OK)
        return W->err->current(req);
    before = group_stored(req, old_rec, "children");
    children = group_settle(req, &before, sent, L_CHILDREN, L_ADD, L_REMOVE);
    fresh = ids_without(req, &children, &before);
    if (children.n > CHILDREN_MAX)
        return no_list(req, W->json->get(sent, "children") ? "group_contacts.children" : "add",
            "makes more than 10000 children");
    field_get_text(new_rec, GROUP_RESOURCE, &resource);
    s = wharf_same(resource, WHARF_S("location")) ? locations_known(req, sent, &fresh)
                                                  : contacts_known(req, sent, &fresh);
    if (s != WHARF_OK)
        return s;
    before = group_stored(req, old_rec, "primary");
    primary = group_settle(req, &before, sent, L_PRIMARY, L_PRIMARY_ADD, L_PRIMARY_REMOVE);
    /* who leaves is no longer primary */
    if (!W->json->get(sent, "primary") && !W->json->get(sent, "primary_add")) {
        struct ids gone = ids_without(req, &primary, &children);

        primary = ids_without(req, &primary, &gone);
    }
    for (size_t i = 0; i < primary.n; i++) {
        if (!ids_have(&children, primary.p[i]))
            return W->err->fail(req, ERR_GROUP_PRIMARY_NOT_CHILD,
                group_path_of(req, sent, primary.p[i], L_PRIMARY, L_PRIMARY_ADD), NULL);
    }
    s = members_json(req, &children, &primary, &whole);
    if (s == WHARF_OK)
        s = ids_json(req, &children, &list);
    if (s != WHARF_OK)
        return s;
    W->res->set(new_rec, GROUP_MEMBERS, wharf_value(whole));
    W->res->set(new_rec, GROUP_CHILD, wharf_value(list));
    return WHARF_OK;
}

/* ---- written ---- */

static wharf_status group_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_rec *rec = new_rec ? new_rec : old_rec;
    struct ids before = group_stored(req, old_rec, "children"), after, added, removed;
    wharf_str resource = {"", 0};

    field_get_text(rec, GROUP_RESOURCE, &resource);
    if (!wharf_same(resource, WHARF_S("contact")))
        return WHARF_OK;
    if (op == WHARF_DELETE)
        return group_ended(req, W->res->id(rec));
    after = group_stored(req, new_rec, "children");
    added = ids_without(req, &after, &before);
    removed = ids_without(req, &before, &after);
    return group_took(req, W->res->id(rec), &added, &removed);
}

/* ---- items of batches ---- */

/* Finds the group of this name and kind, "" when there is none, or when the item's external_id is
 * another group's. */
static wharf_status known_by_name(
    wharf_req *req, wharf_str name, wharf_str kind, const wharf_json *item, wharf_str *ret_id)
{
    static const char sql[] = QUERY_GROUP_BY_NAME;
    const wharf_json *external = W->json->get(item, "external_id");
    wharf_str other = {"", 0};
    wharf_val args[4] = {wharf_text(W->req->organization(req)), wharf_text(kind), wharf_text(name),
        wharf_null()},
              v;
    const wharf_rows *rows;
    wharf_status s;

    if (external && W->json->text(external, &other))
        args[3] = wharf_text(other);
    s = W->db->query(req, sql, args, 4, &rows);
    *ret_id = s == WHARF_OK && W->db->count(rows) && W->db->value(rows, 0, 0, WHARF_V_TEXT, &v)
                  ? v.u.s
                  : (wharf_str){"", 0};
    return s;
}

/* Turns a merge without id into one for the group of its name and kind, when there is one. */
static wharf_status group_batch_item(wharf_req *req, const char *action, const wharf_json *item)
{
    const wharf_json *id = W->json->get(item, "id"), *name = W->json->get(item, "name"),
                     *kind = W->json->get(item, "resource");
    wharf_str named, is, found;
    wharf_val before, after;
    const wharf_rec *rec;
    wharf_status s;

    kind = kind ? kind : W->json->get(item, "type");
    if (strcmp(action, "merge") != 0 || (id && W->json->text(id, &found) && found.n) || !name ||
        !kind || !W->json->text(name, &named) || !W->json->text(kind, &is))
        return WHARF_OK;
    s = known_by_name(req, named, is, item, &found);
    if (s != WHARF_OK || !found.n)
        return s;
    s = W->res->fetch(req, "group", found, 0, &rec);
    if (s != WHARF_OK)
        return s;
    W->res->get(rec, GROUP_UPDATED_AT, &before);
    s = W->res->update(req, "group", found, item, &rec);
    if (s == WHARF_OK && W->res->get(rec, GROUP_UPDATED_AT, &after))
        contacts_batch->done(req, found, before.u.i == after.u.i ? "unchanged" : "updated");
    return s;
}

const wharf_hooks group_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = group_normalize,
    .check = group_check,
    .written = group_written,
    .batch_item = group_batch_item};
