"""Event records and their types (spec 07 sections 1 and 3): list, filters, retrieve, location access, expiry, the catalogue and its schemas."""
import re

import jsonschema
import pytest
import requests

from test_jobs import until
from wharf import WAIT, make_location


@pytest.fixture
def org(server):
    o = server.organization()
    o.c = o.client()
    o.a, o.b = make_location(o.c, "A"), make_location(o.c, "B")
    return o


def processed(org):
    until(lambda: org.server.sql("SELECT count(*) FROM wharf.outbox WHERE organization_id = %s AND event_id IS NOT NULL", org.id) == [(0,)])
    return org.c.get("/v1/events?limit=100").data


def types(rows):
    return [r["type"] for r in rows]


def ask(org, query):
    return types(org.c.get("/v1/events?order_by=sequence&direction=asc&" + query).data)


FIELDS = ["object", "id", "type", "timestamp", "sequence", "organization_id", "location_id", "resource_type", "resource_id", "batch_id", "actor", "request_id",
          "depth", "data", "previous_attributes", "data_truncated", "disable_webhooks", "initial_webhooks", "attempted_webhooks", "pending_webhooks",
          "steps", "status", "processed_at", "created_at", "expires_at"]


def test_the_record(org):
    a = org.c.post(f"/v1/locations/{org.a['id']}", {"name": "AA"}, expect=200)
    id = processed(org)[0]["id"]
    event = org.c.get(f"/v1/events/{id}").data
    assert list(event) == FIELDS
    assert event["object"] == "event" and re.fullmatch(r"evt_[0-9A-Za-z]{22}", event["id"]) and event["type"] == "location.updated"
    assert event["sequence"] == 3 and event["location_id"] == event["resource_id"] == org.a["id"] and event["resource_type"] == "location"
    assert event["actor"]["type"] == "api_key" and event["request_id"] == a.headers["Request-Id"] and event["depth"] == 0
    assert event["previous_attributes"] == {"name": "A"} and event["data"]["name"] == "AA"
    assert event["status"] == "processed" and event["processed_at"] and event["timestamp"] == event["created_at"]
    assert event["data_truncated"] is False and event["disable_webhooks"] is False and event["batch_id"] is None


def test_lists_omit_data(org):
    row = processed(org)[0]
    assert [f for f in FIELDS if f not in row] == ["data", "previous_attributes"]
    row = org.c.get("/v1/events?include_data=true").data[0]
    assert list(row) == FIELDS and row["data"]["id"] == row["resource_id"]
    assert "data" not in org.c.get("/v1/events?include_data=false").data[0]
    org.c.refused("GET", "/v1/events?include_data=maybe", 400, "param.invalid", ["include_data"])


def test_pending_until_processed(server, org):
    """Steps are [] and the sequence is null until the processor was there."""
    processed(org)
    with server.db.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtextextended('wharf.event:' || %s, 0))", (org.id,))
    try:
        make_location(org.c, "C")
        event, = org.c.get("/v1/events?status=pending&include_data=true").data
        assert event["sequence"] is None and event["steps"] == [] and event["processed_at"] is None and event["data"]["name"] == "C"
    finally:
        server.sql("SELECT pg_advisory_unlock(hashtextextended('wharf.event:' || %s, 0))", org.id)
    processed(org)
    assert org.c.get("/v1/events?status=pending").data == []


def test_paging_and_order(org):
    for i in range(25):
        org.c.post(f"/v1/locations/{org.a['id']}", {"name": str(i)}, expect=200)
    processed(org)
    a = org.c.get("/v1/events")
    assert len(a.data) == 20 and a.pagination["limit"] == 20
    assert [e["sequence"] for e in a.data] == sorted((e["sequence"] for e in a.data), reverse=True)
    assert [e["sequence"] for e in org.c.get("/v1/events?order_by=sequence&direction=asc&limit=100").data] == list(range(1, 28))
    org.c.refused("GET", "/v1/events?limit=101", 400, "param.invalid", ["limit"])
    org.c.refused("GET", "/v1/events?order_by=type", 400, "param.invalid", ["order_by"])


