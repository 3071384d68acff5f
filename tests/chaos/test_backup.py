"""wharf backup and restore: what is restored is what was there, whatever the server did meanwhile; a backup that is not whole is told as such."""
import base64
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import threading

import pytest
from backups import Client, Place, Server, answers, begin, dump_text, files, paused, same_keys, told, until, wharf

from receivers import Receivers
from s3 import Store
from small_disk import small_disk
from walls import Walls
from wharf import MODULES, WAIT

SETTINGS = ("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
DOCUMENTS = "/v1/documents"


@pytest.fixture(scope="module")
def place():
    p = Place()
    yield p
    p.remove()


@pytest.fixture(scope="module")
def world():
    """A server with rows of every resource, at rest."""
    from test_checks import busy, quiet
    s = Server(*SETTINGS)
    web = Receivers()
    try:
        walls = Walls(s, web)
        busy(walls)
        for n in range(5):
            document(walls.admin["one"], b"bytes of document %d " % n * 40000)
        runs = [r for r in walls.rows if r.resource == "workflow_run"]
        for run in runs:  # they would be tried again
            walls.admin[run.org].request("POST", f"/v1/workflows/runs/{run.id}/cancel")
        until(lambda: quiet(s), "the world does not come to rest")
        until(lambda: sum(line["route"].endswith("/cancel") for org in walls.admin for line in walls.pages(org, "/v1/request-logs")) == len(runs))  # written behind the requests
        yield walls
    finally:
        s.end()


def document(client, data, name="Paper"):
    return client.post(DOCUMENTS, {"name": name, "visibility": "private", "content": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}, expect=201).data


def content(client, id):
    return client.http.get(f"{client.server.base}{DOCUMENTS}/{id}/content", headers={"SVC-API-KEY": client.key}, timeout=WAIT)


@pytest.fixture(scope="module")
def plain(world, place):
    return place.backup(world.server, said=("objects of", "the master key [0-9a-f]{8} is not in it"))


@pytest.fixture(scope="module")
def sealed(world, place):
    return place.backup(world.server, "--encrypt", "--with-key", "--passphrase-file", place.passphrase(), said=("encrypted, with the master key",))


# ---- what comes back ----

def test_every_resource_answers_as_before(world, place, plain):
    """Every operation that reads, asked of each row; bytes of files; secrets that open; what must hold of all rows."""
    moment = json.loads((plain / "manifest.json").read_text())["made_at"]
    before = answers(world, world.admin, moment)
    data = place.restore(plain, said=("the backup has no master key: put the key",))
    shutil.copy2(world.server.folder / "master.key", data / "master.key")
    s = Server(*SETTINGS, folder=data)
    try:
        after = answers(world, same_keys(world, s), moment)
        assert len([1 for status, _ in before.values() if status == 200]) > 100
        different = {k: (before[k], after[k]) for k in before if before[k] != after[k]}
        assert not different, "\n".join(f"{k}: {a!r:.900}\n   not {b!r:.900}" for k, (b, a) in list(different.items())[:3])
        verified = s.verify()
        assert not [c for c in verified.values() if c["faults"] or c["error"]], verified
        assert verified["secrets.keys"]["looked_at"] > 3 and verified["files.checksums"]["looked_at"] > 5
        document(same_keys(world, s)["one"], b"it goes on")
    finally:
        s.stop()


def test_a_backup_of_what_was_restored_is_the_same(place, world, plain):
    """Every table, row, index, right and function; and the list of objects. No server has run between."""
    data = place.restore(plain)
    again = place.new("backup")
    told(wharf("backup", again, "--data", data))
    assert dump_text(again) == dump_text(plain)
    assert (again / "objects.list").read_bytes() == (plain / "objects.list").read_bytes() != b""
    ours, theirs = (json.loads((b / "manifest.json").read_text()) for b in (plain, again))
    assert ours["modules"] == theirs["modules"] and {m["name"] for m in ours["modules"]} >= {"wharf", "items", "logs"}


def test_an_encrypted_backup(world, place, sealed):
    """Nothing can be read in it, not even which files there are; the master key is in it."""
    hashes = [h for h, in world.server.sql("SELECT DISTINCT hash FROM wharf.file WHERE state = 'stored'")]
    for name in files(sealed):
        assert not any(h in str(name) for h in hashes)
        data = (sealed / name).read_bytes()
        assert b"bytes of document" not in data and b"PGDMP" not in data and not any(h.encode() in data for h in hashes), name
    key = (world.server.folder / "master.key").read_bytes()
    assert key.strip() not in b"".join((sealed / n).read_bytes() for n in files(sealed))
    told(wharf("backup", "--verify", sealed), "say --passphrase-file", code=1)
    told(wharf("backup", "--verify", sealed, "--passphrase-file", place.passphrase("another passphrase, as long")), "encrypted with another passphrase", code=1)
    told(wharf("backup", "--verify", sealed, "--passphrase-file", place.passphrase()), "is whole")
    place.restore(sealed, "--passphrase-file", place.passphrase("another passphrase, as long"), code=1, said=("another passphrase",))
    data = place.restore(sealed, "--passphrase-file", place.passphrase())
    assert (data / "master.key").read_bytes() == key and (data / "master.key").stat().st_mode & 0o777 == 0o600
    s = Server(*SETTINGS, folder=data)
    try:
        s.check_rows()
    finally:
        s.stop()


def test_what_the_command_refuses(world, place, plain, tmp_path):
    server = ("--data", world.server.folder)
    told(wharf("backup", plain, *server), "is there already", code=1)
    told(wharf("backup", tmp_path / "b", "--with-key", *server), "--with-key needs --encrypt", code=2)
    told(wharf("backup", tmp_path / "b", "--encrypt", *server), "belong together", code=2)
    told(wharf("backup", tmp_path / "b", "--encrypt", "--passphrase-file", place.passphrase("short"), *server), "at least 12 characters", code=1)
    open_file = place.passphrase()
    open_file.chmod(0o644)
    told(wharf("backup", tmp_path / "b", "--encrypt", "--passphrase-file", open_file, *server), "can be read by others", code=1)
    told(wharf("restore", plain, *server), "is not empty", code=1)
    told(wharf("restore", tmp_path, "--data", tmp_path / "n"), "is no backup", code=1)
    told(wharf("restore", plain, "--data", tmp_path / "n", "--database", world.server.conninfo), "the database is not empty: it has a schema wharf", code=1)
    told(wharf("restore", plain, "--data", tmp_path / "n", "--passphrase-file", place.passphrase()), "the backup is not encrypted", code=1)
    assert not (tmp_path / "n").exists()
    assert not (tmp_path / "b").exists() and not (tmp_path / "b.unfinished").exists()


@pytest.mark.parametrize("was, becomes, said", [
    ('"version":"', '"version":"9', "made by wharf 9.*install that version"),
    ('"format":1', '"format":2', "this version does not understand manifest.json"),
    ('"name":"database.dump"', '"name":"../database.dump"', "this version does not understand manifest.json"),
    ('"encryption":null', '"encryption":{}', "this version does not understand manifest.json")])
def test_a_manifest_of_somebody_else(plain, tmp_path, was, becomes, said):
    """Its checksum fits, and what it says is refused: nothing is read outside the folder, nothing is written."""
    theirs = tmp_path / "theirs"
    shutil.copytree(plain, theirs)
    text = (theirs / "manifest.json").read_text()
    assert was in text
    (theirs / "manifest.json").write_text(text.replace(was, becomes))
    (theirs / "manifest.sha256").write_text(hashlib.sha256((theirs / "manifest.json").read_bytes()).hexdigest() + "  manifest.json\n")
    told(wharf("restore", theirs, "--data", tmp_path / "m"), said, code=1)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("name", ["database.dump", "objects.list", "an object"])
def test_what_is_no_file_is_not_read(plain, tmp_path, name):
    """A pipe would be waited for, a link would lead out of the folder."""
    theirs = tmp_path / "theirs"
    shutil.copytree(plain, theirs)
    name = next(str(n) for n in files(theirs) if n.parts[0] == "objects") if name == "an object" else name
    (theirs / name).unlink()
    os.mkfifo(theirs / name)
    told(wharf("restore", theirs, "--data", tmp_path / "m"), f"{name} can't be read", code=1)
    (theirs / name).unlink()
    (theirs / name).symlink_to(plain / name)
    told(wharf("restore", theirs, "--data", tmp_path / "m"), f"{name} can't be read", code=1)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("kind", ["plain", "sealed"])
def test_a_byte_that_differs_is_found(kind, place, request, tmp_path):
    """In every file: changed at its beginning, in its middle, at its end; cut off, prolonged, or missing. Nothing is restored then."""
    backup = request.getfixturevalue(kind)
    copy = tmp_path / "copy"
    shutil.copytree(backup, copy)
    more = ("--passphrase-file", place.passphrase()) if kind == "sealed" else ()
    objects = [n for n in files(copy) if n.parts[0] == "objects"]
    chosen = [n for n in files(copy) if n.parts[0] != "objects"] + random.sample(objects, 3)
    changes = {"first": lambda b: bytes([b[0] ^ 1]) + b[1:], "middle": lambda b: b[:len(b) // 2] + bytes([b[len(b) // 2] ^ 128]) + b[len(b) // 2 + 1:],
               "last": lambda b: b[:-1] + bytes([b[-1] ^ 4]), "cut": lambda b: b[:-1], "longer": lambda b: b + b"\n", "missing": None}
    tries = 0
    for name in chosen:
        was = (copy / name).read_bytes()
        for what in changes if kind == "plain" or name.parts[0] != "objects" else ("middle", "cut", "longer"):  # each try makes a key from the passphrase
            (copy / name).unlink()
            if changes[what]:
                (copy / name).write_bytes(changes[what](was))
            said = "manifest.json" if "manifest" in str(name) else str(name)
            told(wharf("backup", "--verify", copy, *more), said, code=1)
            tries += 1
            if what == "middle":
                told(wharf("restore", copy, "--data", tmp_path / "never", *more), said, code=1)
                assert not (tmp_path / "never").exists()
            (copy / name).unlink(missing_ok=True)
            (copy / name).write_bytes(was)
    assert tries > 20
    told(wharf("backup", "--verify", copy, *more), "is whole")


# ---- while the server works ----

class Writers:
    """Threads that make and delete documents and contacts until they are told to end. What was acknowledged is in made and gone."""

    def __init__(self, client, n=3):
        self.end, self.made, self.gone, self.failed = threading.Event(), {}, set(), []
        self.threads = [threading.Thread(target=self.work, args=(Client(client.server, client.key), i)) for i in range(n)]
        for t in self.threads:
            t.start()

    def work(self, client, thread):
        rng, n = random.Random(thread), 0
        mine = []
        try:
            while not self.end.is_set():
                n += 1
                data = rng.randbytes(rng.choice((10, 3000, 200000)))
                id = document(client, data, f"Of thread {thread}")["id"]
                self.made[id] = data
                mine.append(id)
                client.post("/v1/contacts", {"name": f"Person {thread} {n}"}, expect=201)
                if len(mine) > 5:
                    id = mine.pop(0)
                    client.delete(f"{DOCUMENTS}/{id}?purge=true", expect=200)
                    self.gone.add(id)
        except Exception as e:
            self.failed.append(e)

    def stop(self):
        self.end.set()
        for t in self.threads:
            t.join()
        assert not self.failed, self.failed


@pytest.mark.parametrize("store", ["dir", "s3"])
def test_a_backup_while_writers_write(place, store):
    """One moment: each file that its rows name has its bytes, although documents are deleted and their objects collected all the time."""
    s3 = Store() if store == "s3" else None
    s = Server("--modules", "org,locations,contacts,documents,events,logs", "--set", "blob.grace=0", *(s3.settings() if s3 else ()))
    writers = None
    try:
        client = s.organization().client()
        kept = {document(client, data)["id"]: data for data in (os.urandom(n) for n in (1, 3000, 300000))}
        writers = Writers(client)
        until(lambda: len(writers.gone) > 5)
        more = () if s3 else ("--encrypt", "--passphrase-file", place.passphrase())
        process = begin("backup", to := place.new("backup"), "--data", s.folder, *s.settings(), *more, env={"WHARF_PAUSE": "backup.rows"})
        paused(process)
        count = len(writers.gone)
        until(lambda: len(writers.gone) > count + 10)  # what the moment names is deleted
        s.sql("UPDATE wharf.file SET expires_at = now() - interval '1 second' WHERE expires_at IS NOT NULL")
        assert "a backup runs; the other objects wait" in s.command("files", "collect", *s.settings())
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=WAIT)
        assert process.returncode == 0, (out, err)
        writers.stop()
        told(wharf("backup", "--verify", to, *more[1:]), "is whole")
        assert "a backup runs" not in s.command("files", "collect", *s.settings())
        other = Store() if s3 else None
        data = place.restore(to, *more[1:], *(other.settings() if other else ()))
        if not (data / "master.key").exists():
            shutil.copy2(s.folder / "master.key", data / "master.key")
        r = Server("--modules", "org,locations,contacts,documents,events,logs", *(other.settings() if other else ()), folder=data)
        try:
            r.check_rows()
            theirs = Client(r, client.key)
            there = {id for id, in r.sql("SELECT id FROM documents.document WHERE deleted_at IS NULL")}
            assert set(kept) <= there and there & writers.gone, "some were deleted after the moment"
            for id, data in {**kept, **writers.made}.items():
                assert id not in there or content(theirs, id).content == data, id
        finally:
            r.stop()
    finally:
        if writers:
            writers.end.set()
        s.stop()


def test_a_file_that_is_deleted_during_the_backup(place):
    """Its object stays until the backup has it, and is collected afterwards."""
    s = Server("--modules", "org,documents", "--set", "blob.grace=0")
    try:
        client = s.organization().client()
        row = document(client, b"deleted in the midst of it")
        path = next(p for p in (s.folder / "blobs" / "objects").glob("*/*"))
        process = begin("backup", to := place.new("backup"), "--data", s.folder, env={"WHARF_PAUSE": "backup.rows"})
        paused(process)
        client.delete(f"{DOCUMENTS}/{row['id']}?purge=true", expect=200)
        s.sql("DELETE FROM wharf.file")
        assert "erased: 0 expired files, 0 objects" in s.command("files", "collect", "--set", "blob.grace=0") and path.exists()
        told(wharf("backup", place.new("backup"), "--data", s.folder), "another backup of this database runs", code=1)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=WAIT)
        assert process.returncode == 0 and "1 objects of 26 bytes" in out, (out, err)
        assert (to / "objects" / path.parent.name / path.name).read_bytes() == b"deleted in the midst of it"
        assert "1 objects" in s.command("files", "collect", "--set", "blob.grace=0") and not path.exists()
        assert (to / "objects" / path.parent.name / path.name).read_bytes() == b"deleted in the midst of it"
    finally:
        s.stop()


