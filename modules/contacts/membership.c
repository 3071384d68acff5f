/* membership.c - who is in which group, told on both sides (migrations/0001_contacts.sql):
 * lists of ids, and the statements that keep the other side equal (spec 02 section 6). Leaves
 * to others: what is allowed (contact_rules.c, group_rules.c). */
#include "contacts.h"

#include <stdlib.h>
#include "wharf/values.h"
#include "contacts.gen.h"

struct ids ids_of(wharf_req *req, const wharf_json *list, size_t room)
{
    size_t n = list && W->json->type(list) == WHARF_J_ARRAY ? W->json->count(list) : 0;
    struct ids ids = {W->mem->alloc(req, (n + room + 1) * sizeof(*ids.p)), 0};

    for (const wharf_json *e = n ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        if (W->json->text(e, &ids.p[ids.n]))
            ids.n++;
    }
    return ids;
}

bool ids_have(const struct ids *list, wharf_str id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (wharf_same(list->p[i], id))
            return true;
    }
    return false;
}

struct ids ids_without(wharf_req *req, const struct ids *a, const struct ids *b)
{
    struct ids left = {W->mem->alloc(req, (a->n + 1) * sizeof(*left.p)), 0};
    wharf_str *sorted = W->mem->alloc(req, (b->n + 1) * sizeof(*sorted));

    memcpy(sorted, b->p, b->n * sizeof(*sorted));
    qsort(sorted, b->n, sizeof(*sorted), wharf_str_order);
    for (size_t i = 0; i < a->n; i++) {
        if (!bsearch(&a->p[i], sorted, b->n, sizeof(*sorted), wharf_str_order))
            left.p[left.n++] = a->p[i];
    }
    return left;
}

wharf_status ids_json(wharf_req *req, const struct ids *list, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < list->n; i++)
        W->json->put(out, NULL, wharf_text(list->p[i]));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Makes {"a","b"}: ids have nothing to escape, but what a client sent may. */
wharf_val ids_array(wharf_req *req, const struct ids *list)
{
    size_t room = 3, n = 0;
    char *p;

    for (size_t i = 0; i < list->n; i++)
        room += 2 * list->p[i].n + 3;
    p = W->mem->alloc(req, room);
    p[n++] = '{';
    for (size_t i = 0; i < list->n; i++) {
        if (i)
            p[n++] = ',';
        p[n++] = '"';
        for (size_t k = 0; k < list->p[i].n; k++) {
            if (list->p[i].p[k] == '"' || list->p[i].p[k] == '\\')
                p[n++] = '\\';
            p[n++] = list->p[i].p[k];
        }
        p[n++] = '"';
    }
    p[n++] = '}';
    return wharf_text((wharf_str){p, n});
}

/* ---- a contact changed its groups ---- */

static wharf_status tell_groups(wharf_req *req, const wharf_rows *rows)
{
    wharf_status s = WHARF_OK;
    wharf_val id;

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_TEXT, &id))
            s = W->event->emit(req, "group.updated", "group", id.u.s, NULL);
    }
    return s;
}

wharf_status contact_joined(
    wharf_req *req, wharf_str contact, const struct ids *added, const struct ids *removed)
{
    static const char add_sql[] = QUERY_CONTACT_JOINS;
    static const char remove_sql[] = QUERY_CONTACT_LEAVES;
    wharf_val args[5] = {wharf_text(W->req->organization(req)), wharf_null(), wharf_text(contact),
        val_time(W->req->now_us(req)), wharf_text(W->req->actor(req))};
    const wharf_rows *rows;
    wharf_status s = WHARF_OK;

    if (added->n) {
        args[1] = ids_array(req, added);
        s = W->db->query(req, add_sql, args, 5, &rows);
        if (s == WHARF_OK)
            s = tell_groups(req, rows);
    }
    if (s == WHARF_OK && removed->n) {
        args[1] = ids_array(req, removed);
        s = W->db->query(req, remove_sql, args, 5, &rows);
        if (s == WHARF_OK)
            s = tell_groups(req, rows);
    }
    return s;
}

/* ---- many contacts at once ---- */

static wharf_status change_groups(
    wharf_req *req, const char *sql, const struct ids *groups, const struct ids *contacts)
{
    wharf_val args[5] = {wharf_text(W->req->organization(req)), wharf_null(), wharf_null(),
        val_time(W->req->now_us(req)), wharf_text(W->req->actor(req))};
    const wharf_rows *rows;
    wharf_status s;

    if (!groups->n)
        return WHARF_OK;
    args[1] = ids_array(req, groups);
    args[2] = ids_array(req, contacts);
    s = W->db->query(req, sql, args, 5, &rows);
    return s == WHARF_OK ? tell_groups(req, rows) : s;
}

wharf_status groups_gain(wharf_req *req, const struct ids *groups, const struct ids *contacts)
{
    static const char sql[] = QUERY_GROUPS_GAIN;

    return change_groups(req, sql, groups, contacts);
}

wharf_status groups_lose(wharf_req *req, const struct ids *groups, const struct ids *contacts)
{
    static const char sql[] = QUERY_GROUPS_LOSE;

    return change_groups(req, sql, groups, contacts);
}

/* ---- a group changed its children: contacts are told by the group's event only ---- */

wharf_status group_took(
    wharf_req *req, wharf_str group, const struct ids *added, const struct ids *removed)
{
    static const char add_sql[] =
        "UPDATE contacts.contact SET groups = groups || to_jsonb($3::text), version = version + 1"
        " WHERE organization_id = $1::text AND id = ANY ((SELECT $2::text[])::text[]) AND NOT "
        "groups ? $3::text AND "
        "deleted_at IS NULL";
    static const char remove_sql[] =
        "UPDATE contacts.contact SET groups = groups - $3::text, version = version + 1"
        " WHERE organization_id = $1::text AND id = ANY ((SELECT $2::text[])::text[]) AND groups ? "
        "$3::text";
    wharf_val args[3] = {wharf_text(W->req->organization(req)), wharf_null(), wharf_text(group)};
    wharf_status s = WHARF_OK;

    if (added->n) {
        args[1] = ids_array(req, added);
        s = W->db->exec(req, add_sql, args, 3, NULL);
    }
    if (s == WHARF_OK && removed->n) {
        args[1] = ids_array(req, removed);
        s = W->db->exec(req, remove_sql, args, 3, NULL);
    }
    return s;
}

wharf_status group_ended(wharf_req *req, wharf_str group)
{
    static const char sql[] =
        "UPDATE contacts.contact SET groups = groups - $2::text, version = version + 1"
        " WHERE organization_id = $1::text AND groups ? $2::text";
    wharf_val args[2] = {wharf_text(W->req->organization(req)), wharf_text(group)};

    return W->db->exec(req, sql, args, 2, NULL);
}