def test_filters(org):
    org.c.post(f"/v1/locations/{org.a['id']}", {"name": "AA"}, expect=200)
    user = org.c.post("/v1/users", {"name": "U", "email": "u@example.com", "role": "user"}, expect=201).data
    processed(org)
    every = ["location.created", "location.created", "location.updated", "user.created"]
    assert ask(org, "limit=50") == every
    assert ask(org, "type=location.updated") == ["location.updated"]
    assert ask(org, "type=location.updated,user.created") == ["location.updated", "user.created"]
    assert ask(org, "type=location.*") == every[:3]
    assert ask(org, "type=location.*,!location.updated") == every[:2]
    assert ask(org, "type=!location.*") == ["user.created"]
    assert ask(org, "type=!user.created") == every[:3]
    assert ask(org, f"resource_id={user['id']}") == ["user.created"]
    assert ask(org, "resource_type=user,device") == ["user.created"]
    assert ask(org, f"location_id={org.a['id']}") == ["location.created", "location.updated"]
    assert ask(org, f"location_id={org.a['id']},{org.b['id']}") == every[:3]
    assert ask(org, "location_id=null") == ["user.created"]
    assert ask(org, "location_id=!null") == every[:3]
    assert ask(org, "batch_id=batch_x") == [] and ask(org, "disable_webhooks=true") == [] and ask(org, "disable_webhooks=false") == every
    actor = org.c.get("/v1/events").data[0]["actor"]["id"]
    assert ask(org, f"actor_id={actor}") == every and ask(org, "actor_id=user_x") == []
    assert ask(org, "sequence[gt]=2") == every[2:] and ask(org, "sequence[gt]=1&sequence[lte]=3") == every[1:3]
    at = org.c.get("/v1/events?order_by=sequence&direction=asc").data[2]["timestamp"]
    assert ask(org, f"timestamp[gte]={at}") == every[2:] and ask(org, f"created_at[lt]={at}") == every[:2]
    assert ask(org, "webhook_id=whk_x") == [] and ask(org, "delivery_status=failed") == []


@pytest.mark.parametrize("query", ["type=Location", "type=location*", "type=*", "type=,", "type=!", "type[in]=a.b", "status=done", "delivery_status=lost",
                                   "disable_webhooks=perhaps", "sequence[gt]=x"])
def test_filters_are_checked(org, query):
    org.c.refused("GET", "/v1/events?" + query, 400, "param.invalid", [query.split("=")[0].split("[")[0]])


def test_deliveries_are_seen(server, org):
    """The view wharf.event_delivery is what the module webhooks replaces (docs/internals/events.md)."""
    first, second = reversed(processed(org))
    before = server.sql("SELECT pg_get_viewdef('wharf.event_delivery'::regclass)")[0][0]
    rows = ", ".join(f"('{org.id}', '{e}', '{w}', '{s}', {i}, {a})" for e, w, s, i, a in [
        (first["id"], "whk_1", "succeeded", True, True), (first["id"], "whk_2", "retrying", True, True), (first["id"], "whk_3", "pending", False, False),
        (second["id"], "whk_1", "held", True, False)])
    server.sql('CREATE OR REPLACE VIEW wharf.event_delivery AS SELECT a::text COLLATE "C" AS organization_id, b::text COLLATE "C" AS event_id, '
               'c::text COLLATE "C" AS webhook_id, d::text COLLATE "C" AS state, e AS initial, f AS attempted FROM (VALUES ' + rows + ") v(a, b, c, d, e, f)")
    try:
        event = org.c.get(f"/v1/events/{first['id']}").data
        assert (event["initial_webhooks"], event["attempted_webhooks"], event["pending_webhooks"]) == (
            ["whk_1", "whk_2"], ["whk_1", "whk_2"], ["whk_2", "whk_3"])
        assert org.c.get("/v1/events?webhook_id=whk_2").ids == [first["id"]]
        assert org.c.get("/v1/events?webhook_id=whk_3").ids == []  # not among the initial ones
        assert org.c.get("/v1/events?webhook_id=whk_1&order_by=sequence&direction=asc").ids == [first["id"], second["id"]]
        assert org.c.get("/v1/events?delivery_status=held").ids == [second["id"]]
        assert org.c.get("/v1/events?delivery_status=held,retrying&order_by=sequence&direction=asc").ids == [first["id"], second["id"]]
    finally:
        server.sql("CREATE OR REPLACE VIEW wharf.event_delivery AS " + before)


