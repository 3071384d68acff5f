/* contact_written.c - what follows from a written contact, for one and for many: its groups
 * know it, its addresses are remembered, the words of its names are in the index (spec 02
 * section 4). */
#include "contacts.gen.h"
#include "index.h"

static struct ids contact_written_groups_of(wharf_req *req, const wharf_rec *rec)
{
    return ids_of(req, rec ? field_json(rec, CONTACT_GROUPS) : NULL, 0);
}

static void index_name(
    wharf_req *req, struct words *list, wharf_str contact, wharf_str text, struct cleaned *room)
{
    name_clean(contacts_forms->search_form(req, text, ",#/"), NULL, 0, 0, room);
    words_add(req, list, contact, &room->name);
}

static void index_names(
    wharf_req *req, struct words *list, const wharf_rec *rec, struct cleaned *room)
{
    const wharf_json *others = field_json(rec, CONTACT_ALTERNATE_NAMES);
    wharf_str id = W->res->id(rec), s;

    if (field_get_text(rec, CONTACT_NAME, &s))
        index_name(req, list, id, s, room);
    for (const wharf_json *m = others ? W->json->at(others, 0) : NULL; m; m = W->json->next(m)) {
        if (W->json->text(m, &s))
            index_name(req, list, id, s, room);
    }
}

/* ---- one ---- */

/* Updates the words of the contact's names in the index, when these are others now. */
static wharf_status reindex(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    struct cleaned *room = W->mem->alloc(req, sizeof(*room));
    struct words before = {0}, after = {0};

    if (op == WHARF_UPDATE && !W->res->changed(old_rec, new_rec, CONTACT_NAME) &&
        !W->res->changed(old_rec, new_rec, CONTACT_ALTERNATE_NAMES))
        return WHARF_OK;
    if (op != WHARF_CREATE) {
        index_names(req, &before, old_rec, room);
        index_remove(req, &before);
    }
    if (op == WHARF_DELETE)
        return WHARF_OK;
    index_names(req, &after, new_rec, room);
    return index_add(req, &after, op == WHARF_UPDATE);
}

wharf_status contact_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    struct ids before = contact_written_groups_of(req, old_rec),
               after = contact_written_groups_of(req, op == WHARF_DELETE ? NULL : new_rec);
    struct ids added = ids_without(req, &after, &before),
               removed = ids_without(req, &before, &after);
    wharf_status s = contact_joined(
        req, W->res->id(op == WHARF_DELETE ? old_rec : new_rec), &added, &removed);

    if (s == WHARF_OK && op != WHARF_DELETE) {
        s = contacts_remember(req, &new_rec, 1);
        W->res->row_kept(new_rec);
    }
    return s == WHARF_OK ? reindex(req, op, old_rec, new_rec) : s;
}

/* ---- many ---- */

/* Contacts and their groups, as two lists of the same length. */
struct pairs {
    struct ids groups, contacts;
};

static struct pairs contact_written_pairs_of(wharf_req *req, const wharf_rec *const *recs, size_t n)
{
    struct ids *of = W->mem->alloc(req, (n + 1) * sizeof(*of));
    struct pairs p = {0};
    size_t all = 0;

    for (size_t i = 0; i < n; i++) {
        of[i] = contact_written_groups_of(req, recs[i]);
        all += of[i].n;
    }
    p.groups.p = W->mem->alloc(req, (all + 1) * sizeof(*p.groups.p));
    p.contacts.p = W->mem->alloc(req, (all + 1) * sizeof(*p.contacts.p));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < of[i].n; k++) {
            p.groups.p[p.groups.n++] = of[i].p[k];
            p.contacts.p[p.contacts.n++] = W->res->id(recs[i]);
        }
    }
    return p;
}

wharf_status contact_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    const wharf_rec *const *recs = op == WHARF_DELETE ? old_recs : new_recs;
    struct cleaned *room = W->mem->alloc(req, sizeof(*room));
    struct pairs pairs = contact_written_pairs_of(req, recs, n);
    struct words list = {0};
    wharf_status s;

    s = op == WHARF_DELETE ? groups_lose(req, &pairs.groups, &pairs.contacts)
                           : groups_gain(req, &pairs.groups, &pairs.contacts);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        index_names(req, &list, recs[i], room);
    if (s == WHARF_OK && op != WHARF_DELETE)
        s = contacts_remember(req, recs, n);
    if (s != WHARF_OK)
        return s;
    if (op != WHARF_DELETE)
        return index_add(req, &list, false);
    index_remove(req, &list);
    return WHARF_OK;
}
