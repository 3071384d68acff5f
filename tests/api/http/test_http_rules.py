"""HTTP rules: spec 01 section 2. The order of its checks is in test_order_of_checks.py."""
import gzip
import itertools
import json

import pytest

from wharf import KEYS, STATIONS, make_location

JSON = {"Content-Type": "application/json"}


def test_routes(client):
    client.refused("GET", "/v1/nothing", 404, "route.not_found", [])
    client.refused("GET", "/", 404, "route.not_found")
    client.refused("GET", "/v1/LOCATIONS", 404, "route.not_found")
    client.refused("GET", "/v1//locations", 404, "route.not_found")
    assert client.get("/v1/locations/").endpoint == "/v1/locations/"
    client.refused("GET", "/v1/locations//", 404, "route.not_found")
    client.refused("GET", "/v1/locations/not-an-id", 404, "not_found", ["not-an-id"])


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "FOO"])
def test_methods(client, location, method):
    a = client.request(method, "/v1/locations/" + location["id"], expect=405, body={} if method in ("PUT", "PATCH") else None)
    assert a.code == "method.not_allowed" and a.errors == []
    assert {m.strip() for m in a.headers["Allow"].split(",")} == {"GET", "HEAD", "POST", "DELETE", "OPTIONS"}
    b = client.request("DELETE", "/v1/locations", expect=405)
    assert {m.strip() for m in b.headers["Allow"].split(",")} == {"GET", "HEAD", "POST", "OPTIONS"}
    client.get("/v1/locations", headers={"X-HTTP-Method-Override": "DELETE"})


def test_ops_that_are_absent(client):
    a = client.request("POST", "/v1/changes", body={}, expect=405)
    assert a.headers["Allow"] == "GET, HEAD, OPTIONS"


def test_head(client, location):
    for path in ("/v1/locations", "/v1/locations/" + location["id"], "/v1/openapi.json"):
        plain = client.request("GET", path, check="openapi" not in path, headers={"Accept-Encoding": "identity"})
        head = client.http.head(client.server.base + path, headers={"SVC-API-KEY": client.key, "Accept-Encoding": "identity"})
        assert head.status_code == 200 and head.content == b"" and int(head.headers["Content-Length"]) == len(plain.raw.content)
        assert head.headers["Content-Type"] == plain.raw.headers["Content-Type"]
    missing = client.http.head(client.server.base + "/v1/locations/loc_0000000000000000000000", headers={"SVC-API-KEY": client.key})
    assert missing.status_code == 404 and missing.content == b""


def test_options(client):
    r = client.http.options(client.server.base + "/v1/locations")
    assert r.status_code == 204 and {m.strip() for m in r.headers["Allow"].split(",")} == {"GET", "HEAD", "POST", "OPTIONS"}
    assert "Access-Control-Allow-Origin" not in r.headers
    assert client.http.options(client.server.base + "/v1/nothing").status_code == 404


def test_get_with_body(client):
    client.get("/v1/locations", data=b"x" * 60000, headers={"Content-Type": "text/plain"})


def test_delete_ignores_the_body(client):
    d = make_location(client, "Del")
    client.delete("/v1/locations/" + d["id"], data=b"not json", headers={"Content-Type": "text/plain"})


# ---- bodies ----