# ---- who sees what ----

def test_locations(org):
    org.c.post("/v1/users", {"name": "U", "email": "u@example.com", "role": "user"}, expect=201)
    rows = {e["type"] + str(e["location_id"]): e for e in processed(org)}
    limited = org.client(locations=[org.a["id"]])
    assert sorted(e["location_id"] or "" for e in limited.get("/v1/events").data) == ["", org.a["id"]]
    limited.get(f"/v1/events/{rows['location.created' + org.a['id']]['id']}")
    limited.refused("GET", f"/v1/events/{rows['location.created' + org.b['id']]['id']}", 403, "location_access")


def test_scopes(org):
    id = processed(org)[0]["id"]
    other = org.client("locations:write")
    other.refused("GET", "/v1/events", 403, "scope_access")
    other.refused("GET", f"/v1/events/{id}", 403, "scope_access")
    other.get("/v1/events/types")
    org.client("events:read").refused("GET", f"/v1/events/{id}", 403, "scope_access", ["locations:read"])
    assert org.client("events:read").get("/v1/events").data == []
    assert org.client("events:read,locations:read").get(f"/v1/events/{id}").data["id"] == id


def test_organizations(server, org):
    id = processed(org)[0]["id"]
    other = server.organization().client()
    other.refused("GET", f"/v1/events/{id}", 404, "not_found")
    assert other.get("/v1/events").data == []


def test_nobody_writes(org):
    id = processed(org)[0]["id"]
    for method, path in [("POST", "/v1/events"), ("POST", f"/v1/events/{id}"), ("DELETE", f"/v1/events/{id}")]:
        org.c.refused(method, path, 405, "method.not_allowed", body={} if method == "POST" else None)
    org.c.refused("GET", "/v1/events/evt_0000000000000000000000", 404, "not_found")
    org.c.refused("GET", "/v1/events/nonsense", 404, "not_found")


# ---- keeping ----

EXPIRE = [1, 3, 7, 14, 30, 90, 180, 365]


@pytest.mark.parametrize("days", EXPIRE)
def test_expire_after(org, days):
    processed(org)
    a = org.c.post("/v1/org", {"settings": {"events": {"expire_after": f"days_{days}"}}}, expect=200)
    assert a.data["settings"]["events"] == {"expire_after": f"days_{days}", "charged": days > 30}
    make_location(org.c, "C")
    rows = {e["data"]["name"]: e for e in org.c.get("/v1/events?include_data=true&type=location.*").data}
    length = org.server.sql("SELECT resource_id, extract(epoch FROM expires_at - created_at)::bigint / 86400 FROM wharf.event WHERE organization_id = %s"
                            " AND type = 'location.created' ORDER BY created_at", org.id)
    assert [d for _, d in length] == [30, 30, days] and rows["C"]  # a change is for events created later


@pytest.mark.parametrize("value", ["days_2", "30", 30, "", {}])
def test_expire_after_is_one_of_these(org, value):
    org.c.refused("POST", "/v1/org", 400, "validation.failed", ["settings.events.expire_after"], body={"settings": {"events": {"expire_after": value}}})


def test_charged_is_not_written(org):
    a = org.c.post("/v1/org", {"settings": {"events": {"charged": True}}}, expect=200)
    assert a.data["settings"]["events"] == {"expire_after": "days_30", "charged": False}
    org.c.post("/v1/org", {"settings": {"events": {"expire_after": "days_90", "charged": False}}}, expect=200)
    assert org.c.get("/v1/org").data["settings"]["events"] == {"expire_after": "days_90", "charged": True}
    assert re.search(rf"{org.id} +90$", org.server.command("org", "meters"), re.M)
    assert re.search(rf"^organization +mode +state +since +users +keys +limits +name\n(.*\n)*{org.id} +live +active +20..-..-.. +[0-9]+ +[1-9][0-9]* +- +\S", org.server.command("org", "list"))


