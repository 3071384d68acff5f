#!/usr/bin/python3
"""Deliveries per second, their latency, and what a backlog costs others, beside a bare libcurl loop. Prints figures; asserts nothing
(docs/performance.md has a run).

  tests/bench/webhooks.py [--events N] [--resources N] [--latency N] [--backlog N] [--concurrency N]     BUILD names the build folder
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from jobs import cpu_seconds  # noqa: E402
from receivers import ADDRESS, Hook, Receivers  # noqa: E402
from wharf import Server  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "hooks"
# Events as a location's update leaves them, of so many resources; their bodies have about two kilobytes.
EVENTS = """WITH e AS (INSERT INTO wharf.event (organization_id, id, created_at, type, "timestamp", resource_type, resource_id, actor_type, actor_id, data,
    previous_attributes, expires_at)
SELECT %s, 'evt_' || lpad(i::text || %s, 22, '0'), wharf.now(), 'location.updated', wharf.now(), 'location', 'loc_' || i %% %s, 'system', 'sys',
    json_build_object('id', 'loc_' || i %% %s, 'object', 'location', 'name', 'n' || i, 'address', json_build_object('formatted', repeat('x', 1700))), '{"name": "before"}',
    wharf.now() + interval '30 days' FROM generate_series(1, %s) i RETURNING organization_id, created_at, id)
