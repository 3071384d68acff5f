#!/usr/bin/python3
"""An export of many rows: how long, against PostgreSQL's own COPY of the same rows, and what memory the job worker takes. Prints figures; asserts
nothing (docs/performance.md has a run).

  tests/bench/exports.py [--rows N]     BUILD names the build folder
"""
import argparse
import io
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import BUILD, Server, make_location  # noqa: E402


def resident(server):
    """Bytes that the job workers have to themselves, now."""
    total = 0
    for pid in server.workers("job"):
        for line in open(f"/proc/{pid}/smaps_rollup"):
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1]) * 1024
    return total


def export(server, client, **more):
    begun, most = time.monotonic(), 0
    row = client.post("/v1/exports", {"resource": "crate", "options": {}, **more}, expect=201).data
    while row["status"] in ("queued", "processing"):
        time.sleep(0.05)
        most = max(most, resident(server))
        row = client.get("/v1/exports/" + row["id"]).data
    assert row["status"] == "completed", row
    return row["total_rows"] / (time.monotonic() - begun), most


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=300000)
    args = p.parse_args()
    server = Server("--modules", f"org,locations,exports,{BUILD}/tests/plugins/bench.so")
    try:
        client = server.organization().client()
        place = make_location(client)["id"]
        crate = client.post("/v1/crates", {"name": "Crate, of \"things\"", "location_id": place, "weight": 2.5, "count": 7, "metadata": {"color": "red"}}, expect=201).data["id"]
        server.sql("INSERT INTO bench.crate SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'crate_' || lpad(i::text, 22, '0')))).*"
                   " FROM bench.crate c, generate_series(2, %s) i WHERE c.id = %s", args.rows, crate)
        server.sql("ANALYZE bench.crate")
        begun = time.monotonic()
        out = io.StringIO()
        with server.db.cursor() as c:
            c.copy_expert("COPY (SELECT * FROM bench.crate WHERE deleted_at IS NULL ORDER BY created_at DESC, id DESC) TO STDOUT WITH (FORMAT csv, HEADER)", out)
        copy = args.rows / (time.monotonic() - begun)
        print(f"COPY to CSV, by a client in Python:      {copy:8.0f} rows/s")
        before = resident(server)
        for what, more in (("JSON", {"formats": ["json"]}), ("CSV and JSON", {}), ("CSV, flattened, in a time zone", {"formats": ["csv"], "csv_field_options": {"nested": "flatten", "timezone": "Asia/Tokyo"}})):
            rate, most = export(server, client, **more)
            print(f"{what:40s} {rate:8.0f} rows/s, {rate / copy:.2f} of COPY; memory {(most - before) / 2**20:+.1f} MiB", flush=True)
    finally:
        server.check_events = lambda: None
        server.stop()


if __name__ == "__main__":
    main()
