"""Item labels read over HTTP (docs/spec/06-inference.md section 11): every field and where it comes from, lists, updates, deletes."""
import base64

import pytest

import readings
from outside import Host, redirect
from readings import labels, text
from wharf import Server, until

PATH = "/v0/ai/inferences/images/item-labels"
MODULES = "org,locations,carriers,events,inference"
FS1 = "\x1d"
PICTURES = {}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    h = Host(tmp_path_factory.mktemp("ca"), "labels.example.test", {"/label.png": lambda h: h.answer(200, drawn(CAPTIONS)), "/failing.png": lambda h: h.answer(500, b"not now"), "/inside": redirect("https://127.0.0.1/x"),
                                                                    "/large.png": lambda h: h.answer(200, b"x" * 10000001), "/text.png": lambda h: h.answer(200, b"no image")})
    yield h
    h.shutdown()


@pytest.fixture(scope="module")
def server(host):
    s = Server("--modules", MODULES, "--set", "rate_limit.key=0", *host.settings)
    yield s
    s.stop()


def drawn(lines=(), codes=()):
    """A label of an item as PNG bytes: lines of text, then barcodes, each (kind, value, more options of zint)."""
    if (lines, codes) not in PICTURES:
        page = labels.Image.new("L", (812, 120 + 44 * len(lines) + 240 * len(codes)), 255)
        d = labels.ImageDraw.Draw(page)
        for i, line in enumerate(lines):
            d.text((40, 40 + 44 * i), line, 0, labels.font(32))
        for i, (kind, value, *more) in enumerate(codes):
            matrix = kind in ("datamatrix", "qr")
            page.paste(labels.code(kind, value, 3 if matrix else 1, None if matrix else 80, *more), (40, 80 + 44 * len(lines) + 240 * i))
        PICTURES[lines, codes] = labels.bytes_of(page)
    return PICTURES[lines, codes]


def read(client, data, **body):
    """A busy machine may have no time for all steps of a picture, or no process: then once more."""
    for _ in range(10):
        r = client.post(PATH, {"image": text(data), **body})
        if r.raw.status_code == 503:
            continue
        assert r.raw.status_code == 201, r.raw.text[:1000]
        if r.data["engine"] and r.data["engine"]["whole"]:
            return r.data
        client.delete(f"{PATH}/{r.data['id']}", expect=200)
    raise AssertionError(r.raw.text[:500])


def said(row):
    """Fields that are not empty, without those that every reading has."""
    plain = {"object", "id", "status", "errors", "image_url", "raw_text", "barcodes", "engine", "metadata", "location_id", "organization_id", "created_at", "updated_at", "created_by", "updated_by"}
    return {k: v for k, v in row.items() if k not in plain and v not in (None, [])}


# ---- fields, and where they come from ----

CAPTIONS = ("CARTON# C-77", "LOT: A-55", "SKU 99-1", "P/N 4711-A", "QTY: 24", "PO# 5501-7", "EXP: 2027-12-31", "MFG DATE 2026-01-05")


def test_captions(client):
    row = read(client, drawn(CAPTIONS), metadata={"shelf": "A"})
    assert row["object"] == "item_label_inference" and row["id"].startswith("inf_il_") and (row["status"], row["errors"]) == ("completed", [])
    assert said(row) == {"carton_number": "C-77", "lot_number": "A-55", "sku": "99-1", "item_numbers": ["4711-A"], "quantity": 24, "purchase_orders": ["5501-7"], "expiry_date": "2027-12-31", "production_date": "2026-01-05"}
    assert row["metadata"] == {"shelf": "A"} and row["barcodes"] == [] and "CARTON" in row["raw_text"] and row["engine"]["languages"] == "eng"


GS1 = [("(00)106141412345678908", {"sscc": "106141412345678908"}), ("(01)00614141123452", {"gtin": "00614141123452"}), ("(02)00614141123452(37)12", {"gtin": "00614141123452", "quantity": 12}),
       ("(10)LOT-9", {"lot_number": "LOT-9"}), ("(11)260105", {"production_date": "2026-01-05"}), ("(15)271231", {"expiry_date": "2027-12-31"}), ("(17)270200", {"expiry_date": "2027-02-28"}),
       ("(21)S-1", {"serial_number": "S-1"}), ("(240)EXTRA-1(241)CUST-2", {"item_numbers": ["EXTRA-1", "CUST-2"]}), ("(3102)001250", {"weight": {"value": 12.5, "unit": "kg", "raw": "001250"}}),
       ("(400)PO-4500", {"purchase_orders": ["PO-4500"]})]
