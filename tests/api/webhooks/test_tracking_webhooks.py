"""What `disable_webhooks` of shipments and trackers keeps from webhooks, and what it does not (spec 03 sections 5.5 and 14): deliveries as a receiver sees them."""
import pytest

from receivers import Hook, World

SHIPMENTS, TRACKERS = "/v1/shipments", "/v1/trackers"


@pytest.fixture(scope="module")
def world():
    w = World("--modules", "org,locations,carriers,shipments,trackers,events,webhooks")
    yield w
    w.close()


@pytest.fixture
def org(world):
    return world.server.organization()


class Told:
    """What one webhook hears of trackers and shipments."""

    def __init__(self, world, client):
        self.client, self.hook, self.seen, self.serial = client, Hook(world, client, events=("tracker.*", "shipment.*")), set(), 0

    def since(self):
        """(type, id of the resource) of what came since the last call. Events are processed in their order: when the last one has its deliveries,
        all have, and when these succeeded all came."""
        self.serial += 1
        end = self.client.post(SHIPMENTS, {"tracking_number": f"SENTINEL{self.serial}"}, expect=201).data
        last = self.client.get(f"/v1/events?resource_id={end['tracker_id']}").ids
        self.hook.until(lambda d: set(last) <= {x["event_id"] for x in d} and all(x["status"] == "succeeded" for x in d))
        new = {g.event["id"]: (g.event["type"], g.event["resource_id"]) for g in self.hook.got if g.event["id"] not in self.seen}
        self.seen |= set(new)
        return sorted(e for e in new.values() if e[1] not in (end["id"], end["tracker_id"]))


def test_edge_case_2_a_tracker_update(world, org):
    client = org.client()
    told = Told(world, client)
    tracker = client.post(TRACKERS, {"tracking_number": "QUIET1", "disable_webhooks": True}, expect=201).data
    first, other = tracker["shipments"][0]["id"], client.post(SHIPMENTS, {"tracking_number": "QUIET2"}, expect=201).data
    assert told.since() == sorted([("tracker.created", tracker["id"]), ("shipment.created", first), ("shipment.created", other["id"]), ("tracker.created", other["tracker_id"])])
    path = f"{TRACKERS}/{tracker['id']}"
    client.post(path, {"disable_webhooks": True, "chaining": {"add": [other["id"]]}}, expect=200)
    assert told.since() == sorted([("shipment.updated", other["id"]), ("tracker.deleted", other["tracker_id"])])
    event, = client.get(f"/v1/events?resource_id={tracker['id']}&type=tracker.updated").data
    assert event["disable_webhooks"] is True and client.get("/v1/events/" + event["id"]).data["initial_webhooks"] == []
    client.post(path, {"disable_webhooks": True, "current_shipment_id": other["id"]}, expect=200)
    assert told.since() == sorted([("shipment.updated", first), ("shipment.updated", other["id"])])
    client.post(path, {"disable_webhooks": True, "chaining": {"remove": [first]}}, expect=200)
    own = client.get(f"{SHIPMENTS}/{first}").data["tracker_id"]
    assert told.since() == sorted([("shipment.updated", first), ("tracker.created", own)])
    client.post(path, {"metadata": {"a": "1"}, "disable_webhooks": True}, expect=200)
    client.post(path, {"metadata": {"a": "2"}, "disable_webhooks": False}, expect=200)
    assert told.since() == [("tracker.updated", tracker["id"])]


def test_a_shipment_covers_itself(world, org):
    client = org.client()
    told = Told(world, client)
    row = client.post(SHIPMENTS, {"tracking_number": "QUIET3", "disable_webhooks": True}, expect=201).data
    assert told.since() == [("tracker.created", row["tracker_id"])]
    client.post(f"{SHIPMENTS}/{row['id']}", {"disable_webhooks": True, "tracking_update": {"status": "delivered"}}, expect=200)
    assert told.since() == [("tracker.updated", row["tracker_id"])]
    client.post(f"{SHIPMENTS}/{row['id']}", {"tracking_update": {"comment": "Photo follows"}}, expect=200)
    assert ("shipment.updated", row["id"]) in told.since()
