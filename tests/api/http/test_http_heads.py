"""Everything RFC 9112 calls invalid is refused in our envelope and ends the connection, everything it calls valid works; no request behind a broken one is
answered (docs/reference/http.md). Each case of heads.py goes over a raw socket with a canary request behind it: whole, byte by byte, in pieces, with TLS, and to the
admin listener."""
import json
import random
import socket
import ssl
from urllib.parse import urlparse

import pytest

import certificates
from heads import CASES, END, OWN_400, REFUSED
from wharf import KEYS, WAIT, Server

CANARY = b"GET /v1/canary HTTP/1.1\r\nHost: canary\r\nConnection: close\r\n\r\n"
NAMES = [name for name, _, _ in CASES]
HEADS = {"head": 0, "head of nothing": 0, "head, absolute": 0, "broken head": 0, "three in a row": 1}  # which of the requests is one
LONG = 3000  # bytes of a case that is not sent byte by byte


@pytest.fixture(scope="module")
def server(plain_server):
    return plain_server


def connect(base):
    u = urlparse(base)
    s = socket.create_connection((u.hostname, u.port), WAIT)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if u.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        s = context.wrap_socket(s, suppress_ragged_eofs=False)
    return s


def send(base, pieces, ended=False):
    """What comes back until the server ends the connection. ended: the client sends more than it announced."""
    got = b""
    with connect(base) as s:
        try:
            for piece in pieces:
                s.sendall(piece)
        except (ConnectionError, ssl.SSLError):
            pass  # it was refused before all of it was sent
        try:
            while piece := s.recv(65536):
                got += piece
        except (ConnectionError, ssl.SSLError):
            assert ended  # a server that has said the last answer may close at once; what was sent behind it resets the connection
    return got


def answers_of(got, head):
    """[(status, headers, body)]; interim answers are left out. head: number of the answer that has no body, or None."""
    told = []
    while got:
        block, got = got.split(b"\r\n\r\n", 1)
        first, *lines = block.decode("ascii").split("\r\n")
        version, status = first.split(" ")[:2]
        assert version == "HTTP/1.1", first
        if status == "100":
            assert not lines
            continue
        headers = [line.split(": ", 1) for line in lines]
        names = [name.lower() for name, _ in headers]
        assert len(set(names)) == len(names), names
        headers = {name.lower(): value for name, value in headers}
        n = 0 if status == "204" or len(told) == head else int(headers["content-length"])
        assert len(got) >= n
        told.append((int(status), headers, got[:n]))
        got = got[n:]
    return told


def check(name, answers, got, valid_too=True):
    told = answers_of(got, HEADS.get(name))
    ends = answers[-1] == END
    answers = [a for a in answers if a != END]
    refused = answers[-1] in REFUSED
    refused_early = not valid_too and len(told) == len(answers) and told[-1][1].get("connection") == "close"  # before the body was sent
    if not ends and not refused and not refused_early:
        status, _, body = told.pop()
        assert status == 404 and json.loads(body)["endpoint"] == "/v1/canary", (status, body)
    assert len(told) == len(answers), [t[0] for t in told]
    for i, (want, (status, headers, body)) in enumerate(zip(answers, told)):
        assert headers["request-id"].startswith("req_")
        if want == OWN_400 and valid_too:
            assert status == 400 and json.loads(body)["code"] != "http.malformed"
        elif valid_too or want in REFUSED and refused and i == len(answers) - 1:
            # The admin listener has no API: it says so before it looks at a body, or at what the client expects.
            assert status == want or (not valid_too and status == 404), body[:300]
    if not refused or status == 404:
        return
    assert headers["connection"] == "close" and headers["content-type"] == "application/json; charset=utf-8"
    if len(told) - 1 != HEADS.get(name):
        told = json.loads(body)
        assert list(told) == KEYS and told["status"] == status and told["errors"] == [] and told["message"]
        assert told["code"] == REFUSED[status] or status == 501 and told["code"] in ("http.method", "http.transfer_coding")


def text_of(name, key):
    return next(text for n, text, _ in CASES if n == name).replace(b"<key>", key.encode()) + CANARY


def pieces_of(text, name):
    """The same pieces in each run."""
    dice = random.Random(name)
    while text:
        n = dice.choice([1, 2, 3, 7, 20, 100, 1000, 10000])
        yield text[:n]
        text = text[n:]


def test_the_table_has_each_case_once():
    assert len(CASES) >= 150 and len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name, answers", [(name, answers) for name, _, answers in CASES], ids=NAMES)
def test_a_case_and_a_canary_behind_it(client, name, answers):
    check(name, answers, send(client.server.base, [text_of(name, client.key)], END in answers))


@pytest.mark.parametrize("name, answers", [(name, answers) for name, text, answers in CASES if len(text) < LONG], ids=[n for n, t, _ in CASES if len(t) < LONG])
def test_a_case_byte_by_byte(client, name, answers):
    check(name, answers, send(client.server.base, [bytes([b]) for b in text_of(name, client.key)], END in answers))


