"""What people reported of comparable systems, tried here: each case names its report (repository#number on GitHub, or a standard) and says what it should have been. Reports about
addresses stand in tests/data/addresses, those about paper in tests/api/stations/test_print_reports.py."""
import base64
import io
import json
import time

import pytest
import requests

import api_folders  # noqa: F401  the helpers of other folders
from receivers import Receivers, status
from test_events_show_rows import unlike
from test_events_stream import Stream
from test_providers import DETECT
from wharf import WAIT, Client, Server, make_location, until

CONTACTS = "/v1/contacts"


@pytest.fixture(scope="module")
def server():
    s = Server("--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "mail.url=", "--test-clock")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def client(org):
    return org.client()


@pytest.fixture(scope="module")
def web():
    w = Receivers()
    yield w
    w.shutdown()


def people(client, *names, **more):
    return [client.post(CONTACTS, {"name": n, **more}, expect=201).data["id"] for n in names]


def exported(client, resource, formats=("json",), **options):
    id = client.post("/v1/exports", {"resource": resource, "options": options, "formats": list(formats)}, expect=201).data["id"]
    until(lambda: client.get(f"/v1/exports/{id}").data["status"] == "completed")
    row = client.get(f"/v1/exports/{id}?include_csv=true&include_json=true").data
    return [requests.get(client.server.base + row[f"_{f}_url"], timeout=WAIT) for f in formats]


def file_of(body, type="text/csv"):
    return f"data:{type};base64," + base64.b64encode(body if isinstance(body, bytes) else body.encode()).decode()


def brought(client, body, **more):
    """A file as a batch of contacts: (rows, what is said of each item that failed, warnings)."""
    batch = client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": file_of(body), **more}, expect=201).data
    items = client.get(f"/v1/batches/{batch['id']}/items?limit=100").data
    return [client.get(f"{CONTACTS}/{i['result_id']}").data for i in items if i["result_id"]], [(i["code"], i["errors"]) for i in items if not i["result_id"]], batch["warnings"]


# ---- 1: lists, counts and searches ----

@pytest.mark.parametrize("report, query, n", [
    ("dockstore/dockstore#1619", "name=Nobody%20has%20this", 0), ("CityOfDetroit/bloom#151", "limit=3&metadata=place:a", 1), ("onecodex/onecodex#457", "limit=2&metadata=place:b", 4),
    ("Cacti/cacti#2841", "search=abcxyz", 0), ("oar-team/oar#199", "limit=2&search=Person", 5), ("metadatacenter/cedar-project#209", "limit=1&search=Person&metadata=place:b", 4)])
def test_the_total_is_that_of_the_filter(client, report, query, n):
    for i in range(5):
        people(client, f"Person {i}", metadata={"place": "ab"[i > 0]})
    people(client, "Other")
    page = client.get(f"{CONTACTS}?{query}&include_total_count=true").body["pagination"]
    assert page["total_count"] == n, report
    assert len(client.get(f"{CONTACTS}?{query.replace('limit=', 'ignored=')}&limit=100").data) == n


# ---- 2: one letter, accents, names of other scripts ----

@pytest.mark.parametrize("report, name, searched", [
    ("nornagon/cdda-guide#87", "水", "水"), ("Zverik/every_door#516", "酒屋", "酒"), ("HugoBlox/kit#1361", "至尊藏点驭众点", "驭众点"), ("HugoBlox/kit#1361", "至尊藏点驭众点", "尊藏点驭众"),
    ("rising-sun-rarities/numisnavigator-public#226", "Kyōhō", "kyoho"), ("rising-sun-rarities/numisnavigator-public#226", "Frühwald", "Fruhwald"),
    ("LD4P/sinopia_editor#1265", "Tanaka, Shōzō", "Tanaka Shozo"), ("LD4P/sinopia_editor#1265", "Tanaka, Shōzō", "Tanaka, Shōzō"), ("LD4P/sinopia_editor#1265", "田中正造", "田中正造"),
    ("the-deep/server#1349", "Organización Nacional Indígena", "organizacion indigena"), ("ffxiv-teamcraft/ffxiv-teamcraft#3032", "暗栗木木材", "栗木"), ("IQSS/dataverse#818", "Guaraní", "guarani")])
def test_a_name_is_found_as_people_type_it(client, report, name, searched):
    id, other = people(client, name, "Somebody Else")
    assert client.get(CONTACTS + "?search=" + requests.utils.quote(searched)).ids == [id], report


# ---- 3: what nobody understands is told ----

@pytest.mark.parametrize("report, path, named", [
    ("akvo/akvo-rsr#4682", "/v1/contacts?filter={%27name%27:[1", "filter"), ("fecgov/openFEC#160", "/v1/contacts?bogus=1", "bogus"), ("BlockScore/blockscore-ruby#78", "/v1/contacts?create_at[gt]=1", "create_at"),
    ("intuitem/ciso-assistant-community#4701", "/v1/shipments?ref_id=NRX-T0301", "ref_id"), ("zimmerman-team/IATI.cloud#1675", "/v1/trackers?reporting_organisation=44000", "reporting_organisation")])
def test_an_unknown_name_is_told_to_who_asks_for_it(client, report, path, named):
    """They are ignored, as links carry names of others; with Prefer: handling=strict they are refused."""
    client.get(path, expect=200)
    assert client.get(path, headers={"Prefer": "handling=strict"}, expect=400).errors == [named], report


@pytest.mark.parametrize("report, path", [
    ("speedruncomorg/api#75", "/v1/shipments?location_id=FOOBAR"), ("openclaw/clawhub#2184", "/v1/shipments?type=not-a-type"), ("openclaw/clawhub#2184", "/v1/contacts?order_by=not-a-sort"),
    ("openclaw/clawhub#2184", "/v1/webhooks?status=maybe"), ("BlockScore/blockscore-ruby#78", "/v1/contacts?created_at[around]=2026-01-01T00:00:00Z"), ("akvo/akvo-rsr#4682", "/v1/contacts?created_at]=1")])
def test_a_known_name_with_a_wrong_value_is_refused(client, report, path):
    assert client.get(path, expect=400).code in ("param.invalid", "validation.failed"), report


# ---- 4: exports and batches mean the rows of the list ----

@pytest.mark.parametrize("report, options", [
    ("railsadminteam/rails_admin#3270", {"metadata": "place:a"}), ("ridwanskaterock/cicool#360", {"search": "Person"}), ("elastic/kibana#27937", {"search": "Person", "metadata": "place:a"}),
    ("pods-framework/pods#5790", {}), ("msupply-foundation/open-msupply#9420", {"metadata": "place:b"}), ("PrestaShop/PrestaShop#37958", {"name": "Person 7"})])
def test_an_export_has_the_rows_of_the_list(client, report, options):
    rows = [{"name": f"Person {i}", "metadata": {"place": "ab"[i % 2]}} for i in range(45)] + [{"name": "Other"}]
    client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": rows}, expect=201)
    query = "&".join(f"{k}={requests.utils.quote(v)}" for k, v in options.items())
    listed = sorted(client.get(f"{CONTACTS}?limit=all&{query}").ids)
    found, = exported(client, "contact", **options)
    assert sorted(r["id"] for r in found.json()) == listed and len(listed) > (20 if "name" not in options else 0), report


@pytest.mark.parametrize("report", ["elastic/kibana#27937", "pxlrbt/filament-excel#39"])
def test_a_batch_takes_the_rows_of_the_list_and_no_page(client, report):
    client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": [{"name": f"Person {i}"} for i in range(60)] + [{"name": "Other"}]}, expect=201)
    listed = sorted(client.get(f"{CONTACTS}?search=Person&limit=all").ids)
    made = client.post("/v1/batches", {"resource": "contact", "action": "merge", "data": [], "filters": {"search": "Person"}, "properties": {"metadata": {"mark": "x"}}}, expect=202).data["id"]
    until(lambda: client.get(f"/v1/batches/{made}").data["status"] == "completed")
    assert sorted(client.get(f"{CONTACTS}?metadata=mark:x&limit=all").ids) == listed and len(listed) == 60, report


# ---- 5: what was exported comes back as it was ----

@pytest.mark.parametrize("report, row", [
    ("datagrok-ai/public#3215", {"metadata": {"curve": '{"series":[{"showPoints":"","points":[{"x":0}]}]}', "empty": ""}}), ("buildship-ai/rowy#1253", {"metadata": {"json": '{"a": [1, 2]}'}}),
    ("buildship-ai/rowy#421", {"groups": ["VIP", "North"]}), ("MukurtuCMS/Mukurtu-CMS#2029", {"groups": ["Sharing Setting", "Protocols"]}), ("johngodley/redirection#3946", {"groups": ["Rack 7"]}),
    ("LabKey/platform#7523", {"groups": ['Commas, and "quotes"', "Semi;colon"]}), ("fjalvingh/domui#641", {"notes": "First line\nsecond \"quoted\" line\n\nfourth"}), ("TeamSQL/desktop-app#133", {"metadata": {"a": "1,2", "b": '"x"'}}),
    ("doorstop-dev/doorstop#101", {"external_id": "1.0"}), ("easy-digital-downloads#3166", {"external_id": "02138", "id_number": "00045"})])
def test_an_export_that_is_brought_again_changes_nothing(client, report, row):
    body = {"name": "Round Trip", **{k: v for k, v in row.items() if k != "groups"}}
    if "groups" in row:
        ids = [client.post("/v1/groups", {"name": n, "resource": "contact"}, expect=201).data["id"] for n in row["groups"]]
        body["groups"] = {"add": ids}
    id = client.post(CONTACTS, body, expect=201).data["id"]
    before = client.get(f"{CONTACTS}/{id}").data
    for kind, answer in zip(("csv", "json"), exported(client, "contact", ("csv", "json"))):
        batch = client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": file_of(answer.content, "text/csv" if kind == "csv" else "application/json")}, expect=201).data
        assert batch["stats"]["errors"] == 0, (report, kind, batch)
        after = client.get(f"{CONTACTS}/{id}").data
        assert {k: v for k, v in after.items() if "updated" not in k} == {k: v for k, v in before.items() if "updated" not in k}, (report, kind)
    assert client.get(CONTACTS + "?limit=all").ids == [id]


# ---- 6: numbers of spreadsheets ----

def workbook(rows, formats=None):
    import xlsxwriter
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    page = book.add_worksheet()
    for r, cells in enumerate(rows):
        for c, cell in enumerate(cells):
            page.write(r, c, cell, *([book.add_format({"num_format": formats[c]})] if formats and r and formats[c] else []))
    book.close()
    return out.getvalue()


@pytest.mark.parametrize("report, text, kept", [
    ("teableio/teable#1880", "name,external_id\nA,00123\n", "00123"), ("hizzle-co/noptin#602", 'name,external_id\nA,"04109"\n', "04109"), ("bowenliang123/markdown-exporter#73", "name,external_id\nA,06932169358293\n", "06932169358293"),
    ("doorstop-dev/doorstop#101", "name,external_id\nA,1.0\n", "1.0"), ("rubo77/table2CSV#2", "name,external_id\nA,098475324\n", "098475324"), ("openfoodfacts/openfoodfacts-server#9011", 'name,external_id\nA,"=""0076840"""\n', "0076840")])
def test_codes_of_a_csv_file_stay_text(client, report, text, kept):
    (row,), failed, _ = brought(client, text)
    assert row["external_id"] == kept and not failed, report


@pytest.mark.parametrize("report, cell, format, kept", [
    ("teableio/teable#1880", "00123", None, "00123"), ("teableio/teable#1880", 123, "00000", "00123"), ("bowenliang123/markdown-exporter#73", 6932169358293, None, "6932169358293"),
    ("SEED-platform/seed#2562", "0045", "@", "0045"), ("javiertelioz/angular2-csv#36", 25, "0000000", "0000025")])
def test_codes_of_a_workbook_stay_what_is_seen(client, report, cell, format, kept):
    body = workbook([["name", "external_id"], ["A", cell]], [None, format])
    batch = client.post("/v1/batches", {"resource": "contact", "action": "merge", "mode": "sync", "data": file_of(body, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")}, expect=201).data
    item, = client.get(f"/v1/batches/{batch['id']}/items").data
    assert client.get(f"{CONTACTS}/{item['result_id']}").data["external_id"] == kept, report


# ---- 7: encodings, control characters, line ends ----

@pytest.mark.parametrize("report, body, names", [
    ("dotCMS/core#36508", b"\xef\xbb\xbfname,email\nBowl,a@b.example\n", ["Bowl"]), ("molgenis/molgenis#6492", b'\xef\xbb\xbf"name","email"\n"First","a@b.example"\n', ["First"]),
    ("lifelike/countersheetsextension#64", "\ufeffname;email\nNurſe;a@b.example\n".encode(), ["Nurſe"]), ("SORMAS-Foundation/SORMAS-Project#3747", "name,email\nMüller Straße,a@b.example\n".encode("cp1252"), ["Müller Straße"]),
    ("forcedotcom/dataloader#94", "\ufeffname,email\nA,a@b.example\n".encode("utf-16-le"), ["A"]), ("Belphemur/vue-json-csv#43", "\ufeffsep=;\nname;email\nÉva;a@b.example\n".encode(), ["Éva"]),
    ("ClickHouse/ClickHouse#39930", b"name,email\rA,a@b.example\rB,b@b.example\r", ["A", "B"]), ("IQTLabs/CRviz#60", b'name,notes\nSomething,"This line\nhas a linebreak."\nNext,x\n', ["Something", "Next"]),
    ("dbeaver/dbeaver#41361", b'name,notes,email\r\nA,"Row 1.2\r\n1.3",a@b.example\r\nB,x,b@b.example\r\n', ["A", "B"])])
def test_a_file_is_read_as_its_program_wrote_it(client, report, body, names):
    rows, failed, _ = brought(client, body)
    assert [r["name"] for r in rows] == names and not failed, (report, failed)


@pytest.mark.parametrize("report, cell", [("OpenRefine/OpenRefine#653", b"B\0b"), ("simonw/sqlite-utils#804", b"\0"), ("weewx/weewx#607", b"\0\0\0Beth"), ("hhurz/tableExport.jquery.plugin#103", b"\x1f030611")])
def test_control_characters_are_the_fault_of_their_row(client, report, cell):
    rows, failed, _ = brought(client, b"name,external_id\nA,x1\n" + cell + b",x2\nC,x3\n")
    assert {"A", "C"} <= {r["name"] for r in rows} and len(rows) + len(failed) == 3, (report, failed)
    assert not any(ord(c) < 32 for r in rows for c in r["name"])


# ---- 8: files of address books ----

THUNDERBIRD = ("First Name,Last Name,Display Name,Nickname,Primary Email,Secondary Email,Screen Name,Work Phone,Home Phone,Fax Number,Pager Number,Mobile Number,Home Address,Home Address 2,Home City,Home State,"
               "Home ZipCode,Home Country,Work Address,Work Address 2,Work City,Work State,Work ZipCode,Work Country,Job Title,Department,Organization,Web Page 1,Web Page 2,Birth Year,Birth Month,Birth Day,Custom 1,"
               "Custom 2,Custom 3,Custom 4,Notes,\nFirst,Last,First Last,Nick,csv@import.example,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n")
GMAIL = ("Name,Given Name,Additional Name,Family Name,Yomi Name,Name Prefix,Name Suffix,Initials,Nickname,Birthday,Gender,Location,Notes,Group Membership,E-mail 1 - Type,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value,"
         "Phone 2 - Type,Phone 2 - Value\nИмя Фамилия,Имя,,Фамилия,,,,,,,,,,* My Contacts,* ,email@example.com,Mobile,+1 201 555 0101,,\n")


@pytest.mark.parametrize("report, text, told", [
    ("owncloud-archive/contacts#1108", THUNDERBIRD, {"name": "First Last", "email": "csv@import.example", "nickname": "Nick"}),
    ("owncloud-archive/contacts#827", GMAIL, {"name": "Имя Фамилия", "email": "email@example.com", "phone": "+12015550101"}),
    ("fusionpbx/fusionpbx#1027", "First Name,Last Name,E-mail Address,Business Phone,Company\nAnn,Lee,ann@b.example,(201) 555-0101,Acme\n", {"name": "Ann Lee", "email": "ann@b.example", "phone": "+12015550101"}),
    ("georchestra/georchestra#2746", "First Name,Last Name,E-mail Address,Company,Notes\nAnn,Lee,ann@b.example,Acme,Hello\n", {"name": "Ann Lee", "email": "ann@b.example", "notes": "Hello"}),
    ("SimpleMobileTools/Simple-Contacts#254", "Name,Organization 1 - Name,E-mail 1 - Value\nMy org,,org@b.example\n", {"name": "My org", "email": "org@b.example"}),
    ("tine20/tine20#2111", "Name,Given Name,Family Name,E-mail 1 - Type,E-mail 1 - Value\nAnn Lee,Ann,Lee,* Work,ann@b.example\n", {"name": "Ann Lee", "email": "ann@b.example"})])
def test_an_address_book_is_read_with_its_own_names(client, report, text, told):
    rows, failed, warnings = brought(client, text)
    assert not failed and len(rows) == 1 and {k: rows[0][k] for k in told} == told, (report, failed, rows and {k: rows[0][k] for k in told}, warnings)


# ---- 9: phones ----

@pytest.mark.parametrize("report, country, sent, kept", [
    ("daddyz/phonelib#367", "US", "+16502530000;ext=136", "+16502530000"), ("daddyz/phonelib#367", "US", "+16502530000 x136", "+16502530000"), ("daddyz/phonelib#367", "US", "+16502530000 ext. 136", "+16502530000"),
    ("whisperfish/rust-phonenumber#47", "DE", "+1 520-878-2491", "+15208782491"), ("daddyz/phonelib#218", "FR", "0685123456", "+33685123456"), ("catamphetamine/libphonenumber-js#176", "MA", "0661234567", "+212661234567"),
    ("catamphetamine/libphonenumber-js#488", "US", "+15108675432", "+15108675432"), ("ITU-T E.123 4.1", "GB", "(020) 7946 0958", "+442079460958"), ("RFC 3966 5.1.1", "US", "tel:+1-201-555-0123", "+12015550123")])
def test_a_phone_is_one_number(client, report, country, sent, kept):
    client.post("/v1/org", {"profile": {"address": {"country_code": country}}}, expect=200)
    phone = client.post(CONTACTS, {"name": "A", "phone": sent}, expect=201).data["phone"]
    assert phone.startswith(kept), (report, phone)


@pytest.mark.parametrize("report, sent", [("google/libphonenumber#1511", "923419005ba521"), ("daviddrysdale/python-phonenumbers#291", "+353ks.123456789"), ("catamphetamine/libphonenumber-js#211", "+9664"),
                                          ("google/libphonenumber#1511", "+92 341 9005 bac 521"), ("python-phonenumbers#291", "+353ghd.123456789")])
def test_letters_between_digits_are_no_phone(client, report, sent):
    assert client.post(CONTACTS, {"name": "A", "phone": sent}, expect=400).errors == ["phone"], report


# ---- 10: tracking numbers ----

@pytest.mark.parametrize("report, one, other", [
    ("philterd/phileas#59", "9400 1000 0000 0000 0000 00", "9400100000000000000000"), ("episphere/connect#240", "7777 4444 1111", "777744441111"), ("philterd/phileas#59", "9361\u00a02898\u00a07901 0710 3836 92", "9361289879010710383692"),
    ("episphere/connect#463", "1Z 999 AA1 01 2345 6784", "1Z999AA10123456784"), ("W3C Character Model", "\u200b1Z999AA10123456784\ufeff", "1z999aa10123456784")])
def test_blanks_of_a_number_make_no_second_tracker(client, report, one, other):
    first = client.post("/v1/trackers", {"tracking_number": one}, expect=201).data["id"]
    assert client.post("/v1/trackers", {"tracking_number": other}).data["id"] == first, report


@pytest.mark.parametrize("report, number, carrier", [
    ("sailrish/shipit#38", "802269919937015457", "ups"), ("duckduckgo/zeroclickinfo-goodies#1828", "9361289879010710383692", "usps"), ("jkeen/tracking_number#70", "420773169261290283641500004181", "usps"),
    ("jkeen/tracking_number#27", "9274890103422546330271", "usps"), ("jkeen/tracking_number#27", "9261290172376608200214", "usps")])
def test_a_number_is_of_the_carrier_that_delivers(client, report, number, carrier):
    found = client.post(DETECT, {"tracking_number": number}, expect=200).data
    assert carrier in json.dumps(found), (report, found)


# ---- 13: receivers of webhooks ----

def hook(client, web, path, answer, **more):
    web.answers[path] = answer
    return client.post("/v1/webhooks", {"url": web.url(path), "events": ["location.created"], **more}, expect=201).data["id"]


def test_a_receiver_that_is_gone_is_asked_no_more(client, web):
    """cloudevents/spec#155 (HTTP 1.1 Web Hooks, 2.2), nyaruka/goflow#416: 410 ends the subscription, and says so."""
    id = hook(client, web, "/gone", status(410))
    make_location(client, "One")
    row = until(lambda: (lambda r: r if r["status"] == "disabled" else None)(client.get(f"/v1/webhooks/{id}").data))
    assert row["status_reason"] == "receiver_request"
    make_location(client, "Two")
    time.sleep(0.3)
    assert len(web.got["/gone"]) == 1


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_no_delivery_and_not_followed(client, web, code):
    """cloudevents/spec#155, keygen-sh/keygen-api#1138."""
    path = f"/moved{code}"
    id = hook(client, web, path, status(code, location=web.url("/elsewhere")))
    make_location(client, "One")
    web.wait(path, 1)
    row = until(lambda: next((d for d in client.get(f"/v1/webhooks/{id}/deliveries").data if d["attempts"] >= 1 and d["status"] != "in_flight"), None))
    assert row["status"] != "succeeded" and not web.got["/elsewhere"]


def test_a_webhook_that_was_deleted_is_sent_nothing_more(client, web):
    """keygen-sh/keygen-api#139: retries went on."""
    id = hook(client, web, "/deleted", status(500), retry_mode="fast")
    make_location(client, "One")
    web.wait("/deleted", 1)
    client.delete(f"/v1/webhooks/{id}", expect=200)
    n = len(web.got["/deleted"])
    Client(client.server, client.server.demo_key).post("/v1/system/clock", {"offset_seconds": 7200}, expect=200)
    time.sleep(0.5)
    assert len(web.got["/deleted"]) == n


def test_what_a_receiver_says_of_a_message_ends_it(client, web):
    """standard-webhooks/standard-webhooks#291."""
    id = hook(client, web, "/abort", status(500, webhook_delivery="abort-message"))
    make_location(client, "One")
    row = until(lambda: next((d for d in client.get(f"/v1/webhooks/{id}/deliveries").data if d["status"] == "failed"), None))
    assert row["attempts"] == 1


# ---- 14: event streams ----

def test_a_stream_goes_on_behind_what_was_seen(server, client):
    """EventSource/eventsource#291, turnstonelabs/turnstone#552, wildware-uk/agent-dashboard#7: replay of what was missed, nothing twice; bigskysoftware/htmx#2225: news come after it."""
    s = Stream(server, "?types=location.*", key=client.key)
    until(lambda: s.retry)
    make_location(client, "One")
    seen = s.take(1)[-1][0]
    s.close()
    make_location(client, "Two")
    again = Stream(server, "?types=location.*", key=client.key, headers={"Last-Event-ID": str(seen)})
    assert again.take(1)[0][2]["data"]["name"] == "Two"
    make_location(client, "Three")
    assert [f[2]["data"]["name"] for f in again.take(2)] == ["Two", "Three"]
    again.close()


def test_a_stream_that_ended_leaves_its_place(server, client):
    """wildware-uk/agent-dashboard#7: teardown of subscriptions; a browser comes again after each reload."""
    for _ in range(14):
        s = Stream(server, "", key=client.key)
        assert s.status == 200
        until(lambda: s.retry)
        s.close()
        time.sleep(0.3)


def test_an_event_source_that_is_refused_comes_again(server, client):
    """OpenLiberty/open-liberty#2190, EventSource/eventsource#74: a 5xx ends most of them for good, so there is none; it is told when to ask."""
    open_ = [Stream(server, "", key=client.key) for _ in range(10)]
    until(lambda: all(s.retry for s in open_))
    r = requests.get(server.base + "/v1/events/stream", headers={"SVC-API-KEY": client.key, "Accept": "text/event-stream"}, timeout=WAIT)
    assert r.status_code == 200 and "event: stream.refused" in r.text and r.text.startswith("retry: ")
    r = requests.get(server.base + "/v1/events/stream", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
    assert r.status_code == 429 and r.headers["Retry-After"]
    for s in open_:
        s.close()


# ---- 15: what events carry ----

@pytest.mark.parametrize("report, resource, body", [
    ("woocommerce/woocommerce#62266", "fulfillment", {"external_id": "F-1"}), ("woocommerce/woocommerce#12463", "shipment", {"tracking_number": "WOO-1", "parcels": [{"weight": 1.5, "weight_unit": "kg"}]}),
    ("VirtoCommerce/vc-platform#2183", "contact", {"name": "Whole", "notes": "All of it", "metadata": {"a": "1"}}), ("saleor/saleor#8054", "location", {"name": "Shop", "address": "1 Main St, Springfield, IL 62701, US"}),
    ("woocommerce/woocommerce#16433", "shipment", {"tracking_number": "WOO-2", "metadata": {"vendor": "1"}})])
def test_an_event_has_the_row_and_its_lines(client, report, resource, body):
    if resource == "fulfillment":
        item = client.post("/v1/items", {"name": "Bolt", "base_uom": "each"}, expect=201).data["id"]
        body = {**body, "location_id": make_location(client, "Here")["id"], "articles": [{"item_id": item, "requested_qty": 2}]}
    path = f"/v1/{resource}s"
    id = client.post(path, body, expect=201).data["id"]
    event = next(e for e in client.get(f"/v1/events?resource_id={id}&include_data=true").data if e["type"] == f"{resource}.created")
    assert not (faults := unlike(resource, client.get(f"{path}/{id}").data, event["data"])), (report, faults)


def test_the_description_of_an_event_is_of_what_is_sent(server, client):
    """saleor/saleor#8054, webflow/openapi-spec#5: payloads had members that no page named, and lacked others."""
    people(client, "A")
    make_location(client, "B")
    for event in client.get("/v1/events?include_data=true&limit=100").data:
        schema = requests.get(f"{server.base}/v1/schemas/events/{event['type']}", headers={"SVC-API-KEY": client.key}, timeout=WAIT).json()
        named = set(json.dumps(schema).split('"'))
        assert set(event["data"]) <= named, (event["type"], set(event["data"]) - named)
