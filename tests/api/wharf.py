"""A real server, and a client that checks every answer: envelope and headers of spec 01 sections 1 and 2.4, and the served OpenAPI.

`Server` runs `wharf dev` in a folder of its own; `Server.organization()` makes an organization, `Organization.client()` a key.
WHARF_BUILD or BUILD names the build folder (default: build); WHARF_PROGRAM another program than its tool/wharf;
WHARF_TEST_MODULES the modules of the server that most tests share; WHARF_TEST_PLACE where the servers' folders are (default: as tempfile), and
what a first start makes is kept there for the next server with the same modules (`prepare`); WHARF_TEST_EVERYTHING=1: with every setting that
adds work to requests switched on (everything.py); WHARF_SEEN a file that gets the codes of all answers, with their operations (tools/codes.py):
then a code that the description does not tell of an operation is no fault; WHARF_REACHED a file that gets the method, path and
status of all answers (tools/reached.py).
"""
import contextlib
import ctypes
import functools
import http.client
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.parse
import weakref

import psycopg2
import pytest
import requests

import everything
import prepared
from noted import note_answer
from schema_check import Schema, check_schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WHARF_BUILD") or os.environ.get("BUILD") or ROOT / "build").resolve()
# Sanitizers keep memory of their own beside a program's, so limits of a process's memory say nothing.
SANITIZED = bool(os.environ.get("ASAN_OPTIONS") or os.environ.get("TSAN_OPTIONS"))
PROGRAM = pathlib.Path(os.environ.get("WHARF_PROGRAM") or BUILD / "tool" / "wharf")
MODULES = os.environ.get("WHARF_TEST_MODULES") or f"org,locations,carriers,reasons,contacts,batches,exports,shipments,trackers,containers,items,assets,parcels,manifests,fulfillments,documents,templates,stations,logs,support,events,webhooks,integrations,notifications,workflows,inference,{BUILD}/tests/plugins/filterbench.so"
BODY = ["id", "object", "type", "timestamp", "api_version", "sequence", "organization_id", "location_id", "resource_type", "resource_id", "batch_id",
        "actor", "data", "previous_attributes"]
KEYS = ["data", "message", "status", "code", "errors", "pagination", "endpoint"]
CODE = re.compile(r"^[a-z0-9_]+([.:][a-z0-9_]+)*$")
ISO = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
SANITIZER = re.compile("ERROR: AddressSanitizer|runtime error:|WARNING: ThreadSanitizer|ERROR: LeakSanitizer")
FORMATS = {
    "iso_8601": "iso_8601;type=string;precision=milliseconds",
    "epoch": "epoch;type=integer;precision=seconds",
    "epoch_millis": "epoch_millis;type=integer;precision=milliseconds",
}


# Tests ask faster than clients may; test_limits.py has a server with the limits on.
# Each write is held to what its rules say of it (rules.verify).
UNLIMITED = ["--set", "rules.verify=true"] + [a for name in ("key", "write", "test", "organization", "concurrency") for a in ("--set", f"rate_limit.{name}=0")] + ["--set", "rate_limit.endpoint=false", "--set", "mail.max_per_minute=0"]


# How long a workflow's run may take that somebody waits for. A busy machine starts a cell late.
PATIENT = {"before": 5000, "sync": 25000, "public": 25000}

# Seconds that a test waits for what must come: enough for a busy machine. Nothing is measured by it.
WAIT = 300


def process_state(pid):
    """The letter of its state (Z: ended, X: not there) and the process id of its parent."""
    try:
        state, parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return "X", 0
    return state, int(parent)


def niceness(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16])


def group_niceness(pid):
    """Of its session, where sessions share the processors as groups (sched(7), autogroup): there the niceness of a process counts inside of its session only."""
    file = pathlib.Path(f"/proc/{pid}/autogroup")
    text = file.read_text() if file.exists() else ""
    return int(text.rsplit("nice", 1)[1]) if text else None


