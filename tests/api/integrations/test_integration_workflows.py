"""Integrations with a workflow (spec 07 section 12): its run makes the request about an event, or gets the request of another system; and what is said when it can't."""
import base64
import json

import pytest

from receivers import World, make, until
from wharf import make_location

FLOWS = "/v1/workflows"
ROWS = {"outgoing": "/v1/outgoing-integrations", "incoming": "/v1/incoming-webhooks"}
OVER = ("succeeded", "failed", "rejected", "skipped", "canceled")


@pytest.fixture(scope="module")
def world():
    w = World("--modules", "org,locations,events,webhooks,integrations,workflows", "--set", "mail.url=")
    yield w
    w.close()


@pytest.fixture
def org(world):
    return world.server.organization()


@pytest.fixture
def client(org):
    return org.client()


def flow(client, body="return input", publish=True, name="Flow", trigger=None, **more):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_run = function(input, ctx)\n{body}\nend, on_event = function() end}}",
                              "triggers": [{"type": "manual", **(trigger or {})}], **more}, expect=201).data
    if publish:
        client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def integration(client, direction, workflow, **more):
    """Its id, and what makes it work: a new location, or a request."""
    if direction == "outgoing":
        body = {"events": ["location.created"], **more}
    else:
        body = {"auth": {"type": "bearer"}, **more}
    id = client.post("/v1/integrations", {"direction": direction, "name": "Shop", "workflow_id": workflow, **body}, expect=201).data["id"]
    if direction == "incoming":
        client.post(f"/v1/integrations/{id}/secrets", {"key": "secret", "value": "hush"}, expect=201)
    return id


def send(client, id, data=b'{"order": 1}', expect=202, **headers):
    return client.request("POST", "/v1/incoming/" + id, data=data, key=False, expect=expect,
                          headers={"authorization": "Bearer hush", **{k.replace("_", "-"): v for k, v in headers.items()}})


def work(client, direction, id):
    """Makes the integration do its work once. The id of its row is that of the newest one."""
    if direction == "outgoing":
        make_location(client, "Dock")
    else:
        send(client, id)


def rows(client, direction, id):
    return client.get(f"{ROWS[direction]}?integration_id={id}&order_by=created_at&direction=asc&limit=100").data


def ended(client, direction, id, n=1):
    return until(lambda: (lambda found: found if sum(r["status"] != "pending" for r in found) >= n else None)(rows(client, direction, id)))


def run_of(client, row):
    """The run that a row of the log names, when it is over."""
    assert row["run_id"], row
    return until(lambda: (lambda r: r if r["status"] in OVER else None)(client.get(f"{FLOWS}/runs/{row['run_id']}").data))


# ---- what the workflow gets ----

def test_the_workflow_makes_the_request(world, client):
    path = world.path()
    id = flow(client, "local answer = wharf.http.post(input.integration.url, {body = input.event.type .. ' ' .. input.event.data.name})\nreturn answer.status")
    made = integration(client, "outgoing", id, url=world.web.url(path), provider="acme", method="PUT")
    place = make_location(client, "North dock")["id"]
    row, = ended(client, "outgoing", made)
    assert (row["status"], row["error"], row["request"], row["response"], row["attempts"]) == ("success", None, None, None, 1) and row["resource_id"] == place
    run = run_of(client, row)
    assert run["status"] == "succeeded" and run["output"] == {"value": 200} and run["workflow_id"] == id
    assert [g.body for g in world.web.got[path]] == [b"location.created North dock"], "the server sends nothing beside it"
    assert run["trigger"] == {"type": "manual", "cause_id": made, "event_id": row["event_id"]} and run["event_id"] == row["event_id"] and run["resource_id"] == place
    assert run["input"]["value"]["integration"] == {"id": made, "name": "Shop", "provider": "acme", "url": world.web.url(path), "method": "PUT"}
    event = client.get("/v1/events/" + row["event_id"]).data
    assert run["input"]["value"]["event"]["data"] == event["data"] and run["input"]["value"]["event"]["sequence"] == event["sequence"]
    assert client.get(f"{ROWS['outgoing']}?run_id={run['id']}").ids == [row["id"]] and client.get(f"{ROWS['outgoing']}/{row['id']}").data == row


