"""A plugin may name its fields, columns and tables as it likes: each key word of PostgreSQL and each alias of the engine's statements
works as a field (docs/reference/definitions.md). The plugin is tests/plugins/words."""
import json

import pytest

from test_batches import run
from wharf import BUILD, ROOT, Server

DEFINITION = json.loads((ROOT / "tests/plugins/words/schemas/word.json").read_text())
PROPERTIES = DEFINITION["properties"]
WORDS = [w for w, p in PROPERTIES.items() if p.get("maxLength") == 100]
FILTERED = [w for w in WORDS if PROPERTIES[w].get("x-wharf", {}).get("filter")]
SEARCHED = DEFINITION["x-wharf"]["list"]["search"]
IN_ROWS = [w for w in PROPERTIES["user_rows"]["items"]["properties"] if w != "id"]


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,carriers,contacts,batches,exports,{BUILD}/tests/plugins/words.so", "--set", "rate_limit.key=0")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def client(server):
    return server.organization().client()


def body(value):
    return {w: f"{value} {w}" for w in WORDS}


def test_words_are_many():
    assert len(WORDS) > 450 and {"select", "user", "group", "x", "t", "c", "p"} <= set(FILTERED)


def test_create_retrieve_update_delete(client):
    row = client.post("/v1/words", {**body("one"), "user_rows": [{w: f"row {w}" for w in IN_ROWS}]}, expect=201).data
    assert {w: row[w] for w in WORDS} == body("one")
    assert [{w: r[w] for w in IN_ROWS} for r in row["user_rows"]] == [{w: f"row {w}" for w in IN_ROWS}]
    assert client.get("/v1/words/" + row["id"]).data == row
    rows = [{**row["user_rows"][0], "select": "other"}, {"order": "new", "end": "new end"}]
    changed = client.post("/v1/words/" + row["id"], {**body("two"), "user_rows": rows}, expect=200).data
    assert {w: changed[w] for w in WORDS} == body("two")
    assert [r["select"] for r in changed["user_rows"]] == ["other", None] and changed["user_rows"][1]["order"] == "new"
    client.delete("/v1/words/" + row["id"])
    client.get("/v1/words/" + row["id"], expect=404)


def test_every_word_filters_sorts_and_is_found(client):
    a, b = (client.post("/v1/words", body(v), expect=201).data["id"] for v in ("alpha", "beta"))
    for w in FILTERED:
        assert client.get(f"/v1/words?{w}=alpha%20{w}").ids == [a], w
        found = client.get(f"/v1/words?order_by={w}&direction=desc&limit=100").ids
        assert found.index(b) < found.index(a), w
        walked = client.get(f"/v1/words?order_by={w}&cursor=start&limit=1")
        assert walked.status == 200, (w, walked)
    for w in SEARCHED:
        assert a in client.get(f"/v1/words?search=alpha%20{w}").ids, w


def test_references(client):
    word = client.post("/v1/words", body("named"), expect=201).data
    row = client.post("/v1/phrases", {"user": word["id"], "all": [word["id"]]}, expect=201).data
    shown = client.get("/v1/phrases/" + row["id"]).data
    assert shown["user"] == word["id"] and shown["all"] == [word["id"]] and shown["from"]["x"] == "named x"
    for field, value in (("user", "word_1"), ("all", ["word_1"])):
        client.refused("POST", "/v1/phrases", 400, "validation.failed", [field] if field == "user" else ["all.0"], body={field: value})
    assert client.get(f"/v1/phrases?user={word['id']}").ids == [row["id"]]


@pytest.mark.parametrize("n", [1, 3, 60])  # alone, by one statement, by COPY
def test_batches(client, n):
    made = run(client, [body(f"b{i}") for i in range(n)], resource="word")
    assert made["stats"]["created"] == n, made
    rows = client.get(f"/v1/batches/{made['id']}/items?state=done&limit=1000").data
    found = [r["result_id"] for r in rows]
    assert client.get("/v1/words/" + found[0]).data["select"] == "b0 select"
    changed = run(client, [{"id": id, "user": "new", "x": None} for id in found], resource="word")
    assert changed["stats"]["updated"] == n, changed
    assert client.get("/v1/words/" + found[-1]).data["user"] == "new"
    gone = run(client, [{"id": id} for id in found], resource="word", action="delete")
    assert gone["stats"]["deleted"] == n, gone
