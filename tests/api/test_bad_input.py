"""Requests that are malformed, too large, too slow or cut short, over raw sockets: each has its documented answer (spec 01 sections 2.1,
2.3, 2.4; docs/decisions.md 15: what libmicrohttpd can't parse it answers or closes by itself), and the same processes serve on."""
import gzip
import json
import os
import socket
import struct
import subprocess
import time

import pytest

from wharf import PROGRAM, ROOT, STATIONS, Server, make_location, station_body

CLOSED = None  # the connection ends without an answer


def workers(server):
    """pid of each worker, as the supervisor has it."""
    lines = subprocess.run([PROGRAM, "ps", "--data", server.folder], capture_output=True, text=True, timeout=10).stdout.splitlines()
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


def connect(server, timeout=10):
    host, port = server.base[7:].split(":")
    return socket.create_connection((host, int(port)), timeout)


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


def send(server, text, half_close=False, timeout=10):
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
