"""The virus scanner of the setting documents.clamd (spec 05 section 2.1): the clamd of Debian with one signature of its own, and scanners that are
late, talk nonsense, or are not there."""
import contextlib
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from document_files import DOCUMENTS, announce, b64, body, get, make, post, put
from wharf import BUILD, PROGRAM, WAIT, Server, until

# The test file of EICAR, in two halves: a scanner must not take this test away.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$" + rb"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
LIMIT = 1 << 20  # StreamMaxLength of the real one
ADDRESS = "/v1/documents"


# ---- the real one ----

@pytest.fixture(scope="module")
def clamd(tmp_path_factory):
    """A clamd that knows one signature. The program is a copy: what the machine allows /usr/sbin/clamd does not hold for it."""
    folder = tmp_path_factory.mktemp("clamd")
    (folder / "signatures").mkdir()
    (folder / "signatures" / "own.ndb").write_text(f"Own.Test.Eicar:0:*:{EICAR.hex()}\n")
    program = shutil.copy(shutil.which("clamd") or "/usr/sbin/clamd", folder / "scanner")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    (folder / "clamd.conf").write_text(f"""Foreground yes
DatabaseDirectory {folder}/signatures
LocalSocket {folder}/socket
TCPSocket {port}
TCPAddr 127.0.0.1
StreamMaxLength {LIMIT}
""")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([program, "-c", folder / "clamd.conf"], stdout=log, stderr=subprocess.STDOUT)
    try:
        until(lambda: _ready(folder / "socket", process, folder / "log"))
        yield folder / "socket", port
    finally:
        process.terminate()
        process.wait(WAIT)


def _ready(path, process, log):
    assert process.poll() is None, log.read_text()
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(b"zPING\0")
        return s.recv(100) == b"PONG\0"


@pytest.fixture(scope="module", params=["unix", "host:port", "tcp:address:port"])
def scanned(request, clamd):
    path, port = clamd
    address = {"unix": f"unix:{path}", "host:port": f"localhost:{port}", "tcp:address:port": f"tcp:127.0.0.1:{port}"}[request.param]
    s = Server("--modules", f"org,documents,{BUILD}/tests/plugins/scanner.so", "--set", f"documents.clamd={address}")
    yield s
    s.stop()


def stored(server):
    return server.sql("SELECT (SELECT count(*) FROM documents.document), (SELECT count(*) FROM documents.version), (SELECT count(*) FROM wharf.file WHERE state = 'stored')")[0]


def test_a_virus_in_content(scanned):
    """400 document.rejected names the signature; nothing is stored, neither as a document nor as a version."""
    c = scanned.organization().client()
    good, before = make(c, b"nothing bad"), stored(scanned)
    for data in (EICAR, b"before it " * 20000 + EICAR + b" behind it" * 20000):
        a = c.refused("POST", DOCUMENTS, 400, "document.rejected", ["content"], body=body(content=b64(data)))
        assert "Own.Test.Eicar" in str(a.body["message"]), a.body
        c.refused("POST", f"{ADDRESS}/{good['id']}", 400, "document.rejected", ["content"], body={"content": b64(data)})
    assert stored(scanned) == before and get(c, good)["version"] == 1
    assert "found=Own.Test.Eicar" in (scanned.folder / "wharf.log").read_text()


def test_a_virus_that_is_brought(scanned):
    """failed, rejected; a new link takes the good file. Scanners of plugins are asked, too."""
    c = scanned.organization().client()
    row = announce(c)
    r = put(scanned, row, EICAR)
    assert (r.status_code, r.json()["code"]) == (400, "file.upload_invalid")
    assert (get(c, row)["status"], get(c, row)["failure_reason"]) == ("failed", "rejected")
    assert put(scanned, post(c, row, renew_upload=True), b"EVIL, says the plugin").status_code == 400
    assert put(scanned, post(c, row, renew_upload=True), b"x" * (LIMIT - 1)).status_code == 200
    assert get(c, row)["status"] == "completed"


