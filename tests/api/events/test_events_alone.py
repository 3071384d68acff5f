"""Event records without any module but org: what is declared is there, and is read (tests/parts/minimal)."""
from test_jobs import until


def test_events_and_types(fresh):
    client = fresh.client()
    user = client.post("/v1/users", {"name": "A", "email": "a@example.com", "role": "user"}, expect=201).data
    until(lambda: all(e["status"] == "processed" for e in client.get("/v1/events").data))
    event = next(e for e in client.get("/v1/events?type=user.*").data)
    assert (event["type"], event["resource_id"]) == ("user.created", user["id"])
    assert client.get(f"/v1/events/{event['id']}").data["data"]["email"] == "a@example.com"
    assert event["initial_webhooks"] == event["attempted_webhooks"] == event["pending_webhooks"] == []
    types = [t["type"] for t in client.get("/v1/events/types").data]
    assert "user.created" in types
    if "/v1/webhooks" in client.server.openapi["paths"]:
        return  # the rest is about being without them
    assert "webhook.created" not in types
    client.refused("GET", f"/v1/events/{event['id']}/outgoing-webhooks", 404, "route.not_found")
