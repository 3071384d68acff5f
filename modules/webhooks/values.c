/* values.c - reading records, rows and URLs (spec 07 section 5). See webhooks.h. */
#include "webhooks.h"
#include "webhooks.gen.h"

int64_t get_integer(const wharf_rec *rec, wharf_field f, int64_t fallback)
{
    wharf_val v;

    return W->res->get(rec, f, &v) ? v.u.i : fallback;
}

int64_t row_integer(const wharf_rows *rows, size_t row, size_t column, int64_t fallback)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_INT, &v) ? v.u.i : fallback;
}

static wharf_status judge_url(wharf_req *req, wharf_str url, uint32_t http, const char *path)
{
    const wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .url = url,
        .family = "webhook",
        .flags = http | WHARF_FETCH_PORT_80 | WHARF_FETCH_NO_FRAGMENT};

    if (url.n > URL_BYTES)
        return W->err->fail(
            req, ERR_WEBHOOK_URL, path, "The URL has more than %d bytes", URL_BYTES);
    return hooks_fetch->check(req, &r, path);
}

wharf_status url_check(wharf_req *req, wharf_str url, const char *path)
{
    return judge_url(req, url, WHARF_FETCH_HTTP_IF_SET, path);
}

wharf_status url_check_http(wharf_req *req, wharf_str url, const char *path)
{
    return judge_url(req, url, WHARF_FETCH_HTTP, path);
}

wharf_str url_host(wharf_str url)
{
    const char *p = url.p, *end = url.p + url.n;
    size_t n = 0;

    while (p + 3 <= end && memcmp(p, "://", 3) != 0)
        p++;
    p += p + 3 <= end ? 3 : 0;
    while (p + n < end && p[n] && !strchr("/?#", p[n]))
        n++;
    for (size_t i = n; i-- > 0;) {
        if (p[i] == ']')
            break;
        if (p[i] == ':')
            n = i;
    }
    return (wharf_str){p, n};
}
