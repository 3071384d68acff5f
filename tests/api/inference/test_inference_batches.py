"""Batches of shipping label inferences (docs/spec/06-inference.md section 6, docs/spec/10-batches.md sections 3 and 8.1): accepted with the item, read by a job."""
import contextlib
import os
import signal
import sys
import threading

import pytest

from outside import Host
from readings import PATH, drawn, labels, numbered, read, text, whole
from wharf import ROOT, Server, until

sys.path.insert(0, str(ROOT / "tests/api/batches"))
from test_batches import BATCHES, ids, lines, run  # noqa: E402
from test_batches_background import later  # noqa: E402
from test_batches_files import data_url, table  # noqa: E402

RESOURCE = "shipping_label_inference"
MODULES = "org,locations,carriers,contacts,shipments,trackers,events,batches,inference"
FAILING = []


class SLOW:
    """A page that answers when it is told to."""
    asked, go = [], threading.Event()


@contextlib.contextmanager
def slow():
    SLOW.asked, SLOW.go = [], threading.Event()
    try:
        yield
    finally:
        SLOW.go.set()


def waiting(h):
    SLOW.asked.append(h.path)
    SLOW.go.wait(60)
    h.answer(200, drawn())


def page(status, body=b""):
    return lambda h: h.answer(status, body)


def failing(h):
    FAILING.append(h.path)
    h.answer(500, b"not now")


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    h = Host(tmp_path_factory.mktemp("ca"), "labels.example.test", {"/label.png": lambda h: h.answer(200, drawn()), "/gone.png": page(404), "/text.png": page(200, b"no image"), "/failing.png": failing, "/slow.png": waiting})
    yield h
    h.shutdown()


@pytest.fixture(scope="module")
def server(host):
    s = Server("--modules", MODULES, "--set", "rate_limit.key=0", *host.settings)
    yield s
    s.stop()


def small(**more):
    """A label whose picture fits into an item of a batch."""
    return text(labels.bytes_of(labels.Image.open(labels.io.BytesIO(drawn(**more))).convert("1"), optimize=True))


def get(client, id):
    return client.get(f"{PATH}/{id}?include_extraction=true", expect=200).data


def over(client, id):
    """The reading when its job is over."""
    return whole(until(lambda: next((r for r in (get(client, id),) if r["status"] != "processing"), None), "it was not read"))


def batch(client, data, mode="sync", **more):
    return later(client, data, resource=RESOURCE, **more) if mode == "async" else run(client, data, mode=mode, resource=RESOURCE, **more)


def operations(client, b):
    return [(i["index"], i["operation"]) for i in client.get(f"{BATCHES}/{b['id']}/items?limit=1000").data if i["state"] == "done"]


def made(client, b):
    return [i["result_id"] for i in client.get(f"{BATCHES}/{b['id']}/items?state=done&limit=1000").data]


# ---- creating ----

