#!/usr/bin/python3
"""Events from commit to processed: how long, and how many a second; and to a live stream. Prints figures; asserts nothing.

  tests/bench/events.py [--events N] [--organizations N]     BUILD names the build folder
"""
import argparse
import json
import pathlib
import sys
import threading
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
from wharf import BUILD, Server  # noqa: E402

FILL = ("WITH e AS (INSERT INTO wharf.event (organization_id, id, created_at, type, \"timestamp\", resource_type, resource_id, actor_type, data, expires_at)"
        " SELECT %s, 'evt_' || lpad(g::text, 22, '0'), wharf.now(), 'user.updated', wharf.now(), 'made_by_test', 'user_' || (g %% 1000), 'user',"
        " json_build_object('id', 'x', 'object', 'user', 'name', repeat('x', 500)), wharf.now() + interval '30 days' FROM generate_series(1, %s) g RETURNING organization_id, created_at, id)"
        " INSERT INTO wharf.outbox (organization_id, created_at, event_id) SELECT * FROM e")


def tell(name, values):
    v = sorted(values)
    print(f"{name}: p50 {v[len(v) // 2]:.1f} ms, p90 {v[len(v) * 9 // 10]:.1f} ms, p99 {v[len(v) * 99 // 100]:.1f} ms, of {len(v)}")


def latency(server):
    org = server.organization()
    client = org.client()
    got = {}

    def follow():
        r = requests.get(server.base + "/v1/events/stream", headers={"SVC-API-KEY": client.key}, stream=True, timeout=60)
        text = b""
        for chunk in r.iter_content(None):
            at, text = time.monotonic(), text + chunk
            *frames, text = text.split(b"\n\n")
            for frame in frames:
                if frame.startswith(b"id: "):
                    got[json.loads(frame.split(b"data: ")[1])["resource_id"]] = at
    threading.Thread(target=follow, daemon=True).start()
    time.sleep(1.5)
    sent = {}
    for i in range(200):
        begun = time.monotonic()
        row = client.post("/v1/users", {"name": "A", "email": f"a{i}@example.com", "role": "user"}, expect=201, check=False)
        sent[row.data["id"]] = (begun, time.monotonic())
        time.sleep(0.03)
    time.sleep(1.5)
    rows = server.sql("SELECT extract(epoch FROM processed_at - created_at) * 1000 FROM wharf.event_state WHERE organization_id = %s AND type = 'user.created'", org.id)
    tell("request begun -> processed, one at a time", [float(r[0]) for r in rows])
    tell("answer received -> frame received", [max(0.0, (got[k] - sent[k][1]) * 1000) for k in sent if k in got])


def throughput(server, n, organizations):
    ids = [server.organization().id for _ in range(organizations)]
    time.sleep(1)
    for id in ids:
        server.sql(FILL, id, n // organizations)
    begun = time.monotonic()
    server.sql("NOTIFY wharf_event")
    while server.sql("SELECT 1 FROM wharf.outbox WHERE event_id IS NOT NULL LIMIT 1"):
        time.sleep(0.02)
    took = time.monotonic() - begun
    print(f"{n} events of {organizations} organizations: {took:.2f} s, {n / took:.0f}/s")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--events", type=int, default=50_000)
    p.add_argument("--organizations", type=int, default=20)
    a = p.parse_args()
    server = Server("--modules", "org,events")
    try:
        latency(server)
        throughput(server, a.events, 1)
        throughput(server, a.events, a.organizations)
    finally:
        server.end()


main()
