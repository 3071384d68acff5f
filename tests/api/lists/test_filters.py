"""The filter grammar through HTTP: the worked examples of spec 01 section 11.4, read from the document, on tests/plugins/filterbench."""
import re
from urllib.parse import quote

import pytest

from wharf import ROOT, make_location

SECTION = (ROOT / "docs/spec/01-platform.md").read_text().split("### 11.4")[1].split("## 12.")[0]
EXAMPLES = [(q, rows) for q, rows in re.findall(r"\| `([^`]+)` \| ([^|`]+?) (?=\|)", SECTION)]
REFUSED = re.findall(r"`([^`]+)`", SECTION.split("Each of these is 400")[1].split("errors`:")[1].split("Further:")[0])
FURTHER = re.findall(r"`([a-z_]+=[^`]+)`", SECTION.split("Further:")[1].split("→ 400")[0])


def test_the_document_was_read():
    assert len(EXAMPLES) == 76 and len(REFUSED) == 36 and len(FURTHER) == 8


@pytest.fixture(scope="module")
def bench(server):
    """Rows R1 to R4: (client, their ids by name, what loc_A stands for)."""
    org = server.organization()
    c = org.client()
    a, b = make_location(c, "A")["id"], make_location(c, "B")["id"]
    rows = {
        "R1": dict(qty=10, status="open", location_id=a, name="Dock 1", is_active=True, legs=[True], errors=[], tags=["a"],
                   metadata={"color": "red", "t": "12:30", "n": 10}, at="2024-01-01T00:00:00.000Z", completed_at=None),
        "R2": dict(qty=2.5, status="closed", location_id=b, name="dock 1", is_active=False, legs=[False], errors=["duplicate"], tags=["a,b"],
                   metadata={"color": "blue", "n": 9}, at="2024-01-02T00:00:00.000Z", completed_at="2024-01-05T00:00:00.000Z"),
        "R3": dict(qty=None, status="open", location_id=None, name="Smith, J", is_active=True, legs=[], errors=["duplicate", "no_matches"],
                   tags=["!x", "b"], metadata={}, at="2024-01-02T00:00:00.001Z", completed_at=None),
        "R4": dict(qty=-1, status="failed", location_id=a, name=None, is_active=True, legs=[True, False], errors=["no_matches"], tags=["b"],
                   metadata={"color": "red", "a.b": "x", "flag": True, "u": "https://h:8/p"}, at="2024-01-03T12:00:00.000Z",
                   completed_at="2024-01-04T00:00:00.000Z"),
    }
    ids = {}
    for name, row in rows.items():
        body = {k: v for k, v in row.items() if k not in ("at", "legs")}
        body["legs"] = [{"label": f"leg {i}", "is_parent": p} for i, p in enumerate(row["legs"])]
        ids[name] = c.post("/v1/samples", body, expect=201).data["id"]
        server.sql("UPDATE filterbench.sample SET created_at = %s WHERE organization_id = %s AND id = %s", row["at"], org.id, ids[name])
    return c, ids, a


def prepared(query, a):
    return re.sub(r"loc_A(?![A-Za-z0-9])", a, query).replace(" ", "%20").replace("\\", "%5C").replace('"', "%22")


@pytest.mark.parametrize("query, rows", EXAMPLES, ids=[q for q, _ in EXAMPLES])
def test_worked_example(bench, query, rows):
    c, ids, a = bench
    want = [] if rows.strip() == "(none)" else [ids[r] for r in rows.split()]
    assert c.get("/v1/samples?" + prepared(query, a) + "&order_by=created_at&direction=asc").ids == want


@pytest.mark.parametrize("query", REFUSED)
def test_refused(bench, query):
    c, _, a = bench
    status, body = c.raw_get("/v1/samples?" + prepared(query, a))
    assert (status, body["code"], body["errors"]) == (400, "param.invalid", [re.split(r"[\[.=]", query)[0]])


@pytest.mark.parametrize("query", FURTHER)
def test_further(bench, query):
    c, _, _ = bench
    a = c.refused("GET", "/v1/samples?" + query, 400, "param.invalid")
    assert len(a.errors) == 1 and a.errors[0] in query


def test_all_problems_are_collected(bench):
    c, _, _ = bench
    status, body = c.raw_get("/v1/samples?status=x&page=0&qty=1e3&limit=none&metadata=k&location_id=%zz")
    assert status == 400 and sorted(body["errors"]) == ["limit", "location_id", "metadata", "page", "qty", "status"]


@pytest.mark.parametrize("query, rows", [
    ("status=open, failed ,open", "R1 R3 R4"), ("errors=duplicate&errors=no_matches", "R3"), ("tags=b&tags=!\\!x", "R4"), ("qty[gt]=0&qty[lt]=5", "R2"),
    ("location_id=loc_0000000000000000000000", ""), ("location_id=!eq:loc_0000000000000000000000", "R1 R2 R3 R4"), ("id=smp_0000000000000000000000", ""),
    ("metadata=color:", ""), ("search=", "R1 R2 R3 R4"), ("name=DOCK 1&is_active=true", "R1")])
def test_meaning(bench, query, rows):
    """Rows of section 11.3 that no worked example shows: spaces and repeats in lists, repeats that are conditions, unknown ids, empty values."""
    c, ids, a = bench
    assert c.get("/v1/samples?" + prepared(query, a) + "&order_by=created_at&direction=asc").ids == [ids[r] for r in rows.split()]


@pytest.mark.parametrize("query", ["location_id=nonsense", "location_id=loc_1", "id=loc_0000000000000000000000", "name=", "qty=", "is_active=", "tags=", "id=", "name=null,x&qty=x"])
def test_refused_too(bench, query):
    c, _, a = bench
    wanted = "qty" if "qty=x" in query else query.split("=")[0]
    c.refused("GET", "/v1/samples?" + prepared(query, a), 400, "param.invalid", [wanted])


def test_encoded_keys(bench):
    c, ids, _ = bench
    assert c.get("/v1/samples?created_at%5Bgte%5D=" + quote("2024-01-03T00:00:00+00:00")).ids == [ids["R4"]]
    assert c.get("/v1/samples?statuses=failed").ids == [ids["R4"]]
    assert c.get("/v1/samples?leg_label=LEG+1").ids == [ids["R4"]]


def test_pairs_and_items_are_limited(bench):
    c, _, _ = bench
    c.get("/v1/samples?" + "&".join(["tags=a"] * 50))
    c.refused("GET", "/v1/samples?" + "&".join(["tags=a"] * 51), 400, "param.invalid", ["tags"])
    c.get("/v1/samples?status=" + ",".join(["open"] * 500))
    c.refused("GET", "/v1/samples?status=" + ",".join(["open"] * 501), 400, "param.invalid", ["status"])
    c.refused("GET", "/v1/samples?created_at=in:" + ",".join(["0"] * 101), 400, "param.invalid", ["created_at"])


def test_unknown_parameters(bench):
    c, _, _ = bench
    assert len(c.get("/v1/samples?nonsense=1&no[x]=2").ids) == 4
    a = c.refused("GET", "/v1/samples?nonsense=1&no[x]=2", 400, "param.invalid", ["nonsense", "no"], headers={"Prefer": "handling=strict"})
    assert a.headers["Preference-Applied"] == "handling=strict"
