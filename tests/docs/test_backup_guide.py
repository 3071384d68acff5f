"""docs/guide/backup.md: every command of it, as it stands there, in order, with a server that serves meanwhile and PostgreSQL of one's own. Paths of the
page are folders of the test, its machines are sockets."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from test_guides import told_is  # noqa: E402
from wharf import PROGRAM, ROOT, WAIT, until  # noqa: E402

PAGE = ROOT / "docs" / "guide" / "backup.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.S | re.M)
BIN = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1].parent


class Machine:
    """A folder with what the page names, and two PostgreSQL servers."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-guide-", dir=os.environ.get("WHARF_TEST_PLACE")))
        self.folder.chmod(0o755)
        self.servers = {}
        for name in ("etc/wharf", "var/backups/wharf", "var/backups/postgresql/wal", "var/backups/files", "usr/local/sbin", "bin", "root", "var/lib/postgresql", "tmp"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "bin" / "wharf").write_text(f'#!/bin/sh\nexec "{PROGRAM}" "$@" -c "{self.folder}/etc/wharf/wharf.lua"\n')
        (self.folder / "bin" / "wharf").chmod(0o755)
        if os.geteuid() == 0:
            for name in ("var/backups/postgresql", "var/backups/postgresql/wal", "var/lib/postgresql"):
                shutil.chown(self.folder / name, "postgres", "postgres")

    def here(self, text):
        """The text with the folders and machines of the test."""
        names = ("/var/lib/postgresql", "/var/backups", "/etc/wharf", "/usr/local/sbin", "/root/", "/var/lib/wharf", "/tmp/wharf")
        text = re.sub(rf"(?<![\w/.-])({'|'.join(map(re.escape, names))})", lambda m: f"{self.folder}{m.group()}", text)  # at once: the folder may be in /tmp
        for name in ("db.example", "new.example"):
            text = text.replace(name, str(self.folder / name))
        return text

    def run(self, script, user=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("WHARF_")}
        env["PATH"] = f"{self.folder}/bin:{BIN}:{env['PATH']}"
        command = ["bash", "-ec", script] if not user or os.geteuid() else ["runuser", "-u", user, "--", "env", f"PATH={env['PATH']}", "bash", "-ec", script]
        return subprocess.run(command, cwd="/", env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT)

    def postgres(self, name):
        """A PostgreSQL that listens in the folder `name`."""
        data = self.folder / "var/lib/postgresql" / name
        (self.folder / name).mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.folder / name, "postgres", "postgres")
        done = self.run(f"initdb -D {data} -U postgres --auth=trust -E UTF8 --locale=C >/dev/null\n"
                        f"echo \"listen_addresses = ''\nunix_socket_directories = '{self.folder / name}'\nfsync = off\" >> {data}/postgresql.conf\n"
                        f"pg_ctl -D {data} -l {data}.log -w start >/dev/null\n"
                        f"psql -qh {self.folder / name} -U postgres -c 'CREATE ROLE wharf LOGIN'", "postgres")
        assert not done.returncode, done.stdout
        self.servers[name] = data
        return data

    def settings(self, more=""):
        (self.folder / "etc/wharf/wharf.lua").write_text(f'listen = "127.0.0.1:0"\ndata = "{self.folder}/var/lib/wharf"\nadmin = {{listen = ""}}\ndrain_accept = 0\n'
                                                         f'modules = {{"org", "documents"}}\nlog = {{file = "{self.folder}/wharf.log"}}\n{more}')
        return self

    def remove(self):
        for data in self.servers.values():
            self.run(f"pg_ctl -D {data} -m immediate stop", "postgres")
        shutil.rmtree(self.folder, ignore_errors=True)


