"""The same random items as single requests and as batches come out the same (decisions 25): rows, change log, events, problems."""
import random

import pytest

from test_batches import BATCHES, run
from test_batches_background import later
from test_writes_of_many import Run, random_contact, singly
from wharf import make_location


@pytest.mark.parametrize("seed, mode", [(11, "sync"), (12, "async")])
def test_contacts_one_by_one_and_by_batch(server, fresh, seed, mode):
    admin, r = fresh.client(), random.Random(seed)
    places = [make_location(admin, n)["id"] for n in ("A", "B")]
    groups = [admin.post("/v1/groups", {"name": n, "resource": k}, expect=201).data["id"] for n, k in (("Crew", "contact"), ("Drivers", "contact"), ("Sites", "location"))]
    bodies = [random_contact(r, i, groups, places) for i in range(120)]
    for i, body in enumerate(bodies):  # keys that a batch does not take twice
        for key in ("email", "phone"):
            if isinstance(body.get(key), str):
                body.pop(key)
        body["email"] = f"one{i}@b.example"
    found = []
    for way in ("one", "batch"):
        if way == "one":
            told = singly(admin, "/v1/contacts", bodies)
        else:
            b = run(admin, bodies) if mode == "sync" else later(admin, bodies)
            items = admin.get(f"{BATCHES}/{b['id']}/items?limit=1000").data
            told = [(i["result_id"], i["code"], i["errors"]) for i in items]
        left = Run(fresh, "contacts.contact", [t[0] for t in told])
        marked, none = f'"{b["id"]}"' if way == "batch" else "null", "null"
        rows = sorted(left.rows())
        lines, events = (sorted(x.replace(marked, none) for x in some) for some in (left.lines(), left.events()))
        assert way == "one" or all(marked in x for x in left.lines() + left.events())  # the batch is named everywhere
        assert len(left.ids) > 20
        for id in [t[0] for t in told if t[0]]:
            admin.delete(f"/v1/contacts/{id}")
        found.append(([t[1:] for t in told], rows, lines, events))
    for one, other in zip(*found):
        assert one == other