def test_objects_that_the_store_has_lost(place):
    """The others are saved; the command names those and ends with 1, so does whoever verifies."""
    s = Server("--modules", "org,documents")
    s.broken = {"files.objects", "files.checksums", "files.damaged"}
    try:
        client = s.organization().client()
        rows = [document(client, text) for text in (b"whole", b"damaged", b"lost")]
        objects = {p.name: p for p in (s.folder / "blobs" / "objects").glob("*/*")}
        damaged, lost = (objects[hashlib.sha256(t).hexdigest()] for t in (b"damaged", b"lost"))
        damaged.write_bytes(b"Damaged")
        lost.unlink()
        to = place.backup(s, code=1, said=(f"{damaged.name} is not in the store, or is damaged", lost.name, "has lost 2 objects"))
        assert json.loads((to / "manifest.json").read_text())["lost"] == sorted([damaged.name, lost.name])
        assert sorted(n.name for n in files(to) if n.parts[0] == "objects") == [hashlib.sha256(b"whole").hexdigest()]
        told(wharf("backup", "--verify", to), "is whole", "had lost 2 objects", code=1)
        data = place.restore(to, said=("2 objects were lost before the backup",))
        shutil.copy2(s.folder / "master.key", data / "master.key")
        r = Server("--modules", "org,documents", folder=data)
        r.broken = {"files.objects", "files.damaged"}
        try:
            assert content(Client(r, client.key), rows[0]["id"]).content == b"whole"
            told(wharf("files", "verify", "--data", data, *r.settings()), "its bytes are not in the store", code=1)
        finally:
            r.stop()
    finally:
        s.stop()


