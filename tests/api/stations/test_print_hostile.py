"""Documents that want to hurt: each fails its own job with a reason, and nobody else notices (spec 04 section 7)."""
import pathlib
import threading
import time
import zlib

import pytest

import documents
from documents import pdf, png
from test_print_jobs import JOBS, Shop
from wharf import SANITIZED, Server


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,stations")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def shop(server):
    return Shop(server.organization(), "Hostile")


def resident_kib(server):
    pids = [p for kind in ("web", "job") for p in server.workers(kind)]
    return sum(int(pathlib.Path(f"/proc/{p}/statm").read_text().split()[1]) * 4 for p in pids)


def nested(depth):
    """A page tree as deep as that."""
    kids = [f"<< /Type /Pages /Kids [{n + 3} 0 R] /Count 1 /Parent {n + 1} 0 R >>" for n in range(depth)]
    return documents.objects("<< /Type /Catalog /Pages 2 0 R >>", *kids, f"<< /Type /Page /Parent {depth + 1} 0 R /MediaBox [0 0 288 432] >>")


def object_bomb():
    """An object stream that grows to half a gigabyte."""
    c = zlib.compressobj(9)
    packed = c.compress(b"3 0 ") + b"".join(c.compress(b" " * (1 << 24)) for _ in range(32)) + c.flush()
    return documents.objects("<< /Type /Catalog /Pages 3 0 R >>", documents.stream(packed, "/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode"))


HOSTILE = {"bomb": documents.bomb, "object stream": object_bomb, "no end": lambda: pdf()[:-200], "10,000 pages": lambda: pdf(pages=10000),
           "a loop": documents.loop, "deep": lambda: nested(50000), "huge image": lambda: documents.wide_png(40000), "a gigabyte of page": lambda: pdf(10 ** 5, 10 ** 5),
           "numbers": lambda: pdf(node="/MediaBox [0 0 1e999 -1e999]", boxes=False).replace(b"/Count 1", b"/Count 99999999999999")}


@pytest.mark.parametrize("name", HOSTILE)
def test_each_fails_alone(server, shop, name):
    document, before, times, stop = HOSTILE[name](), resident_kib(server), [], threading.Event()
    workers = server.workers("web")

    def others():
        client = shop.client.__class__(server, shop.client.key)
        while not stop.is_set():
            begin = time.monotonic()
            client.get(f"{JOBS}?limit=1")
            times.append(time.monotonic() - begin)
            time.sleep(0.02)
    thread = threading.Thread(target=others)
    thread.start()
    a = shop.client.request("POST", JOBS, body={"location_id": shop.location["id"], "data": documents.b64(document), "configuration": {"paper_size": "label_4x6"}})
    stop.set()
    thread.join()
    print(f"{name}: {a.status} {a.message}; others {1000 * max(times):.0f} ms at most")
    assert a.status == 201 or (a.code == "print_job.document_invalid" and a.message), a
    assert name in ("no end", "deep", "numbers") or a.status == 400, a
    assert server.workers("web") == workers and (SANITIZED or resident_kib(server) - before < 64 * 1024 + 3 * len(document) // 1024)
    assert shop.make(png(203, 203, 203), configuration={"paper_size": "label_4x6"})


def test_a_gigabyte_that_is_only_said(shop):
    """Its length is wrong: what is there is read, and printed."""
    d = shop.make(documents.declared(1 << 30), configuration={"paper_size": "label_4x6"})
    assert d["document"]["pages"] == 1


def test_too_large(shop):
    shop.refuse(400, "file.too_large", document=pdf() + bytes(26 << 20))
