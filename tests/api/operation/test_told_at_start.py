"""What stands beside the rows and is missing - the role of plugins' SQL, the master key, objects of files - is told when the server starts, by
`wharf check`, by /readyz and by `wharf verify`."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest
import requests

from document_files import make
from s3 import Store
from test_readiness import probe
from test_workers import log_lines
from wharf import PROGRAM, ROOT, WAIT, Client, Server, until

MODULES = ("--modules", "org,locations,documents,events,webhooks")


@pytest.fixture
def folder():
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-start-"))
    place.chmod(0o711)
    yield place
    shutil.rmtree(place, ignore_errors=True)


def checked(server, *more):
    done = subprocess.run([PROGRAM, "check", "--data", server.folder, *server.settings(), *more], capture_output=True, text=True, timeout=WAIT)
    return done.returncode, done.stdout + done.stderr


def test_a_database_without_the_role(folder):
    """As after a restore into a fresh PostgreSQL: refused with the SQL that mends it; with migrate = "auto" it is made."""
    s = Server(*MODULES, folder=folder)
    code, text = checked(s)
    assert code == 0 and text.startswith("settings, 5 plugins and 0 hooks are fine\nconnections to the database: at most ") and text.count("\n") == 2, text
    s.sql("ALTER ROLE wharf_plugin RENAME TO gone")
    code, text = checked(s)
    assert code == 1 and "the role wharf_plugin is missing; as an administrator run: CREATE ROLE wharf_plugin NOLOGIN; GRANT wharf_plugin TO wharf;" in text, text
    s.end()
    with pytest.raises(RuntimeError, match="the database is not ready: the role wharf_plugin is missing; as an administrator run: CREATE ROLE wharf_plugin NOLOGIN"):
        Server(*MODULES, "--set", "migrate=manual", folder=folder)
    s = Server(*MODULES, folder=folder)
    s.sql("REVOKE ALL ON ALL TABLES IN SCHEMA locations FROM wharf_plugin")
    s.end()
    with pytest.raises(RuntimeError, match="the role wharf_plugin has no rights on locations.*`wharf migrate` gives them anew"):
        Server(*MODULES, "--set", "migrate=manual", folder=folder)
    s = Server(*MODULES, folder=folder)
    try:
        assert s.organization().client().post("/v1/roles", {"name": "Made", "permissions": {}}, expect=201)
    finally:
        s.stop()


def sealed(client):
    return client.post("/v1/webhooks", {"name": "Sealed", "url": "https://example.com/", "events": ["*"]}, expect=201).data


@pytest.mark.parametrize("other, event, said", [
    (False, "secrets.key_missing", "the master key is missing: secrets are unavailable"),
    (True, "secrets.key_differs", "the master key is not the one of this database: secrets are unavailable")])
def test_a_master_key_that_does_not_fit(folder, other, event, said):
    """Nothing is made in its place; everything but secrets is served; and when it is back all is well."""
    s = Server(*MODULES, folder=folder)
    client = s.organization().client()
    sealed(client)
    assert probe(s)[1]["secrets"] == "ok" and s.verify("--check", "secrets.keys")["secrets.keys"]["looked_at"] == 1
    file = folder / "master.key"
    key = file.read_bytes()
    s.end()
    file.unlink()
    if other:
        file.write_text(subprocess.run([PROGRAM, "secret", "key"], capture_output=True, text=True, check=True).stdout)
        file.chmod(0o600)
    s = Server(*MODULES, folder=folder)
    try:
        assert file.exists() == other, "no new key beside secrets of another"
        assert said in (folder / "out").read_text() and log_lines(folder, event)
        status, told = probe(s)
        assert status == 200 and told["ready"] and told["secrets"] == said and said in told["degraded"], told
        code, text = checked(s)
        assert code == 1 and said in text and str(file) in text, text
        found = s.verify("--check", "secrets.keys")["secrets.keys"]
        assert found["faults"] == 1 and "which this machine does not have" in found["shown"][0]["wrong"]
        theirs = Client(s, client.key)
        assert theirs.request("POST", "/v1/webhooks", {"name": "Other", "url": "https://example.com/", "events": ["*"]}).code == "secrets.unavailable"
        theirs.get("/v1/webhooks", expect=200)
        file.write_bytes(key)
        file.chmod(0o600)
        s.command("reload")
        until(lambda: probe(s)[1]["secrets"] == "ok")
        assert checked(s)[0] == 0
        sealed(Client(s, client.key))
    finally:
        s.stop()


@pytest.mark.parametrize("kind", ["dir", "s3"])
def test_objects_that_are_not_there(folder, kind):
    """The folder of another server, or an empty bucket: told at the start (of S3: by the job that reads objects, in its first run), and when it is mended."""
    s3 = Store() if kind == "s3" else None
    more = (*MODULES, "--test-clock", *(s3.settings() if s3 else ("--set", "blob.driver=dir")))
    s = Server(*more, folder=folder)
    client = s.organization().client()
    for n in range(7):
        make(client, b"bytes %d" % n)
    assert probe(s)[1]["files"] == "ok"
    s.end()
    objects = dict(s3.objects) if s3 else None
    if s3:
        s3.objects.clear()
    else:
        (folder / "blobs").rename(folder / "away")
        with pytest.raises(RuntimeError, match="is not the one of this database: it has no mark"):
            Server(*more, folder=folder)
        subprocess.run([PROGRAM, "files", "adopt", "--data", folder, *s.settings()], timeout=WAIT, check=True)
    s = Server(*more, folder=folder)

    def ahead(seconds):
        Client(s, s.demo_key).post("/v1/system/clock", {"offset_seconds": seconds}, expect=200)
    try:
        if not s3:
            assert "7 of 7 stored objects that were looked for are not in the store" in (folder / "out").read_text()
        ahead(600)
        until(lambda: "7 stored objects are damaged or lost" in probe(s)[1]["files"])
        status, told = probe(s)
        assert status == 200 and any("7 stored objects" in t for t in told["degraded"]), told
        code, text = checked(s)
        assert code == 1 and "7 of 7 stored objects" in text and ("blob.s3.bucket" if s3 else "blob.dir") in text, text
        done = subprocess.run([PROGRAM, "files", "verify", "--data", folder, *s.settings()], capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == 1 and done.stdout.count("its bytes are not in the store") == 7, done.stdout
        if s3:
            s3.objects.update(objects)
        else:
            shutil.rmtree(folder / "blobs" / "objects")  # and its mark
            (folder / "away" / "objects").rename(folder / "blobs" / "objects")
            s.command("reload")  # the old folder is open
        ahead(1200)
        ahead(1800)
        until(lambda: probe(s)[1]["files"] == "ok")
        if not s3:
            code, text = checked(s)
            assert code == 1 and "it has the mark of another one" in text and "`wharf files adopt` takes it" in text, text
            s.command("files", "adopt")
        assert checked(s)[0] == 0
    finally:
        s.stop()
        if s3:
            s3.shutdown()
            s3.server_close()


def test_check_says_when_it_could_not_look(folder):
    """Settings are checked before there is a database."""
    done = subprocess.run([PROGRAM, "check", "--data", folder, "--set", "modules=org"], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0 and "the database can't be reached, and was not looked at" in done.stdout, done


def not_started(folder, *more, said):
    with pytest.raises(RuntimeError, match=said):
        Server(*MODULES, *more, folder=folder)


def test_the_log_says_why_a_server_did_not_start(folder):
    """Whoever finds it down in the morning reads the log file: a port that is taken, a certificate that is over, a folder in use, a database that is away."""
    log = ("--set", f"log.file={folder}/wharf.log")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        not_started(folder, *log, "--set", f"admin.listen=127.0.0.1:{taken.getsockname()[1]}", said="in use")
    not_started(folder, *log, "--set", "tls.certificate=/nowhere.pem", "--set", "tls.key=/nowhere.key", said="nowhere")
    not_started(folder, *log, "--set", "database.url=postgresql://127.0.0.1:1/none", said="the database can't be reached")
    s = Server(*MODULES, *log, folder=folder)
    try:
        done = subprocess.run([PROGRAM, "dev", "--data", folder, *s.settings(), *log, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == 1, done
    finally:
        s.stop()
    messages = [line["message"] for line in log_lines(folder, "server.start")]
    for said in ("Address already in use", "/nowhere.pem", "the database can't be reached", "is in use by another wharf"):
        assert any(said in m for m in messages), (said, messages)


def test_a_database_of_a_newer_server(folder):
    """Its tables mean what this server does not know: it is refused at the start, whoever migrates; a worker that comes back beside the newer server serves on."""
    s = Server(*MODULES, folder=folder)
    try:
        s.sql("INSERT INTO wharf.migration (plugin, number, name, sha256, server, seconds) VALUES ('locations', 99, 'future', repeat('0', 64), '99.1.0', 0)")
        s.sql("INSERT INTO wharf.migration (plugin, number, name, sha256, server, seconds) VALUES ('absent', 1, 'init', repeat('0', 64), '99.1.0', 0)")
        said = "the database was migrated by a newer server (99.1.0: locations 0099_future), whose tables this one"
        for words in (("migrate",), ("migrate", "--plan")):
            done = subprocess.run([PROGRAM, *words, "--data", folder, *s.settings()], capture_output=True, text=True, timeout=WAIT)
            assert done.returncode == 1 and said in done.stderr, done
        pid = s.workers("web")[0]
        os.kill(pid, signal.SIGKILL)
        until(lambda: pid not in s.workers("web") and s.workers("web"))
        assert requests.get(s.base + "/readyz", timeout=WAIT).status_code == 200
    finally:
        s.end()
    for mode in ("auto", "manual"):
        not_started(folder, "--set", f"migrate={mode}", said=re.escape(said))


def test_a_plan_shows_the_sql(folder):
    s = Server(*MODULES, folder=folder)
    try:
        s.sql("DELETE FROM wharf.repeatable WHERE name = 'job_front'")
        plan = subprocess.run([PROGRAM, "migrate", "--plan", "--data", folder, *s.settings()], capture_output=True, text=True, timeout=WAIT).stdout
    finally:
        s.stop()
    assert plan == "-- would apply wharf sql/job_front.sql (expand)\n" + (ROOT / "kernel/db/sql/job_front.sql").read_text() + "\n"


def test_a_folder_of_files_that_the_other_server_does_not_see(folder):
    """Two servers of one database: the second one is refused with a folder of its own, before it serves what the first can't; with the same folder it serves."""
    first = Server("--modules", "org,documents", "--set", f"blob.dir={folder}/shared", folder=folder)
    try:
        row = make(first.organization().client(), b"seen by both")
        with pytest.raises(RuntimeError, match=f"the folder of files, {folder}/own .blob.dir., is not the one of this database: it has no mark. All servers of a database must see one folder"):
            Server("--modules", "org,documents", "--set", f"blob.dir={folder}/own", beside=first)
        second = Server("--modules", "org,documents", "--set", f"blob.dir={folder}/shared", beside=first)
        try:
            assert second.verify("--check", "files.objects")["files.objects"]["faults"] == 0 and row
        finally:
            second.stop()
    finally:
        first.stop()


