"""The service wharf.import as a plugin meets it (tests/plugins/importer): files, options, spreadsheets read by a cell of the worker."""
import pathlib
import sys

import pytest

from wharf import BUILD, Server

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "import"))
from test_hostile import HOSTILE  # noqa: E402
from test_xlsx import HEAD, pack, parts, row, text  # noqa: E402


@pytest.fixture(scope="module")
def client():
    server = Server("--modules", f"org,locations,{BUILD}/tests/plugins/importer.so")
    yield server.organization().client()
    server.stop()


def read(client, **body):
    return client.post("/v1/pallets/read", body).data


def test_csv(client):
    got = read(client, text="Pallet-Name;Weight;fragile;metadata.Dock;id\nAnn;007.5;yes;7;\nBob;heavy;no;;plt_1;x\n",
               options={"aliases": {"pallet name": "name"}, "file": {"delimiter": ";"}})
    assert got["problem"] == "" and got["format"] == "csv" and got["delimiter"] == ";" and got["column"] == "name"
    assert got["rows"] == [
        {"row": 2, "object": {"name": "Ann", "weight": 7.5, "fragile": True, "metadata": {"Dock": "7"}}, "first": "Ann"},
        {"row": 3, "object": {"name": "Bob", "weight": "heavy", "fragile": False, "id": "plt_1"}, "first": "Bob", "error": "row.too_many_columns"}]


def test_json(client):
    got = read(client, text='[{"name":"Ann"},{"name":"Bob","x":{"y":[1]}}]')
    assert [r["object"] for r in got["rows"]] == [{"name": "Ann"}, {"name": "Bob", "x": {"y": [1]}}] and got["format"] == "json"


def test_mapping_and_strict(client):
    got = read(client, text="label,other\nAnn,1\n", options={"column_mapping": {"name": "Label"}})
    assert got["rows"][0]["object"] == {"name": "Ann"} and got["warning"] == "batch.header_unknown"
    assert read(client, text="name,other\nAnn,1\n", options={"file": {"strict_headers": True}})["problem"] == "batch.header_unknown"
    assert read(client, text="name\nAnn\n", options={"file": {"format": "xls"}})["problem"] == "param.invalid"
    assert read(client, text="name\nAnn\n", options={"file": {"delimiter": "ab"}})["problem"] == "param.invalid"
    assert read(client, text="")["problem"] == "batch.data_empty"


def test_spreadsheet(client, tmp_path):
    tmp_path.chmod(0o755)
    sheet = row(1, text("A1", "name"), text("B1", "count")) + row(2, text("A2", "Ann"), '<c r="B2"><v>3</v></c>')
    path = pack(tmp_path / "x.xlsx", parts(sheet))
    path.chmod(0o644)
    for _ in range(5):
        got = read(client, path=str(path))
        assert got["rows"] == [{"row": 2, "object": {"name": "Ann", "count": 3}, "first": "Ann"}] and got["sheet"] == "S" and got["format"] == "xlsx"
    assert read(client, path=str(path), options={"file": {"sheet": "T"}})["problem"] == "param.invalid"
    assert read(client, path=str(path), options={"file": {"sheet": 1}})["problem"] == ""


@pytest.mark.parametrize("name", ["wrong_crc", "bomb_ratio", "laughs_sheet", "encrypted_part"])
def test_hostile_spreadsheet(client, tmp_path, name):
    path = tmp_path / "x.xlsx"
    path.write_bytes(HOSTILE[name][0]())
    assert read(client, path=str(path))["problem"] == HOSTILE[name][1]
