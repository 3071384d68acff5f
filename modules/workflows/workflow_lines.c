/* workflow_lines.c - what runs say by wharf.log, as comments in the change log (spec 08
 * section 7): found by the id of the run and by that of its workflow. */
#include "workflows.h"

/* Returns the text of a line: "warn: flow/main.lua:3: message {"fields": 1}". */
static wharf_str workflow_lines_text_of(wharf_req *req, const struct run *r, const wharf_json *line)
{
    const wharf_lua_outcome place = {.message = json_text(line, "message"), .error = line};
    wharf_str level = json_text(line, "level"), text = place_of(req, &r->code, &place);
    const wharf_json *fields = W->json->get(line, "fields");
    wharf_out *out = W->json->writer(req);
    bool plain = !fields || !W->json->count(fields);

    W->json->put(out, NULL, val_json(fields));
    return W->mem->format(req, "%s%s%s%s%s", is(level, "info") ? "" : level.p,
        is(level, "info") ? "" : ": ", text.p, plain ? "" : " ",
        plain ? "" : W->json->result_text(out).p);
}

void run_lines_put(wharf_req *req, const struct run *r, wharf_out *out, size_t *n)
{
    wharf_str text = r->asked.logs ? W->json->result_text(r->asked.logs) : WHARF_S("[]");
    const wharf_json *lines = NULL;

    if (text.n > 2 && W->json->parse(req, text, &lines) != WHARF_OK)
        W->err->clear(req);
    for (const wharf_json *l = lines ? W->json->at(lines, 0) : NULL; l;
         l = W->json->next(l), ++*n) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "run", val_text(r->id));
        W->json->put(out, "workflow", val_text(r->code.workflow_id));
        W->json->put(out, "name", val_text(r->code.name));
        W->json->put(out, "location", val_text_or_null(r->location_id));
        W->json->put(out, "text", val_text(workflow_lines_text_of(req, r, l)));
        W->json->close(out);
    }
}

wharf_status run_lines_keep(wharf_req *req, wharf_str given)
{
    const wharf_json *list = NULL, *first;
    wharf_status s = W->json->parse(req, given, &list);
    wharf_log_line *lines;
    size_t n = 0;

    if (s != WHARF_OK || !W->json->count(list))
        return s;
    lines = W->mem->alloc(req, W->json->count(list) * sizeof(*lines));
    first = W->json->at(list, 0);
    for (const wharf_json *l = first; l; l = W->json->next(l))
        lines[n++] = (wharf_log_line){.head = WHARF_HEAD(wharf_log_line),
            .resource = "workflow_run",
            .action = "comment",
            .resource_id = json_text(l, "run"),
            .parent_id = json_text(l, "workflow"),
            .location_id = json_text(l, "location"),
            .message = json_text(l, "text")};
    return flow_logs->add_many(
        req, WHARF_S("workflow"), json_text(first, "workflow"), json_text(first, "name"), lines, n);
}