def test_the_workflow_needs_no_url(client):
    made = integration(client, "outgoing", flow(client, "return input.integration.url == wharf.null"))
    work(client, "outgoing", made)
    assert run_of(client, ended(client, "outgoing", made)[0])["output"] == {"value": True}


def test_the_workflow_gets_the_request(client):
    made = integration(client, "incoming", flow(client), provider="shop")
    answer = send(client, made, b'{"order": 17, "lines": [{"sku": "A"}]}', content_type="application/json", x_shop="7")
    row, = ended(client, "incoming", made)
    assert row["id"] == answer.data["id"] and (row["status"], row["error"], row["response"]) == ("success", None, {"status": 202})
    run = run_of(client, row)
    got = run["input"]["value"]
    assert got["integration"] == {"id": made, "name": "Shop", "provider": "shop", "url": None, "method": None}
    assert got["request"]["json"] == {"order": 17, "lines": [{"sku": "A"}]} and got["request"]["body"] == '{"order": 17, "lines": [{"sku": "A"}]}'
    assert got["request"]["method"] == "POST" and got["request"]["path"] == "/v1/incoming/" + made and got["request"]["incoming_webhook_id"] == row["id"]
    assert got["request"]["headers"]["x-shop"] == "7" and got["request"]["headers"]["authorization"] == "***" and "hush" not in json.dumps(run)
    assert run["output"]["value"]["request"]["json"]["order"] == 17 and run["trigger"] == {"type": "manual", "cause_id": made} and run["depth"] == 0


@pytest.mark.parametrize("body, json_, text", [
    (b"", None, ""), (b"a=1&b=2", None, "a=1&b=2"), (b"null", None, "null"), (b"[1, 2]", [1, 2], "[1, 2]"), (b'"x"', "x", '"x"'), (b'{"a": 1', None, '{"a": 1'),
    (b'{"a": 1, "a": 2}', None, '{"a": 1, "a": 2}'), ("{\"n\": \"Zoë\"}".encode(), {"n": "Zoë"}, '{"n": "Zoë"}')])
def test_bodies_of_any_kind(client, body, json_, text):
    """Senders send what they like: what is no JSON is text, and the run starts all the same."""
    made = integration(client, "incoming", flow(client))
    send(client, made, body)
    got = run_of(client, ended(client, "incoming", made)[0])["input"]["value"]["request"]
    assert got.get("json") == json_ and got["body"] == text and "body_encoding" not in got


def test_a_body_that_is_no_text(client):
    made = integration(client, "incoming", flow(client))
    send(client, made, b"\x00\xff\x89PNG")
    got = run_of(client, ended(client, "incoming", made)[0])["input"]["value"]["request"]
    assert base64.b64decode(got["body"]) == b"\x00\xff\x89PNG" and got["body_encoding"] == "base64" and got["json"] is None


def test_a_body_as_large_as_may_be(client):
    made = integration(client, "incoming", flow(client, "return #input.request.body"))
    send(client, made, b"x" * (1024 * 1024 - 1))
    assert run_of(client, ended(client, "incoming", made)[0])["output"] == {"value": 1024 * 1024 - 1}


def test_a_repeated_request_starts_no_second_run(client):
    id = flow(client)
    made = integration(client, "incoming", id)
    first = send(client, made, webhook_id="msg_1")
    again = send(client, made, webhook_id="msg_1", expect=200)
    send(client, made, webhook_id="msg_2")
    assert again.data["id"] == first.data["id"]
    assert len({run_of(client, row)["id"] for row in ended(client, "incoming", made, 2)}) == len(client.get(f"{FLOWS}/{id}/runs").data) == 2


