"""kill -9 of web workers, job workers, the whole server and PostgreSQL while clients store, change and delete documents: nothing that was
acknowledged is lost, nothing is public that was made private, no file is left over (spec 05 part A sections 2 to 4, 6; section 16 item 5).

Each step of storing is met exactly: by the failure points of the store (WHARF_FAULT), and by locks that hold a transaction before its end. Random
moments: the short form runs in ./test, on a folder; the long one, on S3 too, by hand: pytest tests/chaos/test_document_kills.py --long -s.
"""
import contextlib
import os
import random
import subprocess
import threading
import time

import pytest
import requests

from document_chaos import DOCUMENTS, PROGRAM, WAIT, Courier, Round, Store, World, after_a_month, b64, compare, sha256, until

COURIERS = 6
couriers = []  # whose documents are on the server


@pytest.fixture(scope="module", params=["dir", "s3"])
def world(request):
    if request.param == "s3" and not request.config.getoption("--long"):
        pytest.skip("--long")
    couriers.clear()
    w = World(Store() if request.param == "s3" else None)
    yield w
    w.stop()


@pytest.fixture
def long(request):
    return request.config.getoption("--long")


# ---- at each step of the store ----

def fresh_bytes(world, n):
    """n times bytes whose object needs a folder that is not there yet, each another one."""
    there, fresh = world.folders(), []
    while len(fresh) < n:
        data = os.urandom(3000)
        if sha256(data)[:2] not in there:
            there.add(sha256(data)[:2])
            fresh.append(data)
    return fresh


def dies(world, method, path, **more):
    """Sends a request whose worker kills itself at the failure point."""
    with pytest.raises(requests.ConnectionError):
        answer = requests.request(method, world.server.base + path, timeout=WAIT, **more)
        pytest.fail(f"{method} {path} was answered: {answer.status_code} {answer.text[:300]}")


@pytest.mark.parametrize("point", ["blob.begun", "blob.written", "blob.synced", "blob.part_made", "blob.renamed", "blob.placed"])
def test_killed_at_each_step_of_storing(world, point):
    if world.store and point in ("blob.part_made", "blob.renamed"):
        pytest.skip("a step of folders")
    c = Courier(world, point)
    done, waiting, renewed = c.create(b"of old", visibility="public"), c.create(visibility="public"), c.create(b"of old, too", visibility="private")
    c.renew(renewed)
    new, brought, version, other = fresh_bytes(world, 4)
    world.restart(env={"WHARF_FAULT": point})
    keyed = lambda n: {"SVC-API-KEY": world.key, "Idempotency-Key": f"{c.name}-{n}"}
    create = {"name": f"{c.name} {c.n}", "filename": "a.bin", "visibility": "public", "content": b64(new)}
    dies(world, "POST", DOCUMENTS, json=create, headers=keyed(c.n + 1))
    dies(world, "PUT", waiting.row["upload_url"], data=brought, headers=waiting.row["upload_headers"])
    dies(world, "POST", f"{DOCUMENTS}/{done.id}", json={"content": b64(version)}, headers=keyed(c.n + 2))
    dies(world, "PUT", renewed.row["upload_url"], data=other, headers=renewed.row["upload_headers"])
    for d in c.documents:  # what was acknowledged before stands; the rest did not happen
        c.look_at(d)
    world.restart()
    for d in c.documents:
        c.look_at(d)
    c.create(new, visibility="public")  # the same requests, with the same keys
    c.store(done, version)
    c.bring(waiting, brought)
    c.bring(renewed, other)
    compare_all(world, c)


def test_killed_while_it_erases(world):
    """The collection dies between the row and the object: the next one goes on."""
    c = Courier(world, "erased")
    d, data = c.create(b"kept by nobody", visibility="private"), b"kept by nobody"
    c.remove(d, purge=True)
    done = subprocess.run([PROGRAM, "files", "collect", "--data", world.server.folder, *world.server.settings()], env={**os.environ, "WHARF_FAULT": "file.erase"}, capture_output=True)
    assert done.returncode in (-9, 137), done
    assert sha256(data) in world.objects()
    compare_all(world, c)


