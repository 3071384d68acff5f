"""Rules of readings one by one (docs/spec/06-inference.md sections 1 to 6), with labels that a scanner read: a small white picture is read at once."""
from readings import PATH, contact, drawn, get, labels, numbered, read, text
from wharf import make_location

TINY = labels.bytes_of(labels.Image.new("L", (60, 60), 255))
ITEMS = "/v0/ai/inferences/images/item-labels"
NOBODY = {"match": {"search": []}}


def scanned(client, *numbers, **body):
    """A reading of barcodes alone; nobody is matched."""
    return read(client, TINY, barcode_values=list(numbers), **{"options": NOBODY, **body}).data


def update(client, row, expect=200, **body):
    return client.post(f"{PATH}/{row['id']}", body, expect=expect).data


def page(*lines, tall=1200):
    """A page of a letter, or of other words."""
    made = labels.Image.new("L", (900, tall), 255)
    d = labels.ImageDraw.Draw(made)
    for i, line in enumerate(lines or ["Dear Ms Sample,", "This is a page of a letter about nothing that matters here.", "Yours sincerely"]):
        d.text((60, 40 + 28 * i), line, 0, labels.font(20))
    return labels.bytes_of(made)


# ---- 1. endpoints ----

def test_a_list_has_ten_the_newest_first(client):
    rows = [scanned(client, numbered(600 + i))["id"] for i in range(11)]
    listed = client.get(PATH, expect=200)
    assert listed.ids == rows[:0:-1] and listed.raw.json()["pagination"]["limit"] == 10


def test_scopes(org, client):
    """inferences:read for what reads, inferences:write for what writes, of both families."""
    row, item = scanned(client, numbered(611)), client.post(ITEMS, {"image": text(TINY), "barcode_values": ["(10)LOT1"]}, expect=201).data
    reader, stranger = org.client(scopes="inferences:read"), org.client(scopes="contacts:write")
    reads = [("GET", PATH, None), ("GET", f"{PATH}/{row['id']}", None), ("GET", f"{PATH}/search?name=Jane", None), ("POST", f"{PATH}/match", {"inference_id": row["id"]}), ("GET", f"{PATH}/compare?ids={row['id']}", None),
             ("GET", ITEMS, None), ("GET", f"{ITEMS}/{item['id']}", None)]
    writes = [("POST", PATH, {"image": text(TINY)}), ("POST", f"{PATH}/{row['id']}", {"notes": "x"}), ("DELETE", f"{PATH}/{row['id']}", None),
              ("POST", ITEMS, {"image": text(TINY)}), ("POST", f"{ITEMS}/{item['id']}", {"sku": "x"}), ("DELETE", f"{ITEMS}/{item['id']}", None)]
    for method, path, body in reads:
        reader.request(method, path, body, expect=200)
        stranger.refused(method, path, 403, "scope_access", ["inferences:read"], body)
    for method, path, body in writes:
        reader.refused(method, path, 403, "scope_access", ["inferences:write"], body)
    assert get(client, row)["notes"] is None


def test_a_delete_erases_every_image_also_those_not_selected(server, org, client):
    row = read(client, [page("PACKING SLIP"), drawn(tracking=numbered(621)), TINY], options={**NOBODY, "tracker": {"create_synchronously": True}}).data
    links = [client.server.base + u for u in row["media_urls"]]
    files = lambda: server.sql("SELECT hash FROM wharf.file WHERE organization_id = %s", org.id)
    assert len(links) == 3 and [client.http.get(u).status_code for u in links] == [200] * 3 and len(files()) == 3
    client.delete(f"{PATH}/{row['id']}", expect=200)
    assert files() == [] and not {client.http.get(u).status_code for u in links} - {403, 404, 410}
    client.refused("DELETE", f"{PATH}/{row['id']}", 404, "not_found")
    client.get(f"/v1/trackers/{row['tracker_id']}", expect=200), client.get(f"/v1/shipments/{row['shipment_id']}", expect=200)


# ---- 2. request ----

def test_barcodes_of_all_images_or_of_each(client):
    """A flat list belongs to every image; null and [] are lists of nothing."""
    two = [drawn(tracking=numbered(631)), TINY]
    asked = {**NOBODY, "images": {"barcodes_from_all": True}}
    given = lambda values, options=asked, images=two: {b["value"] for b in read(client, images, barcode_values=values, options=options).data["barcodes"] if b["source"] == "request"}
    assert given(["A1"]) == given([None, ["A1"]]) == given([["A1"], []]) == {"A1"} and given([None, None]) == set()
    assert given(["A1"], NOBODY) == given(["A1"], NOBODY, two[::-1]) == {"A1"}
    for wrong in ([None, ["A1"]], [None, None, None]):
        client.refused("POST", PATH, 400, "validation.failed", ["barcode_values"], {"image": text(TINY), "barcode_values": wrong, "options": asked})