@pytest.mark.parametrize("mode", ["sync", "mixed", "async"])
def test_labels_are_accepted_and_read(org, client, host, mode):
    jane = client.post("/v1/contacts", {"name": "Jane Sample"}, expect=201).data["id"]
    place = client.post("/v1/locations", {"name": "Mail room", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    b = batch(client, [{"image": small(tracking=numbered(101)), "metadata": {"shelf": "A"}}, {"image_url": host.url("/label.png"), "location_id": None, "notes": "from the web"},
                       {"image": small(tracking=None), "barcode_values": [numbered(102)], "options": {"match": {"search": []}}}, {"image": []}], mode, location_id=place, properties={"metadata": {"by": "batch"}})
    assert (b["status"], b["stats"]["created"], b["stats"]["errors"]) == ("completed", 3, 1) and operations(client, b) == [(0, "created"), (1, "created"), (2, "created")]
    one, two, three = (over(client, i) for i in made(client, b))
    assert [(r["tracking_number"], r["status"], r["errors"]) for r in (one, two, three)] == [(numbered(101), "extracted", []), (labels.TRACKING, "extracted", []), (numbered(102), "extracted", [])]
    assert (one["metadata"], one["location_id"], one["recipient"]["contact_id"], one["raw_text"] != "") == ({"shelf": "A", "by": "batch"}, place, jane, True)
    assert (two["location_id"], two["notes"], two["recipient"]["contact_id"]) == (None, "from the web", jane) and three["recipient"]["matching_decision"] is None
    assert [c["source"] for c in three["barcodes"]] == ["request"] and one["extraction"]["tracking_number"]["source"] == "barcode" and one["created_by"] == one["updated_by"] == b["created_by"]
    for row in (one, two):
        picture = client.http.get(org.server.base + row["image_url"] if row["image_url"].startswith("/") else row["image_url"])
        assert picture.status_code == 200 and picture.headers["Content-Type"] == "image/png"
    told = [e[0] for e in org.events(one["id"])]
    assert told[0] == f"{RESOURCE}.created" and told.count(f"{RESOURCE}.extracted") == 1 and set(told) <= {f"{RESOURCE}.{w}" for w in ("created", "extracted", "updated")}


def test_several_images(client, host):
    box = text(labels.bytes_of(labels.Image.new("1", (600, 800), 1)))
    b = batch(client, [{"image": [box, small()], "image_url": host.url("/label.png")}, {"image": ["%%%", small(tracking=numbered(103))]}])
    one, two = (over(client, i) for i in made(client, b))
    assert [i["selected"] for i in one["images"]] in ([False, True, False], [False, False, True]) and len(one["media_urls"]) == 3 and one["tracking_number"] == labels.TRACKING
    assert [i["error"] for i in two["images"]] == ["inference.image_invalid", None] and two["tracking_number"] == numbered(103)


def test_items_that_are_refused(client):
    """As the create refuses them; nothing is kept of them."""
    good = small()
    bad = [({}, "inference.image_required", []), ({"image": []}, "inference.image_required", []), ({"image": [good] * 5}, "inference.too_many_images", []), ({"image": [good, ""]}, "validation.failed", ["image.1"]),
           ({"image": 7}, "validation.failed", ["image"]), ({"image_url": "http://example.com/a.png"}, "inference.protocol", ["image_url"]), ({"image_url": "https://127.0.0.1/a"}, "inference.url", ["image_url"]),
           ({"image_url": ["https://localhost/a"]}, "inference.hostname", ["image_url.0"]), ({"image": "%%%"}, "inference.image_invalid", ["image"]), ({"image": good, "barcode_values": "x"}, "validation.failed", ["barcode_values"]),
           ({"image": good, "barcode_values": ["x"] * 51}, "validation.failed", ["barcode_values"]), ({"image": good, "barcode_values": ["x" * 2001]}, "validation.failed", ["barcode_values"]),
           ({"image": good, "barcode_values": [["a"]]}, "validation.failed", ["barcode_values"]), ({"image": good, "options": {"match": {"limit": 26}}}, "validation.failed", ["options.match.limit"]),
           ({"image": good, "options": {"match": {"location": True}}}, "validation.failed", ["options.match.location"]), ({"image": good, "location_id": "loc_0000000000000000000000"}, "validation.failed", ["location_id"])]
    b = batch(client, [item for item, _, _ in bad])
    assert [(e["index"], e["code"], e["errors"]) for e in b["errors"]] == [(i, code, errors) for i, (_, code, errors) in enumerate(bad)] and b["stats"]["created"] == 0
    assert client.get(PATH, expect=200).data == []


def test_trying_out_keeps_nothing(server, org, client):
    b = batch(client, [{"image": small()}, {"image": "%%%"}], validate_only=True)
    assert b["stats"]["errors"] == 1 and client.get(PATH, expect=200).data == [] and server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s AND plugin = 'inference'", org.id) == [(0,)]


def test_a_table_of_urls(client, host):
    b = batch(client, data_url(table([["image", "barcode values", "metadata.shelf"], [host.url("/label.png"), "REF1; REF2", "A"]])))
    row = over(client, ids(b)[0])
    assert row["tracking_number"] == labels.TRACKING and row["metadata"] == {"shelf": "A"} and {"REF1", "REF2"} <= {c["value"] for c in row["barcodes"]}


# ---- what can't be read ----

def test_images_that_can_not_be_had(client, host):
    b = batch(client, [{"image_url": host.url("/gone.png")}, {"image_url": host.url("/text.png")}, {"image": text(b"no image at all")}, {"image_url": host.url("/failing.png")}])
    rows = [over(client, i) for i in made(client, b)]
    assert [(r["status"], r["errors"], r["image_url"]) for r in rows] == [("error", [e, "unknown_provider"], None) for e in ("image_unavailable", "image_unreadable", "image_unreadable", "image_unavailable")]
    assert FAILING == ["/failing.png"] * 3
    put = client.post(f"{PATH}/{rows[0]['id']}", {"tracking_number": numbered(104)}, expect=200).data
    assert (put["status"], put["errors"], put["provider_id"]) == ("completed", [], "ups"), "somebody says what was on it"


def test_one_of_several_can_not_be_had(client, host):
    b = batch(client, [{"image": small(), "image_url": host.url("/gone.png")}])
    row = over(client, ids(b)[0])
    assert [i["error"] for i in row["images"]] == [None, "inference.unreachable"] and (row["status"], row["tracking_number"]) == ("extracted", labels.TRACKING)


# ---- while it is processed, and what a delete leaves ----

def test_a_reading_that_is_processed(server, org, client, host):
    """What the row is until its images are there. No transaction is open while the job waits for them."""
    with slow():
        b = batch(client, [{"image_url": host.url("/slow.png")}])
        row = get(client, ids(b)[0])
        until(lambda: SLOW.asked, "the image is asked for")
        assert row["status"] == "processing" and row["errors"] == [] and row["images"] is None and row["image_url"] is None and row["media_urls"] == [] and row["tracking_number"] is None
        assert client.get(f"{PATH}?status=processing", expect=200).ids == [row["id"]]
        until(lambda: server.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'") == [(0,)], "no transaction waits")
        client.refused("POST", f"{PATH}/{row['id']}", 409, "inference.processing", [], {"notes": "x"})
        client.delete(f"{PATH}/{row['id']}", expect=200)
        client.get(f"{PATH}/{row['id']}", expect=404)
    until(lambda: server.sql("SELECT count(*) FROM wharf.job WHERE queue = 'inference.read' AND organization_id = %s", org.id) == [(0,)], "the job of what is deleted ends")
    assert server.sql("SELECT status, images_kept FROM inference.shipping_label WHERE id = %s", row["id"]) == [("processing", None)]
    assert server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s AND plugin = 'inference'", org.id) == [(0,)]


def test_two_readings_of_an_organization_at_a_time(server, org, client, host):
    """The others wait, and those of another organization do not wait for them."""
    asked = lambda who: sorted({p for p in SLOW.asked if f"who={who}" in p})
    mine = [host.url(f"/slow.png?who=me&n={n}") for n in range(4)]
    with slow():
        first = ids(batch(client, [{"image_url": u} for u in mine]))
        until(lambda: len(asked("me")) == 2, "two are begun")
        other = server.organization().client()
        second = ids(batch(other, [{"image_url": host.url(f"/slow.png?who=other&n={n}")} for n in range(2)]))
        until(lambda: len(asked("other")) == 2, "those of the other organization are begun")
        # on a machine that is late a fetch ends by its own time, and the next one begins
        jobs = server.sql("SELECT state, attempts FROM wharf.job WHERE queue = 'inference.read' AND organization_id = %s", org.id)
        assert sum(state == "running" for state, _ in jobs) <= 2 and (len(asked("me")) == 2 or any(attempts for _, attempts in jobs)), jobs
        assert {get(client, i)["status"] for i in first} == {"processing"}
    assert {over(client, i)["tracking_number"] for i in first} | {over(other, i)["tracking_number"] for i in second} == {labels.TRACKING} and len(asked("me")) == 4


def test_deletes_leave_no_image(server, org, client):
    b = batch(client, [{"image": small(tracking=numbered(105))}, {"image": small(tracking=numbered(106))}])
    rows = [over(client, i) for i in ids(b)]
    hashes = [h for h, in server.sql("SELECT hash FROM wharf.file WHERE organization_id = %s AND plugin = 'inference'", org.id)]
    objects = [server.folder / "blobs" / "objects" / h[:2] / h for h in hashes]
    assert len(objects) == 2 and all(o.exists() for o in objects)
    d = batch(client, [{"id": r["id"]} for r in rows] + [{"id": "inf_sl_0000000000000000000000"}, {}], action="delete")
    assert operations(client, d) == [(0, "deleted"), (1, "deleted")] and lines(d, "index", "code") == [(2, "not_found"), (3, "validation.failed")]
    until(lambda: not any(o.exists() for o in objects), "the bytes are erased at once")
    assert server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s AND plugin = 'inference'", org.id) == [(0,)]


def test_images_that_are_not_stored(server, org, client):
    client.post("/v1/org", {"settings": {"inferences": {"store_images": False}}}, expect=200)
    b = batch(client, [{"image": small(tracking=numbered(107))}])
    row = over(client, ids(b)[0])
    assert (row["tracking_number"], row["image_url"]) == (numbered(107), None)
    assert server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s AND plugin = 'inference'", org.id) == [(0,)]


# ---- trackers ----

def test_trackers_of_a_batch(org, client):
    wish = {"tracker": {"create_automatically": True}, "match": {"search": []}}
    row = over(client, ids(batch(client, [{"image": small(tracking=numbered(108)), "options": {**wish, "tracker": {"create_synchronously": True}}}]))[0])
    assert row["status"] == "completed" and client.get(f"/v1/trackers/{row['tracker_id']}", expect=200).data["tracking_number"] == numbered(108)
    row = ids(batch(client, [{"image": small(tracking=numbered(109)), "options": wish}]))[0]
    assert until(lambda: get(client, row)["tracker_id"], "the job of the tracker follows")
    limited = org.client(scopes="inferences:write,batches:write,contacts:read")
    row = over(limited, ids(batch(limited, [{"image": small(tracking=numbered(110)), "options": wish}]))[0])
    assert (row["status"], row["errors"], row["tracker_id"]) == ("error", ["tracker_forbidden"], None)


# ---- updating ----

def test_updates_and_overwrites(client):
    jane = client.post("/v1/contacts", {"name": "Jane Sample"}, expect=201).data["id"]
    one, two = read(client, drawn(tracking=numbered(111)), notes="a").data, read(client, drawn(tracking=numbered(112)), metadata={"k": "v"}).data
    b = batch(client, [{"id": one["id"], "status": "extracted", "recipient": {"contact_id": jane}, "notes": "b"}, {"id": two["id"], "status": "processing"}, {"id": two["id"].replace(two["id"][-3:], "zzz"), "notes": "x"}])
    assert operations(client, b) == [(0, "updated")] and lines(b, "index", "code") == [(1, "inference.status_invalid"), (2, "not_found")]
    now = get(client, one["id"])
    assert (now["status"], now["notes"], now["recipient"]["contact_id"], now["tracking_number"]) == ("extracted", "b", jane, numbered(111))
    b = batch(client, [{"id": two["id"], "tracking_number": numbered(113), "purchase_order": "P-1", "status": "extracted"}, {"notes": "who?"}], action="overwrite")
    assert operations(client, b) == [(0, "overwritten")] and lines(b, "index", "code", "errors") == [(1, "validation.failed", ["id"])]
    now = get(client, two["id"])
    assert (now["tracking_number"], now["provider_id"], now["purchase_order"], now["metadata"], now["recipient"], now["weight"], now["tags"]) == (numbered(113), "ups", "P-1", {}, None, None, [])
    assert now["raw_text"] == two["raw_text"] and now["status"] == "extracted", "what was read of it stays"


@pytest.mark.parametrize("mode", ["sync", "mixed", "async"])
def test_every_action_in_every_mode(client, mode):
    rows = [over(client, i)["id"] for i in made(client, batch(client, [{"image": small(tracking=numbered(116 + i))} for i in range(2)], mode))]
    for action, body, operation in (("merge", {"notes": "a", "metadata": {"k": "v"}}, "updated"), ("overwrite", {"notes": "b", "tracking_number": numbered(118)}, "overwritten"), ("delete", {}, "deleted")):
        b = batch(client, [{"id": id, **body} for id in rows], mode, action=action)
        assert operations(client, b) == [(0, operation), (1, operation)], (action, b)
        if action != "delete":
            assert [(r["notes"], r["metadata"]) for r in (get(client, id) for id in rows)] == [(body["notes"], body.get("metadata", {}))] * 2
    assert client.get(PATH, expect=200).data == []


@pytest.mark.parametrize("action, properties, expected", [("merge", {"notes": "all"}, "updated"), ("delete", None, "deleted"), ("overwrite", {"notes": "all", "tracking_number": "1Z999AA10123456784"}, "overwritten")])
def test_those_that_match_filters(client, action, properties, expected):
    one, two = read(client, drawn(tracking=numbered(114))).data, read(client, drawn(tracking=numbered(115))).data
    body = {"resource": RESOURCE, "action": action, "data": [], "filters": {"tracking_number": numbered(114)}, **({"properties": properties} if properties else {})}
    b = client.post(BATCHES, body, expect=202).data
    done = until(lambda: next((x for x in (client.get(f"{BATCHES}/{b['id']}").data,) if x["status"] == "completed"), None), "the batch ends")
    assert done["stats"][expected] == 1 and get(client, two["id"])["notes"] is None
    if action == "delete":
        client.get(f"{PATH}/{one['id']}", expect=404)
    else:
        assert get(client, one["id"])["notes"] == "all"


# ---- a server that dies ----

def test_a_reading_outlives_its_worker(server, client, host):
    """The job of a worker that is gone is run by the next one; what ended two of them is given up."""
    with slow():
        row = ids(batch(client, [{"image_url": host.url("/slow.png")}]))[0]
        for n in (1, 2):
            until(lambda: len(SLOW.asked) == n, f"run {n} asks for the image")
            for pid in server.workers("job"):
                os.kill(pid, signal.SIGKILL)
        assert over(client, row)["errors"] == ["extraction_failed", "unknown_provider"] and len(SLOW.asked) == 2
    with slow():
        row = ids(batch(client, [{"image_url": host.url("/slow.png")}]))[0]
        until(lambda: SLOW.asked, "the image is asked for")
        for pid in server.workers("job"):
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(SLOW.asked) == 2, "the next worker asks for it")
    assert over(client, row)["tracking_number"] == labels.TRACKING


def test_trackers_of_readings(client):
    """A batch of trackers completes the readings that its items name, with a number or without."""
    rows = [read(client, drawn(tracking=numbered(190 + i)), options={"match": {"search": []}}).data for i in range(3)]
    b = run(client, [{"inference_id": rows[0]["id"]}, {"inference_id": rows[1]["id"], "tracking_number": numbered(191)}, {"inference_id": rows[2]["id"], "tracking_number": numbered(192)}], resource="tracker")
    assert (b["status"], b["stats"]["created"], b["stats"]["errors"]) == ("completed", 3, 0)
    now = [get(client, r["id"]) for r in rows]
    assert [(r["status"], client.get(f"/v1/trackers/{r['tracker_id']}", expect=200).data["tracking_number"]) for r in now] == [("completed", numbered(190 + i)) for i in range(3)]