def test_check_compares_connections_with_what_the_database_gives(folder):
    """It names at least as many as a busy server has, and says when the database gives fewer."""
    more = ("--modules", "org,locations,contacts,events,webhooks,exports,batches,documents,workflows,logs", "--set", "workers=1")
    s = Server(*more, folder=folder)
    try:
        client = s.organization().client()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: client.request(*(("GET", "/v1/locations") if i % 2 else ("POST", "/v1/roles", {"name": f"r{i}", "permissions": {}}))), range(200)))
        has = s.sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")[0][0]
        code, text = checked(s)
        at_most = int(re.search("at most ([0-9]+) .1 web workers", text)[1])
        assert code == 0 and "the database gives 397" in text and 10 < has <= at_most < 120, (has, text)
        s.sql("ALTER DATABASE wharf CONNECTION LIMIT 20")
        code, text = checked(s)
        assert code == 0 and "the database gives 20\n" in text and "fewer connections than this server may want" in text, text
    finally:
        s.stop()


@pytest.mark.parametrize("key, value, said", [
    ("base_url", "wharf.example", "must begin with https:// or http:// and a host"), ("base_url", "https://", "must begin with"), ("base_url", "https://wharf.example", ""),
    ("listen", None, "listen: .* can't be listened on: Address already in use"), ("admin.listen", None, "admin.listen: .* can't be listened on"), ("tls.certificate", "/none.pem", "tls.key")])
def test_check_opens_ports_and_looks_at_the_address(folder, key, value, said):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        given = {"listen": "127.0.0.1:0", "admin.listen": "127.0.0.1:0", key: value or f"127.0.0.1:{taken.getsockname()[1]}"}
        done = subprocess.run([PROGRAM, "check", "--data", folder, *(a for k, v in given.items() for a in ("--set", f"{k}={v}"))], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == (1 if said else 0) and re.search(said, done.stderr), done
