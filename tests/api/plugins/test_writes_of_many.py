"""Writes of many rows (plugin-api/wharf/service/many.h): the same rows one by one and as a set come out the same."""
import json
import random
import re

import pytest

from wharf import BUILD, Server, make_location

MANY = "/v1/manybench"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,reasons,contacts,{BUILD}/tests/plugins/manybench.so")
    yield s
    s.stop()


def many(client, action, resource, expect=200, **more):
    return client.post(MANY, {"action": action, "resource": resource, **more}, expect=expect).data


def random_contact(r, i, groups, places):
    """Every second row is good; what is wrong with the others is what rules, references, schema and unique indexes refuse."""
    bad = r.random() < 0.5

    def pick(good, wrong=()):
        return r.choice(good + (wrong if bad else ()))
    body = {"name": pick(("Ann Lee", "Dr. Bob O'Neil", "José Núñez", "山田 太郎", f"Person {i}", "x" * 191, " trimmed "), ("", None, "x" * 192, "a\u0001b"))}
    if bad and r.random() < 0.05:
        del body["name"]
    for key, p, make in (
            ("email", 0.7, lambda: pick((f"a{i}@b.example", "A@B.example", "", None), ("no", 7))),
            ("phone", 0.6, lambda: pick(("201 555 0101", "+44 1632 960001", "", None), ("12",))),
            ("external_id", 0.6, lambda: pick((f"x{i // 2}", "", None), (f"X{i // 2}", "same"))),
            ("id_number", 0.2, lambda: pick(("007",), ("9" * 129,))),
            ("groups", 0.5, lambda: pick(([groups[0]], groups[:2], {"set": groups[:1]}, {"add": groups[1:2]}), ([groups[0], groups[0]], ["grp_0000000000000000000000"], groups, "no"))),
            ("locations", 0.3, lambda: pick(([places[0]], []), (places, [places[1]], ["loc_0000000000000000000000"]))),
            ("address", 0.3, lambda: pick(("1 Dock Road, Newark, NJ 07114", {"line1": "2 Elm St", "city": "Agawam", "country_code": "US"}, "", None), ({"line1": "x", "country_code": "XX"},))),
            ("alternate_addresses", 0.15, lambda: pick(({"home": "3 Elm St, Agawam, MA 01001", "home_line2": "Apt 4"},), ({"work": "1 Dock Road, Newark, NJ 07114"}, "no"))),
            ("alternate_names", 0.2, lambda: pick(({"0": "Annie"}, {"0": "Annie", "3": "A. Lee"}), ({"9": "x"},))),
            ("alternate_emails", 0.1, lambda: pick(({"work": f"w{i}@b.example"}, {"work": "a@b.example"}))),
            ("alternate_phones", 0.2, lambda: pick(({"mobile": "201 555 0199"},), ({"home": "201 555 0101"}, {"home": "x"}))),
            ("nickname", 0.1, lambda: "Nick"), ("type", 0.1, lambda: pick(("person",), ("robot",))), ("is_primary", 0.2, lambda: pick((True, False), ("yes",))),
            ("notes", 0.2, lambda: pick(("Line one\nline two", 'with "quotes" and \\ and {braces}', "NULL", ""))),
            ("metadata", 0.4, lambda: pick(({"color": "red", "n": "1"}, {}, {"k": 5}, {"ключ": "значение"}), ({"a" * 101: "x"},))),
            ("unknown", 0.1, lambda: 1)):
        if r.random() < p:
            body[key] = make()
    return body


