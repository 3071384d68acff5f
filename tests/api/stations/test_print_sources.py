"""Where documents come from and how they are given: URLs of print jobs, the digest of a document, limits (spec 04 sections 7 and 13)."""
import base64
import hashlib
import threading
import time

import pytest
import requests

from documents import b64, pdf, png
from outside import Host, Silent, redirect
from test_print_jobs import JOBS, Shop, box
from wharf import WAIT, Client, Server, note_job


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    class World:
        pass

    w = World()
    w.forbidden = Silent("127.0.0.2")
    padded = png(4, 4, 4) + bytes(10_000_001)
    w.web = Host(tmp_path_factory.mktemp("ca"), "docs.example.test", {
        "/label.pdf": lambda h: h.answer(200, pdf()), "/named.png": lambda h: h.answer(200, pdf(), Content_Type="image/png"),
        "/404": lambda h: h.answer(404, b"no"), "/403": lambda h: h.answer(403, b"no"), "/500": lambda h: h.answer(500, b"no"), "/503": lambda h: h.answer(503, b"no"),
        "/3": redirect("/2"), "/2": redirect("/1"), "/1": redirect("/label.pdf"), "/4": redirect("/3"),
        "/inside": redirect(f"https://127.0.0.2:{w.forbidden.port}/label.pdf"), "/metadata": redirect("https://169.254.169.254/latest"),
        "/plain": redirect("http://docs.example.test/label.pdf"), "/private": redirect(f"https://private.example.test:{w.forbidden.port}/"),
        "/large": lambda h: h.answer(200, b"%PDF-", Content_Length=(25 << 20) + 1), "/image": lambda h: h.answer(200, padded),
        "/fits": lambda h: h.answer(200, padded[:10_000_000]), "/just": lambda h: h.answer(200, padded[:10_000_001]), "/thick.pdf": lambda h: h.answer(200, pdf() + bytes(10_000_001)),
        "/never": lambda h: time.sleep(14), "/zip": lambda h: h.answer(200, b"PK\3\4" + bytes(60)), "/empty": lambda h: h.answer(200, b""),
    })
    w.server = Server("--modules", "org,locations,stations", *w.web.settings)
    w.shop = Shop(w.server.organization(), "Sources")
    yield w
    w.server.stop()
    w.web.shutdown()
    w.forbidden.close()


def url(world, path):
    return world.web.url(path)


def rows(world):
    return world.server.sql("SELECT count(*) FROM stations.print_job")[0][0]


def test_a_document_by_url(world):
    for path in ("/label.pdf", "/named.png", "/3"):  # sniffed, whatever it is said to be; three redirects
        job = world.shop.make(data=url(world, path))
        assert job["document"]["content_type"] == "application/pdf" and job["document"]["sha256"] == hashlib.sha256(pdf()).hexdigest()
        assert box(world.shop.paper(job)) == [(288, 432)]


def test_how_large_an_image_by_url_may_be(world):
    size = {"configuration": {"paper_size": "label_4x6"}}
    assert world.shop.make(data=url(world, "/fits"), **size)["document"]["size"] == 10_000_000
    world.shop.refuse(400, "file.too_large", ["data"], data=url(world, "/just"), **size)
    assert world.shop.make(data=url(world, "/thick.pdf"))["document"]["size"] > 10_000_001  # no image
    assert world.shop.make(png(4, 4, 4) + bytes(10_000_001), **size)["document"]["size"] > 10_000_001  # not by URL


@pytest.mark.parametrize("path, status, code", [
    ("/404", 400, "file.not_available"), ("/403", 400, "file.not_available"), ("/500", 502, "file.download"), ("/503", 502, "file.download"),
    ("/4", 400, "file.not_available"), ("/inside", 400, "file.url"), ("/metadata", 400, "file.url"), ("/plain", 400, "file.protocol"),
    ("/private", 400, "file.not_available"), ("/large", 400, "file.too_large"), ("/image", 400, "file.too_large"),
    ("/zip", 400, "print_job.document_invalid"), ("/empty", 400, "file.not_available"),
])
def test_what_goes_wrong_with_urls(world, path, status, code):
    before, heard = rows(world), world.forbidden.heard
    world.shop.refuse(status, code, ["data"], data=url(world, path))
    assert rows(world) == before and world.forbidden.heard == heard


