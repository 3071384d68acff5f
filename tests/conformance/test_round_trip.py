"""What an export wrote, a batch takes back: every resource that has both, every field, as CSV, as a spreadsheet and as JSON, and nothing is changed by it
(spec 10 section 9, spec 01 section 15)."""
import base64
import csv
import io
import json

import pytest
import requests
import xlsxwriter

from resources import DEFINITIONS, World, x
from wharf import MODULES, WAIT, Server, until

TYPES = {"csv": "text/csv", "json": "application/json", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}
# Written by every change, or by reading.
MOVING = {"updated_at", "updated_by", "version"}


def actions(resource):
    batch = x(resource).get("batch", {})
    return batch if isinstance(batch, list) else batch.get("actions", [])


@pytest.fixture(scope="module")
def world():
    s = Server("--modules", MODULES)
    yield World(s)
    s.stop()


RESOURCES = sorted(r for r in DEFINITIONS if "merge" in actions(r) and r != "layout")  # layouts are part of a location: a shape of their own


def exported(client, resource):
    """The rows as JSON, and the files."""
    made = client.post("/v1/exports", {"resource": resource, "formats": ["csv", "json"], "options": {}}, expect=201).data
    path = f"/v1/exports/{made['id']}"
    done = until(lambda: (lambda d: d if d["status"] in ("completed", "failed") else None)(client.get(path).data))
    assert done["status"] == "completed", done
    shown = client.get(path + "?include_csv=true&include_json=true").data
    files = {kind: requests.get(client.server.base + shown[f"_{kind}_url"][shown[f"_{kind}_url"].index("/v1/"):], timeout=WAIT).content for kind in ("csv", "json")}
    return {row["id"]: row for row in json.loads(files["json"])}, files


def spreadsheet(text):
    """The cells of a CSV file as texts of a workbook."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet()
    for i, cells in enumerate(csv.reader(io.StringIO(text.decode("utf-8-sig")))):
        for k, cell in enumerate(cells):
            sheet.write_string(i, k, cell)
    book.close()
    return out.getvalue()


@pytest.mark.parametrize("kind", ["csv", "xlsx", "json"])
@pytest.mark.parametrize("resource", RESOURCES)
def test_an_export_comes_back_and_changes_nothing(world, resource, kind):
    client = world.all
    for _ in range(2):
        world.make(resource, everything=True)
    before, files = exported(client, resource)
    data = spreadsheet(files["csv"]) if kind == "xlsx" else files[kind]
    batch = client.post("/v1/batches", {"resource": resource, "action": "merge", "mode": "sync",
                                        "data": f"data:{TYPES[kind]};base64,{base64.b64encode(data).decode()}"}, expect=201).data
    items = client.get(f"/v1/batches/{batch['id']}/items?limit=100").data
    assert [i for i in items if i["code"]] == []
    assert {k: v for k, v in batch["stats"].items() if v} == {"unchanged": len(before)}, items
    after, _ = exported(client, resource)
    for id, row in before.items():
        assert {k: v for k, v in row.items() if k not in MOVING} == {k: v for k, v in after[id].items() if k not in MOVING}
