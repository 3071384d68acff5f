"""Outgoing requests: the address guard, redirects, limits, codes (spec 06 section 10, spec 10 section 9), against a name server and web
servers of our own. What must not be reached is a listener that counts; at the end of each test it has heard nothing."""
import errno
import gzip
import socket
import time

import pytest

from outside import Authority, NameServer, Silent, Web, drip, redirect
from wharf import BUILD, Server

GZIP, TO_FILE, REUSE, HTTP, ANY_STATUS = 8, 32, 16, 1, 64
HOST = "files.example.test"
BODY = b"twelve bytes"


def flip(first, then):
    """A name that changes its answer after the first question."""
    return lambda asked: first if asked == 1 else then


NAMES = {
    HOST: ["127.0.0.1"],
    "other.example.test": ["127.0.0.1"],
    "wrong.example.test": ["127.0.0.1"],
    "closed.example.test": ["127.0.0.1"],
    "private.example.test": ["127.0.0.2"],
    "ten.example.test": ["10.0.0.1"],
    "metadata.example.test": ["169.254.169.254"],
    "six.example.test": ["::1"],
    "mapped.example.test": ["::ffff:127.0.0.2"],
    "nat64.example.test": ["64:ff9b::7f00:2"],
    "sixtofour.example.test": ["2002:7f00:2::1"],
    "unique.example.test": ["fd00::1"],
    "mixed.example.test": ["127.0.0.1", "127.0.0.2"],
    "mixed6.example.test": ["127.0.0.1", "::1"],
    "many.example.test": ["127.0.0.1"] * 20 + ["127.0.0.2"],
    "flips.example.test": flip(["127.0.0.1"], ["127.0.0.2"]),
    "flips2.example.test": flip(["127.0.0.1"], ["127.0.0.2"]),
    "flips3.example.test": flip(["127.0.0.1"], ["127.0.0.2"]),
    "back.example.test": flip(["127.0.0.2"], ["127.0.0.1"]),
    "silent.example.test": None,
    "empty.example.test": [],
    "mapped-by-setting.example.test": ["127.0.0.2"],
}


def slow_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-A: b\r\n")
        handler.wfile.flush()
        time.sleep(0.3)


def endless_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-Filler: " + b"a" * 1000 + b"\r\n")


def chunked(handler, total):
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while total is None or total > 0:
        piece = b"y" * min(total or 10000, 10000)
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        total = None if total is None else total - len(piece)
    handler.wfile.write(b"0\r\n\r\n")


def count(handler):
    """How many are here at once, told before the answer goes out."""
    web = handler.server
    with web.lock:
        web.running += 1
        web.most = max(web.most, web.running)
    time.sleep(0.2)
    with web.lock:
        web.running -= 1
    handler.answer(200, BODY)