def test_what_a_scanner_read_of_a_picture_that_says_nothing(client):
    """The number is taken, and the picture is no error any more."""
    row = scanned(client, numbered(632))
    assert (row["status"], row["errors"], row["tracking_number"], row["provider_id"], row["document_classification"]) == ("extracted", [], numbered(632), "ups", "unreadable")
    assert (scanned(client)["status"], scanned(client)["errors"]) == ("error", ["image_unreadable", "unknown_provider"])


def test_options_that_are_refused(client):
    for path, options in (("images.classification", {"images": {"classification": "both"}}), ("images.on_ambiguity", {"images": {"on_ambiguity": "use_last"}}), ("tracker.type", {"tracker": {"type": "sideways"}}),
                          ("match.search", {"match": {"search": ["driver"]}}), ("match.search_score_threshold", {"match": {"search_score_threshold": 1.01}}), ("match.search_score_threshold", {"match": {"search_score_threshold": -0.1}}),
                          ("match.tie_tolerance", {"match": {"tie_tolerance": 0.21}}), ("match.limit", {"match": {"limit": 0}}), ("match.limit", {"match": {"limit": 26}}), ("match.order_by", {"match": {"order_by": "name"}}),
                          ("match.name_ignore_terms", {"match": {"name_ignore_terms": ["x"] * 101}}), ("match.name_ignore_terms", {"match": {"name_ignore_terms": ["x" * 101]}}),
                          ("extraction.languages", {"extraction": {"languages": ["eng"] * 4}}), ("postprocess.parse_addresses", {"postprocess": {"parse_addresses": ["driver"]}}), ("images.barcodes_from_all", {"images": {"barcodes_from_all": 7}})):
        r = client.refused("POST", PATH, 400, "validation.failed", None, {"image": text(TINY), "options": options})
        assert [e for e in r.errors if e.startswith("options." + path)], (path, r)
    client.refused("POST", PATH, 400, "validation.failed", ["notes"], {"image": text(TINY), "notes": "x" * 16001})
    assert client.get(PATH).data == []


def test_the_largest_body(client):
    """64 MiB: four images of 10 MB as base64 fit, a little more than that does not come in."""
    client.refused("POST", PATH, 413, "body.too_large", None, {"image": text(TINY), "notes": "x" * (64 << 20)})


def test_how_many_candidates(client):
    for i in range(7):
        contact(client, f"Jane Sample{'' if i % 2 else 's'}")
    matches = lambda **match: read(client, drawn(), options={"match": match}).data["recipient"]["matches"]
    assert [len(matches()), len(matches(limit=1)), len(matches(limit=25))] == [5, 1, 7]


def test_contacts_without_locations_are_meant_everywhere(client):
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    contact(client, "Jane Sample", locations=[there])
    anywhere = contact(client, "Jane Sample")
    assert read(client, drawn(), location_id=here, options={"match": {"location": True}}).data["recipient"]["contact_id"] == anywhere


def test_threshold_and_tolerance_of_the_request(client):
    """A tie is decided by nobody but a person: within the tolerance, at its edge too, also when the second is below the threshold."""
    smith = contact(client, "John Smith")
    contact(client, "Smith John")
    label = drawn(recipient=["JOHN SMITH", "4200 HARBOR AVENUE", "KENMORE WA 98028"])
    got = lambda **match: (lambda r: (r["recipient"]["matching_decision"]["best_score"], r["recipient"]["matching_decision"]["matches"], r["errors"], r["recipient"]["contact_id"]))(read(client, label, options={"match": match}).data)
    assert got() == ("tied_within_tolerance", 2, ["manual_match", "multiple_matches"], None)
    assert got(tie_tolerance=0.0199) == got(tie_tolerance=0) == ("single_above_threshold", 2, [], smith)
    assert got(search_score_threshold=0.99) == ("tied_within_tolerance", 1, ["manual_match", "multiple_matches"], None)
    assert got(search_score_threshold=1, tie_tolerance=0) == ("single_above_threshold", 1, [], smith)
    orders = [read(client, label, options={"match": {"order_by": o}}).data["recipient"] for o in ("_precedence", "_relevance", "_rank")]
    assert {r["contact_id"] for r in orders} == {None} and {r["matching_decision"]["best_score"] for r in orders} == {"tied_within_tolerance"}