IDENTIFIERS = [("P4711-A", {"item_numbers": ["4711-A"]}), ("1P99-B", {"item_numbers": ["99-B"]}), ("KPO-7", {"purchase_orders": ["PO-7"]}), ("Q25", {"quantity": 25}), ("SX1", {"serial_number": "X1"}),
               ("1TL9", {"lot_number": "L9"}), ("3SC-5", {"carton_number": "C-5"})]


def test_elements_of_gs1_and_data_identifiers(client):
    """Each one read by a scanner: what the client sends is read as what the picture shows."""
    blank = labels.bytes_of(labels.Image.new("L", (200, 200), 255))
    for value, expected in GS1 + [(f"[)>\x1e06{FS1}{value}\x1e\x04", expected) for value, expected in IDENTIFIERS]:
        row = read(client, blank, barcode_values=[value])
        got = said(row)
        if "weight" in got:
            got["weight"] = {**got["weight"], "raw": "001250"}
        assert got == expected and row["status"] == "completed" and row["barcodes"][0]["source"] == "request", value


def test_barcodes_of_the_picture(client):
    picture = drawn(("SUPPLIER: ACME SUPPLY COMPANY",), (("gs1_128", "[01]00614141123452[17]271231[10]A-1"), ("datamatrix", f"[)>\x1e06{FS1}P4711-A{FS1}Q25{FS1}KPO-7\x1e\x04".replace("\x1e", "\\x1e").replace(FS1, "\\x1d").replace("\x04", "\\x04"), "--esc")))
    row = read(client, picture)
    assert {b["source"] for b in row["barcodes"]} == {"image"} and {"gs1_128", "datamatrix"} <= {b["symbology"] for b in row["barcodes"]} and all(len(b["box"]) == 4 and b["image_index"] == 0 for b in row["barcodes"])
    assert said(row) == {"gtin": "00614141123452", "expiry_date": "2027-12-31", "lot_number": "A-1", "item_numbers": ["4711-A"], "quantity": 25, "purchase_orders": ["PO-7"], "supplier": {"name": "ACME SUPPLY COMPANY", "address": None}}


def test_names_measures_and_the_supplier(client):
    row = read(client, drawn(("FROM:", "ACME SUPPLY COMPANY", "100 INDUSTRIAL WAY", "SPRINGFIELD IL 62701", "ITEM NAME: Blue widget", "UPC 036000291452", "WEIGHT 2.5 KG", "DIM 10 X 20 X 30 CM")))
    assert (row["item_name"], row["gtin"]) == ("Blue widget", "00036000291452") and (row["weight"]["value"], row["weight"]["unit"]) == (2.5, "kg")
    assert [row["dimensions"][k] for k in ("length", "width", "height", "unit")] == [10, 20, 30, "cm"]
    assert row["supplier"]["name"] == "ACME SUPPLY COMPANY" and (row["supplier"]["address"]["city"].upper(), row["supplier"]["address"]["postal_code"]) == ("SPRINGFIELD", "62701")


def test_what_is_no_suppliers_name(client):
    assert read(client, drawn(("VENDOR NO 12345", "LOT: A-55")))["supplier"] is None


def test_nothing_is_on_it(client):
    row = read(client, labels.bytes_of(labels.Image.new("L", (600, 800), 255)))
    assert (row["status"], row["errors"], row["raw_text"], said(row)) == ("error", ["image_unreadable"], "", {})
    row = read(client, drawn(("This is a page of a letter", "about nothing that matters")))
    assert (row["status"], row["errors"]) == ("error", ["no_fields"]) and "letter" in row["raw_text"]


# ---- the request ----

