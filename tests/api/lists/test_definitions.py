"""A field added to a definition, with its migration, appears everywhere: no code is touched (spec 01 section 17, docs/reference/definitions.md).

A copy of tests/plugins/filterbench is built twice: as it is, and with one property and one migration more. The server starts with the first, is
filled, and starts again with the second on the same data.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from wharf import BUILD, ROOT, Client, Server, make_location

FIELD = {"type": ["string", "null"], "enum": ["low", "high", None], "default": "low", "x-wharf": {"filter": True, "sort": True}}
MIGRATION = "-- wharf: phase=expand\nALTER TABLE filterbench.sample ADD COLUMN grade text COLLATE \"C\" DEFAULT 'low';\n"


def build(source, out):
    """The module's .so in the folder out."""
    out.mkdir(parents=True)
    schemas = sorted((source / "schemas").glob("*.json"))
    subprocess.run([BUILD / "tools" / "wharf-gen", "--plugin", "filterbench", "--manifest", source / "plugin.json", "--errors", source / "errors.json",
                    "--migrations", source / "migrations", "--header", out / "filterbench.gen.h", "--note", out / "filterbench.note.c", *schemas],
                   check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs", f"-I{ROOT / 'plugin-api'}", f"-I{BUILD / 'plugin-api'}", f"-I{out}",
                    source / "filterbench.c", out / "filterbench.note.c", "-o", out / "filterbench.so"], check=True)
    return out / "filterbench.so"


@pytest.fixture(scope="module")
def grown():
    work = pathlib.Path(tempfile.mkdtemp(prefix="wharf-def-"))
    os.chmod(work, 0o711)
    (work / "data").mkdir()
    server = None
    try:
        source = work / "source"
        shutil.copytree(ROOT / "tests/plugins/filterbench", source)
        before = build(source, work / "before")
        schema = source / "schemas" / "sample.json"
        text = json.loads(schema.read_text())
        properties = {}
        for name, value in text["properties"].items():
            properties[name] = value
            if name == "status":
                properties["grade"] = FIELD
        text["properties"] = properties
        schema.write_text(json.dumps(text))
        (source / "migrations" / "0002_grade.sql").write_text(MIGRATION)
        after = build(source, work / "after")

        server = Server("--modules", f"org,locations,{before}", folder=work / "data")
        org = server.organization()
        key = org.key()
        c = Client(server, key)
        place = make_location(c)["id"]
        old = c.post("/v1/samples", {"status": "open", "location_id": place}, expect=201).data
        assert "grade" not in old and "grade" not in json.dumps(server.openapi["components"]["schemas"]["Sample"])
        server.stop()
        server = Server("--modules", f"org,locations,{after}", folder=work / "data")
        org.server = server
        yield org, Client(server, key), old
    finally:
        if server:
            server.stop()
        shutil.rmtree(work, ignore_errors=True)


def test_old_rows_have_it(grown):
    _, c, old = grown
    row = c.get("/v1/samples/" + old["id"]).data
    assert row["grade"] == "low" and {k: v for k, v in row.items() if k != "grade"} == old
    assert list(row).index("grade") == list(row).index("status") + 1


def test_it_is_written_and_checked(grown):
    org, c, old = grown
    made = c.post("/v1/samples", {"status": "open", "grade": "high"}, expect=201).data
    assert made["grade"] == "high"
    assert c.post("/v1/samples", {"status": "open"}, expect=201).data["grade"] == "low"
    c.refused("POST", "/v1/samples", 400, "validation.failed", ["grade"], body={"status": "open", "grade": "middle"})
    assert c.post("/v1/samples/" + made["id"], {"grade": None}, expect=200).data["grade"] is None
    log = org.changes(made["id"])[-1]
    assert log[1] == [{"field": "grade", "old": "high", "new": None}]
    event = org.events(made["id"], "filterbench.sample.updated")[-1]
    assert event[1]["grade"] is None and event[2] == {"grade": "high"}


def test_it_filters_and_sorts(grown):
    _, c, old = grown
    a = c.post("/v1/samples", {"status": "failed", "grade": "high"}, expect=201).data["id"]
    b = c.post("/v1/samples", {"status": "failed", "grade": None}, expect=201).data["id"]
    d = c.post("/v1/samples", {"status": "failed"}, expect=201).data["id"]
    get = lambda q: c.get("/v1/samples?status=failed&" + q).ids
    assert get("grade=high") == [a] and get("grade=null") == [b] and get("grade=!in:high,null") == [d]
    assert get("order_by=grade&direction=asc") == [a, d, b] and get("order_by=grade&direction=desc") == [d, a, b]
    c.refused("GET", "/v1/samples?grade=middle", 400, "param.invalid", ["grade"])
    assert list(c.get("/v1/samples?fields=grade&limit=1").data[0]) == ["object", "id", "grade"]


def test_it_is_described(grown):
    org, _, _ = grown
    doc = org.server.openapi
    assert "grade" in doc["components"]["schemas"]["Sample"]["properties"]
    assert "grade" in doc["components"]["schemas"]["SampleCreate"]["properties"]
    op = doc["paths"]["/v1/samples"]["get"]
    described = next(f for f in op["x-filters"] if f["name"] == "grade")
    assert described["type"] == "enum" and described["nullable"] is True and described["members"] == ["low", "high"]
    assert "grade" in next(p for p in op["parameters"] if p.get("name") == "order_by")["schema"]["enum"]
