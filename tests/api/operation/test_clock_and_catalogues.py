"""The test clock, the catalogue of modules and of announced changes: spec 01 section 17."""
import datetime
import os
import socket
import tempfile
import threading
import time

import pytest
import requests
from wharf import ISO, WAIT, Client, Server, make_location


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def operator(server):
    return Client(server, server.demo_key)


def now(client):
    text = client.get("/v1/system/clock").data["now"]
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_clock(server, operator):
    assert operator.get("/v1/system/clock").data["offset_seconds"] == 0
    before = datetime.datetime.now(datetime.timezone.utc)
    assert abs((now(operator) - before).total_seconds()) < 5
    try:
        a = operator.post("/v1/system/clock", {"offset_seconds": 86400 * 40}, expect=200)
        assert a.data["object"] == "clock" and a.data["offset_seconds"] == 86400 * 40
        places = type(operator)(server, server.organization().key())
        for name in "AB":
            make_location(places, name)
        walk = places.get("/v1/locations?limit=1&cursor=start")
        operator.post("/v1/system/clock", {"offset_seconds": 86400 * 400}, expect=200)
        assert len(places.get("/v1/locations?limit=1&cursor=" + walk.pagination["next_cursor"]).data) == 1, "a cursor has no expiry"
        operator.post("/v1/system/clock", {"offset_seconds": 86400 * 40}, expect=200)
        # every worker, at once
        for _ in range(12):
            assert 86400 * 40 - 5 < (now(Client(server, server.demo_key)) - before).total_seconds() < 86400 * 40 + 60
        c = server.organization().client()
        assert make_location(c)["created_at"] > (before + datetime.timedelta(days=39)).isoformat()
    finally:
        operator.post("/v1/system/clock", {"offset_seconds": 0}, expect=200)
    assert abs((now(operator) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 5


def test_clock_backwards_and_refusals(operator, server):
    operator.post("/v1/system/clock", {"offset_seconds": -3600}, expect=200)
    assert (datetime.datetime.now(datetime.timezone.utc) - now(operator)).total_seconds() > 3500
    operator.post("/v1/system/clock", {"offset_seconds": 0}, expect=200)
    for bad in ({}, {"offset_seconds": "1"}, {"offset_seconds": 1.5}, {"offset_seconds": 10**11}):
        assert operator.refused("POST", "/v1/system/clock", 400, "validation.failed", ["offset_seconds"], body=bad)
    owner = server.organization().client()  # "all" is all but the operator's own
    assert owner.refused("GET", "/v1/system/clock", 403, "scope_access", ["system:read"])
    assert owner.refused("POST", "/v1/system/clock", 403, "scope_access", ["system:write"], body={"offset_seconds": 1})


def test_the_offset_is_kept(server, operator):
    """Set in the database by another machine, it is heard of; a restarted worker knows it."""
    server.sql("SELECT wharf.clock_set(7200); NOTIFY wharf_clock")
    end = time.monotonic() + WAIT
    while operator.get("/v1/system/clock").data["offset_seconds"] != 7200 and time.monotonic() < end:
        time.sleep(0.05)
    assert operator.get("/v1/system/clock").data["offset_seconds"] == 7200
    operator.post("/v1/system/clock", {"offset_seconds": 0}, expect=200)


def test_modules(operator):
    a = operator.get("/v1/modules")
    rows = {m["name"]: m for m in a.data}
    assert {"org", "locations", "stations"} <= set(rows) and a.pagination == {"page": 1, "limit": len(rows), "has_more": False}
    s = rows["stations"]
    assert s["status"] == "ok" and s["abi"] == "1.0" and sorted(s["areas"]) == ["print_jobs", "print_stations"] and "GET /v1/cloud-printing/stations" in s["routes"]
    assert operator.server.organization().client(scopes="users:read").refused("GET", "/v1/modules", 403, "scope_access", ["organizations:read"])


# The ten of spec 01 section 17, row 'Breaking', in its order.
STATED = ["api.dates", "lists.refunded", "containers.search", "containers.validation", "search.v2", "contacts.legacy_scoring", "contacts.trackers",
          "print_jobs.scaling", "inferences.image_url", "contacts.relevance_score"]


def test_changes(server):
    r = requests.get(server.base + "/v1/changes", timeout=WAIT)
    rows = r.json()["data"]
    assert r.status_code == 200 and [c["id"] for c in rows] == STATED
    for c in rows:
        assert set(c) == {"id", "date", "effective_at", "area", "breaking", "summary", "migration"}
        assert ISO.match(c["date"]) and ISO.match(c["effective_at"]) and c["breaking"] is True and c["summary"] and c["migration"]


def test_no_clock_without_the_switch():
    """Nor a description of the API for everybody, when it needs a key."""
    s = Server("--set", "openapi.require_key=true", "--set", "test_clock=false")
    try:
        for key, status in ((None, 401), ("nonsense", 401), (s.organization().key("users:read"), 200)):
            assert requests.get(s.base + "/v1/openapi.json", headers={"SVC-API-KEY": key} if key else {}, timeout=WAIT).status_code == status
        assert s.openapi["openapi"] == "3.1.0" and s.openapi["paths"]["/v1/openapi.json"]["get"].get("security") != []
        assert Client(s, s.demo_key).refused("GET", "/v1/system/clock", 404, "route.not_found")
        assert "/v1/system/clock" not in s.openapi["paths"]
    finally:
        s.stop()


class SlowDatabase:
    """The database of another server, by a socket that passes answers on late."""

    def __init__(self, server):
        self.folder, self.late = server.folder, 0
        host, self.port = (server.conninfo.split(name + "=")[1].split()[0] for name in ("host", "port"))
        self.behind = f"{host}/.s.PGSQL.{self.port}"
        self.place = tempfile.mkdtemp(prefix="wharf-slow-", dir="/tmp")
        os.chmod(self.place, 0o711)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.place}/.s.PGSQL.{self.port}")
        os.chmod(f"{self.place}/.s.PGSQL.{self.port}", 0o777)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def conninfo(self):
        return f"host={self.place} port={self.port} user=wharf dbname=wharf"

    def serve(self):
        while True:
            asker, database = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            database.connect(self.behind)
            for source, target, answers in ((asker, database, False), (database, asker, True)):
                threading.Thread(target=self.pass_on, args=(source, target, answers), daemon=True).start()

    def pass_on(self, source, target, answers):
        try:
            while data := source.recv(65536):
                time.sleep(self.late if answers else 0)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            end.close()


def test_workers_have_the_time_of_the_database_whenever_its_answer_comes(server):
    """What is written between two moments of the database is dated between them, by whichever worker: else it would seem older than what another one had written."""
    slow = SlowDatabase(server)
    other = Server("--modules", "org,locations", "--set", "workers=2", beside=slow)
    try:
        client = other.organization().client()
        slow.late = 0.05
        server.sql("NOTIFY wharf_clock")  # all workers ask for the time, of which they are told late
        for i in range(12):
            before = server.sql("SELECT date_trunc('milliseconds', clock_timestamp())")[0][0]
            made = make_location(client, f"Dock {i}")["created_at"]
            after = server.sql("SELECT clock_timestamp()")[0][0]
            client.http.close()  # the next one goes to any worker
            assert before <= datetime.datetime.fromisoformat(made.replace("Z", "+00:00")) <= after
    finally:
        slow.late = 0
        other.end()