def test_only_a_partial_match(client):
    contact(client, "Jane Samuels")
    row = read(client, drawn(recipient=["J SAMPLE", "4200 HARBOR AVENUE", "KENMORE WA 98028"]), options={"match": {"search_score_threshold": 1}}).data
    decision = row["recipient"]["matching_decision"]
    assert (row["status"], row["errors"], decision["error"]) in ((("error"), ["partial_matches"], "partial_matches"), ("error", ["no_matches"], "no_matches"))
    contact(client, "J Samples")
    row = read(client, drawn(recipient=["J SAMPLE", "4200 HARBOR AVENUE", "KENMORE WA 98028"]), options={"match": {"search_score_threshold": 1}}).data
    decision = row["recipient"]["matching_decision"]
    assert (row["status"], row["errors"], decision["best_score"], decision["error"], decision["matches"], row["recipient"]["contact_id"]) == ("error", ["partial_matches"], "below_threshold", "partial_matches", 0, None)


def test_errors_of_the_sender_block_only_when_they_are_thrown(client):
    contact(client, "Jane Sample")
    both = {"search": ["recipient", "sender"]}
    row = read(client, drawn(), options={"match": both}).data
    assert (row["status"], row["errors"], row["sender"]["matching_decision"]["error"], row["recipient"]["matching_decision"]["error"]) == ("extracted", ["no_matches"], "no_matches", None)
    row = read(client, drawn(), options={"match": {**both, "throw_sender_match_error": True}}).data
    assert (row["status"], row["errors"]) == ("error", ["no_matches"])
    client.post("/v1/org", {"settings": {"inferences": {"throw_sender_match_error": True, "match_search": ["recipient", "sender"]}}}, expect=200)
    assert read(client, drawn()).data["status"] == "error"
    assert read(client, drawn(), options={"match": {"throw_sender_match_error": False}}).data["status"] == "extracted"


def test_ignored_terms_are_added_to_those_of_the_settings(client):
    contact(client, "Jane Sample")
    client.post("/v1/org", {"settings": {"inferences": {"name_ignore_terms": ["jane"]}}}, expect=200)
    assert read(client, drawn()).data["recipient"]["searched_name"] == "q sample"
    assert read(client, drawn(), options={"match": {"name_ignore_terms": ["q"]}}).data["recipient"]["searched_name"] == "sample"


# ---- 3. resource ----

def test_the_hash_says_which_label_it_is(client):
    """Of carrier and number; without a number of the names, the postal code and the barcodes."""
    one, again, other = scanned(client, numbered(641)), scanned(client, numbered(641), "X1"), scanned(client, numbered(642))
    assert one["hash"] == again["hash"] != other["hash"] and len(one["hash"]) == 32
    plain = lambda name, *codes: read(client, drawn(recipient=[name, "4200 HARBOR AVENUE", "KENMORE WA 98028"], tracking=None), barcode_values=list(codes), options=NOBODY).data
    first = plain("JANE SAMPLE", "A1", "B2")
    assert first["tracking_number"] is None and first["hash"] == plain("JANE SAMPLE", "B2", "A1")["hash"]
    assert first["hash"] not in (plain("JANE SAMPLE")["hash"], plain("PETER SAMPLE", "A1", "B2")["hash"])
    moved = update(client, one, tracking_number=numbered(642))
    assert moved["hash"] == other["hash"]


def test_links_hold_for_fifteen_minutes(server, client):
    row = read(client, drawn(), options=NOBODY).data
    expires = int(row["image_url"].split("exp=")[1].split("&")[0])
    now = server.sql("SELECT extract(epoch FROM now())::bigint")[0][0]
    assert 0 < expires - now <= 901, row["image_url"]


def test_what_is_not_on_the_label_is_null(client):
    row = scanned(client, numbered(651))
    assert [k for k, v in row.items() if v == "" and k != "raw_text"] == []
    assert [row[k] for k in ("recipient", "sender", "weight", "dimensions", "package", "ship_date", "delivery_date", "purchase_order", "notes", "location_id", "tracker_id", "shipment_id", "destination_location")] == [None] * 13


# ---- 4. several images ----

