"""Requests that are malformed, too large, too slow or cut short, over raw sockets: each has its documented answer (spec 01 sections 2.1,
2.3, 2.4), and the same processes serve on. What is no HTTP at all: test_http_heads.py."""
import gzip
import json
import os
import socket
import struct
import subprocess
import time

import pytest

from wharf import PROGRAM, WAIT

CLOSED = None  # the connection ends without an answer


@pytest.fixture(scope="module")
def server(plain_server):
    return plain_server


def workers(server):
    """pid of each worker, as the supervisor has it."""
    lines = subprocess.run([PROGRAM, "ps", "--data", server.folder], capture_output=True, text=True, timeout=WAIT).stdout.splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines[1:] if line.split()[1:2] and line.split()[1].isdigit()}


@pytest.fixture(scope="module", autouse=True)
def same_processes(server):
    """After everything in this file the workers are those of before, and none left a crash report."""
    before = workers(server)
    assert before
    yield
    assert workers(server) == before
    assert not [f for f in server.folder.rglob("*crash*") if f.is_file()]
    assert server.organization().client().get("/v1/locations").data == []


def connect(server, timeout=WAIT):
    return server.connect(timeout)


def read_all(s):
    got = b""
    try:
        while piece := s.recv(65536):
            got += piece
    except ConnectionError:
        pass
    return got


def status_of(got):
    return int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/1.") else CLOSED


def send(server, text, half_close=False, timeout=WAIT):
    """What comes back for these bytes until the server closes. half_close: the client sends nothing more."""
    with connect(server, timeout) as s:
        try:
            s.sendall(text)
            if half_close:
                s.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass
        return read_all(s)


def head(client, path="/v1/locations", method="POST", *lines, close=True):
    own = [f"{method} {path} HTTP/1.1", "Host: x", f"SVC-API-KEY: {client.key}", *lines]
    return "\r\n".join(own + (["Connection: close"] if close else []) + ["", ""]).encode()


# ---- OPTIONS is answered from its headers, whatever it announces ----

@pytest.mark.parametrize("lines", [["Content-Length: 10"], ["Content-Length: 100000"], ["Transfer-Encoding: chunked"]])
def test_options_with_a_body_that_does_not_come(client, lines):
    got = send(client.server, head(client, "/v1/locations", "OPTIONS", *lines))
    assert status_of(got) == 204 and b"\r\nAllow: " in got


def test_path_that_is_not_utf8(client):
    got = send(client.server, b"GET /v1/locations/\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\nSVC-API-KEY: " + client.key.encode() + b"\r\n\r\n")
    assert status_of(got) == 400
    assert json.loads(got.split(b"\r\n\r\n", 1)[1].decode("utf-8"))["endpoint"] == "/v1/locations/??"


# ---- bodies ----

def framed(client, body, *lines, path="/v1/locations"):
    return head(client, path, "POST", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines) + body


@pytest.mark.parametrize("body, code", [
    (b"{" * 100000, "body.malformed"), (b"[" * 2000000, "body.malformed"), (b'{"a":' * 60 + b"1" + b"}" * 60, "validation.failed"),
    (b'{"name":1,"name":2}', "body.malformed"), (b'{"' + b"k" * 1000000 + b'":1}', "validation.failed"), (b'{"a":' + b"9" * 100000 + b"}", None),
    (b'{"a":1e' + b"9" * 1000 + b"}", "body.malformed"), (b'{"a":-1e-' + b"9" * 1000 + b"}", "validation.failed"), (b'{"a":"\xed\xa0\x80"}', "body.malformed"),
    (b'{"a":"\xf8\x88\x80\x80\x80"}', "body.malformed"), (b'{"a":"\xc0\x80"}', "body.malformed"), (b'{"\xff":1}', "body.malformed"),
    (b'{"a":"' + b"\\u0000" * 100000 + b'"}', "validation.failed"), (b"\xff\xfe{\x00}\x00", "body.malformed"), (b"\x00" * 1000, "body.malformed"),
    (b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(100000)) + b"}", "validation.failed"), (b'{"name":"' + b"x" * 1900000 + b'"}', "validation.failed"),
    (b"true", "body.malformed"), (b"{} " + b" " * 100000, "validation.failed"), (b'{"metadata":{' + b",".join(b'"%d":""' % i for i in range(50000)) + b"}}", "validation.failed"),
])
def test_absurd_json(client, body, code):
    got = send(client.server, framed(client, body))
    assert status_of(got) == 400, got[:300]
    told = json.loads(got.split(b"\r\n\r\n", 1)[1])["code"]
    assert told in ("body.malformed", "validation.failed") if code is None else told == code


@pytest.mark.parametrize("cut", [0, 1, 40])
def test_truncated_bodies(client, cut):
    body = b'{"name":"cut off","address":{"line1":"1 Main St"}}'
    text = framed(client, body)
    with connect(client.server) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.sendall(text[:len(text) - len(body) + cut])


def test_truncated_gzip(client):
    whole = gzip.compress(b'{"name":"x","code":"' + os.urandom(3000).hex().encode() + b'"}')
    for n in (1, 5, 10, 11, 100, len(whole) - 8, len(whole) - 1):
        assert status_of(send(client.server, framed(client, whole[:n], "Content-Encoding: gzip"))) == 400
    assert status_of(send(client.server, framed(client, whole + b"more", "Content-Encoding: gzip"))) == 400
    assert status_of(send(client.server, framed(client, gzip.compress(b"0" * 100_000_000), "Content-Encoding: gzip"))) == 413


# ---- connections ----

def test_pipelined_requests_are_answered_in_order(client):
    mixed = [head(client, f"/v1/locations?limit={i + 1}", "GET", close=False) if i % 3 else
             head(client, "/v1/locations/loc_0000000000000000000000", "POST", "Content-Length: 2", close=False) + b"{}" for i in range(30)]
    got = send(client.server, b"".join(mixed) + head(client, "/v1/nowhere", "GET"))
    statuses = [int(part[:3]) for part in got.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200 if i % 3 else 404 for i in range(30)] + [404]


def test_clients_that_leave_while_their_key_is_read(server):
    """Keys nobody has seen yet go to the database; the client resets the connection meanwhile. Nothing is left behind: see the drain below."""
    for i in range(60):
        with connect(server) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.sendall(f"GET /v1/locations HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: wh_live_{i:038d}\r\n\r\n".encode())


def test_a_thousand_idle_connections(client):
    idle = [connect(client.server) for _ in range(1000)]
    try:
        client.get("/v1/locations")
        for s in idle[::100]:
            s.sendall(head(client, "/v1/locations", "GET"))
            assert status_of(read_all(s)) == 200
    finally:
        for s in idle:
            s.close()


def test_ps_shows_requests_and_memory(client):
    for _ in range(20):
        client.get("/v1/locations")
    time.sleep(1.5)
    lines = subprocess.run([PROGRAM, "ps", "--data", client.server.folder], capture_output=True, text=True).stdout.splitlines()
    web = [line.split() for line in lines[1:] if line.startswith("web")]
    assert web and sum(int(w[6]) for w in web) >= 20 and all(int(w[7].rstrip("MiB")) > 0 for w in web), lines
