"""Keys, owners and limits under parallel clients (spec 01 sections 5 and 6)."""
import threading
import time

import pytest
import requests

from wharf import WAIT, Client

KEYS = "/v1/api-keys"


def at_once(*calls):
    """Runs the calls on threads that begin together; their results in order."""
    barrier, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(i, call):
        barrier.wait()
        results[i] = call()
    threads = [threading.Thread(target=run, args=(i, c)) for i, c in enumerate(calls)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


@pytest.mark.parametrize("change", ["revoke", "disable", "role", "scopes", "rotate"])
def test_no_200_a_second_after(fresh, server, change):
    """Under load from many connections, what took effect keeps its effect: nobody is let in on what was cached before."""
    admin = fresh.client()
    user = admin.post("/v1/users", {"name": "u", "email": "u@example.com"}, expect=201).data["id"]
    role = admin.post("/v1/roles", {"name": "r", "scopes": {"users": 1}}, expect=201).data["id"]
    admin.post("/v1/users/" + user, {"role": role}, expect=200)
    row = admin.post(KEYS, {"scopes": {"users": 1}, "user_id": user}, expect=201).data
    until, lists = [time.monotonic() + WAIT], []
    path = "/v1/users" if change in ("role", "scopes") else "/v1/auth"

    def ask():
        seen = []
        while time.monotonic() < until[0]:
            with requests.Session() as http:
                for _ in range(10):
                    at = time.monotonic()
                    seen.append((at, http.get(server.base + path, headers={"SVC-API-KEY": row["api_key"]}, timeout=WAIT).status_code))
        lists.append(seen)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    time.sleep(1)
    if change == "revoke":
        admin.delete(f"{KEYS}/{row['id']}")
    elif change == "disable":
        admin.post("/v1/users/" + user, {"status": "disabled"}, expect=200)
    elif change == "role":
        admin.post("/v1/roles/" + role, {"scopes": {"users": 0}}, expect=200)
    elif change == "scopes":
        admin.post(f"{KEYS}/{row['id']}", {"scopes": {"users": 0}}, expect=200)
    else:
        admin.post(f"{KEYS}/{row['id']}/rotate", {"overlap_seconds": 0}, expect=201)
    done = time.monotonic()
    until[0] = done + 3
    for t in threads:
        t.join()
    seen = sorted(x for part in lists for x in part)
    refused = 403 if change in ("role", "scopes") else 401
    before = {status for at, status in seen if at < done - 0.9}
    after = [status for at, status in seen if at > done + 1]
    assert before == {200} and len(after) > 50
    assert set(after) == {refused}


def test_two_owners_cannot_both_leave(fresh, server):
    for i in range(5):
        org = server.organization()
        one, two = (org.user(role="owner") for _ in range(2))
        clients = [org.client(user=one), org.client(user=two)]
        how = [lambda c, u: c.request("POST", "/v1/users/" + u, body={"role": "admin"}), lambda c, u: c.request("DELETE", "/v1/users/" + u),
               lambda c, u: c.request("POST", "/v1/users/" + u, body={"status": "disabled"})][i % 3]
        answers = at_once(lambda: how(clients[0], one), lambda: how(clients[1], two))
        assert sorted(a.status for a in answers) == [200, 409], answers
        assert next(a for a in answers if a.status == 409).code == "user.last_owner"
        assert server.sql("SELECT count(*) FROM wharf.user WHERE organization_id = %s AND role = 'owner' AND status = 'active'"
                          " AND deleted_at IS NULL", org.id) == [(1,)]


def test_the_thousandth_key_is_made_once(fresh, server):
    admin = fresh.client()
    server.sql("INSERT INTO wharf.api_key (organization_id, id, last4, created_at, updated_at)"
               " SELECT %s, 'key_' || lpad(n::text, 22, '0'), 'xxxx', now(), now() FROM generate_series(1, 998) AS n", fresh.id)
    answers = at_once(*[lambda: Client(server, admin.key).request("POST", KEYS, body={}) for _ in range(6)])
    assert sorted(a.status for a in answers) == [201, 409, 409, 409, 409, 409]
    server.sql("DELETE FROM wharf.api_key WHERE organization_id = %s AND last4 = 'xxxx'", fresh.id)  # they have no hashes


def test_one_twin(fresh, server):
    admin = fresh.client()
    answers = at_once(*[lambda: Client(server, admin.key).post(KEYS, {"mode": "test"}, expect=201).data for _ in range(6)])
    twins = {Client(server, a["api_key"]).get("/v1/auth").data["organization_id"] for a in answers}
    assert len(twins) == 1
    assert server.sql("SELECT id FROM wharf.organization WHERE live_organization_id = %s", fresh.id) == [(twins.pop(),)]


def test_rotating_and_revoking_at_once(fresh, server):
    admin = fresh.client()
    for _ in range(5):
        id = admin.post(KEYS, {}, expect=201).data["id"]
        rotated, revoked = at_once(lambda: Client(server, admin.key).request("POST", f"{KEYS}/{id}/rotate", body={}),
                                   lambda: Client(server, admin.key).request("DELETE", f"{KEYS}/{id}"))
        assert revoked.status == 200 and rotated.status in (201, 409), (rotated, revoked)
        assert admin.get(f"{KEYS}/{id}").data["status"] == "revoked"


def test_two_rotations_give_two_keys_and_one_successor(fresh, server):
    admin = fresh.client()
    id = admin.post(KEYS, {}, expect=201).data["id"]
    answers = at_once(*[lambda: Client(server, admin.key).post(f"{KEYS}/{id}/rotate", {}, expect=201).data["id"] for _ in range(2)])
    assert admin.get(f"{KEYS}/{id}").data["replaced_by"] in answers and len(set(answers)) == 2


def test_email_is_taken_once(fresh, server):
    admin = fresh.client()
    answers = at_once(*[lambda: Client(server, admin.key).request("POST", "/v1/users", body={"name": "x", "email": "x@y.example"}) for _ in range(4)])
    assert sorted(a.status for a in answers) == [201, 409, 409, 409]