def test_values_that_are_refused(client):
    good = text(drawn(CAPTIONS))
    for body, status, code, errors in (({}, 400, "inference.image_required", []), ({"image": good, "image_url": good}, 400, "inference.too_many_images", []), ({"image": [good]}, 400, "validation.failed", ["image"]),
                                       ({"image": ""}, 400, "validation.failed", ["image"]), ({"image_url": "http://example.com/a.png"}, 400, "inference.protocol", ["image_url"]),
                                       ({"image_url": "https://127.0.0.1/a.png"}, 400, "inference.url", ["image_url"]), ({"image_url": "https://localhost/a.png"}, 400, "inference.hostname", ["image_url"]),
                                       ({"image": "%%%"}, 400, "inference.image_invalid", ["image"]), ({"image": base64.b64encode(b"no image").decode()}, 400, "inference.image_invalid", ["image"]),
                                       ({"image": text(drawn(CAPTIONS)[:2000])}, 400, "inference.image_invalid", ["image"]), ({"image": text(b"x" * 10000001)}, 400, "file.too_large", ["image"]),
                                       ({"image": good, "barcode_values": ["x"] * 51}, 400, "validation.failed", ["barcode_values"]), ({"image": good, "barcode_values": ["x" * 2001]}, 400, "validation.failed", ["barcode_values.0"]),
                                       ({"image": good, "location_id": "loc_0000000000000000000000"}, 400, "validation.failed", ["location_id"])):
        client.refused("POST", PATH, status, code, errors, body)
    assert client.get(PATH, expect=200).data == []


def test_its_answer(server, client):
    for _ in range(10):
        r = client.post(PATH, {"image_url": "data:image/png;base64," + text(drawn(CAPTIONS))})
        if r.raw.status_code == 201:
            break
    assert r.raw.headers["Location"] == f"{PATH}/{r.data['id']}" and client.get(r.raw.headers["Location"], expect=200).data["id"] == r.data["id"]
    assert client.http.get(server.base + r.data["image_url"] if r.data["image_url"].startswith("/") else r.data["image_url"]).content == drawn(CAPTIONS)


def test_images_of_a_host(client, host):
    for _ in range(10):
        r = client.post(PATH, {"image_url": host.url("/label.png")})
        if r.raw.status_code == 201:
            break
    assert r.data["carton_number"] == "C-77" and r.data["image_url"]
    for path, status, code in (("/gone.png", 400, "inference.unreachable"), ("/failing.png", 502, "file.download"), ("/large.png", 400, "file.too_large"), ("/text.png", 400, "inference.image_invalid"), ("/inside", 400, "inference.url")):
        client.refused("POST", PATH, status, code, ["image_url"], {"image_url": host.url(path)})
    assert client.get(PATH, expect=200).ids == [r.data["id"]]


def test_an_image_that_is_not_kept(client):
    client.post("/v1/org", {"settings": {"inferences": {"store_images": False}}}, expect=200)
    row = read(client, drawn(CAPTIONS))
    assert row["image_url"] is None and row["sku"] == "99-1"


# ---- lists ----

def made(client, *rows, **more):
    return [read(client, drawn(lines), **{**more, **(body or {})}) for lines, body in rows]


