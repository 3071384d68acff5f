"""Parts of an event that not everybody sees (spec 07 section 4.2): whoever reads an event, and however, gets those lines that its retrieve shows it, and nothing tells of others."""
import datetime
import json

import pytest

from receivers import Hook, World, until
from test_events_stream import Stream
from wharf import make_location

PARTS = ("shipments", "current_shipment_id", "tracking_updates")
FLOWS = "/v1/workflows"
MODULES = "org,locations,contacts,reasons,carriers,shipments,trackers,events,webhooks,integrations,workflows,logs"
BLIND = ",".join(["trackers:read", "events:read", "webhooks:write", "integrations:write", "workflow:write"])


@pytest.fixture(scope="module")
def world():
    w = World("--modules", MODULES, "--set", "mail.url=")
    yield w
    w.close()


class Scene:
    """A tracker at the first of two places, with a leg at each and one of no place."""

    def __init__(self, world):
        self.world, self.org = world, world.server.organization()
        self.all = self.org.client()
        self.here, self.there = (make_location(self.all, n)["id"] for n in ("Here", "There"))
        self.legs = [self.all.post("/v1/shipments", {"tracking_number": f"LEG-{self.org.id[-6:]}-{i}", "location_id": at, "order_number": f"secret {i}"}, expect=201).data["id"]
                     for i, at in enumerate((self.here, self.there, None))]
        self.id = self.all.get(f"/v1/trackers?shipment_id={self.legs[0]}").data[0]["id"]
        self.all.post(f"/v1/trackers/{self.id}", {"location_id": self.here, "chaining": {"add": self.legs[1:]}}, expect=200)
        for i, leg in enumerate(self.legs):
            self.all.post(f"/v1/shipments/{leg}", {"tracking_update": {"comment": f"Of leg {i}"}}, expect=200)
        self.readers = {"all": self.all, "near": self.org.client(locations=[self.here]), "blind": self.org.client(BLIND), "blind and near": self.org.client(BLIND, locations=[self.here])}

    def shown(self, client):
        row = client.get(f"/v1/trackers/{self.id}").data
        return {k: row[k] for k in PARTS}

    def change(self, i=1, **more):
        """A change of the leg at the other place, which the tracker follows. Answers the event's id."""
        self.all.post(f"/v1/shipments/{self.legs[i]}", {"tracking_update": {"status": "in_transit", "comment": "Moved", **more}}, expect=200)
        return self.newest()

    def newest(self):
        return until(lambda: next((e["id"] for e in self.all.get(f"/v1/events?resource_id={self.id}&limit=1").data if e["status"] == "processed"), None))


@pytest.fixture
def scene(world):
    return Scene(world)


def parts(data):
    return {k: data[k] for k in PARTS}


def secrets(scene, text):
    """What of the leg at the other place stands in a text."""
    return [s for s in (scene.legs[1], scene.there, "secret 1", "Of leg 1") if s in text]


def test_the_scene_is_worth_a_look(scene):
    """The readers see different legs, and one of them the current one only."""
    shown = {n: scene.shown(c) for n, c in scene.readers.items()}
    ids = {n: [s["id"] for s in v["shipments"]] for n, v in shown.items()}
    assert ids == {"all": scene.legs, "near": [scene.legs[0], scene.legs[2]], "blind": [], "blind and near": []}
    assert {n: len(v["tracking_updates"]) for n, v in shown.items()} == {"all": 6, "near": 4, "blind": 0, "blind and near": 0}
    scene.change()
    assert {n: scene.shown(c)["current_shipment_id"] for n, c in scene.readers.items()} == {"all": scene.legs[1], "near": None, "blind": scene.legs[1], "blind and near": None}


def test_the_events_of_the_api(scene):
    id = scene.change()
    for name, client in scene.readers.items():
        one = client.get(f"/v1/events/{id}").data
        listed, = client.get(f"/v1/events?resource_id={scene.id}&include_data=true&limit=1").data
        bare, = client.get(f"/v1/events?resource_id={scene.id}&limit=1").data
        assert parts(one["data"]) == scene.shown(client) and listed["data"] == one["data"] and listed["id"] == id, name
        assert "data" not in bare and "access_parts" not in one and not secrets(scene, json.dumps(bare)), name
        if "near" in name:
            assert not secrets(scene, json.dumps([one, listed])), name
        few = client.get(f"/v1/events/{id}?fields=data").data
        assert few["data"] == one["data"]


