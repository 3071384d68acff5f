"""Print stations and jobs: rules of spec 04 that no other file asks for, required ones first, each under its section."""
import concurrent.futures
import datetime
import json

import pytest
import requests

from documents import b64, pdf, png
from test_print_jobs import JOBS, Shop, box
from wharf import STATIONS, WAIT, Client, make_location, make_station, note_job, printer, station_body


@pytest.fixture(scope="module")
def shop(org):
    return Shop(org, "Rules")


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


# ---- section 2 and 3: stations and printers ----

def test_lengths_at_their_limits(client, location):
    name = "é" * 191
    s = make_station(client, location["id"], name, display_name="ü" * 191, device_token="t" * 4096,
                     printers=[printer("ñ" * 191, model="m" * 191)] + [printer(str(i)) for i in range(99)])
    assert s["name"] == name and len(s["printers"]) == 100 and s["printers"][0]["name"] == "ñ" * 191
    for change, field in (({"model": "m" * 192}, "model"), ({"name": "n" * 192}, "name"), ({"model": ""}, "model"), ({"name": " "}, "name")):
        client.refused("POST", STATIONS, 400, "validation.failed", [f"printers.0.{field}"], body=station_body(location["id"], "Long", printers=[{**printer(), **change}]))


def test_names_are_trimmed_before_they_are_compared(client, location):
    body = station_body(location["id"], "Trim", printers=[printer(" A "), printer("A")])
    client.refused("POST", STATIONS, 400, "validation.failed", ["printers.1.name"], body=body)
    s = make_station(client, location["id"], " Trim ", display_name="  Trimmed", printers=[printer(" A "), printer("a")])
    assert (s["name"], s["display_name"]) == ("Trim", "Trimmed") and [p["name"] for p in s["printers"]] == ["A", "a"]
    client.refused("POST", STATIONS, 400, "station.exists", ["name", "display_name"], body=station_body(location["id"], "TRIM ", display_name="tRIMMED"))


def test_configurations_of_printers(client, location):
    all_of_it = {"dpi": "300x600", "speed": "6 ips", "color_print": True, "double_sided": True, "spooling": True, "port": 65535, "priority": 1, "type": "thermal"}
    s = make_station(client, location["id"], "Keys", printers=[printer(configuration={**all_of_it, "colour": "red", "deep": {"er": 1}})])
    assert s["printers"][0]["configuration"] == all_of_it  # unknown keys are ignored
    for key, wrong in (("speed", "x" * 33), ("type", "x" * 65), ("priority", 0), ("color_print", "yes"), ("port", "9100"), ("dpi", 203)):
        client.refused("POST", STATIONS, 400, "validation.failed", [f"printers.0.configuration.{key}"],
                       body=station_body(location["id"], "Bad keys", printers=[printer(configuration={key: wrong})]))
    for missing in ("configuration", "page_size", "model"):
        body = station_body(location["id"], "Missing", printers=[{k: v for k, v in printer().items() if k != missing}])
        client.refused("POST", STATIONS, 400, "validation.failed", [f"printers.0.{missing}"], body=body)


def test_what_lists_leave_out(client, location):
    s = make_station(client, location["id"], "Short")
    listed, = client.get(f"{STATIONS}?name=Short").data
    whole = client.get(f"{STATIONS}/{s['id']}").data
    assert set(whole) - set(listed) == {"device_token", "allowed_users", "location"} and set(listed) == set(s)


