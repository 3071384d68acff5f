"""Trackers of labels: made by hand of a reading (docs/spec/03-shipments-and-trackers.md section 5.2), and the time that a request has for one (docs/spec/06-inference.md section 5)."""
import os
import signal

from readings import PATH, contact, drawn, get, numbered, read, text
from wharf import make_location, until

AT_ONCE = {"tracker": {"create_synchronously": True}}
NOBODY = "inf_sl_0000000000000000000000"


def track(client, row, expect=201, **more):
    return client.post("/v1/trackers", {"inference_id": row["id"], **more}, expect=expect).data


# ---- POST /v1/trackers with inference_id alone ----

def test_a_tracker_of_the_reading_alone(org, client):
    """All that the label says, and both know each other."""
    here = make_location(client, "Here")["id"]
    shelf = client.post(f"/v1/locations/{here}/layouts", {"name": "Shelf"}, expect=201).data["id"]
    jane = contact(client, "Jane Sample")
    row = read(client, drawn(tracking=numbered(501)), location_id=here, layout_id=shelf, options={"tracker": {"type": "inbound"}}).data
    tracker = track(client, row)
    assert (tracker["tracking_number"], tracker["provider_id"], tracker["type"], tracker["inference_id"]) == (numbered(501), "ups", "inbound", row["id"])
    assert (tracker["location_id"], tracker["layout_id"], tracker["recipient_contact_id"]) == (here, shelf, jane)
    leg = client.get(f"/v1/shipments/{tracker['current_shipment_id']}", expect=200).data
    assert leg["sender"]["business"] == "ACME SUPPLY COMPANY" and leg["location_id"] == here
    now = get(client, row)
    assert (now["status"], now["errors"], now["tracker_id"], now["shipment_id"]) == ("completed", [], tracker["id"], tracker["current_shipment_id"])
    assert [e[0] for e in org.events(row["id"])] == [f"shipping_label_inference.{w}" for w in ("created", "extracted", "completed")]
    client.refused("POST", "/v1/trackers", 409, "inference.tracker_exists", ["inference_id"], {"inference_id": row["id"]})


def test_what_is_sent_wins_over_the_reading(client):
    """Members that are sent stay as they are; another location takes the layout away, and null is an answer too."""
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    shelf = client.post(f"/v1/locations/{here}/layouts", {"name": "Shelf"}, expect=201).data["id"]
    jane, joe = contact(client, "Jane Sample"), contact(client, "Joe Other")
    row = read(client, drawn(tracking=numbered(502)), location_id=here, layout_id=shelf).data
    assert row["recipient_contact_id"] == jane
    tracker = track(client, row, location_id=there, recipient_contact_id=joe, type="outbound", metadata={"by": "hand"})
    assert (tracker["location_id"], tracker["layout_id"], tracker["recipient_contact_id"], tracker["type"], tracker["metadata"]) == (there, None, joe, "outbound", {"by": "hand"})
    row = read(client, drawn(tracking=numbered(503)), location_id=here).data
    tracker = track(client, row, location_id=None, provider_id="fedex")
    assert (tracker["location_id"], tracker["provider_id"]) == (None, "fedex")


def test_readings_that_can_have_no_tracker(org, client, server):
    contact(client, "Peter Unlike")
    refused = lambda who, id, status, code, path: who.refused("POST", "/v1/trackers", status, code, path, {"inference_id": id})
    refused(client, NOBODY, 400, "validation.failed", ["inference_id"])
    client.refused("POST", "/v1/trackers", 400, "validation.failed", ["tracking_number"], {"inference_id": None})
    client.refused("POST", "/v1/trackers", 400, "validation.failed", ["tracking_number"], {})
    open_row = read(client, drawn(tracking=numbered(511))).data
    assert (open_row["status"], open_row["errors"]) == ("error", ["no_matches"])
    refused(client, open_row["id"], 400, "inference.unresolved_errors", ["inference_id"])
    lax = {"match": {"search": []}}
    no_number = read(client, drawn(tracking=None), options=lax).data
    refused(client, no_number["id"], 400, "validation.failed", ["tracking_number"])
    gone = read(client, drawn(tracking=numbered(512)), options=lax).data
    client.delete(f"{PATH}/{gone['id']}", expect=200)
    refused(client, gone["id"], 400, "validation.failed", ["inference_id"])
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    row = read(client, drawn(tracking=numbered(513)), location_id=there, options=lax).data
    refused(org.client(locations=[here]), row["id"], 403, "location_access", [there])
    refused(org.client(scopes="trackers:write,shipments:write"), row["id"], 403, "scope_access", ["inferences:read"])
    for w in server.workers("job"):
        os.kill(w, signal.SIGSTOP)
    try:
        later = client.post(PATH, {"image": text(drawn(tracking=numbered(514)))}, headers={"Prefer": "respond-async"}, expect=202).data
        refused(client, later["id"], 409, "inference.processing", ["inference_id"])
    finally:
        for w in server.workers("job"):
            os.kill(w, signal.SIGCONT)
    assert client.get("/v1/trackers").data == [] and get(client, row)["status"] == "extracted"
    chosen = client.post(f"{PATH}/{open_row['id']}", {"recipient": {"name": "Jane"}, "status": "extracted", "options": {"match": {"search": []}}}, expect=200).data
    assert chosen["errors"] == [] and track(client, chosen)["tracking_number"] == numbered(511)