def test_a_file_over_the_limit(scanned):
    """clamd breaks off in the midst of it: 503 with the setting to raise; nothing is stored, and the link is good."""
    c = scanned.organization().client()
    before = stored(scanned)
    for size in (LIMIT + 1, 16 * LIMIT):
        a = c.refused("POST", DOCUMENTS, 503, "document.scanner_limit", [], body=body(content=b64(b"y" * size)))
        assert "StreamMaxLength" in str(a.body["message"])
    row = announce(c)
    r = put(scanned, row, b"z" * 8 * LIMIT)
    assert (r.status_code, r.json()["code"]) == (503, "document.scanner_limit") and get(c, row)["status"] == "requested"
    assert stored(scanned)[1:] == before[1:]
    assert put(scanned, row, b"z").status_code == 200


# ---- others ----

class Fake:
    """A scanner that answers as it is told. how: a function of the connection, after or before the bytes are read."""

    def __init__(self, path):
        self.path, self.how, self.got, self.over = str(path), None, [], threading.Event()
        self.listen()

    def listen(self):
        self.socket = socket.socket(socket.AF_UNIX)
        pathlib.Path(self.path).unlink(missing_ok=True)
        self.socket.bind(self.path)
        pathlib.Path(self.path).chmod(0o777)
        self.socket.listen(16)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(s, self.how)).start()

    def talk(self, s, how):
        with s, contextlib.suppress(OSError, struct.error):
            how(self, s)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()

    def read(self, s):
        """The file, as the protocol has it."""
        f, data = s.makefile("rb"), b""
        assert f.read(10) in (b"zINSTREAM\0", b"")
        while (n := struct.unpack(">I", f.read(4))[0]):
            assert n <= 65536
            data += f.read(n)
        self.got.append(data)


def answer(*parts, pause=0.0):
    def how(fake, s):
        fake.read(s)
        for part in parts:
            s.sendall(part)
            time.sleep(pause)
    return how


def early(text):
    def how(fake, s):
        s.sendall(text)
        fake.read(s)
    return how


def endless(fake, s):
    fake.read(s)
    while not fake.over.is_set():
        s.sendall(b"stream: ")


def silent(fake, s):
    fake.read(s)
    fake.over.wait(WAIT)


def deaf(fake, s):
    fake.over.wait(WAIT)


def half_read(fake, s):
    s.recv(100)


GOOD = answer(b"stream: OK\0")


@pytest.fixture(scope="module")
def faked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fake")
    folder.chmod(0o711)
    fake = Fake(folder / "s")
    s = Server("--modules", "org,documents", "--set", f"documents.clamd=unix:{fake.path}", "--set", "documents.clamd_timeout_s=2")
    s.fake = fake
    yield s
    fake.over.set()
    s.stop()
    fake.close()


BAD = {
    "closes at once": lambda fake, s: None, "closes before the answer": answer(), "closes in the midst of the file": half_read, "half an answer": answer(b"stream: O"),
    "no end": answer(b"stream: OK"), "garbage": answer(b"\x00"), "other words": answer(b"hello\0"), "an error": answer(b"stream: Can't allocate memory ERROR\0"),
    "found nothing": answer(b"stream:  FOUND\0"), "OK of something else": answer(b"stream: OK, nearly\0"), "two answers": answer(b"stream: OK\0stream: Evil FOUND\0"),
    "OK before it has the file": early(b"stream: OK\0"), "never ends": endless, "late": silent, "reads nothing": deaf, "long": answer(b"x" * 5000 + b"\0"),
    "not this command": answer(b"UNKNOWN COMMAND\0")}


@pytest.mark.parametrize("how", BAD)
def test_scanners_that_fail(faked, how):
    """503 document.scanner_unavailable with Retry-After; nothing is stored, the link stays good."""
    c = faked.organization().client()
    faked.fake.how = GOOD
    good, row, renewed = make(c, b"before"), announce(c), post(c, make(c, b"another"), renew_upload=True)
    before, data = stored(faked), how.encode() * 200000
    faked.fake.how = BAD[how]
    a = c.refused("POST", DOCUMENTS, 503, "document.scanner_unavailable", [], body=body(content=b64(data)))
    assert int(a.headers["Retry-After"]) > 0 and str(faked.fake.path) not in str(a.body)
    c.refused("POST", f"{ADDRESS}/{good['id']}", 503, "document.scanner_unavailable", [], body={"content": b64(data), "name": "changed"})
    for r in (row, renewed):
        p = put(faked, r, data)
        assert (p.status_code, p.json()["code"]) == (503, "document.scanner_unavailable") and int(p.headers["Retry-After"]) > 0, p.text
    assert stored(faked) == before and get(c, row)["status"] == "requested" and get(c, good)["name"] != "changed"
    faked.fake.how = GOOD
    assert put(faked, row, data).status_code == 200 and put(faked, renewed, data).status_code == 200
    assert [get(c, r)["checksum_sha256"] for r in (row, renewed)].count(None) == 0 and get(c, renewed)["version"] == 2
    assert faked.fake.got[-1] == data


