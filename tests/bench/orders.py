#!/usr/bin/python3
"""Orders from create to completed against pgbench, which runs the very statements that the server ran for one of them (replay.py), on the same cluster in
the same run.

  tests/bench/orders.py [--turns N] [--seconds N] [--connections N] [--lines N] [--binary FILE]

Each order has five lines of 5,000 items: it is created and reserved, picked, packed, packed and ready, completed: five requests, of which each is one
transaction. Prints orders per second by turns, their ratio (median of the turns'), and where the server's time goes. Prints figures; asserts nothing.
"""
import argparse
import json
import os
import re
import statistics
import time

import items
import replay
import run as bench

ITEMS, MANY = 5000, 10 ** 9
# Each answer says what comes next for its order; a connection without one begins another order.
LIFE = """local place, lines, most, waiting = '{place}', {lines}, {items}, {{}}
math.randomseed({seed})
local function post(path, body) return wrk.format("POST", path, {{["Content-Type"] = "application/json", ["SVC-API-KEY"] = wrk.headers["SVC-API-KEY"]}}, body) end
request = function()
  local step = table.remove(waiting)
  if step then return post(step[1], step[2]) end
  local of, first = {{}}, math.random(most - lines)
  for i = 1, lines do of[i] = string.format('{{"item_id":"item_%022d","requested_qty":2}}', first + i) end
  return post("/v1/fulfillments", '{{"location_id":"' .. place .. '","articles":[' .. table.concat(of, ",") .. ']}}')
end
response = function(status, headers, body)
  local id = body:match('"data":{{"object":"fulfillment","id":"(ful_%w+)"') or body:match('"fulfillment_id":"(ful_%w+)"')
  if not id then return end
  local path = "/v1/fulfillments/" .. id
  if body:find('"object":"fulfillment_scan"', 1, true) then
    if body:find('"parcel_id":null', 1, true) then waiting[#waiting + 1] = {{path .. "/packs", '{{"all":true}}'}}
    else waiting[#waiting + 1] = {{path, '{{"status":"packed"}}'}} end
  elseif body:find('"status":"created"', 1, true) then waiting[#waiting + 1] = {{path .. "/picks", '{{"all":true}}'}}
  elseif body:find('"status":"packed"', 1, true) then waiting[#waiting + 1] = {{path, '{{"status":"completed"}}'}} end
end"""


class Life(replay.Recorder):
    """What the sessions did for one order, transaction by transaction, in the order of the log."""

    def recorded(self, send, about):
        got = []
        chosen, replay.statements = replay.statements, lambda text, _: transactions(text, got[-1])
        try:
            return super().recorded(lambda: got.append(send()), about)
        finally:
            replay.statements = chosen


def transactions(text, about):
    sessions, done = {}, []
    for process, kind, said in replay.entries(text):
        executed = replay.EXECUTED.match(said)
        list_ = sessions.setdefault(process, [])
        if kind == "LOG" and executed:
            if executed.group(1).startswith("BEGIN"):
                list_.clear()
            list_.append([executed.group(1), {}])
            if executed.group(1).startswith("COMMIT"):
                done.append(list(list_))
                list_.clear()
        elif kind == "DETAIL" and said.startswith("parameters: ") and list_:
            list_[-1][1] = {int(n): None if v == "NULL" else v[1:-1].replace("''", "'") for n, v in replay.PARAMETER.findall(said[len("parameters: "):])}
    own = [t for t in done if any(about in str(v) for _, values in t for v in values.values()) and any("fulfillments." in sql or '"fulfillments"' in sql for sql, _ in t)]
    return [s for t in own for s in t]


def life(warehouse, lines):
    """One order, request by request; answers its id."""
    ask = warehouse.api.ask
    id = ask("POST", "/v1/fulfillments", {"location_id": warehouse.place, "articles": [{"item_id": f"item_{n:022d}", "requested_qty": 2} for n in range(1, lines + 1)]})["data"]["id"]
    for path, body in (("/picks", {"all": True}), ("/packs", {"all": True}), ("", {"status": "packed"}), ("", {"status": "completed"})):
        ask("POST", f"/v1/fulfillments/{id}{path}", body)
    return id


def completed(warehouse):
    return warehouse.rows.sql("SELECT count(*) FROM fulfillments.fulfillment WHERE status = 'completed'")[0][0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--seconds", type=int, default=5)
    p.add_argument("--connections", type=int, default=32)
    p.add_argument("--lines", type=int, default=5)
    p.add_argument("--binary", default=str(bench.ROOT / "build/tool/wharf"))
    args = p.parse_args()
    items.MODULES = "org,locations,carriers,shipments,parcels,items,fulfillments,events,logs"
    warehouse = items.Warehouse(args)
    try:
        measure(warehouse, args)
    finally:
        warehouse.stack.stop_all()


def measure(warehouse, args):
    base = warehouse.item("Base", MANY)
    warehouse.copy([base["id"]], ITEMS)
    varied = {}
    for n in range(1, args.lines + 1):
        for kind in ("item", "lvl"):
            varied[f"{kind}_{n:022d}"] = items.numbered(kind, f":n + {n}")
    head = f"\\set n random(0, {ITEMS - args.lines - 1})\n\\set a random(1, 999999999999)"
    text, count = Life(warehouse.rows, warehouse.log).script(lambda: life(warehouse, args.lines), "", varied, head)
    script = warehouse.stack.folder / "orders.sql"
    script.write_text(text)
    os.chmod(script, 0o644)
    best = max((4, 8, 16, 32), key=lambda n: warehouse.pgbench(script, n, 2))
    turns = []
    for _ in range(args.turns):
        bench.settled(warehouse.stack)
        before = completed(warehouse)
        lua = bench.lua(warehouse.stack, "orders.lua", LIFE.format(place=warehouse.place, lines=args.lines, items=ITEMS, seed=int(time.monotonic() * 1000)))
        own = bench.wrk(warehouse.api.base + "/", warehouse.api.key, args.connections, args.seconds, lua)
        orders = (completed(warehouse) - before) / args.seconds
        bench.settled(warehouse.stack)
        turns.append({"orders": round(orders, 1), "requests": round(own["per_second"]), "errors": own["errors"], "p99_ms": own["p99_ms"], "cpu_server": round(own["cpu_server"], 2),
                      "cpu_postgres": round(own["cpu_postgres"], 2), "pgbench": round(warehouse.pgbench(script, best, args.seconds), 1)})
    print(json.dumps({"what": "orders", "lines": args.lines, "statements": count, "transactions": len(re.findall(r"^BEGIN", text, re.M)), "clients_of_pgbench": best,
                      "ratio": round(statistics.median(t["orders"] / t["pgbench"] for t in turns), 2), "turns": turns}), flush=True)


if __name__ == "__main__":
    main()
