"""Stations that are connected, and what time does: spec 04 sections 8 and 9."""
import json
import os
import signal
import threading
import time

import pytest
import requests

from test_print_jobs import JOBS, Shop
from wharf import STATIONS, WAIT, Client, Server, printer, station_body, until


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,stations", "--test-clock")
    yield s
    s.stop()


@pytest.fixture
def clock(server):
    at = {"s": getattr(clock, "at", 0)}

    def move(seconds):
        at["s"] += seconds
        Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": at["s"]}, expect=200)
    yield move
    Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": 0}, expect=200)


class Stream:
    """Frames of a station's stream as they come: (id, event, data)."""

    def __init__(self, shop, query="", headers=()):
        self.frames, self.closed = [], False
        self.r = requests.get(f"{shop.client.server.base}{shop.path}/stream?session_id={shop.session}{query}", stream=True, timeout=WAIT,
                              headers={"SVC-API-KEY": shop.client.key, "Accept": "text/event-stream", **dict(headers)})
        self.thread = threading.Thread(target=self.read, daemon=True)
        if self.r.status_code == 200:
            self.thread.start()

    def read(self):
        frame = {}
        for line in self.r.iter_lines(chunk_size=1):
            if not line and "event" in frame:
                self.frames.append((int(frame["id"]) if "id" in frame else None, frame["event"], json.loads(frame["data"])))
            frame = {} if not line else {**frame, **dict([line.decode().split(": ", 1)])}
        self.closed = True

    def wait(self, event, n=1):
        until(lambda: len([f for f in self.frames if f[1] == event]) >= n)
        return [f for f in self.frames if f[1] == event][n - 1]


# ---- sessions ----

def test_open_and_close(org):
    s = Shop(org, "Open", status="offline")
    a = s.client.post(s.path + "/sessions", {"agent": {"name": "wharf-station", "version": "1", "os": "Linux", "hostname": "dock"},
                                             "printers": [{"name": "Zebra", "status": "busy", "state_reasons": ["media-low-warning", "moving-to-paused", "none"],
                                                           "uri": "ipp://me:secret@printer.example/ipp/print"}]}, expect=201).data
    assert {k: a[k] for k in ("heartbeat_interval", "offline_after", "lease_seconds", "seq")} == {"heartbeat_interval": 30, "offline_after": 90, "lease_seconds": 120, "seq": 0}
    st = s.client.get(s.path).data
    assert st["status"] == "online" and st["agent"]["hostname"] == "dock" and st["last_seen_at"] and st["online_since"] and a["station"]["id"] == st["id"]
    p = st["printers"][0]
    assert p["status"] == "busy" and p["state_reasons"] == ["media-low", "other"] and p["uri"] == "ipp://printer.example/ipp/print"
    s.client.delete(f"{s.path}/sessions/{a['session_id']}")
    assert s.client.get(s.path).data["status"] == "offline"
    told = {e[0].removeprefix("print_station.") for e in org.events(st["id"])}
    assert {"session_opened", "session_closed", "status_changed", "printer_status_changed"} <= told
    assert [e[1]["cause"] for e in org.events(st["id"], "print_station.status_changed")] == ["session", "session"]
    s.client.refused("DELETE", f"{s.path}/sessions/{a['session_id']}", 409, "print_station.session_superseded")


