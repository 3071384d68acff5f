"""What is going away says so (spec 01 section 17 'Deprecated use'): headers, metric, 410 after the sunset, OpenAPI."""
import datetime
import time

import pytest
import requests

from wharf import BUILD, WAIT, Client, Server


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock", "--modules", f"org,locations,stations,{BUILD}/tests/plugins/retiring.so")
    yield s
    s.stop()


@pytest.fixture
def client(server):
    return server.organization().client()


def told(answer):
    return {name: answer.headers.get(name) for name in ("Deprecation", "Sunset", "Link") if name in answer.headers}


NICKNAME = {"Deprecation": "@1772323200", "Sunset": "Sat, 01 Mar 2031 00:00:00 GMT", "Link": '<https://example.com/nickname>; rel="deprecation"'}
OLD_WAY = {"Deprecation": "@1767225600", "Sunset": "Wed, 01 Jan 2031 12:30:00 GMT", "Link": '<https://example.com/old>; rel="deprecation"'}


def test_a_field(client):
    made = client.post("/v1/relics", {"name": "one"}, expect=201)
    assert told(made) == {}
    path = "/v1/relics/" + made.data["id"]
    assert told(client.post(path, {"nickname": "uno"}, expect=200)) == NICKNAME
    assert told(client.post("/v1/relics", {"name": "two", "nickname": None}, expect=201)) == NICKNAME
    assert told(client.post("/v1/relics", {"name": 2, "nickname": "duo"}, expect=400)) == NICKNAME
    assert told(client.post(path, {"name": "uno"}, expect=200)) == {} and told(client.get(path)) == {} and told(client.get("/v1/relics")) == {}


def test_a_route(server, client):
    assert told(client.get("/v1/relics/old/way", check=False)) == OLD_WAY
    assert told(client.get("/v1/relics/no/end", check=False)) == {"Deprecation": "@1767225600"}
    assert told(client.get("/v1/relics/old/way", expect=401, key=False, check=False)) == OLD_WAY


def test_it_is_counted(server, client):
    def count(line):
        text = requests.get(server.admin + "/metrics", timeout=WAIT).text
        return next((int(x.rsplit(" ", 1)[1]) for x in text.splitlines() if x.startswith(line)), 0)

    route, field = ('wharf_deprecated_requests_total{route="%s",method="%s"}' % x for x in (("/v1/relics/no/end", "GET"), ("/v1/relics", "POST")))
    before = count(route), count(field)
    client.get("/v1/relics/no/end", check=False)
    client.post("/v1/relics", {"name": "plain"}, expect=201)
    client.post("/v1/relics", {"name": "x", "nickname": "y"}, expect=201)
    end = time.monotonic() + WAIT
    while (count(route), count(field)) != (before[0] + 1, before[1] + 1):  # it is counted when the answer is out
        assert time.monotonic() < end, (before, count(route), count(field))
        time.sleep(0.01)


def test_openapi(server):
    paths, schemas = server.openapi["paths"], server.openapi["components"]["schemas"]
    assert paths["/v1/relics/old/way"]["get"]["deprecated"] is True and "deprecated" not in paths["/v1/relics"]["get"]
    marked = [name for name, s in schemas.items() if s.get("properties", {}).get("nickname", {}).get("deprecated") is True]
    assert len(marked) >= 2, marked  # as it is read and as it is written
    assert not any("deprecated" in s["properties"]["name"] for name, s in schemas.items() if "nickname" in s.get("properties", {}))


def test_after_the_sunset(server, client):
    system = Client(server, server.demo_key)
    seconds = int((datetime.datetime(2031, 1, 1, 12, 31, tzinfo=datetime.timezone.utc) - datetime.datetime.now(datetime.timezone.utc)).total_seconds())
    system.post("/v1/system/clock", {"offset_seconds": seconds}, expect=200)
    try:
        gone = client.refused("GET", "/v1/relics/old/way", 410, "route.gone", [], check=False)
        assert told(gone) == OLD_WAY
        client.get("/v1/relics/no/end", check=False)
    finally:
        system.post("/v1/system/clock", {"offset_seconds": 0}, expect=200)
    client.get("/v1/relics/old/way", check=False)
