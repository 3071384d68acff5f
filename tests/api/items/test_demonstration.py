"""The demonstration data of `wharf dev` (tool/demo.json): the first minutes show a warehouse; a second start makes nothing twice."""
import os
import pathlib
import shutil
import tempfile

from stock import ITEMS, broken_invariants
from wharf import Client, Server


def test_the_first_minutes_show_a_warehouse():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-demo-", dir=os.environ.get("WHARF_TEST_PLACE")))
    seen = []
    for _ in range(2):
        server = Server(folder=folder, demo=True)
        try:
            client = Client(server, server.demo_key)
            items = {i["sku"]: i for i in client.get(ITEMS + "?limit=100").data}
            path = f"{ITEMS}/{items['GIFT']['id']}"
            bom, = client.get(path + "/boms").data
            assert items.keys() == {"BEANS", "BAG-250", "LABEL", "CARTON", "SCALE", "BLEND-250", "GIFT"}
            assert [(d["name"], d["level"]) for d in sorted(client.get(f"{path}/boms/{bom['id']}/explosion").data, key=lambda d: d["name"])] == [
                ("Bag for 250 g", 2), ("Blend 250 g", 1), ("Coffee beans", 2), ("Gift carton", 1), ("Label", 2)]
            assert {v["lot_number"] for v in items["BEANS"]["levels"]} == {"2026-03", "2026-05"} and len({v["layout_id"] for v in items["BAG-250"]["levels"]}) == 3
            assert [o["quantity"] for o in client.get(path + "/assembly-orders").data] == [5] and items["GIFT"]["totals"]["available_qty"] == 5
            main = client.get("/v1/locations?code=MAIN").data[0]["id"]
            shown = client.get(f"{path}/boms/{bom['id']}?location_id={main}&include_subassemblies=true").data
            assert shown["can_build"] is True and shown["max_buildable_qty_multi_level"] > shown["max_buildable_qty"] > 0
            audit, = client.get("/v1/audits").data
            assert (audit["status"], audit["location_id"], audit["counted_count"], audit["task_count"] > 5) == ("processing", main, 2, True)
            assert {(a["serial_number"], a["name"], a["status"]) for a in client.get("/v1/assets").data} == {
                ("SC-2024-001", "Bench scale", "in_storage"), ("SC-2024-002", "Bench scale", "in_repair")}
            organization = client.get("/v1/org").data["id"]
            assert broken_invariants(server, organization) == []
            seen.append((sorted((s, i["id"], i["totals"]["available_qty"]) for s, i in items.items()), len(client.get("/v1/locations?limit=100").data), len(client.get("/v1/cloud-printing/stations").data)))
            log = (folder / "out").read_text(errors="replace")
            assert "demonstration data" not in log, log
        finally:
            server.stop()
    assert seen[0] == seen[1]
    shutil.rmtree(folder, ignore_errors=True)
