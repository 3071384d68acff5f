"""What answers have and what they leave out, and what a body says that is no field (docs/spec/06-inference.md sections 2, 7.2, 9.5 and 12)."""
import contextlib
import os
import signal
import subprocess

import pytest

from readings import PATH, contact, drawn, get, labels, numbered, read, text, uri
from wharf import Server, make_location

CANDIDATE = {"id", "name", "email", "phone", "relevance_score", "relevance_score_v3", "_search", "_searchV2", "match_markers", "match_marker_points"}
CHANNELS = {"name", "business", "address", "unit", "phone", "email", "history"}
TINY = labels.bytes_of(labels.Image.new("L", (60, 60), 255))
NOBODY = {"match": {"search": []}}


def scanned(client, number, **body):
    return read(client, TINY, barcode_values=[number], **{"options": NOBODY, **body}).data


# ---- candidates ----

def check_candidate(m, more=frozenset()):
    assert set(m) == CANDIDATE | more
    assert set(m["_search"]) == {"relevance_score", "relevance_score_v4", "combined", "best", "per_field"} and set(m["_searchV2"]) == {"scores", "matches"}
    assert {m["relevance_score"], m["_search"]["relevance_score"], m["_search"]["relevance_score_v4"], m["_search"]["combined"]} == {m["relevance_score"]}
    fields, scores = m["_search"]["per_field"], dict(m["_searchV2"]["scores"])
    assert 0 <= scores.pop("_coverage") <= 1 and scores == fields and set(fields) <= CHANNELS and all(0 < v <= 1 and v == round(v, 4) for v in fields.values())
    assert m["_search"]["best"] == max(fields.values()) and set(m["match_marker_points"]) == set(m["match_markers"]) and all(type(p) is int for p in m["match_marker_points"].values())


def test_a_candidate_has_these_members_and_no_other(client):
    """[S] The same in a reading, in what is stored of it, and in the tools; channels in which nothing matched are absent."""
    jane = contact(client, "Jane Sample", email="jane@example.com", phone="+14255550104", metadata={"company": "Northern Parts LLC"})
    contact(client, "Jan Sample")
    row = read(client, drawn()).data
    again = get(client, row)["recipient"]["matches"]
    shown = client.post(f"{PATH}/match", {"inference_id": row["id"]}, expect=200).data["recipient"]["matches"]
    found = client.get(f"{PATH}/search?name=Jane%20Sample&limit=25", expect=200).data["matches"]
    assert [m["id"] for m in row["recipient"]["matches"]][:1] == [jane] and again == row["recipient"]["matches"] and len(found) == 2
    for m in row["recipient"]["matches"] + shown + found:
        check_candidate(m)
    first = row["recipient"]["matches"][0]
    assert set(first["_search"]["per_field"]) == {"name", "business"} and (first["name"], first["email"], first["phone"]) == ("Jane Sample", "jane@example.com", "+14255550104")
    assert row["recipient"]["contact"] == {"id": jane, "name": "Jane Sample", "email": "jane@example.com", "phone": "+14255550104"}
    for m in read(client, drawn(), options={"match": {"legacy_scoring": True}}).data["recipient"]["matches"]:
        check_candidate(m, {"_similarity"})


# ---- disable_webhooks ----

def test_no_webhook_is_told(org, client):
    """Said of one change: it is no field, and the next change is told again."""
    told = lambda row: [(e[0].split(".")[1], e[1]) for e in org.told("type, disable_webhooks", "resource_id = %s", row["id"])]
    row = scanned(client, numbered(801), disable_webhooks=True)
    assert "disable_webhooks" not in row and "disable_webhooks" not in get(client, row) and told(row) == [("created", True), ("extracted", True)]
    path = f"{PATH}/{row['id']}"
    assert "disable_webhooks" not in client.post(path, {"status": "extracted", "notes": "a", "disable_webhooks": True}, expect=200).data
    client.post(path, {"status": "extracted", "notes": "b", "disable_webhooks": False}, expect=200)
    client.post(path, {"notes": "c", "disable_webhooks": True}, expect=200)
    assert told(row)[2:] == [("updated", True), ("updated", False), ("completed", True), ("updated", True)]
    both = scanned(client, numbered(804), disable_webhooks=True, options={**NOBODY, "tracker": {"create_synchronously": True}})
    assert both["status"] == "completed" and told(both) == [("created", True), ("extracted", True), ("completed", True)]
    assert org.told("disable_webhooks", "resource_id = %s", both["tracker_id"]) == [(False,)], "the tracker's own event is told"
    loud = scanned(client, numbered(802))
    assert told(loud) == told(scanned(client, numbered(803), disable_webhooks=False)) == [("created", False), ("extracted", False)]
    for wrong in ("yes", 1):
        client.refused("POST", PATH, 400, "validation.failed", ["disable_webhooks"], {"image": text(TINY), "disable_webhooks": wrong})
        client.refused("POST", path, 400, "validation.failed", ["disable_webhooks"], {"disable_webhooks": wrong})


# ---- child shipments ----

