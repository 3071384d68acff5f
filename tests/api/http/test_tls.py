"""TLS by configuration (spec 01 section 17): real clients, the refusals that go past libmicrohttpd, new certificates, bad ones."""
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from urllib.parse import urlparse

import pytest
import requests

import certificates
from wharf import BUILD, PROGRAM, WAIT, Server, address


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def server(folder):
    one, one_key = certificates.make(folder, "one")
    two, _ = certificates.make(folder, "two")
    (folder / "ca.pem").write_text(one.read_text() + two.read_text())
    shutil.copy(one, folder / "now.pem")
    shutil.copy(one_key, folder / "now.key")
    with pytest.MonkeyPatch.context() as m:
        m.setenv("REQUESTS_CA_BUNDLE", str(folder / "ca.pem"))
        s = Server(*certificates.settings(folder / "now.pem", folder / "now.key"))
        yield s
        s.stop()


@pytest.fixture
def client(server):
    return server.organization().client()


def place(server):
    u = urlparse(server.base)
    return u.hostname, u.port


def connect(server, folder, **more):
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    for name, value in more.items():
        setattr(context, name, value)
    s = socket.create_connection(place(server), timeout=WAIT)
    return context.wrap_socket(s, server_hostname="127.0.0.1", suppress_ragged_eofs=False)


def read_all(s):
    """Everything up to the end of the peer's side; a missing close_notify is an error of the server."""
    out = b""
    while chunk := s.recv(65536):
        out += chunk
    return out


def send_and_hear(s, out, seconds=WAIT):
    """What the peer says while `out` is sent. One thread: a TLS connection may not be read and written by two at once. Who goes on
    sending may lose the end of the connection (it is reset), and so close_notify, but no byte of the answer."""
    s.setblocking(False)
    heard, out, end = b"", memoryview(out), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            piece = s.recv(65536)
            if not piece:
                break
            heard += piece
            continue
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            break
        try:
            out = out[s.send(out[:0x8000]):] if out else out
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            out = out[:0]  # no more to be sent; perhaps something to be read
            continue
        select.select([s], [s] if out else [], [], 0.1)
    return heard


def subject(server, folder):
    with connect(server, folder) as s:
        return dict(pair for group in s.getpeercert()["subject"] for pair in group)["commonName"]


def test_requests_of_every_kind(server, client):
    assert server.base.startswith("https://") and server.admin.startswith("http://")
    made = client.post("/v1/locations", {"name": "Main", "address": address()}, expect=201).data
    assert client.get("/v1/locations/" + made["id"]).data == made
    assert client.get("/v1/locations", headers={"Accept-Encoding": "gzip"}).ids == [made["id"]]
    client.refused("GET", "/v1/nothing", 404, "route.not_found")
    assert requests.get(server.admin + "/readyz", timeout=WAIT).status_code == 200


def test_a_large_answer(server):
    text = requests.get(server.base + "/v1/openapi.json", headers={"Accept-Encoding": "identity"}, timeout=WAIT).content
    assert len(text) > 64 * 1024 and json.loads(text)["openapi"]


@pytest.mark.parametrize("version, good", [("-tls1_3", True), ("-tls1_2", True), ("-tls1_1", False), ("-tls1", False)])
def test_versions(server, folder, version, good):
    done = subprocess.run(["openssl", "s_client", "-connect", "%s:%d" % place(server), "-CAfile", folder / "ca.pem", version, "-cipher", "ALL:@SECLEVEL=0",
                           "-verify_return_error"], input="", capture_output=True, text=True, timeout=WAIT)
    assert (done.returncode == 0) == good, done.stderr + done.stdout
    assert ("Verify return code: 0" in done.stdout) == good or not good


def test_plain_http_is_not_understood(server):
    with socket.create_connection(place(server), timeout=WAIT) as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        try:
            while chunk := s.recv(1000):
                answer += chunk
        except ConnectionError:
            pass
    assert b"HTTP" not in answer
    assert requests.get(server.base + "/livez", timeout=WAIT).text == "ok\n"


def request_head(key, path, *lines, method="POST"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", f"SVC-API-KEY: {key}", *lines, "", ""]).encode()


def code_of(answer, status):
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])["code"]


def test_a_refusal_before_a_body_that_is_announced(server, folder, client):
    with connect(server, folder) as s:
        s.sendall(request_head("wh_live_none", "/v1/locations", "Content-Type: application/json", "Content-Length: 10000000"))
        assert code_of(read_all(s), 401) == "api_key.invalid"


