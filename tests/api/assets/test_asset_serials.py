"""Serial numbers and sequences of assets: spec 02 sections 9 and 11 (item 1)."""
import concurrent.futures
import itertools

import pytest

from asset_rows import ASSETS, SEQUENCES, COUNT, asset_item, make, post, refused, serials
from wharf import make_location


@pytest.fixture(scope="module")
def home(client):
    return make_location(client)


@pytest.fixture(scope="module")
def item(client):
    return asset_item(client)


def sequence(client, start, prefix=None):
    return client.post(SEQUENCES, {"prefix": f"S{next(COUNT)}-" if prefix is None else prefix, "sequence": start}, expect=201).data


def test_unique_for_its_item(client, home, item):
    row = make(client, item, home, serial_number=" SN 1 ")
    assert row["serial_number"] == "SN 1"
    body = {"item_id": item["id"], "location_id": home["id"], "serial_number": "sn 1"}
    client.refused("POST", ASSETS, 409, "asset.exists", ["serial_number"], body=body)
    other = make(client, asset_item(client), home, serial_number="SN 1")
    assert other["serial_number"] == "SN 1"
    second = make(client, item, home, serial_number="SN 2")
    refused(client, second, 409, "asset.exists", ["serial_number"], serial_number="SN 1")
    assert post(client, second, serial_number="")["serial_number"] == "SN 2" and post(client, second, serial_number=None)["serial_number"] == "SN 2"


def test_edge_case_1_two_at_one_time(org, home, item):
    clients = [org.client() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i in range(5):
            body = {"item_id": item["id"], "location_id": home["id"], "serial_number": f"RACE-{i}"}
            answers = list(pool.map(lambda c: c.post(ASSETS, body), clients))
            assert sorted(a.status for a in answers) == [201] + [409] * 7
            assert {a.code for a in answers if a.status == 409} == {"asset.exists"}


def test_sequences(client, org):
    prefix = f"P{next(COUNT)}-"
    a = client.post(SEQUENCES, {"prefix": prefix, "sequence": "A01"}, expect=201)
    assert a.data["object"] == "sequence" and a.data["id"].startswith("seq_") and (a.data["prefix"], a.data["sequence"], a.data["counter"]) == (prefix, "A01", "A01")
    b = client.post(SEQUENCES, {"prefix": prefix, "sequence": "A01"}, expect=200)
    assert b.data == a.data and b.message == "Existing sequence returned"
    assert client.post(SEQUENCES, {"prefix": prefix, "sequence": "A02"}, expect=201).data["id"] != a.data["id"]
    assert client.post(SEQUENCES, {"sequence": "X1"}, expect=201).data["prefix"] == ""
    path = f"{SEQUENCES}/{a.data['id']}"
    assert client.get(path).data == a.data and a.data["id"] in client.get(f"{SEQUENCES}?prefix={prefix}").ids
    for body, field in (({"prefix": "x"}, "sequence"), ({"sequence": "a1"}, "sequence"), ({"sequence": ""}, "sequence"), ({"sequence": "1" * 33}, "sequence"), ({"sequence": "A-1"}, "sequence"),
                        ({"prefix": "x" * 33, "sequence": "1"}, "prefix")):
        client.refused("POST", SEQUENCES, 400, "validation.failed", [field], body=body)
    client.refused("POST", path, 405, "method.not_allowed", body={"sequence": "B01"})
    client.refused("DELETE", path, 405, "method.not_allowed")
    org.client(scopes="assets:read").refused("POST", SEQUENCES, 403, "scope_access", ["assets:write"], body={"sequence": "1"})
    assert [c[0] for c in org.changes(a.data["id"])] == ["created"]


def test_sequences_made_at_one_time(org):
    prefix = f"T{next(COUNT)}-"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda c: c.post(SEQUENCES, {"prefix": prefix, "sequence": "1"}), [org.client() for _ in range(8)]))
    assert sorted(a.status for a in answers) == [200] * 7 + [201] and len({a.data["id"] for a in answers}) == 1


@pytest.mark.parametrize("start, numbers", [
    ("8", "8 9 10 11"), ("98", "98 99 100"), ("009", "009 010"), ("Y", "Y Z AA AB"), ("ZZ", "ZZ AAA AAB"), ("A9", "A9 B0"), ("Z9", "Z9 AA0 AA1"), ("9Z", "9Z 10A 10B"), ("0Z", "0Z 1A"),
    ("AZ9", "AZ9 BA0"), ("Z" * 32, "Z" * 32 + " " + "A" * 33)])
