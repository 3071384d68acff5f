/* host_text.c - the service wharf.text (plugin-api/wharf/service/text.h). */
#include "plugin/host.h"
#include "util/search_form.h"
#include "wharf/service/text.h"

static wharf_str t_search_form(wharf_req *req, wharf_str text, const char *keep)
{
    return search_form(req->arena, text, keep);
}

const wharf_text_api host_text = {WHARF_HEAD(wharf_text_api), t_search_form};