def test_dates_of_stations_are_filtered(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    a, b = make_station(c, place, "Old"), make_station(c, place, "New")
    fresh.server.sql("UPDATE stations.print_station SET created_at = created_at - interval '2 days', updated_at = updated_at - interval '1 day' WHERE id = %s", a["id"])
    day = (at(b["created_at"]) - datetime.timedelta(hours=36)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for query, found in ((f"created_at[gte]={day}", [b]), (f"created_at[lte]={day}", [a]), (f"updated_at[gte]={day}", [b, a]), (f"updated_at[lte]={day}", [])):
        assert c.get(f"{STATIONS}?{query}").ids == [s["id"] for s in found], query


def test_only_the_client_says_how_a_station_is_before_its_first_session(client, location):
    s = make_station(client, location["id"], "Unmanaged", status="offline")
    for status in ("online", "offline", "online"):
        assert client.post(f"{STATIONS}/{s['id']}", {"status": status}, expect=200).data["status"] == status


def test_devices_see_their_locations_and_their_own_station(fresh):
    c = fresh.client()
    a, b = make_location(c, "A")["id"], make_location(c, "B")["id"]
    near, own, far = make_station(c, a, "NEAR"), make_station(c, b, "OWN"), make_station(c, b, "FAR")
    device = c.post("/v1/devices", {"name": "Box", "issue_key": True, "locations": {"add": [a]}}, expect=201).data
    fresh.server.sql("UPDATE stations.print_station SET device_id = %s WHERE id = %s", device["id"], own["id"])
    d = Client(c.server, device["api_key"])
    assert set(d.get(STATIONS).ids) == {near["id"], own["id"]}
    assert d.get(f"{STATIONS}/{own['id']}").data["id"] == own["id"]
    d.refused("GET", f"{STATIONS}/{far['id']}", 403, "location_access", [b])
    d.post(f"{STATIONS}/{own['id']}/sessions", {}, expect=201)


def test_names_of_any_alphabet_are_compared(client, location):
    make_station(client, location["id"], "Étage", display_name="Склад Ö")
    client.refused("POST", STATIONS, 400, "station.exists", ["name", "display_name"], body=station_body(location["id"], "éTAGE", display_name="сКЛАД ö"))
    for field in ("name", "display_name"):
        for empty in ("", " "):
            client.refused("POST", STATIONS, 400, "validation.failed", [field], body={**station_body(location["id"], "Some"), field: empty})


def test_device_tokens_are_any_text_and_no_credential(client, location):
    make_station(client, location["id"], "Token", device_token="any-random:text")
    assert client.request("GET", STATIONS, key="any-random:text").status == 401
    s = make_station(client, location["id"], "Token too", device_token="  é +/= ")
    assert client.get(f"{STATIONS}/{s['id']}").data["device_token"] == "  é +/= "


def test_printers_stay_in_the_order_sent(client, location):
    s = make_station(client, location["id"], "In order", printers=[printer(n) for n in "CADB"])
    u = client.post(f"{STATIONS}/{s['id']}", {"printers": [printer(n) for n in "BCEA"]}, expect=200).data
    for d in (u, client.get(f"{STATIONS}/{s['id']}").data, client.get(f"{STATIONS}?name=In%20order").data[0]):
        assert [p["name"] for p in d["printers"]] == list("BCEA")
    assert [p["name"] for p in s["printers"]] == list("CADB") and u == client.get(f"{STATIONS}/{s['id']}").data


def test_what_counts_as_a_job_of_a_station(org):
    s = Shop(org, "Counted")
    for status in ("queued", "processing", "completed", "failed", "canceled", "aborted", "unreported", "timed_out", "timeout"):
        d = s.make()
        org.server.sql("UPDATE stations.print_job SET status = %s WHERE id = %s", status, d["id"])
        note_job(org.server, d["id"])
    for query, found in (("include_print_jobs_count=true", 2), ("include_print_jobs_count=false", None), ("", None)):
        listed, = s.client.get(f"{STATIONS}?location_id={s.location['id']}&{query}").data
        assert listed.get("print_jobs_count") == s.client.get(f"{s.path}?{query}").data.get("print_jobs_count") == found


def test_pools_are_of_one_model(org):
    s = Shop(org, "Models", printer("A", model="M1"), printer("B", model="M2", page_size={"a4": True}), printer("C", model="M1"), configuration={"pooling_enabled": True})
    sheets, labels = [s.make(pdf(8.27, 11.69)) for _ in range(3)], [s.make() for _ in range(3)]
    assert [j["printer"]["model"] for j in sheets + labels] == ["M2"] * 3 + ["M1"] * 3 and all(j["pool"] for j in sheets + labels)
    s.open()
    got = {j["id"]: j["printer_name"] for j in s.claim(max=6)}
    assert set(got) == {sheets[0]["id"], labels[0]["id"], labels[1]["id"]} and got[sheets[0]["id"]] == "B"
    assert {got[j["id"]] for j in labels[:2]} == {"A", "C"}


def test_values_of_printers_at_their_limits(client, location):
    for values in ({"speed": "s" * 32, "type": "t" * 64, "port": 1, "priority": 1000}, {"dpi": "203", "port": 65535, "priority": 1}):
        s = make_station(client, location["id"], f"Limits {values['port']}", printers=[printer(configuration=values)])
        assert {k: s["printers"][0]["configuration"][k] for k in values} == values


def test_printers_that_went_are_kept_for_their_jobs(org):
    s = Shop(org, "Kept", printer("A", model="Gone"), printer("B"))
    a = s.station["printers"][0]["id"]
    done = s.make(print_station_id=s.station["id"], printer_name="A")
    s.update(done, status="completed")
    s.client.post(s.path, {"printers": [printer("B")]}, expect=200)
    assert org.server.sql("SELECT name, deleted_at IS NOT NULL FROM stations.printer WHERE id = %s", a) == [("A", True)]
    assert s.get(done)["printer"] == {"id": a, "name": "A", "model": "Gone"} and s.client.get(f"{JOBS}?printer_id={a}").ids == [done["id"]]


def test_a_refused_update_leaves_all_as_it_was(org):
    s = Shop(org, "Refused", printer("A"), printer("B"))
    other = make_station(s.client, s.location["id"], "Taken")
    waits = s.make(print_station_id=s.station["id"], printer_name="A")
    for change, code, errors in (({"name": "taken"}, "station.exists", ["name"]), ({"printers": [printer("B"), {**printer("C"), "id": other["printers"][0]["id"]}]},
                                                                                  "validation.failed", ["printers.1.id"])):
        s.client.refused("POST", s.path, 400, code, errors, body={"printers": [printer("B")], **change})
        assert s.client.get(s.path).data["printers"] == s.station["printers"] and s.get(waits) == waits and s.told(waits) == ["created"]


def test_no_flag_is_called_custom(client, location):
    for name in ("custom", "page_size_custom", "page_size_a4", "A4"):
        body = station_body(location["id"], "Flags", printers=[printer(page_size={name: True})])
        client.refused("POST", STATIONS, 400, "validation.failed", [f"printers.0.page_size.{name}"], body=body)


def test_who_may_print_is_named_where_it_is_wrong(fresh):
    c = fresh.client()
    a, b = make_location(c, "A")["id"], make_location(c, "B")["id"]
    one, two, off, away = fresh.user(), fresh.user(), fresh.user(), fresh.user(locations=[b])
    s = make_station(c, a, "Who", allow_all_users=False, allowed_users=[one, off])
    fresh.server.sql("UPDATE wharf.user SET status = 'disabled' WHERE id = %s", off)

    def no(errors, **body):
        c.refused("POST", f"{STATIONS}/{s['id']}", 400, "validation.failed", errors, body=body)

    def who(**body):
        return c.post(f"{STATIONS}/{s['id']}", body, expect=200).data["allowed_users"]
    for verb in ("add", "set"):
        for bad in (off if verb == "set" else away, away, "user_0000000000000000000000"):
            no([f"allowed_users.{verb}.2"], allowed_users={verb: [two, one, bad]})
    for verbs in (("add", "remove"), ("add", "set"), ("remove", "set"), ("add", "remove", "set"), ()):
        no(["allowed_users"], allowed_users={v: [two] for v in verbs})
    assert who() == [one, off] and who(allowed_users={"remove": [off]}) == [one]
    assert who(allowed_users={"add": [one, two]}) == [one, two]
    no(["allow_all_users"], allow_all_users=False, allowed_users={"remove": [one]})  # comes with add or set
    assert who(allow_all_users=True) == []
    no(["allowed_users"], allowed_users={"set": [one]})
    no(["allow_all_users"], allow_all_users=False, allowed_users={"set": []})
    assert who(allow_all_users=False, allowed_users={"set": [two]}) == [two]


def test_lists_of_stations_say_what_they_are(client, location):
    make_station(client, location["id"], "Listed")
    a = client.get(f"{STATIONS}?name=Listed")
    assert a.message and a.pagination == {"page": 1, "limit": 20, "has_more": False} and a.data[0]["location_id"] == location["id"]
    assert (a.data[0]["name"], a.data[0]["display_name"], a.data[0]["status"]) == ("Listed", "Display Listed", "online")


def test_stations_and_jobs_are_no_resources_of_batches_and_exports(client):
    for resource in ("print_station", "print_job"):
        client.refused("POST", "/v1/batches", 400, "validation.failed", ["resource"], body={"resource": resource, "action": "merge", "data": [{"name": "x"}]})
        client.refused("POST", "/v1/exports", 400, "validation.failed", ["resource"], body={"resource": resource, "options": {}})


# ---- section 6: jobs ----

def test_jobs_at_stations_out_of_reach(org, shop):
    near = org.client(locations=[make_location(shop.client, "Near")["id"]])
    near.refused("POST", JOBS, 403, "location_access", [shop.location["id"]], body={"print_station_id": shop.station["id"], "data": b64(pdf())})
    near.refused("POST", f"{JOBS}/{shop.make()['id']}", 403, "location_access", [shop.location["id"]], body={"status": "canceled"})


def test_removed_and_changed_fields_of_configuration(shop):
    body = {"location_id": shop.location["id"], "data": b64(pdf()), "configuration": {"reverse_order": False}}
    shop.client.refused("POST", JOBS, 400, "validation.failed", ["configuration.reverse_order"], body=body, headers={"Prefer": "handling=strict"})
    body["configuration"] = {"scaling": 2}
    assert shop.client.request("POST", JOBS, body=body, expect=201, headers={"Prefer": "handling=strict"}).data["configuration"]["scaling"] == 2


def test_custom_sizes_are_asked_for_in_full(shop):
    named = {"print_station_id": shop.station["id"], "printer_id": shop.station["printers"][0]["id"], "custom_dimensions": {"width": 3, "height": 3}}
    shop.refuse(400, "validation.failed", ["printer_name"], configuration={"paper_size": "page_size_custom"}, **named)
    shop.refuse(400, "validation.failed", ["custom_dimensions"], configuration={"paper_size": "label_4x6"}, **named)
    d = shop.make()
    shop.client.refused("POST", f"{JOBS}/{d['id']}/reprint", 400, "validation.failed", ["custom_dimensions", "print_station_id", "printer_name"],
                        body={"configuration": {"paper_size": "page_size_custom"}})

@pytest.mark.parametrize("sent, kept", [(0.25, 0.25), (3, 3), (3.0, 3), (0.33333, 0.3333), (1.00005, 1.0001), (2.99999, 3), (1, 1)])
def test_scaling_has_four_decimals(shop, sent, kept):
    found = shop.make(configuration={"scaling": sent})["configuration"]["scaling"]
    assert found == kept and isinstance(found, (int, float))


@pytest.mark.parametrize("sent", [0.2499, 3.0001, 0, -1, 25, 100, 300, "1.5", True, [1], {}])
def test_scaling_of_no_use(shop, sent):
    shop.refuse(400, "validation.failed", ["configuration.scaling"], configuration={"scaling": sent})


@pytest.mark.parametrize("stored, read", [
    ("0.25", 0.25), ("0.2499", 0.25), ("0", 0.25), ("-100", 0.25), ("1e-9", 0.25), ("3", 3), ("3.0001", 3), ("24.9999", 3), ("25", 0.25), ("25.0", 0.25), ("26", 0.26),
    ("99.5", 0.995), ("299.99", 2.9999), ("300", 3), ("300.0001", 3), ("1e9", 3), ("null", 1), ('"50"', 1), ("[]", 1), (None, 1)])
def test_every_clamp_of_stored_scaling(shop, stored, read):
    """As it is retrieved, listed, claimed, told in events, and reprinted; stored: the JSON of an older version, None: the key is missing."""
    d = shop.make()
    change = "configuration - 'scaling'" if stored is None else "jsonb_set(configuration, '{scaling}', '%s')" % stored
    shop.org.server.sql(f"UPDATE stations.print_job SET configuration = {change} WHERE id = '{d['id']}'")
    listed, = shop.client.get(f"{JOBS}?name={d['name'].replace(' ', '%20')}").data
    assert shop.get(d)["configuration"]["scaling"] == listed["configuration"]["scaling"] == read
    assert shop.update(d, status="processing")["configuration"]["scaling"] == read
    shop.update(d, status="completed")
    assert shop.org.events(d["id"], "print_job.completed")[0][1]["configuration"]["scaling"] == read
    again = shop.client.post(f"{JOBS}/{d['id']}/reprint", {}, expect=201).data
    assert again["configuration"]["scaling"] == read and again["configuration"]["copies"] == 1


def test_the_migration_rewrites_stored_scaling(shop):
    scale = lambda v: shop.org.server.sql("SELECT stations.job_configuration(%s::jsonb)", json.dumps({"copies": 2, "reverse_order": True, "scaling": v}))[0][0]
    assert scale(150) == {"copies": 2, "scaling": 1.5} and scale(7) == {"copies": 2, "scaling": 3} and scale(None) == {"copies": 2, "scaling": 1}


def test_reverse_order_of_older_versions_is_not_returned(shop):
    d = shop.make()
    shop.org.server.sql("UPDATE stations.print_job SET configuration = configuration || '{\"reverse_order\": true}' WHERE id = %s", d["id"])
    assert shop.get(d)["configuration"] == d["configuration"]
    assert "reverse_order" not in shop.client.get(f"{JOBS}?limit=1").data[0]["configuration"]


@pytest.mark.parametrize("missing", ["custom_dimensions", "print_station_id", "printer_name"])
def test_custom_sizes_need_three_things(shop, missing):
    body = {"custom_dimensions": {"width": 0.25, "height": 60}, "print_station_id": shop.station["id"], "printer_name": "Zebra"}
    named = [missing] if missing != "print_station_id" else ["print_station_id"]
    shop.refuse(400, "validation.failed", named, configuration={"paper_size": "page_size_custom"}, **{**body, missing: None})
    d = shop.make(configuration={"paper_size": "page_size_custom", "color_print": True, "double_sided": True}, **body)  # what the printer can is not asked
    assert box(shop.paper(d)) == [(18, 4320)] and d["custom_dimensions"] == body["custom_dimensions"]


@pytest.mark.parametrize("dimensions, errors", [
    ({"width": 0.2499, "height": 3}, ["custom_dimensions.width"]), ({"width": 3, "height": 60.001}, ["custom_dimensions.height"]),
    ({"width": "3", "height": 3}, ["custom_dimensions.width"]), ({}, ["custom_dimensions.width", "custom_dimensions.height"]), ([3, 3], ["custom_dimensions"])])
def test_custom_dimensions(shop, dimensions, errors):
    shop.refuse(400, "validation.failed", errors, configuration={"paper_size": "page_size_custom"}, custom_dimensions=dimensions,
                print_station_id=shop.station["id"], printer_name="Zebra")


def test_paper_size_required(org, shop):
    """Whatever says no size, or one that is none of the 39; before any row is written, and whoever is asked to print it."""
    rows = lambda: shop.org.server.sql("SELECT count(*) FROM stations.print_job WHERE organization_id = %s", org.id)[0][0]
    before = rows()
    named = {"print_station_id": shop.station["id"], "printer_name": "Zebra"}
    for more in ({"document": pdf(4.07, 6)}, {"document": pdf(4, 6.07)}, {"document": pdf(5, 5)}, {"document": png(400, 600)}, {"data": "data:text/plain,Hello"},
                 {"raw": True, "data": "data:,%5EXA%5EXZ"}, {"document": png(812, 1218, 100)}, {"document": pdf(4.07, 6), "configuration": {}},
                 {"document": pdf(5, 5), "configuration": {"paper_size": None}}):
        for where in ({}, named):
            a = shop.refuse(400, "print_job.paper_size_required", ["configuration.paper_size"], **more, **where)
            assert "paper_size" in a.message
    assert rows() == before
    assert shop.make(pdf(5, 5), configuration={"paper_size": "label_4x6"})["document"]["paper_size_detected"] is False


def test_paper_sizes_by_both_names(shop):
    for name in ("label_4x6", "page_size_label_4x6"):
        assert shop.make(configuration={"paper_size": name})["configuration"]["paper_size"] == "page_size_label_4x6"
    for name in ("label_4X6", "page_size_", "page_size_page_size_a4", "4x6", "Letter"):
        shop.refuse(400, "validation.failed", ["configuration.paper_size"], configuration={"paper_size": name})


def test_expiry_is_a_day_unless_said(shop):
    for more, seconds in (({}, 86400), ({"expire_after": 60}, 60), ({"expire_after": 1209600}, 1209600)):
        d = shop.make(**more)
        assert abs((at(d["expires_at"]) - at(d["created_at"])).total_seconds() - seconds) < 1


def test_a_printer_by_its_id(org):
    s = Shop(org, "By id", printer("A"), printer("B"))
    b = s.station["printers"][1]["id"]
    assert s.make(print_station_id=s.station["id"], printer_id=b)["printer_name"] == "B"
    assert s.make(print_station_id=s.station["id"], printer_id=b, printer_name="B")["printer_name"] == "B"
    s.refuse(400, "validation.failed", ["printer_name"], print_station_id=s.station["id"], printer_id=b, printer_name="A")
    s.refuse(400, "validation.failed", ["print_station_id"], printer_id=b)
    s.client.post(s.path, {"printers": [printer("A")]}, expect=200)
    s.refuse(400, "validation.failed", print_station_id=s.station["id"], printer_id=b)  # removed


def test_stations_choose_among_their_own_printers(org):
    s = Shop(org, "Own", printer("A", page_size={"a4": True}), printer("B"))
    other = make_station(s.client, s.location["id"], "Idle")
    d = s.make(print_station_id=s.station["id"])
    assert d["printer_name"] == "B" and d["routing"]["automatic"] is True and s.make()["print_station_id"] == other["id"]
    s.refuse(400, "print_job.no_printer", [], print_station_id=s.station["id"], configuration={"paper_size": "a3"})


# ---- section 8: states ----

def test_timeout_of_older_versions_is_timed_out(shop):
    d = shop.make()
    shop.org.server.sql("UPDATE stations.print_job SET status = 'timeout' WHERE id = %s", d["id"])
    assert shop.get(d)["status"] == "timed_out"
    assert d["id"] in shop.client.get(JOBS + "?status=timed_out&limit=100").ids
    assert d["id"] not in shop.client.get(JOBS + "?status=queued&limit=100").ids
    shop.client.refused("GET", JOBS + "?status=timed_out,timeout", 400, "param.invalid", ["status"])
    done = shop.update(d, status="completed")  # as any other whose end nobody knew
    assert (done["status"], done["confidence"]) == ("completed", "operator")
    assert shop.org.events(d["id"], "print_job.completed")[0][1]["previous_status"] == "timed_out"


@pytest.mark.parametrize("reason", [None, "ran out of sight"])
def test_unreported_takes_a_reason_or_none(shop, reason):
    d = shop.make()
    shop.update(d, status="processing")
    done = shop.update(d, status="unreported", **({"reason": reason} if reason else {}))
    assert (done["status"], done["reason"], done["confidence"]) == ("unreported", reason, None) and shop.told(d)[-1] == "unreported"


@pytest.mark.parametrize("reason", ["ab", "x" * 1024, " a "])
def test_reasons_are_sentences_whatever_they_are_for(shop, reason):
    d = shop.make()
    shop.update(d, status="processing")
    shop.no(d, 400, "validation.failed", ["reason"], status="unreported", reason=reason)
    assert shop.get(d)["status"] == "processing"


@pytest.mark.parametrize("reason, good", [("abc", True), ("x" * 1023, True), ("é" * 1023, True), ("éé", False), ("ab", False), ("   ", False), ("a  ", False)])
def test_why_a_job_failed(shop, reason, good):
    d = shop.make()
    if good:
        assert shop.update(d, status="failed", reason=reason)["reason"] == reason
    else:
        shop.no(d, 400, "validation.failed", ["reason"], status="failed", reason=reason)
        assert shop.get(d)["status"] == "queued"


def test_one_report_wins(shop):
    """Two apps that take the same waiting job: exactly one attempt."""
    for _ in range(5):
        d = shop.make()

        def take(_):
            return Client(shop.client.server, shop.client.key).post(f"{JOBS}/{d['id']}", {"status": "processing"}).status
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            assert set(pool.map(take, range(6))) == {200}
        assert shop.get(d)["attempt"] == 1 and shop.told(d) == ["created", "updated"]


def test_removal_and_cancel_at_once_end_a_job_once(org):
    for i in range(6):
        s = Shop(org, f"Once {i}", printer("A"), printer("B"))
        jobs = [s.make(print_station_id=s.station["id"], printer_name="A") for _ in range(3)]

        def act(what):
            c = Client(s.client.server, s.client.key)
            return c.post(s.path, {"printers": [printer("B")]}, expect=200).status if what == "remove" else c.post(f"{JOBS}/{what}", {"status": "canceled"}).status
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(act, ["remove", *[j["id"] for j in jobs]]))
        assert set(codes) <= {200, 409}
        for j in jobs:
            ends = [e for e in s.told(j) if e in ("canceled", "aborted")]
            assert ends == [s.get(j)["status"]]


# ---- section 9: claims ----

@pytest.mark.parametrize("body, errors", [({"max": 0}, ["max"]), ({"max": 17}, ["max"]), ({"wait": 56}, ["wait"]), ({"wait": -1}, ["wait"]), ({"printer_ids": "x"}, ["printer_ids"])])
def test_claims_that_ask_too_much(org, body, errors):
    s = getattr(test_claims_that_ask_too_much, "shop", None) or Shop(org, "Claims")
    test_claims_that_ask_too_much.shop = s
    s.client.refused("POST", s.path + "/claim", 400, "validation.failed", errors, body={"session_id": s.open(), **body})


def test_claims_for_some_printers(org):
    s = Shop(org, "Some", printer("A"), printer("B"))
    a, b = (s.make(print_station_id=s.station["id"], printer_name=n) for n in "AB")
    s.open()
    assert [j["id"] for j in s.claim(max=5, printer_ids=[s.station["printers"][1]["id"]])] == [b["id"]]
    assert [j["id"] for j in s.claim(max=5)] == [a["id"]]


def test_devices_get_the_prepared_document(org):
    s = Shop(org, "Prepared")
    device = s.client.post("/v1/devices", {"name": "D", "issue_key": True, "locations": {"add": [s.location["id"]]}}, expect=201).data
    d = s.make(pdf(8, 12), configuration={"paper_size": "label_4x6"})

    def bytes_for(key, query=""):
        return requests.get(f"{s.client.server.base}{JOBS}/{d['id']}/document{query}", headers={"SVC-API-KEY": key}, timeout=WAIT).content
    assert box(bytes_for(device["api_key"])) == [(288, 432)] and bytes_for(device["api_key"], "?prepared=false") == pdf(8, 12) == bytes_for(s.client.key)


def test_deleting_a_station_ends_its_session(org):
    s = Shop(org, "Ends")
    session = s.open()
    s.client.delete(s.path)
    s.client.refused("POST", s.path + "/claim", 404, "not_found", body={"session_id": session})
    assert "session_closed" in [e[0].removeprefix("print_station.") for e in org.events(s.station["id"])]
    assert org.server.sql("SELECT ended_by FROM stations.print_session WHERE id = %s", session) == [("station_deleted",)]


def test_printer_status_is_told_every_ten_seconds(org):
    s = Shop(org, "Flaps")
    s.open()
    for status in ("busy", "online", "error", "online"):
        s.client.post(s.path + "/heartbeat", {"session_id": s.session, "printers": [{"name": "Zebra", "status": status}]}, expect=200)
    told = org.events(s.station["id"], "print_station.printer_status_changed")
    assert [(e[1]["printer_status"], e[1]["previous_status"], e[1]["printer_id"]) for e in told] == [("busy", "online", s.station["printers"][0]["id"])]
    assert s.client.get(s.path).data["printers"][0]["status"] == "online"


# ---- what happens at the same moment ----

def at_once(*acts):
    """Each on a thread and a connection of its own; their answers."""
    with concurrent.futures.ThreadPoolExecutor(len(acts)) as pool:
        return [f.result() for f in [pool.submit(a) for a in acts]]


def test_no_job_waits_for_a_printer_that_is_gone(org):
    """Jobs are made, moved and reprinted for a printer while it is removed: each is refused, printed elsewhere, or aborted."""
    s = Shop(org, "Homeless", printer("A"), printer("B"))
    old = s.make(print_station_id=s.station["id"], printer_name="A")
    s.update(old, status="completed")

    def act(method, path, body):
        return lambda: Client(s.client.server, s.client.key).request(method, path, body=body).status
    for _ in range(8):
        s.client.post(s.path, {"printers": [printer("A"), printer("B")]}, expect=200)
        waits = s.make(print_station_id=s.station["id"], printer_name="B")
        body = {"location_id": s.location["id"], "data": b64(pdf())}
        named = {"print_station_id": s.station["id"], "printer_name": "A"}
        codes = at_once(act("POST", JOBS, {**body, **named}), act("POST", JOBS, body), act("POST", JOBS, {**body, **named}), act("POST", f"{JOBS}/{old['id']}/reprint", {}),
                        act("POST", f"{JOBS}/{waits['id']}", named), act("POST", s.path, {"printers": [printer("B")]}))
        assert set(codes) <= {200, 201, 400, 409}, codes
        live = {p["id"] for p in s.client.get(s.path).data["printers"]}
        left = s.client.get(f"{JOBS}?print_station_id={s.station['id']}&status=queued&limit=1000").data
        assert {j["printer"]["id"] for j in left} <= live


def test_jobs_that_come_back_find_their_printer_gone(org):
    s = Shop(org, "Comes back", printer("A"), printer("B"))
    s.open()
    for name, pool in (("A", False), ("B", False)):
        s.make(print_station_id=s.station["id"], printer_name=name)
    a, b = sorted(s.claim(max=5), key=lambda j: j["printer_name"])
    s.client.post(s.path, {"printers": [printer("B")]}, expect=200)
    assert s.get(a)["status"] == "processing"
    s.client.post(s.path + "/release", {"session_id": s.session, "jobs": [{"id": a["id"], "attempt": 1}]}, expect=200)
    d = s.get(a)
    assert (d["status"], d["reason_code"]) == ("aborted", "printer_removed") and sorted(s.told(a)) == ["aborted", "created", "updated", "updated"]
    assert [h["status"] for h in s.get(a, "?include_history=true")["history"]] == ["queued", "processing", "queued", "aborted"]
    s.client.delete(s.path)
    d = s.get(b)
    assert (d["status"], d["reason_code"]) == ("aborted", "station_deleted") and "aborted" in s.told(b)


def test_moved_jobs_stay_where_they_were_put(org):
    s = Shop(org, "Moved", printer("A", languages=["zpl"]), printer("B"), printer("C", languages=["zpl"]))
    d = s.make(data="data:,%5EXA%5EXZ", raw=True, configuration={"paper_size": "label_4x6"})
    assert d["routing"]["automatic"] is True
    s.no(d, 400, "print_job.unsupported", ["raw"], print_station_id=s.station["id"], printer_name="B")
    other = "C" if d["printer_name"] == "A" else "A"
    assert s.update(d, printer_name=other)["routing"] == {"automatic": False, "candidates": 1, "reason": "moved"}
    sided = s.make(configuration={"double_sided": True}, print_station_id=s.station["id"], printer_name="A")
    assert s.update(sided, printer_name="B")["printer"]["name"] == "B"  # one page needs no second side


def test_a_heartbeat_does_not_end_a_drain(org):
    s = Shop(org, "Drained")
    s.open()
    beat = {"session_id": s.session}

    def act(path, body):
        return lambda: Client(s.client.server, s.client.key).post(path, body, expect=200).status
    for _ in range(25):
        org.server.sql("UPDATE stations.print_station SET status = 'offline', draining = false WHERE id = %s", s.station["id"])
        at_once(act(s.path, {"status": "offline"}), *[act(s.path + what, beat) for what in ("/heartbeat", "/claim", "/heartbeat")])
        assert s.client.get(s.path).data["status"] == "offline"
    s.client.post(s.path, {"status": "online"}, expect=200)


def test_leaving_does_not_take_a_new_session_offline(org):
    s = Shop(org, "Leaves")
    for _ in range(10):
        old = s.open()

        def leave():
            return Client(s.client.server, s.client.key).delete(f"{s.path}/sessions/{old}", expect=None).status
        gone, new = at_once(leave, lambda: Client(s.client.server, s.client.key).post(s.path + "/sessions", {}, expect=201).data["session_id"])
        assert gone in (200, 409) and s.client.get(s.path).data["status"] == "online"
        assert org.server.sql("SELECT id FROM stations.print_session WHERE station_id = %s AND ended_at IS NULL", s.station["id"]) == [(new,)]


def test_who_was_taken_over_gets_no_jobs(org):
    s = Shop(org, "Taken over", *[printer(f"P{i}", configuration={"spooling": True}) for i in range(2)], configuration={"max_inflight": 64})
    for _ in range(10):
        old = s.open()
        made = {s.make()["id"] for _ in range(3)}

        def claim():
            return Client(s.client.server, s.client.key).post(s.path + "/claim", {"session_id": old, "max": 1}).status
        at_once(claim, lambda: Client(s.client.server, s.client.key).post(s.path + "/sessions", {}, expect=201), claim)
        held = org.server.sql("SELECT count(*) FROM stations.print_job WHERE held_by = %s AND status = 'processing'", old)
        assert held == [(0,)]
        s.open()
        for j in made:
            s.client.post(f"{JOBS}/{j}", {"status": "canceled"}, expect=200)


# ---- section 13: limits ----

def test_five_thousand_stations_at_most(fresh):
    c = fresh.client()
    place = make_location(c)["id"]
    first = make_station(c, place, "First")
    columns = [n for n, in fresh.server.sql("SELECT column_name FROM information_schema.columns WHERE table_schema = 'stations' AND table_name = 'print_station'")
               if n not in ("id", "name", "display_name")]
    fresh.server.sql(f"INSERT INTO stations.print_station (id, name, display_name, {', '.join(columns)}) SELECT 'prnt_stn_' || lpad(n::text, 22, '0'), 'S' || n, 'D' || n,"
                     f" {', '.join('s.' + n for n in columns)} FROM stations.print_station s CROSS JOIN generate_series(1, 4998) n WHERE s.id = %s", first["id"])
    last = make_station(c, place, "Last")
    c.refused("POST", STATIONS, 409, "station.too_many", [], body=station_body(place, "One more"))
    c.post(f"{STATIONS}/{last['id']}", {"name": "Renamed"}, expect=200)
    c.delete(f"{STATIONS}/{last['id']}")
    make_station(c, place, "One more")
