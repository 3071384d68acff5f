"""Batches and time, and how many there may be (spec 10 sections 4, 10 and 13): the limit of waiting ones, six hours, retention, slow hosts; and test keys."""
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import time

import psycopg2
import pytest
import requests

from outside import Authority, NameServer, Web
from test_batches import BATCHES, ids, run
from test_batches_background import wait
from test_batches_files import data_url
from wharf import WAIT, Client, Server

HOST, DAY = "files.example.test", 86400


class World:
    def __init__(self, folder):
        authority = Authority(folder)
        self.names = NameServer({HOST: ["127.0.0.1"]})
        self.web = Web({"/drip": self.drip}, authority.server_context("web", HOST))
        self.server = Server("--modules", "org,locations,contacts,batches", "--set", "environment=test", "--set", f"net.dns={self.names.address}",
                             "--set", f"net.ca_file={authority.file}", "--set", f"net.allow=127.0.0.1:{self.web.port}", "--test-clock")
        self.base = f"https://{HOST}:{self.web.port}"

    @staticmethod
    def drip(handler):
        """A byte now and then, for as long as somebody listens."""
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        try:
            for _ in range(200):
                handler.wfile.write(b"a")
                handler.wfile.flush()
                time.sleep(0.2)
        except OSError:
            pass  # it was hung up on

    def clock(self, seconds):
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": seconds}, expect=200)

    def swept(self, client, days):
        """As many days later, when the sweep that was due then has run: it ends uploads that did not come within a day."""
        sign = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None}, expect=202).data
        self.clock(days * DAY)
        assert wait(client, sign["id"])["status"] == "expired"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("ca"))
    yield w
    w.server.stop()
    w.names.close()
    w.web.shutdown()


def test_sixty_a_minute():
    s = Server("--modules", "org,locations,contacts,batches", "--set", "rate_limit.key=0", "--set", "rate_limit.write=0", limits=True)
    try:
        client = s.organization().client()
        answers, begun = [], time.monotonic()
        while not answers or answers[-1].status != 429:
            answers.append(client.request("POST", BATCHES, body={"resource": "nothing"}))  # refused: a limit counts requests
        assert 60 <= len(answers) - 1 <= 61 + time.monotonic() - begun and {a.status for a in answers[:-1]} == {400}
        assert (answers[-1].code, answers[-1].errors) == ("rate_limited", ["endpoint"]) and int(answers[-1].headers["Retry-After"]) >= 1
        client.get(BATCHES)
    finally:
        s.stop()


def test_a_hundred_wait(world):
    client = world.server.organization().client()
    body = {"resource": "contact", "action": "merge", "mode": "async", "data": None}
    waiting = [client.post(BATCHES, body, expect=202).data["id"] for _ in range(100)]
    client.refused("POST", BATCHES, 429, "rate_limited", ["endpoint"], body)
    client.refused("POST", BATCHES, 429, "rate_limited", ["endpoint"], {**body, "data": [{"name": "One more"}]})
    client.refused("POST", BATCHES, 429, "rate_limited", ["endpoint"], {**body, "mode": "mixed", "data": [{"name": f"M{i}"} for i in range(101)]})
    assert run(client, [{"name": "At once"}], mode="sync")["stats"]["created"] == 1  # those that need not wait are taken
    assert run(client, [{"name": "At once too"}], mode="mixed")["stats"]["created"] == 1
    client.post(f"{BATCHES}/{waiting[0]}/cancel", {}, expect=200)
    assert wait(client, run(client, [{"name": "Now"}], mode="async", expect=202)["id"])["stats"]["created"] == 1
    world.server.organization().client().post(BATCHES, body, expect=202)  # each organization has its own hundred


def test_retries_wait_with_the_others(world):
    """What is tried again counts among the hundred, and waits for none when they do."""
    client = world.server.organization().client()
    bad = run(client, [{}])
    body = {"resource": "contact", "action": "merge", "mode": "async", "data": None}
    waiting = [client.post(BATCHES, body, expect=202).data["id"] for _ in range(100)]
    client.refused("POST", f"{BATCHES}/{bad['id']}/retry", 429, "rate_limited", ["endpoint"], body={})
    client.post(f"{BATCHES}/{waiting[0]}/cancel", {}, expect=200)
    again = client.post(f"{BATCHES}/{bad['id']}/retry", {}, expect=202).data
    assert wait(client, again["id"])["stats"]["errors"] == 1