def test_hosts_that_do_not_answer(world):
    """The connection is taken, and nothing comes."""
    ends = []

    def ask():
        begun = time.monotonic()
        world.shop.refuse(408, "file.timeout_error", ["data"], data=url(world, "/never"))
        ends.append(time.monotonic() - begun)
    threads = [threading.Thread(target=ask) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(ends) == 2


def test_the_digest_of_a_document(world):
    job, key = world.shop.make(configuration={"scaling": 0.5}), {"SVC-API-KEY": world.shop.client.key}
    path = f"{world.server.base}{JOBS}/{job['id']}/document"
    for query in ("", "?prepared=true"):
        r = requests.get(path + query, headers=key, timeout=WAIT)
        assert r.headers["Content-Digest"] == f"sha-256=:{base64.b64encode(hashlib.sha256(r.content).digest()).decode()}:"
    assert r.content != pdf()
    part = requests.get(path, headers={**key, "Range": "bytes=0-9"}, timeout=WAIT)
    assert part.status_code == 206 and "Content-Digest" not in part.headers
    assert "Content-Digest" not in requests.head(path, headers=key, timeout=WAIT).headers


def test_ten_thousand_jobs_wait_at_most(world):
    s = Shop(world.server.organization(), "Full")
    first = s.make()
    columns = [c for c, in world.server.sql("SELECT column_name FROM information_schema.columns WHERE table_schema = 'stations' AND table_name = 'print_job'") if c != "id"]
    world.server.sql(f"INSERT INTO stations.print_job (id, {', '.join(columns)}) SELECT 'prnt_job_' || lpad(n::text, 22, '0'), {', '.join('j.' + c for c in columns)}"
                     " FROM stations.print_job j CROSS JOIN generate_series(1, %s) n WHERE j.id = %s", 9998, first["id"])
    note_job(world.server, "prnt_job_000000000000%")
    last = s.make()
    s.refuse(409, "print_station.queue_full", [])
    s.client.refused("POST", f"{s.path}/printers/{s.station['printers'][0]['id']}/test-page", 409, "print_station.queue_full")
    s.update(last, status="canceled")
    s.make()
    s.refuse(409, "print_station.queue_full", [])
    # There is room for three, and twelve come at once.
    waiting = world.server.sql("SELECT id FROM stations.print_job WHERE print_station_id = %s AND status = 'queued' AND id <> %s LIMIT 3", s.station["id"], first["id"])
    for (id,) in waiting:
        s.client.post(f"{JOBS}/{id}", {"status": "canceled"}, expect=200)
    statuses, go = [], threading.Barrier(12)

    def come():
        c = Client(world.server, s.client.key)
        go.wait()
        statuses.append(c.post(JOBS, {"location_id": s.location["id"], "data": b64(pdf())}).status)

    threads = [threading.Thread(target=come) for _ in range(12)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert sorted(statuses) == [201] * 3 + [409] * 9
    other = Shop(world.server.organization(), "Not full")
    other.make()


def test_twenty_creates_a_second():
    s = Server("--modules", "org,locations,stations", "--set", "rate_limit.key=0", "--set", "rate_limit.write=0", "--set", "rate_limit.organization=0", limits=True)
    try:
        org = s.organization()
        shop = Shop(org, "Fast")
        body = {"location_id": shop.location["id"], "data": "not base64!", "configuration": {}}  # refused: a limit counts requests
        clients, a, begun = [Client(s, shop.client.key) for _ in range(4)], [], time.monotonic()
        threads = [threading.Thread(target=lambda c=c: a.extend(c.request("POST", JOBS, body=body, check=False) for _ in range(75))) for c in clients]
        [t.start() for t in threads]
        [t.join() for t in threads]
        limited = [r for r in a if r.status == 429]
        assert 100 <= len(a) - len(limited) <= 101 + 20 * (time.monotonic() - begun) and limited, [r.status for r in a]
        assert limited[0].code == "rate_limited" and limited[0].headers["RateLimit-Policy"] == '"endpoint";q=20;w=1' and limited[0].headers["Retry-After"] == "1"
        assert shop.client.get(JOBS).status == 200  # others of its requests go on
        assert org.client().request("POST", JOBS, body=body, check=False).status == 400  # another key
    finally:
        s.stop()
