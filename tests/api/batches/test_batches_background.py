"""Batches that run in the background (spec 10 sections 4, 12 and 13): queued, canceled, tried again, by filters, by upload."""
import base64
import os
import re
import signal
import threading
import time

import psycopg2
import pytest
import requests

from test_batches import BATCHES, ids, lines, run
from wharf import TURNS_ARE_HEARD, WAIT, Server, make_location, stepped_back


def wait(client, id, *wanted, seconds=120):
    end = time.monotonic() + seconds
    while True:
        b = client.get(f"{BATCHES}/{id}").data
        if b["status"] in (wanted or ("completed", "failed", "timed_out", "canceled", "expired")):
            return b
        assert time.monotonic() < end, b
        time.sleep(0.03)


def later(client, data, **more):
    b = run(client, data, mode=more.pop("mode", "async"), expect=202, **more)
    assert b["status"] == "queued" and "results" not in b
    return wait(client, b["id"])


def items(client, b, **query):
    return client.get(f"{BATCHES}/{b['id']}/items?limit=1000&" + "&".join(f"{k}={v}" for k, v in query.items())).data


def test_async_does_what_sync_does(fresh):
    client = fresh.client()
    data = [{"name": f"N{i}"} if i % 10 else {"name": "x" * 200} for i in range(450)]
    b = later(client, data)
    assert (b["status"], b["progress"], b["reason"]) == ("completed", 100, None)
    assert [(p["name"], p["mode"], p["status"], p["processed"], p["error"]) for p in b["phases"]] == [
        ("parsing", "sync", "completed", 450, 0), ("validating", "async", "completed", 450, 45), ("processing", "async", "completed", 405, 0)]
    assert b["stats"]["created"] == b["stats"]["events"] == 405 and b["stats"]["errors"] == 45
    assert b["started_at"] and b["finished_at"]
    same = run(client, data)
    assert same["stats"] == b["stats"]
    made = items(client, b, state="done")
    assert [i["index"] for i in made] == [i for i in range(450) if i % 10]
    names = dict(fresh.server.sql("SELECT id, name FROM contacts.contact WHERE organization_id = %s", fresh.id))
    assert all(names[i["result_id"]] == f"N{i['index']}" for i in made)
    told = fresh.told("type, actor_id, batch_id", "batch_id = %s", b["id"])
    assert len(told) == 406 and {t[1] for t in told} == {b["created_by"]} and told[-1][0] == "batch.completed"


TOLD = """CREATE TABLE public.said (what text, xact bigint, durable text);
CREATE FUNCTION public.say() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN INSERT INTO public.said VALUES (TG_TABLE_NAME, txid_current(), current_setting('synchronous_commit')); RETURN NULL; END $$;
CREATE TRIGGER say AFTER INSERT ON contacts.contact FOR EACH ROW EXECUTE FUNCTION public.say();
CREATE TRIGGER say AFTER INSERT ON wharf.outbox FOR EACH ROW EXECUTE FUNCTION public.say();
CREATE TRIGGER say AFTER UPDATE ON batches.chunk FOR EACH ROW WHEN (OLD.states IS DISTINCT FROM NEW.states) EXECUTE FUNCTION public.say();
CREATE TRIGGER say AFTER UPDATE ON batches.batch FOR EACH ROW
    WHEN ((OLD.status, OLD.progress, OLD.stats::text) IS DISTINCT FROM (NEW.status, NEW.progress, NEW.stats::text)) EXECUTE FUNCTION public.say()"""
SILENT = "DROP FUNCTION public.say() CASCADE; DROP TABLE public.said"


def test_chunks_do_not_wait_for_the_disk_and_what_is_told_does(fresh, server):
    """docs/decisions 201: effects, events and marks of a chunk are one transaction, which waits only when it tells status and progress too."""
    server.sql(TOLD)
    try:
        b = later(fresh.client(), [{"name": f"D{i}"} for i in range(2000)])
        assert b["stats"]["created"] == 2000
        said = {what: {x: durable for w, x, durable in server.sql("SELECT DISTINCT what, xact, durable FROM public.said") if w == what}
                for what in ("contact", "outbox", "chunk", "batch")}
    finally:
        server.sql(SILENT)
    assert set(said["contact"]) <= set(said["chunk"]) & set(said["outbox"])
    assert {durable for x, durable in said["contact"].items() if x not in said["batch"]} <= {"off"}
    assert said["batch"] and set(said["batch"].values()) == {"on"}