def test_the_first_device_owns_the_station(org):
    s = Shop(org, "Owned")
    devices = [s.client.post("/v1/devices", {"name": n, "issue_key": True, "locations": {"add": [s.location["id"]]}}, expect=201).data for n in ("One", "Two")]
    one, two = (Client(s.client.server, d["api_key"]) for d in devices)
    session = one.post(s.path + "/sessions", {}, expect=201).data["session_id"]
    assert s.client.get(s.path).data["device_id"] == devices[0]["id"]
    two.refused("POST", s.path + "/sessions", 403, "print_station.device_mismatch", body={})
    two.refused("POST", s.path + "/claim", 403, "scope_access", body={"session_id": session})
    job = s.make()
    claimed, = one.post(s.path + "/claim", {"session_id": session}, expect=200).data["jobs"]
    s.no(job, 403, "scope_access", status="completed", session_id=session, attempt=1)  # who is no device can cancel only
    assert s.update(job, status="canceled")["cancel_requested_at"]
    one.post(f"{JOBS}/{job['id']}", {"status": "completed", "session_id": session, "attempt": claimed["attempt"]}, expect=200)
    s.client.post(s.path, {"device_id": None}, expect=200)
    two.post(s.path + "/sessions", {}, expect=201)
    assert s.client.get(s.path).data["device_id"] == devices[1]["id"]


def test_heartbeats_of_printers(org):
    s = Shop(org, "Beats", printer("A"), printer("B"))
    s.open(printers=[{"name": "A", "status": "online"}, {"name": "B", "status": "online"}])

    def beat(*names):
        s.client.post(s.path + "/heartbeat", {"session_id": s.session, "printers": [{"name": n, "status": "online"} for n in names]}, expect=200)
        return {p["name"]: p["status"] for p in s.client.get(s.path).data["printers"]}
    for wanted in ("online", "online", "offline"):
        assert beat("A") == {"A": "online", "B": wanted}  # three in a row
    assert beat("A", "B") == {"A": "online", "B": "online"}
    changes = org.events(s.station["id"], "print_station.printer_status_changed")
    assert [(e[1]["printer_status"], e[1]["previous_status"]) for e in changes] == [("offline", "online"), ("online", "offline")]


# ---- telling ----

def test_stream(org):
    s = Shop(org, "Stream")
    s.open()
    one = Stream(s)
    assert one.r.headers["Content-Type"].startswith("text/event-stream") and one.r.headers["Cache-Control"] == "no-store"
    hello = one.wait("hello")
    assert hello[2] == {"seq": 0, "session_id": s.session}
    job = s.make()
    at, _, data = one.wait("print_job.available")
    assert at == 1 and data["job_id"] == job["id"] and data["station_id"] == s.station["id"] and data["seq"] == 1 and set(data) == {"type", "seq", "at", "station_id", "job_id"}
    s.claim()
    s.update(job, status="canceled")
    assert one.wait("print_job.cancel")[2]["job_id"] == job["id"]
    s.client.post(s.path, {"name": "Renamed"}, expect=200)
    assert one.wait("station.updated")[0] == 3
    again = Stream(s, headers={"Last-Event-ID": "1"})
    assert again.wait("station.updated")[0] == 3 and [f[0] for f in again.frames] == [1, 2, 3]
    lost = Stream(s, query="&after=77")
    assert lost.wait("resync") and lost.wait("hello")[2]["seq"] == 3
    s.open()
    one.wait("superseded")
    until(lambda: one.closed and again.closed)
    s.client.refused("GET", f"{s.path}/stream?session_id=prnt_ses_0000000000000000000000", 409, "print_station.session_superseded")


def test_claims_wait(org):
    s = Shop(org, "Wait")
    s.open()
    got, client = [], Client(s.client.server, s.client.key)
    thread = threading.Thread(target=lambda: got.append(client.post(s.path + "/claim", {"session_id": s.session, "wait": 20}, expect=200).data["jobs"]))
    thread.start()
    time.sleep(0.3)  # so that it waits; that it comes at once is no part of what is asked
    job = s.make()
    thread.join(WAIT)
    assert [j["id"] for j in got[0]] == [job["id"]]
    assert s.claim(wait=1) == []


# ---- time ----

