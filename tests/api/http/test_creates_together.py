"""Creates that wait together are written by one statement (docs/decisions 89): each still gets its own answer, its log line and its event."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from wharf import BUILD, Server, make_location

N = 720


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,logs,events,reasons,{BUILD}/tests/plugins/bench.so", "--set", "workers=1")
    yield s
    s.stop()


def test_each_create_gets_its_own_answer(server):
    owners = [server.organization(), server.organization()]
    clients = [o.client() for o in owners]
    places = [make_location(c)["id"] for c in clients]

    def body(i):
        name = {"name": f'n{i} "{{\\}}, NULL'}
        crate = {**name, "metadata": {"i": str(i), "k": '{"a":[1,2]}'}, "weight": i / 4}
        code = {**name, "resources": ["item"]}
        return (("/v1/crates", {**crate, "location_id": places[i % 7 == 0]}), ("/v1/crates", {**crate, "location_id": places[0]}), ("/v1/crates", {**crate, "location_id": "loc_0000000000000000000000"}),
                ("/v1/reason-codes", {**code, "code": f"C{i}"}), ("/v1/reason-codes", {**code, "code": "TAKEN"}), ("/v1/reason-codes", {**code, "code": f"TWICE{i // 12}"}))[i % 6]

    def send(i):
        path, what = body(i)
        return i, clients[i % 7 == 0].request("POST", path, body=what)

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(send, range(N)))
    codes = {}
    for i, a in answers:
        owner, (path, sent) = owners[i % 7 == 0], body(i)
        if i % 6 > 3:
            codes.setdefault((owner.id, sent["code"]), []).append(a.status)
        else:
            assert a.status == ((201, 201 if i % 7 else 400, 400, 201)[i % 6]), (i, str(a))
        if a.status == 201:
            row = a.data
            assert all(row[k] == v for k, v in sent.items()), (sent, row)
            assert [e[0] for e in owner.events(row["id"])] == [{"crate": "bench.crate.created"}.get(row["object"], "reason_code.created")] and len(owner.changes(row["id"])) == 1
    for key, told in codes.items():
        assert sorted(told) == [201] + [409] * (len(told) - 1), key
    for k, owner in enumerate(owners):
        good = [a.data["id"] for i, a in answers if a.status == 201 and (i % 7 == 0) == k]
        stored = server.sql("SELECT id FROM bench.crate WHERE organization_id = %s UNION ALL SELECT id FROM reasons.reason_code WHERE organization_id = %s", owner.id, owner.id)
        assert sorted(good) == sorted(r[0] for r in stored)
        assert len(owner.told("id", "resource_type IN ('crate', 'reason_code')")) == len(good)