class Run:
    """What a way of writing leaves behind, with ids by the rows' numbers and without moments."""

    def __init__(self, org, table, ids):
        self.org, self.ids = org, {id: f"ROW{i}" for i, id in enumerate(ids) if id}
        self.table = table

    def plain(self, value):
        text = json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)
        for id, name in self.ids.items():
            text = text.replace(id, name)
        return TIME.sub("TIME", re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "TIME", text))

    def sql(self, text):
        return [self.plain(row[0]) for row in self.org.server.sql(text, self.org.id, list(self.ids))]

    def rows(self):
        return self.sql(f"SELECT to_jsonb(t) FROM {self.table} t WHERE organization_id = %s AND id = ANY (%s) ORDER BY id")

    def words(self):
        return sorted(self.sql("SELECT to_jsonb(t) FROM contacts.token t WHERE organization_id = %s AND contact_id = ANY (%s)"))

    def lines(self):
        return sorted(self.sql("SELECT to_jsonb(c) - '{id,request_id,event_id,hash,prev_hash}'::text[] FROM wharf.change_log c"
                               " WHERE organization_id = %s AND resource_id = ANY (%s)"))

    def linked(self):
        """Every line names the event of the same row."""
        return self.org.server.sql("SELECT count(*) FROM wharf.change_log c JOIN wharf.event e ON e.organization_id = c.organization_id AND e.id = c.event_id"
                                   " AND e.resource_id = c.resource_id WHERE c.organization_id = %s AND c.resource_id = ANY (%s)", self.org.id, list(self.ids))[0][0]

    def events(self):
        return sorted(self.sql("SELECT jsonb_build_object('type', type, 'data', data, 'previous', previous_attributes, 'location', location_id, 'actor',"
                               " ARRAY[actor_type, actor_id, actor_name], 'flags', ARRAY[disable_webhooks, data_truncated], 'depth', depth, 'kept',"
                               " (expires_at - created_at)::text, 'batch', batch_id) FROM wharf.event WHERE organization_id = %s AND resource_id = ANY (%s)"))

    def everything(self):
        return {"rows": sorted(self.rows()), "lines": self.lines(), "events": self.events(), "linked": self.linked()}


def learned(org):
    """What an organization knows beside its rows: addresses and words."""
    return {"addresses": org.server.sql("SELECT address FROM locations.address WHERE organization_id = %s ORDER BY id", org.id),
            "book": org.server.sql("SELECT token, deletions FROM contacts.word WHERE organization_id = %s ORDER BY token", org.id)}


def singly(client, path, bodies):
    """[(id, code, paths)] of single requests."""
    out = []
    for body in bodies:
        r = client.post(path, body)
        out.append((r.data["id"], None, []) if r.status == 201 else (None, r.code, r.errors))
    return out


def as_set(client, resource, bodies, size=1000):
    out = []
    for at in range(0, len(bodies), size):
        for row in many(client, "create", resource, bodies=bodies[at:at + size])["rows"]:
            problems = row["problems"]
            assert (row["outcome"] == "written") == (not problems) == (row["id"] is not None)
            out.append((row["id"], problems[0]["code"] if problems else None, [p["path"] for p in problems]))
    return out


@pytest.mark.parametrize("seed, size, limited", [(1, 150, False), (2, 40, False), (3, 7, False), (4, 150, True)])
def test_contacts_come_out_the_same(server, fresh, seed, size, limited):
    admin, r = fresh.client(), random.Random(seed)
    places = [make_location(admin, n)["id"] for n in ("A", "B")]
    groups = [admin.post("/v1/groups", {"name": n, "resource": k}, expect=201).data["id"] for n, k in (("Crew", "contact"), ("Drivers", "contact"), ("Sites", "location"))]
    client = fresh.client(locations=places[:1]) if limited else admin
    bodies = [random_contact(r, i, groups, places) for i in range(150)]
    found = []
    for way in ("one", "set"):
        server.sql("DELETE FROM locations.address WHERE organization_id = %s", fresh.id)
        server.sql("DELETE FROM contacts.word WHERE organization_id = %s", fresh.id)
        told = singly(client, "/v1/contacts", bodies) if way == "one" else as_set(client, "contact", bodies, size)
        run = Run(fresh, "contacts.contact", [t[0] for t in told])
        assert len(run.ids) > 20
        left = run.everything() | {"words": run.words(), **learned(fresh), "groups": [run.plain(g) for g in server.sql(
            "SELECT name, members, children FROM contacts.contact_group WHERE organization_id = %s ORDER BY name", fresh.id)]}
        for id in [t[0] for t in told if t[0]] if way == "one" else []:
            admin.delete(f"/v1/contacts/{id}")
        if way == "set":
            assert many(admin, "remove", "contact", ids=[t[0] for t in told if t[0]])["refused"] == 0
        found.append(({"told": [t[1:] for t in told]}, left, {"after": run.everything(), "words": run.words(), "groups": server.sql(
            "SELECT name, members, children FROM contacts.contact_group WHERE organization_id = %s ORDER BY name", fresh.id)}))
    one, other = found
    assert one[0]["told"] == other[0]["told"]
    for a, b in ((one[1], other[1]), (one[2], other[2])):
        for key in a:
            assert a[key] == b[key], key
    assert {t[0] for t in one[0]["told"]} >= {None, "validation.failed"}