def compare_all(world, *more):
    couriers.extend(c for c in more if c not in couriers)
    return compare(world, couriers)


# ---- between the bytes and the row ----

WAITS = ("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = 'wharf' AND pid <> pg_backend_pid()"
         " AND query !~* 'pg_advisory'")
OF_ROW = "SELECT 1 FROM documents.document WHERE id = %s FOR UPDATE"


@pytest.mark.parametrize("victim", ["web", "postgres", "server"])
@pytest.mark.parametrize("step", ["create", "announce", "bring", "content", "private", "public", "delete", "purge"])
def test_killed_before_the_end_of_a_transaction(world, long, step, victim):
    """The request waits for a lock: its bytes are there, its transaction is not over. Then somebody is killed, and the client sends again."""
    if victim == "server" and step not in ("bring", "purge") and not long:
        pytest.skip("--long")
    c = Courier(world, f"{step}-{victim}")
    d = c.create(None if step == "bring" else b"before " + c.name.encode(), visibility="private" if step == "public" else "public")
    data = b"after " + c.name.encode()
    act = {"create": lambda: c.create(data), "announce": lambda: c.create(), "bring": lambda: c.bring(d, data), "content": lambda: c.store(d, data),
           "private": lambda: c.show(d, "private"), "public": lambda: c.show(d, "public"), "delete": lambda: c.remove(d), "purge": lambda: c.remove(d, purge=True)}[step]
    lock = ("LOCK TABLE documents.document IN SHARE MODE",) if step in ("create", "announce") else (OF_ROW, d.id)
    odd = []

    def client():
        try:
            act()
        except Exception as e:  # told below
            odd.append(e)

    thread = threading.Thread(target=client)
    with contextlib.suppress(Exception) if victim != "web" else contextlib.nullcontext(), world.server.held(*lock):
        thread.start()
        until(lambda: odd or world.server.sql(WAITS) != [(0,)])
        world.kill(victim)
    thread.join()
    assert not odd, odd
    assert c.sent_again, "nobody was in the way"
    if step in ("create", "announce"):  # the answer that was given is given again, with the link for the bytes
        row = c.documents[-1].row
        c.n -= 1
        again = c.create(data if step == "create" else None, visibility=row["visibility"]).row
        assert (again["id"], again["upload_url"]) == (row["id"], row["upload_url"])
        c.documents.pop()
        if step == "announce":
            c.bring(c.documents[-1], data)
    compare_all(world, c)


# ---- at any moment ----

def test_storm(world, long):
    stop, r = threading.Event(), random.Random(5)
    rounds = [Round(world, f"round-{i}", stop) for i in range(COURIERS)]
    for t in rounds:
        t.start()
    collecting = threading.Thread(target=collect_again_and_again, args=(world, stop), daemon=True)
    collecting.start()
    begun, kills = time.monotonic(), {"web": 0, "job": 0, "postgres": 0, "server": 0}

    def enough():
        return sum(t.courier.acknowledged for t in rounds) > 10 * COURIERS
    while time.monotonic() - begun < (120 if long and not world.store else 8 if enough() else WAIT) and not any(t.odd for t in rounds):
        victim = r.choice(["web"] * 5 + ["job"] * 2 + ["postgres"] * 2 + ["server"])
        world.kill(victim)
        kills[victim] += 1
        time.sleep(r.uniform(0.2, 1.2))
    stop.set()
    for t in [*rounds, collecting]:
        t.join()
    assert [t.odd for t in rounds if t.odd] == []
    live, gone = compare_all(world, *(t.courier for t in rounds))
    print(f"\ndocuments: {kills} kills, {sum(t.courier.acknowledged for t in rounds)} writes acknowledged, {sum(t.courier.sent_again for t in rounds)} sent again;"
          f" {live} documents live, {gone} gone")
    assert enough()


def collect_again_and_again(world, stop):
    """With a grace of no time: bytes that no row names are erased while others come."""
    while not stop.is_set():
        with contextlib.suppress(RuntimeError, OSError):  # the database is being started
            world.collect()
        time.sleep(0.3)


def test_nothing_is_left_after_a_month(world):
    after_a_month(world, couriers)