def test_errors_of_several_images_never_occur_with_one(client):
    """ambiguous_label and missing_label: with one image it is that image, label or not."""
    row = read(client, page(), options={**NOBODY, "images": {"on_ambiguity": "error"}}).data
    assert not {"missing_label", "ambiguous_label"} & set(row["errors"]) and row["document_classification"] == "other" and row["images"] is None and row["raw_text"]


def test_several_images_without_a_label(client):
    row = read(client, [page("PACKING SLIP", "2 blue widgets"), page("INVOICE", "Total due 31.00")], options=NOBODY).data
    assert (row["status"], row["errors"]) == ("error", ["missing_label", "unknown_provider"])
    assert [i["selected"] for i in row["images"]] == [False, False] and [i["document_classification"] for i in row["images"]] == ["packing_slip", "invoice"]
    assert (row["image_url"], row["document_classification"], row["tracking_number"], row["recipient"], row["raw_text"]) == (None, None, None, None, "") and len(row["media_urls"]) == 2


def test_scores_of_each_mode(client):
    """Which are computed, and what the selection is made of."""
    two = [page("PACKING SLIP", "2 blue widgets"), drawn()]
    scores = lambda mode: [i["scores"] for i in read(client, two, options={**NOBODY, "images": {"classification": mode}}).data["images"]]
    for s in scores("from_extraction_only"):
        assert s["classifier"] is None and s["selection"] == s["extraction"]
    slip, label = scores("classifier_feeds_extraction")
    assert slip["extraction"] is None and slip["selection"] == slip["classifier"] and label["selection"] == label["extraction"] >= 0.8 and label["classifier"] > slip["classifier"]
    both = scores("classifier_informs_selection")
    for s in both:
        assert abs(s["selection"] - (0.4 * s["classifier"] + 0.6 * s["extraction"])) <= 0.0001, s
    assert all(v is None or (0 <= v <= 1 and v == round(v, 4)) for s in [slip, label, *both] for v in s.values())


def test_the_classifier_finds_no_label(client):
    """Then the image that looks most like one is read, and no other."""
    images = read(client, [page(), page("PACKING SLIP", "2 blue widgets")], options={**NOBODY, "images": {"classification": "classifier_feeds_extraction"}}).data["images"]
    best = max(range(2), key=lambda i: images[i]["scores"]["classifier"])
    assert [i["scores"]["extraction"] is not None for i in images] == [n == best for n in range(2)]


def test_images_that_are_equal_the_first_is_taken(client):
    row = read(client, [drawn(), drawn()], options=NOBODY).data
    assert [i["selected"] for i in row["images"]] == [True, False] and row["image_url"].split("?")[0] == row["images"][0]["image_url"].split("?")[0]


# ---- 5. status machine ----

def test_statuses_that_a_client_sets(org, client):
    """[S] extracted stays extracted, completed is taken back; error and processing are never a client's."""
    row = scanned(client, numbered(661))
    assert row["status"] == "extracted"
    for wrong in ("error", "processing"):
        client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.status_invalid", ["status"], {"status": wrong})
    client.refused("POST", f"{PATH}/{row['id']}", 400, "validation.failed", ["status"], {"status": "open"})
    assert update(client, row, status="extracted", notes="a")["status"] == "extracted"
    assert update(client, row, notes="b")["status"] == "completed"
    assert update(client, row, notes="c")["status"] == "completed" and update(client, row, status="completed")["status"] == "completed"
    for wrong in ("error", "processing"):
        client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.status_invalid", ["status"], {"status": wrong})
    assert update(client, row, status="extracted")["status"] == "extracted" and update(client, row, status="completed")["status"] == "completed"
    told = [e[0].split(".")[1] for e in org.events(row["id"])]
    assert told.count("completed") == 2 and told.count("extracted") == 2 and "failed" not in told


def test_errors_are_kept_when_extracted_is_set(org, client):
    """[S] The update keeps it extracted with its errors, and does not complete it; the next one without a status judges again."""
    contact(client, "Peter Unlike")
    row = read(client, drawn(tracking=numbered(671)), options={"tracker": {"create_synchronously": True}}).data
    assert (row["status"], row["errors"], row["tracker_id"]) == ("error", ["no_matches"], None)
    kept = update(client, row, status="extracted")
    assert (kept["status"], kept["errors"], kept["tracker_id"]) == ("extracted", ["no_matches"], None)
    client.refused("POST", f"{PATH}/{row['id']}", 400, "inference.unresolved_errors", ["status"], {"status": "completed"})
    again = update(client, row, notes="x")
    assert (again["status"], again["errors"], again["tracker_id"]) == ("error", ["no_matches"], None)
    done = update(client, row, options={"match": {"throw_recipient_match_error": False}, "tracker": {"create_synchronously": True}})
    assert (done["status"], done["errors"]) == ("completed", ["no_matches"]) and get(client, row)["tracker_id"]
    assert [e[0].split(".")[1] for e in org.events(row["id"]) if not e[0].endswith("updated")] == ["created", "failed", "extracted", "failed", "extracted", "completed"]