def test_offline(org, clock):
    s = Shop(org, "Offline")
    s.open()
    clock(80)
    s.client.post(s.path + "/heartbeat", {"session_id": s.session}, expect=200)
    clock(80)
    assert s.client.get(s.path).data["status"] == "online"
    clock(15)
    until(lambda: s.client.get(s.path).data["status"] == "offline")
    time.sleep(1.5)  # the watch looks again
    told = org.events(s.station["id"], "print_station.status_changed")
    assert [e[1]["cause"] for e in told] == ["heartbeat_missed"] and told[0][1]["previous_status"] == "online"
    s.client.post(s.path + "/heartbeat", {"session_id": s.session}, expect=200)
    assert s.client.get(s.path).data["status"] == "online"


def test_who_never_had_a_session_is_as_it_says(org, clock):
    """Also when it reports jobs, and nobody hears of it for long."""
    s, managed = Shop(org, "Silent"), Shop(org, "Managed")
    managed.open()
    s.update(s.make(), status="completed")
    clock(200)
    until(lambda: managed.client.get(managed.path).data["status"] == "offline")  # the watch has looked
    assert s.client.get(s.path).data["status"] == "online"
    s.client.post(s.path, {"status": "offline"}, expect=200)
    s.update(s.make(print_station_id=s.station["id"]), status="processing")
    assert s.client.get(s.path).data["status"] == "offline"
    assert [e[1]["cause"] for e in org.events(s.station["id"], "print_station.status_changed")] == ["client"]


def test_a_server_that_starts_gives_stations_time(org, server, clock):
    s = Shop(org, "Grace")
    s.open()
    job = s.make(expire_after=60)
    worker, = server.workers("job")
    os.kill(worker, signal.SIGSTOP)
    clock(95)
    os.kill(worker, signal.SIGKILL)
    until(lambda: s.get(job)["status"] == "timed_out")  # it looks again
    assert s.client.get(s.path).data["status"] == "online"
    clock(91)
    until(lambda: s.client.get(s.path).data["status"] == "offline")


def test_drain(org):
    s = Shop(org, "Drain")
    s.open()
    s.make()
    s.client.post(s.path, {"status": "offline"}, expect=200)
    assert s.claim() == []
    s.client.post(s.path + "/heartbeat", {"session_id": s.session}, expect=200)
    assert s.client.get(s.path).data["status"] == "offline"
    s.client.post(s.path, {"status": "online"}, expect=200)
    assert len(s.claim()) == 1


def test_expiry(org, clock):
    s = Shop(org, "Expiry")
    job, other = s.make(expire_after=60), s.make()
    clock(61)
    until(lambda: s.get(job)["status"] == "timed_out")
    assert s.get(job)["reason_code"] == "expired" and s.told(job) == ["created", "timed_out"] and s.get(other)["status"] == "queued"
    s.open()
    assert [j["id"] for j in s.claim(max=5)] == [other["id"]]
    s.no(job, 409, "print_job.invalid_transition", ["status"], status="completed", session_id=s.session, attempt=0)  # never claimed


def test_leases(org, clock):
    s = Shop(org, "Lease")
    s.open()
    s.make(max_attempts=2)
    job, = s.claim()
    clock(100)
    s.client.post(s.path + "/heartbeat", {"session_id": s.session, "jobs": [{"id": job["id"], "attempt": 1, "stage": "downloading"}]}, expect=200)
    clock(100)
    assert s.get(job)["status"] == "processing"
    clock(30)
    until(lambda: s.get(job)["status"] == "queued")
    s.no(job, 409, "print_job.session_mismatch", ["attempt"], status="completed", session_id=s.session, attempt=7)
    job, = s.claim()
    assert job["attempt"] == 2
    clock(121)
    until(lambda: s.get(job)["status"] == "failed")
    assert s.get(job)["reason_code"] == "station_lost"