def stepped_back(pid):
    """Of who works for a session of PostgreSQL, beside the tests, as a process; its session follows, for who is not root one in a tenth of a second."""
    if niceness(os.getpid()) > 9:
        pytest.skip("the tests themselves run with `nice`; nobody can step further back")
    if niceness(pid) == niceness(os.getpid()):
        assert group_niceness(pid) in (0, None)
        return False
    assert niceness(pid) == min(19, niceness(os.getpid()) + 10)
    end = time.monotonic() + WAIT
    while group_niceness(pid) not in (10, None):
        assert time.monotonic() < end
        time.sleep(0.05)
    return True


class Turns(ctypes.Structure):
    """struct sched_attr of sched_setattr(2), its first version."""
    _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32),
                ("runtime", ctypes.c_uint64), ("deadline", ctypes.c_uint64), ("period", ctypes.c_uint64)]


def turns(pid):
    """Nanoseconds of a turn of the processor that a process gets; 0: this kernel does not say."""
    told = Turns()
    assert ctypes.CDLL(None).syscall(315 if platform.machine() == "x86_64" else 275, int(pid), ctypes.byref(told), ctypes.sizeof(told), 0) == 0
    return told.runtime


TURNS_ARE_HEARD = turns(os.getpid()) > 0  # kernel/util/turns.h


def beside_sanitizers(env):
    """What the environment says more where a preloaded library comes before that of the sanitizer."""
    return {"ASAN_OPTIONS": os.environ["ASAN_OPTIONS"] + ":verify_asan_link_order=0"} if "LD_PRELOAD" in env and "ASAN_OPTIONS" in os.environ else {}