def test_six_hours(world):
    client = world.server.organization().client()
    b = run(client, [{"name": f"T{i}", "email": f"t{i}@b.example"} for i in range(10000)], mode="async", expect=202)
    end = time.monotonic() + WAIT
    while client.get(f"{BATCHES}/{b['id']}").data["stats"]["created"] == 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    try:
        world.clock(6 * 3600 + 60)
        b = wait(client, b["id"])
        s = b["stats"]
        assert (b["status"], b["reason"]) == ("timed_out", "timeout")
        assert s["skipped"] and s["created"] and s["created"] + s["skipped"] == 10000
        assert b["phases"][-1]["status"] == "skipped"
        assert client.post(f"{BATCHES}/{b['id']}/retry", {}, expect=202).data["parent_batch_id"] == b["id"]
    finally:
        world.clock(0)


def test_what_is_kept(world):
    client = world.server.organization().client()
    b = run(client, [{"name": "Kept"}, {}])
    try:
        world.swept(client, 29)
        assert len(client.get(f"{BATCHES}/{b['id']}/items").data) == 2
        world.swept(client, 31)
        shown = client.get(f"{BATCHES}/{b['id']}").data
        assert shown["stats"] == b["stats"] and not any(v for k, v in shown.items() if k.endswith("_url"))
        assert client.get(f"{BATCHES}/{b['id']}/items").data == []
        client.refused("POST", f"{BATCHES}/{b['id']}/retry", 409, "batch.payload_expired", body={})
        world.swept(client, 399)
        client.get(f"{BATCHES}/{b['id']}", expect=200)
        world.swept(client, 401)
        client.refused("GET", f"{BATCHES}/{b['id']}", 404, "not_found", [b["id"]])
    finally:
        world.clock(0)


def test_what_was_brought_ends_with_its_items(world):
    """The bytes of an upload that are kept have no end of their own; those that nobody asked to keep go when the batch ends."""
    org = world.server.organization()
    client = org.client()

    def bring(**more):
        b = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None, **more}, expect=202).data
        r = requests.put(world.server.base + b["_upload_url"] if b["_upload_url"].startswith("/") else b["_upload_url"], data=b"name\nBrought\n", timeout=WAIT)
        assert r.status_code < 300, r.text
        assert wait(client, b["id"])["stats"]["created"] == 1
        return b["id"]

    def stored():
        return [n for n, in world.server.sql("SELECT name FROM wharf.file WHERE organization_id = %s AND name = 'upload' AND state = 'stored'", org.id)]
    bring()
    assert stored() == []
    kept = bring(save_upload=True)
    assert stored() == ["upload"]
    link = client.get(f"{BATCHES}/{kept}?include_upload_csv=true").data["_upload_csv_url"]
    assert requests.get(world.server.base + link if link.startswith("/") else link, timeout=WAIT).content == b"name\nBrought\n"
    try:
        world.swept(client, 29)
        assert stored() == ["upload"] and client.get(f"{BATCHES}/{kept}?include_upload_csv=true").data["_upload_csv_url"]
        world.swept(client, 31)
        assert stored() == [] and client.get(f"{BATCHES}/{kept}?include_upload_csv=true").data["_upload_csv_url"] is None
    finally:
        world.clock(0)


def test_a_host_that_drips(world):
    client = world.server.organization().client()
    begun = time.monotonic()
    client.refused("POST", BATCHES, 408, "file.timeout_error", ["data"], {"resource": "contact", "action": "merge", "mode": "sync", "data": world.base + "/drip"})
    assert time.monotonic() - begun < 20  # given up long before its end
    b = wait(client, run(client, world.base + "/drip", mode="async", expect=202)["id"])
    assert (b["status"], b["reason"], b["stats"]["created"]) == ("failed", "file.timeout_error", 0)


def test_batches_of_a_test_key(world):
    org = world.server.organization()
    live, test = org.client(), org.client(test=True)
    b = run(test, [{"name": "Only a test"}], mode="sync")
    later = wait(test, run(test, [{"name": "Later"}], mode="async", expect=202)["id"])
    assert b["stats"]["created"] == later["stats"]["created"] == 1
    assert {c["name"] for c in test.get("/v1/contacts").data} == {"Only a test", "Later"}
    assert live.get("/v1/contacts").data == [] and live.get(BATCHES).data == []
    live.refused("GET", f"{BATCHES}/{b['id']}", 404, "not_found", [b["id"]])


# ---- limits as an operator sets them ----