def test_a_refusal_in_the_middle_of_a_body(server, folder, client):
    with connect(server, folder) as s:
        s.sendall(request_head(client.key, "/v1/locations", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        answer = send_and_hear(s, (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 400)
    assert code_of(answer, 413) == "body.too_large"


def test_options_with_a_body(server, folder, client):
    with connect(server, folder) as s:
        s.sendall(request_head(client.key, "/v1/locations", "Content-Length: 10000000", method="OPTIONS"))
        assert read_all(s).startswith(b"HTTP/1.1 204 ")


def test_a_new_certificate_by_reload_and_a_bad_one_that_changes_nothing(server, folder, client):
    assert subject(server, folder) == "one"
    held = connect(server, folder)  # open before
    shutil.copy(folder / "two.pem", folder / "now.pem")
    with pytest.raises(RuntimeError, match="is not the key of the certificate in"):
        server.command("reload")
    assert subject(server, folder) == "one"
    shutil.copy(folder / "two.key", folder / "now.key")
    stop, odd, done = threading.Event(), [], []

    def ask():
        http = requests.Session()
        while not stop.is_set():
            r = http.get(server.base + "/v1/locations", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            (done if r.status_code == 200 else odd).append(r.status_code)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for t in askers:
        t.start()
    server.command("reload")
    stop.set()
    for t in askers:
        t.join(WAIT)
    assert done and not odd
    assert subject(server, folder) == "two"
    assert read_all(held) == b""  # idle, so ended; with a close_notify
    held.close()


def test_a_worker_that_comes_back_keeps_the_good_pair(server, folder):
    name = subject(server, folder)
    good = (folder / "now.pem").read_text()
    (folder / "now.pem").write_text("nothing")
    try:
        killed = 0
        for line in server.command("ps").splitlines():
            if line.startswith("web "):
                with contextlib.suppress(ProcessLookupError):  # a worker of before the reload may end by itself meanwhile
                    os.kill(int(line.split()[2]), signal.SIGKILL)
                    killed += 1
        assert killed
        for _ in range(10):
            assert subject(server, folder) == name
    finally:
        (folder / "now.pem").write_text(good)


def start_refused(folder, *args):
    done = subprocess.run([PROGRAM, "dev", "--data", folder / "d", "--listen", "127.0.0.1:0", "--no-demo", *args], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode != 0 and {f.name for f in (folder / "d").glob("*")} <= {"wharf.log"}  # which says why
    return done.stderr


def test_pairs_that_stop_the_start(folder):
    one, one_key = certificates.make(folder, "a")
    other, other_key = certificates.make(folder, "b")
    made = subprocess.run(["openssl", "req", "-new", "-key", one_key, "-subj", "/CN=old"], check=True, capture_output=True).stdout
    (folder / "index.txt").write_text("")
    (folder / "ca.cnf").write_text(f"[ca]\ndefault_ca=c\n[c]\ndatabase={folder}/index.txt\nnew_certs_dir={folder}\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
    (folder / "old.csr").write_bytes(made)
    for name, begin, end in (("old", "20200101000000Z", "20200201000000Z"), ("future", "21000101000000Z", "21000201000000Z")):
        subprocess.run(["openssl", "ca", "-batch", "-config", folder / "ca.cnf", "-in", folder / "old.csr", "-out", folder / f"{name}.pem", "-cert", one,
                        "-keyfile", one_key, "-startdate", begin, "-enddate", end, "-notext"], check=True, capture_output=True)
        (folder / "index.txt").write_text("")
    assert "old.pem expired at 2020-02-01T00:00:00.000Z" in start_refused(folder, *certificates.settings(folder / "old.pem", one_key))
    assert "future.pem is valid only from 2100-01-01T00:00:00.000Z" in start_refused(folder, *certificates.settings(folder / "future.pem", one_key))
    assert "b.key is not the key of the certificate in" in start_refused(folder, *certificates.settings(one, other_key))
    assert "tls.key: /none can't be read" in start_refused(folder, *certificates.settings(one, "/none"))
    assert "a.key holds no certificate in PEM form" in start_refused(folder, *certificates.settings(one_key, one_key))
    assert "tls.certificate is set without tls.key" in start_refused(folder, "--set", f"tls.certificate={one}")
    check = subprocess.run([PROGRAM, "check", *map(str, certificates.settings(one, other_key))], capture_output=True, text=True, timeout=WAIT)
    assert check.returncode != 0 and "is not the key" in check.stderr


# ---- programs that ask a server with a certificate of an authority of the operator's own ----

def test_the_command_line_believes_the_authorities_that_it_is_told(server, client, folder):
    def publish(**env):
        return subprocess.run([PROGRAM, "lua", "publish", "wkf_0123456789abcdefghijkl", folder], capture_output=True, text=True, timeout=WAIT,
                              env={**os.environ, "WHARF_SERVER": server.base, "WHARF_KEY": client.key, **env})
    (folder / "workflow.json").write_text("{}")
    stranger = publish(WHARF_CA_FILE="")
    assert stranger.returncode and "certificate" in stranger.stderr and server.base in stranger.stderr, stranger
    known = publish(WHARF_CA_FILE=str(folder / "ca.pem"))
    assert "does not answer" not in known.stderr and "404" in known.stderr, known


def test_the_print_agent_believes_the_authorities_that_it_is_told(server, client, folder):
    def status(**more):
        file = folder / "station.json"
        file.write_text(json.dumps({"server": server.base, "key": client.key, "station_id": "prst_0123456789abcdefghijkl", **more}))
        return subprocess.run([BUILD / "station" / "wharf-station", "--config", file, "status"], capture_output=True, text=True, timeout=WAIT)
    stranger, known = status(), status(ca_file=str(folder / "ca.pem"))
    assert stranger.returncode and "certificate" in stranger.stderr, stranger
    assert "(not_found)" in known.stderr, known


def test_the_print_agent_keeps_the_whole_path_of_authorities(server, client, folder):
    def pair(file):
        return subprocess.run([BUILD / "station" / "wharf-station", "--config", folder / "none.json", "--server", server.base, "--key", client.key, "--location", "loc_x",
                               "--ca-file", file, "pair"], capture_output=True, text=True, timeout=WAIT, cwd=folder)
    assert "can't be read" in pair("nothing.pem").stderr
    assert "can't be read" not in pair("ca.pem").stderr
