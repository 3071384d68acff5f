/* template_draft.c - draws a definition that is no row, for people who write one: with the judges
 * of the routes and the same cell, without a database (wharf/ext/templates.h,
 * docs/spec/05-documents-and-templates.md section 9). */
#include "templates.h"

static wharf_status find_body(
    wharf_req *req, const wharf_templates_draft *draft, const wharf_json **ret_body)
{
    const wharf_json *stock;
    struct page page;

    *ret_body = draft->definition;
    if (json_text(draft->definition, "type").n)
        return data_judge(req, draft->definition, NULL, &stock, ret_body);
    return body_judge(req, draft->definition, "TemplateDefinitionInput", NULL, &page);
}

wharf_status draft_draw(
    wharf_req *req, const wharf_templates_draft *draft, wharf_templates_drawn *ret_drawn)
{
    struct drawing d = {.format = draft->format, .page = draft->page, .alone = true};
    const wharf_json *sample = W->json->get(draft->definition, "sample");
    wharf_templates_drawn made = {.head = ret_drawn->head};
    struct drawn drawn;
    wharf_status s = find_body(req, draft, &d.body);

    if (s != WHARF_OK)
        return s;
    d.strict = json_truth(W->json->get(d.body, "strict"));
    if (draft->data && W->json->type(draft->data) == WHARF_J_ARRAY)
        d.records = draft->data;
    else if (draft->data)
        d.data = draft->data;
    else if (!json_is_null(sample))
        d.data = sample;
    s = draw_make(req, &d, &drawn);
    if (s != WHARF_OK)
        return s;
    made.bytes = drawn.bytes;
    made.report = drawn.report;
    memcpy(ret_drawn, &made, made.head.size < sizeof(made) ? made.head.size : sizeof(made));
    return WHARF_OK;
}
