/* seal.c - see seal.h. */
#include "event/seal.h"

#include <stdlib.h>

#include "query/filter.h"
#include "resource/engine.h"
#include "util/str.h"

enum { SEAL_ROWS = 1000, VERIFY_ROWS = 20000 };

wharf_status seal_job(struct wharf_req *req, void *arg)
{
    struct sql_arg most = {arena_printf(req->arena, "%d", (int)SEAL_ROWS).p, 4};
    struct arena_mark mark = arena_mark(req->arena);
    bool more = true;
    PGresult *r;

    (void)arg;
    while (more) {
        r = req_query(req, "SELECT wharf.seal_logs($1::integer)", &most, 1);
        if (!r)
            return WHARF_UNAVAILABLE;
        more = PQgetvalue(r, 0, 0)[0] != '0' && !req->job->stop(req);
        arena_rewind(req->arena, mark);
    }
    return WHARF_OK;
}

static void problem(void *arg, const char *code, wharf_str param, wharf_str message)
{
    req_problem(arg, code, param, "format", message);
}

/* The numbers of the first and the last row chosen; without a filter the whole chain (*ret_last 0). False: none, or a problem. */
static bool range(struct wharf_req *req, const struct resource *shown, int64_t *ret_first, int64_t *ret_last)
{
    struct query_pair *pairs = ARENA_ARRAY(req->arena, struct query_pair, req->n_pairs + 1);
    struct query_options o = {.organization = req->who->organization, .cursor_key = req->engine->cursor_key};
    const struct list_query *q;
    size_t n = 0;
    PGresult *r;
    struct sql s;

    for (size_t i = 0; i < req->n_pairs; i++) {
        if (str_eqz(query_base(req->pairs[i].key), "created_at"))
            pairs[n++] = req->pairs[i];
    }
    *ret_first = 1;
    *ret_last = 0;
    if (!n)
        return true;
    q = query_parse(req->arena, shown->def, pairs, n, &o, problem, req);
    if (!q)
        return false;
    sql_init(&s, req->arena);
    sql_addf(&s, "SELECT min(t.sequence), max(t.sequence) FROM %s t WHERE ", shown->def->table);
    query_visible(&s, shown->def, &req->who->access, false);
    for (size_t i = 0; i < q->n_conditions; i++) {
        sql_add(&s, " AND ");
        condition_sql(&s, &q->conditions[i]);
    }
    r = req_query_sql(req, &s);
    if (!r || PQgetisnull(r, 0, 0))
        return false;
    *ret_first = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    *ret_last = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    return true;
}

/* One statement's share. *ret_more: go on behind it. */
static wharf_status check_share(
    struct wharf_req *req, int64_t first, int64_t last, struct seal_report *ret, int64_t *ret_checked)
{
    static const char sql[] = "SELECT checked, bad, bad_id FROM wharf.verify_log($1, $2::bigint, $3::bigint)";
    struct sql_arg args[3] = {{req->who->organization.p, req->who->organization.n}};
    wharf_str from = arena_printf(req->arena, "%lld", (long long)first);
    wharf_str to = arena_printf(req->arena, "%lld", (long long)last);
    PGresult *r;

    args[1] = (struct sql_arg){from.p, from.n};
    args[2] = last ? (struct sql_arg){to.p, to.n} : (struct sql_arg){NULL, 0};
    r = req_query(req, sql, args, 3);
    if (!r)
        return WHARF_UNAVAILABLE;
    *ret_checked = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    ret->checked += *ret_checked;
    ret->valid = PQgetvalue(r, 0, 1)[0] == 'f';
    ret->first_bad_id = arena_dup(req->arena, PQgetvalue(r, 0, 2), (size_t)PQgetlength(r, 0, 2));
    return WHARF_OK;
}

/* In shares, so that no statement takes long; the last one has no end when none was asked for. */
static wharf_status walk(struct wharf_req *req, int64_t first, int64_t last, int64_t end, struct seal_report *ret)
{
    int64_t checked = 0;
    wharf_status s = WHARF_OK;

    for (; s == WHARF_OK && ret->valid; first += VERIFY_ROWS) {
        bool final = first + VERIFY_ROWS > (last ? last : end);

        s = check_share(req, first, final ? last : first + VERIFY_ROWS - 1, ret, &checked);
        if (final)
            break;
    }
    return s;
}

wharf_status seal_verify(struct wharf_req *req, const struct resource *shown, struct seal_report *ret)
{
    static const char sql[] = "SELECT sequence, hash, base_sequence FROM wharf.log_chain WHERE organization_id = $1";
    struct sql_arg organization = {req->who->organization.p, req->who->organization.n};
    int64_t first, last, end = 0, base = 0;
    PGresult *r = req_query(req, sql, &organization, 1);

    *ret = (struct seal_report){.valid = true, .first_bad_id = str_z(""), .head_hash = str_z("")};
    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQntuples(r)) {
        end = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
        base = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
        ret->head_hash = end ? arena_dupz(req->arena, PQgetvalue(r, 0, 1)) : str_z("");
    }
    if (!range(req, shown, &first, &last))
        return req->n_problems ? WHARF_INVALID : WHARF_OK;
    return walk(req, first > base ? first : base + 1, last, end, ret);
}