def test_duplicates_of_what_counts(client):
    """A reading that is deleted, or that is itself an error, is no other one."""
    wish = {**NOBODY, "postprocess": {"require_unique_hash": True}}
    one = scanned(client, numbered(681), options=wish)
    two = scanned(client, numbered(681), options=wish)
    assert (one["errors"], two["status"], two["errors"]) == ([], "error", ["duplicate"])
    client.delete(f"{PATH}/{one['id']}", expect=200)
    three = scanned(client, numbered(681), options=wish)
    assert three["errors"] == [], "the first is gone, and the second an error"
    assert update(client, three, tracking_number=numbered(682))["errors"] == []
    assert update(client, two, notes="x")["errors"] == [], "nothing else has its hash any more"


def test_errors_are_sorted_and_named_once(client):
    contact(client, "Peter Unlike")
    row = read(client, drawn(tracking=None), options={"match": {"search": ["recipient", "sender"]}, "tracker": {"create_automatically": True}}).data
    assert row["errors"] == ["missing_tracking_number", "no_matches", "unknown_provider"] and row["status"] == "error"


# ---- 6. updates ----

FIELDS = {"tracking_number": numbered(692), "service_level_name": "ground", "provider_service_level_id": "ups_ground", "weight": {"value": 2, "unit": "kg", "raw": None}, "dimensions": {"length": 1, "width": 2, "height": 3, "unit": "cm", "raw": None},
          "package": {"number": 1, "total": 2}, "ship_date": "2026-03-02", "delivery_date": "2026-03-04", "purchase_order": "P1", "order_number": "O1", "invoice_number": "I1", "rma_number": "R1", "reference_number": "F1", "account_id": "A1",
          "tags": ["fragile"], "metadata": {"a": "b"}, "notes": "x"}


def test_fields_that_an_update_sets(client):
    row = update(client, scanned(client, numbered(691)), **FIELDS, provider_id="fedex")
    assert {k: row[k] for k in FIELDS} == FIELDS and (row["provider_id"], row["provider_name"], row["provider"]["id"]) == ("fedex", "FedEx", "fedex")
    none = update(client, row, **{k: None for k in FIELDS if k not in ("tags", "metadata")}, tags=[])
    assert {k: none[k] for k in FIELDS} == {**dict.fromkeys(FIELDS), "tags": [], "metadata": {"a": "b"}}
    for sent, path in (({"ship_date": "02.03.2026"}, "ship_date"), ({"weight": {"value": 2, "unit": "stone"}}, "weight.unit"), ({"dimensions": {"unit": "ell"}}, "dimensions.unit"), ({"service_level_name": "slow"}, "service_level_name"), ({"tags": ["heavy"]}, "tags.0")):
        r = client.refused("POST", f"{PATH}/{row['id']}", 400, "validation.failed", None, sent)
        assert path in r.errors, (sent, r)


def test_a_choice_by_hand_stays_when_it_is_matched_again(client):
    one, other = contact(client, "Jane Sample"), contact(client, "Somebody Else")
    row = read(client, drawn(tracking=numbered(701))).data
    assert row["recipient"]["contact_id"] == one
    update(client, row, recipient={"contact_id": other})
    again = update(client, row, rematch=True)
    assert (again["recipient"]["contact_id"], again["recipient"]["matching_decision"]["best_score"]) == (other, "manual")
    back = update(client, row, recipient={"contact_id": None})
    assert (back["recipient"]["contact_id"], back["recipient"]["matching_decision"]["best_score"]) == (one, "single_above_threshold")


def test_a_later_choice_replaces_the_one_that_is_remembered(client):
    one, two = contact(client, "Jane Sample"), contact(client, "Jane Sample")
    row = read(client, drawn()).data
    for chosen in (one, two):
        update(client, row, recipient={"contact_id": chosen})
        assert read(client, drawn()).data["recipient"]["contact_id"] == chosen


