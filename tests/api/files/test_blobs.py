"""Files: storing, reading in ranges, signed links and their keys, uploads, erasing. Everything runs twice: on a directory, and on an
S3-compatible server that checks signatures."""
import hashlib
import os
import re
import subprocess
import threading
import time

import pytest
import requests

from s3 import Store
from wharf import BUILD, KEYS, WAIT, Client, Server, until

FILES = "/v1/outside/files"


class World:
    def __init__(self, kind):
        self.s3 = Store() if kind == "s3" else None
        sets = {"blob.upload_limit": 3000000, "blob.grace": 0}
        if self.s3:
            sets |= {"blob.driver": "s3", "blob.s3.endpoint": f"http://127.0.0.1:{self.s3.port}", "blob.s3.bucket": "wharf",
                     "blob.s3.key": "test-key", "blob.s3.secret": "test-secret"}
        self.sets = [x for k, v in sets.items() for x in ("--set", f"{k}={v}")]
        self.server = Server("--modules", f"org,{BUILD}/tests/plugins/outside.so", "--test-clock", *self.sets)
        self.org = self.server.organization()
        self.client = self.org.client()

    def command(self, *words):
        return self.server.command("files", *words, *self.sets)

    def store(self, text="some bytes", expect=201, **more):
        return self.client.post(FILES, {"name": "a.txt", "type": "text/plain", "text": text, **more}, expect=expect)

    def link(self, id, **more):
        return self.server.base + self.client.post(f"{FILES}/{id}/link", more, expect=200).data["url"]

    def has(self, sha256):
        if self.s3:
            return f"objects/{sha256[:2]}/{sha256}" in self.s3.objects
        return (self.server.folder / "blobs" / "objects" / sha256[:2] / sha256).exists()

    def move_clock(self, seconds):
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": seconds}, expect=200)


@pytest.fixture(scope="module", params=["dir", "s3"])
def world(request):
    w = World(request.param)
    yield w
    w.server.stop()
    if w.s3:
        w.s3.shutdown()


def refused(r, status, code):
    assert (r.status_code, r.json()["code"]) == (status, code), (r.status_code, r.text)
    assert list(r.json()) == KEYS and (r.json()["errors"] == [] or not code.startswith("signature.")), r.text


def upload_link(world, **more):
    f = world.client.post(FILES, {"await": True, "name": "u.bin", "type": "image/png", "expires_in": 3600, **more}, expect=201).data
    assert f["size"] == -1 and f["sha256"] == ""
    return f["id"], world.link(f["id"], put=True, seconds=3600)


def put(url, data, type="image/png", **headers):
    return requests.put(url, data=data, headers={"Content-Type": type, **headers}, timeout=WAIT)


def test_the_suite_of_the_store_on_s3():
    store = Store()
    store.page = 1000
    done = subprocess.run([BUILD / "tests" / "unit" / "unit_blob_store"], capture_output=True, text=True, timeout=WAIT,
                          env={**os.environ, "WHARF_S3": f"http://127.0.0.1:{store.port} wharf test-key test-secret"})
    store.shutdown()
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert "[  PASSED  ] 15 test(s)." in done.stderr + done.stdout


def test_store_and_read(world):
    f = world.store("hello").data
    assert f == {"id": f["id"], "name": "a.txt", "type": "text/plain", "sha256": hashlib.sha256(b"hello").hexdigest(), "size": 5}
    assert re.fullmatch(r"file_[0-9A-Za-z]{22}", f["id"]) and world.has(f["sha256"])
    r = requests.get(world.server.base + f"{FILES}/{f['id']}/content", headers={"SVC-API-KEY": world.client.key}, timeout=WAIT)
    assert (r.status_code, r.content, r.headers["Cache-Control"]) == (200, b"hello", "private, no-cache")
    assert world.store("hello").data["sha256"] == f["sha256"]
    world.store("x" * 1000, max=10000, repeat=100, expect=400)
    big = world.store("0123456789" * 1000, repeat=300).data
    assert big["size"] == 3010000