@pytest.fixture(scope="module")
def small():
    limits = {"array_items": 60, "items": 90, "sync_items": 50, "mixed_items": 5, "queued": 2, "data_url_mib": 1, "file_mib": 1}
    s = Server("--modules", "org,locations,contacts,batches", *(x for k, v in limits.items() for x in ("--set", f"batches.{k}={v}")))
    yield s
    s.stop()


def test_more_matches_than_a_batch_may_have(small):
    """spec 10 section 7, 5: nothing is written."""
    client = small.organization().client()
    for i in range(2):
        run(client, [{"name": f"M{i}.{k}"} for k in range(46)])
    filters = {"created_at": {"lte": "2100-01-01T00:00:00Z"}}
    b = wait(client, client.post(BATCHES, {"resource": "contact", "action": "delete", "data": [], "filters": filters}, expect=202).data["id"])
    assert (b["status"], b["reason"], b["stats"]["deleted"]) == ("failed", "batch.too_many_items", 0)
    assert len(client.get("/v1/contacts?limit=1000").data) == 92
    client.delete("/v1/contacts/" + client.get("/v1/contacts").data[0]["id"])
    client.delete("/v1/contacts/" + client.get("/v1/contacts").data[0]["id"])
    b = wait(client, client.post(BATCHES, {"resource": "contact", "action": "delete", "data": [], "filters": filters}, expect=202).data["id"])
    assert (b["status"], b["stats"]["deleted"]) == ("completed", 90)


def test_limits_are_the_operator_s(small):
    client = small.organization().client()
    body = {"resource": "contact", "action": "merge"}
    client.refused("POST", BATCHES, 400, "batch.too_many_items", ["data"], {**body, "mode": "async", "data": [{}] * 61})
    client.refused("POST", BATCHES, 400, "batch.too_many_items", ["data"], {**body, "mode": "sync", "data": data_url("name\n" + "x\n" * 91)})
    a = client.refused("POST", BATCHES, 400, "batch.too_many_items_sync", ["data"], {**body, "mode": "sync", "data": [{}] * 51})
    assert "50 items" in a.body["message"]
    b = run(client, [{"name": "x"}] * 6, mode="mixed", expect=202)
    assert [p["mode"] for p in wait(client, b["id"])["phases"]] == ["sync", "sync", "async"]
    a = client.refused("POST", BATCHES, 400, "file.too_large", ["data"], {**body, "mode": "sync", "data": data_url(b"name\n" + b"\n" * (1 << 20))})
    assert "1 MiB" in a.body["message"]


def test_uploads_have_a_size_and_come_once(small):
    client = small.organization().client()
    b = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None}, expect=202).data
    put = lambda url, body: requests.put(client.server.base + url if url.startswith("/") else url, data=body, timeout=WAIT)  # noqa: E731
    r = put(b["_upload_url"], b"name\n" + b"\n" * (1 << 20))
    assert (r.status_code, r.json()["code"]) == (400, "file.too_large"), r.text
    url = client.get(f"{BATCHES}/{b['id']}").data["_upload_url"]
    worker, = small.workers("job")
    os.kill(worker, signal.SIGSTOP)
    try:
        assert put(url, b"name\nAnn\n").status_code == 200
        r = put(url, b"name\nBob\n")
        assert (r.status_code, r.json()["code"]) == (409, "file.already_uploaded"), r.text
    finally:
        os.kill(worker, signal.SIGCONT)
    assert wait(client, b["id"])["stats"]["created"] == 1
    assert put(url, b"name\nBob\n").status_code == 404  # what is not kept is gone with the batch's end
    assert [c["name"] for c in client.get("/v1/contacts").data] == ["Ann"]


def contacts_named(client, names):
    """Ids of new contacts, in this order, however long their batch takes."""
    b = wait(client, run(client, [{"name": n} for n in names], mode="async", expect=202)["id"])
    assert b["status"] == "completed"
    by_name = {c["name"]: c["id"] for c in client.get("/v1/contacts?limit=1000").data}
    return [by_name[n] for n in names]


