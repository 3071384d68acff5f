"""The service wharf.image as a plugin meets it (tests/plugins/labelreader): labels that the test draws, read by a real cell of a real server (spec 06 section 7)."""
import base64
import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

from wharf import BUILD, ROOT, Server

sys.path.insert(0, str(ROOT / "tests/cell"))
import labels  # noqa: E402

CODES, FIGURES, TEXT = 1, 2, 4
GOOD, NO_IMAGE, SIZE, DAMAGED, TIMEOUT, DIED, LANGUAGE = range(7)
MODULES = f"org,{BUILD}/tests/plugins/labelreader.so"
LINES = labels.SENDER + ["SHIP TO:"] + labels.RECIPIENT + ["TRACKING # " + labels.TRACKING] + labels.REST


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", MODULES, "--set", "rate_limit.key=0")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def client(server):
    return server.organization().client()


def read(client, data, wants=CODES | TEXT, **more):
    """A machine that is busy may leave no time for a step or for a process, which the answer says: then once more."""
    body = {"image": base64.b64encode(data).decode(), "wants": wants, **more}
    for _ in range(20):
        answer = client.post("/v1/labels/read", body).raw
        assert answer.status_code in (200, 503), answer.text
        said = answer.json()["data"]
        if said and (said["verdict"] not in (GOOD, TIMEOUT) or said.get("whole")):
            return said
    raise AssertionError(f"never whole: {answer.text[:500]}")


def values(said):
    return sorted((c["symbology"], c["value"]) for c in said["codes"])


def test_a_label(client):
    page = labels.label(labels.code("qr", "https://example.test/t/7", 3), labels.code("datamatrix", "SN-0042/7", 4))
    said = read(client, labels.bytes_of(page), CODES | FIGURES | TEXT)
    assert said["verdict"] == GOOD and said["format"] == "png" and (said["width"], said["height"], said["turn"]) == (812, 1218, 0)
    assert values(said) == [("code128", labels.TRACKING), ("datamatrix", "SN-0042/7"), ("qr", "https://example.test/t/7")]
    assert said["lines"] == LINES and said["steps"] >= 6 and said["rules"] == 3 and said["text_lines"] > 8
    word = next(w for w in said["words"] if w["text"] == "JANE")
    x, y, w, h = word["box"]
    assert word["confidence"] > 80 and abs(x - 70) < 10 and abs(y - 211) < 10 and 70 < w < 110 and 18 < h < 34
    x, y, w, h = next(c["box"] for c in said["codes"] if c["symbology"] == "code128")
    assert abs(x - 62) < 6 and abs(y - 412) < 8 and abs(w - 370) < 12 and abs(h - 196) < 14


def test_barcodes_alone(client):
    said = read(client, labels.bytes_of(labels.label()), CODES)
    assert values(said) == [("code128", labels.TRACKING)] and said["words"] == [] and said["lines"] == []


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned(client, degrees):
    said = read(client, labels.bytes_of(labels.turned(labels.label(), degrees)))
    assert said["turn"] == 360 - degrees and (said["width"], said["height"]) == (812, 1218)
    assert values(said) == [("code128", labels.TRACKING)] and said["lines"] == LINES


def test_a_photo(client):
    picture = labels.photo(labels.label(labels.code("pdf417", "[)>\x1e01\x1d0298028\x1d840\x1d", 2)))
    said = read(client, labels.bytes_of(picture, "JPEG", quality=85))
    assert values(said) == [("code128", labels.TRACKING), ("pdf417", "[)>\x1e01\x1d0298028\x1d840\x1d")] and said["lines"] == LINES


