"""Labels that are read by a job: `Prefer: respond-async` (docs/spec/06-inference.md sections 2 and 5)."""
import os
import random
import signal

from readings import PATH, contact, drawn, get, labels, numbered, text, whole
from wharf import BUILD, Server, make_location, until

LATER = {"Prefer": "respond-async"}


def later(client, images, **body):
    r = client.post(PATH, {"image": [text(i) for i in images] if isinstance(images, list) else text(images), **body}, headers=LATER, expect=202)
    assert r.raw.headers["Preference-Applied"] == "respond-async"
    assert (r.data["status"], r.data["errors"], r.data["tracking_number"], r.data["recipient"]) == ("processing", [], None, None)
    return r.data


def ended(client, row):
    return whole(until(lambda: next((r for r in (get(client, row),) if r["status"] != "processing"), None), "it was not read"))


def files(server, org):
    return server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s", org.id)[0][0]


def test_read_by_a_job(org, client):
    jane = contact(client, "Jane Sample")
    row = later(client, drawn(tracking=numbered(201)), metadata={"shelf": "A"})
    now = ended(client, row)
    assert (now["status"], now["tracking_number"], now["recipient"]["contact_id"], now["metadata"]) == ("extracted", numbered(201), jane, {"shelf": "A"})
    assert client.http.get(client.server.base + now["image_url"]).content == drawn(tracking=numbered(201))
    told = [e[0] for e in org.events(row["id"])]
    assert told[0] == "shipping_label_inference.created" and told.count("shipping_label_inference.extracted") == 1 and set(told[1:]) == {"shipping_label_inference.extracted", "shipping_label_inference.updated"}, told
    assert client.get(f"{PATH}?status=processing").data == []


def test_several_images(client):
    box = labels.bytes_of(labels.Image.new("L", (600, 800), 200))
    row = later(client, [b"no image", box, drawn(tracking=numbered(202))], barcode_values=[["a"], [], ["b"]], options={"images": {"barcodes_from_all": True}})
    assert [i["error"] for i in row["images"]] == ["inference.image_invalid", None, None]
    now = ended(client, row)
    assert [i["selected"] for i in now["images"]] == [False, False, True] and now["images"][0]["error"] == "inference.image_invalid" and len(now["media_urls"]) == 2
    assert {b["value"] for b in now["barcodes"] if b["source"] == "request"} == {"a", "b"}


def test_what_is_wrong_at_once(client):
    """Images are fetched and looked at before the answer."""
    for body, code in (({}, "inference.image_required"), ({"image": "%%%"}, "inference.image_invalid"), ({"image": [text(b"no image"), text(b"nor this")]}, "inference.image_invalid"),
                       ({"image_url": "https://127.0.0.1/a.png"}, "inference.url"), ({"image": text(drawn()[:2000])}, "inference.image_invalid")):
        client.refused("POST", PATH, 400, code, body=body, headers=LATER)
    client.refused("POST", PATH, 400, "validation.failed", ["options.extraction.languages"], {"image": text(drawn()), "options": {"extraction": {"languages": ["xxx"]}}}, headers=LATER)


def test_while_it_is_read(client, server):
    """Nobody changes it meanwhile; it may be deleted, and its images go."""
    for w in server.workers("job"):
        os.kill(w, signal.SIGSTOP)
    try:
        row = later(client, drawn())
        for sent in ({"notes": "x"}, {"status": "extracted"}, {"recipient": {"name": "Somebody"}}):
            client.refused("POST", f"{PATH}/{row['id']}", 409, "inference.processing", body=sent)
        assert client.get(f"{PATH}?status=processing").ids == [row["id"]]
        client.delete(f"{PATH}/{row['id']}", expect=200)
    finally:
        for w in server.workers("job"):
            os.kill(w, signal.SIGCONT)
    client.get(f"{PATH}/{row['id']}", expect=404)
    assert ended(client, later(client, drawn()))["status"] == "extracted"


def test_images_that_are_not_kept(server, org, client):
    """They are stored until they are read, and nobody gets a link to them."""
    client.post("/v1/org", {"settings": {"inferences": {"store_images": False}}}, expect=200)
    row = later(client, drawn())
    assert row["image_url"] is None
    now = ended(client, row)
    assert now["tracking_number"] == labels.TRACKING and now["image_url"] is None and files(server, org) == 0