def test_the_tracker_that_is_there_is_taken(client):
    """200, as without a reading; the reading is completed by it. One that was completed by hand gets its tracker too."""
    lax = {"match": {"search": []}}
    known = client.post("/v1/trackers", {"tracking_number": numbered(521)}, expect=201).data
    row = read(client, drawn(tracking=numbered(521)), options=lax).data
    assert track(client, row, expect=200)["id"] == known["id"]
    now = get(client, row)
    assert (now["status"], now["tracker_id"], now["shipment_id"]) == ("completed", known["id"], known["current_shipment_id"])
    row = read(client, drawn(tracking=numbered(522)), options=lax).data
    assert client.post(f"{PATH}/{row['id']}", {"status": "completed"}, expect=200).data["tracker_id"] is None
    tracker = track(client, row)
    assert (get(client, row)["status"], get(client, row)["tracker_id"]) == ("completed", tracker["id"])


def test_after_a_tracker_that_failed(org, client):
    """That an earlier one could not be made is no reason against the next."""
    limited = org.client(scopes="inferences:write,contacts:read")
    row = read(limited, drawn(tracking=numbered(531)), options=AT_ONCE).data
    assert (row["status"], row["errors"]) == ("error", ["tracker_forbidden"])
    tracker = track(client, row)
    now = get(client, row)
    assert (now["status"], now["errors"], now["tracker_id"]) == ("completed", [], tracker["id"])


def test_shipments_inside_of_it_get_their_parent(client):
    here = make_location(client, "Here")["id"]
    inner = client.post("/v1/shipments", {"tracking_number": "IN-1", "provider_id": "unknown", "location_id": here}, expect=201).data["id"]
    row = read(client, drawn(tracking=numbered(541)), location_id=here, child_shipments=[inner], options={"tracker": {"type": "outbound"}}).data
    tracker = track(client, row)
    assert tracker["type"] == "outbound" and client.get(f"/v1/shipments/{inner}", expect=200).data["parent_id"] == tracker["current_shipment_id"]


# ---- how long a request waits for its tracker ----

def test_a_tracker_that_takes_too_long(server, client):
    """[S] 5 seconds: then the answer is 201, with the reason in the row; nothing of the tracker stays, and a later try makes it."""
    server.sql("CREATE FUNCTION trackers.slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(4); RETURN NEW; END$$")
    for table in ("shipments.shipment", "trackers.tracker"):
        server.sql(f"CREATE TRIGGER slow BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION trackers.slow()")
    try:
        row = read(client, drawn(tracking=numbered(551)), options=AT_ONCE)
        assert (row.data["status"], row.data["errors"], row.data["tracker_id"], row.data["tracking_number"]) == ("error", ["tracker_failed"], None, numbered(551))
        assert "Retry-After" not in row.raw.headers and client.get("/v1/trackers").data == [] and client.get("/v1/shipments").data == []
    finally:
        for table in ("shipments.shipment", "trackers.tracker"):
            server.sql(f"DROP TRIGGER slow ON {table}")
    client.post(f"{PATH}/{row.data['id']}", {"notes": "again"}, expect=200)
    assert until(lambda: get(client, row.data)["tracker_id"], "no tracker came")
