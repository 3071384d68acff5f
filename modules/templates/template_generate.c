/* template_generate.c - POST /v1/templates/pdf/generate: elements that come with the request
 * (docs/spec/05-documents-and-templates.md section 9). */
#include "templates.h"

wharf_status generate_post(wharf_req *req, void *arg)
{
    struct drawing d = {.format = WHARF_DRAW_PDF};
    struct output o = {.format = WHARF_DRAW_PDF};
    struct page page;
    struct drawn drawn;
    wharf_status s = W->req->body(req, &d.body);

    (void)arg;
    if (s == WHARF_OK) {
        output_judge(req, d.body);
        s = body_judge(req, d.body, "GeneratePdfInput", NULL, &page);
    }
    if (s != WHARF_OK)
        return s;
    d.strict = json_truth(W->json->get(d.body, "strict"));
    o.wish = d.body;
    o.filename = json_text(d.body, "filename");
    s = draw_make(req, &d, &drawn);
    return s == WHARF_OK ? output_send(req, &o, &drawn) : s;
}