def test_an_address_of_another_row(fresh):
    """Row by row the second one finds what the first has brought along."""
    client = fresh.client()
    address = "9 Elm St, Agawam, MA 01001, US"
    id = client.post("/v1/contacts", {"name": "A", "address": address}, expect=201).data["address"]["id"]
    fresh.server.sql("DELETE FROM locations.address WHERE organization_id = %s", fresh.id)
    told = as_set(client, "contact", [{"name": "B", "address": address}, {"name": "C", "address": id}, {"name": "D", "address": "addr_0000000000000000000000"}])
    assert [t[1] for t in told] == [None, None, "validation.failed"] and told[2][2] == ["address"]


def test_rows_without_rules(server, fresh):
    """A resource with nothing but a definition: unique among themselves and with what is there."""
    client = fresh.client()
    bodies = [{"code": f"C{i % 7}" if i % 3 else f"D{i}", "name": f"Reason {i}", "resources": ["asset"]} for i in range(40)] + [{"name": "no code"}]
    told = as_set(client, "reason_code", bodies)
    stored = server.sql("SELECT count(*) FROM reasons.reason_code WHERE organization_id = %s AND deleted_at IS NULL", fresh.id)[0][0]
    assert stored == sum(1 for t in told if t[0]) > 10 and any(t[1] == "reason_code.exists" for t in told)
    assert [t[1] for t in as_set(client, "reason_code", bodies)] == [("reason_code.exists" if t[1] is None else t[1]) for t in told]


