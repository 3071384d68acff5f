"""What a request may ask for beside the usual (docs/spec/06-inference.md sections 2, 3 and 5.2)."""
import pytest

from readings import PATH, contact, drawn, get, labels, numbered, read, text
from wharf import make_location

# ---- words of the label ----

def test_captions_of_the_request(client):
    asked = ["Ship Date", "DEPT", "Gate", "Nothing Like It"]
    row = read(client, drawn(rest=["SHIP DATE: 12 MAR 2026", "DEPT: 4711 NORTH", "WEIGHT: 2 LB"]), options={"custom_attributes": asked}).data
    assert row["custom_attributes"] == {"Ship Date": "12 MAR 2026", "DEPT": "4711 NORTH", "Gate": None, "Nothing Like It": None} and get(client, row)["custom_attributes"] == row["custom_attributes"]
    assert read(client, drawn()).data["custom_attributes"] == {}
    blank = read(client, labels.bytes_of(labels.Image.new("L", (600, 800), 255)), options={"custom_attributes": ["DEPT"]}).data
    assert blank["custom_attributes"] == {"DEPT": None}
    for wrong in (["x" * 128], ["x"] * 26, [""], [1], "DEPT"):
        client.refused("POST", PATH, 400, "validation.failed", body={"image": text(drawn()), "options": {"custom_attributes": wrong}})
    client.delete(f"{PATH}/{row['id']}", expect=200)
    assert client.server.sql("SELECT custom_attributes FROM inference.shipping_label WHERE id = %s", row["id"]) == [({},)]


def test_addresses_as_they_are_printed(client):
    """Of parties that are not named the address is not taken apart."""
    for named in ([], ["sender"], ["recipient"], ["recipient", "sender"]):
        row = read(client, drawn(), options={"postprocess": {"parse_addresses": named}}).data
        for party in ("recipient", "sender"):
            assert (row[party]["address"] is not None) == (party in named), (named, party)
            assert row[party]["formatted_address"]
        sources = get(client, row, "?include_extraction=true")["extraction"]
        assert any(k.startswith("recipient.address.") for k in sources) == ("recipient" in named) and "recipient.name" in sources
    assert read(client, drawn()).data["recipient"]["address"] and read(client, drawn()).data["sender"]["address"]


# ---- barcodes ----

def test_barcodes_of_the_selected_image_or_of_all(client):
    """Without barcodes_from_all those of the other images count for nothing; with it the selected image's come first."""
    plain = labels.Image.new("L", (900, 600), 255)
    plain.paste(labels.code("code128", numbered(351), 1, 100), (40, 40))
    images = [labels.bytes_of(plain), drawn(tracking=None)]
    asked = {"images": {"barcodes_from_all": True}}
    row = read(client, images).data
    chosen = [i["selected"] for i in row["images"]].index(True)
    alone = {b["value"] for b in row["barcodes"]}
    assert alone == ({numbered(351)} if chosen == 0 else set())
    row = read(client, [drawn(tracking=numbered(352)), images[0]], options=asked).data
    assert row["tracking_number"] == numbered(352) and [b["value"] for b in row["barcodes"]][:1] == [numbered(352)] and numbered(351) in {b["value"] for b in row["barcodes"]}
    row = read(client, [drawn(tracking=numbered(352)), images[0]]).data
    assert numbered(351) not in {b["value"] for b in row["barcodes"]}
    row = read(client, [drawn(tracking=None), images[0]], barcode_values=[[], ["given"]], options=asked).data
    assert "given" in {b["value"] for b in row["barcodes"]} and row["tracking_number"] == numbered(351)


def test_how_many_barcodes(client):
    image = text(drawn())
    assert len([b for b in read(client, drawn(), barcode_values=[f"v{i}" for i in range(50)]).data["barcodes"] if b["source"] == "request"]) == 50
    for wrong in (["x"] * 51, ["x" * 2001], [1], "x", [["x"] * 51]):
        client.refused("POST", PATH, 400, "validation.failed", body={"image": image, "barcode_values": wrong, "options": {"images": {"barcodes_from_all": True}}})


# ---- candidates ----