# ---- ends in the midst ----

@pytest.mark.parametrize("moment", ["backup.dumping", "backup.rows", "backup.object", "backup.objects", "backup.manifest", "backup.synced"])
def test_a_backup_that_is_killed(world, place, moment):
    """It is never taken for one, nothing of it stays in the database, and the next one takes its place."""
    to = place.new("backup")
    done = wharf("backup", to, "--data", world.server.folder, env={"WHARF_FAULT": moment})
    assert done.returncode == -signal.SIGKILL
    assert not to.exists() and to.with_name(to.name + ".unfinished").exists()
    told(wharf("restore", to.with_name(to.name + ".unfinished"), "--data", place.new("never")), "is no backup|is not what manifest.sha256 says", code=1) if moment != "backup.synced" else None
    until(lambda: not world.server.sql("SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'wharf backup' OR (l.locktype = 'advisory' AND l.objid = (hashtextextended('wharf.backup', 0) & 4294967295)::oid)"))
    told(wharf("backup", to, "--data", world.server.folder))
    assert not to.with_name(to.name + ".unfinished").exists()
    told(wharf("backup", "--verify", to), "is whole")


@pytest.mark.parametrize("moment", ["restore.object", "restore.rows", "restore.key"])
def test_a_restore_that_is_killed(world, place, plain, moment):
    """No server starts on what it left, and it says why."""
    data = place.new("restored")
    done = wharf("restore", plain, "--data", data, env={"WHARF_FAULT": moment})
    assert done.returncode == -signal.SIGKILL
    told(wharf("restore", plain, "--data", data), "is not empty", code=1)
    with pytest.raises(RuntimeError, match="a restore into this database was interrupted"):
        Server(*SETTINGS, folder=data)
    shutil.rmtree(data)
    told(wharf("restore", plain, "--data", data), "restored the rows")


