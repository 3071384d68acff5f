/* host_http.c - the service wharf.http (plugin-api/wharf/service/http.h): bytes and headers of requests with a raw body. */
#include <strings.h>

#include "plugin/host.h"
#include "util/str.h"
#include "wharf/service/http.h"

static wharf_str h_body(wharf_req *req)
{
    return req->body_text.p ? req->body_text : str_z("");
}

static wharf_str h_header(wharf_req *req, const char *name)
{
    for (size_t i = 0; i < req->n_lines; i++) {
        if (req->lines[i].name.n == strlen(name) && !strcasecmp(req->lines[i].name.p, name))
            return req->lines[i].value;
    }
    return str_z("");
}

static bool h_header_at(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value)
{
    if (i >= req->n_lines)
        return false;
    *ret_name = req->lines[i].name;
    *ret_value = req->lines[i].value;
    return true;
}

const wharf_http_api host_http = {WHARF_HEAD(wharf_http_api), h_body, h_header, h_header_at};
