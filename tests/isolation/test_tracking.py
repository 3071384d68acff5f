"""Updates of one tracker, its legs and its chain under parallel clients (spec 03 sections 4, 5 and 14)."""
import random
import threading
import time

from test_access import at_once

SHIPMENTS, TRACKERS = "/v1/shipments", "/v1/trackers"


def track(client, n):
    return client.post(TRACKERS, {"tracking_number": f"PAR{n}X{random.random()}"[:30]}, expect=201).data


def deadlocks(server):
    return (server.folder / "postgresql.log").read_text(errors="replace").count("deadlock detected")


def test_32_clients_write_one_tracker(fresh, server):
    """One event per change, the history in its order, no deadlock; half go by the tracker, half by its leg."""
    before = deadlocks(server)
    clients = [fresh.client() for _ in range(32)]
    row = track(clients[0], 1)
    leg, now = row["shipments"][0]["id"], int(time.time()) + 100
    each = 6

    def write(i):
        statuses = []
        for k in range(each):
            path = f"{TRACKERS}/{row['id']}" if i % 2 else f"{SHIPMENTS}/{leg}"
            body = {"tracking_update": {"status": "in_transit", "comment": f"{i}.{k}", "occurred_at": now + i * each + k}}
            statuses.append(clients[i].request("POST", path, body=body).status)
        return statuses
    results = at_once(*[lambda i=i: write(i) for i in range(32)])
    assert [s for r in results for s in r] == [200] * 32 * each
    lines = clients[0].get(f"{SHIPMENTS}/{leg}/tracking-updates?limit=all").data
    assert [u["comment"] for u in lines[1:]] == [f"{i}.{k}" for i in range(32) for k in range(each)]
    assert len([e for e in fresh.events(leg) if e[0] == "shipment.updated"]) == 32 * each
    assert len([e for e in fresh.events(row["id"]) if e[0] == "tracker.updated"]) == 32 * each
    assert deadlocks(server) == before


def test_32_clients_write_one_shipment(fresh, server):
    """Updates of its history, of its fields and comments: each is told once, none is lost or overwritten by another."""
    clients, before = [fresh.client() for _ in range(32)], deadlocks(server)
    row = clients[0].post(SHIPMENTS, {"tracking_number": "ONE-SHIPMENT"}, expect=201).data
    path, now, each = f"{SHIPMENTS}/{row['id']}", int(time.time()) + 100, 6

    def write(i):
        bodies = [{"tracking_update": {"status": "in_transit", "comment": f"{i}.{k}", "occurred_at": now + i * each + k}} if k % 3 == 0 else
                  {"metadata": {f"k{i % 16}": f"{i}.{k}"}} if k % 3 == 1 else {"log": {"message": f"{i}.{k}", "visibility": "public"}} for k in range(each)]
        return [clients[i].request("POST", path, body=body).status for body in bodies]
    assert [s for r in at_once(*[lambda i=i: write(i) for i in range(32)]) for s in r] == [200] * 32 * each
    after = clients[0].get(path).data
    assert {(k, int(v.split(".")[0]) % 16) for k, v in after["metadata"].items()} == {(f"k{i}", i) for i in range(16)}, "no merge was lost"
    lines = clients[0].get(path + "/tracking-updates?limit=all").data
    assert [u["comment"] for u in lines[1:]] == [f"{i}.{k}" for i in range(32) for k in range(0, each, 3)]
    assert len([e for e in fresh.events(row["id"]) if e[0] == "shipment.updated"]) == 32 * each
    said = clients[0].get(f"{TRACKERS}/{after['tracker_id']}/logs?logs_visibility=public&limit=all").data
    assert sorted(x["message"] for x in said if x["action"] == "comment") == sorted(f"{i}.{k}" for i in range(32) for k in range(2, each, 3))
    assert len([x for x in said if x["action"] == "status_changed"]) == 1 and deadlocks(server) == before


def test_the_same_update_from_32_clients(fresh):
    clients = [fresh.client() for _ in range(32)]
    row = track(clients[0], 2)
    body = {"tracking_update": {"status": "delivered", "occurred_at": int(time.time()) + 60}}
    assert at_once(*[lambda c=c: c.request("POST", f"{TRACKERS}/{row['id']}", body=body).status for c in clients]) == [200] * 32
    kinds = [e[0] for e in fresh.events(row["shipments"][0]["id"])]
    assert sorted(kinds) == ["shipment.created", "shipment.delivered", "shipment.updated"]


def test_one_number_from_many_clients(fresh):
    clients = [fresh.client() for _ in range(12)]
    answers = at_once(*[lambda i=i, c=c: c.request("POST", SHIPMENTS if i % 2 else TRACKERS, body={"tracking_number": "1Z58F2A70378657975"}).status for i, c in enumerate(clients)])
    assert set(answers) <= {200, 201}
    assert len(clients[0].get(SHIPMENTS).data) == 1 and len(clients[0].get(TRACKERS).data) == 1


def test_chains_that_grow_while_their_legs_move(fresh):
    """Legs are moved between two trackers while they are updated: each leg is always in exactly one chain, and nothing hangs."""
    client = fresh.client()
    a, b = track(client, 3), track(client, 4)
    legs = [client.post(SHIPMENTS, {"tracking_number": f"LEG{i}X{random.random()}"[:30]}, expect=201).data["id"] for i in range(6)]
    clients = [fresh.client() for _ in range(8)]

    def shuffle(i):
        for k in range(12):
            leg, into = legs[(i + k) % 6], (a if (i + k) % 2 else b)
            clients[i].request("POST", f"{TRACKERS}/{into['id']}", body={"chaining": {"add": [leg]}} if k % 3 else {"chaining": {"remove": [leg]}})
            s = clients[i].request("POST", f"{SHIPMENTS}/{leg}", body={"tracking_update": {"status": "in_transit", "comment": f"{i}.{k}"}}).status
            assert s in (200, 409), s
    at_once(*[lambda i=i: shuffle(i) for i in range(8)])
    for leg in legs:
        tracker = client.get(f"{SHIPMENTS}/{leg}").data["tracker_id"]
        holders = [t["id"] for t in client.get(TRACKERS + "?limit=all").data if leg in [s["id"] for s in t["shipments"]]]
        assert holders == [tracker], leg


def test_children_and_parents_at_once(fresh):
    clients = [fresh.client() for _ in range(8)]
    parent = clients[0].post(SHIPMENTS, {"tracking_number": "PARENT1"}, expect=201).data["id"]
    children = [clients[0].post(SHIPMENTS, {"tracking_number": f"CHILD{i}"}, expect=201).data["id"] for i in range(8)]
    assert at_once(*[lambda c=c, k=k: c.request("POST", f"{SHIPMENTS}/{k}", body={"parent_id": parent}).status for c, k in zip(clients, children)]) == [200] * 8
    assert clients[0].get(f"{SHIPMENTS}/{parent}").data["children_count"] == 8
    assert set(threading.enumerate()) and at_once(*[lambda c=c, k=k: c.request("DELETE", f"{SHIPMENTS}/{k}").status for c, k in zip(clients, children)]) == [200] * 8
    assert clients[0].get(f"{SHIPMENTS}/{parent}").data["is_parent"] is False