def test_what_is_no_good(client):
    small, large = labels.label().resize((49, 200)), labels.Image.new("1", (8000, 5001), 1)
    cut = labels.bytes_of(labels.label(), "JPEG")
    for data, verdict, reason in ((b"no picture at all", NO_IMAGE, "kind"), (labels.bytes_of(small), SIZE, "50 by 50"), (labels.bytes_of(large), SIZE, "40 million"),
                                  (cut[:len(cut) // 2], DAMAGED, "cut off"), (labels.bytes_of(labels.label())[:9000], DAMAGED, "decoded")):
        said = read(client, data)
        assert (said["verdict"], reason in said["reason"]) == (verdict, True), said
    said = read(client, labels.bytes_of(labels.label()), languages="xxx")
    assert said["verdict"] == LANGUAGE, said
    assert read(client, labels.bytes_of(labels.label()), languages="e" * 100)["verdict"] == LANGUAGE
    assert read(client, labels.bytes_of(labels.label()), CODES)["verdict"] == GOOD


def test_a_budget_that_is_short(client):
    said = client.post("/v1/labels/read", {"image": base64.b64encode(labels.bytes_of(labels.label())).decode(), "wants": CODES | TEXT, "budget_ms": 1}, expect=200).data
    assert said["verdict"] == GOOD and not said["whole"] and said["stopped"] and said["words"] == []


def cells(server):
    """Processes of the kind image below the server's."""
    out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in out.splitlines()]
    known = {server.process.pid}
    for _ in range(6):
        known |= {int(pid) for pid, parent, _ in lines if int(parent) in known}
    return [int(pid) for pid, _, args in lines if int(pid) in known and "wharf-cell-image" in args.split()[0]]


def stop_cells(server, signal_, pids=None):
    """Sends the signal to these cells, or to all that there are, and returns them."""
    pids = cells(server) if pids is None else pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_)
    return pids


def begin(client, data):
    """A picture that is being read: the thread, and the list that gets its answer."""
    said = []
    body = {"image": base64.b64encode(data).decode(), "wants": CODES}
    at_work = threading.Thread(target=lambda: said.append(client.post("/v1/labels/read", body).raw.json()))
    at_work.start()
    return at_work, said


def test_a_cell_that_hangs(server, client):
    """It is killed after its time, and the next picture is read."""
    data = labels.bytes_of(labels.label())
    for _ in range(5):  # a call may get to a worker that has no cell yet
        read(client, data, CODES)
        stop_cells(server, signal.SIGSTOP)
        at_work, said = begin(client, data)
        at_work.join()
        if said[0]["data"] and said[0]["data"]["verdict"] != GOOD:
            break
    assert said[0]["data"]["verdict"] == TIMEOUT and "time" in said[0]["data"]["reason"], said
    stop_cells(server, signal.SIGKILL)
    assert values(read(client, data, CODES)) == [("code128", labels.TRACKING)]


def test_a_cell_that_is_killed_once(server, client):
    """The picture is read by another one."""
    data = labels.bytes_of(labels.label())
    for _ in range(5):  # a machine that is busy may have no other one in time
        read(client, data, CODES)
        stopped = stop_cells(server, signal.SIGSTOP)
        at_work, said = begin(client, data)
        stop_cells(server, signal.SIGKILL, stopped)
        at_work.join()
        if said[0]["status"] != 503:
            break
    assert said[0]["data"]["verdict"] == GOOD and values(said[0]["data"]) == [("code128", labels.TRACKING)], said


def test_cells_that_are_killed_always(server, client):
    data = labels.bytes_of(labels.photo(labels.label()), "JPEG")
    at_work, said = begin(client, data)
    while at_work.is_alive():
        stop_cells(server, signal.SIGKILL)
    assert said[0]["status"] == 503 or said[0]["data"]["verdict"] in (DIED, GOOD), said
    assert values(read(client, data, CODES)) == [("code128", labels.TRACKING)]


def test_without_the_cell(tmp_path):
    s = Server("--modules", MODULES, "--set", f"cell.dir={tmp_path}")
    try:
        r = s.organization().client().post("/v1/labels/read", {"image": base64.b64encode(labels.bytes_of(labels.label())).decode(), "wants": CODES}, expect=503)
        assert r.raw.json()["code"] == "module.unavailable", r.raw.text
    finally:
        s.stop()
