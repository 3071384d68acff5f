"""The envelope, headers and problem details: spec 01 sections 1, 2.4, 3 and 4.1."""
import re

import pytest

from wharf import FORMATS, ISO, KEYS, make_location


def test_success_and_error_have_the_same_keys(client, location):
    ok = client.get("/v1/locations/" + location["id"])
    assert list(ok.body) == KEYS and ok.errors == [] and ok.pagination is None and ok.code is None
    bad = client.refused("GET", "/v1/locations/loc_0000000000000000000000", 404, "not_found", ["loc_0000000000000000000000"])
    assert list(bad.body) == KEYS


def test_endpoint_is_the_path(client, location):
    assert client.get("/v1/locations?limit=1&x=y").endpoint == "/v1/locations"
    status, body = client.raw_get("/v1/" + "x" * 600)
    assert status == 404 and body["endpoint"] == ("/v1/" + "x" * 600)[:512]


def test_compact_utf8(client):
    d = make_location(client, "Zürich ☃ \"q\" \\ /")
    raw = client.get("/v1/locations/" + d["id"]).raw
    assert "Zürich ☃ \\\"q\\\" \\\\ /".encode() in raw.content and b'": ' not in raw.content and b"\\u" not in raw.content


def test_request_ids(client):
    seen = {client.get("/v1/locations").headers["Request-Id"] for _ in range(5)}
    assert len(seen) == 5
    a = client.get("/v1/locations", headers={"X-Request-Id": "my-Id_1.2"})
    assert a.headers["X-Request-Id"] == "my-Id_1.2"
    for bad in ("has space", "x" * 129, "ümlaut".encode("utf-8").decode("latin-1")):
        assert "X-Request-Id" not in client.get("/v1/locations", headers={"X-Request-Id": bad}).headers


def test_cache_control(client, location):
    assert client.get("/v1/locations").headers["Cache-Control"] == "private, no-cache"
    assert client.post("/v1/locations/" + location["id"], {}, expect=200).headers["Cache-Control"] == "no-store"
    assert client.refused("GET", "/v1/locations?page=0", 400, "param.invalid").headers["Cache-Control"] == "no-store"


def test_vary(client):
    assert {v.strip() for v in client.get("/v1/locations").headers["Vary"].split(",")} == {"Accept", "Accept-Encoding", "SVC-Datetime-Format"}


def test_datetime_formats(client, location):
    path = "/v1/locations/" + location["id"]
    for name, header in FORMATS.items():
        a = client.get(path, headers={"SVC-Datetime-Format": name})
        assert a.headers["SVC-Datetime-Format"] == header
        value = a.data["created_at"]
        if name == "iso_8601":
            assert ISO.match(value)
        else:
            assert isinstance(value, int) and len(str(value)) == (10 if name == "epoch" else 13)
    client.refused("GET", path, 400, "param.invalid", ["SVC-Datetime-Format"], headers={"SVC-Datetime-Format": "iso"})
    epoch = client.get(path, headers={"SVC-Datetime-Format": "epoch"}).data["created_at"]
    millis = client.get(path, headers={"SVC-Datetime-Format": "epoch_millis"}).data["created_at"]
    assert epoch == millis // 1000


def test_metadata_is_no_date(client):
    d = client.post("/v1/samples", {"status": "open", "metadata": {"at": "2024-01-01T00:00:00.000Z"}, "completed_at": 1704067200}, expect=201).data
    a = client.get("/v1/samples/" + d["id"], headers={"SVC-Datetime-Format": "epoch"}).data
    assert a["metadata"] == {"at": "2024-01-01T00:00:00.000Z"} and a["completed_at"] == 1704067200


def test_problem_details(client):
    h = {"Accept": "application/problem+json"}
    a = client.request("POST", "/v1/locations", body={"name": "x" * 192}, headers=h, expect=400)
    assert a.raw.headers["Content-Type"].startswith("application/problem+json")
    p = a.raw.json()
    assert p["type"] == "urn:problem:validation.failed" and p["status"] == 400 and p["code"] == "validation.failed"
    assert p["instance"] == a.headers["Request-Id"] and p["title"] and p["detail"]
    assert p["errors"] == ["name", "address"]
    rules = {v["path"]: v["rule"] for v in p["violations"]}
    assert rules == {"name": "max_length", "address": "required"} and all(v["message"] for v in p["violations"])
    assert client.request("GET", "/v1/locations", headers=h, expect=200).headers["Content-Type"] == "application/json; charset=utf-8"
    both = client.request("GET", "/v1/locations?page=0", headers={"Accept": "application/json, application/problem+json;q=0.5"}, expect=400)
    assert both.raw.headers["Content-Type"].startswith("application/json")


def test_messages(client, location):
    assert client.get("/v1/locations?limit=1").message == "1 location retrieved"
    assert client.get("/v1/locations/" + location["id"]).message == "Location retrieved"
    d = make_location(client, "Gone")
    assert client.post("/v1/locations/" + d["id"], {"name": "G"}, expect=200).message == "Location updated"
    assert client.delete("/v1/locations/" + d["id"]).message == "Location deleted"


def test_strict_mode(client, location):
    path = "/v1/locations/" + location["id"]
    client.post(path, {"nonsense": 1, "created_at": "x"}, expect=200)
    a = client.refused("POST", path, 400, "validation.failed", body={"nonsense": 1, "name": "Main"}, headers={"Prefer": "handling=strict"})
    assert a.errors == ["nonsense"] and a.headers["Preference-Applied"] == "handling=strict"
    client.refused("GET", path + "?nonsense=1", 400, "param.invalid", ["nonsense"], headers={"Prefer": "handling=strict"})
    client.get(path, headers={"Prefer": "handling=lenient, respond-async"})


def test_numbers_have_no_exponent(client):
    for sent, shown in ((0.0001, b"0.0001"), (1000, b"1000"), (2.50, b"2.5"), (-0.5, b"-0.5"), (1e2, b"100")):
        a = client.post("/v1/samples", {"status": "open", "qty": sent}, expect=201)
        assert re.search(rb'"qty":' + re.escape(shown) + rb"[,}]", a.raw.content), a.raw.content


def test_gzip(client):
    for i in range(8):
        make_location(client, f"Zip {i}")
    a = client.get("/v1/locations?limit=all", headers={"Accept-Encoding": "gzip"})
    assert a.headers["Content-Encoding"] == "gzip" and len(a.data) >= 8
    assert "Content-Encoding" not in client.get("/v1/locations?limit=all", headers={"Accept-Encoding": "identity"}).headers
    assert "Content-Encoding" not in client.get("/v1/locations?name=nobody", headers={"Accept-Encoding": "gzip"}).headers