def test_who_proves_nothing_starts_nothing(client):
    id = flow(client)
    made = integration(client, "incoming", id)
    send(client, made, expect=401, authorization="Bearer mellon")
    row, = ended(client, "incoming", made)
    assert row["status"] == "error" and row["error"]["code"] == "unauthorized" and row["run_id"] is None and client.get(f"{FLOWS}/{id}/runs").data == []
    client.post(f"/v1/integrations/{made}/secrets", {"key": "secret", "value": "mellon"}, expect=200)
    row = client.post(f"{ROWS['incoming']}/{row['id']}/retry", {}, expect=202).data
    assert row["status"] == "success" and run_of(client, row)["input"]["value"]["request"]["json"] == {"order": 1}


@pytest.mark.parametrize("direction", ROWS)
def test_a_run_that_fails_says_so_itself(client, direction):
    made = integration(client, direction, flow(client, "error('no')", retry={"max": 0}))
    work(client, direction, made)
    row, = ended(client, direction, made)
    assert row["status"] == "success" and run_of(client, row)["status"] == "failed"
    client.refused("POST", f"{ROWS[direction]}/{row['id']}/retry", 409, "integration.not_failed", body={})


def test_a_request_that_was_begun_is_not_begun_twice(world, org, client):
    """The server ended between the run's start and what is noted of it: the request is due again when its lease is over."""
    id = flow(client)
    made = integration(client, "outgoing", id)
    work(client, "outgoing", made)
    row, = ended(client, "outgoing", made)
    run_of(client, row)
    world.server.sql("UPDATE integrations.outgoing SET status = 'pending' WHERE organization_id = %s AND id = %s", org.id, row["id"])
    world.server.sql("INSERT INTO integrations.waiting (organization_id, id, created_at, integration_id, event_id, next_attempt_at)"
                     " SELECT organization_id, id, created_at, integration_id, event_id, wharf.now() FROM integrations.outgoing WHERE organization_id = %s AND id = %s", org.id, row["id"])
    again, = ended(client, "outgoing", made)
    assert again["status"] == "success" and again["run_id"] == row["run_id"] and len(client.get(f"{FLOWS}/{id}/runs").data) == 1


def test_many_events(client):
    id = flow(client, "return input.event.data.name")
    made = integration(client, "outgoing", id)
    names = {make_location(client, f"Dock {i}")["name"] for i in range(60)}
    assert {run_of(client, row)["output"]["value"] for row in ended(client, "outgoing", made, 60)} == names


# ---- what may be named ----

@pytest.mark.parametrize("direction", ROWS)
def test_which_workflows_may_be_named(world, org, client, direction):
    body = {"direction": direction, "name": "Shop", **({"events": ["location.created"]} if direction == "outgoing" else {"auth": {"type": "bearer"}})}

    def refused(workflow, by=client, status=400, code="validation.failed", errors=("workflow_id",)):
        by.refused("POST", "/v1/integrations", status, code, list(errors), body={**body, "workflow_id": workflow})
        assert client.get("/v1/integrations").data == []
    gone = flow(client, name="Gone")
    client.delete(f"{FLOWS}/{gone}", expect=200)
    others = flow(world.server.organization().client())
    draft = flow(client, publish=False, name="Draft")
    events = client.post(FLOWS, {"name": "Events", "source": "return {on_event = function() end}", "triggers": [{"type": "event", "events": ["location.created"]}], "scopes": ["locations:read"]}, expect=201).data["id"]
    client.post(f"{FLOWS}/{events}/publish", {}, expect=200)
    off = flow(client, name="Off", trigger={"enabled": False})
    for workflow in ("wkf_0000000000000000000000", "nonsense", gone, others, draft, events, off):
        refused(workflow)
    good = flow(client, name="Good")
    refused(good, org.client("integrations:write,locations:read,workflow:read"), 403, "scope_access", ["workflow:write"])
    here, there = make_location(client, "Here")["id"], make_location(client, "There")["id"]
    far = flow(client, name="Far", allowed_locations=[there])
    near = org.client(locations=[here])
    refused(far, near, 403, "location_access", [there]) if direction == "incoming" else near.refused(
        "POST", "/v1/integrations", 403, "location_access", body={**body, "workflow_id": far, "location_ids": [here]})
    disabled = flow(client, name="Disabled")
    client.post(f"{FLOWS}/{disabled}", {"enabled": False}, expect=200)
    assert client.post("/v1/integrations", {**body, "workflow_id": disabled}, expect=201).data["workflow_id"] == disabled, "it says so when it has work"


