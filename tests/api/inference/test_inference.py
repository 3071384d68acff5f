"""Shipping labels read over HTTP: what is on them, whom they mean, what becomes of them (docs/spec/06-inference.md sections 1 to 6)."""
import base64
import concurrent.futures

import pytest

from readings import PATH, contact, drawn, get, labels, numbered, read, text
from wharf import Server, until

# ---- one label ----

def test_a_label(client):
    jane = contact(client, "Jane Sample", email="jane@example.com")
    r = read(client, drawn(), metadata={"shelf": "A"}, notes="by the door")
    row = r.data
    assert row["object"] == "shipping_label_inference" and row["id"].startswith("inf_sl_") and r.raw.headers["Location"] == f"{PATH}/{row['id']}"
    assert (row["tracking_number"], row["provider_id"], row["provider_name"], row["provider"]["id"]) == (labels.TRACKING, "ups", "UPS", "ups")
    assert labels.TRACKING in row["tracking_url"] and row["images"] is None and row["media_urls"] == []
    party = row["recipient"]
    assert (party["extracted_name"], party["extracted_business"]) == ("JANE Q SAMPLE", "NORTHERN PARTS LLC")
    assert (party["address"]["city"].upper(), party["address"]["state_code"], party["address"]["postal_code"][:5]) == ("KENMORE", "WA", "98028")
    assert (party["contact_id"], party["name"], party["contact"]["email"]) == (jane, "Jane Sample", "jane@example.com")
    assert party["matching_decision"]["best_score"] == "single_above_threshold" and "contact_id" not in party["matching_decision"]
    assert party["matches"][0]["id"] == jane and party["searched_name"] == "jane q sample" and row["recipient_contact_id"] == jane
    assert row["sender"]["business"] == "ACME SUPPLY COMPANY" and row["sender"]["matching_decision"] is None
    assert (row["status"], row["errors"], row["document_classification"]) == ("extracted", [], "shipping_label")
    assert row["weight"]["value"] == 12.5 and row["weight"]["unit"] == "lb" and row["package"] == {"number": 1, "total": 3} and row["ship_date"] == "2026-03-12"
    assert [b["value"] for b in row["barcodes"] if b["purpose"] == "tracking"] == [labels.TRACKING] and "JANE Q SAMPLE" in row["raw_text"]
    assert row["metadata"] == {"shelf": "A"} and row["notes"] == "by the door" and len(row["hash"]) == 32 and "extraction" not in row
    sources = get(client, row, "?include_extraction=true")["extraction"]
    assert sources["tracking_number"]["source"] == "barcode" and sources["tracking_number"]["confidence"] > 0.9 and sources["recipient.name"]["source"] == "ocr"


def test_the_image_is_kept_until_the_reading_is_deleted(server, client):
    row = read(client, drawn()).data
    url = get(client, row)["image_url"]
    assert client.http.get(server.base + url if url.startswith("/") else url).content == drawn()
    assert client.delete(f"{PATH}/{row['id']}", expect=200).data["id"] == row["id"]
    assert client.http.get(server.base + url if url.startswith("/") else url).status_code in (403, 404, 410)
    client.delete(f"{PATH}/{row['id']}", expect=404)
    kept = server.sql("SELECT raw_text, barcodes::text, recipient, sender, found, extraction, images_kept, search_text FROM inference.shipping_label WHERE id = %s", row["id"])
    assert kept == [("", "[]", None, None, None, None, None, None)]


def test_nothing_is_on_it(client):
    blank = labels.bytes_of(labels.Image.new("L", (600, 800), 255))
    row = read(client, blank).data
    assert (row["status"], row["errors"]) == ("error", ["image_unreadable", "unknown_provider"]) and row["tracking_number"] is None and row["recipient"] is None


def test_barcodes_of_the_client(client):
    """A number that only a scanner read."""
    row = read(client, drawn(tracking=None), barcode_values=[labels.TRACKING, "  "]).data
    assert (row["tracking_number"], row["provider_id"]) == (labels.TRACKING, "ups")
    assert [(b["value"], b["source"]) for b in row["barcodes"]] == [(labels.TRACKING, "request")]
    client.refused("POST", PATH, 400, "validation.failed", ["barcode_values"], {"image": text(drawn()), "barcode_values": [["a"]]})
    client.refused("POST", PATH, 400, "validation.failed", ["barcode_values"], {"image": text(drawn()), "barcode_values": [["a"], []], "options": {"images": {"barcodes_from_all": True}}})


