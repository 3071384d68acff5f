"""Lists of documents: spec 05 section 3.1."""
import pytest

from document_files import DOCUMENTS, PDF, PNG, announce, b64, make, sha256


@pytest.fixture(scope="module")
def rows(org):
    c = org.client()
    made = {"a": make(c, PDF, name="Alpha report", category="report", metadata={"order": "ORD-77", "zone": "north", "weight": 77125}, filename="alpha_file.pdf"),
            "b": make(c, PNG, name="Beta photo", category="photo", visibility="public"), "c": make(c, b"GIF89a\5\0\7\0...", name="Gamma photo", category="photo"),
            "d": announce(c, name="Delta", mime_type="text/csv", size=7)}
    return c, made


@pytest.mark.parametrize("query, found", [
    ("category=photo", "bc"), ("category=report,photo", "abc"), ("category[!eq]=photo", "ad"), ("category=null", "d"), ("mime_type=image/*", "bc"), ("mime_type=IMAGE/*,text/csv", "bcd"),
    ("mime_type=image/png", "b"), ("mime_type[!in]=image/*", "ad"), ("mime_type=image/*x", ""), ("visibility=public", "b"), ("status=requested", "d"), ("status=completed", "abc"),
    ("search=alpha", "a"), ("search=ALPHA_FILE", "a"), ("search=ord-77", "a"), ("search=zone", "a"), ("search=77125", "a"), ("search=nort", "a"), ("search=photo", "bc"), ("size[gt]=10", "abc"), ("size=7", "d"),
    ("metadata=zone:north", "a"), (f"checksum_sha256={sha256(PNG)}", "b"), ("created_at[gt]=2001-01-01T00:00:00Z", "abcd"), ("updated_at[lt]=2001-01-01T00:00:00Z", "")])
def test_filters(rows, query, found):
    """Spec 05 section 3.1 [S]: category, mime_type (a set; image/*), visibility, status, search; [O] the others."""
    client, made = rows
    ids = "&id=" + ",".join(r["id"] for r in made.values())
    assert {k for k, r in made.items() if r["id"] in client.get(f"{DOCUMENTS}?{query}{ids}").ids} == set(found)


@pytest.mark.parametrize("order, expected", [("order_by=name&direction=asc", "abdc"), ("order_by=created_at&direction=desc", "dcba"), ("", "dcba"), ("order_by=size&direction=asc", "dcab"), ("order_by=size&direction=desc", "bacd")])
def test_orders(rows, order, expected):
    client, made = rows
    ids = "id=" + ",".join(r["id"] for r in made.values())
    names = {r["id"]: k for k, r in made.items()}
    assert "".join(names[i] for i in client.get(f"{DOCUMENTS}?{order}&{ids}").ids) == expected


def test_created_by(rows):
    client, made = rows
    who = made["a"]["created_by"]
    assert made["a"]["id"] in client.get(f"{DOCUMENTS}?created_by={who}&limit=1000").ids


def test_limits_of_pages(client):
    """Spec 05 section 3.1: default 25, max 1000."""
    assert client.get(DOCUMENTS).pagination["limit"] == 25
    client.refused("GET", f"{DOCUMENTS}?limit=1001", 400, "param.invalid", ["limit"])
