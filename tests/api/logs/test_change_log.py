"""What a change leaves behind: the change log and the event outbox (spec 01 section 13, spec 07 section 1), read from the database."""
import json

from wharf import make_location


def rows(org, id):
    return org.server.sql(
        "SELECT action, changes, message, visibility, actor_type, actor_id, actor_name, request_id, event_id, location_id, parent_id, resource"
        " FROM wharf.change_log WHERE organization_id = %s AND resource_id = %s ORDER BY created_at, id", org.id, id)


def events(org, id):
    return org.server.sql(
        "SELECT type, data, previous_attributes, location_id, resource_type, actor_type, actor_id, request_id, id, created_at, \"timestamp\", expires_at"
        " FROM wharf.event WHERE organization_id = %s AND resource_id = %s ORDER BY created_at, id", org.id, id)


def test_create_update_delete(org, client, location):
    made = client.post("/v1/samples", {"status": "open", "location_id": location["id"], "name": "A", "tags": ["x"], "metadata": {"k": 1}}, expect=201)
    id = made.data["id"]
    changed = client.post("/v1/samples/" + id, {"name": "B", "qty": 2.5, "tags": ["x", "y"], "metadata": {"k": 2}, "status": "open"}, expect=200)
    gone = client.delete("/v1/samples/" + id)
    log = rows(org, id)
    assert [r[0] for r in log] == ["created", "updated", "deleted"]
    changes = {c["field"]: (c["old"], c["new"]) for c in log[1][1]}
    assert changes["name"] == ("A", "B") and changes["qty"] == (None, 2.5) and changes["tags"] == (["x"], ["x", "y"])
    assert "status" not in changes and "updated_at" not in changes
    for r, answer in zip(log, (made, changed, gone)):
        assert r[4] == "api_key" and r[5] == made.data["created_by"] and r[7] == answer.headers["Request-Id"]
        assert r[9] == location["id"] and r[11] == "sample"
    out = events(org, id)
    assert [e[0] for e in out] == ["filterbench.sample.created", "filterbench.sample.updated", "filterbench.sample.deleted"]
    assert [r[8] for r in log] == [e[8] for e in out]
    assert out[0][1] == client_view(made.data) and out[1][1] == client_view(changed.data)
    assert out[1][2] == {"name": "A", "qty": None, "tags": ["x"], "metadata": {"k": 1}}
    for e in out:
        assert e[3] == location["id"] and e[4] == "sample" and e[5] == "api_key" and e[8].startswith("evt_") and e[11] > e[9]


def client_view(data):
    return {k: v for k, v in data.items() if k != "pin"}


def test_secrets_are_not_kept(org, client):
    d = client.post("/v1/samples", {"status": "open", "pin": "hunter2"}, expect=201).data
    client.post("/v1/samples/" + d["id"], {"pin": "hunter3"}, expect=200)
    log = rows(org, d["id"])
    assert {c["field"]: (c["old"], c["new"]) for c in log[1][1]}["pin"] == ("***", "***")
    for table in ("change_log", "event"):
        text = json.dumps(org.server.sql(f"SELECT row_to_json(t) FROM wharf.{table} t WHERE organization_id = %s AND resource_id = %s", org.id, d["id"]))
        assert "hunter" not in text, table


def test_no_change_leaves_nothing(org, client):
    d = client.post("/v1/samples", {"status": "open", "name": "A", "qty": 2.5, "tags": ["a", "b"], "options": {"size": 4}, "metadata": {"x": 1, "y": True}}, expect=201).data
    for body in ({}, {"name": "A"}, {"name": " A "}, {"qty": 2.50}, {"tags": ["a", "b"]}, {"options": {"size": 4}}, {"metadata": {"y": True}},
                 {"status": "open", "is_active": True}, {"legs": []}):
        again = client.post("/v1/samples/" + d["id"], body, expect=200).data
        assert again == d, body
    assert [r[0] for r in rows(org, d["id"])] == ["created"] and len(events(org, d["id"])) == 1


def test_refused_writes_leave_nothing(org, client):
    d = client.post("/v1/samples", {"status": "open", "code": "taken"}, expect=201).data
    other = client.post("/v1/samples", {"status": "open", "code": "free"}, expect=201).data
    client.refused("POST", "/v1/samples/" + other["id"], 409, "sample.exists", ["code"], body={"code": "TAKEN", "legs": [{"label": "x"}]})
    client.refused("POST", "/v1/samples/" + d["id"], 400, "validation.failed", ["name", "status"], body={"name": 5, "status": "x"})
    assert len(rows(org, other["id"])) == 1 and len(events(org, other["id"])) == 1
    assert client.get("/v1/samples/" + other["id"]).data == other


def test_children_are_told(org, client):
    d = client.post("/v1/samples", {"status": "open", "legs": [{"label": "a"}, {"label": "b", "is_parent": True}]}, expect=201).data
    u = client.post("/v1/samples/" + d["id"], {"legs": [{"label": "b", "is_parent": False}]}, expect=200).data
    assert [leg["label"] for leg in u["legs"]] == ["b"] and u["legs"][0]["id"] == d["legs"][1]["id"]
    log = rows(org, d["id"])
    assert [r[0] for r in log] == ["created", "updated"] and any(c["field"].startswith("legs") for c in log[1][1])


def test_actor_of_a_user(fresh):
    user = fresh.user(role="admin")
    c = fresh.client(user=user)
    place = make_location(c)
    log = rows(fresh, place["id"])
    assert log[0][4] == "user" and log[0][5] == user == place["created_by"]


def test_parents(org, client, location):
    s = client.post("/v1/samples", {"status": "open"}, expect=201).data
    p = client.post(f"/v1/samples/{s['id']}/parts", {"name": "p", "location_id": location["id"]}, expect=201).data
    assert rows(org, p["id"])[0][10] == s["id"]


def test_other_organizations_rows_are_hidden_from_plugin_sql(server, fresh):
    make_location(fresh.client())
    with server.db.cursor() as c:
        c.execute("BEGIN; SET LOCAL ROLE wharf_plugin; SELECT set_config('wharf.organization', %s, true)", (server.organization().id,))
        c.execute("SELECT count(*) FROM locations.location")
        assert c.fetchone() == (0,)
        c.execute("ROLLBACK")