def helped(server):
    """How often somebody came to help with a batch."""
    text = requests.get(server.admin + "/metrics", timeout=WAIT).text
    found = re.search(r'^wharf_job_runs_total\{queue="batches.help",outcome="done"\} (\d+)', text, re.M)
    return int(found.group(1)) if found else 0


def test_several_work_on_one_batch(fresh, server):
    """Each item once, one event each, and told in the order of the items whoever made it."""
    client, n, before = fresh.client(), 5000, helped(server)
    client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201)
    data = [{"name": f"Someone New{i % 700}", "external_id": f"s{i}", "notes": "a\tb\\c\n\"d\\N", "email": f"s{i}@example.com" if i % 10 else f"no address {i}"} for i in range(n)]
    b = later(client, data, properties={"groups": {"add": [client.get("/v1/groups").data[0]["id"]]}})
    assert (b["status"], b["progress"], b["stats"]["created"], b["stats"]["errors"]) == ("completed", 100, n * 9 // 10, n // 10), b
    assert helped(server) > before
    good = [i for i in range(n) if i % 10]
    made = fresh.server.sql("SELECT external_id, id FROM contacts.contact WHERE organization_id = %s", fresh.id)
    assert sorted(x for x, _ in made) == sorted(f"s{i}" for i in good)
    assert len(fresh.told("id", "batch_id = %s AND type = 'contact.created'", b["id"])) == len(good)
    notes = data[0]["notes"]
    assert len(fresh.told("id", "batch_id = %s AND type = 'contact.created' AND data ->> 'notes' = %s", b["id"], notes)) == len(good)
    assert fresh.server.sql("SELECT count(*), count(DISTINCT resource_id) FROM wharf.change_log WHERE batch_id = %s AND resource = 'contact'", b["id"]) == [(len(good), len(good))]
    told = [i for page in range(1, 6) for i in client.get(f"{BATCHES}/{b['id']}/items?limit=1000&state=done&page={page}").data]
    assert [i["index"] for i in told] == good and {(f"s{i['index']}", i["result_id"]) for i in told} == set(made)
    words = [w for (w,) in fresh.server.sql("SELECT DISTINCT token FROM contacts.word WHERE organization_id = %s", fresh.id)]
    assert {f"new{i % 700}" for i in good} <= set(words)
    assert client.get("/v1/groups").data[0]["children_count"] == len(made)
    assert fresh.server.sql("SELECT 1 FROM batches.chunk WHERE batch_id = %s AND (lease > 0 OR tries > 0 OR stage < 2)", b["id"]) == []


WORKERS = """CREATE TABLE public.worked (pid integer);
CREATE FUNCTION public.work() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO public.worked VALUES (pg_backend_pid()); RETURN NULL; END $$;
CREATE TRIGGER work AFTER UPDATE ON batches.chunk FOR EACH ROW WHEN (OLD.states IS DISTINCT FROM NEW.states) EXECUTE FUNCTION public.work()"""


def test_clients_come_first():
    """docs/internals/batches.md, 'When helpers go': of one processor nothing is left for them while clients ask, and who works rests; those who ask how a batch is doing are none."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})  # inherited by the server
    try:
        server = Server("--modules", "org,locations,contacts,events,batches", "--set", "rate_limit.key=0")
    finally:
        os.sched_setaffinity(0, allowed)
    over = threading.Event()

    def rested():
        found = re.search(r"^wharf_batches_rest_seconds_total (\S+)", requests.get(server.admin + "/metrics", timeout=WAIT).text, re.M)
        return float(found.group(1)) if found else 0

    def workers(data):
        server.sql("TRUNCATE public.worked")
        assert later(server.organization().client(), data)["stats"]["created"] == len(data)
        return server.sql("SELECT count(DISTINCT pid) FROM public.worked")[0][0]

    def ask(client):
        while not over.is_set():
            client.get("/v1/contacts?limit=1")
    try:
        server.sql(WORKERS)
        data = [{"name": f"C{i}"} for i in range(4000)]
        assert workers(data) > 1 and rested() == 0
        calm = server.organization()
        threads = [threading.Thread(target=ask, args=(calm.client(),)) for _ in range(3)]
        for t in threads:
            t.start()
        try:
            assert workers(data[:2000]) == 1 and rested() > 0
        finally:
            over.set()
            for t in threads:
                t.join()
    finally:
        server.stop()


SESSIONS = """CREATE TABLE public.seen (what text, pid integer);
CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO public.seen VALUES (TG_ARGV[0], pg_backend_pid()); RETURN NULL; END $$;
CREATE TRIGGER see AFTER INSERT ON contacts.contact FOR EACH STATEMENT EXECUTE FUNCTION public.see('row');
CREATE TRIGGER see AFTER INSERT ON wharf.event_done FOR EACH STATEMENT EXECUTE FUNCTION public.see('event');"""


@pytest.fixture
def sessions():
    """A server, and which sessions of its database did what since the last look: {what: {process}}; BACK and USUAL tell of one whether it stepped back."""
    server = Server("--modules", "org,locations,contacts,events,batches")
    server.sql(SESSIONS)

    def seen():
        found = {}
        for what, pid in server.sql("WITH s AS (DELETE FROM public.seen RETURNING *) SELECT DISTINCT * FROM s"):
            found.setdefault(what, set()).add(pid)
        return found
    yield server, seen
    server.stop()


def processed(org):
    end = time.monotonic() + WAIT
    while org.server.sql("SELECT 1 FROM wharf.outbox LIMIT 1"):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_batches_step_back_behind_who_waits(sessions):
    """docs/internals/jobs.md 'Background': sessions of the embedded PostgreSQL, of a batch and of who processes the events that it leaves, and of nobody else."""
    server, seen = sessions
    org = server.organization()
    client = org.client()

    def nobody_steps_back():
        client.post("/v1/contacts", {"name": "Alone"}, expect=201)
        processed(org)
        found = seen()
        assert found["row"] and found["event"] and not any(stepped_back(p) for p in found["row"] | found["event"])
    nobody_steps_back()
    assert later(client, [{"name": f"C{i}"} for i in range(3000)])["stats"]["created"] == 3000
    processed(org)
    found = seen()
    assert {stepped_back(p) for p in found["row"]} == {TURNS_ARE_HEARD}
    assert any(stepped_back(p) for p in found["event"]) == TURNS_ARE_HEARD
    time.sleep(2.5)  # no batch for so long
    nobody_steps_back()


def test_events_that_are_late_do_not_step_back(sessions):
    server, seen = sessions
    org = server.organization()
    client = org.client()
    worker, = server.workers("job")
    os.kill(worker, signal.SIGSTOP)
    try:
        for n in range(4):
            assert run(client, [{"name": f"C{n} {i}"} for i in range(450)], mode="sync")["stats"]["created"] == 450
        time.sleep(5)
    finally:
        os.kill(worker, signal.SIGCONT)
    processed(org)
    assert not any(stepped_back(p) for p in seen()["event"])


def test_a_batch_that_was_accepted_is_accepted_once(fresh):
    """202 is kept for its Idempotency-Key as 200 and 201 are."""
    client, key = fresh.client(), {"Idempotency-Key": "accepted"}
    body = {"resource": "contact", "action": "merge", "mode": "async", "data": [{"name": "Once"}]}
    first = client.post(BATCHES, body, headers=key, expect=202)
    wait(client, first.data["id"])
    again = client.post(BATCHES, body, headers=key, expect=202)
    assert again.headers["Idempotent-Replayed"] == "true" and again.raw.content == first.raw.content
    assert len(client.get(BATCHES).data) == len(client.get("/v1/contacts").data) == 1


def test_mixed_processes_what_is_little_at_once(client):
    few = run(client, [{"name": f"M{i}"} for i in range(100)], mode="mixed")
    assert few["status"] == "completed" and {p["mode"] for p in few["phases"]} == {"sync"}
    b = later(client, [{"name": f"M{i}"} for i in range(101)] + [{}] * 20, mode="mixed")
    assert [p["mode"] for p in b["phases"]] == ["sync", "sync", "async"] and b["stats"]["created"] == 101 and b["stats"]["errors"] == 20


def test_limits(client):
    client.refused("POST", BATCHES, 400, "batch.too_many_items", ["data"], {"resource": "contact", "action": "merge", "mode": "async", "data": [{}] * 10001})


def test_cancel_before_it_begins(client, server):
    worker, = server.workers("job")
    os.kill(worker, signal.SIGSTOP)
    try:
        waiting = run(client, [{"name": "Never"}], mode="async", expect=202)
        a = client.post(f"{BATCHES}/{waiting['id']}/cancel", {}, expect=None)
        assert a.status in (200, 202), a
    finally:
        os.kill(worker, signal.SIGCONT)
    b = wait(client, waiting["id"])
    assert (b["status"], b["reason"]) == ("canceled", "canceled") and b["stats"]["skipped"] == 1, b
    client.post(f"{BATCHES}/{waiting['id']}/cancel", {}, expect=200)


def test_cancel_while_it_runs_and_retry(fresh):
    client = fresh.client()
    b = run(client, [{"name": f"C{i}"} if i % 500 else {} for i in range(10000)], mode="async", expect=202, duplicate_handling="use_first")
    end = time.monotonic() + WAIT
    while client.get(f"{BATCHES}/{b['id']}").data["stats"]["created"] == 0:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert client.post(f"{BATCHES}/{b['id']}/cancel", {}, expect=None).status in (200, 202)
    b = wait(client, b["id"])
    s = b["stats"]
    assert (b["status"], b["reason"]) == ("canceled", "canceled") and s["skipped"] and s["created"] + s["skipped"] + s["errors"] + s["ignored"] == 10000
    assert b["phases"][-1]["status"] == "skipped"
    assert fresh.server.sql("SELECT count(*) FROM contacts.contact WHERE organization_id = %s", fresh.id)[0][0] == s["created"]
    client.post(f"{BATCHES}/{b['id']}/cancel", {}, expect=200)
    again = client.post(f"{BATCHES}/{b['id']}/retry", {}, expect=202).data
    assert again["parent_batch_id"] == b["id"]
    again = wait(client, again["id"])
    assert again["stats"]["created"] == s["skipped"] and again["stats"]["errors"] == s["errors"]
    assert fresh.server.sql("SELECT count(*), count(DISTINCT name) FROM contacts.contact WHERE organization_id = %s", fresh.id)[0] == (9980, 9980)
    assert again["id"] in client.get(f"{BATCHES}?parent_batch_id={b['id']}").ids
    assert {t[0] for t in fresh.told("type", "batch_id = %s AND type LIKE 'batch.%%'", b["id"])} == {"batch.failed"}


def test_what_can_not_be_canceled_or_tried_again(client, server):
    b = run(client, [{"name": "x"}])
    client.refused("POST", f"{BATCHES}/{b['id']}/cancel", 409, "batch.not_cancelable", body={})
    client.refused("POST", f"{BATCHES}/{b['id']}/retry", 409, "batch.nothing_to_retry", body={})
    b = run(client, [{}])
    server.sql("UPDATE batches.batch SET kept = false WHERE id = %s", b["id"])
    client.refused("POST", f"{BATCHES}/{b['id']}/retry", 409, "batch.payload_expired", body={})
    client.refused("POST", f"{BATCHES}/batch_0000000000000000000000/retry", 404, "not_found", body={})


# ---- filters ----

def filtered(client, filters, action="merge", expect=202, **more):
    return client.post(BATCHES, {"resource": "contact", "action": action, "data": [], "filters": filters, **more}, expect=expect)


def test_filters(fresh):
    client = fresh.client()
    crew = client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201).data["id"]
    run(client, [{"name": f"F{i}", "groups": [crew] if i < 5 else [], "metadata": {"n": str(i % 2)}} for i in range(12)])
    b = wait(client, filtered(client, {"group_id": [crew]}, properties={"notes": "crew"}, mode="sync").data["id"])
    assert b["mode"] == "async" and b["filters"] == {"group_id": [crew]} and b["checksum"] is None
    assert [(p["name"], p["total"], p["success"]) for p in b["phases"]] == [("resolving", 5, 5), ("validating", 5, 5), ("processing", 5, 5)]
    assert b["stats"]["updated"] == 5
    assert sum(c["notes"] == "crew" for c in client.get("/v1/contacts?limit=100").data) == 5
    b = wait(client, filtered(client, {"metadata": {"n": "1"}}, action="overwrite", properties={"name": "Same"}).data["id"])
    assert b["stats"]["overwritten"] == 6
    b = wait(client, filtered(client, {"created_at": {"lte": "2100-01-01T00:00:00Z"}}, action="delete").data["id"])
    assert b["stats"]["deleted"] == 12 and client.get("/v1/contacts").data == []


def test_filters_are_judged_at_once(client):
    def refused(code, errors, filters, action="merge", **more):
        client.refused("POST", BATCHES, 400, code, errors, {"resource": "contact", "action": action, "data": [], "filters": filters, **({"properties": {"notes": "x"}} if action == "merge" else {}), **more})
    refused("batch.filters_empty", ["filters"], {})
    refused("batch.filters_with_data", ["data"], {"group_id": ["grp_0000000000000000000000"]}, data=[{"name": "x"}])
    refused("param.invalid", ["filters.created_at"], {"created_at": {"gte": "2024-01-01"}})  # date-only
    refused("param.invalid", ["filters.created_at"], {"created_at": "gte:2024-01-01"})
    refused("param.invalid", ["filters.odd"], {"odd": 1})
    for key in ("page", "limit", "cursor", "order_by", "direction", "fields", "include_documents"):
        refused("param.invalid", [f"filters.{key}"], {key: "1"})
    refused("batch.properties_required", ["properties"], {"external_id": "x"}, properties={})
    refused("batch.properties_required", ["properties"], {"external_id": "x"}, action="overwrite")
    refused("batch.properties_invalid", ["properties"], {"external_id": "x"}, action="delete", properties={"notes": "x"})


def test_overwritten_matches_need_what_is_required(fresh):
    """spec 10 section 7, 3: a required field that properties do not have is the item's error."""
    client = fresh.client()
    run(client, [{"name": f"O{i}", "notes": "kept"} for i in range(3)])
    b = wait(client, filtered(client, {"created_at": {"lte": "2100-01-01T00:00:00Z"}}, action="overwrite", properties={"notes": "new"}).data["id"])
    assert b["status"] == "completed" and [(i["state"], i["phase"], i["code"], i["errors"]) for i in items(client, b)] == [("error", "validating", "validation.failed", ["name"])] * 3
    assert {c["notes"] for c in client.get("/v1/contacts").data} == {"kept"}


def test_filters_reach_what_the_key_reaches(fresh):
    admin = fresh.client()
    places = [make_location(admin, n)["id"] for n in "AB"]
    made = [admin.post("/v1/contacts", {"name": f"L{i}", "locations": [places[i % 2]]}, expect=201).data["id"] for i in range(6)]
    limited = fresh.client(locations=places[:1])
    b = wait(limited, filtered(limited, {"created_at": {"lte": "2100-01-01T00:00:00Z"}}, properties={"notes": "seen"}).data["id"])
    assert b["stats"]["updated"] == 3
    assert [admin.get(f"/v1/contacts/{i}").data["notes"] for i in made] == ["seen", None] * 3


def test_filters_mean_the_records_of_one_moment(fresh):
    """spec 10 section 7, 4: later ones are not touched; those that are gone or out of reach when their turn comes are errors of their items."""
    admin = fresh.client()
    places = [make_location(admin, n)["id"] for n in "AB"]
    made = sorted(ids(run(admin, [{"name": f"M{i}", "locations": places[:1]} for i in range(450)])))
    limited = fresh.client(locations=places[:1])
    held = psycopg2.connect(fresh.server.conninfo)
    with held.cursor() as c:
        c.execute("SELECT 1 FROM contacts.contact WHERE id = %s FOR UPDATE", (made[0],))  # the first chunk waits for it
        b = filtered(limited, {"created_at": {"lte": "2100-01-01T00:00:00Z"}}, properties={"notes": "seen"}).data
        end = time.monotonic() + WAIT
        while limited.get(f"{BATCHES}/{b['id']}").data["phases"][-1]["status"] != "running":
            assert time.monotonic() < end
            time.sleep(0.01)
        admin.delete(f"/v1/contacts/{made[440]}")
        admin.post(f"/v1/contacts/{made[441]}", {"locations": {"set": places[1:]}}, expect=200)
        late = admin.post("/v1/contacts", {"name": "Late", "locations": places[:1]}, expect=201).data["id"]
    held.rollback()
    held.close()
    b = wait(limited, b["id"])
    wrong = items(admin, b, state="error")
    assert [(i["index"], i["phase"], i["code"]) for i in wrong] == [(440, "processing", "not_found"), (441, "processing", "location_access")]
    assert b["stats"]["updated"] == 448 and [i["result_id"] for i in items(admin, b, state="done")] == [m for k, m in enumerate(made) if k not in (440, 441)]
    assert admin.get(f"/v1/contacts/{late}").data["notes"] is None


def test_progress_never_goes_back(client):
    """spec 10 section 10, for a batch whose phases all run in the background."""
    text = "name,email\n" + "".join(f"P{i},{f'no{i}' if i % 7 == 0 else f'p{i}@b.example'}\n" for i in range(3000))
    b = run(client, "data:text/csv;base64," + base64.b64encode(text.encode()).decode(), mode="async", expect=202)
    seen = []
    while b["status"] in ("queued", "processing"):
        b = client.get(f"{BATCHES}/{b['id']}").data
        seen.append((b["progress"], sum(p["processed"] for p in b["phases"])))
        for p in b["phases"]:
            assert p["processed"] == p["success"] + p["error"] + p["ignored"] <= p["total"], p
    assert seen == sorted(seen) and seen[-1][0] == 100 and all(type(s[0]) is int for s in seen)
    s = b["stats"]
    assert s["created"] + s["errors"] == 3000 and s["errors"] == 429


def test_a_revoked_key_stops_its_batches(fresh, server):
    admin, client = fresh.client(), fresh.client()
    server.sql("UPDATE batches.batch SET status = status")
    b = run(client, [{"name": f"R{i}"} for i in range(300)], mode="async", expect=202)
    key = b["created_by"]
    server.sql("UPDATE wharf.api_key SET revoked_at = now() WHERE id = %s", key)
    done = wait(admin, b["id"])
    if done["status"] != "completed":  # it may have been faster
        assert (done["status"], done["reason"]) == ("failed", "batch.key_revoked")
        assert done["stats"]["created"] + done["stats"]["skipped"] == 300


def test_order_of_an_organization_and_turns_between_organizations(server):
    """A small batch of another organization does not wait for the large ones of this one."""
    busy, calm = server.organization().client(), server.organization().client()
    large = [run(busy, [{"name": f"L{i}"} for i in range(4000)], mode="async", expect=202)["id"] for _ in range(3)]
    small = later(calm, [{"name": "S"}])
    assert small["status"] == "completed"
    states = [busy.get(f"{BATCHES}/{id}").data["status"] for id in large]
    assert states.count("processing") <= 2 and states != ["completed"] * 3, states
    for id in large:
        busy.post(f"{BATCHES}/{id}/cancel", {})
        wait(busy, id)


LOSER = """CREATE SEQUENCE public.losses; GRANT ALL ON SEQUENCE public.losses TO PUBLIC;
CREATE FUNCTION public.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.name = 'Loser' OR NEW.name = 'Late' AND nextval('public.losses') <= 3 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF;
    RETURN NEW; END $$;
CREATE TRIGGER lose BEFORE INSERT ON contacts.contact FOR EACH ROW EXECUTE FUNCTION public.lose()"""


def test_an_item_that_always_loses_its_race_is_a_conflict():
    """spec 10 section 12, 11: tried again, then an error of its own; the others are not held up, and one that wins in the end is done."""
    server = Server("--modules", "org,locations,contacts,batches")
    try:
        server.sql(LOSER)
        client = server.organization().client()
        b = later(client, [{"name": "Loser" if i == 7 else "Late" if i == 430 else f"W{i}"} for i in range(450)])
        wrong = items(client, b, state="error")
        assert [(i["index"], i["phase"], i["code"]) for i in wrong] == [(7, "processing", "conflict")]
        assert (b["status"], b["stats"]["created"], b["stats"]["events"], b["stats"]["errors"]) == ("completed", 449, 449, 1)
        assert server.sql("SELECT count(*), count(DISTINCT name) FROM contacts.contact") == [(449, 449)]
    finally:
        server.stop()


# ---- uploads ----

def test_upload(client, server):
    b = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None}, expect=202).data
    assert b["status"] == "requested" and b["_upload_url"] and b["via"] == "file"
    fresh_link = client.get(f"{BATCHES}/{b['id']}").data["_upload_url"]
    body = b"name,email\nUp One,up1@b.example\nUp Two,bad\n"
    r = requests.put(server.base + fresh_link if fresh_link.startswith("/") else fresh_link, data=body, headers={"Content-Type": "text/plain"}, timeout=WAIT)
    assert r.status_code in (200, 201, 204), r.text
    done = wait(client, b["id"])
    assert (done["status"], done["stats"]["created"], done["stats"]["errors"], done["_upload_url"]) == ("completed", 1, 1, None)
    assert [p["name"] for p in done["phases"]] == ["fetching", "parsing", "validating", "processing"]
    assert done["file"]["format"] == "csv" and done["file"]["headers"] == ["name", "email"] and done["checksum"]
    client.refused("POST", BATCHES, 400, "validation.failed", ["data"], {"resource": "contact", "action": "merge", "mode": "sync", "data": None})


def test_an_upload_that_never_came(client, server):
    b = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None}, expect=202).data
    client.post(f"{BATCHES}/{b['id']}/cancel", {}, expect=200)
    assert client.get(f"{BATCHES}/{b['id']}").data["status"] == "canceled"