# ---- what is no image ----

def test_values_that_are_refused(client):
    good = text(drawn())
    for body, code, errors in (({}, "inference.image_required", []), ({"image": []}, "inference.image_required", []), ({"image": [good] * 3, "image_url": [good] * 2}, "inference.too_many_images", []),
                               ({"image": [good, ""]}, "validation.failed", ["image.1"]), ({"image_url": [None]}, "validation.failed", ["image_url.0"]),
                               ({"image": "ftp://example.com/a.png"}, "inference.protocol", ["image"]), ({"image_url": "http://example.com/a.png"}, "inference.protocol", ["image_url"]),
                               ({"image_url": "https://127.0.0.1/a.png"}, "inference.url", ["image_url"]), ({"image_url": "https://localhost/a.png"}, "inference.hostname", ["image_url"]),
                               ({"image_url": "https://user@example.com/a"}, "inference.url", ["image_url"]), ({"image": [good], "image_url": "https://metadata.google.internal/"}, "inference.hostname", ["image_url"]),
                               ({"image": "%%%"}, "inference.image_invalid", ["image"]), ({"image": base64.b64encode(b"no image").decode()}, "inference.image_invalid", ["image"]),
                               ({"image": text(drawn()[:2000])}, "inference.image_invalid", ["image"]), ({"image": text(b"x" * 10000001)}, "file.too_large", ["image"]),
                               ({"image": text(labels.bytes_of(labels.Image.new("L", (40, 400), 255)))}, "inference.image_invalid", ["image"])):
        client.refused("POST", PATH, 400, code, errors, body)
    client.refused("POST", PATH, 400, "validation.failed", ["options.match.location"], {"image": good, "options": {"match": {"location": True}}})
    client.refused("POST", PATH, 400, "validation.failed", ["options.extraction.languages"], {"image": good, "options": {"extraction": {"languages": ["xxx"]}}})


# ---- several images ----

def test_several_images(client):
    box = labels.bytes_of(labels.Image.new("L", (600, 800), 200))
    row = read(client, [box, drawn()]).data
    assert [i["index"] for i in row["images"]] == [0, 1] and [i["selected"] for i in row["images"]] == [False, True] and len(row["media_urls"]) == 2
    assert row["images"][0]["document_classification"] == "unreadable" and row["images"][1]["document_classification"] == "shipping_label" and row["tracking_number"] == labels.TRACKING
    assert row["images"][1]["scores"]["extraction"] >= 0.8 and row["images"][1]["scores"]["classifier"] is None and row["image_url"] in row["media_urls"]


def test_one_image_of_several_fails(client):
    row = read(client, [b"no image", drawn()]).data
    assert [i["error"] for i in row["images"]] == ["inference.image_invalid", None] and row["images"][1]["selected"] and row["status"] == "extracted"
    assert read(client, [b"no image", b"nor this"], 400).raw.json()["code"] == "inference.image_invalid"


def test_two_labels(client):
    two = [drawn(), drawn(tracking=numbered(7))]
    row = read(client, two).data
    assert row["errors"] == [] and sum(i["selected"] for i in row["images"]) == 1
    row = read(client, two, options={"images": {"on_ambiguity": "error"}}).data
    assert (row["status"], row["errors"]) == ("error", ["ambiguous_label", "unknown_provider"]) and row["tracking_number"] is None and row["recipient"] is None and not any(i["selected"] for i in row["images"])
    assert read(client, [drawn(), drawn()], options={"images": {"on_ambiguity": "error"}}).data["errors"] == [], "the same label twice"
    row = read(client, [labels.bytes_of(labels.Image.new("L", (600, 800), 200)), labels.bytes_of(labels.Image.new("L", (500, 800), 200))]).data
    assert row["errors"] in (["image_unreadable", "unknown_provider"], ["missing_label", "unknown_provider"]) and row["status"] == "error"


@pytest.mark.parametrize("mode", ["classifier_feeds_extraction", "classifier_informs_selection"])
def test_with_the_classifier(client, mode):
    page = labels.Image.new("L", (900, 1200), 255)
    d = labels.ImageDraw.Draw(page)
    for i in range(40):
        d.text((60, 40 + 28 * i), "This is a page of a letter about nothing that matters here.", 0, labels.font(20))
    row = read(client, [labels.bytes_of(page), drawn()], options={"images": {"classification": mode}}).data
    assert [i["selected"] for i in row["images"]] == [False, True] and row["tracking_number"] == labels.TRACKING
    assert all(i["scores"]["classifier"] is not None for i in row["images"]) and row["images"][1]["scores"]["classifier"] > row["images"][0]["scores"]["classifier"]
    assert (row["images"][0]["scores"]["extraction"] is None) == (mode == "classifier_feeds_extraction")


