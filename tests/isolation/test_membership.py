"""Containers, codes and numbers under parallel clients (spec 02 sections 8 and 11)."""
import random

from test_access import at_once
from wharf import make_location

CONTAINERS, SHIPMENTS = "/v1/containers", "/v1/shipments"


def ships(client, n):
    return [client.post(SHIPMENTS, {"tracking_number": f"C{random.random()}"[:20]}, expect=201).data["id"] for _ in range(n)]


def test_edge_case_1_one_number_one_code(fresh):
    clients = [fresh.client() for _ in range(8)]
    for path, body in ((CONTAINERS, {"tracking_number": "SAME-1"}), ("/v1/reason-codes", {"code": "DUP", "name": "x", "resources": ["item"]}),
                       ("/v1/locations", {"name": "x", "code": "ONE", "address": "1 Main St, Springfield, IL 62701"}), ("/v1/groups", {"name": "Same", "resource": "contact"}),
                       (f"/v1/locations/{make_location(clients[0])['id']}/layouts", {"name": "x", "code": "ONE"})):
        answers = at_once(*[lambda c=c: c.request("POST", path, body=body).status for c in clients])
        assert sorted(answers) == [201] + [409] * 7, path


def test_a_shipment_gets_into_one_container(fresh):
    clients = [fresh.client() for _ in range(8)]
    boxes = [clients[0].post(CONTAINERS, {}, expect=201).data["id"] for _ in range(8)]
    ids = ships(clients[0], 3)
    answers = at_once(*[lambda c=c, b=b, i=i: c.request("POST", f"{CONTAINERS}/{b}", body={"add": ids if i % 2 else ids[::-1]}).status for i, (c, b) in enumerate(zip(clients, boxes))])
    assert sorted(answers) == [200] + [409] * 7
    inside = [clients[0].get(f"{CONTAINERS}/{b}").data["shipments_count"] for b in boxes]
    assert sorted(inside) == [0] * 7 + [3]
    for i in ids:
        assert [u["status"] for u in clients[0].get(f"{SHIPMENTS}/{i}").data["tracking_updates"]] == ["created", "added_to_container"]


def test_containers_trackers_and_shipments_at_once(fresh):
    """Two containers whose shipments share trackers are updated while the shipments and trackers are: nothing hangs, nothing answers 5xx."""
    client = fresh.client()
    a, b = ships(client, 4), ships(client, 4)
    for x, y in zip(a, b):
        t = client.get(f"{SHIPMENTS}/{x}").data["tracker_id"]
        client.post(f"/v1/trackers/{t}", {"chaining": {"add": [y]}, "auto_close_shipments_option": "never"}, expect=200)
    boxes = [client.post(CONTAINERS, {"add": ids}, expect=201).data["id"] for ids in (a, b[::-1])]
    clients = [fresh.client() for _ in range(9)]

    def work(i):
        seen = []
        for k in range(6):
            c = clients[i]
            if i % 3 == 0:
                seen.append(c.request("POST", f"{CONTAINERS}/{boxes[k % 2]}", body={"tracking_update": {"status": ["in_transit", "delayed"][k % 2], "comment": f"{i}.{k}"}}).status)
            elif i % 3 == 1:
                seen.append(c.request("POST", f"{SHIPMENTS}/{(a + b)[(i + k) % 8]}", body={"tracking_update": {"comment": f"{i}.{k}"}}).status)
            else:
                t = c.get(f"{SHIPMENTS}/{a[(i + k) % 4]}").data["tracker_id"]
                seen.append(c.request("POST", f"/v1/trackers/{t}", body={"tracking_update": {"comment": f"{i}.{k}"}}).status)
        return seen
    assert {s for r in at_once(*[lambda i=i: work(i) for i in range(9)]) for s in r} == {200}
    for i in a + b:
        comments = [u["comment"] for u in client.get(f"{SHIPMENTS}/{i}/tracking-updates?limit=all").data]
        assert len(comments) == len(set(comments) - {None}) + comments.count(None)
