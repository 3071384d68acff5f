"""Stored bytes that are damaged or lost: the job that reads them, its log, metric and check, and what documents tell (spec 05 section 6.1). On a
directory, and on an S3-compatible server."""
import os
import pathlib
import re
import shutil
import tempfile
import threading

import pytest
import requests

from document_files import DOCUMENTS, b64, get, make, post, sha256
from s3 import Store
from wharf import WAIT, Client, Server, until

DAY = 86400
MODULES = ("--modules", "org,documents", "--test-clock")


class World:
    def __init__(self, kind, *args):
        self.s3 = Store() if kind == "s3" else None
        self.server = Server(*MODULES, *(self.s3.settings() if self.s3 else ()), *args)
        self.org, self.offset = self.server.organization(), 0
        self.client = self.org.client()

    def stop(self):
        self.server.stop()
        if self.s3:
            self.s3.shutdown()
            self.s3.server_close()

    def ahead(self, seconds):
        self.offset += seconds
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def object(self, data):
        h = sha256(data)
        return f"objects/{h[:2]}/{h}"

    def change(self, data, to):
        """The object of these bytes; to: other bytes, or None for none."""
        name = self.object(data)
        if self.s3 and to is None:
            del self.s3.objects[name]
        elif self.s3:
            self.s3.objects[name] = (to, *self.s3.objects[name][1:])
        else:
            path = self.server.folder / "blobs" / name
            path.unlink()
            if to is not None:
                path.write_bytes(to)

    def read_at(self, row):
        return self.server.sql("SELECT max(f.read_at) FROM wharf.file f WHERE f.hash = %s", row["checksum_sha256"])[0][0]

    def log(self, event, text):
        return [line for line in (self.server.folder / "wharf.log").read_text().splitlines() if f'"{event}"' in line and text in line]

    def metric(self):
        return int(re.search(r"^wharf_blob_damaged (\d+)$", requests.get(self.server.admin + "/metrics", timeout=WAIT).text, re.M)[1])

    def checked(self):
        return self.server.verify("--check", "files.damaged")["files.damaged"]


@pytest.fixture(scope="module", params=["dir", "s3"])
def world(request):
    w = World(request.param)
    yield w
    w.stop()


def flipped(data):
    return data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1:]


def reason(world, row):
    return get(world.client, row)["failure_reason"]


def events(world, row, type="document.damaged"):
    return [e[1] for e in world.org.events(row["id"], type)]


def read_all(world, *rows):
    """Moves the clock until the job has read them."""
    before = [world.read_at(r) for r in rows]
    world.ahead(31 * DAY)
    until(lambda: all(world.read_at(r) != b for r, b in zip(rows, before)))


def test_what_is_whole(world):
    """Objects are read each 30 days, and not before; nothing is told of those that are whole."""
    row = make(world.client, b"whole" * 1000)
    assert world.read_at(row) is None
    read_all(world, row)
    first = world.read_at(row)
    world.ahead(29 * DAY)
    other = make(world.client, b"young")
    world.ahead(600)
    read_again = make(world.client, b"a witness")
    world.server.sql("UPDATE wharf.file SET stored_at = stored_at - interval '40 days' WHERE hash = %s", read_again["checksum_sha256"])
    world.ahead(600)
    until(lambda: world.read_at(read_again))
    assert world.read_at(row) == first and world.read_at(other) is None
    assert reason(world, row) is None and events(world, row) == [] and world.checked()["faults"] == 0
    until(lambda: world.metric() == 0)


