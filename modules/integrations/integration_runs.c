/* integration_runs.c - integrations with a workflow: what its runs get, and starting them
 * (docs/spec/07-events-and-webhooks.md section 12).
 *
 * Leaves to others: when a run is started (incoming.c, integration_engine.c), what it may do (the
 * service workflows.runs). */
#include "integrations.h"
#include "wharf/errors.h"

void runs_input(wharf_req *req, const struct shown_integration *shown, const char *key,
    const wharf_json *value, wharf_workflow_start *start)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->open(out, "integration", '{');
    W->json->put(out, "id", val_text(shown->id));
    W->json->put(out, "name", val_text(shown->name));
    W->json->put(out, "provider", val_text_or_null(shown->provider));
    W->json->put(out, "url", val_text_or_null(shown->url));
    W->json->put(out, "method", val_text_or_null(shown->method));
    W->json->close(out);
    W->json->put(out, key, val_json(value));
    W->json->close(out);
    start->input = W->json->result_text(out);
    start->cause_id = shown->id;
}

wharf_status runs_start(wharf_req *req, wharf_workflow_start *const *starts, size_t n)
{
    if (int_flows)
        return n ? int_flows->start(req, starts, n) : WHARF_OK;
    for (size_t i = 0; i < n; i++) {
        starts[i]->run_id = WHARF_S("");
        starts[i]->code = ERR_MODULE_UNAVAILABLE;
        starts[i]->why = "The module workflows is not loaded on this server";
    }
    return WHARF_OK;
}

wharf_status error_made(
    wharf_req *req, const char *code, const char *message, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "code", val_text(z(code)));
    W->json->put(out, "message", val_text(z(message)));
    W->json->close(out);
    return W->json->result(req, out, ret);
}
