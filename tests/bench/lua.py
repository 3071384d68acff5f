#!/usr/bin/python3
"""What a workflow costs. Prints figures; asserts nothing.

  tests/bench/lua.py [--seconds N]     BUILD names the build folder

1. a run alone: POST /v1/workflows/:id/run of a trivial workflow and of one that reads a location, one after the other; the time inside of the cell.
2. at once: the same from 1, 2, 4 and 8 callers; how many found no process within 50 ms.
3. beside hostile runs: reads of a location while 8 callers start runs that never end by themselves.
"""
import argparse
import pathlib
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))
from wharf import Client, Server, make_location  # noqa: E402

FLOWS = "/v1/workflows"


def quantiles(values):
    v = sorted(values)
    return f"p50 {1000 * statistics.median(v):.2f} ms, p99 {1000 * v[int(len(v) * 0.99)]:.2f} ms, most {1000 * v[-1]:.2f} ms"


def publish(client, name, body, **more):
    row = client.post(FLOWS, {"name": name, "source": f"return {{on_run = function(input, ctx) {body} end}}", "triggers": [{"type": "manual"}], **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


def callers(server, key, n, seconds, path, body):
    """Times of good answers, and how many were refused."""
    times, refused, end = [], [], time.monotonic() + seconds

    def one():
        client = Client(server, key)
        while time.monotonic() < end:
            t = time.monotonic()
            r = client.request("POST" if body is not None else "GET", path, body, check=False)
            (times if r.status == 200 else refused).append(time.monotonic() - t)
    threads = [threading.Thread(target=one) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return times, len(refused)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    server = Server("--modules", "org,locations,workflows")
    try:
        org = server.organization()
        key = org.key()
        client = Client(server, key)
        place = make_location(client)["id"]
        trivial = publish(client, "trivial", "return 1")
        reading = publish(client, "reading", "return wharf.api.get('/v1/locations/' .. input.id).name", scopes=["locations:read"])
        endless = publish(client, "endless", "return ('a'):rep(40000):find(('.-'):rep(8) .. 'b')")
        for name, id in (("trivial", trivial), ("reading", reading)):
            times, refused = callers(server, key, 1, seconds, f"{FLOWS}/{id}/run", {"input": {"id": place}})
            print(f"{name}, one caller: {len(times) / seconds:.0f} runs/s, {quantiles(times)}; refused {refused}")
        inside = server.sql("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms), avg((usage->>'cpu_ms')::float) FROM workflows.run WHERE workflow_id = %s", trivial)
        print(f"trivial, as recorded: duration p50 {inside[0][0]} ms, CPU inside of the cell {inside[0][1]:.3f} ms on average")
        for n in (2, 4, 8):
            times, refused = callers(server, key, n, seconds, f"{FLOWS}/{trivial}/run", {})
            print(f"trivial, {n} callers: {len(times) / seconds:.0f} runs/s, {quantiles(times)}; refused {refused}")
        idle, _ = callers(server, key, 1, seconds, f"/v1/locations/{place}", None)
        print(f"reads, idle: {quantiles(idle)}")
        storm = threading.Thread(target=callers, args=(server, key, 8, seconds, f"{FLOWS}/{endless}/run", {}))
        storm.start()
        busy, _ = callers(server, key, 1, seconds, f"/v1/locations/{place}", None)
        print(f"reads beside endless runs: {quantiles(busy)}")
        storm.join()
    finally:
        server.end()


main()
