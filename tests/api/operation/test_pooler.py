"""PgBouncer in transaction mode between server and database (docs/guide/operation.md 'A pooler', docs/decisions 16)."""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from wharf import BUILD, WAIT, Client, Server, address, make_location

POOL = 3


class Pooler:
    """pgbouncer as somebody who is not root, on a port of its own; each client transaction may get another of a few connections."""

    def __init__(self, behind):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-pooler-"))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        (self.folder / "users").write_text('"wharf" ""\n')
        (self.folder / "ini").write_text(f"""[databases]
wharf = {behind.conninfo} pool_size={POOL} connect_query='SET jit = off; SET statement_timeout = 15000; SET lock_timeout = 5000'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = any
auth_file = {self.folder}/users
pool_mode = transaction
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
""")
        nobody = pwd.getpwnam("postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
        for path in (self.folder, *self.folder.iterdir()):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(["/usr/sbin/pgbouncer", self.folder / "ini"], stdout=self.log, stderr=self.log, user=nobody.pw_uid, group=nobody.pw_gid,
                                        extra_groups=[])
        end = time.monotonic() + WAIT
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.05)

    @property
    def conninfo(self):
        return f"host=127.0.0.1 port={self.port} user=wharf dbname=wharf"

    def stop(self):
        self.process.terminate()
        self.process.wait(WAIT)
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def base():
    s = Server()
    yield s
    s.stop()


@pytest.fixture(scope="module")
def server(base):
    pooler = Pooler(base)
    s = Server("--set", f"database.direct={base.conninfo}", "--set", "database.prepared=false", "--set", f"blob.dir={base.folder}/blobs",
               "--modules", f"org,locations,logs,stations,{BUILD}/tests/plugins/jobbench.so,{BUILD}/tests/plugins/bench.so", beside=pooler)
    yield s
    s.stop()
    pooler.stop()


@pytest.fixture(scope="module")
def client(server):
    return server.organization().client()


def test_reads_and_writes(client):
    place = make_location(client)
    where = f"/v1/locations/{place['id']}"
    assert client.post(where, {"name": "Behind a pooler"}, expect=200).data["name"] == "Behind a pooler"
    assert [row["id"] for row in client.get("/v1/locations?search=pooler&order_by=name").data] == [place["id"]]
    assert client.post(where + "/layouts", [{"name": "A"}, {"name": "B"}], expect=201).data[1]["name"] == "B"
    assert client.get(f"/v1/logs?resource_id={place['id']}").data
    assert client.delete(where + "?force=true", expect=200)
    client.get(where, expect=404)


def test_many_at_once(server, client):
    """More requests than the pooler has connections, on the loop and on threads, with keys of their own."""
    place, made, lock = make_location(client), [], threading.Lock()

    def work(i):
        own = Client(server, client.key)
        for n in range(20):
            a = own.post("/v1/crates", {"name": f"{i}-{n}", "location_id": place["id"]}, headers={"Idempotency-Key": f"{i}-{n}"}, expect=201).data
            b = own.post(f"/v1/crates/{a['id']}", {"name": f"{i}-{n} moved"}, expect=200).data
            assert own.get(f"/v1/crates/{a['id']}").data["name"] == b["name"]
            with lock:
                made.append(b["name"])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 320
    rows = server.sql("SELECT name FROM bench.crate WHERE location_id = %s", place["id"])
    assert sorted(name for name, in rows) == sorted(made)


def test_notices_arrive(server, client):
    """LISTEN goes past the pooler: a revoked key is refused within a second, not only when caches run out."""
    key = client.post("/v1/api-keys", {"name": "Short", "scopes": ["locations:read"]}, expect=201).data
    own = Client(server, key["api_key"])
    assert own.get("/v1/locations").status == 200
    client.delete(f"/v1/api-keys/{key['id']}", expect=200)
    time.sleep(1)
    assert own.get("/v1/locations", expect=401).code == "api_key.revoked"


def test_jobs_are_done(server, client):
    before = server.sql("SELECT count(*) FROM jobbench.effect")[0][0]
    client.post("/v1/jobbench/enqueue", {"job": "count", "times": 100, "from": 0, "keys": 5}, expect=200)
    end = time.monotonic() + WAIT
    while server.sql("SELECT count(*) FROM jobbench.effect")[0][0] < before + 100:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_database_goes_and_comes(base, server, client):
    base.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
    end = time.monotonic() + WAIT
    while client.request("POST", "/v1/locations", {"name": "After", "address": address()}).status != 201:
        assert time.monotonic() < end
        time.sleep(0.1)
