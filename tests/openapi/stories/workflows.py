"""Somebody writes a small workflow for the front desk: it counts visitors, greets them, and answers at an address of its own."""

SOURCE = """local M = {}

function M.on_run(input, ctx)
  if input.fail then error("The bell is broken") end
  local n = wharf.kv.incr("visitors")
  wharf.kv.set("last", {name = input.name})
  wharf.log.info("greeted", {visitor = n})
  return {greeting = ctx.settings.word .. ", " .. input.name}
end

function M.on_http(request, ctx)
  return {answer = "Desk " .. request.params.desk .. ": no mail today"}
end

return M
"""
MANUAL = {"type": "manual", "name": "greet", "input_schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "fail": {"type": "boolean"}}}}
HTTP = {"type": "http", "name": "desk", "path": "desks/:desk", "methods": ["GET", "POST", "PUT", "PATCH", "DELETE"], "auth": "key", "mode": "sync"}


def tell(w):
    w.steady(seed="6608980084049700", duration_ms=4, queued_ms=0, instructions=1204, memory_peak=48640, cpu_ms=1, memory=33554432)
    w.call("check_workflow", body={"source": SOURCE, "triggers": [MANUAL, HTTP], "scopes": []})
    flow = w.call("create_workflow", body={"name": "Front desk", "description": "Greets visitors.", "source": SOURCE, "triggers": [MANUAL, HTTP], "scopes": [], "settings": {"word": "Welcome"},
                                           "record": {"runs": "all", "io": True}, "retry": {"max": 1, "waits": [86400]}})
    at, one = {"workflow": flow["id"]}, {"id": flow["id"]}
    w.call("set_workflow_secret", path=at, body={"key": "BELL_TOKEN", "value": "ring-twice-please-2026"})
    w.call("list_workflow_secrets", path=at)
    w.call("publish_workflow", path=at, body={"note": "First version", "run_tests": True})
    w.call("update_workflow", path=one, body={"settings": {"word": "Hello"}, "if_revision": w.do("retrieve_workflow", path=one)["draft_revision"]})
    w.call("retrieve_workflow", path=one)
    w.call("discard_workflow_draft", path=at)
    w.call("list_workflows", query={"trigger_type": ["manual"], "search": "desk"})
    w.call("sync_workflows", query={"status": "published"})
    w.call("list_workflow_versions", path=at)
    w.call("retrieve_workflow_version", path={**at, "number": "1"})

    # it runs
    run = w.call("run_workflow", path=at, body={"input": {"name": "Moe"}, "wait": True})
    assert run["output"]["value"]["greeting"] == "Welcome, Moe"
    w.call("list_workflow_runs", path=at, query={"status": ["succeeded"]})
    w.call("retrieve_workflow_run", path={**at, "id": run["id"]})
    w.call("retrieve_workflow_run_by_id", path={"run": run["id"]})
    w.call("retrieve_workflow_recording", path={"run": run["id"]})
    w.call("call_workflow", path={**at, "path": "desks/12"})
    for verb in ("post", "put", "patch"):
        w.call(f"call_workflow_by_{verb}", path={**at, "path": "desks/12"}, headers={"Content-Type": "application/json"}, data=b'{"question": "Is there mail for me?"}')
    w.call("call_workflow_by_delete", path={**at, "path": "desks/12"})
    w.call("list_workflow_values", path=at)
    w.call("retrieve_workflow_value", path={**at, "key": "last"})
    w.call("delete_workflow_value", path={**at, "key": "last"})
    w.call("clear_workflow_values", path=at)

    # one fails, waits for its next attempt, and is not wanted any more
    failing = w.do("run_workflow", path=at, body={"input": {"name": "Barney", "fail": True}, "wait": False})
    w.until("retrieve_workflow_run_by_id", lambda r: r["status"] == "waiting", path={"run": failing["id"]})
    w.call("cancel_workflow_run", path={"run": failing["id"]})
    w.call("list_all_workflow_runs", query={"status": "canceled"})
    w.call("retry_workflow_runs", body={"workflow_id": flow["id"], "status": ["canceled"]})
    w.call("retry_workflow_run", path={"run": failing["id"]}, body={"version": "same"})
    w.call("delete_workflow_secret", path={**at, "key": "BELL_TOKEN"})
    w.call("delete_workflow", path=one)
