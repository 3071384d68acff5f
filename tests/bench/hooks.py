#!/usr/bin/python3
"""What operators' hooks cost around requests, and how long a change of their folder takes. Prints figures; asserts nothing.

  tests/bench/hooks.py [--rounds N]     BUILD names the build folder

1. requests: GET of a contact without hooks, with a request and a response hook, with one of them; GET of a route of a hook that returns a constant, and of one that
   reads a row with wharf.db.query. One caller on one connection, the kinds in turns, so that the machine's moods meet all.
2. reload: 50 files with two before hooks each; POST /v1/system/lua-hooks/reload from the last file written to the new rules in all workers, and the same without the
   300 ms of quiet that the server waits for; callers write meanwhile, and what they were answered is counted.
Before hooks: tests/bench/lua.py --hooks. Inside of a process: build/tests/bench/hook_calls.
"""
import argparse
import http.client
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "api"))
from wharf import Client, Server  # noqa: E402

REQUEST = "wharf.hook.request(function(r) return { headers = { ['X-A'] = r.method } } end)\n"
RESPONSE = "wharf.hook.response(function(a) return { headers = { ['X-B'] = a.status } } end)\n"
ROUTES = """
wharf.hook.route("GET", "/v1/x/constant", { scope = "any", location = "none" }, function() return { a = 1 } end)
wharf.hook.route("GET", "/v1/x/row/:id", { scope = "any", location = "none" }, function(r)
  return wharf.db.query("SELECT id, name FROM contacts.contact WHERE id = $1", r.params.id)[1]
end)
"""


def quantiles(v):
    v = sorted(v)
    return f"p50 {v[len(v) // 2] * 1e6:.0f} us, p99 {v[int(len(v) * 0.99)] * 1e6:.0f} us"


def requests_around(server, client, folder, rounds):
    id = client.post("/v1/contacts", {"name": "A"}, expect=201).data["id"]
    kinds = {"a contact, no hooks": ("", f"/v1/contacts/{id}"), "a contact, request and response hook": (REQUEST + RESPONSE, f"/v1/contacts/{id}"),
             "a contact, request hook": (REQUEST, f"/v1/contacts/{id}"), "a contact, response hook": (RESPONSE, f"/v1/contacts/{id}"),
             "a hook's route, constant": (ROUTES, "/v1/x/constant"), "a hook's route, one row": (ROUTES, f"/v1/x/row/{id}")}
    times = {kind: [] for kind in kinds}
    host = server.base[7:]
    for _ in range(rounds):
        for kind, (text, path) in kinds.items():
            (folder / "10-rule.lua").write_text(text)
            client.post("/v1/system/lua-hooks/reload", {}, expect=200)
            c = http.client.HTTPConnection(host)
            for i in range(520):
                t = time.monotonic()
                c.request("GET", path, headers={"SVC-API-KEY": client.key})
                r = c.getresponse()
                r.read()
                if i >= 20 and r.status == 200:
                    times[kind].append(time.monotonic() - t)
            c.close()
    base = statistics.median(times["a contact, no hooks"])
    for kind, v in times.items():
        print(f"GET of {kind}: {len(v)} requests, {quantiles(v)}, p50 {(statistics.median(v) - base) * 1e6:+.0f} us")


def reloads(server, client, folder, rounds):
    stop, answers = threading.Event(), {}

    def write():
        mine = Client(server, client.key)
        while not stop.is_set():
            status = mine.request("POST", "/v1/contacts", {"name": "x"}, check=False).status
            answers[status] = answers.get(status, 0) + 1
            time.sleep(0.005)
    for load in (False, True):
        stop.clear()
        threads = [threading.Thread(target=write) for _ in range(2)] if load else []
        for t in threads:
            t.start()
        took = []
        for n in range(rounds):
            for i in range(50):
                (folder / f"{i:02}-part.lua").write_text(
                    f"-- {n} {load}\nlocal function look(c) if c.input.name == '{i}' then wharf.reject('no') end end\n"
                    "wharf.hook.before('contact', 'create', look)\nwharf.hook.before('location', 'create', look)\n")
            t = time.monotonic()
            client.post("/v1/system/lua-hooks/reload", {}, expect=200)
            took.append(time.monotonic() - t)
        stop.set()
        for t in threads:
            t.join()
        took.sort()
        print(f"reload of 50 files {'beside writes' if load else 'alone'}: median {took[len(took) // 2] * 1e3:.0f} ms, most {took[-1] * 1e3:.0f} ms; without the 300 ms of quiet"
              f" {took[len(took) // 2] * 1e3 - 300:.0f} and {took[-1] * 1e3 - 300:.0f} ms")
    print(f"answers meanwhile: {answers}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-hooks-"))
    os.chmod(folder, 0o755)
    server = Server("--modules", "org,locations,contacts", "--set", f"lua_hooks.dir={folder}", "--set", "workers=2")
    try:
        org = server.organization()
        client = Client(server, re.search(r"wh_live_[0-9A-Za-z]{38}", server.command("key", "create", "--org", org.id, "--scopes", "all", "--system")).group(0))
        requests_around(server, client, folder, rounds)
        reloads(server, client, folder, rounds)
    finally:
        server.end()
        shutil.rmtree(folder)


main()