def test_lists(server, org, client):
    place = client.post("/v1/locations", {"name": "Dock", "address": "1 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    a, b, c = made(client, (("CARTON# C-1", "LOT: A-55", "P/N 4711-A", "PO# 5501-7"), {"location_id": place, "metadata": {"shelf": "A"}}),
                   (("CARTON# C-2", "SKU 99-1", "P/N 4711-A", "ITEM NO: 22-B", "PO# 5502-7", "UPC 036000291452"), None), (("This is a page of a letter", "about nothing that matters"), None))
    names = {a["id"]: "a", b["id"]: "b", c["id"]: "c"}
    got = lambda q: "".join(names[i] for i in client.get(f"{PATH}?{q}", expect=200).ids)
    for q, expected in (("", "cba"), ("order_by=created_at", "cba"), ("order_by=created_at&direction=asc", "abc"), ("order_by=updated_at", "cba"), ("carton_number=c-1", "a"), ("lot_number=A-55", "a"), ("lot_number=null", "cb"),
                        ("item_numbers=4711-A", "ba"), ("item_numbers=4711-A,22-B", "b"), ("item_numbers=AND:4711-A,!22-B", "a"), ("item_numbers=OR:22-B,none", "b"), ("item_numbers=!AND:4711-A,22-B", "ca"),
                        ("item_numbers=!OR:4711-A,22-B", "c"), ("item_numbers=null", "c"), ("item_numbers=!null", "ba"), ("purchase_orders=5501-7", "a"), ("purchase_orders=OR:5501-7,5502-7", "ba"), ("purchase_orders=!5501-7", "cb"),
                        ("gtin=00036000291452", "b"), ("sku=99-1", "b"), (f"location_id={place}", "a"), ("location_id=null", "cb"), ("location_id=!null", "a"), (f"location_id={place},null", "cba"),
                        ("statuses=error", "c"), ("statuses=completed,error", "cba"), ("status=completed", "ba"), ("errors=no_fields", "c"), ("metadata=shelf:A", "a"), (f"created_by={a['created_by']}", "cba"), (f"updated_by={a['updated_by']}", "cba"),
                        (f"created_at[gte]={b['created_at']}", "cb"), (f"updated_at[lt]={b['updated_at']}", "a"), ("limit=1", "c"), ("limit=1&page=2", "b")):
        assert got(q) == expected, q
    for q, expected in (("search=22-B", "b"), ("search=C-2", "b"), ("search=A-55", "a"), ("search=4711", "ab")):
        assert sorted(got(q)) == list(expected), q
    for q, errors in (("order_by=sku", ["order_by"]), ("order_by=carton_number", ["order_by"]), ("search=A-55&order_by=_relevance", ["order_by"]), ("statuses=open", ["statuses"]), ("created_at=2024-01-02", ["created_at"]), ("item_numbers=or:1", ["item_numbers"]), ("location_id=%zz", ["location_id"])):
        client.refused("GET", f"{PATH}?{q}", 400, "param.invalid", errors)
    assert client.get(PATH, expect=200).raw.json()["pagination"]["limit"] == 10
    elsewhere = client.post("/v1/locations", {"name": "Other", "address": "2 Main St, Springfield, IL 62701, US"}, expect=201).data["id"]
    other = org.client(locations=[elsewhere])
    assert other.get(PATH).ids == [c["id"], b["id"]] and other.request("GET", f"{PATH}/{a['id']}", check=False).raw.status_code == 403
    other.refused("POST", PATH, 403, "location_access", [place], {"image": text(drawn(CAPTIONS)), "location_id": place})
    reader = org.client(scopes="inferences:read")
    assert reader.get(PATH, expect=200).ids == [c["id"], b["id"], a["id"]] and reader.post(PATH, {"image": text(drawn(CAPTIONS))}, expect=403).raw.json()["code"] == "scope_access"


# ---- updates ----

def test_updates(org, client):
    row = read(client, labels.bytes_of(labels.Image.new("L", (600, 800), 255)))
    at = f"{PATH}/{row['id']}"
    fields = {"item_name": "Blue widget", "item_numbers": ["1", "2"], "purchase_orders": ["P"], "carton_number": "C", "lot_number": "L", "serial_number": "S", "sku": "K", "quantity": 2.5, "weight": {"value": 2, "unit": "kg", "raw": None},
              "dimensions": {"length": 1, "width": 2, "height": 3, "unit": "cm", "raw": None}, "production_date": "2026-01-05", "expiry_date": "2027-12-31", "sscc": "106141412345678908", "metadata": {"a": "b"}}
    now = client.post(at, {**fields, "gtin": "036000291452", "supplier": {"name": "Acme"}}, expect=200).data
    assert {k: now[k] for k in fields} == fields and now["gtin"] == "00036000291452" and now["supplier"] == {"name": "Acme", "address": None} and (now["status"], now["errors"]) == ("completed", [])
    now = client.post(at, {"supplier": {"name": "Acme", "address": {"formatted_address": "1 Main St, Springfield, IL 62701, US"}}}, expect=200).data
    assert now["supplier"]["address"]["postal_code"].startswith("62701") and client.get(f"{PATH}?search=widget").ids == [row["id"]]
    empty = {k: [] if k.endswith("s") and isinstance(v, list) else None for k, v in fields.items() if k != "metadata"}
    now = client.post(at, {**empty, "gtin": None, "supplier": None}, expect=200).data
    assert (now["status"], now["errors"], said(now)) == ("error", ["no_fields"], {}) and now["metadata"] == {"a": "b"}
    assert client.post(at, {"supplier": {"name": None}}, expect=200).data["supplier"] is None
    for body, errors in (({"gtin": "036000291453"}, ["gtin"]), ({"gtin": "123"}, ["gtin"]), ({"gtin": "0360002914521"}, ["gtin"]), ({"gtin": "036000291"}, ["gtin"]), ({"sscc": "106141412345678901"}, ["sscc"]), ({"image": text(drawn(CAPTIONS))}, ["image"]),
                         ({"image_url": "https://example.com/a.png"}, ["image_url"]), ({"expiry_date": "31.12.2027"}, ["expiry_date"]), ({"item_numbers": ["1", "1"]}, ["item_numbers.1"]), ({"supplier": {"address": 7}}, ["supplier.address"])):
        client.refused("POST", at, 400, "validation.failed", errors, body)
    client.refused("POST", f"{PATH}/inf_il_0000000000000000000000", 404, "not_found", ["inf_il_0000000000000000000000"], {"sku": "1"})
    assert org.client(scopes="inferences:read").post(at, {"sku": "1"}, expect=403).raw.json()["code"] == "scope_access"


def test_events(org, client):
    row = read(client, drawn(CAPTIONS))
    client.post(f"{PATH}/{row['id']}", {"sku": "1"}, expect=200)
    client.delete(f"{PATH}/{row['id']}", expect=200)
    told = org.events(row["id"])
    assert [e[0] for e in told] == [f"item_label_inference.{w}" for w in ("created", "updated", "deleted")]


# ---- deletes ----

@pytest.mark.parametrize("path, column", [(PATH, "item_label.image_file"), (readings.PATH, "shipping_label.images_kept -> 0 ->> 'file'")])
def test_nothing_of_the_image_is_left(server, client, path, column):
    """Neither the row of the file nor its bytes, as long as no other reading has the same."""
    read_one = read if path == PATH else lambda client, data: readings.read(client, data).data
    picture = drawn(("LOT: OF ITS OWN 1", path[-12:]))
    row, twin = read_one(client, picture), read_one(client, picture)
    name, held = column.split(".")[0], column.split(".")[1]
    url = client.get(f"{path}/{row['id']}", expect=200).data["image_url"]
    url = server.base + url if url.startswith("/") else url
    assert client.http.get(url).content == picture
    hash = server.sql(f"SELECT hash FROM wharf.file WHERE id = (SELECT {held} FROM inference.{name} WHERE id = %s)", row["id"])[0][0]
    object = server.folder / "blobs" / "objects" / hash[:2] / hash
    client.delete(f"{path}/{row['id']}", expect=200)
    assert client.http.get(url).status_code in (403, 404, 410)
    client.delete(f"{path}/{row['id']}", expect=404), client.get(f"{path}/{row['id']}", expect=404)
    assert server.sql(f"SELECT raw_text, barcodes::text, {held}, search_text FROM inference.{name} WHERE id = %s", row["id"]) == [("", "[]", None, None)]
    until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE queue = 'wharf.erase_object'"), "the job has looked")
    assert object.exists(), "the other reading has the same bytes"
    client.delete(f"{path}/{twin['id']}", expect=200)
    until(lambda: not object.exists(), "the bytes are erased at once")


def test_without_locations():
    """Only what the module needs: addresses stay as they are."""
    s = Server("--modules", "org,carriers,inference", "--set", "rate_limit.key=0")
    try:
        client = s.organization().client()
        row = read(client, drawn(CAPTIONS))
        assert row["carton_number"] == "C-77"
        now = client.post(f"{PATH}/{row['id']}", {"supplier": {"name": "Acme", "address": {"line1": "1 Main St"}}}, expect=200).data
        assert now["supplier"]["address"] == {"line1": "1 Main St"}
    finally:
        s.stop()