@pytest.mark.parametrize("how, said, told", [("flipped", "damaged", "damaged"), ("cut", "damaged", "damaged"), ("longer", "damaged", "damaged"), ("lost", "missing", "lost")])
def test_what_is_not(world, how, said, told):
    """Log with file and hash, gauge, check, failure_reason, event; the status stays; the same bytes mend it, and the next run says so."""
    data = f"{how} ".encode() * 200000  # more than one piece
    row, twin, whole = make(world.client, data), make(world.client, data, name="Twin of it"), make(world.client, f"beside {how}".encode())
    file = world.server.sql("SELECT file_id FROM documents.document WHERE id = %s", row["id"])[0][0]
    world.change(data, {"flipped": flipped(data), "cut": data[:-1], "longer": data + b"!", "lost": None}[how])
    assert reason(world, row) is None
    world.ahead(31 * DAY)
    until(lambda: reason(world, row) == said and reason(world, twin) == said)
    until(lambda: world.read_at(whole))
    seen = get(world.client, row)
    assert (seen["status"], seen["checksum_sha256"], seen["version"]) == ("completed", sha256(data), 1)
    assert [(e["id"], e["damage"], e["damaged_version"], e["failure_reason"]) for e in events(world, row)] == [(row["id"], said, 1, said)] and len(events(world, twin)) == 1
    assert events(world, whole) == [] and reason(world, whole) is None
    line = world.log(f"blob.{told}", sha256(data))
    files = [f for f, in world.server.sql("SELECT id FROM wharf.file WHERE hash = %s", sha256(data))]
    assert len(line) == 1 and any(f in line[0] for f in files) and "2 files in all" in line[0] and '"error"' in line[0] and file in files
    until(lambda: world.metric() == 1)
    shown = world.checked()
    assert shown["faults"] == 2 and told in shown["shown"][0]["wrong"] and sha256(data) in shown["shown"][0]["wrong"]
    world.ahead(600)  # still so: nothing is told twice
    until(lambda: world.server.sql("SELECT 1 FROM wharf.file WHERE hash = %s AND read_at > %s::timestamptz", sha256(data), seen["updated_at"]))
    world.ahead(600)
    mender = make(world.client, data, name="Mends it")
    assert reason(world, mender) is None
    # PostgreSQL returns the files of an object in any order: here the one that was whole before comes first
    world.server.sql("BEGIN; UPDATE wharf.file SET hash = reverse(hash) WHERE hash = %s AND damage IS NOT NULL; UPDATE wharf.file SET hash = reverse(hash) WHERE hash = reverse(%s); COMMIT",
                     sha256(data), sha256(data))
    for _ in range(2):
        world.ahead(600)
    until(lambda: reason(world, row) is None and reason(world, twin) is None)
    assert len(events(world, row)) == 1 and events(world, row, "document.updated")[-1]["failure_reason"] is None and events(world, mender) == []
    assert len(world.log("blob.mended", sha256(data))) == 1 and len(world.log(f"blob.{told}", sha256(data))) == 1
    until(lambda: world.metric() == 0)
    assert world.checked()["faults"] == 0
    content = requests.get(f"{world.server.base}{DOCUMENTS}/{row['id']}/content", headers={"SVC-API-KEY": world.client.key}, timeout=WAIT)
    assert content.content == data


def test_versions(world):
    """An older version is told by its number, and the document is as it was; a new version ends what was said of the current one."""
    old, new = b"first version", b"second version"
    row = make(world.client, old)
    post(world.client, row, content=b64(new))
    world.change(old, None)
    world.ahead(31 * DAY)
    until(lambda: events(world, row))
    assert [(e["damage"], e["damaged_version"], e["version"]) for e in events(world, row)] == [("missing", 1, 2)] and reason(world, row) is None
    world.change(new, flipped(new))
    world.ahead(31 * DAY)
    until(lambda: reason(world, row) == "damaged")
    post(world.client, row, content=b64(b"third version"))
    assert reason(world, row) is None
    make(world.client, old)
    make(world.client, new)
    world.ahead(600)
    until(lambda: world.checked()["faults"] == 0)
    assert reason(world, row) is None and [(e["damage"], e["damaged_version"]) for e in events(world, row)][-1] == ("damaged", 2)


def test_deleted_documents(world):
    """Their bytes are looked at as long as they are kept; nobody is told."""
    data = b"of a deleted document"
    row = make(world.client, data)
    world.client.delete(f"{DOCUMENTS}/{row['id']}")
    world.server.sql("UPDATE wharf.file SET stored_at = stored_at - interval '40 days' WHERE hash = %s", sha256(data))
    world.change(data, None)
    world.ahead(600)
    until(lambda: world.log("blob.lost", sha256(data)))
    until(lambda: world.server.sql("SELECT 1 FROM wharf.file WHERE hash = %s AND damage_told = 'lost'", sha256(data)))
    assert events(world, row) == []
    make(world.client, data)
    for _ in range(2):
        world.ahead(600)
    until(lambda: world.checked()["faults"] == 0)  # the gauge may still be that of before
    until(lambda: world.metric() == 0)