# ---- whom it means ----

def test_nobody_and_somebody_like_it(client):
    row = read(client, drawn()).data
    assert (row["status"], row["errors"]) == ("extracted", []) and row["recipient"]["matching_decision"]["reason"] == "There is no contact to look among"
    contact(client, "Peter Unlike")
    row = read(client, drawn()).data
    assert (row["status"], row["errors"]) == ("error", ["no_matches"]) and row["recipient"]["matching_decision"]["best_score"] == "none"
    row = read(client, drawn(), options={"match": {"throw_recipient_match_error": False}}).data
    assert (row["status"], row["errors"]) == ("extracted", ["no_matches"])
    row = read(client, drawn(), options={"match": {"search": []}}).data
    assert (row["status"], row["errors"]) == ("extracted", []) and row["recipient"]["matching_decision"] is None and row["recipient"]["searched_name"] is None


def test_a_tie_is_decided_by_hand_and_remembered(client):
    one, two = contact(client, "Jane Sample"), contact(client, "Jane Sample")
    row = read(client, drawn()).data
    assert (row["status"], row["errors"]) == ("error", ["manual_match", "multiple_matches"])
    assert row["recipient"]["contact_id"] is None and row["recipient"]["matching_decision"]["best_score"] == "tied_above_threshold" and {m["id"] for m in row["recipient"]["matches"]} == {one, two}
    client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.unresolved_errors", ["status"], {"status": "completed"})
    client.refused("POST", f"{PATH}/{row['id']}", 400, "validation.failed", ["recipient.contact_id"], {"recipient": {"contact_id": "ctct_0000000000000000000000"}})
    client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.status_invalid", ["status"], {"status": "processing"})
    client.refused("POST", f"{PATH}/{row['id']}", 400, "validation.failed", ["image"], {"image": text(drawn())})
    kept = client.post(f"{PATH}/{row['id']}", {"recipient": {"contact_id": two}, "status": "extracted"}, expect=200).data
    assert (kept["status"], kept["errors"]) == ("extracted", [])
    assert kept["recipient"]["matching_decision"] == {"matches": 0, "error": None, "best_score": "manual", "matched_by": ["manual"], "unmatched_by": [], "reason": "Somebody chose the contact"}
    assert (kept["recipient"]["contact_id"], kept["recipient_contact_id"], kept["recipient"]["name"]) == (two, two, "Jane Sample")
    assert client.post(f"{PATH}/{row['id']}", {"notes": "done"}, expect=200).data["status"] == "completed"
    again = read(client, drawn(rest=["SHIP DATE 13 MAR 2026"])).data
    assert again["recipient"]["contact_id"] == two and "remembered" in again["recipient"]["matches"][0]["match_markers"] and again["status"] == "extracted"
    back = client.post(f"{PATH}/{row['id']}", {"recipient": {"contact_id": None}, "status": "extracted"}, expect=200).data
    assert back["recipient"]["contact_id"] is None and back["recipient"]["matching_decision"]["best_score"] == "tied_above_threshold" and "multiple_matches" in back["errors"]


def test_a_tie_makes_no_tracker(client):
    contact(client, "Jane Sample"), contact(client, "Jane Sample")
    row = read(client, drawn(), options={"match": {"throw_recipient_match_error": False}, "tracker": {"create_synchronously": True}}).data
    assert row["tracker_id"] is None and row["recipient"]["contact_id"] is None and row["status"] == "extracted"


