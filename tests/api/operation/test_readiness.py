"""GET /readyz is not ready when requests can't be served, and says why; what is lost is counted; `wharf reload` tells what it did not do."""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg2
import pytest
import requests

from small_disk import fill, make_room, small_disk
from test_operation import Serving, until, value
from test_workers import log_lines, metrics, new_connections, running
from wharf import PROGRAM, WAIT, Server, address, make_location


def probe(server, base="base"):
    a = requests.get(getattr(server, base) + "/readyz?verbose", timeout=WAIT)
    return a.status_code, a.json()


def not_ready(server, check, text):
    """Waits until both listeners say so. Each worker looks for itself, so that the next request may meet one that did not look yet."""
    for base in ("base", "admin"):
        until(lambda: (told := probe(server, base)) and told[0] == 503 and re.search(text, told[1][check]) and not told[1]["ready"] and any(re.search(text, t) for t in told[1]["not_ready_because"]))
    until(lambda: (plain := requests.get(server.base + "/readyz", timeout=WAIT)).status_code == 503 and plain.text.startswith("not ready\n") and re.search(text, plain.text))
    until(lambda: requests.get(server.base + "/healthz", timeout=WAIT).status_code == 503)  # its other name
    assert log_lines(server.folder, "ready.lost")


def back(server):
    for base in ("base", "admin"):
        until(lambda: requests.get(getattr(server, base) + "/readyz", timeout=WAIT).text == "ok\n")