def test_the_stream(world, scene):
    streams = {n: Stream(world.server, "?types=tracker.*", key=c.key) for n, c in scene.readers.items()}
    thin = Stream(world.server, "?types=tracker.*&payload=thin", key=scene.all.key)
    until(lambda: all(s.retry for s in [*streams.values(), thin]))
    scene.change()
    shown = {n: scene.shown(c) for n, c in scene.readers.items()}
    for name, s in streams.items():
        _, _, body = s.take(1)[0]
        assert parts(body["data"]) == shown[name], name
        assert "near" not in name or not secrets(scene, json.dumps(body)), name
    assert set(thin.take(1)[0][2]["data"]) == {"id", "object", "location_id"}
    again = Stream(world.server, "?types=tracker.*&from=0", key=scene.readers["near"].key)  # what is made up for
    until(lambda: again.frames and again.frames[-1][2]["id"] == streams["near"].frames[0][2]["id"])
    assert not secrets(scene, json.dumps(again.frames)) and again.frames[-1] == streams["near"].frames[0]
    for s in [*streams.values(), thin, again]:
        s.close()


def hooks(world, scene):
    within = {"location_ids": [scene.here]}
    return {n: Hook(world, c, ["tracker.*"], **(within if "near" in n else {})) for n, c in scene.readers.items()}


def test_webhooks(world, scene):
    heard = hooks(world, scene)
    heard["of the whole, for one place"] = Hook(world, scene.all, ["tracker.*"], location_ids=[scene.here])
    thin = Hook(world, scene.all, ["tracker.*"], payload="thin")
    flaky = Hook(world, scene.readers["near"], ["tracker.*"], answer=[lambda h: h.answer(500, b"no"), lambda h: h.answer(200, b"")], retry_mode="fast", location_ids=[scene.here])
    id = scene.change()
    shown = {n: scene.shown(c) for n, c in scene.readers.items()}
    shown["of the whole, for one place"] = shown["near"]
    for name, h in heard.items():
        got = h.wait(1)[0]
        assert parts(got.event["data"]) == shown[name] and b"\n" not in got.body, name
        assert not ("near" in name or "one place" in name) or not secrets(scene, got.body.decode()), name
        assert scene.readers.get(name, scene.all).get(f"/v1/events/{id}").data["data"] == got.event["data"] or name == "of the whole, for one place"
    assert set(thin.wait(1)[0].event["data"]) == {"id", "object", "location_id"}
    flaky.wait(1)
    world.ahead(3600)
    first, second = flaky.wait(2)[:2]
    assert first.body == second.body == heard["near"].got[0].body


def test_filters_of_webhooks_see_what_is_sent(world, scene):
    condition = [{"path": "data.current_shipment_id", "op": "eq", "value": scene.legs[1]}]
    wide = Hook(world, scene.all, ["tracker.*"], filter=condition)
    near = Hook(world, scene.readers["near"], ["tracker.*"], filter=condition, location_ids=[scene.here])
    all_of_near = Hook(world, scene.readers["near"], ["tracker.*"], location_ids=[scene.here])
    scene.change()
    wide.wait(1), all_of_near.wait(1)
    assert near.got == [] and near.deliveries() == []


def test_what_is_brought_again_is_judged_anew(world, scene):
    """Resend and recovery: the webhook's key as it is then, not as it was."""
    user = scene.org.user(role="admin", locations=[scene.here, scene.there])
    hook = Hook(world, scene.org.client(user=user), ["tracker.*"], location_ids=[scene.here, scene.there])
    id = scene.change()
    first = hook.wait(1)[0]
    assert parts(first.event["data"]) == scene.shown(scene.all)
    scene.all.post(f"/v1/events/{id}/resend", {}, expect=202)
    assert hook.wait(2)[1].body == first.body
    world.server.sql("UPDATE wharf.user SET locations = %s WHERE id = %s", json.dumps([scene.here]), user)
    scene.all.post(f"/v1/events/{id}/resend", {"webhook_ids": [hook.id]}, expect=202)
    assert parts(hook.wait(3)[2].event["data"]) == scene.shown(scene.readers["near"]) and not secrets(scene, hook.got[2].body.decode())
    world.server.sql("UPDATE wharf.user SET locations = %s WHERE id = %s", json.dumps([scene.there]), user)
    scene.all.refused("POST", f"/v1/events/{id}/resend", 400, "validation.failed", ["webhook_ids.0"], body={"webhook_ids": [hook.id]})
    assert scene.all.post(f"/v1/events/{id}/resend", {}, expect=202).data["deliveries"] == []