def test_contacts_of_the_location(client):
    """With match.location those of other locations are not meant."""
    here, there = (client.post("/v1/locations", {"name": n, "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"] for n in ("Here", "There"))
    contact(client, "Jane Sample", locations=[there])
    mine = contact(client, "Jane Sample", locations=[here])
    wish = {"match": {"location": True}}
    row = read(client, drawn(), location_id=here, options=wish).data
    assert (row["recipient"]["contact_id"], [m["id"] for m in row["recipient"]["matches"]]) == (mine, [mine])
    assert read(client, drawn(), location_id=here).data["recipient"]["matching_decision"]["best_score"] == "tied_above_threshold"


def test_matched_again(client):
    row = read(client, drawn(), options={"match": {"throw_recipient_match_error": False}}).data
    jane = contact(client, "Jane Sample")
    assert client.post(f"{PATH}/{row['id']}", {"notes": "x"}, expect=200).data["recipient"]["contact_id"] is None
    assert client.post(f"{PATH}/{row['id']}", {"rematch": True}, expect=200).data["recipient"]["contact_id"] == jane
    fixed = client.post(f"{PATH}/{row['id']}", {"recipient": {"name": "John Doe", "address": {"formatted_address": "1 Main St, Springfield, IL 62701, US"}}, "weight": {"value": 2, "unit": "kg"}}, expect=200).data
    assert fixed["recipient"]["name"] == "John Doe" and fixed["recipient"]["address"]["postal_code"].startswith("62701") and fixed["weight"]["unit"] == "kg" and fixed["recipient"]["extracted_name"] == "JANE Q SAMPLE"


def test_merged_contacts(client):
    one, two = contact(client, "Jane Sample", email="jane@example.com"), contact(client, "Somebody Else")
    row = read(client, drawn()).data
    assert row["recipient"]["contact_id"] == one
    client.post(f"/v1/contacts/{two}/merge", {"from": [one]}, expect=200)
    got = get(client, row)
    assert got["recipient_contact_id"] == two and got["recipient"]["contact_id"] == two


# ---- trackers ----

def test_a_tracker_within_the_request(client):
    jane = contact(client, "Jane Sample")
    row = read(client, drawn(tracking=numbered(11)), options={"tracker": {"create_synchronously": True}}).data
    assert row["status"] == "completed" and row["tracker_id"] and row["tracker_type"] == "inbound" and row["shipment_id"]
    tracker = client.get(f"/v1/trackers/{row['tracker_id']}", expect=200).data
    assert (tracker["tracking_number"], tracker["inference_id"], tracker["provider_id"], tracker["recipient"]["contact_id"]) == (numbered(11), row["id"], "ups", jane)
    client.refused("POST", f"{PATH}/{row['id']}", 409, "inference.tracker_exists", ["tracking_number"], {"tracking_number": numbered(12)})
    client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.status_invalid", ["status"], {"status": "extracted"})
    client.delete(f"{PATH}/{row['id']}", expect=200)
    client.get(f"/v1/trackers/{row['tracker_id']}", expect=200)


def test_no_tracker_within_the_request(org, client):
    contact(client, "Jane Sample")
    wish = {"tracker": {"create_synchronously": True}}
    row = read(client, drawn(tracking=None), options=wish).data
    assert (row["status"], row["errors"], row["tracker_id"]) == ("error", ["missing_tracking_number", "unknown_provider"], None)
    limited = org.client(scopes="inferences:write,contacts:read")
    row = read(limited, drawn(), options=wish).data
    assert (row["status"], row["errors"], row["tracker_id"]) == ("error", ["tracker_forbidden"], None)
    made = client.post(f"{PATH}/{row['id']}", {"notes": "by somebody who may"}, expect=200).data
    assert made["status"] == "completed" and get(client, row)["tracker_id"]


def test_a_tracker_by_a_job(org, client):
    contact(client, "Jane Sample")
    row = read(client, drawn(tracking=numbered(21)), options={"tracker": {"create_automatically": True, "type": "outbound"}}).data
    assert row["status"] == "extracted" and row["tracker_id"] is None
    now = until(lambda: next((r for r in (get(client, row),) if r["status"] != "extracted"), None), "no tracker came")
    assert now["status"] == "completed" and client.get(f"/v1/trackers/{now['tracker_id']}", expect=200).data["type"] == "outbound"
    assert [e[0] for e in org.events(row["id"])] == [f"shipping_label_inference.{w}" for w in ("created", "extracted", "completed")]


def test_the_setting_makes_trackers(org, client):
    client.post("/v1/org", {"settings": {"inferences": {"create_tracker_automatically": True}}}, expect=200)
    row = read(client, drawn(tracking=numbered(31))).data
    assert row["tracker_type"] == "inbound"
    row = read(client, drawn(tracking=numbered(32)), options={"tracker": {"create_automatically": False}}).data
    assert row["tracker_type"] is None


# ---- duplicates ----

def test_the_same_label_twice(client):
    wish = {"postprocess": {"require_unique_hash": True}}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda _: read(client, drawn(tracking=numbered(41)), options=wish).data, range(2)))
    assert sorted(r["errors"] for r in rows) == [[], ["duplicate"]] and rows[0]["hash"] == rows[1]["hash"]
    assert client.get(f"{PATH}?errors=duplicate").ids == [r["id"] for r in rows if r["errors"]]
    assert read(client, drawn(tracking=numbered(41))).data["errors"] == [], "it was not asked for"


