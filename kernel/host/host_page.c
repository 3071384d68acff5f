/* host_page.c - pages of a list that a plugin's route answers by itself: the parameters page and
 * limit, and what the answer says of them, as of every list (docs/spec/01-platform.md section
 * 10). */
#include "host/host.h"
#include "query/query.h"
#include "util/str.h"
#include "wharf/errors.h"

enum { SKIP_MOST = 100000 }; /* rows that pages may skip */

/* Reads the parameter, which may be sent once; ret_found false: absent. */
static bool sent_once(wharf_req *req, const char *name, wharf_str *ret, bool *ret_found)
{
    size_t n = 0;

    for (size_t i = 0; i < req->head.n_pairs; i++) {
        if (!str_eqz(req->head.pairs[i].key, name))
            continue;
        *ret = req->head.pairs[i].value;
        n++;
    }
    *ret_found = n > 0;
    return n < 2;
}

wharf_status page_read(
    wharf_req *req, int64_t limit, int64_t most, int64_t *ret_page, int64_t *ret_limit)
{
    wharf_str v;
    bool found;

    *ret_page = 1;
    *ret_limit = limit;
    if (!sent_once(req, "page", &v, &found) || (found && !query_whole(v, ret_page)))
        host_err.add(
            req, ERR_PARAM_INVALID, "page", "page must be a whole number from 1, sent once");
    if (sent_once(req, "limit", &v, &found) && found && str_eqz(v, "all"))
        *ret_limit = most;
    else if (!sent_once(req, "limit", &v, &found) ||
             (found && (!query_whole(v, ret_limit) || *ret_limit > most)))
        host_err.add(req, ERR_PARAM_INVALID, "limit",
            "limit must be a whole number from 1 to %lld, or all, sent once", (long long)most);
    if (host_err.current(req) != WHARF_OK)
        return host_err.current(req);
    if (*ret_page - 1 > SKIP_MOST / *ret_limit)
        return host_err.fail(req, ERR_PAGINATION_TOO_DEEP, "page", NULL);
    return WHARF_OK;
}

void page_reported(wharf_req *req, int64_t page, int64_t limit, bool has_more)
{
    req->reply.pagination = arena_printf(req->arena,
        "{\"page\":%lld,\"limit\":%lld,\"has_more\":%s}", (long long)page, (long long)limit,
        has_more ? "true" : "false");
}