def test_a_workflow_or_a_url(client):
    id = flow(client)
    body = {"direction": "outgoing", "name": "Shop", "events": ["location.created"]}
    client.refused("POST", "/v1/integrations", 400, "validation.failed", ["url"], body=body)
    client.refused("POST", "/v1/integrations", 400, "validation.failed", ["headers"], body={**body, "workflow_id": id, "headers": {"X-Token": "1"}})
    client.refused("POST", "/v1/integrations", 400, "webhook.protocol", ["url"], body={**body, "workflow_id": id, "url": "ftp://crm.example.com/"})
    made = client.post("/v1/integrations", {**body, "workflow_id": id}, expect=201).data
    assert made["workflow_id"] == id and made["url"] is None and client.get(f"/v1/integrations?workflow_id={id}").ids == [made["id"]]
    client.refused("POST", f"/v1/integrations/{made['id']}", 400, "validation.failed", ["url"], body={"workflow_id": None})
    row = client.post(f"/v1/integrations/{made['id']}", {"workflow_id": None, "url": "https://crm.example.com/x"}, expect=200).data
    assert (row["workflow_id"], row["url"]) == (None, "https://crm.example.com/x")


@pytest.mark.parametrize("direction", ROWS)
def test_an_integration_outlives_its_workflow(client, direction):
    """It is shown, renamed and sent back whole by clients; only a workflow that is named anew is judged."""
    id = flow(client)
    made = integration(client, direction, id)
    client.delete(f"{FLOWS}/{id}", expect=200)
    row = client.get(f"/v1/integrations/{made}").data
    assert row["workflow_id"] == id
    assert client.post(f"/v1/integrations/{made}", {"name": "Renamed", "workflow_id": id}, expect=200).data["name"] == "Renamed"
    client.delete(f"/v1/integrations/{made}", expect=200)


def test_events_are_those_that_its_key_may_see(world, org, client):
    """The workflow gets no event that who chose it may not see."""
    here, there = make_location(client, "Here")["id"], make_location(client, "There")["id"]
    user = org.user(role="developer", locations=[here])
    near = org.client(user=user, locations=[here])
    id = flow(client)
    made = near.post("/v1/integrations", {"direction": "outgoing", "name": "Near", "events": ["location.updated"], "location_ids": [here], "workflow_id": id}, expect=201).data["id"]
    for place in (there, here):
        client.post(f"/v1/locations/{place}", {"name": "Renamed"}, expect=200)
    row, = ended(client, "outgoing", made)
    assert row["resource_id"] == here and run_of(client, row)["input"]["value"]["event"]["location_id"] == here


# ---- when it can't be started ----

CASES = ["disabled", "deleted", "trigger", "location", "input"]


def spoil(client, workflow, case):
    if case == "disabled":
        client.post(f"{FLOWS}/{workflow}", {"enabled": False}, expect=200)
        return "workflow.disabled"
    if case == "deleted":
        client.delete(f"{FLOWS}/{workflow}", expect=200)
        return "workflow.not_published"
    if case == "location":
        client.post(f"{FLOWS}/{workflow}", {"allowed_locations": [make_location(client, "Elsewhere")["id"]]}, expect=200)
        return "location_access"
    triggers = [{"type": "manual", "enabled": False}] if case == "trigger" else [{"type": "manual", "input_schema": {"type": "object", "required": ["nothing has this"]}}]
    client.post(f"{FLOWS}/{workflow}", {"triggers": triggers}, expect=200)
    client.post(f"{FLOWS}/{workflow}/publish", {}, expect=200)
    return "workflow.trigger_invalid" if case == "trigger" else "validation.failed"