def test_shipments_inside_of_it_are_set(client):
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    one, two, three, elsewhere = (client.post("/v1/shipments", {"tracking_number": f"SET-{i}", "provider_id": "unknown", "location_id": at}, expect=201).data["id"] for i, at in enumerate((here, here, here, there)))
    outbound = {**NOBODY, "tracker": {"type": "outbound"}}
    row = scanned(client, numbered(811), location_id=here, child_shipments=[one], options=outbound)
    path = f"{PATH}/{row['id']}"
    sent = lambda change: client.post(path, {"status": "extracted", "child_shipments": change}, expect=200).data["child_shipments"]
    assert sent({"set": [two, three]}) == [two, three] and get(client, row)["child_shipments"] == [two, three]
    assert sent({"add": [one], "remove": [two]}) == [three, one] and sent([two]) == [two] and sent({"set": [one, three]}) == [one, three]
    client.refused("POST", path, 400, "validation.failed", ["child_shipments.1"], {"child_shipments": {"set": [one, elsewhere]}})
    client.refused("POST", path, 400, "validation.failed", None, {"child_shipments": {"set": [one], "add": [two]}})
    assert get(client, row)["child_shipments"] == [one, three]
    done = client.post(path, {"options": {"tracker": {"create_synchronously": True}}}, expect=200).data
    assert done["status"] == "completed" and {client.get(f"/v1/shipments/{s}", expect=200).data["parent_id"] for s in (one, three)} == {done["shipment_id"]}
    assert client.get(f"/v1/shipments/{two}", expect=200).data["parent_id"] is None
    other = scanned(client, numbered(812), location_id=here, child_shipments=[two], options=outbound)
    assert client.post(f"{PATH}/{other['id']}", {"status": "extracted", "child_shipments": {"set": []}}, expect=200).data["child_shipments"] == []
    inbound = scanned(client, numbered(813), location_id=here)
    client.refused("POST", f"{PATH}/{inbound['id']}", 400, "validation.failed", ["child_shipments"], {"child_shipments": {"set": [two]}})


# ---- files ----

@pytest.mark.parametrize("type", ["image/jpeg", "image/svg+xml", "application/pdf", "text/plain"])
def test_the_type_that_is_declared_says_nothing(client, type):
    """What the bytes are is looked at."""
    for sent in (uri(drawn(), type), uri(drawn(), type).replace("data:", "DATA:")):
        row = next(r for r in (client.post(PATH, {"image": sent, "options": NOBODY}) for _ in range(10)) if r.status != 503).data
        assert row["document_classification"] in ("shipping_label", "unreadable") and [b["value"] for b in row["barcodes"]] in ([labels.TRACKING], [])
        answer = client.http.get(client.server.base + row["image_url"])
        assert answer.content == drawn() and answer.headers["Content-Type"] == "image/png"


# ---- processes that are no good ----

def send_to_cells(server, what):
    """Sends the signal to all processes below the server's that read images."""
    out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in out.splitlines()]
    known = {server.process.pid}
    for _ in range(6):
        known |= {int(pid) for pid, parent, _ in lines if int(parent) in known}
    for pid, _, args in lines:
        if int(pid) in known and "wharf-cell-image" in args.split()[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), what)


def test_a_picture_that_takes_too_long(server, client):
    """It is given up after 12 seconds, and told: of one image by the row, of several by that image; the others are read."""
    hung = lambda row: "extraction_timeout" in row["errors"] + [i["error"] for i in row["images"] or []]
    try:
        for images in ([drawn()], [drawn(), drawn()]):
            for _ in range(6):  # a request may get to a worker that has no process yet
                read(client, TINY, options=NOBODY)
                send_to_cells(server, signal.SIGSTOP)
                r = client.post(PATH, {"image": [text(i) for i in images], "options": NOBODY})
                send_to_cells(server, signal.SIGKILL)
                if r.status == 201 and hung(r.data):
                    break
            row = r.data
            assert r.status == 201 and hung(row), r
            if len(images) == 1:
                assert row["status"] == "error" and row["errors"] == ["extraction_timeout", "unknown_provider"] and row["tracking_number"] is None
            else:
                good = [i for i in row["images"] if i["error"] is None]
                assert {i["error"] for i in row["images"]} <= {None, "extraction_timeout"} and [i["selected"] for i in good] in ([True], [])
                assert row["tracking_number"] == (labels.TRACKING if good else None)
    finally:
        send_to_cells(server, signal.SIGKILL)
    assert read(client, drawn(), options=NOBODY).data["tracking_number"] == labels.TRACKING



def test_a_cell_that_does_not_start(tmp_path):
    """Creating is refused as where all are busy, to be tried again; what needs no picture goes on."""
    program = tmp_path / "wharf-cell-image"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    s = Server("--modules", "org,carriers,inference", "--set", f"cell.dir={tmp_path}")
    try:
        client = s.organization().client()
        r = client.refused("POST", PATH, 503, "overloaded", None, {"image": text(TINY)})
        assert r.raw.headers["Retry-After"] == "2"
        assert client.get(PATH, expect=200).data == []
    finally:
        s.stop()