@pytest.mark.parametrize("change", [lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b[:-9], lambda b: b + b"more"], ids=["changed", "cut", "longer"])
def test_a_dump_that_changes_after_it_was_verified(place, plain, tmp_path, change):
    """It is compared again as it is restored, and what came of it is not served."""
    theirs, data = tmp_path / "theirs", place.new("restored")
    shutil.copytree(plain, theirs)
    process = begin("restore", theirs, "--data", data, env={"WHARF_PAUSE": "restore.rows"})
    paused(process)
    (theirs / "database.dump").write_bytes(change((theirs / "database.dump").read_bytes()))
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 1 and "database.dump" in err, (out, err)
    with pytest.raises(RuntimeError, match="a restore into this database was interrupted"):
        Server(*SETTINGS, folder=data)


def test_a_full_disk(world, place):
    """It is told, and what was begun is removed; the server goes on."""
    with small_disk(1) as disk:
        told(wharf("backup", disk / "backup", "--data", world.server.folder), "No space left on device", code=1)
        assert list(disk.iterdir()) == []
    with small_disk(8) as disk:
        to = place.backup(world.server)
        done = wharf("restore", to, "--data", disk / "data")
        assert done.returncode == 1 and done.stderr
    world.server.check_rows()


def test_a_signal_ends_it(world, place):
    """Ctrl-C leaves nothing that looks like a backup, and no program behind."""
    process = begin("backup", to := place.new("backup"), "--data", world.server.folder, env={"WHARF_PAUSE": "backup.dumping"})
    paused(process)
    process.terminate()
    process.send_signal(signal.SIGCONT)
    assert process.wait(WAIT) == -signal.SIGTERM and not to.exists()
    until(lambda: not world.server.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'wharf backup'"))


# ---- a database of one's own ----

class Elsewhere:
    """As a server whose database another one uses."""

    def __init__(self, conninfo, folder):
        self.conninfo, self.folder = conninfo, folder


def test_a_database_elsewhere(world, place, plain):
    """A user who is no administrator: the role and the way to it are told; then it is restored, verified and served."""
    s = world.server
    for sql in ("CREATE ROLE keeper LOGIN", "CREATE DATABASE elsewhere OWNER keeper"):
        s.sql(sql)
    url = s.conninfo.replace("dbname=wharf", "dbname=elsewhere").replace("user=wharf", "user=keeper")
    data = place.restore(plain, "--database", url, code=1, said=('GRANT wharf_plugin TO "keeper"',))
    assert not data.exists(), "what was told is done, and the same command again does it"
    s.sql("GRANT wharf_plugin TO keeper")
    process = begin("restore", plain, "--data", data, "--database", url, env={"WHARF_PAUSE": "restore.rows"})
    paused(process)
    assert b"user=keeper" not in pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes(), "it may hold a password"
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0 and "restored the rows" in out, (out, err)
    shutil.copy2(s.folder / "master.key", data / "master.key")
    r = Server(*SETTINGS, beside=Elsewhere(url, s.folder), folder=data)
    try:
        r.check_rows()
        assert content(same_keys(world, r)["one"], next(d["id"] for d in same_keys(world, r)["one"].get(DOCUMENTS).data if d["name"] == "Paper")).status_code == 200
        again = place.new("backup")
        told(wharf("backup", again, "--data", data, "--set", f"database.url={url}"))
        told(wharf("backup", "--verify", again), "is whole")
    finally:
        r.stop()
        s.sql("DROP DATABASE elsewhere WITH (FORCE)")


def test_a_store_on_another_file_system(world, place, plain):
    """Objects are copied where they can't have a second name, and linked where they can."""
    assert all(os.stat(plain / n).st_nlink > 1 for n in files(plain) if n.parts[0] == "objects")
    with small_disk(64) as disk:
        told(wharf("backup", disk / "backup", "--data", world.server.folder), r"\(0 of them hard links\)")
        told(wharf("backup", "--verify", disk / "backup"), "is whole")