@pytest.mark.parametrize("n", [5, 120])
@pytest.mark.parametrize("loud", [0, 1, 3])
def test_a_rule_that_writes_its_rows_again(fresh, n, loud):
    """Events and answers show the rows as the rule left them, whether none of them, one or some were written again."""
    client = fresh.client()
    told = as_set(client, "stamp", [{"name": f"{'loud' if i % 2 and i // 2 < loud else 'soft'} {i}"} for i in range(n)])
    names = {t[0]: f"LOUD {i}" if i % 2 and i // 2 < loud else f"soft {i}" for i, t in enumerate(told)}
    assert None not in names and len(names) == n and sum(name.startswith("LOUD") for name in names.values()) == min(loud, n // 2)
    assert dict(fresh.server.sql("SELECT id, name FROM manybench.stamp WHERE organization_id = %s", fresh.id)) == names
    assert dict(fresh.server.sql("SELECT resource_id, data ->> 'name' FROM wharf.event WHERE organization_id = %s AND resource_type = 'stamp'", fresh.id)) == names


def test_rows_of_one_moment_keep_their_order(fresh):
    told = as_set(fresh.client(), "stamp", [{"name": f"s{i}"} for i in range(120)])
    ids = [t[0] for t in told]
    assert ids == sorted(ids)
    for sql in ("SELECT resource_id FROM wharf.event WHERE organization_id = %s AND resource_type = 'stamp' ORDER BY created_at, id",
                "SELECT resource_id FROM wharf.change_log WHERE organization_id = %s AND resource = 'stamp' ORDER BY created_at, id"):
        assert [row[0] for row in fresh.server.sql(sql, fresh.id)] == ids


def test_rules_that_know_no_sets(fresh):
    """Locations have rules row by row only: slower, and nothing more."""
    client = fresh.client()
    address = {"line1": "1 Main St", "city": "Springfield", "country_code": "US"}
    bodies = [{"name": f"L{i}", "code": f"K{i // 2}", "address": address} for i in range(6)]
    assert [t[1] for t in as_set(client, "location", bodies)] == [None, "location.exists"] * 3
    assert len(client.get("/v1/locations").data) == 3


def test_all_or_nothing(server, fresh):
    client = fresh.client()
    for bodies in ([{"name": "A"}, {"name": ""}, {"name": "B"}], [{"name": "A", "external_id": "1"}, {"name": "B", "external_id": "1"}, {"name": "C"}]):
        answer = many(client, "create", "contact", bodies=bodies, all=True)
        assert answer["refused"] == 1 and {r["outcome"] for r in answer["rows"]} == {"refused", "taken_back"} and not any(r["id"] for r in answer["rows"])
        assert client.get("/v1/contacts").data == []
    assert server.sql("SELECT count(*) FROM wharf.event WHERE organization_id = %s AND resource_type = 'contact'", fresh.id) == [(0,)]
    assert server.sql("SELECT count(*) FROM contacts.token WHERE organization_id = %s", fresh.id) == [(0,)]
    answer = many(client, "create", "contact", bodies=[{"name": "A"}, {"name": "B"}], all=True)
    assert answer["refused"] == 0 and [r["outcome"] for r in answer["rows"]] == ["written"] * 2


def test_updates(fresh):
    client = fresh.client()
    ids = [r["id"] for r in many(client, "create", "contact", bodies=[{"name": n} for n in "ABC"])["rows"]]
    answer = many(client, "update", "contact", ids=ids + ["ctct_0000000000000000000000"], bodies=[{"name": "A2"}, {"name": "B"}, {"name": ""}, {"name": "D"}])
    assert [r["outcome"] for r in answer["rows"]] == ["written", "unchanged", "refused", "refused"]
    assert [r["problems"][0]["code"] if r["problems"] else None for r in answer["rows"]] == [None, None, "validation.failed", "not_found"]
    assert sorted(c["name"] for c in client.get("/v1/contacts").data) == ["A2", "B", "C"]
    assert [c[0] for c in fresh.changes(ids[1])] == ["created"]


def test_removes(fresh):
    client = fresh.client()
    ids = [r["id"] for r in many(client, "create", "contact", bodies=[{"name": n} for n in "ABCD"])["rows"]]
    answer = many(client, "remove", "contact", ids=[ids[0], "ctct_0000000000000000000000", ids[1], ids[0]])
    assert [r["outcome"] for r in answer["rows"]] == ["written", "refused", "written", "refused"]
    assert [c["name"] for c in client.get("/v1/contacts").data] == ["C", "D"]


def test_a_group_that_is_full_in_the_middle(server, fresh):
    """Which of the rows are too many is known row by row only."""
    client = fresh.client()
    g = client.post("/v1/groups", {"name": "Nearly", "resource": "contact"}, expect=201).data["id"]
    server.sql("""UPDATE contacts.contact_group SET children = x.c, members = jsonb_build_object('children', x.c, 'primary', '[]'::jsonb) FROM (SELECT jsonb_agg('ctct_' || lpad(i::text, 22, '0')) AS c
                  FROM generate_series(1, 9998) i) x WHERE organization_id = %s AND id = %s""", fresh.id, g)
    told = as_set(client, "contact", [{"name": "A", "groups": [g]}, {"name": "", "groups": [g]}, {"name": "B", "groups": [g]}, {"name": "C", "groups": [g]}, {"name": "D"}])
    assert [t[2] for t in told] == [[], ["name"], [], ["groups"], []]
    client.delete(f"/v1/groups/{g}", expect=200)


def test_a_set_of_one_and_of_none(fresh):
    client = fresh.client()
    assert many(client, "create", "contact", bodies=[])["rows"] == []
    assert [r["outcome"] for r in many(client, "create", "contact", bodies=[{"name": "One"}])["rows"]] == ["written"]


def test_an_unknown_resource(fresh):
    fresh.client().refused("POST", MANY, 503, "module.unavailable", body={"action": "create", "resource": "nothing", "bodies": [{}]})