def mend(client, workflow, case):
    client.post(f"{FLOWS}/{workflow}", {"enabled": True, "allowed_locations": None, "triggers": [{"type": "manual"}]}, expect=200)
    client.post(f"{FLOWS}/{workflow}/publish", {}, expect=200)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("direction", ROWS)
def test_what_can_not_be_started_is_told(world, org, direction, case):
    """No 500, and no silence: the log says why, the integration is failing, a notice is sent, and the same request can be made again."""
    client = org.client()
    client.post("/v1/org", {"settings": {"integration_notifications": {k: {"failure_limit": 1} for k in ("outgoing_integration", "incoming_webhook")}}}, expect=200)
    id = flow(client)
    made = integration(client, direction, id, **({"events": ["location.updated"]} if direction == "outgoing" else {}))
    place = make_location(client, "Dock")["id"]
    code = spoil(client, id, case)
    if direction == "outgoing":
        client.post(f"/v1/locations/{place}", {"name": "Renamed"}, expect=200)
    else:
        send(client, made, webhook_id="msg_1")
    row, = ended(client, direction, made)
    assert row["status"] == "error" and row["error"]["code"] == code and row["error"]["message"] and row["run_id"] is None and row["attempts"] == 1
    assert client.get(f"/v1/integrations/{made}").data["status"] == "failing"
    type = {"outgoing": "outgoing_integration.error", "incoming": "incoming_webhook.error"}[direction]
    notice = until(lambda: client.get(f"/v1/events?type={type}&include_data=true").data)[0]
    assert notice["resource_id"] == row["id"] and notice["data"]["error"]["code"] == code and notice["data"]["error_notification"]["count"] == 1
    if case != "deleted":
        mend(client, id, case)
    client.post(f"{ROWS[direction]}/{row['id']}/retry", {}, expect=202)
    row = until(lambda: (lambda r: r if r["status"] != "pending" and r["attempts"] == 2 else None)(client.get(f"{ROWS[direction]}/{row['id']}").data))
    if case == "deleted":
        assert row["status"] == "error" and row["error"]["code"] == code
    else:
        assert row["status"] == "success" and row["error"] is None and run_of(client, row)["status"] == "succeeded"
        assert client.get(f"/v1/integrations/{made}").data["status"] == "active"


def test_workflows_that_cause_each_other_end(world, org, client):
    """The workflow makes what the integration is about: five rounds, then the log says so (spec 08 section 3)."""
    id = flow(client, "local row = wharf.api.post('/v1/locations', {name = 'Again', address = '1 Main St, Springfield, IL 62701, US'})\nreturn ctx.run.depth", scopes=["locations:write"])
    made = integration(client, "outgoing", id)
    make_location(client, "First")
    found = until(lambda: (lambda all: all if all and all[-1]["status"] == "error" else None)(rows(client, "outgoing", made)))
    assert [r["status"] for r in found] == ["success"] * 5 + ["error"] and found[-1]["error"]["code"] == "workflow.depth_exceeded"
    assert [run_of(client, r)["depth"] for r in found[:5]] == [0, 1, 2, 3, 4]


def test_the_module_may_be_away(world):
    """A server without workflows: the integration stays, and says what is missing."""
    from wharf import Server
    s = Server("--modules", "org,locations,events,webhooks,integrations", "--set", "mail.url=")
    try:
        org = s.organization()
        client = org.client()
        client.refused("POST", "/v1/integrations", 400, "validation.failed", ["workflow_id"],
                       body={"direction": "incoming", "name": "Shop", "auth": {"type": "bearer"}, "workflow_id": "wkf_0000000000000000000000"})
        made = integration(client, "incoming", None)
        s.sql("UPDATE integrations.integration SET workflow_id = 'wkf_0000000000000000000000' WHERE organization_id = %s", org.id)
        send(client, made)
        row, = ended(client, "incoming", made)
        assert row["status"] == "error" and row["error"]["code"] == "module.unavailable"
    finally:
        s.stop()