def test_nothing_is_remembered_when_the_setting_says_so(client):
    one = contact(client, "Jane Sample")
    contact(client, "Jane Sample")
    client.post("/v1/org", {"settings": {"inferences": {"learn_from_review": False}}}, expect=200)
    row = read(client, drawn()).data
    update(client, row, recipient={"contact_id": one})
    assert read(client, drawn()).data["recipient"]["matching_decision"]["best_score"] == "tied_above_threshold"


def test_events_leave_out_what_is_long(org, client):
    contact(client, "Jane Sample")
    row = read(client, drawn()).data
    assert row["recipient"]["matches"] and row["raw_text"]
    update(client, row, recipient={"contact_id": contact(client, "Somebody Else")}, status="extracted")
    before = [previous["recipient"] for _, _, previous, _ in org.events(row["id"], "shipping_label_inference.updated") if previous and "recipient" in previous]
    assert before and all(p["matches"] == [] for p in before)
    for type, data, *_ in org.events(row["id"]):
        assert "raw_text" not in data and "extraction" not in data and data["recipient"]["matches"] == [] and data["recipient"]["matching_decision"]["best_score"] and data["tracking_number"] == labels.TRACKING, type


# ---- lists ----

def test_filters(client):
    here = make_location(client, "Here")["id"]
    shelf = client.post(f"/v1/locations/{here}/layouts", {"name": "Shelf"}, expect=201).data["id"]
    jane = contact(client, "Jane Sample")
    a = read(client, drawn(tracking=numbered(711)), location_id=here, layout_id=shelf, metadata={"shelf": "A"}, options={"tracker": {"create_synchronously": True}}).data
    b = update(client, scanned(client, numbered(712)), status="extracted", sender={"contact_id": jane}, provider_id="fedex", service_level_name="express", provider_service_level_id="fedex_express", reference_number="REF-77")
    c = scanned(client, "NOTHING")
    names = {a["id"]: "a", b["id"]: "b", c["id"]: "c"}
    got = lambda q: "".join(names[i] for i in client.get(f"{PATH}?{q}", expect=200).ids)
    for q, expected in ((f"id={a['id']},{c['id']}", "ca"), ("status=completed", "a"), ("status=completed,extracted", "cba" if c["status"] == "extracted" else "ba"), ("errors=unknown_provider", "c"), ("errors=!unknown_provider", "ba"), ("errors=OR:unknown_provider,duplicate", "c"),
                        ("errors=unknown_provider,duplicate", ""), ("errors=!duplicate", "cba"), ("errors=!OR:unknown_provider,duplicate", "ba"), ("errors=!AND:unknown_provider,duplicate", "cba"), (f"location_id={here}", "a"), (f"location_id={here},null", "cba"), ("location_id=!null", "a"),
                        (f"layout_id={shelf}", "a"), ("provider_id=ups", "a"), ("provider_name=FedEx", "b"), ("service_level_name=express", "b"), ("provider_service_level_id=fedex_express", "b"), (f"tracking_number={numbered(712)}", "b"),
                        (f"tracker_id={a['tracker_id']}", "a"), ("tracker_id=null", "cb"), ("tracker_id=!null", "a"), (f"recipient_contact_id={jane}", "a"), (f"sender_contact_id={jane}", "b"), (f"hash={b['hash']}", "b"),
                        ("document_classification=shipping_label", "a" if b["document_classification"] != "shipping_label" else "ba"), (f"created_by={a['created_by']}", "cba"), (f"updated_by={a['updated_by']}", "cba"), (f"created_at[gte]={b['created_at']}", "cb"), (f"updated_at[lt]={b['created_at']}", "a"),
                        ("metadata=shelf:A", "a"), ("order_by=created_at&direction=asc", "abc"), ("search=REF-77", "b"), ("search=northern parts", "a"), ("search=jane", "ab"), ("search=acme", "a")):
        assert sorted(got(q)) == sorted(expected) if q.startswith("search") else got(q) == expected, (q, got(q))
    assert got("search=REF-77&order_by=_relevance") == "b"
    update(client, a, notes="the last that was changed")
    assert got("order_by=updated_at")[0] == "a"
    for q in ("order_by=tracking_number", "order_by=_relevance", "status=open", "created_at=2024-01-02", "errors=AND:OR:x"):
        assert client.request("GET", f"{PATH}?{q}", check=False).raw.status_code in (200, 400), q
    client.refused("GET", f"{PATH}?order_by=tracking_number", 400, "param.invalid", ["order_by"])
    client.refused("GET", f"{PATH}?status=open", 400, "param.invalid", ["status"])
