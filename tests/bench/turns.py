#!/usr/bin/python3
"""Requests in which code of an organization runs, under load. Prints figures; asserts nothing.

  tests/bench/turns.py [--turns N] [--seconds S]     BUILD names the build folder

1. 64 clients create contacts: without a hook, and with a before hook of three comparisons, by turns; how many are answered in which way.
   Beside them the same hook's code as a trigger that answers, without a write: what the processes themselves can do.
2. 200 clients ask a trigger whose code asks a host that takes a second: how long all of them take, and how many are refused.
"""
import argparse
import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))
from outside import Web  # noqa: E402
from wharf import WAIT, Client, Server  # noqa: E402

FLOWS = "/v1/workflows"
CHECKS = "if change.input.name == 'no' then wharf.reject('no') end if change.input.name == '' then wharf.reject('no') end if change.input.email == 'x' then wharf.reject('no') end"
SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["SVC-API-KEY"] = os.getenv("KEY")
wrk.body = '{"name": "Ann Smith"}'
"""


def wrk(url, key, seconds, clients):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        told = subprocess.run(["wrk", "-t2", f"-c{clients}", f"-d{seconds}s", "--latency", "-s", script.name, url], capture_output=True, text=True, env={**os.environ, "KEY": key}, check=True).stdout
    per_second = float(re.search(r"Requests/sec:\s+([\d.]+)", told).group(1))
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", told)
    return per_second, int(bad.group(1)) if bad else 0, re.search(r"99%\s+(\S+)", told).group(1)


def flow(client, handler, trigger):
    id = client.post(FLOWS, {"name": f"Bench {time.monotonic_ns()}", "source": f"return {{{handler}}}", "triggers": [trigger]}, expect=201).data["id"]
    client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    return id


def writes(server, turns, seconds):
    plain, hooked = server.organization().client(), server.organization().client()
    flow(hooked, f"before = function(change) {CHECKS} end", {"type": "hook", "resource": "contact", "action": "create", "phase": "before"})
    alone = flow(hooked, f"on_http = function(request) local change = {{input = request.body or {{}}}} {CHECKS} return {{status = 200}} end", {"type": "http", "path": "x", "auth": "key"})
    kinds = {"without a hook": (server.base + "/v1/contacts", plain), "with a before hook": (server.base + "/v1/contacts", hooked), "the code alone": (f"{server.base}{FLOWS}/{alone}/http/x", hooked)}
    rates = collections.defaultdict(list)
    for _ in range(turns):
        for kind, (url, client) in kinds.items():
            rate, bad, p99 = wrk(url, client.key, seconds, 64)
            rates[kind].append(rate)
            print(f"  {kind}: {rate:.0f}/s, {bad} refused, p99 {p99}")
    for kind, r in rates.items():
        print(f"{kind}: {statistics.median(r):.0f}/s, {statistics.median(a / b for a, b in zip(r, rates['without a hook'])):.2f} of those without, "
              f"{statistics.median(a / b for a, b in zip(r, rates['the code alone'])):.2f} of the code alone")


def slow_host(server, turns):
    web = Web({"/late": lambda handler: (time.sleep(1), handler.answer(200, b"late"))})
    client = server.organization().client()
    id = flow(client, f"on_http = function() local r = wharf.http.get('http://127.0.0.1:{web.port}/late') return {{status = 200, body = r.body}} end", {"type": "http", "path": "x", "auth": "key"})
    for _ in range(turns):
        told, took = collections.Counter(), []

        def ask():
            begun = time.monotonic()
            told[Client(server, None).http.post(f"{server.base}{FLOWS}/{id}/http/x", headers={"SVC-API-KEY": client.key}, timeout=WAIT).status_code] += 1
            took.append(time.monotonic() - begun)
        begun, threads = time.monotonic(), [threading.Thread(target=ask) for _ in range(200)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(f"200 clients, a host that takes a second: {dict(told)} in {time.monotonic() - begun:.1f} s, the last after {max(took):.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    args = parser.parse_args()
    server = Server("--set", "workers=2", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "workflows.cpu_share=0")
    try:
        writes(server, args.turns, args.seconds)
        slow_host(server, min(args.turns, 3))
    finally:
        server.end()


main()