def pages(here, away):
    sizes = {"/9999": 9999, "/10000": 10000, "/10001": 10001}
    bomb = gzip.compress(b"\0" * 100_000_000)
    return {
        "/a": lambda h: h.answer(200, BODY, Content_Type="text/csv", Set_Cookie="a=b; Path=/"),
        "/empty": lambda h: h.answer(200),
        "/204": lambda h: h.answer(204),
        "/echo": lambda h: h.answer(200, h.command.encode() + b" " + h.sent),
        "/400": lambda h: h.answer(400, b"no"), "/403": lambda h: h.answer(403, b"no"), "/404": lambda h: h.answer(404, b"no"),
        "/500": lambda h: h.answer(500, b"no"), "/503": lambda h: h.answer(503, b"no"), "/304": lambda h: h.answer(304),
        "/300": lambda h: h.answer(300, b"choose", Location="/a"),
        "/no-location": lambda h: h.answer(302, b"where?"),
        "/1": redirect("/a"), "/2": redirect("/1", 301), "/3": redirect("/2", 307), "/4": redirect("/3", 308), "/303": redirect("/a", 303),
        "/relative": redirect("a"), "/away": redirect(away + "/a"),
        "/loop": redirect("/loop"),
        "/endless-redirect": lambda h: (h.send_response(302), h.send_header("Location", "/a"), h.send_header("Transfer-Encoding", "chunked"),
                                        h.end_headers(), [h.wfile.write(b"400\r\n" + b"z" * 1024 + b"\r\n") for _ in iter(int, 1)]),
        "/announced": lambda h: h.answer(200, b"x", Content_Length=10001),
        "/endless": lambda h: chunked(h, None),
        "/drip": drip(0.2), "/slow-headers": slow_headers, "/endless-headers": endless_headers,
        "/late": lambda h: (time.sleep(1.2), h.answer(200, BODY)),
        "/never": lambda h: time.sleep(8),
        "/short": lambda h: (h.answer(200, b"short", Content_Length=100), setattr(h, "close_connection", True)),
        "/gzip": lambda h: h.answer(200, gzip.compress(b"z" * 5000), Content_Encoding="gzip"),
        "/bomb": lambda h: h.answer(200, bomb, Content_Encoding="gzip"),
        "/br": lambda h: h.answer(200, b"zz", Content_Encoding="br"),
        "/identity": lambda h: h.answer(200, BODY, Content_Encoding="identity"),
        "/wait": lambda h: (time.sleep(0.3), h.answer(200, BODY)), "/count": count,
        **{path: (lambda n: lambda h: h.answer(200, b"x" * n))(n) for path, n in sizes.items()},
        **{path + "c": (lambda n: lambda h: chunked(h, n))(n) for path, n in sizes.items()},
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    class World:
        pass

    w = World()
    authority = Authority(tmp_path_factory.mktemp("ca"))
    w.names = NameServer(dict(NAMES))
    good = authority.server_context("good", "*.example.test")
    names_with_certificate = [n for n in NAMES if n != "wrong.example.test"]
    for _ in range(50):  # a port that is free at two other addresses as well
        w.web = Web({}, authority.server_context("web", *names_with_certificate))
        try:
            w.forbidden = [Silent(), Silent("127.0.0.2", w.web.port), Silent("::1", w.web.port)]
            break
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise
    w.other = Web({"/a": lambda h: h.answer(200, b"from the other one")}, good)
    w.plain = Web({"/a": lambda h: h.answer(200, b"plain")})
    w.stranger = Web({"/a": lambda h: h.answer(200, b"x")}, Authority(tmp_path_factory.mktemp("stranger")).server_context("x", HOST))
    w.web.pages.update(pages(w.web, f"https://other.example.test:{w.other.port}"))
    w.mute = Silent()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        w.closed_port = s.getsockname()[1]
    allowed = [w.web.port, w.other.port, w.plain.port, w.mute.port, w.stranger.port, w.closed_port]
    bad = f"http://127.0.0.1:{w.forbidden[0].port}"
    w.server = Server(
        "--modules", f"org,{BUILD}/tests/plugins/outside.so", "--set", "environment=test", "--set", f"net.dns={w.names.address}",
        "--set", f"net.ca_file={authority.file}", "--set", "net.allow=" + ",".join(f"127.0.0.1:{p}" for p in allowed),
        "--set", f"net.resolve=mapped-by-setting.example.test=127.0.0.1:{w.web.port}",
        env={"http_proxy": bad, "https_proxy": bad, "HTTPS_PROXY": bad, "ALL_PROXY": bad, "all_proxy": bad})
    w.client = w.server.organization().client()
    w.base = f"https://{HOST}:{w.web.port}"
    yield w
    w.server.stop()
    for s in (w.names, w.mute, *w.forbidden):
        s.close()
    for s in (w.web, w.other, w.plain, w.stranger):
        s.shutdown()


@pytest.fixture(autouse=True)
def nothing_heard(world):
    before = [f.heard for f in world.forbidden]
    yield
    assert [f.heard for f in world.forbidden] == before, "something was sent where nothing may be sent"


PATIENT = {"total_ms": 60000, "connect_ms": 20000}  # where a test is not about time: this server, in Python, may answer late


def get(w, url, expect=200, code=None, **more):
    a = w.client.post("/v1/outside/fetch", {"url": url, **PATIENT, **more}, expect=expect)
    assert a.code == code, a
    if code:
        assert a.errors == ["url"], a
        return a
    return a.data["answer"]


def test_a_file(world):
    a = get(world, world.base + "/a")
    assert a == {"code": "", "outcome": "done", "status": 200, "size": 12, "type": "text/csv", "text": BODY.decode()}
    assert get(world, world.base + "/a", flags=TO_FILE)["text"] == BODY.decode()
    assert get(world, world.base + "/identity")["size"] == 12
    method, path, headers, _ = world.web.seen[-1]
    assert (method, path) == ("GET", "/identity") and "Cookie" not in headers and headers["User-Agent"].startswith("Wharf/")
    assert headers["Host"] == f"{HOST}:{world.web.port}" and "Accept-Encoding" not in headers and "Authorization" not in headers


def test_methods_headers_body(world):
    a = get(world, world.base + "/echo", method="POST", body="hello", headers=["X-One: 1", "Content-Type: text/x"])
    assert a["text"] == "POST hello"
    assert world.web.seen[-1][2]["X-One"] == "1" and world.web.seen[-1][2]["Content-Type"] == "text/x"
    assert get(world, world.base + "/echo", method="PUT", body="put it")["text"] == "PUT put it"
    assert get(world, world.base + "/echo", method="DELETE")["text"] == "DELETE "
    assert get(world, world.base + "/a", method="HEAD", flags=128)["status"] == 200
    for bad in ["X: a\r\nY: b", "X: a\nY: b", "X", ": v", "X y: z"]:
        before = world.web.connections
        get(world, world.base + "/a", headers=[bad], expect=400, code="file.not_available")
        assert world.web.connections == before
    get(world, world.base + "/a", method="GET /x", expect=400, code="file.not_available")


@pytest.mark.parametrize("family", ["file", "inference"])
def test_static_refusals(world, family):
    p = world.web.port
    refused = {
        "protocol": [f"http://{HOST}:{p}/a", "ftp://x.example/", "file:///etc/passwd", f"gopher://{HOST}/"],
        "url": ["https://127.0.0.2/", f"https://127.0.0.2:{p}/", f"https://[::1]:{p}/", f"https://2130706434:{p}/", f"https://0x7f000002:{p}/",
                f"https://127.2:{p}/", f"https://a@{HOST}:{p}/a", f"https://{HOST}:22/", "nonsense", f"https://127.0.0.2.:{p}/",
                f"https://%31%32%37.0.0.2:{p}/", f"https://１２７.0.0.2:{p}/", f"https://{HOST}.:{p}/a", ""],
        "hostname": [f"https://localhost:{p}/", f"https://x.localhost:{p}/", "https://metadata.google.internal/", f"https://printer:{p}/"],
    }
    for reason, urls in refused.items():
        for url in urls:
            for only in (True, False):
                get(world, url, expect=400, code=f"{family}.{reason}", family=family, check_only=only)


@pytest.mark.parametrize("name", ["private", "ten", "metadata", "six", "mapped", "nat64", "sixtofour", "unique", "mixed", "mixed6", "many"])
def test_names_of_private_addresses(world, name):
    url = f"https://{name}.example.test:{world.web.port}/a"
    get(world, url, expect=400, code="file.hostname")
    assert get(world, url, expect=400, code="inference.hostname", family="inference").message == \
        get(world, f"https://localhost:{world.web.port}/", expect=400, code="inference.hostname", family="inference").message


def test_a_name_that_changes_its_answer(world):
    """Asked once; what was checked is what is connected to."""
    url = f"https://flips.example.test:{world.web.port}/a"
    before = world.web.connections
    assert get(world, url)["status"] == 200
    assert world.web.connections == before + 1
    assert world.names.questions("flips.example.test") == 1
    get(world, url, expect=400, code="file.hostname")
    url = f"https://back.example.test:{world.web.port}/a"
    get(world, url, expect=400, code="file.hostname")
    assert get(world, url)["status"] == 200


def test_a_name_that_changes_between_hops(world):
    """The second hop asks again, and is judged again; a kept connection is no way around it."""
    get(world, f"https://flips2.example.test:{world.web.port}/1", redirects=3, expect=400, code="file.hostname")
    get(world, f"https://flips3.example.test:{world.web.port}/1", redirects=3, flags=REUSE, expect=400, code="file.hostname")


def test_redirects(world):
    assert get(world, world.base + "/3", redirects=3)["text"] == BODY.decode()
    for path in ("/303", "/relative"):
        assert get(world, world.base + path, redirects=1)["text"] == BODY.decode()
    assert get(world, world.base + "/away", redirects=3)["text"] == "from the other one"
    assert get(world, world.base + "/1", flags=ANY_STATUS)["status"] == 302
    for path, n in (("/4", 3), ("/1", 0), ("/loop", 3), ("/no-location", 3), ("/300", 3), ("/304", 3), ("/endless-redirect", 3)):
        get(world, world.base + path, redirects=n, expect=400, code="file.not_available")
    get(world, world.base + "/1", redirects=3, method="POST", body="x", expect=400, code="file.not_available")


def test_redirects_to_where_nobody_may_go(world):
    p = world.web.port
    cases = {
        f"https://127.0.0.2:{p}/a": "url", f"https://[::1]:{p}/a": "url", f"https://[::ffff:127.0.0.2]:{p}/a": "url",
        f"https://2130706434:{p}/a": "url", f"https://0x7f.0.0.2:{p}/a": "url", f"//127.0.0.2:{p}/a": "url", f"https://a:b@{HOST}:{p}/a": "url",
        f"https://{HOST}:22/": "url", "https://169.254.169.254/latest/meta-data/": "url", f"https://127.0.0.1:{world.forbidden[0].port}/": "url",
        f"http://{HOST}:{p}/a": "protocol", f"http://127.0.0.2:{p}/a": "protocol", "file:///etc/passwd": "protocol",
        f"gopher://127.0.0.2:{p}/_x": "protocol", f"ftp://127.0.0.2:{p}/a": "protocol",
        f"https://private.example.test:{p}/a": "hostname", f"https://six.example.test:{p}/a": "hostname", f"https://localhost:{p}/a": "hostname",
        "https://metadata.google.internal/": "hostname", f"https://mapped.example.test:{p}/a": "hostname",
        f"https://{HOST}:{world.forbidden[0].port}/a": "hostname",
    }
    for i, (to, reason) in enumerate(cases.items()):
        world.web.pages[f"/to{i}"] = redirect(to)
        for family in ("file", "inference"):
            get(world, world.base + f"/to{i}", redirects=3, family=family, expect=400, code=f"{family}.{reason}")


def test_sizes(world):
    for path in ("/9999", "/10000", "/9999c", "/10000c"):
        assert get(world, world.base + path, max_bytes=10000)["size"] == int(path.strip("/c"))
        assert get(world, world.base + path, max_bytes=10000, flags=TO_FILE)["size"] == int(path.strip("/c"))
    for path in ("/10001", "/10001c", "/announced", "/endless", "/br", "/gzip"):
        get(world, world.base + path, max_bytes=10000, expect=400, code="file.too_large")
        get(world, world.base + path, max_bytes=10000, family="inference", flags=TO_FILE, expect=400, code="file.too_large")


def test_gzip(world):
    a = get(world, world.base + "/gzip", flags=GZIP)
    assert (a["size"], a["text"]) == (5000, "z" * 200)
    get(world, world.base + "/bomb", flags=GZIP, expect=400, code="file.too_large")
    get(world, world.base + "/br", flags=GZIP, expect=400, code="file.too_large")


def test_slow(world):
    limits = {"stall_ms": 600, "stall_bytes": 1024, "total_ms": 5000, "connect_ms": 700}
    for path in ("/drip", "/never", "/slow-headers"):
        get(world, world.base + path, **limits, expect=408, code="file.timeout_error")
    get(world, world.base + "/drip", stall_ms=10000, total_ms=900, expect=408, code="file.timeout_error")
    get(world, world.base + "/late", stall_ms=600, first_byte_ms=500, expect=408, code="file.timeout_error")
    assert get(world, world.base + "/late", stall_ms=600, first_byte_ms=5000)["size"] == 12
    # nobody answers: neither the name server nor a TLS handshake
    get(world, "https://silent.example.test/", **limits, expect=408, code="file.timeout_error")
    get(world, f"https://{HOST}:{world.mute.port}/", **limits, family="inference", expect=408, code="file.timeout_error")
    # the limits are of the whole: each redirect alone would be fast enough
    world.web.pages["/slow1"] = lambda h: (time.sleep(0.5), redirect("/slow2")(h))
    world.web.pages["/slow2"] = lambda h: (time.sleep(0.5), redirect("/wait")(h))
    get(world, world.base + "/slow1", redirects=3, total_ms=900, expect=408, code="file.timeout_error")


def test_unreachable_looks_always_the_same(world):
    p = world.web.port
    urls = [world.base + "/404", world.base + "/403", world.base + "/400", world.base + "/empty", world.base + "/204", world.base + "/short",
            world.base + "/endless-headers", f"https://{HOST}:{world.closed_port}/", f"https://wrong.example.test:{p}/a",
            f"https://{HOST}:{world.stranger.port}/a", f"https://{HOST}:{world.plain.port}/a", "https://nobody.example.test/",
            "https://empty.example.test/"]
    for family, code in (("file", "file.not_available"), ("inference", "inference.unreachable")):
        assert len({get(world, url, expect=400, code=code, family=family).message for url in urls}) == 1


def test_host_in_trouble(world):
    for path in ("/500", "/503"):
        for family in ("file", "inference"):
            assert "try again" in get(world, world.base + path, expect=502, code="file.download", family=family).message


def test_plain_http_only_where_asked(world):
    url = f"http://{HOST}:{world.plain.port}/a"
    get(world, url, expect=400, code="file.protocol")
    assert get(world, url, flags=HTTP)["text"] == "plain"


def test_mapping_of_the_settings(world):
    """The name server would say 127.0.0.2."""
    assert get(world, f"https://mapped-by-setting.example.test/a")["text"] == BODY.decode()
    assert world.names.questions("mapped-by-setting.example.test") == 0


def test_opened_literal(world):
    """127.0.0.1 with this port is opened by net.allow; the certificate is still asked for."""
    get(world, f"https://127.0.0.1:{world.web.port}/a", expect=400, code="file.not_available")
    assert get(world, f"http://127.0.0.1:{world.plain.port}/a", flags=HTTP)["text"] == "plain"


def test_many_at_once(world):
    world.web.most = 0
    a = world.client.post("/v1/outside/fetch-many", {"urls": [world.base + "/count"] * 60, "per_host": 7, **PATIENT}, expect=200)
    assert [x["status"] for x in a.data["answers"]] == [200] * 60
    assert 1 < world.web.most <= 7
    a = world.client.post("/v1/outside/fetch-many", {"urls": [f"{world.base}/a?{i}" for i in range(400)], "per_host": 200, **PATIENT}, expect=200)
    assert [x["code"] for x in a.data["answers"]] == [""] * 400


def test_connections_are_kept_on_request(world):
    before = world.web.connections
    a = world.client.post("/v1/outside/fetch-many", {"urls": [world.base + "/a"] * 50, "per_host": 2, "flags": REUSE, **PATIENT}, expect=200)
    assert len(a.data["answers"]) == 50 and world.web.connections - before <= 4
    before = world.web.connections
    world.client.post("/v1/outside/fetch-many", {"urls": [world.base + "/a"] * 10, "per_host": 2, **PATIENT}, expect=200)
    assert world.web.connections - before == 10


def test_cancelled_and_left_behind(world):
    a = world.client.post("/v1/outside/fetch-many", {"urls": [world.base + "/never", world.base + "/a"], "cancel_first": True}, expect=200)
    assert sorted(x["outcome"] for x in a.data["answers"]) == ["cancelled", "done"]
    # a request that ends while its fetches run takes them with it
    world.client.post("/v1/outside/fetch-many", {"urls": [world.base + "/never"] * 20, "leave": True, "per_host": 5}, expect=200)
    assert get(world, world.base + "/a")["status"] == 200


def test_settings_for_tests_do_not_count_in_production(world, tmp_path):
    s = Server("--modules", f"org,{BUILD}/tests/plugins/outside.so", "--set", f"net.dns={world.names.address}", "--set",
               f"net.resolve={HOST}=127.0.0.1:{world.web.port}", "--set", f"net.ca_file={tmp_path}/none", "--set",
               f"net.allow=127.0.0.1:{world.web.port}")
    try:
        c = s.organization().client()
        before = world.web.connections
        c.refused("POST", "/v1/outside/fetch", 400, "file.not_available", ["url"], body={"url": f"https://{HOST}:{world.web.port}/a"})
        assert world.web.connections == before + 1  # asked by name, and not believed: the authority is the test's own
        assert world.names.questions(HOST) > 0
    finally:
        s.stop()


def test_a_wrong_list_stops_the_start():
    with pytest.raises(RuntimeError, match="net.allow"):
        Server("--modules", "org", "--set", "net.allow=10.0.0.0/40").stop()
