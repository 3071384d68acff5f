"""The place where a label is read: settings of a location, its country, its layouts (docs/spec/06-inference.md sections 2, 3 and 8.4)."""
from readings import PATH, contact, drawn, get, numbered, read, text
from wharf import make_location


def settings(client, location, **members):
    return client.post(f"/v1/locations/{location}", {"settings": {"inferences": members}}, expect=200).data["settings"]["inferences"]


def test_settings_of_the_location_win(client):
    """Each member by itself: what the location does not say is as the organization says."""
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    client.post("/v1/org", {"settings": {"inferences": {"create_tracker_automatically": True, "throw_recipient_match_error": False, "name_ignore_terms": ["northern"]}}}, expect=200)
    told = settings(client, here, create_tracker_automatically=False)
    assert told["create_tracker_automatically"] is False and told["throw_recipient_match_error"] is None and told["name_ignore_terms"] is None
    contact(client, "Peter Unlike")
    at_here, at_there, nowhere = (read(client, drawn(tracking=numbered(n)), **({"location_id": at} if at else {})).data for n, at in ((101, here), (102, there), (103, None)))
    assert [r["tracker_type"] for r in (at_here, at_there, nowhere)] == [None, "inbound", "inbound"]
    assert at_here["errors"] == ["no_matches"] and at_here["status"] == "extracted", "this is as the organization says"
    settings(client, here, throw_recipient_match_error=True, create_tracker_automatically=None)
    again = read(client, drawn(tracking=numbered(104)), location_id=here).data
    assert (again["status"], again["errors"], again["tracker_type"]) == ("error", ["no_matches"], "inbound")
    sent = read(client, drawn(tracking=numbered(105)), location_id=here, options={"match": {"throw_recipient_match_error": False}, "tracker": {"create_automatically": False}}).data
    assert (sent["status"], sent["tracker_type"]) == ("extracted", None), "what is sent wins over both"


def test_every_setting_of_the_location(client):
    """The same members as the organization has, of the same types; each of them reaches the decision."""
    here = make_location(client)["id"]
    known = client.get("/v1/org", expect=200).data["settings"]["inferences"]
    assert set(known) == set(settings(client, here, languages=["eng"]))
    jane = contact(client, "Jane Samplee")
    row = read(client, drawn(), location_id=here).data
    assert row["recipient"]["contact_id"] == jane
    settings(client, here, search_score_threshold=0.99)
    row = read(client, drawn(), location_id=here).data
    assert row["recipient"]["matching_decision"]["best_score"] == "below_threshold"
    settings(client, here, search_score_threshold=None, name_ignore_terms=["jane", "q"])
    assert read(client, drawn(), location_id=here).data["recipient"]["searched_name"] == "sample"
    settings(client, here, name_ignore_terms=None, match_search=["sender"])
    row = read(client, drawn(), location_id=here).data
    assert row["recipient"]["matching_decision"] is None and row["sender"]["matching_decision"]["best_score"] == "none"
    settings(client, here, match_search=None, store_images=False)
    assert read(client, drawn(), location_id=here).data["image_url"] is None
    settings(client, here, store_images=True, require_unique_hash=True)
    assert read(client, drawn(), location_id=here).data["errors"] == ["duplicate"]
    settings(client, here, languages=["xxx"])
    client.refused("POST", PATH, 400, "validation.failed", ["options.extraction.languages"], {"image": text(drawn()), "location_id": here})
    client.refused("POST", f"/v1/locations/{here}", 400, "validation.failed", ["settings.inferences.tie_tolerance"], {"settings": {"inferences": {"tie_tolerance": 1}}})
    assert client.post(f"/v1/locations/{here}", {"settings": {"inferences": None}}, expect=200).data["settings"]["inferences"] is None
    assert read(client, drawn(), location_id=here).data["errors"] == []


def test_the_country_of_the_location(client):
    """A postal code that several countries have is one of the location's country; without a location, of the organization's."""
    recipient = ["ERIKA MUSTERMANN", "HEIDESTRASSE 17", "51147 KOELN"]
    place = client.post("/v1/locations", {"name": "Lager", "address": {"line1": "Heidestr. 1", "city": "Köln", "postal_code": "51147", "country_code": "DE"}}, expect=201).data["id"]
    lines = {"recipient": recipient, "sender": ["LAGER GMBH", "HAUPTSTRASSE 5", "50667 KOELN"], "rest": [], "tracking": None}
    here = read(client, drawn(**lines), location_id=place, options={"match": {"search": []}}).data
    assert here["recipient"]["address"]["country_code"] == "DE", here["recipient"]
    assert (read(client, drawn(**lines), options={"match": {"search": []}}).data["recipient"] or {"address": None})["address"] is None or \
        read(client, drawn(**lines), options={"match": {"search": []}}).data["recipient"]["address"].get("country_code") != "DE"


def test_layouts(client):
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    shelf, other = (client.post(f"/v1/locations/{at}/layouts", {"name": "Shelf"}, expect=201).data["id"] for at in (here, there))
    image = text(drawn())
    client.refused("POST", PATH, 400, "inference.layout_mismatch", ["layout_id"], {"image": image, "location_id": here, "layout_id": other})
    client.refused("POST", PATH, 400, "inference.layout_mismatch", ["layout_id"], {"image": image, "layout_id": other})
    client.refused("POST", PATH, 400, "validation.failed", ["layout_id"], {"image": image, "location_id": here, "layout_id": "lay_0000000000000000000000"})
    row = read(client, drawn(), location_id=here, layout_id=shelf).data
    assert (row["location_id"], row["layout_id"], row["layout"]["id"], row["layout"]["name"], row["layout"]["location"]["id"]) == (here, shelf, shelf, "Shelf", here)
    assert [r["layout"] and r["layout"]["id"] for r in client.get(PATH).data] == [shelf] and get(client, row)["layout"] == row["layout"]
    client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.layout_mismatch", ["layout_id"], {"layout_id": other})
    moved = client.post(f"{PATH}/{row['id']}", {"location_id": there}, expect=200).data
    assert (moved["location_id"], moved["layout_id"]) == (there, None)
    assert client.post(f"{PATH}/{row['id']}", {"layout_id": other}, expect=200).data["layout_id"] == other


def test_where_the_recipient_is(client):
    """destination_location is told only with the setting, of an inbound label, when the recipient has one location and it is another one."""
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    jane = contact(client, "Jane Sample", locations=[there])
    assert read(client, drawn(), location_id=here).data["destination_location"] is None
    client.post("/v1/org", {"settings": {"inferences": {"reroute_inbound": True}}}, expect=200)
    row = read(client, drawn(), location_id=here).data
    assert row["destination_location"] == {"id": there} and get(client, row)["destination_location"] == {"id": there}
    assert read(client, drawn(), location_id=there).data["destination_location"] is None
    assert read(client, drawn()).data["destination_location"] is None
    assert read(client, drawn(), location_id=here, options={"tracker": {"type": "outbound"}}).data["destination_location"] is None
    client.post(f"/v1/contacts/{jane}", {"locations": [here, there]}, expect=200)
    assert read(client, drawn(), location_id=here).data["destination_location"] is None
    other = contact(client, "Somebody Else", locations=[there])
    plain = read(client, drawn(), location_id=here).data
    assert client.post(f"{PATH}/{plain['id']}", {"recipient": {"contact_id": other}}, expect=200).data["destination_location"] == {"id": there}, "also of one that somebody chose"