def test_the_counter_is_an_odometer(client, home, item, start, numbers):
    s = sequence(client, start)
    made = [make(client, item, home, sequence_id=s["id"]) for _ in numbers.split()]
    assert serials(made) == [s["prefix"] + n for n in numbers.split()]


def step(counter):
    """The rule, in other words: places from the right, each in its own alphabet."""
    out, carry = [], True
    for c in reversed(counter):
        alphabet = "0123456789" if c.isdigit() else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        i = alphabet.index(c) + carry
        carry = i == len(alphabet)
        out.append(alphabet[i % len(alphabet)])
    if carry:
        out.append("1" if counter[0].isdigit() else "A")
    return "".join(reversed(out))


def test_all_short_counters(server):
    signs = "0189AYZ"
    counters = ["".join(c) for n in (1, 2, 3, 4) for c in itertools.product(signs, repeat=n)]
    told = dict(server.sql("SELECT c, assets.counter_after(c) FROM unnest(%s) AS c", counters))
    assert told == {c: step(c) for c in counters}


def test_numbers_that_are_taken_are_left_out(client, home, item):
    s = sequence(client, "01")
    for taken in ("01", "03"):
        make(client, item, home, serial_number=s["prefix"].lower() + taken)
    gone = make(client, item, home, serial_number=s["prefix"] + "04")
    client.delete(f"{ASSETS}/{gone['id']}")
    assert serials(make(client, item, home, sequence_id=s["id"]) for _ in range(2)) == [s["prefix"] + "02", s["prefix"] + "05"]
    assert client.get(f"{SEQUENCES}/{s['id']}").data["counter"] == "06"


def test_serial_number_and_sequence(client, home, item):
    s, where = sequence(client, "1"), {"item_id": item["id"], "location_id": home["id"]}
    client.refused("POST", ASSETS, 400, "validation.failed", ["sequence_id"], body={**where, "serial_number": "X", "sequence_id": s["id"]})
    client.refused("POST", ASSETS, 400, "validation.failed", ["sequence_id"], body={**where, "serial_number": "X", "sequence_id": s["id"], "options": {"is_prefix": False}})
    client.refused("POST", ASSETS, 400, "validation.failed", ["sequence_id"], body={**where, "serial_number": "X", "options": {"is_prefix": True}})
    client.refused("POST", ASSETS, 400, "validation.failed", ["sequence_id"], body={**where, "sequence_id": "seq_0000000000000000000000"})
    client.refused("POST", ASSETS, 400, "validation.failed", ["serial_number"], body={**where, "serial_number": "é" * 128, "sequence_id": s["id"], "options": {"is_prefix": True}})
    assert client.get(f"{SEQUENCES}/{s['id']}").data["counter"] == "1"
    row = make(client, item, home, serial_number="OWN-", sequence_id=s["id"], options={"is_prefix": True})
    assert row["serial_number"] == "OWN-1" and make(client, item, home, serial_number="é" * 127, sequence_id=s["id"], options={"is_prefix": True})["serial_number"] == "é" * 127 + "2"
    assert post(client, row, sequence_id=s["id"])["serial_number"] == s["prefix"] + "3"


def test_neither_is_sent(fresh):
    client = fresh.client()
    item, home = asset_item(client), make_location(client)
    rows = [make(client, item, home), make(client, asset_item(client), home), make(client, item, home, serial_number=None), make(client, item, home, serial_number="")]
    assert serials(rows) == [f"AST-{i:06}" for i in range(1, 5)]
    assert [(s["prefix"], s["sequence"], s["counter"]) for s in client.get(SEQUENCES).data] == [("AST-", "000001", "000005")]


def test_concurrent_creates_never_repeat_a_number(fresh):
    client = fresh.client()
    items, home = [asset_item(client) for _ in range(3)], make_location(client)
    s = sequence(client, "97")
    jobs = [(items[i % 3], {} if i % 2 else {"sequence_id": s["id"]}) for i in range(60)]
    clients = [fresh.client() for _ in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda j: make(clients[j[0] % 6], j[1][0], home, **j[1][1])["serial_number"], enumerate(jobs)))
    assert len(set(made)) == 60
    assert {n for n in made if n.startswith("AST-")} == {f"AST-{i:06}" for i in range(1, 31)}
    assert {n for n in made if n.startswith(s["prefix"])} == {f"{s['prefix']}{i}" for i in range(97, 127)}
