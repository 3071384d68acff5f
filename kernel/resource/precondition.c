/* precondition.c - If-Match: which row version a client has seen. See write.h. Leaves to others:
 * making tags (http/etag.c). */
#include <stdlib.h>

#include "resource/write.h"
#include "util/str.h"
#include "wharf/errors.h"

enum tag_kind tag_next(const char **at, wharf_str *ret_tag)
{
    const char *p = *at + strspn(*at, ", \t");
    size_t n = strcspn(p, ", \t");

    *at = p + n;
    if (!n)
        return TAG_END;
    if (n == 1 && *p == '*')
        return TAG_ANY;
    if (n > 2 && p[0] == 'W' && p[1] == '/') {
        p += 2;
        n -= 2;
    }
    if (n >= 2 && p[0] == '"' && p[n - 1] == '"') {
        p++;
        n -= 2;
    }
    *ret_tag = (wharf_str){p, n};
    return TAG_ONE;
}

/* Tells whether a tag such as "v3-..." has this version. */
static bool has_version(wharf_str tag, int64_t version)
{
    char text[24];
    size_t digits = 0;

    if (!tag.n || *tag.p != 'v')
        return false;
    while (digits + 1 < tag.n && digits < sizeof(text) - 1 && tag.p[digits + 1] >= '0' &&
           tag.p[digits + 1] <= '9') {
        text[digits] = tag.p[digits + 1];
        digits++;
    }
    text[digits] = 0;
    return digits && digits + 1 < tag.n && tag.p[digits + 1] == '-' &&
           strtoll(text, NULL, 10) == version;
}

bool version_listed(wharf_str tags, int64_t version)
{
    const char *at = tags.p;
    enum tag_kind kind;
    wharf_str tag;

    while ((kind = tag_next(&at, &tag)) != TAG_END) {
        if (kind == TAG_ANY || has_version(tag, version))
            return true;
    }
    return false;
}

bool route_precondition(struct wharf_req *req, const struct wharf_rec *rec)
{
    struct req_reply *reply = &req->reply;
    const struct route *r = req->route;

    if (!req->head.if_match.n || reply->matched || !r || r->kind != ROUTE_PLUGIN || !r->n_params ||
        !str_eq(req->params[r->n_params - 1], record_id(rec)))
        return true;
    reply->matched = version_listed(req->head.if_match, record_version(rec));
    if (!reply->matched)
        req_fail(req, ERR_PRECONDITION_FAILED, NULL, NULL);
    return reply->matched;
}