class Serving:
    def __init__(self, machine):
        self.machine, ready = machine, machine.folder / "ready.json"
        ready.unlink(missing_ok=True)
        self.process = subprocess.Popen([PROGRAM, "serve", "-c", machine.folder / "etc/wharf/wharf.lua", "--ready", ready], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until(lambda: (ready.exists() and ready.stat().st_size) or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.communicate()[1]
        self.base = json.loads(ready.read_text())["base_url"]

    def document(self):
        """One file, so that there is an object; it comes through the API."""
        import requests
        org = self.machine.run("wharf org create Guide").stdout.strip()
        key = self.machine.run(f"wharf key create --org {org} --scopes all").stdout.strip()
        done = requests.post(self.base + "/v1/documents", headers={"SVC-API-KEY": key}, json={"name": "Paper", "visibility": "private", "content": "data:text/plain;base64,aGVsbG8="}, timeout=WAIT)
        assert done.status_code == 201, (org, key, done.text)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=WAIT)


@pytest.fixture(scope="module")
def machine():
    m = Machine()
    yield m
    m.remove()


def sections():
    """The blocks of each section: title -> [(language, name, text)]."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return {title: BLOCK.findall(text) for title, text in zip(parts[1::2], parts[2::2])}


def follow(machine, title, change=lambda text: text):
    """Runs the commands of a section; each says what the page says."""
    blocks = sections()[title]
    assert blocks
    for i, (language, name, text) in enumerate(blocks):
        if language in ("sh", "postgres"):
            done = machine.run(change(machine.here(text)), "postgres" if language == "postgres" else None)
            assert not done.returncode, (text, done.stdout)
            if i + 1 < len(blocks) and blocks[i + 1][0] == "text":
                assert told_is(machine.here(blocks[i + 1][2]), done.stdout), f"{text}\ntold:\n{done.stdout}\nnot:\n{blocks[i + 1][2]}"
        elif language == "bash":
            file = pathlib.Path(machine.here(name))
            file.write_text(machine.here(text))
            file.chmod(0o755)
        elif language not in ("text", "cron", "conf"):
            raise AssertionError(f"nobody runs a block of {language}")


def test_the_embedded_database(machine):
    """Taking one, encrypted, each night for three weeks, and the way back."""
    server = Serving(machine.settings())
    try:
        server.document()
        follow(machine, "Take one")
        follow(machine, "With the master key, encrypted")
        follow(machine, "Each night")
        (line,) = [text for language, _, text in sections()["Each night"] if language == "cron"]
        minute, hour, *_, user, command = line.strip().split(None, 6)
        assert (minute, hour, user) == ("15", "1", "wharf")
        backups = machine.folder / "var/backups/wharf"
        for day in range(1, 20):
            (backups / f"2025-01-{day:02}").mkdir()
        (backups / "2025-01-20.unfinished").mkdir()
        done = machine.run(machine.here(command))
        assert not done.returncode and "is whole" in done.stdout, done.stdout
        kept = sorted(p.name for p in backups.glob("2*"))
        assert len(kept) == 14 and kept[0] == "2025-01-07" and (backups / kept[-1] / "manifest.json").exists()
        done = machine.run(machine.here(command))  # a backup that failed keeps all others
        assert done.returncode and "is there already" in done.stdout and sorted(p.name for p in backups.glob("2*")) == kept
        machine.postgres("new.example")
        follow(machine, "Restore, step by step")
    finally:
        server.stop()


def test_a_database_of_ones_own(machine):
    """pg_dump, then base backup and WAL, to a moment between two changes."""
    if "new.example" not in machine.servers:
        machine.postgres("new.example")
        machine.run(f"psql -qh {machine.folder}/new.example -U postgres -c 'CREATE ROLE wharf_plugin NOLOGIN' -c 'GRANT wharf_plugin TO wharf'")
    data = machine.postgres("db.example")
    shutil.rmtree(machine.folder / "var/lib/wharf", ignore_errors=True)
    (conf,) = [text for language, _, text in sections()["To any second: base backup and WAL"] if language == "conf"]
    own = f"-h {machine.folder}/db.example -U postgres"
    done = machine.run(f"cat >> {data}/postgresql.conf <<'END'\n{machine.here(conf)}END\npg_ctl -D {data} -l {data}.log -w restart >/dev/null\n"
                       f"createdb {own} --owner=wharf wharf\npsql -q {own} -c 'CREATE ROLE wharf_plugin NOLOGIN' -c 'GRANT wharf_plugin TO wharf'", "postgres")
    assert not done.returncode, done.stdout
    key = machine.folder / "var/lib/wharf/master.key"
    key.parent.mkdir()
    key.write_text(machine.run("wharf secret key").stdout)
    key.chmod(0o600)
    server = Serving(machine.settings(f"database = {{url = \"host={machine.folder}/db.example user=wharf dbname=wharf\"}}\n"))
    try:
        server.document()
        follow(machine, "With pg_dump instead")
        title = "To any second: base backup and WAL"
        blocks = sections()[title]
        base, back = [machine.here(text) for language, _, text in blocks if language == "postgres"]
        done = machine.run(base, "postgres")
        assert not done.returncode, done.stdout
        ask = f"psql -Atqh {machine.folder}/%s -U postgres wharf -c \"%s\""
        machine.run(ask % ("db.example", "INSERT INTO wharf.setting (key, value) VALUES ('guide', 'before')"))
        moment = machine.run(ask % ("db.example", "SELECT now()")).stdout.strip()
        time.sleep(1)  # the clock of commits has to pass it
        machine.run(ask % ("db.example", "UPDATE wharf.setting SET value = 'after' WHERE key = 'guide'"))
        machine.run(ask % ("db.example", "SELECT pg_switch_wal()"))
        until(lambda: machine.run(ask % ("db.example", "SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver")).stdout.strip() == "t")
    finally:
        server.stop()
    machine.run(f"pg_ctl -D {data} -m fast -w stop", "postgres")
    done = machine.run(back.replace("2026-05-04 11:59:00+00", moment), "postgres")
    machine.servers["restored"] = machine.folder / "var/lib/postgresql/restored"
    assert not done.returncode, done.stdout
    until(lambda: machine.run(ask % ("db.example", "SELECT pg_is_in_recovery()")).stdout.strip() == "f")
    assert machine.run(ask % ("db.example", "SELECT value FROM wharf.setting WHERE key = 'guide'")).stdout.strip() == "before"
    checked = machine.run("wharf check && wharf verify | tail -1")
    assert not checked.returncode and "no faults" in checked.stdout, checked.stdout


def test_no_block_is_left_out():
    """The tests above run every section that has commands."""
    run = {"Take one", "With the master key, encrypted", "Each night", "Restore, step by step", "With pg_dump instead", "To any second: base backup and WAL"}
    assert {title for title, blocks in sections().items() if blocks} == run
