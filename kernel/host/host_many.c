/* host_many.c - the service wharf.many: resource/set.h for plugins
 * (plugin-api/wharf/service/many.h). */
#include <string.h>

#include "host/host.h"
#include "util/str.h"
#include "wharf/errors.h"

static struct wharf_many *new_set(
    wharf_req *req, const char *resource, uint32_t op, size_t n, uint32_t flags)
{
    const struct resource *res = engine_resource(req->engine, resource);
    struct wharf_many *m;

    if (!res) {
        req_fail(req, ERR_MODULE_UNAVAILABLE, NULL, "the module of %s is not enabled", resource);
        return NULL;
    }
    m = ARENA_NEW(req->arena, struct wharf_many);
    m->set = (struct write_set){.res = res,
        .op = op,
        .flags = flags,
        .rows = ARENA_ARRAY(req->arena, struct set_row, n + 1),
        .n = n};
    for (size_t i = 0; i < n; i++)
        m->set.rows[i].w = (struct write){
            .res = res, .op = op, .id = str_z(""), .parent_id = str_z("")};
    return m;
}

static wharf_status write_it(wharf_req *req, struct wharf_many *m, const wharf_many **ret_many)
{
    wharf_status s = write_set(req, &m->set);

    if (s == WHARF_OK)
        *ret_many = m;
    return s;
}

static wharf_status m_create(wharf_req *req, const char *resource, const wharf_json *const *bodies,
    size_t n, uint32_t flags, const wharf_many **ret_many)
{
    struct wharf_many *m = new_set(req, resource, OP_CREATE, n, flags);

    if (!m)
        return req_failed(req);
    for (size_t i = 0; i < n; i++) {
        struct write *w = &m->set.rows[i].w;

        w->body = bodies[i];
        if (w->res->def->place.parent)
            w->parent_id = json_text_or(bodies[i], w->res->def->place.parent->name, "");
    }
    return write_it(req, m, ret_many);
}

static wharf_status m_update(wharf_req *req, const char *resource, const wharf_str *ids,
    const wharf_json *const *bodies, size_t n, uint32_t flags, const wharf_many **ret_many)
{
    struct wharf_many *m = new_set(req, resource, OP_UPDATE, n, flags);

    if (!m)
        return req_failed(req);
    for (size_t i = 0; i < n; i++) {
        m->set.rows[i].w.id = ids[i];
        m->set.rows[i].w.body = bodies[i];
    }
    return write_it(req, m, ret_many);
}

static wharf_status m_remove(wharf_req *req, const char *resource, const wharf_str *ids, size_t n,
    uint32_t flags, const wharf_many **ret_many)
{
    struct wharf_many *m = new_set(req, resource, OP_DELETE, n, flags);

    if (!m)
        return req_failed(req);
    for (size_t i = 0; i < n; i++)
        m->set.rows[i].w.id = ids[i];
    return write_it(req, m, ret_many);
}

static wharf_status m_write(
    wharf_req *req, const wharf_many_write *given, const wharf_many **ret_many)
{
    struct wharf_many *m = new_set(req, given->resource, given->op, given->n, given->flags);

    if (!m)
        return req_failed(req);
    for (size_t i = 0; i < given->n; i++) {
        struct write *w = &m->set.rows[i].w;

        w->id = given->ids ? given->ids[i] : str_z("");
        w->body = given->op == OP_DELETE ? NULL : given->bodies[i];
        w->kind = given->kind;
        w->context = given->contexts ? given->contexts[i] : NULL;
        if (given->op == OP_CREATE && w->res->def->place.parent)
            w->parent_id = json_text_or(w->body, w->res->def->place.parent->name, "");
    }
    return write_it(req, m, ret_many);
}

static size_t m_refused(const wharf_many *m)
{
    return m->set.n_failed;
}

static uint32_t m_outcome(const wharf_many *m, size_t row)
{
    const struct set_row *r = row < m->set.n ? &m->set.rows[row] : NULL;

    if (!r || r->failed)
        return WHARF_MANY_REFUSED;
    if ((m->set.flags & WHARF_MANY_ALL) && m->set.n_failed)
        return WHARF_MANY_TAKEN_BACK;
    return r->w.unchanged ? WHARF_MANY_UNCHANGED : WHARF_MANY_WRITTEN;
}

static wharf_str m_id(const wharf_many *m, size_t row)
{
    uint32_t outcome = m_outcome(m, row);

    if (row >= m->set.n || (m->set.rows[row].w.op == OP_CREATE && outcome >= WHARF_MANY_REFUSED))
        return str_z("");
    return m->set.rows[row].w.id;
}

static bool m_problem(const wharf_many *m, size_t row, size_t i, wharf_str *ret_code,
    wharf_str *ret_path, wharf_str *ret_message)
{
    const struct problem *p;

    if (row >= m->set.n || i >= m->set.rows[row].n_problems)
        return false;
    p = &m->set.rows[row].problems[i];
    *ret_code = str_z(p->code);
    *ret_path = p->path.p ? p->path : str_z("");
    *ret_message = p->text;
    return true;
}

static void m_at(wharf_req *req, size_t row)
{
    if (req->set && row < req->set->n_live)
        set_at(req, req->set->live[row]);
}

static void m_row_by_row(wharf_req *req)
{
    if (req->set)
        req->set->row_by_row = true;
}

static void m_wrote(wharf_req *req)
{
    if (req->set)
        set_wrote(req, req->set);
}

/* ---- problems of rows that are written one by one ---- */

struct wharf_held_problems {
    struct problem *problems;
    size_t n, cap;
};

static void host_many_hold(
    wharf_req *req, struct wharf_held_problems *held, const struct problem *all, size_t n)
{
    if (held->n + n > held->cap) {
        size_t cap = 2 * held->cap + n;
        struct problem *more = ARENA_ARRAY(req->arena, struct problem, cap);

        if (held->n)
            memcpy(more, held->problems, held->n * sizeof(*more));
        held->problems = more;
        held->cap = cap;
    }
    if (n)
        memcpy(held->problems + held->n, all, n * sizeof(*all));
    held->n += n;
}

static bool m_hold(wharf_req *req, wharf_held_problems **held)
{
    if (set_everybodys(req))
        return false;
    if (!*held)
        *held = ARENA_NEW(req->arena, struct wharf_held_problems);
    host_many_hold(req, *held, req->problems.list, req->problems.n);
    req_clear_problems(&req->problems);
    return true;
}

/* Puts problems that came since then behind those that are held; one that is no row's fault
 * says alone what happened. */
static wharf_status m_report(wharf_req *req, wharf_held_problems *held)
{
    struct req_problems *problems = &req->problems;

    if (held && held->n && !set_everybodys(req)) {
        host_many_hold(req, held, problems->list, problems->n);
        problems->list = held->problems;
        problems->n = held->n;
        problems->cap = held->cap;
    }
    return problems->n ? req_failed(req) : WHARF_OK;
}

const wharf_many_api host_many = {WHARF_HEAD(wharf_many_api), m_create, m_update, m_remove,
    m_refused, m_outcome, m_id, m_problem, m_at, m_row_by_row, m_hold, m_report, m_write, m_wrote};