def test_the_older_score_only_when_it_is_asked_for(client):
    contact(client, "Jane Sample")
    row = read(client, drawn()).data
    assert row["recipient"]["matches"] and all("_similarity" not in m for m in row["recipient"]["matches"])
    row = read(client, drawn(), options={"match": {"legacy_scoring": True}}).data
    score = row["recipient"]["matches"][0]["_similarity"]
    assert score == client.server.sql("SELECT round(similarity('jane q sample', 'jane sample')::numeric, 4)::float")[0][0]
    shown = client.post(f"{PATH}/match", {"recipient": {"name": "Jane Sample"}, "options": {"match": {"legacy_scoring": True}}}, expect=200).data
    assert shown["recipient"]["matches"][0]["_similarity"] == 1 and row["recipient"]["matching_decision"]["best_score"] == "single_above_threshold"


@pytest.mark.parametrize("order", ["_similarity", "_coverage"])
def test_orders_of_former_times(client, order):
    """They are taken, and are the usual one."""
    contact(client, "Jane Sample"), contact(client, "Jane Sampler"), contact(client, "Jan Sample")
    usual = [m["id"] for m in read(client, drawn()).data["recipient"]["matches"]]
    assert [m["id"] for m in read(client, drawn(), options={"match": {"order_by": order}}).data["recipient"]["matches"]] == usual
    assert [m["id"] for m in read(client, drawn(), options={"order_by": order}).data["recipient"]["matches"]] == usual


def test_options_of_matching_beside_match(client):
    """search_fuzziness, name_ignore_terms and order_by may stand in options itself; those of options.match win."""
    contact(client, "Jane Samplee")
    exact = read(client, drawn(), options={"search_fuzziness": "0"}).data["recipient"]["matching_decision"]
    assert exact["best_score"] != "single_above_threshold"
    assert read(client, drawn(), options={"search_fuzziness": 0}).data["recipient"]["matching_decision"]["best_score"] == exact["best_score"]
    assert read(client, drawn(), options={"search_fuzziness": "0", "match": {"search_fuzziness": "AUTO:4,9"}}).data["recipient"]["matching_decision"]["best_score"] == "single_above_threshold"
    assert read(client, drawn(), options={"name_ignore_terms": ["Jane Q"]}).data["recipient"]["searched_name"] == "sample"
    assert read(client, drawn(), options={"name_ignore_terms": ["Jane Q"], "match": {"name_ignore_terms": ["sample"]}}).data["recipient"]["searched_name"] == "jane q"
    for wrong in ("AUTO", "1", 1, "auto:4,9"):
        client.refused("POST", PATH, 400, "validation.failed", body={"image": text(drawn()), "options": {"match": {"search_fuzziness": wrong}}})


def test_unknown_options_are_ignored(client):
    assert read(client, drawn(), options={"nothing": 1, "match": {"nothing": 2}, "images": {"nothing": 3}}).data["status"] == "extracted"


def test_a_contact_that_is_chosen_by_hand(org, client):
    """metadata.manual_match: such a contact gets no label by itself; the row waits for somebody."""
    jane = contact(client, "Jane Sample", metadata={"manual_match": True})
    row = read(client, drawn(tracking=numbered(301)), options={"tracker": {"create_synchronously": True}}).data
    party = row["recipient"]
    assert (row["status"], row["errors"], row["tracker_id"]) == ("error", ["manual_match"], None)
    assert (party["contact_id"], party["matches"][0]["id"], party["matching_decision"]["best_score"], party["matching_decision"]["error"]) == (None, jane, "manual_match", None)
    assert client.get(f"{PATH}?errors=manual_match").ids == [row["id"]]
    open_row = read(client, drawn(tracking=numbered(302)), options={"match": {"throw_recipient_match_error": False}, "tracker": {"create_automatically": True}}).data
    assert (open_row["status"], open_row["errors"], open_row["recipient"]["contact_id"]) == ("extracted", ["manual_match"], None)
    assert not org.told("type", "resource_id = %s AND type = 'shipping_label_inference.completed'", open_row["id"]), "no tracker is made by itself"
    chosen = client.post(f"{PATH}/{row['id']}", {"recipient": {"contact_id": jane}}, expect=200).data
    assert chosen["errors"] == [] and chosen["recipient"]["contact_id"] == jane and get(client, row)["status"] == "completed"
    client.post(f"/v1/contacts/{jane}", {"metadata": {"manual_match": False}}, expect=200)
    assert read(client, drawn(tracking=numbered(303))).data["recipient"]["contact_id"] == jane
    twin = contact(client, "Jane Sample", metadata={"manual_match": True})
    tie = read(client, drawn(tracking=numbered(304)), options={"match": {"search": ["sender"]}}).data
    assert twin and tie["errors"] != ["manual_match"]


