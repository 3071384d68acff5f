#!/usr/bin/python3
"""Batches: contacts by a CSV file in the background against COPY of the rows that it leaves, memory while it runs, and what others wait meanwhile:
for their updates, and for the webhooks that tell of them. Prints figures; asserts nothing. How fast files are read: readers.py.

  tests/bench/batches.py [--rows N] [--runs N] [--others N] [--large]     BUILD names the build folder

The peer is COPY of the same rows into the same tables with their indexes, in one transaction: contacts, change log, events, words of names.
--others: rows of the batch beside which others wait (100,000); 0: not measured.
--large: an upload of 100 MB that is only validated, for the memory of the job worker.
"""
import argparse
import base64
import concurrent.futures
import pathlib
import statistics
import sys
import threading
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from contacts import Names, copies, copy_in, settled as processed  # noqa: E402
from receivers import Receivers  # noqa: E402
from wharf import Server  # noqa: E402

MODULES = "org,locations,contacts,events,batches,webhooks"


def file_of(names, n, prefix):
    rows = ["Name,Email,Phone,metadata.csv_import,metadata.dock"]
    rows += [f"{names.name()},{prefix}{i}@example.com,+1201{5000000 + i:07d},batch {i % 7},{i % 40}" for i in range(n)]
    return "\n".join(rows).encode()


def peak(server):
    """Largest resident size of the job workers so far, MiB."""
    most = 0
    for pid in server.workers("job"):
        status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
        most = max(most, int(status["VmHWM"].split()[0]) / 1024)
    return most


def start(server, key, data, **more):
    r = requests.post(server.base + "/v1/batches", json={"resource": "contact", "action": "merge", "mode": "async", "data": data, **more}, headers={"SVC-API-KEY": key}, timeout=300)
    assert r.status_code == 202, r.text
    return r.json()["data"]


def end(server, key, id):
    while True:
        b = requests.get(f"{server.base}/v1/batches/{id}", headers={"SVC-API-KEY": key}, timeout=60).json()["data"]
        if b["status"] not in ("queued", "processing", "requested"):
            assert b["status"] == "completed", b
            return b
        time.sleep(0.1)


def phases(b):
    def moment(text):
        return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:23])
    return ", ".join(f"{p['name']} {moment(p['finished_at']) - moment(p['started_at']):.1f} s" for p in b["phases"])


def loads(server, n, runs):
    names = Names(3, 20000)
    for run in range(runs):
        org, peer = server.organization(f"Batch {run}"), server.organization(f"Copy {run}")
        key, text = org.key(), file_of(names, n, "p")
        before = peak(server)
        begun = time.monotonic()
        b = start(server, key, "data:text/csv;base64," + base64.b64encode(text).decode())
        asked = time.monotonic() - begun
        b = end(server, key, b["id"])
        took = time.monotonic() - begun
        assert b["stats"]["created"] == n, b["stats"]
        processed(server)
        other = copy_in(server, copies(server, org.id), org.id, peer.id)
        print(f"run {run + 1}: {n} contacts in {took:.1f} s, {n / took:.0f}/s (taken in {asked:.1f} s; {phases(b)}); COPY {other:.1f} s, ratio {other / took:.2f};"
              f" job worker {before:.0f} to {peak(server):.0f} MiB", flush=True)


def waits(server, key, id, seconds, stop=lambda: False):
    """Milliseconds of single updates."""
    http, found, until = requests.Session(), [], time.monotonic() + seconds
    while time.monotonic() < until and not stop():
        begun = time.monotonic()
        r = http.post(f"{server.base}/v1/contacts/{id}", json={"notes": str(begun)}, headers={"SVC-API-KEY": key}, timeout=60)
        found.append((time.monotonic() - begun) * 1000)
        assert r.status_code == 200, r.text
        time.sleep(0.1)  # webhooks of one record go one after the other: faster than they go is no measure
    return found


def waits_of(server, key, ids, seconds, stop=lambda: False):
    """The same of several records at a time: one alone gives too few for a percentile."""
    with concurrent.futures.ThreadPoolExecutor(len(ids)) as pool:
        return [ms for found in pool.map(lambda id: waits(server, key, id, seconds, stop), ids) for ms in found]


def p99(list):
    return statistics.quantiles(list, n=100)[98]


def deliveries(web, path, since):
    """Milliseconds from the begin of each update since then to its webhook."""
    time.sleep(2)
    found = [(g.at, float(g.event["data"]["notes"])) for g in web.got[path]]
    return [(at - begun) * 1000 for at, begun in found if begun >= since]


def beside(name, idle, busy):
    print(f"{name}: idle p50 {statistics.median(idle):.1f} ms, p99 {p99(idle):.1f} ms; beside the batch p50 {statistics.median(busy):.1f} ms, p99 {p99(busy):.1f} ms,"
          f" {p99(busy) / p99(idle):.1f} times ({len(busy)})")


def others(server, n):
    calm, web = server.organization("Calm"), Receivers()
    key = calm.key()
    head = {"SVC-API-KEY": key}
    ids = [requests.post(server.base + "/v1/contacts", json={"name": f"Ann {i}"}, headers=head, timeout=30).json()["data"]["id"] for i in range(8)]
    r = requests.post(server.base + "/v1/webhooks", json={"url": web.url("/calm"), "events": ["contact.updated"]}, headers=head, timeout=30)
    assert r.status_code == 201, r.text
    waits_of(server, key, ids, 2)
    begun = time.monotonic()
    idle = waits_of(server, key, ids, 20)
    idle_told = deliveries(web, "/calm", begun)
    busy = server.organization("Busy")
    other, names = busy.key(), Names(4, 20000)
    b = start(server, other, "data:text/csv;base64," + base64.b64encode(file_of(names, n, "q")).decode())
    over = threading.Event()
    thread = threading.Thread(target=lambda: (end(server, other, b["id"]), over.set()))
    thread.start()
    begun = time.monotonic()
    during = waits_of(server, key, ids, 60, over.is_set)
    thread.join()
    told = deliveries(web, "/calm", begun)
    beside(f"single updates of another organization, batch of {n}", idle, during)
    beside("from their begin to their webhook", idle_told, told)


def large(server):
    org = server.organization("Large")
    key, before = org.key(), peak(server)
    row = "Name Surname,{0}@example.com," + "x" * 420 + "\n"
    n = 100 * 1000 * 1000 // (len(row) + 6)
    text = "Name,Email,Notes\n" + "".join(row.format(f"u{i:06d}") for i in range(n))
    b = requests.post(server.base + "/v1/batches", json={"resource": "contact", "action": "merge", "mode": "async", "data": None, "validate_only": True},
                      headers={"SVC-API-KEY": key}, timeout=60).json()["data"]
    url = b["_upload_url"] if b["_upload_url"].startswith("http") else server.base + b["_upload_url"]
    assert requests.put(url, data=text.encode(), headers={"Content-Type": "text/csv"}, timeout=300).status_code < 300
    begun = time.monotonic()
    b = end(server, key, b["id"])
    print(f"upload of {len(text) / 1e6:.0f} MB, {n} rows, validated in {time.monotonic() - begun:.1f} s ({phases(b)}): job worker {before:.0f} to {peak(server):.0f} MiB")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rows", type=int, default=200000)
    args.add_argument("--runs", type=int, default=1)
    args.add_argument("--others", type=int, default=100000)
    args.add_argument("--large", action="store_true")
    args = args.parse_args()
    server = Server("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    try:
        if args.large:
            large(server)
            return
        loads(server, args.rows, args.runs)
        if args.others:
            others(server, args.others)
    finally:
        server.end()


main()
