/* channel.c - see channel.h. */
#include "event/channel.h"

#include <stdlib.h>

#include "db/notifier.h"
#include "kernel_queries.gen.h"
#include "resource/engine.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

struct reported {
    wharf_str organization, name;
};

static void channel_tell(struct wharf_req *req, void *arg)
{
    const struct reported *t = arg;

    if (req->engine->notifier)
        notifier_tell_channel(req->engine->notifier, t->organization, t->name);
}

/* Returns the members of an object, without its braces. SQL puts in the number: it is only known
 * there. */
static wharf_str channel_members_of(struct wharf_req *req, const struct wharf_json *data)
{
    struct buf out;
    struct jw w;
    wharf_str s;

    if (!data || data->type != JSON_OBJECT || !data->child)
        return str_z("");
    buf_init(&out, CHANNEL_DATA_MAX + 2);
    jw_init(&w, &out);
    jw_value(&w, NULL, data);
    s = out.failed || out.n < 2 ? str_z("") : arena_dup(req->arena, out.p + 1, out.n - 2);
    buf_done(&out);
    return s;
}

wharf_status channel_send(struct wharf_req *req, wharf_str name, const char *type,
    const struct wharf_json *data, wharf_str ends, int64_t *ret_seq)
{
    static const char sql[] = QUERY_CHANNEL_SEND;
    wharf_str members = channel_members_of(req, data), now = time_iso(req->arena, req->now_us);
    struct reported *t = ARENA_NEW(req_tx_memory(&req->tx), struct reported);
    struct sql_arg args[6] = {{req->access.who->organization.p, req->access.who->organization.n},
        {name.p, name.n}, {now.p, now.n}, {type, strlen(type)}, {ends.n ? ends.p : NULL, ends.n},
        {NULL, 0}};
    PGresult *r;

    if (name.n > CHANNEL_NAME_MAX)
        return req_fail(req, ERR_INTERNAL, NULL, "a channel's name is too long");
    members = members.n ? arena_printf(req->arena, ",%.*s", STR_ARG(members)) : members;
    args[5] = (struct sql_arg){members.p, members.n};
    r = req_query(req, sql, args, 6);
    if (!r)
        return WHARF_UNAVAILABLE;
    if (ret_seq)
        *ret_seq = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    *t = (struct reported){arena_dup_str(req_tx_memory(&req->tx), req->access.who->organization),
        arena_dup_str(req_tx_memory(&req->tx), name)};
    req_after_commit(&req->tx, channel_tell, t);
    return WHARF_OK;
}

wharf_status channel_last(struct wharf_req *req, wharf_str name, int64_t *ret_seq)
{
    static const char sql[] =
        "SELECT seq FROM wharf.channel WHERE organization_id = $1 AND name = $2";
    const struct sql_arg args[2] = {
        {req->access.who->organization.p, req->access.who->organization.n}, {name.p, name.n}};
    PGresult *r = req_query(req, sql, args, 2);

    if (!r)
        return WHARF_UNAVAILABLE;
    *ret_seq = PQntuples(r) ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;
    return WHARF_OK;
}

wharf_status channel_forget_job(struct wharf_req *req, void *arg)
{
    static const char sql[] = "DELETE FROM wharf.channel_message WHERE ctid = ANY (ARRAY(SELECT "
                              "m.ctid FROM wharf.channel_message m"
                              " WHERE m.created_at < $1::timestamptz - interval '1 day' ORDER BY "
                              "m.created_at LIMIT 10000))";
    static const char many_sql[] =
        "DELETE FROM wharf.channel_message m USING wharf.channel c WHERE c.seq > $1::bigint "
        "AND m.organization_id = c.organization_id"
        " AND m.channel = c.name AND m.seq <= c.seq - $1::bigint";
    wharf_str now = time_iso(req->arena, req->now_us),
              kept = arena_printf(req->arena, "%d", CHANNEL_KEPT);
    const struct sql_arg at = {now.p, now.n}, most = {kept.p, kept.n};

    (void)arg;
    return req_query(req, sql, &at, 1) && req_query(req, many_sql, &most, 1) ? WHARF_OK
                                                                             : WHARF_UNAVAILABLE;
}