# ---- lists ----

def test_lists(org, client):
    place = client.post("/v1/locations", {"name": "Mail room", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    a = read(client, drawn(tracking=numbered(51)), location_id=place).data
    b = read(client, drawn(tracking=numbered(52))).data
    ids = lambda q: client.get(f"{PATH}?{q}", expect=200).ids
    assert ids("") == [b["id"], a["id"]] and ids(f"tracking_number={numbered(51)}") == [a["id"]] and ids("provider_id=ups&order_by=created_at&direction=asc") == [a["id"], b["id"]]
    assert ids(f"location_id={place}") == [a["id"]] and ids("location_id=null") == [b["id"]] and ids(f"search={numbered(52)}") == [b["id"]] and set(ids("search=sample")) == {a["id"], b["id"]}
    assert ids("status=error") == [] and ids(f"hash={a['hash']}") == [a["id"]] and ids("tracker_id=null&limit=1") == [b["id"]]
    elsewhere = client.post("/v1/locations", {"name": "Other", "address": "2 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    other = org.client(locations=[elsewhere])
    assert other.get(PATH).ids == [b["id"]] and other.request("GET", f"{PATH}/{a['id']}", check=False).raw.status_code == 403
    other.refused("POST", PATH, 403, "location_access", [place], {"image": text(drawn()), "location_id": place})


# ---- tools that explain a decision ----

def test_tools(client):
    jane = contact(client, "Jane Sample")
    found = client.get(f"{PATH}/search?name=JANE%20SAMPLE&limit=3", expect=200).data
    assert found["searched_name"] == "jane sample" and found["matches"][0]["id"] == jane and found["matching_decision"]["best_score"] == "single_above_threshold"
    client.refused("GET", f"{PATH}/search", 400, "param.invalid", ["name"])
    both = client.post(f"{PATH}/match", {"recipient": {"name": "Jane Sample"}, "sender": {"name": "Nobody"}, "options": {"match": {"search": ["recipient", "sender"]}}}, expect=200).data
    assert both["recipient"]["contact_id"] == jane and both["sender"]["contact_id"] is None
    row = read(client, drawn()).data
    assert client.post(f"{PATH}/match", {"inference_id": row["id"]}, expect=200).data["recipient"]["contact_id"] == jane
    same = client.get(f"{PATH}/compare?ids={row['id']}", expect=200).data
    assert same["inferences"][0]["changed"] == [] and {f["field"]: f["equal"] for f in same["fields"]}["tracking_number"] is True
    client.delete(f"/v1/contacts/{jane}", expect=200)
    assert client.get(f"{PATH}/compare?ids={row['id']}", expect=200).data["inferences"][0]["changed"] == ["recipient.contact_id"]
    client.refused("GET", f"{PATH}/compare?ids=", 400, "param.invalid", ["ids"])
    client.refused("GET", f"{PATH}/compare?ids=inf_sl_0000000000000000000000", 404, "not_found")


# ---- with nothing beside it ----

def test_alone():
    """Only what the module needs: labels are read; nobody is matched, and a tracker that is wanted is told to have failed."""
    s = Server("--modules", "org,carriers,inference", "--set", "rate_limit.key=0")
    try:
        client = s.organization().client()
        row = read(client, drawn(), options={"tracker": {"create_synchronously": True}}).data
        assert (row["tracking_number"], row["status"], row["errors"]) == (labels.TRACKING, "error", ["tracker_failed"]) and row["recipient"]["matching_decision"] is None
        assert row["recipient"]["extracted_name"] == "JANE Q SAMPLE" and row["recipient"]["address"]["postal_code"] == "98028"
        assert client.post(f"{PATH}/{row['id']}", {"status": "extracted"}, expect=200).data["status"] == "extracted"
        client.refused("POST", PATH, 400, "validation.failed", ["location_id"], {"image": text(drawn()), "location_id": "loc_0000000000000000000000"})
    finally:
        s.stop()


def test_without_the_cell(tmp_path):
    """Reading answers 503; lists and updates go on."""
    s = Server("--modules", "org,carriers,inference", "--set", f"cell.dir={tmp_path}")
    try:
        client = s.organization().client()
        assert client.post(PATH, {"image": text(drawn())}, expect=503).raw.json()["code"] == "module.unavailable"
        assert client.get(PATH, expect=200).data == []
    finally:
        s.stop()
