"""Clients that are too slow, and servers that end or reload under load: spec 01 section 2.4 'Timeouts' and section 17 'Shutdown'."""
import contextlib
import json
import signal
import socket
import subprocess
import threading
import time
from urllib.parse import urlparse

import pytest
import requests

import certificates
from wharf import KEYS, PROGRAM, WAIT, Server, address, until


@pytest.fixture(params=["plain", "tls"])
def quick(request, tmp_path, monkeypatch):
    """A server of its own, with short limits; once more with TLS, where refusals take another way to the socket."""
    more = ["--set", "tls.certificate="]
    if request.param == "tls":
        certificate, key = certificates.make(tmp_path, "server")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        more = certificates.settings(certificate, key)
    s = Server("--set", "http.header_timeout=1000", "--set", "http.body_timeout=1000", *more)
    yield s
    s.stop()


def connect(server):
    return server.connect(20)


def rest(s):
    out = b""
    try:
        while chunk := s.recv(65536):
            out += chunk
    except ConnectionError:
        pass
    return out


def timed_out(answer):
    assert answer.startswith(b"HTTP/1.1 408 ")
    body = json.loads(answer.split(b"\r\n\r\n", 1)[1])
    assert list(body) == KEYS and (body["status"], body["code"], body["errors"], body["data"]) == (408, "request.timeout", [], None)


def test_headers_that_never_end(quick):
    s = connect(quick)
    s.sendall(b"GET /v1/locations HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    answer = rest(s)
    timed_out(answer)


def test_a_client_that_says_nothing(quick):
    """Nor begins a handshake, under TLS."""
    u = urlparse(quick.base)
    s = socket.create_connection((u.hostname, u.port), timeout=WAIT)
    assert rest(s)[:13] in (b"HTTP/1.1 408 ", b"")
    assert requests.get(quick.base + "/livez", timeout=WAIT).text == "ok\n"


def test_body_that_never_ends(quick):
    key = quick.organization().key()
    s = connect(quick)
    s.sendall(f"POST /v1/locations HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    answer = rest(s)
    timed_out(answer)
    assert requests.get(quick.base + "/livez", timeout=WAIT).text == "ok\n"


class Writers:
    """16 clients that write until told to stop; every answer but 201 is kept."""

    def __init__(self, server):
        self.server, self.stop, self.odd, self.done = server, threading.Event(), [], []
        self.key = server.organization().key()
        self.threads = [threading.Thread(target=self.write, args=(n,), daemon=True) for n in range(16)]
        for t in self.threads:
            t.start()

    def write(self, number):
        http, n = requests.Session(), 0
        http.headers["SVC-API-KEY"] = self.key
        while not self.stop.is_set():
            n += 1
            name = f"w{number}-{n}"
            try:
                r = http.post(self.server.base + "/v1/locations", json={"name": name, "code": name, "address": address()}, timeout=WAIT)
                (self.done if r.status_code == 201 else self.odd).append((name, r.status_code))
            except requests.RequestException as e:
                self.odd.append((name, str(e)))

    def finish(self):
        self.stop.set()
        for t in self.threads:
            t.join(WAIT)


def test_reload_loses_no_request(quick):
    writers = Writers(quick)
    time.sleep(0.5)
    for _ in range(3):
        done = subprocess.run([PROGRAM, "reload", "--data", quick.folder], capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == 0, done.stderr + done.stdout
        time.sleep(0.3)
    writers.finish()
    assert not writers.odd, writers.odd[:5]
    stored = {name for name, in quick.sql("SELECT name FROM locations.location")}
    assert len(writers.done) > 16 and {name for name, _ in writers.done} <= stored


def test_sigterm_finishes_what_runs_and_exits_with_0(quick):
    writers = Writers(quick)
    time.sleep(0.5)
    writers.stop.set()
    quick.process.send_signal(signal.SIGTERM)
    assert quick.process.wait(WAIT) == 0
    writers.finish()
    assert not [o for o in writers.odd if isinstance(o[1], int)], writers.odd[:5]


# ---- clients that go away ----

def left_open(server):
    """How many connections their clients have ended, and the server has not (CLOSE_WAIT)."""
    port = urlparse(server.base).port
    lines = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
    return sum(state == "08" and int(local.split(":")[1], 16) == port for _, local, _, state, *_ in lines)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_who_goes_away_within_a_request_is_let_go(tls, tmp_path, monkeypatch):
    """Bytes and the end of a connection may come in one moment: the end is seen, however long a request may pause."""
    more = ["--set", "tls.certificate="]
    if tls:
        certificate, key = certificates.make(tmp_path, "server")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        more = certificates.settings(certificate, key)
    server = Server("--modules", "org", "--set", "http.header_timeout=3600000", "--set", "http.body_timeout=3600000", *more)
    try:
        request = f"POST /v1/roles HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {server.organization().key()}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n".encode() + b" " * 99999

        def go_away(k):
            for i in range(100):
                with contextlib.suppress(ConnectionError), connect(server) as s:
                    s.sendall(request[:1 + (i * 1009 + k * 499) % len(request)])
        threads = [threading.Thread(target=go_away, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        until(lambda: left_open(server) == 0)
        assert requests.get(server.base + "/livez", timeout=WAIT).status_code == 200
    finally:
        server.stop()