# ---- shipments and trackers ----

def test_shipments_inside_of_it(client):
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    ship = lambda at, **more: client.post("/v1/shipments", {"tracking_number": f"IN-{at[-6:]}-{len(more)}-{more.get('n', 0)}", "provider_id": "unknown", "location_id": at, **{k: v for k, v in more.items() if k != "n"}}, expect=201).data["id"]
    one, two, elsewhere, moving = ship(here), ship(here, n=1), ship(there), ship(here, n=2)
    client.post(f"/v1/shipments/{moving}", {"tracking_update": {"status": "in_transit"}}, expect=200)
    outbound = {"tracker": {"type": "outbound", "create_synchronously": True}}
    image = text(drawn())
    for wrong, path, options in (([one], "child_shipments", None), ([one, elsewhere], "child_shipments.1", outbound), ([moving], "child_shipments.0", outbound), (["ship_0000000000000000000000"], "child_shipments.0", outbound)):
        client.refused("POST", PATH, 400, "validation.failed", [path], {"image": image, "location_id": here, "child_shipments": wrong, "options": options})
    row = read(client, drawn(tracking=numbered(311)), location_id=here, child_shipments=[one, two], options=outbound).data
    assert row["status"] == "completed" and row["child_shipments"] == [one, two]
    assert {client.get(f"/v1/shipments/{s}", expect=200).data["parent_id"] for s in (one, two)} == {row["shipment_id"]}
    late = read(client, drawn(tracking=numbered(312)), location_id=here, options={"tracker": {"type": "outbound"}}).data
    three = ship(here, n=3)
    assert client.post(f"{PATH}/{late['id']}", {"child_shipments": {"add": [three]}}, expect=200).data["child_shipments"] == [three]
    client.refused("POST", f"{PATH}/{late['id']}", 400, "validation.failed", ["child_shipments.1"], {"child_shipments": {"add": [elsewhere]}})
    assert client.post(f"{PATH}/{late['id']}", {"child_shipments": {"remove": [three]}}, expect=200).data["child_shipments"] == []


def test_a_tracker_that_names_the_reading(client):
    """Somebody made it by hand: the reading is over."""
    row = read(client, drawn(tracking=numbered(321))).data
    assert row["status"] == "extracted"
    tracker = client.post("/v1/trackers", {"tracking_number": numbered(321), "inference_id": row["id"]}, expect=201).data
    now = get(client, row)
    assert (now["status"], now["tracker_id"], now["shipment_id"]) == ("completed", tracker["id"], tracker["current_shipment_id"])


def test_contacts_are_passed_on_to_the_tracker(client):
    """While nothing has happened to it; later the reading alone is changed."""
    jane, joe = contact(client, "Jane Sample"), contact(client, "Joe Other")
    row = read(client, drawn(tracking=numbered(331)), options={"tracker": {"create_synchronously": True}}).data
    tracker = f"/v1/trackers/{row['tracker_id']}"
    assert client.get(tracker).data["recipient_contact_id"] == jane
    client.post(f"{PATH}/{row['id']}", {"recipient": {"contact_id": joe}}, expect=200)
    assert client.get(tracker).data["recipient_contact_id"] == joe
    client.post(tracker, {"tracking_update": {"status": "in_transit"}}, expect=200)
    client.post(f"{PATH}/{row['id']}", {"recipient": {"contact_id": jane}}, expect=200)
    assert client.get(tracker).data["recipient_contact_id"] == joe and get(client, row)["recipient_contact_id"] == jane


def test_a_tracker_that_breaks(server, client):
    """Whatever goes wrong with the tracker is told by the row, never by HTTP."""
    server.sql("ALTER TABLE trackers.tracker ADD CONSTRAINT none_at_all CHECK (false) NOT VALID")
    try:
        row = read(client, drawn(tracking=numbered(341)), options={"tracker": {"create_synchronously": True}}).data
        assert (row["status"], row["errors"], row["tracker_id"], row["tracking_number"]) == ("error", ["tracker_failed"], None, numbered(341))
        assert client.post(f"{PATH}/{row['id']}", {"notes": "again"}, expect=200).data["errors"] == ["tracker_failed"]
    finally:
        server.sql("ALTER TABLE trackers.tracker DROP CONSTRAINT none_at_all")
    client.post(f"{PATH}/{row['id']}", {"notes": "once more"}, expect=200)
    assert get(client, row)["status"] == "completed" and get(client, row)["tracker_id"]