def test_what_takes_too_long_for_a_request_goes_on_without_it():
    """spec 10 section 4: the answer is 202 then; nothing is lost or done twice."""
    server = Server("--modules", "org,locations,contacts,batches", "--set", "batches.request_seconds=1")
    try:
        org = server.organization()
        client, late = org.client(), "late " + "x" * 5000  # some two hundred of such items are as much as a chunk has
        made = contacts_named(client, [f"S{i}" for i in range(450)])
        held = psycopg2.connect(server.conninfo)
        with held.cursor() as c:
            c.execute("SELECT 1 FROM contacts.contact WHERE id = %s FOR UPDATE", (made[250],))  # the second chunk of three waits for it
            answer = []
            t = threading.Thread(target=lambda: answer.append(run(client, [{"id": i, "notes": late} for i in made], expect=202)))
            t.start()
            time.sleep(1.5)
        held.rollback()
        t.join()
        b, = answer
        assert b["status"] == "queued" and "results" not in b
        b = wait(client, b["id"])
        assert server.sql("SELECT count(*) FROM batches.chunk WHERE batch_id = %s", b["id"]) == [(3,)]
        assert (b["status"], b["mode"], b["stats"]["updated"], b["stats"]["events"]) == ("completed", "sync", 450, 450)
        told = server.sql("SELECT count(*), count(DISTINCT resource_id) FROM wharf.change_log WHERE batch_id = %s AND resource = 'contact'", b["id"])
        assert told == [(450, 450)] and {c["notes"] for c in client.get("/v1/contacts?limit=1000").data} == {late}
    finally:
        server.stop()


def test_bodies_of_more_than_64_mib(small):
    r = requests.post(small.base + BATCHES, data=b'{"data":"' + b"x" * (64 << 20) + b'"}', headers={"SVC-API-KEY": small.organization().key(), "Content-Type": "application/json"}, timeout=WAIT)
    assert (r.status_code, r.json()["code"]) == (413, "body.too_large")


def test_a_module_that_is_no_longer_there_stops_nobody():
    """Its batches end as those of others do, and can be canceled."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-batches-", dir=os.environ.get("WHARF_TEST_PLACE")))
    server = Server("--modules", "org,locations,contacts,batches", "--test-clock", folder=folder)
    try:
        org = server.organization()
        key = org.key()
        client = Client(server, key)
        body = {"action": "merge", "mode": "async", "data": None}
        theirs, canceled, mine = (client.post(BATCHES, {"resource": r, **body, "save_result": True}, expect=202).data["id"] for r in ("contact", "contact", "location"))
        old = run(client, [{}])["id"]
        server.stop()
        server = Server("--modules", "org,locations,batches", "--test-clock", folder=folder)
        org.server = server
        client = Client(server, key)
        assert client.get(f"{BATCHES}/{theirs}").data["_upload_url"] is None
        assert client.post(f"{BATCHES}/{canceled}/cancel", {}, expect=200).data["status"] == "canceled"
        client.refused("POST", f"{BATCHES}/{canceled}/retry", 400, "batch.resource_unavailable", ["resource"], body={})
        client.refused("GET", f"{BATCHES}/{old}/items", 400, "batch.resource_unavailable", ["resource"])
        Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": 31 * DAY}, expect=200)
        assert [(wait(client, b)["status"], wait(client, b)["reason"]) for b in (mine, theirs)] == [("expired", "expired")] * 2
        end = time.monotonic() + WAIT
        while server.sql("SELECT 1 FROM batches.chunk WHERE batch_id = %s", old):
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_batch_that_lost_its_job_is_taken_up():
    """It is given up after so many tries, as when its module is away for long; the hourly sweep finds it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-batches-", dir=os.environ.get("WHARF_TEST_PLACE")))
    server = Server("--modules", "org,locations,contacts,batches", "--test-clock", folder=folder)
    try:
        org = server.organization()
        key = org.key()
        id = Client(server, key).post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": data_url("\n".join(["name", *(f"C{i}" for i in range(30000))]))}, expect=202).data["id"]
        server.stop()
        server = Server("--modules", "org,locations,batches", "--test-clock", folder=folder)
        server.sql("DELETE FROM wharf.job WHERE queue IN ('batches.run', 'batches.help') AND organization_id = %s", org.id)
        (status,), = server.sql("SELECT status FROM batches.batch WHERE id = %s", id)
        assert status in ("queued", "processing")
        server.end()  # not stop(): nobody declares here the events of contacts that were made
        server = Server("--modules", "org,locations,contacts,batches", "--test-clock", folder=folder)
        client = Client(server, key)
        Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": 10 * 3600}, expect=200)
        b = wait(client, id)
        assert b["status"] == ("completed" if status == "queued" else "timed_out") and sum(b["stats"][k] for k in ("created", "skipped")) == 30000, b
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