def test_heartbeats_do_not_take_a_stage_back(org):
    s = Shop(org, "Beats")
    s.open()
    s.make()
    job, = s.claim()
    over = threading.Event()
    beat = {"session_id": s.session, "jobs": [{"id": job["id"], "attempt": 1}]}

    def beats():
        client = Client(s.client.server, s.client.key)
        while not over.is_set():
            client.post(s.path + "/heartbeat", beat, expect=200)
    threads = [threading.Thread(target=beats) for _ in range(3)]
    try:
        for t in threads:
            t.start()
        for stage in ["submitting"] + ["printing", "blocked"] * 20:
            s.client.post(f"{JOBS}/{job['id']}", {"status": "processing", "session_id": s.session, "attempt": 1, "stage": stage}, expect=200)
            assert [s.get(job)["stage"] for _ in range(3)] == [stage] * 3
    finally:
        over.set()
        for t in threads:
            t.join()


def test_silence_and_late_reports(org, clock):
    s = Shop(org, "Silence", configuration={"max_inflight": 8})
    s.open()
    s.make()
    job, = s.claim()
    s.report(job, stage="submitting")
    clock(500)
    assert s.get(job)["status"] == "processing"
    clock(120)
    until(lambda: s.get(job)["status"] == "timed_out")
    assert s.get(job)["reason_code"] == "processing_timeout"
    s.no(job, 409, "print_job.session_mismatch", ["attempt"], status="completed", session_id=s.session, attempt=5)
    d = s.report(job, status="completed", confidence="device")
    assert d["status"] == "completed" and d["confidence"] == "device" and org.events(job["id"], "print_job.completed")[0][1]["late"] is True
    assert s.get(job, "?include_history=true")["history"][-1]["late"] is True


def test_silence_of_who_has_no_session(org, clock):
    """There is no lease: paper may exist, so it is never handed out again."""
    s = Shop(org, "No session")
    job = s.make()
    s.update(job, status="processing")
    clock(590)
    s.update(job, stage="printing", progress={"pages_completed": 0})
    clock(590)
    assert s.get(job)["status"] == "processing"
    clock(11)
    until(lambda: s.get(job)["status"] == "timed_out")
    assert s.get(job)["reason_code"] == "processing_timeout" and s.get(job)["attempt"] == 1
    assert s.update(job, status="completed", attempt=1)["status"] == "completed"  # late, of the same attempt


def test_too_late(org, clock):
    s = Shop(org, "Late")
    s.open()
    s.make()
    job, = s.claim()
    s.report(job, status="unreported")
    clock(86401)
    s.no(job, 409, "print_job.invalid_transition", ["status"], status="completed", session_id=s.session, attempt=1)
    assert s.update(job, status="failed", reason="nothing came out")["status"] == "failed"


def test_bytes_are_erased(org, clock):
    s = Shop(org, "Erase")
    job = s.make()
    assert s.update(job, status="completed")["document"]["available_until"]
    assert s.paper(job).startswith(b"%PDF")
    clock(71 * 3600)
    assert s.paper(job).startswith(b"%PDF")
    clock(3601)
    until(lambda: b"document_expired" in s.paper(job))
    s.client.refused("POST", f"{JOBS}/{job['id']}/reprint", 409, "print_job.document_expired", body={})
    assert s.get(job)["status"] == "completed"


def test_rerouting(org, clock):
    s = Shop(org, "Reroute", printer("A"))
    s.open()
    job, named = s.make(), s.make(print_station_id=s.station["id"], printer_name="A")
    clock(95)
    until(lambda: s.client.get(s.path).data["status"] == "offline")
    other = s.client.post(STATIONS, {**station_body(s.location["id"], "Other"), "printers": [printer("B")]}, expect=201).data
    clock(60)
    until(lambda: s.get(job)["print_station_id"] == other["id"])
    d = s.get(job, "?include_history=true")
    assert d["routing"] == {"automatic": True, "candidates": 2, "reason": "rerouted"} and d["printer"]["name"] == "B" and len(d["history"]) == 2
    assert s.told(job) == ["created", "updated"] and s.get(named)["print_station_id"] == s.station["id"]