class Server:
    """`wharf dev` from start to stop. limits: with the rate limits of a server as it is installed. beside: another server, whose database
    this one uses. program: another file than PROGRAM. demo: with the demonstration data."""

    running = []  # those of this process: a failed test says how they are (conftest.py)

    def __init__(self, *args, env=None, folder=None, limits=False, beside=None, program=PROGRAM, demo=False):
        self.beside = beside
        if "workflows" in (args[args.index("--modules") + 1].split(",") if "--modules" in args else []):
            said = " ".join(map(str, args))
            args = [*args, *(a for kind, ms in PATIENT.items() if f"budgets.{kind}.time_ms" not in said for a in ("--set", f"workflows.budgets.{kind}.time_ms={ms}"))]
        if beside:
            args = [*args, "--set", f"database.url={beside.conninfo}"]
            if not (folder or any(str(a).startswith(("blob.dir=", "blob.driver=")) for a in args)):
                args += ["--set", f"blob.dir={beside.folder}/blobs"]  # all servers of a database see one folder of files
        self.keep = folder is not None
        self.args = [str(a) for a in args]
        self.broken = set()  # checks of `wharf verify` that a test made fail
        self.folder = folder or pathlib.Path(tempfile.mkdtemp(prefix="wharf-api-", dir=os.environ.get("WHARF_TEST_PLACE")))
        own_key = any(a.startswith("master_key") for a in args)
        own_files = any(str(a).startswith(("blob.dir=", "blob.driver=")) for a in args)  # a database that was made before knows the mark of its own folder
        if "WHARF_TEST_PLACE" in os.environ and not (folder or beside or env or own_key or own_files):
            prepared.prepare(self.folder, args, [PROGRAM, *(BUILD / "modules").glob("*.so")], Server)
        os.chmod(self.folder, 0o711)
        if everything.ON:
            args = [*args, *everything.arguments(args, self.folder, ROOT / "schemas", limits, beside.folder if beside else self.folder)]
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        self.log = open(self.folder / "out", "wb")
        self.process = subprocess.Popen(
            [program, "dev", "--data", self.folder, "--listen", "127.0.0.1:0", "--ready", ready, *([] if demo else ["--no-demo"]), *([] if limits else UNLIMITED), *args],
            stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {}), **beside_sanitizers(env or {})})
        self.http = requests.Session()
        self.sessions = weakref.WeakSet([self.http])
        self._db = None
        try:
            told = self.read_when_ready(ready)
            self.base, self.admin, self.demo_key = told["base_url"], told["admin_url"], told["api_key"]
            self.openapi = self.http.get(self.base + "/v1/openapi.json", headers={"SVC-API-KEY": self.demo_key}, timeout=WAIT).json()
        except BaseException:  # nobody has this object to end it: servers left running took the memory from those that came after
            self.end()
            raise
        self.paths = [(re.compile("^" + re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(p)) + "$"), p) for p in
                      sorted(self.openapi["paths"], key=lambda p: p.count("{"))]
        self.template, self.validator = functools.lru_cache(10000)(self.template_of), functools.lru_cache(None)(self.validator_of)
        Server.running.append(self)

    def read_when_ready(self, ready):
        """What the server wrote into the file `ready` once it serves. A build with sanitizers on a busy machine takes minutes; one that ended is seen at once."""
        end = time.monotonic() + WAIT
        while not (ready.exists() and ready.stat().st_size):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the server did not start:\n" + (self.folder / "out").read_text(errors="replace"))
            time.sleep(0.02)
        return json.loads(ready.read_text())

    def condition(self):
        """What its log said last, its crash reports, which jobs are not over, and what its database is doing."""
        told = []
        for name in ("out", "wharf.log"):
            file = self.folder / name
            if file.exists():
                told += [f"-- {name}"] + file.read_text(errors="replace").splitlines()[-25:]
        for file in sorted((self.folder / "crash").glob("*.txt")):
            told += [f"-- {file.name}"] + file.read_text(errors="replace").splitlines()[:80]
        try:
            told += ["-- jobs"] + [str(r) for r in self.sql("SELECT queue, state, attempts, crashes, run_at, worker, left(error, 200) FROM wharf.job WHERE organization_id <> '' ORDER BY id DESC LIMIT 20")]
            told += ["-- activity"] + [str(r) for r in self.sql("SELECT pid, state, wait_event, now() - xact_start, left(query, 150) FROM pg_stat_activity"
                                                               " WHERE state <> 'idle' OR wait_event_type = 'Lock'")]
        except Exception as e:  # a server whose database is down has a condition too
            told.append(f"database: {e}")
        told.append(f"-- workers: web {self.workers('web')}, job {self.workers('job')}")
        return "\n".join(told)

    def connect(self, timeout=WAIT, receive=None):
        """A connection to the API for bytes as a test writes them; by TLS where the server has it, as all have with everything.py. receive: bytes
        of what comes that the system keeps for it."""
        u = urllib.parse.urlparse(self.base)
        s = socket.socket()
        if receive:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        s.settimeout(timeout)
        s.connect((u.hostname, u.port))
        if u.scheme == "http":
            return s
        return ssl.create_default_context(cafile=os.environ["REQUESTS_CA_BUNDLE"]).wrap_socket(s, server_hostname=u.hostname)

    def command(self, *args):
        args = [*args, "--set", f"database.url={self.beside.conninfo}"] if self.beside else args
        done = subprocess.run([PROGRAM, *args, "--data", self.folder], capture_output=True, text=True, timeout=WAIT)
        if done.returncode:
            raise RuntimeError(f"wharf {' '.join(map(str, args))}: {done.stderr}{done.stdout}")
        return done.stdout.strip()

    def settings(self):
        """The server's settings, for other commands."""
        given, said = iter(self.args), []
        for a in given:
            if a in ("--set", "-c"):
                said += [a, next(given)]
            elif a == "--modules":
                said += ["--set", f"modules={next(given)}"]
            elif a == "--test-clock":
                said += ["--set", "test_clock=true"]
            elif a == "--safe-mode":
                said += [a]
        return said

    def verify(self, *words):
        """What `wharf verify` finds: check -> what it says of it."""
        done = subprocess.run([PROGRAM, "verify", "--json", "--data", self.folder, *self.settings(), *words], capture_output=True, text=True, timeout=WAIT)
        assert done.stdout, (done.returncode, done.stderr)
        told = json.loads(done.stdout)
        assert done.returncode == (1 if told["faulty"] else 2 if told["not_run"] or done.stderr else 0), (done.returncode, told, done.stderr)
        return {check["name"]: check for check in told["checks"]}

    def check_rows(self):
        """Whatever the tests did, what holds of all rows and files holds."""
        wrong = {name: check for name, check in self.verify().items() if (check["faults"] or check["error"]) and name not in self.broken}
        assert not wrong, json.dumps(wrong, indent=1)

    def kill_database(self):
        """Kills PostgreSQL, and waits until no backend is left: one that a request reaches before it notices may still answer that request."""
        postmaster = int((self.folder / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGSTOP)  # it starts no more of them
        backends = [p.name for p in pathlib.Path("/proc").glob("[0-9]*") if process_state(p.name)[1] == postmaster]
        os.kill(postmaster, signal.SIGKILL)
        until(lambda: all(process_state(pid)[0] in "ZX" for pid in [postmaster, *backends]))

    def workers(self, kind):
        """Process ids."""
        found = []
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it ended meanwhile
                if process_state(p.name)[1] == self.process.pid and f"--kind {kind}".encode() in (p / "cmdline").read_bytes().replace(b"\0", b" "):
                    found.append(int(p.name))
        return found

    def organization(self, name="Test"):
        return Organization(self, re.search(r"org_[0-9A-Za-z]{22}", self.command("org", "create", name)).group(0))

    @property
    def conninfo(self):
        lines = (self.folder / "postgres" / "postmaster.pid").read_text().splitlines()
        return f"host={lines[4]} port={lines[3]} user=wharf dbname=wharf"

    @property
    def db(self):
        """A connection as the owner; sees all rows."""
        if self._db is None or self._db.closed:
            self._db = psycopg2.connect((self.beside or self).conninfo)
            self._db.autocommit = True
        return self._db

    def sql(self, text, *args):
        with self.db.cursor() as c:
            c.execute(text, args)
            if c.description:
                return c.fetchall()
            assert not c.statusmessage.startswith("SELECT"), "name a column, psycopg2 does not say how many rows without one came"
            return None

    @contextlib.contextmanager
    def held(self, sql, *args):
        """What it locks is locked meanwhile, as by a transaction that does not end."""
        db = psycopg2.connect((self.beside or self).conninfo)
        try:
            with db.cursor() as cursor:
                cursor.execute(sql, args)
                assert cursor.statusmessage.split()[0] not in ("SELECT", "UPDATE") or cursor.rowcount, "no row is locked"
            yield
        finally:
            db.close()

    def events_wait(self, org):
        """Events of the organization are not processed meanwhile, as on a busy server."""
        return self.held("SELECT pg_advisory_lock(hashtextextended('wharf.event:' || %s, 0))", org.id)

    def parameters(self, operation):
        """The parameters of an operation of the description, also those that it names by a $ref because operations share them."""
        shared = self.openapi["components"]["parameters"]
        return [shared[p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p for p in operation.get("parameters", [])]

    def template_of(self, path):
        return next((p for regex, p in self.paths if regex.match(path)), None)

    def validator_of(self, method, template, status):
        operation = self.openapi["paths"][template].get(method.lower() if method != "HEAD" else "get")
        answer = operation and (operation["responses"].get(str(status)) or (status >= 400 and operation["responses"].get("default")))
        if not answer:
            return None
        if "$ref" in answer:
            answer = self.openapi["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
        schema = answer["content"]["application/json"]["schema"]
        return Schema(schema, self.openapi["components"]["schemas"])

    # With the body's bytes as receivers get them, of those that were processed.
    BODIES = (
        "SELECT e.id, e.type, e.data, d.sequence, d.head || e.data::text || ',\"previous_attributes\":' || COALESCE(e.previous_attributes::text, 'null') || '}'"
        " FROM wharf.event e LEFT JOIN wharf.event_done d ON d.organization_id = e.organization_id AND d.created_at = e.created_at AND d.event_id = e.id"
        " WHERE e.resource_type <> 'made_by_test'")

    def check_events(self):
        """Every event that was emitted is of a declared type, its data is as the type's schema says, and its body is what the API's events are."""
        modules = requests.get(self.base + "/readyz?verbose", timeout=WAIT).json()["modules"]
        validators, loaded = {}, {name for name, status in modules.items() if status == "ok"}
        for id, type, data, sequence, body in self.sql(self.BODIES):
            if body:
                body = json.loads(body)
                assert list(body) == BODY and body["data"] == data, f"the body of {id} is {json.dumps(body)[:2000]}"
                assert (body["id"], body["type"], body["sequence"], body["object"]) == (id, type, sequence, "event")
            if type not in validators:
                if type.count(".") == 2 and type.split(".")[0] not in loaded:
                    continue  # of a plugin that is left out here, or that only another server on this database has
                r = requests.get(f"{self.base}/v1/schemas/events/{type}", timeout=WAIT)
                assert r.status_code == 200, f"an event of the undeclared type {type}"
                check_schema(r.text)
                validators[type] = Schema(r.json())
            faults = validators[type].faults(data)
            assert not faults, f"event {type}: {faults[0]} of {json.dumps(data)[:2000]}"

    def can_be_asked(self):
        try:
            return self.process.poll() is None and requests.get(self.base + "/readyz", timeout=WAIT).status_code == 200
        except requests.RequestException:
            return False

    def stop(self):
        asked = self.can_be_asked()
        try:
            if asked:
                self.check_events()
                if not self.beside:  # the other one looks at it
                    self.check_rows()
        except psycopg2.OperationalError:
            pass  # a test took the database away
        finally:
            self.end()

    def end(self):
        if self in Server.running:
            Server.running.remove(self)
        if self._db:
            self._db.close()
        for session in self.sessions:  # a server that ends waits a second for what may still come on open connections
            session.close()
        self.process.terminate()
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        found = self.sanitizer_reports()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
            everything.forget(self.folder)
        assert not found, found

    def sanitizer_reports(self):
        """What a build with sanitizers had to say, in any of its processes; empty for other builds."""
        for name in ("out", "wharf.log"):
            file = self.folder / name
            text = file.read_text(errors="replace") if file.exists() else ""
            found = SANITIZER.search(text)
            if found:
                return f"{name}: {text[found.start():found.start() + 8000]}"
        return ""


class Organization:
    def __init__(self, server, id):
        self.server, self.id = server, id

    def key(self, scopes="all", locations=None, user=None, test=False):
        args = ["key", "create", "--org", self.id, "--scopes", scopes]
        args += ["--locations", ",".join(locations)] if locations else []
        args += ["--user", user] if user else []
        args += ["--test"] if test else []
        return re.search(r"wh_(live|test)_[0-9A-Za-z]{38}", self.server.command(*args)).group(0)

    def client(self, scopes="all", **more):
        return Client(self.server, self.key(scopes, **more))

    def user(self, email=None, role="user", locations=None, status="active"):
        """A user by SQL: the routes that make users are another module's matter. Answers its id."""
        id = "user_" + os.urandom(11).hex()
        self.server.sql(
            "INSERT INTO wharf.user (organization_id, id, name, email, role, status, allow_all_locations, locations, created_at, updated_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, now(), now())",
            self.id, id, id, email or id + "@example.com", role, status, locations is None, json.dumps(locations or []))
        return id

    def events(self, resource_id, type=None):
        rows = self.server.sql("SELECT type, data, previous_attributes, location_id FROM wharf.event WHERE organization_id = %s"
                               " AND resource_id = %s ORDER BY id", self.id, resource_id)
        return [r for r in rows if type in (None, r[0])]

    def told(self, columns, where, *args):
        """Of events, in the order in which they were processed; waits until all are."""
        end = time.monotonic() + WAIT
        while self.server.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s LIMIT 1", self.id):
            assert time.monotonic() < end, "events are not processed"
            time.sleep(0.02)
        return self.server.sql(f"SELECT {columns} FROM wharf.event_state WHERE organization_id = %s AND {where} ORDER BY sequence", self.id, *args)

    def changes(self, resource_id):
        return self.server.sql("SELECT action, changes, actor_type, actor_id, request_id, event_id, location_id, parent_id"
                               " FROM wharf.change_log WHERE organization_id = %s AND resource_id = %s ORDER BY created_at, id",
                               self.id, resource_id)


class Problem(AssertionError):
    pass


def check_headers(r, authenticated):
    h = r.headers
    assert re.fullmatch(r"req_[0-9A-Za-z]{22}", h["Request-Id"]), h["Request-Id"]
    assert h["X-Content-Type-Options"] == "nosniff"
    assert h["Cache-Control"] in ("private, no-cache", "no-store"), h["Cache-Control"]
    if authenticated and r.status_code < 400:
        assert h["SVC-Mode"] in ("live", "test")
    if "RateLimit" in h:
        assert h["RateLimit-Policy"]


def check_envelope(r, path):
    body = r.json()
    assert list(body) == KEYS, list(body)
    assert body["status"] == r.status_code
    assert isinstance(body["message"], str) and body["message"]
    assert body["endpoint"] == path.split("?")[0][:512]
    assert isinstance(body["errors"], list) and all(isinstance(e, str) for e in body["errors"])
    if r.status_code < 400:
        assert body["code"] is None and body["data"] is not None
    else:
        assert CODE.match(body["code"]), body["code"]
        assert body["data"] is None and body["pagination"] is None
    assert (body["pagination"] is not None) == isinstance(body["data"], list) or "pagination" not in body or path_is_plain(path)
    return body


def path_is_plain(path):
    """Lists that are not paged."""
    return path.split("?")[0].endswith(("/tree", "/events/types", "/paper-sizes", "/layouts", "/providers", "/providers/detect", "/tracking-updates", "/logs", "/explosion")) or "cache=1" in path or "/http/" in path


class Answer:
    def __init__(self, r, body):
        self.status, self.headers, self.body, self.raw = r.status_code, r.headers, body, r
        for key in KEYS:
            setattr(self, key if key != "status" else "body_status", body.get(key) if body else None)

    @property
    def ids(self):
        return [row["id"] for row in self.data]

    def __repr__(self):
        return f"{self.status} {self.code} {self.errors}: {self.message}"


class Client:
    """Requests with one key. Every answer is checked; `expect` is the status that must come."""

    def __init__(self, server, key):
        self.server, self.key, self.http = server, key, requests.Session()
        server.sessions.add(self.http)
        self.http.verify = os.environ.get("REQUESTS_CA_BUNDLE", True)  # prepared requests don't look there

    def request(self, method, path, body=None, expect=None, headers=None, data=None, key=True, check=True):
        h = {"SVC-API-KEY": self.key} if key is True and self.key else {"SVC-API-KEY": key} if isinstance(key, str) else {}
        if body is not None:
            data = json.dumps(body).encode()
            h["Content-Type"] = "application/json"
        h.update(headers or {})
        h, data = everything.headers(h, data)
        end = time.monotonic() + WAIT
        while True:
            r = self.send(method, path, h, data)
            answer = self.checked(method, path, r, h) if check else Answer(r, r.json() if r.content else None)
            # A server whose cells get no processor in time answers 503: a client tries again. Drawing steps back for other work, so this is usual on a busy machine.
            if expect in (None, 503) or answer.status != 503 or answer.code != "overloaded" or not path.startswith("/v1/templates") or time.monotonic() > end:
                break
            time.sleep(1)
        if method not in ("GET", "HEAD", "OPTIONS"):
            time.sleep(0.001)  # what one client writes is a millisecond apart, as over a network: rows of the same one are ordered by their ids
        if expect is not None and answer.status != expect:
            raise Problem(f"{method} {path}: {answer!r}, not {expect}\n{json.dumps(body)[:2000]}")
        return answer

    def send(self, method, path, headers, data):
        """The answer. The path goes as it is written, which `requests` would quote and tidy. Bytes go by the adapter of the session: what a session looks
        up beside it, cookies and redirects, is a quarter of the time."""
        if data is not None and not isinstance(data, bytes):
            req = requests.Request(method, self.server.base, headers=headers, data=data).prepare()
            req.url = self.server.base + path
            return self.http.send(req, timeout=WAIT, allow_redirects=False)
        req = requests.PreparedRequest()
        req.method, req.url, req.headers, req.body = method, self.server.base + path, requests.structures.CaseInsensitiveDict(headers), data
        if not {"Content-Length", "Transfer-Encoding"} & {name.title() for name in headers} and (data or method not in ("GET", "HEAD")):
            req.headers["Content-Length"] = str(len(data or b""))
        answer = self.http.get_adapter(req.url).send(req, timeout=WAIT, verify=self.http.verify)
        note_answer(method, req.url, answer.status_code)
        answer.content  # read now: the connection is free for others
        return answer

    def checked(self, method, path, r, sent):
        check_headers(r, "SVC-API-KEY" in sent)
        template = self.server.template(path.split("?")[0].rstrip("/"))
        if method in ("HEAD", "OPTIONS") or r.status_code in (204, 304):
            assert not r.content
            return Answer(r, None)
        if r.headers["Content-Type"].startswith("application/problem+json"):
            return Answer(r, None)
        assert r.headers["Content-Type"] == "application/json; charset=utf-8"
        assert r.headers["SVC-Datetime-Format"] in FORMATS.values()
        body = check_envelope(r, path)
        assert (r.status_code, body["code"]) != (503, "overloaded") or int(r.headers["Retry-After"]) > 0, "who is refused for want of room hears when to ask again"
        validator = template and self.server.openapi["paths"][template].get(method.lower()) and \
            self.server.validator(method, template, r.status_code)
        if template and method.lower() in self.server.openapi["paths"][template] and \
                not r.headers["SVC-Datetime-Format"].startswith("epoch") and "fields=" not in path:
            assert validator, f"OpenAPI has no answer {r.status_code} for {method} {template}"
            operation = self.server.openapi["paths"][template][method.lower()]
            if body["code"] and "WHARF_SEEN" in os.environ:
                with open(os.environ["WHARF_SEEN"], "a") as seen:
                    seen.write(f"{operation['operationId']} {body['code']}\n")
            else:
                assert body["code"] in (None, *self.server.openapi["x-errors"], *operation["x-errors"]), f"OpenAPI has no {body['code']} for {method} {template}"
            faults = validator.faults(body)
            assert not faults, f"{method} {path}: {faults[0]}"
        return Answer(r, body)

    def raw(self, text, timeout=WAIT):
        """Bytes as they are on a connection of their own: (status, headers, body bytes) of the first answer; None when it was closed."""
        with self.server.connect(timeout) as s:
            s.sendall(text)
            r = http.client.HTTPResponse(s)
            try:
                r.begin()
            except (http.client.BadStatusLine, ConnectionError):
                return None
            line = text.split(b"\r\n", 1)[0].split(b" ")
            if len(line) == 3 and b" " not in line[1] and line[1].startswith(b"/v1/"):
                note_answer(line[0].decode("latin-1"), line[1].decode("latin-1"), r.status)
            return r.status, dict(r.getheaders()), r.read()

    def raw_upload(self, head, pieces, timeout=WAIT):
        """A request whose body is sent piece by piece, as long as the server takes it."""
        with self.server.connect(timeout) as s:
            s.sendall(head)
            try:
                for piece in pieces:
                    s.sendall(piece)
            except ConnectionError:
                pass
            r = http.client.HTTPResponse(s)
            try:
                r.begin()
            except (http.client.BadStatusLine, ConnectionError):
                return None
            return r.status, dict(r.getheaders()), r.read()

    def raw_get(self, path, *lines):
        """GET of a path that no client library would leave as it is; answers the parsed body."""
        head = [f"GET {path} HTTP/1.1", "Host: x", f"SVC-API-KEY: {self.key}", "Connection: close", *lines]
        status, _, body = self.raw("\r\n".join(head).encode() + b"\r\n\r\n")
        return status, json.loads(body)

    def get(self, path, expect=200, **more):
        return self.request("GET", path, expect=expect, **more)

    def post(self, path, body=None, expect=None, **more):
        return self.request("POST", path, body=body, expect=expect, **more)

    def delete(self, path, expect=200, **more):
        return self.request("DELETE", path, expect=expect, **more)

    def refused(self, method, path, status, code, errors=None, body=None, **more):
        a = self.request(method, path, body=body, expect=status, **more)
        assert a.code == code, a
        if errors is not None:
            assert a.errors == errors, a
        return a


# ---- things that many tests need ----


def until(condition, told="it did not come", seconds=WAIT):
    """Calls condition() until it returns something true, and returns that."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, told
        time.sleep(0.02)
    return found


def soon(check, seconds=WAIT):
    """Calls check() until it raises no AssertionError, and returns its result. For what another worker has to hear of first, as a change of access."""
    end = time.monotonic() + seconds
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def ask_until(ask, done, pause=0.05):
    """Calls ask() until done(answer) is true, and returns that answer; after WAIT the last one. For requests that find no free process."""
    end = time.monotonic() + WAIT
    while not done(answer := ask()) and time.monotonic() < end:
        time.sleep(pause)
    return answer


def address(**more):
    return {"line1": "1 Main St", "city": "Springfield", "state": "IL", "postal_code": "62701", "country_code": "US", **more}


def make_location(client, name="Main", **more):
    return client.post("/v1/locations", {"name": name, "address": address(), **more}, expect=201).data


def make_contact(client, name="Jane Doe"):
    """A contact's id; without the module nobody asks whether there is one."""
    if "/v1/contacts" not in client.server.openapi["paths"]:
        return "ctct_" + os.urandom(11).hex()
    return client.post("/v1/contacts", {"name": name}, expect=201).data["id"]


def make_user(client, name="Joe Driver"):
    """A user's id; without the module nobody asks whether there is one."""
    if "/v1/users" not in client.server.openapi["paths"]:
        return "user_" + os.urandom(11).hex()
    return client.post("/v1/users", {"name": name, "email": os.urandom(6).hex() + "@example.com"}, expect=201).data["id"]


def printer(name="Zebra", **more):
    return {"name": name, "model": "ZD421", "configuration": {}, "page_size": {"label_4x6": True}, **more}


def station_body(location_id, name="DOCK-1", **more):
    return {"name": name, "display_name": "Display " + name, "location_id": location_id, "device_token": "token-" + name,
            "printers": [printer()], **more}


STATIONS = "/v1/cloud-printing/stations"


def note_job(server, ids):
    """What a test wrote into print jobs (a pattern of LIKE), also into their histories, as the server does."""
    server.sql("INSERT INTO stations.print_job_history (organization_id, job_id, number, at, status) SELECT organization_id, id,"
               " (SELECT COALESCE(max(number), 0) + 1 FROM stations.print_job_history WHERE job_id = j.id), now(), status FROM stations.print_job j WHERE id LIKE %s", ids)


def make_station(client, location_id, name="DOCK-1", **more):
    return client.post(STATIONS, station_body(location_id, name, **more), expect=201).data