def take_all_connections(server, taken, ends="ALL"):
    """Ends the connections of the server (ends: how many of them), but those that listen, and takes the places of all, those that were free, too.
    The server's processes stand still meanwhile: who connects first has the place, and on a busy machine that was the server each time."""
    def take():
        with contextlib.suppress(psycopg2.OperationalError):
            while True:
                taken.append(psycopg2.connect(server.conninfo))
    take()
    processes = server.workers("web") + server.workers("job")
    try:
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        server.sql("SELECT pg_terminate_backend(pid, 20000) FROM (SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                   f" AND backend_type = 'client backend' AND query <> '' AND query NOT LIKE 'LISTEN%%' ORDER BY random() LIMIT {ends}) s")
        take()
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def test_connections_are_exhausted():
    server = Server("--modules", "org,locations", "--set", "workers=1")
    taken = []
    try:
        client = server.organization().client()
        server.sql("SELECT 1")

        take_all_connections(server, taken)

        def none_is_left():
            client.http.get(server.base + "/v1/locations", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            r = client.post("/v1/roles", {"name": "None", "permissions": {}}, check=False)
            return r.status == 503 and r.code == "database.unavailable" and r.headers["Retry-After"] and any(is_told() or time.sleep(0.1) for _ in range(50))

        def is_told():
            told = probe(server)
            return told and told[0] == 503 and re.search("takes no new connection: .*(too many|remaining)", told[1]["connections"])
        until(none_is_left)
        for c in taken:
            c.close()
        back(server)
    finally:
        for c in taken:
            c.close()
        server.stop()


def test_role_and_rights_are_missing_after_a_restore():
    server = Server("--modules", "org,locations,stations")
    try:
        back(server)
        server.sql("REVOKE ALL ON ALL TABLES IN SCHEMA locations FROM wharf_plugin")
        not_ready(server, "roles", r"no rights on locations\.\w+; `wharf migrate` gives them anew")
        assert "nothing to do" in server.command("migrate", "--set", "modules=org,locations,stations")
        back(server)
        server.sql("REVOKE ALL ON wharf.device FROM wharf_plugin")
        not_ready(server, "roles", r"no rights on wharf\.device; `wharf migrate` gives them anew")
        assert "nothing to do" in server.command("migrate", "--set", "modules=org,locations,stations")
        back(server)
        server.sql("ALTER ROLE wharf_plugin RENAME TO gone")
        not_ready(server, "roles", "the role wharf_plugin is missing")
        server.command("migrate", "--set", "modules=org,locations,stations")
        back(server)
    finally:
        server.stop()


def test_the_folder_of_files_is_gone():
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-files-"))
    server = Server("--modules", "org,locations", "--set", f"blob.dir={place / 'blobs'}")
    try:
        back(server)
        (place / "blobs").rename(place / "away")
        not_ready(server, "storage", "the folder of files is missing")
        (place / "away").rename(place / "blobs")
        back(server)
    finally:
        server.stop()
        shutil.rmtree(place)


def test_the_disk_of_files_is_full():
    with small_disk() as place:
        server = Server("--modules", "org,locations", "--set", f"blob.dir={place}/blobs")
        try:
            back(server)
            fill(place)
            not_ready(server, "storage", "files can't be written: No space left on device")
            assert value(metrics(server), 'wharf_disk_failures_total{place="storage"}') > 0
            (place / "filler").unlink()
            back(server)
        finally:
            server.stop()


def test_the_disk_of_the_database_is_full():
    """Writes answer 503 and say why, reads go on; it is counted, told once in the log and by the probe; with room again all is as before."""
    with small_disk(16) as place:
        server = Server("--modules", "org,locations")
        try:
            client = server.organization().client()
            here = make_location(client)["id"]
            owner = (server.folder / "postgres").stat()
            (place / "tables").mkdir(mode=0o700)
            os.chown(place / "tables", owner.st_uid, owner.st_gid)
            with contextlib.closing(psycopg2.connect(server.conninfo)) as db:
                db.autocommit = True
                db.cursor().execute(f"CREATE TABLESPACE small LOCATION '{place}/tables'")
                db.cursor().execute("ALTER TABLE locations.location SET TABLESPACE small")
            fill(place)
            for n in range(1000):  # until the last page is full
                refused = client.request("POST", "/v1/locations", {"name": f"N{n}", "address": address(), "metadata": {"text": "x" * 400}}, check=False)
                if refused.status != 201:
                    break
            assert (refused.status, refused.code, refused.headers["Retry-After"]) == (503, "database.unavailable", "1") and "The disk of the database is full" in refused.body["message"], refused.body
            assert client.get(f"/v1/locations/{here}").data["id"] == here
            assert value(metrics(server), 'wharf_disk_failures_total{place="database"}') > 0
            status, told = probe(server)
            assert status == 200 and told["ready"] and any("the disk of the database takes no writes: No space left on device" in t for t in told["degraded"]), told
            assert any("No space left on device" in line["message"] for line in log_lines(server.folder, "database.disk_full"))
            make_room(place)
            until(lambda: client.request("POST", "/v1/locations", {"name": "Again", "address": address()}, check=False).status == 201)
        finally:
            server.stop()


def test_lines_that_a_full_disk_takes_away_are_counted():
    with small_disk() as place:
        server = Server("--modules", "org,locations", "--set", f"log.file={place}/wharf.log", "--set", f"log.access={place}/access.log")
        try:
            client = server.organization().client()
            fill(place)
            for _ in range(3000):  # what is left of the last page is taken
                client.http.get(server.base + "/v1/changes", timeout=WAIT)
                if value(metrics(server), 'wharf_log_lines_lost_total{log="access_log"}') > 5:
                    break
            assert value(metrics(server), 'wharf_log_lines_lost_total{log="access_log"}') > 5
            for _ in range(200):
                server.command("reload")
                if value(metrics(server), 'wharf_log_lines_lost_total{log="log"}') > 0:
                    break
            lost = value(metrics(server), 'wharf_log_lines_lost_total{log="log"}')
            assert lost > 0
            assert "lines of the log are lost: No space left on device" in (server.folder / "out").read_text()
            status, told = probe(server)
            assert status == 200 and told["ready"] and any("lines of the access log are lost: No space left" in t for t in told["degraded"]), told
            assert requests.get(server.base + "/readyz", timeout=WAIT).text.startswith("ok\n")
            (place / "filler").unlink()
            server.command("reload")
            assert re.search(r'"log.lost","message":"\d+ lines before this one are lost"', (place / "wharf.log").read_text())
        finally:
            server.stop()


# ---- what a reload tells ----

def reload(server):
    return subprocess.run([PROGRAM, "reload", "-c", server.file], capture_output=True, text=True, timeout=WAIT)


def test_a_reload_names_settings_that_need_a_restart():
    server = Serving()
    try:
        done = reload(server)
        assert done.returncode == 0 and done.stdout == "generation 2 serves\n"
        server.file.write_text(server.settings.replace("workers = 2", "workers = 3").replace('listen = "127.0.0.1:0"\ndata', 'listen = "127.0.0.1:1"\ndata') + "jobs = {workers = 2}\nhttp = {body_limit = 5000000}\n")
        done = reload(server)
        assert done.returncode == 0 and done.stdout == "generation 3 serves; these settings changed and need a restart of the server: listen, workers, jobs.workers\n"
        server.file.write_text(server.settings)
        assert reload(server).stdout == "generation 4 serves\n"
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.mark.parametrize("strict", ["true", "false"])
def test_a_reload_fails_when_hooks_are_broken(strict):
    good = "wharf.hook.before('location', 'create', function(change) if change.input.name == 'no' then wharf.reject('no') end end)\n"
    with running("--modules", "org,locations", "--set", f"lua_hooks.strict={strict}", hooks={"10-good.lua": good}) as (server, hooks):
        client = server.organization().client()
        before = server.workers("web")
        hooks.write({"10-good.lua": good, "20-broken.lua": "this is no Lua"})
        with pytest.raises(RuntimeError, match=r"hooks of .* can't be loaded: 20-broken\.lua"):
            server.command("reload")
        assert server.workers("web") == before and new_connections(server.base, 5) == [200] * 5
        client.refused("POST", "/v1/locations", 400, "workflow.rejected", body={"name": "no", "address": address()}, check=False)
        hooks.write({"10-good.lua": good})
        assert "serves" in server.command("reload")
        until(lambda: set(server.workers("web")).isdisjoint(before))


def end_all_sessions(server):
    """Ends all sessions of the database but this one, and waits until they are gone."""
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    ended = {pid for pid, _ in server.sql(f"SELECT pid, pg_terminate_backend(pid) {others}")}
    until(lambda: not ended & {pid for pid, in server.sql(f"SELECT pid {others}")})
    return len(ended)


def test_requests_come_when_all_sessions_have_just_ended():
    """A request that meets a connection that has ended waits for the next one: the database is there."""
    server = Server("--modules", "org,locations,contacts", "--set", "workers=1")
    try:
        client = server.organization().client()
        place = client.post("/v1/locations", {"name": "Here", "address": address()}, expect=201).data

        def one(i):
            calls = (("POST", "/v1/locations", {"name": "x", "address": address()}), ("GET", "/v1/locations", None), ("POST", "/v1/roles", {"name": f"r{i}", "permissions": {}}),
                     ("GET", f"/v1/locations/{place['id']}", None), ("POST", f"/v1/locations/{place['id']}", {"name": f"n{i}"}))
            method, path, body = calls[i % 5]
            r = client.http.request(method, server.base + path, json=body, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            return f"{method} {path}: {r.status_code} {r.text[:200]}" if r.status_code >= 300 else ""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for turn in range(10):
                assert end_all_sessions(server) > 4  # lanes and threads
                wrong = list(pool.map(one, range(turn * 10, turn * 10 + 10)))
                assert not any(wrong), wrong
    finally:
        server.stop()


def test_reads_wait_for_a_database_that_is_away_for_a_moment():
    """Worker threads, which give up sooner, do nothing in the place of a lane when they have no connection either."""
    server = Server("--modules", "org,locations,contacts", "--set", "workers=1")
    beside = psycopg2.connect(server.conninfo.replace("dbname=wharf", "dbname=postgres"))
    beside.autocommit = True
    try:
        client = server.organization().client()
        where = "/v1/locations/" + client.post("/v1/locations", {"name": "Here", "address": address()}, expect=201).data["id"]
        with beside.cursor() as c, concurrent.futures.ThreadPoolExecutor(4) as pool:
            c.execute("ALTER DATABASE wharf ALLOW_CONNECTIONS false")
            for of in "<>", "=":  # lanes, which have no name, see last what has become of the others
                c.execute(f"SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = 'wharf' AND backend_type = 'client backend' AND application_name {of} ''")
                assert all(ended for ended, in c.fetchall())
            asked = [pool.submit(client.get, where) for _ in range(4)]
            time.sleep(0.7)  # longer than a thread tries to connect, shorter than a read may wait
            c.execute("ALTER DATABASE wharf ALLOW_CONNECTIONS true")
            assert [r.result().status for r in asked] == [200] * 4
    finally:
        beside.close()
        server.stop()


def test_fewer_connections_than_wanted():
    """A server that can't get all of its connections serves with those it has: requests go to lanes and threads that have one. It says so."""
    server = Server("--modules", "org,locations,contacts", "--set", "workers=1", "--set", "log.level=warn")
    taken = []
    try:
        client = server.organization().client()
        place = client.post("/v1/locations", {"name": "Here", "address": address()}, expect=201).data
        server.sql("SELECT 1")

        def takes_no_new_one(of="degraded"):
            return any("takes no new connection" in text for text in probe(server)[1][of])
        take_all_connections(server, taken)
        until(lambda: takes_no_new_one() or takes_no_new_one("not_ready_because"))

        def one(i):
            calls = (("GET", "/v1/locations", None), ("GET", f"/v1/locations/{place['id']}", None), ("POST", "/v1/locations", {"name": "x", "address": address()}),
                     ("POST", f"/v1/locations/{place['id']}", {"name": f"n{i}"}), ("POST", "/v1/roles", {"name": f"r{i}", "permissions": {}}))
            method, path, body = calls[i % 5]
            return client.http.request(method, server.base + path, json=body, headers={"SVC-API-KEY": client.key}, timeout=WAIT).status_code

        def all_are_served(n):
            with concurrent.futures.ThreadPoolExecutor(10) as pool:
                return max(pool.map(one, range(n))) < 500  # a role of that name is there the second time

        def serves_with_fewer():
            """Gives it two places when it can't serve, takes three when it has all that it wants: a slow one may get the last before it serves."""
            if not all_are_served(10):
                for _ in range(2):
                    taken.pop().close()
                return False
            if any(takes_no_new_one() and probe(server)[0] == 200 or time.sleep(0.1) for _ in range(50)):
                return True
            return take_all_connections(server, taken, ends=3)
        until(serves_with_fewer)
        assert all_are_served(60)
        until(lambda: log_lines(server.folder, "database.connections"))
        for c in taken:
            c.close()
        until(lambda: probe(server)[1]["connections"] == "ok")
    finally:
        for c in taken:
            c.close()
        server.stop()