def test_signed_link(world):
    f = world.store("linked").data
    url = world.link(f["id"])
    form = re.fullmatch(re.escape(world.server.base) + r"/v1/files/" + f["id"] + r"\?op=get&exp=(\d+)&sig=[A-Za-z0-9_-]{43}", url)
    assert form and abs(int(form[1]) - time.time() - 900) < 60
    assert re.search(r"/v1/files/file_[0-9A-Za-z]{22}\?op=put&exp=\d+&sig=[A-Za-z0-9_-]{43}$", upload_link(world)[1])
    r = requests.get(url, timeout=WAIT)
    assert (r.status_code, r.content) == (200, b"linked")
    assert r.headers["Content-Type"] == "text/plain; charset=utf-8" and r.headers["X-Content-Type-Options"] == "nosniff"
    assert r.headers["Content-Disposition"] == "inline; filename=\"a.txt\"; filename*=UTF-8''a.txt"
    assert r.headers["ETag"] == f'"{f["sha256"]}"' and r.headers["Accept-Ranges"] == "bytes" and r.headers["Last-Modified"].endswith(" GMT")
    assert 880 <= int(re.fullmatch(r"private, max-age=(\d+)", r.headers["Cache-Control"])[1]) <= 900
    h = requests.head(url, timeout=WAIT)
    assert (h.status_code, h.headers["Content-Length"], h.content) == (200, "6", b"") and h.headers["ETag"] == r.headers["ETag"]


