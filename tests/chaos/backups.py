"""What tests of `wharf backup` and `wharf restore` share: the commands, and ways to compare what was restored with what was there."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("api", "isolation", "conformance"):
    sys.path.insert(0, str(HERE.parent / folder))

from wharf import PROGRAM, WAIT, Client, Server, process_state, until  # noqa: E402


def wharf(*args, env=None):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=WAIT, env={**os.environ, **(env or {})})


def begin(*args, env=None):
    """The command as a process that goes on by itself."""
    return subprocess.Popen([PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})


def paused(process):
    """It has come to its WHARF_PAUSE."""
    until(lambda: process_state(process.pid)[0] == "T" or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def told(done, *said, code=0):
    """What a command said is as it must be."""
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    for text in said:
        assert re.search(text, done.stdout + done.stderr), (text, done.stdout, done.stderr)
    return done


class Place:
    """A folder for backups and what is restored from them."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-backup-", dir=os.environ.get("WHARF_TEST_PLACE")))
        os.chmod(self.folder, 0o711)
        self.n = 0

    def new(self, name):
        self.n += 1
        return self.folder / f"{name}-{self.n}"

    def passphrase(self, text="correct horse battery staple"):
        file = self.new("passphrase")
        file.write_text(text + "\n")
        file.chmod(0o600)
        return file

    def backup(self, server, *args, code=0, said=(), env=None):
        to = self.new("backup")
        told(wharf("backup", to, "--data", server.folder, *server.settings(), *args, env=env), *said, code=code)
        return to

    def restore(self, backup, *args, code=0, said=(), env=None):
        to = self.new("restored")
        told(wharf("restore", backup, "--data", to, *args, env=env), *said, code=code)
        return to

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def files(backup):
    return sorted(p.relative_to(backup) for p in backup.rglob("*") if p.is_file())


def dump_text(backup):
    """The rows and tables of a plain backup as SQL, without what tells when it was made; rows in order, which a table has not."""
    text = subprocess.run(["pg_restore", "--no-owner", "--file=-", backup / "database.dump"], capture_output=True, text=True, check=True).stdout
    out, rows = [], None
    for line in text.splitlines():
        if rows is None:
            out += [] if line.startswith(("--", r"\restrict", r"\unrestrict")) else [line]
            rows = [] if line.startswith("COPY ") else None
        elif line == r"\.":
            out += sorted(rows)
            rows = None
        else:
            rows.append(line)
    return out


# Changes with each request, or with the moment of the answer.
VOLATILE = re.compile(r'"(last_used_at|timestamp|last_seen_at)": ?[^,}]*|[?&](exp|sig)=[^"&]*|"request_id": ?"[^"]*"')


# Reading leaves lines in these, so they are asked for those up to the moment.
GROWING = ("/v1/logs", "/v1/request-logs")


def answers(walls, clients, moment):
    """Every GET of the description, of rows of each organization and place: path -> status and text of the answer, but for what each answer changes."""
    from walls import STREAMS
    found = {}
    for path, operations in walls.openapi["paths"].items():
        if "get" not in operations or STREAMS.search(path) or path == "/v1/logs/verify":  # `wharf verify` does that
            continue
        for _, real in walls.calls(path):
            real += f"?limit=1000&created_at=lte:{moment}" if path in GROWING else ""
            for org, client in clients.items():
                r = client.http.get(client.server.base + real, headers={"SVC-API-KEY": client.key}, timeout=WAIT)
                kind = r.headers.get("Content-Type", "")
                found[org, real] = (r.status_code, VOLATILE.sub("", r.text.replace(client.server.base, "")) if "json" in kind else r.content)
    return found


def same_keys(walls, server):
    """Clients of another server with the keys of this world."""
    return {org: Client(server, client.key) for org, client in walls.admin.items()}


__all__ = ["Client", "Place", "Server", "answers", "begin", "dump_text", "files", "paused", "same_keys", "told", "until", "wharf"]