INSERT INTO wharf.outbox (organization_id, created_at, event_id) SELECT * FROM e"""


def compiled(folder, name, *libraries):
    out = pathlib.Path(folder) / name
    subprocess.run(["cc", "-O2", "-w", "-o", out, HERE / (name + ".c"), *libraries], check=True)
    return out


class Receiver:
    def __init__(self, program, *args):
        self.process = subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}/"

    def count(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def waiting(server, hook):
    return server.sql("SELECT count(*) FROM webhooks.queue WHERE webhook_id = %s", hook)[0][0]


def hold(server, hook, held):
    server.sql("UPDATE webhooks.webhook SET status = %s, enable_at = wharf.now() + interval '1 day' WHERE id = %s", "suspended" if held else "enabled", hook)
    server.sql("UPDATE webhooks.runtime SET slow_limit = NULL, next_due_at = wharf.now() WHERE webhook_id = %s", hook)
    server.sql("NOTIFY wharf_processed")


def add_events(server, org, salt, resources, n):
    server.sql(EVENTS, org.id, salt, resources, resources, n)
    server.sql("NOTIFY wharf_event")
    while server.sql("SELECT 1 FROM wharf.outbox WHERE event_id IS NOT NULL LIMIT 1"):
        time.sleep(0.02)


def throughput(server, org, client, receiver, peer, n, resources, concurrency):
    made = client.post("/v1/webhooks", {"url": receiver.url, "events": ["location.updated"], "max_concurrency": concurrency}, expect=201).data["id"]
    hold(server, made, True)
    begun = time.monotonic()
    add_events(server, org, f"a{resources}", resources, n)
    print(f"{n} events of {resources} resources processed: {n / (time.monotonic() - begun):8.0f}/s", flush=True)
    before, begun, heard = cpu_seconds(server.process.pid), time.monotonic(), receiver.count()
    hold(server, made, False)
    while receiver.count() - heard < n:
        time.sleep(0.01)
    sent = time.monotonic()
    while waiting(server, made):
        time.sleep(0.02)
    rate = n / (sent - begun)
    print(f"{n} deliveries over {resources} resources, {concurrency} at a time: {rate:8.0f}/s, {(cpu_seconds(server.process.pid) - before) / n * 1e6:5.0f}"
          f" us of CPU each, database included; settled after another {time.monotonic() - sent:.2f} s", flush=True)
    bare = float(subprocess.run([peer, receiver.url, str(n), str(concurrency), "2200"], capture_output=True, text=True, check=True).stdout)
    print(f"bare libcurl loop, {concurrency} at a time: {bare:8.0f}/s; deliveries are {rate / bare:.2f} of it", flush=True)
    client.delete("/v1/webhooks/" + made)


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p))]


def latencies(client, web, hook, n):
    """From the answer of a write (its transaction has committed) to the request at the receiver, one after the other."""
    found, writes = [], []
    for i in range(n):
        heard, begun = len(hook.got), time.monotonic()
        client.post("/v1/locations", {"name": f"L{i}", "address": ADDRESS}, expect=201)
        answered = time.monotonic()
        while len(hook.got) == heard:
            time.sleep(0.0005)
        found.append((hook.got[heard].at - answered) * 1000)
        writes.append((answered - begun) * 1000)
        time.sleep(0.02)
    return found, writes


def tell(what, values):
    print(f"{what:60s} p50 {percentile(values, .5):6.1f} ms   p99 {percentile(values, .99):6.1f} ms", flush=True)


SERVER = ("--modules", "org,locations,events,webhooks", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "net.transfers=2000")


class Place:
    """What a Hook needs of its world."""

    def __init__(self, web, path):
        self.web, self.path = web, lambda: path


def backlog(server, web, n, samples):
    """The same measure on this server, with n deliveries that wait, and on one without, by turns: so both see the same machine."""
    plain = Server(*SERVER)
    try:
        sides = {}
        for name, s in (("without", plain), ("beside", server)):
            client = s.organization().client()
            sides[name] = (client, Hook(Place(web, "/" + name), client, events=["location.created"]))
        other = server.organization()
        dead = other.client().post("/v1/webhooks", {"url": "http://127.0.0.1:1030/", "events": ["location.updated"]}, expect=201).data["id"]
        begun = time.monotonic()
        add_events(server, other, "b", 100000, n)
        print(f"{n} deliveries to a dead endpoint made in {time.monotonic() - begun:.0f} s", flush=True)
        for s in (server, plain):  # what a million new rows give the database to do is not what is asked here
            s.sql("VACUUM (ANALYZE)")
            s.sql("CHECKPOINT")
        found, writes = {k: [] for k in sides}, {k: [] for k in sides}
        for i in range(samples):
            for name, (client, hook) in sides.items():
                f, w = latencies(client, web, hook, 1)
                if i >= 20:
                    found[name] += f
                    writes[name] += w
        for name in sides:
            tell(f"commit to POST, {name} them", found[name])
            tell(f"a write of the API, {name} them", writes[name])
        print(f"of the medians: commit to POST {percentile(found['beside'], .5) / percentile(found['without'], .5):.2f},"
              f" a write {percentile(writes['beside'], .5) / percentile(writes['without'], .5):.2f}", flush=True)
        print(json.dumps(other.client().get("/v1/webhooks/" + dead).data["stats"]["last_24h"]))
    finally:
        plain.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--events", type=int, default=60000)
    p.add_argument("--resources", type=int, default=20000)
    p.add_argument("--latency", type=int, default=300)
    p.add_argument("--backlog", type=int, default=1000000)
    p.add_argument("--concurrency", type=int, default=100, help="max_concurrency of the webhook (the default of one is 100)")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        receiver = Receiver(compiled(folder, "receiver"))
        peer = compiled(folder, "peer", "-lcurl", "-lcrypto")
        web = Receivers()
        server = Server(*SERVER)
        try:
            org = server.organization()
            client = org.client()
            throughput(server, org, client, receiver, peer, args.events, args.resources, args.concurrency)
            throughput(server, org, client, receiver, peer, 2000, 1, 100)
            hook = Hook(Place(web, "/latency"), client, events=["location.created"])
            latencies(client, web, hook, 20)
            found, writes = latencies(client, web, hook, args.latency)
            tell("commit to POST, idle", found)
            tell("a write of the API, idle", writes)
            if args.backlog:
                backlog(server, web, args.backlog, args.latency)
        finally:
            server.check_events = lambda: None  # the events above have bodies of our own
            receiver.close()
            server.stop()


if __name__ == "__main__":
    main()