@pytest.mark.parametrize("name, answers", [(name, answers) for name, _, answers in CASES], ids=NAMES)
def test_a_case_in_pieces(client, name, answers):
    check(name, answers, send(client.server.base, pieces_of(text_of(name, client.key), name), END in answers))


@pytest.mark.parametrize("name, answers", [(name, answers) for name, _, answers in CASES], ids=NAMES)
def test_a_case_on_the_admin_listener(client, name, answers):
    """What it answers to good requests is not asked here: the canary behind a bad one is never answered."""
    check(name, answers, send(client.server.admin, [text_of(name, client.key)], END in answers), valid_too=False)


# ---- with TLS ----

@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    certificate, key = certificates.make(folder, "heads")
    with pytest.MonkeyPatch.context() as m:
        m.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        s = Server(*certificates.settings(certificate, key))
        yield s.organization().client()
        s.stop()


@pytest.mark.parametrize("name, answers", [(name, answers) for name, _, answers in CASES], ids=NAMES)
def test_a_case_with_tls(secure, name, answers):
    text = text_of(name, secure.key)
    check(name, answers, send(secure.server.base, [text], END in answers))
    check(name, answers, send(secure.server.base, pieces_of(text, name), END in answers))


# ---- what the cases do not say ----

def test_blanks_behind_an_idempotency_key_do_not_count(client):
    """Two keys that differ by them are one: the second answer is the first again."""
    made = []
    for blanks in ("", " ", "\t  "):
        body = b'{"status":"open","name":"blanks"}'
        head = (f"POST /v1/samples HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: {client.key}{blanks}\r\nIdempotency-Key: blanks-1{blanks}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
        status, headers, text = client.raw(head + body)
        assert status == 201 and headers.get("Idempotent-Replayed") == ("true" if made else None)
        made.append(json.loads(text)["data"]["id"])
    assert len(set(made)) == 1


@pytest.mark.parametrize("accept, packed", [
    ("gzip", True), ("GZIP", True), ("x-gzip", True), ("*", True), ("gzip;q=0.5", True), ("br, gzip", True), ("gzip;q=0.001", True), ("identity;q=0, gzip", True), ("*;q=0, gzip", True), ("gzip, identity", True), ("br;q=1, *;q=0.1", True),
    ("gzip;q=0", False), ("gzip;q=0, *;q=1", False), ("*;q=1, gzip;q=0", False), ("*;q=0", False), ("gzip;q=0.0, *", False), ("identity", False), ("br", False), ("", False), ("gzip;q=0.5, identity", False), ("gzip;q=0.5, identity;q=0.8", False),
    ("gzip ; q=0 , *", False), ("gzip;Q=0, *", False), (["br", "gzip"], True), (["*", "gzip;q=0"], False)])
def test_accept_encoding(client, accept, packed):
    lines = "".join(f"Accept-Encoding: {a}\r\n" for a in (accept if isinstance(accept, list) else [accept]))
    status, headers, body = client.raw(f"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n{lines}SVC-API-KEY: {client.key}\r\nConnection: close\r\n\r\n".encode())
    assert status == 200 and (headers.get("Content-Encoding") == "gzip") == packed == body.startswith(b"\x1f\x8b")


def test_a_refusal_says_what_to_send_and_which_path(client):
    for line, path, message in [("GET /v1/locations?x=1 HTTP/1.1\r\nHost : x", "/v1/locations", "colon"), ("GET /v1/lo\0cations HTTP/1.1\r\nHost: x", "/v1/lo?cations", "percent-encoded"), ("nonsense", "", "request line"),
                                ("POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1", "/v1/x", "one Content-Length")]:
        status, headers, body = client.raw(f"{line}\r\n\r\n".encode())
        told = json.loads(body)
        assert (status, told["code"], told["endpoint"]) == (400, "http.malformed", path) and message in told["message"], told
        assert told["data"] is None and headers["Request-Id"].startswith("req_")


def test_a_large_body_behind_a_broken_head_does_not_reset_the_answer(client):
    """What comes behind is read and dropped while the client reads its refusal."""
    got = send(client.server.base, [f"POST /v1/locations HTTP/1.1\r\nHost : x\r\nSVC-API-KEY: {client.key}\r\nContent-Length: 800000\r\n\r\n".encode()] + [b"x" * 20000] * 40)
    assert got.startswith(b"HTTP/1.1 400 ") and got.endswith(b"}") and got.count(b"HTTP/1.1") == 1


def test_a_slow_second_head_is_told_so():
    """The time of a head counts for each request of a connection, also when libmicrohttpd knows nothing of it yet."""
    s = Server("--set", "http.header_timeout=1000", "--set", "tls.certificate=")
    try:
        with connect(s.base) as c:
            c.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHo")
            got = b""
            while piece := c.recv(65536):
                got += piece
            assert got.startswith(b"HTTP/1.1 200 ") and b"HTTP/1.1 408 " in got and b"request.timeout" in got
    finally:
        s.stop()