def test_what_is_stored_meanwhile(world):
    """What comes while its damaged object is read, and is not sent again since nobody knows yet, is found by the next run at the latest."""
    if not world.s3:
        pytest.skip("only a store that can be stopped shows it")
    data = b"stored meanwhile"
    row = make(world.client, data)
    world.change(data, flipped(data))
    world.server.sql("UPDATE wharf.file SET stored_at = stored_at - interval '40 days' WHERE hash = %s", sha256(data))  # the only one that is due
    seen = len(world.s3.requests)
    world.s3.go.clear()
    world.ahead(600)
    until(lambda: any(path.endswith(sha256(data)) for _, path in world.s3.requests[seen:]))
    answer = {}
    t = threading.Thread(target=lambda: answer.update(make(world.client, data, name="Meanwhile")))
    t.start()
    world.s3.go.set()
    t.join()
    until(lambda: reason(world, row) == "damaged")
    world.ahead(600)  # an object of the right size was not sent again, so the second row has it, too
    until(lambda: reason(world, answer) == "damaged")
    make(world.client, data)  # now that it is known, it is
    world.ahead(600)
    until(lambda: reason(world, row) is None and reason(world, answer) is None)
    until(lambda: world.checked()["faults"] == 0)


def test_a_store_that_is_away(world):
    """Nothing is said of objects that can't be asked for."""
    if not world.s3:
        pytest.skip("a folder is there")
    row = make(world.client, b"away")
    world.s3.broken = 1 << 30
    seen = len(world.s3.requests)
    world.ahead(31 * DAY)
    until(lambda: len(world.s3.requests) >= seen + 3)
    world.s3.broken = 0
    world.ahead(600)
    until(lambda: world.read_at(row))
    assert reason(world, row) is None and events(world, row) == []
    until(lambda: world.metric() == 0)


def test_a_listener_that_fails(world):
    """What could not be told is told by the next run."""
    data = b"told later"
    row = make(world.client, data)
    world.change(data, flipped(data))
    world.server.sql("ALTER TABLE documents.document ADD CONSTRAINT fails CHECK (failure_reason IS DISTINCT FROM 'damaged') NOT VALID")
    try:
        world.ahead(31 * DAY)
        file = world.server.sql("SELECT file_id FROM documents.document WHERE id = %s", row["id"])[0][0]
        until(lambda: world.log("blob.scrub", f"documents could not be told of file {file}"))
        assert world.log("blob.damaged", sha256(data)) and reason(world, row) is None and events(world, row) == []
    finally:
        world.server.sql("ALTER TABLE documents.document DROP CONSTRAINT fails")
    world.ahead(600)
    until(lambda: reason(world, row) == "damaged")
    make(world.client, data)
    for _ in range(2):
        world.ahead(600)
    until(lambda: reason(world, row) is None)


def test_never():
    w = World("dir", "--set", "blob.scrub_days=0")
    try:
        row = make(w.client, b"never read")
        w.change(b"never read", None)
        w.ahead(4000 * DAY)
        sweeps = lambda: w.server.sql("SELECT count(*) FROM wharf.job_past WHERE queue = 'wharf.scrub_files'")[0][0]
        w.ahead(600)
        until(lambda: w.log("file.collected", ""))
        assert w.read_at(row) is None and sweeps() is not None and reason(w, row) is None
        make(w.client, b"never read")
    finally:
        w.stop()


@pytest.fixture
def folder():
    """A data folder that the database's user can reach, too."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="wharf-scrub-", dir=os.environ.get("WHARF_TEST_PLACE")))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_a_restart_in_the_middle(folder):
    """What was read is not read again, and what was not is read by the next server."""
    slow = [*MODULES, "--set", "blob.scrub_rate=20000"]
    first = Server(*slow, folder=folder)
    org = first.organization()
    client, clock = org.client(), Client(first, first.demo_key)
    rows = [make(client, bytes([i]) * 10000) for i in range(12)]
    (folder / "blobs" / "objects" / rows[-1]["checksum_sha256"][:2] / rows[-1]["checksum_sha256"]).write_bytes(flipped(bytes([11]) * 10000))
    clock.post("/v1/system/clock", {"offset_seconds": 31 * DAY}, expect=200)
    done = lambda s: s.sql("SELECT count(*) FROM wharf.file WHERE read_at IS NOT NULL")[0][0]
    try:
        until(lambda: done(first) >= 2)
    finally:
        first.end()
    second = Server(*MODULES, folder=folder)
    try:
        before = dict(second.sql("SELECT id, read_at FROM wharf.file WHERE read_at IS NOT NULL"))
        assert 2 <= len(before) < 12
        Client(second, second.demo_key).post("/v1/system/clock", {"offset_seconds": 31 * DAY + 1200}, expect=200)
        until(lambda: done(second) == 12)
        after = dict(second.sql("SELECT id, read_at FROM wharf.file"))
        assert all(after[id] == at for id, at in before.items())
        until(lambda: second.sql("SELECT failure_reason FROM documents.document WHERE id = %s", rows[-1]["id"])[0][0] == "damaged")
    finally:
        second.end()