def test_recovery(world, scene):
    user = scene.org.user(role="admin", locations=[scene.here, scene.there])
    hook = Hook(world, scene.org.client(user=user), ["tracker.*"], answer=[lambda h: h.answer(500, b"no", webhook_delivery="abort-message"), lambda h: h.answer(200, b"")], location_ids=[scene.here, scene.there])
    now = world.system.get("/v1/system/clock").data["now"]
    since = (datetime.datetime.fromisoformat(now.replace("Z", "+00:00")) - datetime.timedelta(seconds=1)).isoformat()  # the process that makes the event may have read its clock first
    scene.change()
    hook.until(lambda d: d and d[0]["status"] == "failed")
    world.server.sql("UPDATE wharf.user SET locations = %s WHERE id = %s", json.dumps([scene.here]), user)
    scene.all.post(f"/v1/webhooks/{hook.id}/recover", {"since": since}, expect=202)
    assert parts(hook.wait(2)[1].event["data"]) == scene.shown(scene.readers["near"])


def test_integrations(world, scene):
    paths = {}
    for name, client in scene.readers.items():
        paths[name] = world.path()
        client.post("/v1/integrations", {"direction": "outgoing", "name": name, "url": world.web.url(paths[name]), "events": ["tracker.updated"], **({"location_ids": [scene.here]} if "near" in name else {})}, expect=201)
    scene.change()
    for name, client in scene.readers.items():
        got = world.web.wait(paths[name], 1)[0]
        assert parts(got.event["data"]) == scene.shown(client), name
        assert "near" not in name or not secrets(scene, got.body.decode()), name


def test_workflows(scene):
    ids = {}
    for name, client in scene.readers.items():
        body = {"name": name, "source": "return {on_event = function(ev) return {n = #ev.data.shipments, current = ev.data.current_shipment_id, updates = #ev.data.tracking_updates} end}",
                "triggers": [{"type": "event", "events": ["tracker.updated"]}], **({"allowed_locations": [scene.here]} if "near" in name else {})}
        ids[name] = client.post(FLOWS, body, expect=201).data["id"]
        client.post(f"{FLOWS}/{ids[name]}/publish", {}, expect=200)
    scene.change()
    for name, client in scene.readers.items():
        run = until(lambda: next((r for r in client.get(f"{FLOWS}/{ids[name]}/runs").data if r["status"] == "succeeded"), None))
        run, shown = client.get(f"{FLOWS}/runs/{run['id']}").data, scene.shown(client)
        assert parts(run["input"]["value"]["data"]) == shown, name
        out = run["output"]["value"]
        assert (out["n"], out.get("current"), out["updates"]) == (len(shown["shipments"]), shown["current_shipment_id"], len(shown["tracking_updates"])), name


def test_logs_and_previous_values_name_no_leg(scene):
    """The current leg changes to one of another place; who may not see that reads of none."""
    near = scene.readers["near"]
    event = near.get(f"/v1/events/{scene.change()}").data
    scene.change(0, status="delivered")
    said = {"event": event, "list": near.get(f"/v1/events?resource_id={scene.id}&include_data=true").data, "logs": near.get("/v1/logs?limit=100").data,
            "logs of the tracker": near.get(f"/v1/trackers/{scene.id}?include_logs=true").data}
    faults = {k: [s for s in (v if isinstance(v, list) else [v]) if secrets(scene, json.dumps(s))] for k, v in said.items()}
    assert not any(faults.values()), faults


def test_the_newest_lines_of_what_is_seen(scene):
    """More lines than are shown: who sees fewer legs still gets the newest hundred of its own."""
    for i in range(0, 120, 60):
        for leg in scene.legs[:2]:
            lines = [{"comment": f"{leg} {k}", "occurred_at": f"2026-01-{1 + k // 24:02}T{k % 24:02}:00:00Z"} for k in range(i, i + 60)]
            scene.all.post(f"/v1/shipments/{leg}", {"tracking_update": lines}, expect=200)
    for name, client in scene.readers.items():
        data = client.get(f"/v1/events/{scene.newest()}").data["data"]
        assert parts(data) == scene.shown(client), name
    assert len(scene.shown(scene.readers["near"])["tracking_updates"]) == 100


def test_the_last_state_of_a_deleted_one(scene):
    shown = {n: scene.shown(c) for n, c in scene.readers.items()}
    scene.all.delete(f"/v1/trackers/{scene.id}", expect=200)
    id = scene.newest()
    for name, client in scene.readers.items():
        event = client.get(f"/v1/events/{id}").data
        assert event["type"] == "tracker.deleted" and parts(event["data"]) == shown[name] and event["data"]["deleted_at"], name


def test_an_event_without_parts_has_none(world, scene):
    """It costs a NULL."""
    rows = world.server.sql("SELECT DISTINCT resource_type, parts IS NULL FROM wharf.event WHERE organization_id = %s", scene.org.id)
    assert ("tracker", False) in rows and ("tracker", True) not in rows and {r for r, none in rows if not none} == {"tracker"}
