"""Idempotency-Key: spec 01 section 8.1."""
import contextlib
import os
import random
import signal
import threading
import time
import uuid

import pytest
import requests
from wharf import BUILD, STATIONS, WAIT, Client, Server, address, make_location, station_body


def key():
    return {"Idempotency-Key": str(uuid.uuid4())}


def body(name="Once"):
    return {"name": name, "address": address()}


def count(server, org, name):
    return server.sql("SELECT count(*) FROM locations.location WHERE organization_id = %s AND name = %s", org.id, name)[0][0]


def test_replay(server, org, client):
    k = key()
    first = client.post("/v1/locations", body("R-1"), headers=k, expect=201)
    again = client.post("/v1/locations", body("R-1"), headers=k, expect=201)
    assert again.raw.content == first.raw.content and count(server, org, "R-1") == 1
    assert again.headers["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in first.headers
    assert again.headers["Request-Id"] != first.headers["Request-Id"]
    assert again.headers["Location"] == first.headers["Location"]
    where = first.headers["Location"]
    client.post(where, {"name": "R-2"})
    assert client.post("/v1/locations", body("R-1"), headers=k, expect=201).raw.content == first.raw.content  # as it was then


def test_updates_and_deletes(server, org, client):
    where = "/v1/locations/" + make_location(client, "U-1")["id"]
    k = key()
    first = client.post(where, {"name": "U-2"}, headers=k, expect=200)
    client.post(where, {"name": "U-3"})
    assert client.post(where, {"name": "U-2"}, headers=k).raw.content == first.raw.content
    assert client.get(where).data["name"] == "U-3"
    k = key()
    gone = client.delete(where, headers=k)
    assert client.delete(where, headers=k).raw.content == gone.raw.content
    assert client.delete(where, expect=404).code == "not_found"


@pytest.mark.parametrize("other", [lambda c, k: c.post("/v1/locations", body("F-2"), headers=k), lambda c, k: c.post("/v1/locations?x=1", body("F-1"), headers=k),
                                   lambda c, k: c.delete("/v1/locations/loc_0000000000000000000000", headers=k, expect=None)])
def test_another_request(client, other):
    k = key()
    client.post("/v1/locations", body("F-1"), headers=k, expect=201)
    a = other(client, k)
    assert a.status == 422 and a.code == "idempotency.key_reused" and a.errors == []


def test_the_body_counts_decoded(client):
    import gzip
    import json
    k, text = key(), json.dumps(body("G-1")).encode()
    first = client.request("POST", "/v1/locations", data=text, headers={**k, "Content-Type": "application/json"}, expect=201)
    again = client.request("POST", "/v1/locations", data=gzip.compress(text), headers={**k, "Content-Type": "application/json", "Content-Encoding": "gzip"}, expect=201)
    assert again.raw.content == first.raw.content


def test_nothing_is_kept_of_a_failure(client):
    k = key()
    assert client.post("/v1/locations", {"name": ""}, headers=k, expect=400).code == "validation.failed"
    assert client.post("/v1/locations", body("N-1"), headers=k, expect=201).data["name"] == "N-1"


def test_scopes_are_checked_again(org, client):
    k = key()
    client.post("/v1/locations", body("S-1"), headers=k, expect=201)
    assert org.client(scopes="locations:read").post("/v1/locations", body("S-1"), headers=k, expect=403).code == "scope_access"
    assert org.client().post("/v1/locations", body("S-1"), headers=k, expect=201).headers["Idempotent-Replayed"] == "true"  # another key of the organization


def test_organizations_do_not_share(fresh, client):
    k = key()
    a = client.post("/v1/locations", body("O-1"), headers=k, expect=201)
    b = fresh.client().post("/v1/locations", body("O-1"), headers=k, expect=201)
    assert a.data["id"] != b.data["id"] and "Idempotent-Replayed" not in b.headers


@pytest.mark.parametrize("sent, good", [("x", True), ("x" * 255, True), ('"quoted \\" one"', True), ("", False), ("x" * 256, False), ('""', False), ("caf\u00e9", False), ("\u0001", False)])
def test_forms(client, sent, good):
    h = {"Idempotency-Key": sent.encode("latin-1")}
    if good:
        client.post("/v1/locations", body("K " + sent[:5].replace('"', "")), headers=h, expect=201)
    else:
        a = client.post("/v1/locations", body("K-1"), headers=h, expect=400)
        malformed = sent == "\u0001"  # no header holds a control character
        assert (a.code, a.errors) == (("http.malformed", []) if malformed else ("param.invalid", ["Idempotency-Key"]))


def test_quotes_are_taken_off(server, org, client):
    name = str(uuid.uuid4())
    a = client.post("/v1/locations", body("Q-1"), headers={"Idempotency-Key": f'"{name}"'}, expect=201)
    assert client.post("/v1/locations", body("Q-1"), headers={"Idempotency-Key": name}).raw.content == a.raw.content


def test_reads_ignore_it(client):
    k = key()
    assert client.get("/v1/locations", headers=k).status == client.get("/v1/locations?limit=1", headers=k).status == 200
    client.get("/v1/locations", headers={"Idempotency-Key": "x" * 300})


def test_forgotten_after_a_day(server, org, client):
    k = key()
    client.post("/v1/locations", body("D-1"), headers=k, expect=201)
    server.sql("UPDATE wharf.idempotency SET created_at = created_at - interval '24 hours 1 second' WHERE organization_id = %s AND key = %s", org.id, k["Idempotency-Key"])
    assert client.post("/v1/locations", body("D-2"), headers=k, expect=201).data["name"] == "D-2"
    assert client.post("/v1/locations", body("D-2"), headers=k, expect=201).headers["Idempotent-Replayed"] == "true"


def test_rules_see_it_once(server, org, client, location):
    k = key()
    first = client.post(STATIONS, station_body(location["id"], "I-1"), headers=k, expect=201)
    assert client.post(STATIONS, station_body(location["id"], "I-1"), headers=k, expect=201).raw.content == first.raw.content
    where = f"{STATIONS}/{first.data['id']}"
    k = key()
    client.post(where, {"status": "offline"}, headers=k)
    client.post(where, {"status": "offline"}, headers=k)
    told = server.sql("SELECT type, count(*) FROM wharf.event WHERE resource_id = %s GROUP BY type", first.data["id"])
    assert dict(told) == {"print_station.created": 1, "print_station.updated": 1, "print_station.status_changed": 1}


def test_fifty_at_once(server, org, client):
    """One row; everybody else gets the same answer, or is told that it still runs."""
    k, answers, go = key(), [], threading.Barrier(50)

    def send():
        c = Client(server, client.key)
        go.wait()
        answers.append(c.post("/v1/locations", body("P-1"), headers=k))

    threads = [threading.Thread(target=send) for _ in range(50)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    good = [a for a in answers if a.status == 201]
    assert count(server, org, "P-1") == 1 and len({a.raw.content for a in good}) == 1
    assert len([a for a in good if "Idempotent-Replayed" not in a.headers]) == 1
    rest = [a for a in answers if a.status != 201]
    assert all(a.status == 409 and a.code == "idempotency.in_progress" and a.headers["Retry-After"] == "1" for a in rest)


def test_in_progress(server, org, client):
    """While the first one waits for a lock in its transaction."""
    where = "/v1/locations/" + make_location(client, "L-1")["id"]
    k, results = key(), []
    server.db.autocommit = False
    try:
        with server.db.cursor() as c:
            c.execute("SELECT 1 FROM locations.location WHERE id = %s FOR UPDATE", (where[-26:],))
            t = threading.Thread(target=lambda: results.append(Client(server, client.key).post(where, {"name": "L-2"}, headers=k)))
            t.start()
            time.sleep(0.5)
            a = client.post(where, {"name": "L-2"}, headers=k, expect=409)
            assert a.code == "idempotency.in_progress" and a.headers["Retry-After"] == "1" and a.errors == []
    finally:
        server.db.rollback()
        server.db.autocommit = True
    t.join()
    assert results[0].status == 200 and client.post(where, {"name": "L-2"}, headers=k).headers["Idempotent-Replayed"] == "true"


@pytest.fixture(scope="module")
def vaults():
    s = Server("--modules", f"org,locations,{BUILD}/tests/plugins/vault.so,{BUILD}/tests/plugins/bench.so")
    yield s
    s.stop()


def test_secrets_are_shown_once(vaults):
    c = vaults.organization().client()
    v = c.post("/v1/vaults", {"name": "V"}, expect=201).data["id"]
    k = key()
    first = c.post(f"/v1/vaults/{v}/token", headers=k, expect=200)
    again = c.post(f"/v1/vaults/{v}/token", headers=k, expect=200)
    assert first.data["token"].startswith("token_") and again.data == {"id": v, "token": None}
    assert first.data["token"] not in str(vaults.sql("SELECT t::text FROM wharf.idempotency t"))
    # the token of the first answer is the one that is stored
    assert c.get(f"/v1/vaults/{v}").data["hint"].startswith(f"{len(first.data['token'])}:{first.data['token'][-1]}")


def test_plain_creates_too(vaults):
    """Resources without rules are created on the event loop; with a key in a transaction."""
    org = vaults.organization()
    c = org.client()
    place, k = make_location(c)["id"], key()
    a = c.post("/v1/crates", {"name": "C", "location_id": place}, headers=k, expect=201)
    assert c.post("/v1/crates", {"name": "C", "location_id": place}, headers=k, expect=201).raw.content == a.raw.content
    assert len(c.get("/v1/crates").data) == 1


def test_a_kill_leaves_both_or_neither(vaults):
    """The worker is killed around the commit; the client sends again until it is answered."""
    org = vaults.organization()
    secret = org.key()
    c = Client(vaults, secret)
    place = make_location(c)["id"]
    stop = threading.Event()

    kills, answered = [], []

    def killer():
        seen = -1
        while not stop.wait(random.uniform(0.05, 0.25)):
            pids = vaults.workers("web")
            if pids and len(answered) > seen:  # on a slow machine those that come back are not killed before they serve
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(pids), signal.SIGKILL)
                kills.append(pids)
                seen = len(answered)

    t = threading.Thread(target=killer)
    t.start()
    try:
        for i in range(150):
            k = {"SVC-API-KEY": secret, "Idempotency-Key": f"kill-{i}"}
            while True:
                try:
                    r = requests.post(vaults.base + "/v1/crates", json={"name": f"k{i}", "location_id": place}, headers=k, timeout=WAIT)
                except requests.RequestException:
                    continue
                if r.status_code == 201:
                    answered.append(i)
                    break
                assert r.status_code in (409, 503), r.text
    finally:
        stop.set()
        t.join()
    rows = dict(vaults.sql("SELECT name, count(*) FROM bench.crate WHERE organization_id = %s GROUP BY name", org.id))
    assert rows == {f"k{i}": 1 for i in range(150)} and len(kills) >= 3
