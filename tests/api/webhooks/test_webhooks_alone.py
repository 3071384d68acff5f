"""Webhooks with only the modules they need: no locations (tests/parts/minimal)."""
from receivers import Hook, World


def test_deliveries_without_other_modules():
    w = World("--modules", "org,events,webhooks")
    try:
        client = w.server.organization().client()
        h = Hook(w, client, events=["user.*"])
        user = client.post("/v1/users", {"name": "A", "email": "a@example.com", "role": "user"}, expect=201).data
        assert h.wait(1)[0].event["resource_id"] == user["id"]
        client.refused("POST", "/v1/webhooks", 400, "validation.failed", ["location_ids.0"],
                       body={"url": h.made["url"], "events": ["*"], "location_ids": ["loc_0000000000000000000000"]})
    finally:
        w.close()