def test_ranges_and_conditions(world):
    text = "0123456789" * 10
    url = world.link(world.store(text).data["id"])
    whole = requests.get(url, timeout=WAIT)
    for value, part in (("0-0", "0"), ("0-9", text[:10]), ("95-", text[95:]), ("-1", "9"), ("-1000", text), ("98-5000", text[98:]), ("10-10", "0")):
        r = requests.get(url, headers={"Range": f"bytes={value}"}, timeout=WAIT)
        first = len(text) - len(part) if value.startswith("-") else int(value.split("-")[0])
        assert (r.status_code, r.text) == (206, part), value
        assert r.headers["Content-Range"] == f"bytes {first}-{first + len(part) - 1}/100" and r.headers["Content-Length"] == str(len(part))
    for value in ("100-", "100-200", "-0", "99999999999-"):
        r = requests.get(url, headers={"Range": f"bytes={value}"}, timeout=WAIT)
        assert (r.status_code, r.content, r.headers["Content-Range"]) == (416, b"", "bytes */100"), value
    for value in ("bytes=", "bytes=5-2", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b", "bytes=0-1x", "bytes=--1"):
        assert requests.get(url, headers={"Range": value}, timeout=WAIT).text == text, value
    r = requests.head(url, headers={"Range": "bytes=0-9"}, timeout=WAIT)
    assert (r.status_code, r.headers["Content-Length"]) == (206, "10")
    for tag in (whole.headers["ETag"], "W/" + whole.headers["ETag"], "*", f'"x", {whole.headers["ETag"]}'):
        r = requests.get(url, headers={"If-None-Match": tag}, timeout=WAIT)
        assert (r.status_code, r.content) == (304, b"")
    assert requests.get(url, headers={"If-None-Match": '"x"'}, timeout=WAIT).status_code == 200
    assert requests.get(url, headers={"Range": "bytes=0-0", "If-Range": whole.headers["ETag"]}, timeout=WAIT).status_code == 206
    assert requests.get(url, headers={"Range": "bytes=0-0", "If-Range": '"x"'}, timeout=WAIT).status_code == 200


def test_an_altered_link(world):
    f, other = world.store("one").data, world.store("two").data
    url = world.link(f["id"])
    base, query = url.split("?")
    for i in range(len(query)):
        changed = query[:i] + ("A" if query[i] != "A" else "B") + query[i + 1:]
        r = requests.get(f"{base}?{changed}", timeout=WAIT)
        assert r.status_code in (400, 403) and r.json()["code"] in ("signature.invalid", "param.invalid"), changed
    refused(requests.get(url.replace(f["id"], other["id"]), timeout=WAIT), 403, "signature.invalid")
    refused(requests.get(url.replace("op=get", "op=put"), timeout=WAIT), 403, "signature.invalid")
    refused(requests.get(base, timeout=WAIT), 403, "signature.invalid")
    refused(requests.get(url + "A", timeout=WAIT), 403, "signature.invalid")
    refused(requests.get(url.replace("exp=", "exp=0"), timeout=WAIT), 403, "signature.invalid")
    refused(requests.get(world.link(f["id"], put=True), timeout=WAIT), 403, "signature.invalid")
    refused(put(url, b"x"), 403, "signature.invalid")
    assert requests.get(url, timeout=WAIT).content == b"one"


def test_an_old_link(world):
    f = world.store("for a while").data
    url, short = world.link(f["id"]), world.link(f["id"], seconds=5)
    try:
        world.move_clock(890)
        until(lambda: requests.get(short, timeout=WAIT).status_code == 403)
        assert requests.get(url, timeout=WAIT).status_code == 200
        refused(requests.get(short, timeout=WAIT), 403, "signature.expired")
        world.move_clock(905)
        until(lambda: requests.get(url, timeout=WAIT).status_code == 403)
        refused(requests.get(url, timeout=WAIT), 403, "signature.expired")
        refused(requests.get(url.replace("op=get", "op=put"), timeout=WAIT), 403, "signature.invalid")
    finally:
        world.move_clock(0)
        until(lambda: requests.get(url, timeout=WAIT).status_code == 200)


def test_rotation_of_keys(world):
    url = world.link(world.store("rotated").data["id"])
    world.command("rotate-key")
    assert requests.get(url, timeout=WAIT).status_code == 200
    new = world.link(world.store("rotated").data["id"])
    world.command("rotate-key")
    refused(requests.get(url, timeout=WAIT), 403, "signature.invalid")
    assert requests.get(new, timeout=WAIT).status_code == 200


def test_removed_and_expired(world):
    f = world.store("gone").data
    url = world.link(f["id"])
    world.client.delete(f"{FILES}/{f['id']}")
    refused(requests.get(url, timeout=WAIT), 404, "not_found")
    world.client.refused("GET", f"{FILES}/{f['id']}", 404, "not_found")
    world.client.refused("DELETE", f"{FILES}/{f['id']}", 404, "not_found")
    f = world.store("mortal", expires_in=1).data
    url = world.link(f["id"])
    until(lambda: requests.get(url, timeout=WAIT).status_code == 404)
    assert world.server.sql("SELECT count(*) FROM wharf.token t WHERE t.kind = 'file' AND NOT EXISTS (SELECT 1 FROM wharf.file f"
                            " WHERE f.organization_id = t.organization_id AND f.id = t.id)") == [(0,)]


def test_other_organizations(world):
    f = world.store("mine").data
    stranger = world.server.organization().client()
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        stranger.refused(method, f"{FILES}/{f['id']}{path}", 404, "not_found")
    stranger.refused("POST", f"{FILES}/{f['id']}/link", 404, "not_found", body={})


@pytest.mark.parametrize("name, type, said, disposition", [
    ("a.html", "text/html", "application/octet-stream", "attachment; filename=\"a.html\"; filename*=UTF-8''a.html"),
    ("a", "text/HTML; charset=x", "application/octet-stream", "attachment; filename=\"a\"; filename*=UTF-8''a"),
    ("a", "image/svg+xml", "application/octet-stream", "attachment; filename=\"a\"; filename*=UTF-8''a"),
    ("a", "application/x-msdownload", "application/octet-stream", "attachment; filename=\"a\"; filename*=UTF-8''a"),
    ("a", "application/javascript", "application/octet-stream", "attachment; filename=\"a\"; filename*=UTF-8''a"),
    ("a", "nonsense", "application/octet-stream", "attachment; filename=\"a\"; filename*=UTF-8''a"),
    ("a", "x/y\r\nX-Evil: 1", "application/octet-stream", "attachment; filename=\"a\"; filename*=UTF-8''a"),
    ("a.pdf", "application/pdf", "application/pdf", "inline; filename=\"a.pdf\"; filename*=UTF-8''a.pdf"),
    ("a.csv", "text/csv", "text/csv; charset=utf-8", "attachment; filename=\"a.csv\"; filename*=UTF-8''a.csv"),
    ("\u00fc \"x\";\r\n.txt", "text/plain", "text/plain; charset=utf-8",
     "inline; filename=\"_ _x____.txt\"; filename*=UTF-8''%C3%BC%20%22x%22%3B%0D%0A.txt"),
    ("../../etc/passwd", "", "application/octet-stream", "attachment; filename=\"passwd\"; filename*=UTF-8''passwd"),
])
def test_what_browsers_are_told(world, name, type, said, disposition):
    r = requests.get(world.link(world.store("x", name=name, type=type).data["id"]), timeout=WAIT)
    assert (r.headers["Content-Type"], r.headers["Content-Disposition"]) == (said, disposition)
    assert r.headers["X-Content-Type-Options"] == "nosniff" and "X-Evil" not in r.headers
    assert ("Content-Security-Policy" in r.headers) == (said == "application/octet-stream" and type != "")


def test_given_up(world):
    for how in ("leave", "fail"):
        text = f"given up {how} {time.time()}"
        world.store(text, expect=400, **{how: True})
        assert world.server.sql("SELECT count(*) FROM wharf.file WHERE hash = %s", hashlib.sha256(text.encode()).hexdigest()) == [(0,)]
    assert not list((world.server.folder / "blobs" / "tmp").iterdir())


def test_upload(world):
    id, url = upload_link(world)
    data = os.urandom(2500000)
    world.client.refused("GET", f"{FILES}/{id}/content", 404, "not_found")
    r = put(url, data)
    assert (r.status_code, r.content, r.headers["ETag"]) == (200, b"", f'"{hashlib.sha256(data).hexdigest()}"')
    f = world.client.get(f"{FILES}/{id}").data
    assert (f["size"], f["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert requests.get(world.link(id), timeout=WAIT).content == data
    refused(put(url, data), 409, "file.already_uploaded")
    assert not list((world.server.folder / "blobs" / "tmp").iterdir())


def test_uploads_refused(world):
    id, url = upload_link(world, size=1000)
    refused(put(url, b"x" * 1000, "image/jpeg"), 400, "file.upload_invalid")
    refused(put(url, b"x" * 999), 400, "file.upload_invalid")
    refused(put(url, b"x" * 1001), 400, "file.upload_invalid")
    refused(put(url, iter([b"x" * 500, b"x" * 499])), 400, "file.upload_invalid")
    refused(put(url, iter([b"x" * 1001])), 400, "file.upload_invalid")
    refused(put(url, b"x" * 1000, **{"Content-Encoding": "gzip"}), 415, "content_encoding.unsupported")
    assert put(url, iter([b"x" * 500, b"x" * 500])).status_code == 200
    id, url = upload_link(world)
    refused(put(url, b""), 400, "file.upload_invalid")
    refused(put(url, b"x" * 3000001), 400, "file.too_large")
    id, url = upload_link(world, max=100)
    refused(put(url, b"x" * 101), 400, "file.too_large")
    refused(put(url, iter([b"x" * 60, b"x" * 60])), 400, "file.too_large")
    refused(put(url.replace("sig=", "sig=A")[:-1], b"x"), 403, "signature.invalid")
    refused(put(url.replace(id, "file_" + "0" * 22), b"x"), 404, "not_found")
    world.client.delete(f"{FILES}/{id}")
    refused(put(url, b"x"), 404, "not_found")
    assert not list((world.server.folder / "blobs" / "tmp").iterdir())


def test_one_of_many_uploads_wins(world):
    id, url = upload_link(world)
    answers = []
    threads = [threading.Thread(target=lambda i=i: answers.append((put(url, b"%d" % i).status_code, i))) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert sorted(s for s, _ in answers) == [200] + [409] * 7
    winner = next(i for s, i in answers if s == 200)
    assert requests.get(world.link(id), timeout=WAIT).content == b"%d" % winner


def test_an_upload_cut_off(world):
    id, url = upload_link(world)
    path = url.removeprefix(world.server.base)
    with world.server.connect() as s:
        s.sendall(f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 1000\r\n\r\nhalf".encode())
        time.sleep(0.2)
    until(lambda: not list((world.server.folder / "blobs" / "tmp").iterdir()))
    assert world.client.get(f"{FILES}/{id}").data["size"] == -1
    assert put(url, b"whole").status_code == 200


def test_collection(world):
    """What no row names goes; what one of two rows still names stays."""
    kept, twin, lone = world.store("kept by its twin").data, world.store("kept by its twin").data, world.store("alone").data
    expired = world.store("expired bytes", expires_in=1).data
    world.store("of a failed request", fail=True, expect=400)
    orphan = hashlib.sha256(b"of a failed request").hexdigest()
    assert world.has(orphan)
    world.client.delete(f"{FILES}/{twin['id']}")
    world.client.delete(f"{FILES}/{lone['id']}")
    until(lambda: world.server.sql("SELECT wharf.now() > expires_at FROM wharf.file WHERE id = %s", expired["id"]) == [(True,)])
    assert world.has(lone["sha256"])
    time.sleep(1)
    told = world.command("collect")
    assert re.fullmatch(r"erased: [1-9]\d* expired files, [1-9]\d* objects, 0 temporary files", told), told
    assert [world.has(h) for h in (kept["sha256"], lone["sha256"], expired["sha256"], orphan)] == [True, False, False, False]
    assert requests.get(world.link(kept["id"]), timeout=WAIT).content == b"kept by its twin"
    assert world.store("alone").data["sha256"] == lone["sha256"] and world.has(lone["sha256"])
    assert world.command("verify").endswith("3 checks: no faults")


def test_collection_while_the_same_bytes_come_and_go(world):
    """Each stored file can be read, however many collections run beside."""
    stop = threading.Event()
    failures = []

    def collect():
        while not stop.is_set():
            world.command("collect")

    def come_and_go(n):
        client = world.org.client()
        for i in range(15):
            f = client.post(FILES, {"name": "a", "type": "text/plain", "text": f"coming and going {i % 3}"}, expect=201).data
            r = requests.get(world.server.base + f"{FILES}/{f['id']}/content", headers={"SVC-API-KEY": client.key}, timeout=WAIT)
            if r.status_code != 200 or r.content != b"coming and going %d" % (i % 3):
                failures.append((r.status_code, r.text))
            client.delete(f"{FILES}/{f['id']}")

    collectors = [threading.Thread(target=collect) for _ in range(2)]
    writers = [threading.Thread(target=come_and_go, args=(n,)) for n in range(4)]
    [t.start() for t in collectors + writers]
    [t.join() for t in writers]
    stop.set()
    [t.join() for t in collectors]
    assert not failures


def test_s3_in_trouble(world):
    if not world.s3:
        pytest.skip("is about failures of an S3 server")
    world.s3.broken = 2
    f = world.store("third time lucky").data
    assert world.has(f["sha256"])
    url = world.link(f["id"])
    world.s3.broken = 2  # a read, too, is tried again; nothing of the error's text is served, nor of an answer that was cut off
    assert requests.get(url, timeout=WAIT).text == "third time lucky" and world.s3.broken == 0
    world.s3.cut = 2
    assert requests.get(url, timeout=WAIT).text == "third time lucky" and world.s3.cut == 0
    world.s3.broken = 100
    try:
        a = world.store("never", expect=503)
        assert a.code == "storage.unavailable" and a.headers["Retry-After"] == "5"
    finally:
        world.s3.broken = 0


def test_damaged_bytes_are_found(world):
    if world.s3:
        pytest.skip("what an S3 server keeps is its own matter")
    f = world.store("to be damaged").data
    path = world.server.folder / "blobs" / "objects" / f["sha256"][:2] / f["sha256"]
    path.write_bytes(b"something else")
    done = subprocess.run([str(BUILD / "tool" / "wharf"), "files", "verify", "--data", world.server.folder, *world.sets], capture_output=True, text=True)
    assert done.returncode == 1 and f"    {f['sha256']}  is damaged: its bytes have another hash" in done.stdout
    assert world.store("to be damaged").data["sha256"] == f["sha256"]
    assert world.command("verify").endswith("3 checks: no faults")