def test_expired_events_are_gone_at_once(server, org):
    first = processed(org)[-1]["id"]
    server.sql("UPDATE wharf.event SET expires_at = wharf.now() - interval '1 second' WHERE organization_id = %s AND id = %s", org.id, first)
    assert len(org.c.get("/v1/events").data) == 1
    org.c.refused("GET", f"/v1/events/{first}", 404, "not_found")


def test_purge_waits_for_deliveries(server, org):
    make_location(org.c, "C")
    rows = processed(org)
    ids = [e["id"] for e in reversed(rows)]
    before = server.sql("SELECT pg_get_viewdef('wharf.event_delivery'::regclass)")[0][0]
    values = ", ".join(f"('{org.id}', '{id}', 'whk_1', 'retrying', true, true)" for id in ids[1:])
    server.sql('CREATE OR REPLACE VIEW wharf.event_delivery AS SELECT a::text COLLATE "C" AS organization_id, b::text COLLATE "C" AS event_id, '
               'c::text COLLATE "C" AS webhook_id, d::text COLLATE "C" AS state, e AS initial, f AS attempted FROM (VALUES ' + values + ") v(a, b, c, d, e, f)")
    try:
        for id, hours in zip(ids, [1, 71, 73]):
            server.sql("UPDATE wharf.event SET expires_at = wharf.now() - make_interval(hours => %s) WHERE organization_id = %s AND id = %s", hours, org.id, id)
        while server.sql("SELECT wharf.expire_events(1000)")[0][0]:
            pass
        assert server.sql("SELECT id FROM wharf.event WHERE organization_id = %s", org.id) == [(ids[1],)]
    finally:
        server.sql("CREATE OR REPLACE VIEW wharf.event_delivery AS " + before)


# ---- types ----

TYPE_FIELDS = ["object", "type", "description", "system", "resource_type", "module", "supersedable", "deprecated", "schema"]


def test_types(org):
    client = org.c
    a = client.get("/v1/events/types")
    assert a.pagination is None
    names = types(a.data)
    assert names == sorted(names) and len(set(names)) == len(names)
    assert all(list(t) == TYPE_FIELDS and t["object"] == "event_type" and t["description"] for t in a.data)
    by = {t["type"]: t for t in a.data}
    assert by["location.updated"]["supersedable"] and by["print_station.status_changed"]["supersedable"] and not by["location.created"]["supersedable"]
    assert (by["location.created"]["module"], by["location.created"]["resource_type"], by["location.created"]["system"]) == ("locations", "location", False)
    assert by["plugin.quarantined"]["system"] and by["plugin.quarantined"]["module"] == "wharf"
    assert by["filterbench.sample.created"]["module"] == "filterbench"  # a plugin that is not shipped: its name first


def test_type_filters(org):
    client = org.c
    system = types(client.get("/v1/events/types?type=system").data)
    assert "plugin.quarantined" in system and "webhook.disabled" in system and "webhook.updated" not in system
    resource = client.get("/v1/events/types?type=resource").data
    assert resource and not any(t["system"] for t in resource)
    assert {t["module"] for t in client.get("/v1/events/types?module=org").data} == {"org"}
    assert client.get("/v1/events/types?module=nobody").data == []
    client.refused("GET", "/v1/events/types?type=other", 400, "param.invalid", ["type"])
    client.refused("GET", "/v1/events/types?include_examples=x", 400, "param.invalid", ["include_examples"])


def test_examples_and_schemas(server, org):
    client = org.c
    for t in client.get("/v1/events/types?include_examples=true").data:
        r = requests.get(server.base + t["schema"], timeout=WAIT)
        assert r.status_code == 200 and r.headers["Content-Type"].startswith("application/schema+json")
        schema = r.json()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"] == t["schema"] and schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator(schema).validate(t["example"])
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate({**t["example"], "surprise": 1})
    client.refused("GET", "/v1/schemas/events/location.unheard", 404, "not_found")