@pytest.mark.parametrize("how", [answer(*(bytes([b]) for b in b"stream: OK\0"), pause=0.01), answer(b"stream: ", b"OK", b"\0")])
def test_answers_in_pieces(faked, how):
    c = faked.organization().client()
    faked.fake.how = how
    for size in (1, 65535, 65536, 65537, 300000):
        assert make(c, b"p" * size)["status"] == "completed" and faked.fake.got[-1] == b"p" * size


@pytest.mark.parametrize("how", [answer(b'stream: Ev"il\x1b[31m\xff<b> FOUND\0'), early(b'stream: Ev"il\x1b[31m\xff<b> FOUND\0')])
def test_names_of_signatures_are_not_trusted(faked, how):
    """Also when it has seen enough before the end."""
    c = faked.organization().client()
    faked.fake.how = how
    a = c.refused("POST", DOCUMENTS, 400, "document.rejected", ["content"], body=body(content=b64(b"v" * 300000)))
    assert "Ev?il?[31m?<b>" in str(a.body["message"])


def test_the_scanner_is_not_there(faked):
    """No socket, nobody behind it, and back again."""
    c = faked.organization().client()
    faked.fake.close()
    for _ in range(2):
        c.refused("POST", DOCUMENTS, 503, "document.scanner_unavailable", [], body=body(content=b64(b"nobody")))
        pathlib.Path(faked.fake.path).unlink(missing_ok=True)
    faked.fake.listen()
    faked.fake.how = GOOD
    assert make(c, b"somebody")["status"] == "completed"
    assert re.search(r"documents\.scanner.*clamd=unix:/.*it can.t be reached: No such file or directory", (faked.folder / "wharf.log").read_text())


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:3310"])
def test_hosts_that_are_not_there(address):
    s = Server("--modules", "org,documents", "--set", f"documents.clamd={address}")
    try:
        s.organization().client().refused("POST", DOCUMENTS, 503, "document.scanner_unavailable", [], body=body(content=b64(b"nobody")))
    finally:
        s.stop()


@pytest.mark.parametrize("address", ["clamd", "unix:clamd.ctl", "unix:", "unix:/" + "x" * 120, "host:", ":3310", "host:0", "host:65536", "host:33x", "::1:3310", "[::1]", "[]:3310", "ho st:3310", "tcp:host",
                                     "http://host:3310"])
def test_settings_that_can_not_be_read(address, tmp_path):
    """Neither `wharf check` nor a start takes them; both say what to write."""
    words = ["--data", tmp_path, "--set", "modules=org,documents", "--set", f"documents.clamd={address}"]
    checked = subprocess.run([PROGRAM, "check", *words], capture_output=True, text=True, timeout=WAIT)
    assert checked.returncode and "documents.clamd" in checked.stderr + checked.stdout, checked
    if address == "clamd":
        with pytest.raises(RuntimeError, match=r"documents\.clamd.*unix:/run/clamav/clamd.ctl"):
            Server("--modules", "org,documents", "--set", f"documents.clamd={address}").end()


@pytest.mark.parametrize("address", ["", "unix:/run/clamav/clamd.ctl", "tcp:clamav:3310", "[::1]:3310", "10.0.0.5:3310"])
def test_settings_that_are_taken(address, tmp_path):
    done = subprocess.run([PROGRAM, "check", "--data", tmp_path, "--set", "modules=org,documents", "--set", f"documents.clamd={address}"], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stdout + done.stderr