def test_media_types(client, location):
    path = "/v1/locations/" + location["id"]
    for good in ("application/json", "application/json; charset=UTF-8", "application/vnd.x+json", "APPLICATION/JSON"):
        client.post(path, expect=200, data=b"{}", headers={"Content-Type": good})
    status, _, _ = client.raw(f"POST {path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
    assert status == 200
    for bad in ("text/plain", "application/xml", "application/json; charset=utf-16", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        client.refused("POST", path, 415, "media_type.unsupported", [], data=b"{}", headers={"Content-Type": bad})


@pytest.mark.parametrize("bad", [
    b"{", b"{}x", b"{} {}", b"nul", b"{'a':1}", b'{"a":1,}', b'{"a":01}', b'{"a":+1}', b'{"a":.5}', b'{"a":1.}', b'{"a":NaN}', b'{"a":Infinity}',
    b'{"a":1e999}', b'{"a":"\xff"}', b'{"a":"\\ud800"}', b'{"a":"\\udc00\\ud800"}', b'{"a":1,"a":2}', b"/* c */{}", b"{}//x", b'{"a":"\t"}',
    '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-32"), b"[" * 65 + b"]" * 65, b'{"a":' * 65 + b"1" + b"}" * 65, b"5", b'"x"', b"[]", b"null",
])
def test_malformed_json(client, location, bad):
    client.refused("POST", "/v1/locations/" + location["id"], 400, "body.malformed", [], data=bad, headers=JSON)


def test_accepted_json(client, location):
    path = "/v1/locations/" + location["id"]
    for good in (b"", b"{}", b" \r\n\t{} ", b"\xef\xbb\xbf{}", b'{"x":1e-999}', b'{"x":' + b"[" * 62 + b"]" * 62 + b"}", b'{"x":"\\u00e9\\ud83d\\ude00"}'):
        client.post(path, expect=200, data=good, headers=JSON)


def test_big_integers_and_nul(client):
    client.refused("POST", "/v1/samples", 400, "validation.failed", ["count"], body={"status": "open", "count": 9007199254740992})
    client.refused("POST", "/v1/samples", 400, "validation.failed", ["count"], data=b'{"status":"open","count":123456789012345678901234567890}', headers=JSON)
    client.refused("POST", "/v1/samples", 400, "validation.failed", ["name"], data=b'{"status":"open","name":"a\\u0000b"}', headers=JSON)
    client.refused("POST", "/v1/samples", 400, "validation.failed", ["name"], data=b'{"status":"open","name":"a\\u0007b"}', headers=JSON)
    client.post("/v1/samples", expect=201, data=b'{"status":"open","name":"a\\tb\\nc","count":9007199254740991}', headers=JSON)


def test_body_size(client, location):
    path = "/v1/locations/" + location["id"]
    limit = 2 * 1024 * 1024
    fits = b'{"x":"' + b"a" * (limit - 8) + b'"}'
    assert len(fits) == limit
    client.post(path, expect=200, data=fits, headers=JSON)
    client.refused("POST", path, 413, "body.too_large", [], data=fits + b" ", headers=JSON)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    status, _, body = client.raw(head.encode())
    assert status == 413 and json.loads(body)["code"] == "body.too_large"
    chunked = (f"POST {path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\nContent-Type: application/json\r\n"
               "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n").encode()
    piece = b"%x\r\n" % 65536 + b" " * 65536 + b"\r\n"
    assert client.raw_upload(chunked, [piece] * 40 + [b"0\r\n\r\n"])[0] == 413
    answer = client.raw_upload(chunked, itertools.repeat(piece, 400))
    assert answer is None or answer[0] == 413


def test_gzip_bodies(client, location):
    path = "/v1/locations/" + location["id"]
    packed = {**JSON, "Content-Encoding": "gzip"}
    client.post(path, expect=200, data=gzip.compress(b'{"kiosk_message":"zip"}'), headers=packed)
    assert client.get(path).data["kiosk_message"] == "zip"
    client.refused("POST", path, 400, "body.malformed", [], data=b"not gzip", headers=packed)
    client.refused("POST", path, 400, "body.malformed", data=gzip.compress(b"{}" * 50)[:-4], headers=packed)
    client.refused("POST", path, 413, "body.too_large", [], data=gzip.compress(b" " * (2 * 1024 * 1024 + 1)), headers=packed)
    client.refused("POST", path, 415, "content_encoding.unsupported", [], data=b"{}", headers={**JSON, "Content-Encoding": "br"})
    client.post(path, expect=200, data=b"{}", headers={**JSON, "Content-Encoding": "identity"})


def test_expect_continue(client, location):
    path = "/v1/locations/" + location["id"]
    head = (f"POST {path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
            "Expect: 100-continue\r\nConnection: close\r\n\r\n")
    assert client.raw((head % (client.key, 3 * 1024 * 1024)).encode())[0] == 413
    assert client.raw((head % ("wh_live_x", 2)).encode())[0] == 401


def test_accept(client):
    for good in ("application/json", "application/*", "*/*", "text/html, */*;q=0.1", "application/problem+json"):
        client.get("/v1/locations", headers={"Accept": good})
    for bad in ("text/html", "application/xml", "application/json;q=0"):
        client.refused("GET", "/v1/locations", 406, "not_acceptable", [], headers={"Accept": bad})


# ---- the request line and headers ----

def test_uri_and_header_limits(client):
    status, body = client.raw_get("/v1/locations?name=" + "x" * 16300)
    assert status == 200
    status, body = client.raw_get("/v1/locations?name=" + "x" * 17000)
    assert status == 414 and body["code"] == "uri.too_long" and body["errors"] == [] and list(body) == KEYS
    status, body = client.raw_get("/v1/locations", "X-Big: " + "x" * 30000)
    assert status == 200
    status, body = client.raw_get("/v1/locations", *[f"X-{i}: " + "x" * 5000 for i in range(7)])
    assert status == 431 and body["code"] == "headers.too_large" and body["errors"] == [] and list(body) == KEYS


@pytest.mark.parametrize("lines, body", [
    (["Content-Length: 2", "Transfer-Encoding: chunked"], b"0\r\n\r\n"), (["Content-Length: 2", "Content-Length: 3"], b"{}"), (["Host: y", "Content-Length: 2"], b"{}"),
    (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], b"0\r\n\r\n"), (["Transfer-Encoding: chunked, gzip"], b"0\r\n\r\n"),
    (["Transfer-Encoding: identity", "Content-Length: 2"], b"{}")])
def test_malformed_requests(client, lines, body):
    """What may be read in two ways is refused, whatever its key is good for, and the connection ends."""
    for key in (client.key, "nonsense"):
        head = ["POST /v1/locations HTTP/1.1", "Host: x", "SVC-API-KEY: " + key, *lines]
        status, headers, text = client.raw("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        told = json.loads(text)
        assert (status, told["status"], told["code"], told["errors"]) == (400, 400, "http.malformed", []) and list(told) == KEYS
        assert headers["Connection"].lower() == "close" and told["endpoint"] == "/v1/locations"


def test_requests_without_a_host(client):
    key = f"SVC-API-KEY: {client.key}\r\n"
    assert client.raw(f"GET /v1/locations HTTP/1.1\r\n{key}Connection: close\r\n\r\n".encode())[0] == 400
    assert client.raw(f"GET /v1/locations HTTP/1.0\r\n{key}\r\n".encode())[0] == 200


def test_pipelining(client):
    paths = [f"/v1/locations?limit={i + 1}" for i in range(5)]
    with client.server.connect() as s:
        for i, path in enumerate(paths):
            last = "Connection: close\r\n" if i == 4 else ""
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\n{last}\r\n".encode())
        got = b""
        while piece := s.recv(65536):
            got += piece
    limits = [int(part.split(b"}")[0].split(b",")[0]) for part in got.split(b'"limit":')[1:]]
    assert limits == [1, 2, 3, 4, 5]


def test_probes(client):
    for path in ("/livez", "/readyz", "/healthz"):
        r = client.http.get(client.server.base + path)
        assert r.status_code == 200
    verbose = client.http.get(client.server.base + "/readyz?verbose").json()
    assert "database" in json.dumps(verbose)
    assert client.http.get(client.server.base + "/livez").text.strip() == "ok"
    metrics = client.http.get(client.server.admin + "/metrics")
    assert "wharf_http_requests_total" in metrics.text and client.http.get(client.server.base + "/metrics").status_code == 404


def test_openapi_document(client):
    r = client.http.get(client.server.base + "/v1/openapi.json")
    assert r.status_code == 200 and r.json()["openapi"].startswith("3.1")
    op = r.json()["paths"][STATIONS]["get"]
    assert op["x-scope"] == "print_stations:read" and op["x-location-policy"] == "row"
    assert {f["name"] for f in op["x-filters"]} >= {"name", "page_size", "printer_status", "created_at", "metadata"}


def test_charset_is_a_whole_word(client, location):
    path = "/v1/locations/" + location["id"]
    for charset, expect in (("utf-8", 200), ('"UTF-8"', 200), ("utf-88", 415), ("utf-16", 415)):
        a = client.post(path, data=b"{}", headers={"Content-Type": "application/json; charset=" + charset}, expect=expect)
        assert expect == 200 or a.code == "media_type.unsupported"


def test_body_of_a_get_is_dropped_up_to_64_kib(client):
    head = f"GET /v1/locations HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    assert client.raw((head % 65536).encode() + b" " * 65536)[0] == 200
    status, _, body = client.raw((head % 200000).encode() + b" " * 200000)
    assert status == 413 and json.loads(body)["code"] == "body.too_large"


def test_the_description_has_a_tag_and_is_packed_alike(server):
    """Large as it is: the same bytes for everybody, and 304 for who has them."""
    url = server.base + "/v1/openapi.json"
    key = {"SVC-API-KEY": server.demo_key} if server.demo_key else {}
    plain = server.http.get(url, headers={"Accept-Encoding": "identity", **key})
    packed = [server.http.get(url, headers={"Accept-Encoding": "gzip", **key}) for _ in range(3)]
    assert plain.json()["openapi"] == "3.1.0" and all(p.json() == plain.json() and p.headers["Content-Encoding"] == "gzip" for p in packed)
    assert plain.headers["ETag"][:-1] + '-gz"' == packed[0].headers["ETag"] == packed[2].headers["ETag"]
    assert server.http.get(url, headers={"If-None-Match": packed[0].headers["ETag"], **key}).status_code == 304


def test_strict_takes_bodies_of_other_forms(client):
    """A body whose schema is another one's form is judged by what reads it."""
    strict = {"Prefer": "handling=strict"}
    location = make_location(client)["id"]
    assert client.request("POST", f"/v1/locations/{location}/layouts", {"name": "Shelf", "code": "S-1"}, headers=strict).status == 201
