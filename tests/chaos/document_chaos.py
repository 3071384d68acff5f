"""What tests of documents under faults share: a server that comes back with its data, a client that sends again until it is answered and knows what
was acknowledged, and the comparison of the server with that.
"""
import os
import pathlib
import random
import shutil
import signal
import socket
import sys
import threading
import time

import requests

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/documents")]
from document_files import DOCUMENTS, b64, sha256  # noqa: E402
from s3 import Store  # noqa: E402, F401
from wharf import PROGRAM, WAIT, Client, Server, until  # noqa: E402, F401

HANG = 90  # a client that waits longer for one answer hangs
UNLIMITED = ("--set", "documents.create_limits.ip=0", "--set", "documents.create_limits.user=0", "--set", "documents.create_limits.organization=0")
STATUSES = {"requested", "completed", "failed", "expired"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class World:
    """A server of documents that can be killed in parts and as a whole, and comes back at the same address with the same data."""

    def __init__(self, store=None, *more):
        """store: the S3 server that has the files; more: arguments of the server."""
        self.store = store
        self.alone = threading.Lock()  # a command of its own starts the database of a server that is away, and has its folder then
        self.args = ("--modules", "org,documents", "--test-clock", "--set", "blob.grace=0", "--listen", f"127.0.0.1:{free_port()}", *UNLIMITED, *(store.settings() if store else ["--set", "blob.driver=dir"]), *more)
        self.server, self.offset = Server(*self.args), 0
        self.server.keep, self.folder = True, self.server.folder
        self.org = self.server.organization("Documents")
        self.key = self.org.key()

    def restart(self, env=None):
        """kill -9 of the supervisor, so of all; then it starts again."""
        with self.alone:
            self.restart_alone(env)

    def restart_alone(self, env):
        old = self.server
        old.process.kill()
        old.process.wait()
        if old._db:
            old._db.close()
        old.log.close()
        Server.running.remove(old)
        until(self.port_is_free)  # its workers end by themselves
        self.server = Server(*self.args, env=env, folder=self.folder)

    def port_is_free(self):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", int(self.args[self.args.index("--listen") + 1].split(":")[1])))
                return True
            except OSError:
                return False

    def kill(self, what):
        if what == "server":
            self.restart()
        elif what == "postgres":
            try:
                self.server.kill_database()
            except (OSError, ValueError):
                pass  # it is being started
            self.server._db = None
        else:
            for pid in self.server.workers(what):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def ready(self):
        until(self.server.can_be_asked)
        self.server._db = None  # the connection of the test may have been cut as well

    def ahead(self, seconds):
        self.offset += seconds
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def collect(self):
        with self.alone:
            return self.server.command("files", "collect", *self.server.settings())

    def objects(self):
        if self.store:
            with self.store.lock:
                return {name.rsplit("/", 1)[1] for name in self.store.objects}
        return {p.name for p in (self.server.folder / "blobs" / "objects").glob("*/*")}

    def folders(self):
        """The first two digits of hashes that have a folder, also when nothing is in it any more."""
        return set() if self.store else {p.name for p in (self.server.folder / "blobs" / "objects").iterdir()}

    def temporary(self):
        return list((self.server.folder / "blobs" / "tmp").iterdir())

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.store:
            self.store.shutdown()
            self.store.server_close()


class Document:
    """What was acknowledged of one document."""

    def __init__(self, row, name, visibility):
        self.id, self.filename, self.name, self.visibility = row["id"], row["filename"], name, visibility
        self.status, self.versions, self.gone = row["status"], [], None
        self.announced = None  # the bytes whose hash was announced

    @property
    def public_path(self):
        return f"/v1/public/documents/{self.id}/{self.filename}"


class Courier:
    """A client that sends each request, with one Idempotency-Key, until it is answered, and looks at once whether what it was told holds."""

    def __init__(self, world, name, sizes=(1, 200, 5000, 300000)):
        self.world, self.name, self.random, self.sizes, self.n = world, name, random.Random(name), sizes, 0
        self.http, self.documents, self.acknowledged, self.sent_again = requests.Session(), [], 0, 0

    def bytes(self):
        return self.random.randbytes(self.random.choice(self.sizes)) + f" of {self.name}".encode()

    def ask(self, method, path, **more):
        """Sends until somebody answers who is not in trouble. Returns the answer, and whether it was sent more than once."""
        begun, tries = time.monotonic(), 0
        while time.monotonic() - begun < HANG:
            tries += 1
            try:
                r = self.http.request(method, self.world.server.base + path, timeout=HANG, **more)
            except requests.RequestException:
                time.sleep(0.02)
                continue
            if r.status_code not in (500, 502, 503, 504) and not (r.status_code == 409 and r.json()["code"] in ("idempotency.in_progress", "conflict")):
                self.sent_again += tries > 1
                return r, tries > 1
            time.sleep(0.02)
        raise AssertionError(f"{method} {path} hangs")

    def write(self, method, path, body=None, expect=200):
        self.n += 1
        r, _ = self.ask(method, path, json=body, headers={"SVC-API-KEY": self.world.key, "Idempotency-Key": f"{self.name}-{self.n}"})
        assert r.status_code == expect, (method, path, r.status_code, r.text[:500])
        self.acknowledged += 1
        return r.json()["data"]

    def read(self, path, expect=200):
        r, _ = self.ask("GET", path, headers={"SVC-API-KEY": self.world.key})
        assert r.status_code == expect, (path, r.status_code, r.text[:500])
        return r

    # ---- what clients do ----

    def create(self, content=None, visibility=None, data=None, **more):
        """With content, or without: then the row with the upload_url is in .row."""
        name, visibility = f"{self.name} {self.n}", visibility or self.random.choice(["public", "private"])
        body = {"name": name, "filename": "a.bin", "visibility": visibility, **more}
        if content is not None:
            body["content"] = b64(content)
        row = self.write("POST", DOCUMENTS, body, 201)
        d = Document(row, name, visibility)
        d.row = row
        self.documents.append(d)
        if content is not None:
            assert row["status"] == "completed" and row["checksum_sha256"] == sha256(content), row
            d.versions.append(content)
        return d

    def renew(self, d):
        d.row = self.write("POST", f"{DOCUMENTS}/{d.id}", {"renew_upload": True})
        if not d.versions:
            d.status = "requested"

    def bring(self, d, data, wrong=False):
        """PUT of the bytes. wrong: they are not those that were announced. A PUT whose answer was lost is answered by 409 when it was taken."""
        r, again = self.ask("PUT", d.row["upload_url"].removeprefix(self.world.server.base), data=data, headers=d.row["upload_headers"])
        told = (r.status_code, r.json()["code"] if r.status_code >= 400 else None)
        good = [(400, "file.upload_invalid"), (404, "not_found")] if wrong else [(200, None), (409, "file.already_uploaded")]
        assert told == good[0] or (again and told == good[1]), (told, again, r.text[:500])
        if not wrong:
            d.versions.append(data)
        if not (wrong and d.versions):
            d.status = "failed" if wrong else "completed"
        self.acknowledged += 1

    def store(self, d, content):
        row = self.write("POST", f"{DOCUMENTS}/{d.id}", {"content": b64(content)})
        d.versions.append(content)
        d.status = "completed"
        assert row["versions_count"] == len(d.versions), row

    def show(self, d, visibility):
        """Changes the visibility, and looks at the public URL right away."""
        self.write("POST", f"{DOCUMENTS}/{d.id}", {"visibility": visibility})
        d.visibility = visibility
        self.look_in_public(d)

    def remove(self, d, purge=False):
        self.write("DELETE", f"{DOCUMENTS}/{d.id}" + ("?purge=true" if purge else ""))
        d.gone = "purged" if purge else "deleted"
        self.look_in_public(d)

    # ---- whether it holds ----

    def look_in_public(self, d):
        r, _ = self.ask("GET", d.public_path)
        if d.gone or d.visibility == "private" or not d.versions:
            assert r.status_code == 404, (d.id, d.visibility, d.gone, r.status_code)
        else:
            assert (r.status_code, sha256(r.content)) == (200, sha256(d.versions[-1])), (d.id, r.status_code)

    def look_at(self, d):
        self.look_in_public(d)
        if d.gone:
            for path in ("", "/content"):
                self.read(f"{DOCUMENTS}/{d.id}{path}", 404)
            return
        row = self.read(f"{DOCUMENTS}/{d.id}").json()["data"]
        assert row["status"] in STATUSES
        assert (row["status"], row["visibility"], row["versions_count"]) == (d.status, d.visibility, len(d.versions)), (row, d.__dict__)
        if not d.versions:
            self.read(f"{DOCUMENTS}/{d.id}/content", 409)
            return
        assert (row["checksum_sha256"], row["size"], row["version"]) == (sha256(d.versions[-1]), len(d.versions[-1]), len(d.versions)), row
        for i, content in enumerate(d.versions, 1):
            assert sha256(self.read(f"{DOCUMENTS}/{d.id}/content?version={i}").content) == sha256(content), (d.id, i)


class Round(threading.Thread):
    """A courier that does at random what clients do, until it is told to stop."""

    def __init__(self, world, name, stop):
        super().__init__(daemon=True)
        self.courier, self.stop, self.odd = Courier(world, name), stop, None

    def run(self):
        try:
            while not self.stop.is_set():
                self.step()
        except Exception as e:  # the test says so
            self.odd = e

    def step(self):
        c = self.courier
        d = c.random.choice([d for d in c.documents if not d.gone] or [None])
        what = c.random.random()
        if d is None or what < 0.2:
            c.create(c.bytes())
        elif what < 0.45:
            self.announced(c.bytes())
        elif what < 0.6 and d.status == "completed":
            c.store(d, c.bytes())
        elif what < 0.7:
            c.renew(d)
            if c.random.random() < 0.7:
                c.bring(d, c.bytes() if d.versions or not d.announced else d.announced)
        elif what < 0.85:
            c.show(d, "private" if d.visibility == "public" else "public")
        else:
            c.remove(d, purge=c.random.random() < 0.5)

    def announced(self, data):
        """A document that is announced; for some, other bytes come."""
        c = self.courier
        d = c.create(checksum_sha256=sha256(data))
        d.announced = data
        if c.random.random() < 0.2:
            c.bring(d, data + b"!", wrong=True)
            if c.random.random() < 0.5:
                return
            c.renew(d)
        if c.random.random() < 0.8:
            c.bring(d, data)


def collected(world, condition):
    """Collects until it holds: the server collects by itself too, and what it has begun with a collection beside it leaves to it."""
    until(lambda: world.collect() is not None and condition(), "objects, files or temporary files are left, or too few are there")


def compare(world, couriers):
    """All that was acknowledged is there, once; nothing else is there; nothing is left over after the collection, nor when a month has gone."""
    world.ready()
    documents = [d for c in couriers for d in c.documents]
    for c in couriers:
        for d in c.documents:
            c.look_at(d)
    live, gone = [d for d in documents if not d.gone], [d for d in documents if d.gone]
    ids = [row[0] for row in world.server.sql("SELECT id FROM documents.document WHERE organization_id = %s AND deleted_at IS NULL", world.org.id)]
    assert sorted(ids) == sorted(d.id for d in live)
    for path in world.temporary():  # of killed processes; erased after a day
        os.utime(path, (time.time() - 90000,) * 2)
    kept = {sha256(v) for d in documents if d.gone != "purged" for v in d.versions}
    collected(world, lambda: world.temporary() == [] and world.objects() == kept)
    world.server.check_rows()
    return len(live), len(gone)


def after_a_month(world, couriers):
    """Bytes of deleted documents go after 30 days, and what nobody brought is expired."""
    world.ahead(30 * 86400 + 120)
    until(lambda: world.server.sql("SELECT 1 FROM documents.document WHERE deleted_at <= wharf.now() - interval '30 days'") == [])
    until(lambda: world.server.sql("SELECT 1 FROM documents.document WHERE status = 'requested' AND deleted_at IS NULL") == [])
    live = [d for c in couriers for d in c.documents if not d.gone]
    names, orphans = {sha256(v) for d in live for v in d.versions}, """
        SELECT 1 FROM wharf.file f WHERE f.plugin = 'documents' AND NOT EXISTS (SELECT 1 FROM documents.version v WHERE v.file_id = f.id)
        AND NOT EXISTS (SELECT 1 FROM documents.document d WHERE d.upload_id = f.id AND d.deleted_at IS NULL) AND NOT EXISTS (SELECT 1 FROM documents.preview p WHERE p.file_id = f.id)"""
    collected(world, lambda: world.objects() == names and world.server.sql(orphans) == [])
    world.server.check_rows()
