#!/usr/bin/python3
"""Batches: contacts by a CSV file in the background against COPY of the rows that it leaves, memory while it runs, and what others wait meanwhile:
for their updates, retrieves and lists, and for the webhooks that tell of the updates. Prints figures; asserts nothing. How fast files are read: readers.py.

  tests/bench/batches.py [--rows N] [--runs N] [--others N] [--rounds N] [--large]     BUILD names the build folder

The peer is COPY of the same rows into the same tables with their indexes, in one transaction: contacts, change log, events, words of names.
--others: rows of each batch beside which others wait (60,000), --rounds of them (5); 0: not measured. Their clients are wrk's, which takes next to nothing itself.
--large: an upload of 100 MB, once only validated, once written, for the memory of the job worker.
"""
import argparse
import base64
import datetime
import pathlib
import sys
import tempfile
import threading
import time

import requests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from contacts import Names, copies, copy_in, settled as processed  # noqa: E402
from others import Others, tell  # noqa: E402
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


def post(server, key, collection, body):
    r = requests.post(f"{server.base}/v1/{collection}", json=body, headers={"SVC-API-KEY": key}, timeout=30)
    assert r.status_code == 201, r.text
    return r.json()["data"]


def told(web, since):
    """Milliseconds from the moment of each event since then to its webhook."""
    time.sleep(2)
    clock = time.time() - time.monotonic()
    return [(g.at + clock - datetime.datetime.fromisoformat(g.event["timestamp"].replace("Z", "+00:00")).timestamp()) * 1000 for g in web.got["/calm"] if g.at > since]


def others(server, n, rounds):
    """Idle is measured before the batches: what they leave behind (vacuum, checkpoint, the disk's own cache) is no rest."""
    web, file = Receivers(), file_of(Names(4, 20000), n, "q")
    key = server.organization("Calm").key()
    ids = [post(server, key, "contacts", {"name": f"Ann {i}"})["id"] for i in range(8)]
    post(server, key, "webhooks", {"url": web.url("/calm"), "events": ["contact.updated"]})
    with tempfile.TemporaryDirectory() as folder:
        calm = Others(server, key, "/v1/contacts", "notes", ids, pathlib.Path(folder))
        processed(server)
        server.sql("CHECKPOINT")
        time.sleep(15)
        calm.ask(2)
        begun = time.monotonic()
        idle = calm.ask(8 * rounds)
        idle["webhook"] = told(web, begun)
        busy = {kind: [] for kind in idle}
        for i in range(rounds):
            other, over = server.organization(f"Busy {i}"), threading.Event()
            key = other.key()
            b = start(server, key, "data:text/csv;base64," + base64.b64encode(file).decode())
            thread = threading.Thread(target=lambda: (end(server, key, b["id"]), over.set()))
            thread.start()
            begun = time.monotonic()
            for kind, list in calm.ask(300, over.is_set).items():
                busy[kind] += list
            thread.join()
            busy["webhook"] += told(web, begun)
            processed(server)
    print(f"another organization beside {rounds} batches of {n}, one after the other:")
    tell(idle, busy)


def large(server, only_try):
    org = server.organization("Large")
    key, before = org.key(), peak(server)
    row = "Name Surname,{0}@example.com," + "x" * 420 + "\n"
    n = 100 * 1000 * 1000 // (len(row) + 6)
    text = "Name,Email,Notes\n" + "".join(row.format(f"u{i:06d}") for i in range(n))
    b = requests.post(server.base + "/v1/batches", json={"resource": "contact", "action": "merge", "mode": "async", "data": None, "validate_only": only_try},
                      headers={"SVC-API-KEY": key}, timeout=60).json()["data"]
    url = b["_upload_url"] if b["_upload_url"].startswith("http") else server.base + b["_upload_url"]
    assert requests.put(url, data=text.encode(), headers={"Content-Type": "text/csv"}, timeout=300).status_code < 300
    begun = time.monotonic()
    b = end(server, key, b["id"])
    print(f"upload of {len(text) / 1e6:.0f} MB, {n} rows, {'validated' if only_try else 'written'} in {time.monotonic() - begun:.1f} s ({phases(b)}): job worker {before:.0f} to {peak(server):.0f} MiB")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rows", type=int, default=200000)
    args.add_argument("--runs", type=int, default=1)
    args.add_argument("--others", type=int, default=60000)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--large", action="store_true")
    args = args.parse_args()
    server = Server("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    try:
        if args.large:
            large(server, True)
            large(server, False)
            return
        if args.runs:
            loads(server, args.rows, args.runs)
        if args.others:
            others(server, args.others, args.rounds)
    finally:
        server.end()


if __name__ == "__main__":
    main()