def test_trackers(org, client):
    """Made by the job or within it, with the rights of the key that sent the label."""
    one = ended(client, later(client, drawn(tracking=numbered(211)), options={"tracker": {"create_synchronously": True}}))
    assert one["status"] == "completed" and client.get(f"/v1/trackers/{one['tracker_id']}", expect=200).data["inference_id"] == one["id"]
    two = later(client, drawn(tracking=numbered(212)), options={"tracker": {"create_automatically": True}})
    assert until(lambda: get(client, two)["tracker_id"], "no tracker came")
    limited = org.client(scopes="inferences:write,contacts:read")
    three = ended(client, later(limited, drawn(tracking=numbered(213)), options={"tracker": {"create_synchronously": True}}))
    assert (three["status"], three["errors"], three["tracker_id"]) == ("error", ["tracker_forbidden"], None)


def test_with_the_locations_of_the_key(org, client):
    """Contacts that the key does not reach are no candidates, whoever runs the job."""
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    contact(client, "Jane Sample", locations=[there])
    mine = contact(client, "Jane Sample", locations=[here])
    row = ended(client, later(org.client(locations=[here]), drawn(), location_id=here))
    assert (row["recipient"]["contact_id"], [m["id"] for m in row["recipient"]["matches"]]) == (mine, [mine])


def test_a_key_that_is_gone(server, org, client):
    """Who may not ask any more is not worked for: the reading says that nothing came of it."""
    for w in server.workers("job"):
        os.kill(w, signal.SIGSTOP)
    try:
        row = later(org.client(), drawn())
        server.sql("UPDATE wharf.api_key SET revoked_at = now() WHERE organization_id = %s AND id = (SELECT created_by FROM inference.shipping_label WHERE id = %s)", org.id, row["id"])
    finally:
        for w in server.workers("job"):
            os.kill(w, signal.SIGCONT)
    now = ended(client, row)
    assert (now["status"], now["errors"]) == ("error", ["extraction_failed", "unknown_provider"])


def test_the_same_label_twice(client):
    wish = {"postprocess": {"require_unique_hash": True}}
    rows = [later(client, drawn(tracking=numbered(221)), options=wish) for _ in range(2)]
    assert sorted(ended(client, r)["errors"] for r in rows) == [[], ["duplicate"]]


def test_an_answer_that_is_given_again(client):
    """With an Idempotency-Key there is one reading."""
    headers = {**LATER, "Idempotency-Key": "label-1"}
    ids = {client.post(PATH, {"image": text(drawn())}, headers=headers, expect=202).data["id"] for _ in range(2)}
    assert len(ids) == 1 and len(client.get(PATH).ids) == 1


def test_its_worker_dies_twice(client, server):
    """A reading whose worker is killed is begun once more; after the second time it is given up."""
    noise = labels.Image.frombytes("L", (2600, 3000), random.Random(7).randbytes(2600 * 3000))
    row = later(client, labels.bytes_of(noise))
    for n in (1, 2):
        until(lambda: server.sql("SELECT 1 FROM inference.shipping_label WHERE id = %s AND tries = %s", row["id"], n), "it was not begun")
        for w in server.workers("job"):
            os.kill(w, signal.SIGKILL)
    now = ended(client, row)
    assert (now["status"], now["errors"]) == ("error", ["extraction_failed", "unknown_provider"]) and now["image_url"]
    assert client.post(f"{PATH}/{row['id']}", {"tracking_number": labels.TRACKING}, expect=200).data["status"] == "completed", "somebody reads it and says so"


def test_no_process_for_twenty_tries(tmp_path):
    """A reading that finds none is tried again; what failed twenty times before is given up."""
    program = tmp_path / "wharf-cell-image"
    program.symlink_to(BUILD / "cells/wharf-cell-image")
    s = Server("--modules", "org,carriers,inference", "--set", "rate_limit.key=0", "--set", f"cell.dir={tmp_path}")
    try:
        client = s.organization().client()
        workers = s.workers("job")
        for w in workers:
            os.kill(w, signal.SIGSTOP)
        rows = [later(client, drawn()) for _ in range(2)]
        jobs = [r[0] for r in s.sql("SELECT id FROM wharf.job WHERE queue = 'inference.read' ORDER BY id")]
        for job, failed in zip(jobs, (18, 20), strict=True):
            s.sql("UPDATE wharf.job SET attempts = %s WHERE id = %s", failed, job)
        program.unlink()
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        for w in workers:
            os.kill(w, signal.SIGCONT)
        now = ended(client, rows[1])
        assert (now["status"], now["errors"]) == ("error", ["extraction_failed", "unknown_provider"])
        until(lambda: s.sql("SELECT 1 FROM wharf.job WHERE id = %s AND attempts = 19", jobs[0]), "it was not tried")
        assert get(client, rows[0])["status"] == "processing"
    finally:
        s.stop()
