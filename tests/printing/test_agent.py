"""From the API to paper and back: a real server, wharf-station, and ippeveprinter (spec 04 section 10)."""
import json
import re
import socket
import subprocess
import threading

import pytest

import api_folders  # noqa: F401
from documents import b64, pdf
from rig import Agent, Ippeve, free_port, wait_until
from test_print_jobs import JOBS, box, ink, near
from wharf import BUILD, STATIONS, WAIT, Server, make_location

PROGRAM = BUILD / "station" / "wharf-station"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,stations")
    yield s
    s.stop()


class Shop:
    """An agent with its printers, at a location of its own."""

    def __init__(self, server, name, printers, **more):
        self.client = server.organization().client()
        self.location = make_location(self.client, name)
        self.printers = printers
        self.agent = Agent(PROGRAM, server, self.client, self.location, printers, name, **more)
        self.path = f"{STATIONS}/{self.agent.station_id}"

    def make(self, document=None, **body):
        return self.client.post(JOBS, {"location_id": self.location["id"], "data": b64(document or pdf()), **body}, expect=201).data

    def get(self, job):
        return self.client.get(f"{JOBS}/{job['id']}").data

    def over(self, job, seconds=WAIT):
        """The job, once it is neither queued nor processing."""
        return wait_until(lambda: (lambda d: d if d["status"] not in ("queued", "processing") else None)(self.get(job)), seconds)

    def end(self):
        self.agent.end()
        for p in self.printers.values():
            if isinstance(p, Ippeve):
                p.stop()


@pytest.fixture(scope="module")
def shop(server, bus):
    s = Shop(server, "Paper", {"Zebra": Ippeve(bus)})
    s.agent.start()
    yield s
    s.end()


def test_pairing_tells_what_printers_can(shop):
    st = shop.client.get(shop.path).data
    p, = st["printers"]
    assert {k for k, v in p["page_size"].items() if v} == {"letter", "label_8_5x11", "label_4x6", "label_6x4", "label_2x1"}
    assert p["model"] == "Test Label Printer" and p["configuration"]["dpi"] == "203" and p["configuration"]["color_print"] is False
    wait_until(lambda: shop.client.get(shop.path).data["status"] == "online")
    assert shop.client.get(shop.path).data["agent"]["name"] == "wharf-station"


def test_a_label_comes_out_once(shop):
    before = len(shop.printers["Zebra"].papers())
    job = shop.make(name="Label 1", configuration={"scaling": 0.5, "copies": 3})
    done = shop.over(job)
    assert done["status"] == "completed" and done["confidence"] == "device" and done["attempt"] == 1
    papers = shop.printers["Zebra"].papers()[before:]
    assert len(papers) == 1
    document, asked = papers[0]
    assert box(document) == [(288, 432)] and near(ink(document, 203)[0], [203 * v for v in (1.5, 2.5, 2.5, 3.5)])
    assert asked["IPP_COPIES"] == "3" and asked["IPP_PRINT_SCALING"] == "none" and asked["IPP_JOB_NAME"] == f"wharf:{job['id']} Label 1"
    assert asked["IPP_MEDIA_COL"] == "{media-size={x-dimension=10160 y-dimension=15240}}"


def test_raster(server, bus):
    s = Shop(server, "Raster", {"Dots": Ippeve(bus, formats="image/pwg-raster")})
    try:
        s.agent.start()
        assert s.over(s.make(configuration={"scaling": 2}))["status"] == "completed"
        (raster, _), = s.printers["Dots"].papers()
        pages = pwg_pages(raster)
        assert [(w, h, bits) for w, h, bits, _ in pages] == [(812, 1218, 8)]
        w, h, _, lines = pages[0]
        dark = [y for y, line in enumerate(lines) if min(line) < 128]
        columns = [x for x in range(w) if lines[h // 2][x] < 128]
        assert near((columns[0], dark[0], columns[-1] + 1, dark[-1] + 1), (0, 203, 812, 1015))
    finally:
        s.end()


def pwg_pages(data):
    """Pages of a PWG raster: width, height, bits of a dot, lines."""
    assert data[:4] == b"RaS2"
    at, pages = 4, []
    while at < len(data):
        def number(offset):
            return int.from_bytes(data[at + offset:at + offset + 4], "big")
        w, h, bits = number(372), number(376), number(388)
        size, at, lines = bits // 8, at + 1796, []
        while len(lines) < h:
            times, line = data[at] + 1, b""
            at += 1
            while len(line) < w * size:
                n = data[at]
                at += 1
                if n < 128:
                    line += data[at:at + size] * (n + 1)
                    at += size
                else:
                    line += data[at:at + size * (257 - n)]
                    at += size * (257 - n)
            lines += [line] * times
        pages.append((w, h, bits, lines))
    return pages


def test_colour_raster(server, bus):
    s = Shop(server, "Colours", {"Dots": Ippeve(bus, formats="image/pwg-raster", color=True)})
    try:
        s.agent.start()
        red = pdf(content=b"1 0 0 rg 72 144 144 144 re f")
        for wish, bits, dot in ((True, 24, b"\xff\0\0"), (False, 24, None)):
            before = len(s.printers["Dots"].papers())
            assert s.over(s.make(red, configuration={"color_print": wish}))["status"] == "completed"
            raster, asked = s.printers["Dots"].papers()[before]
            w, h, depth, lines = pwg_pages(raster)[0]
            middle = lines[h // 2][w // 2 * 3:w // 2 * 3 + 3]
            assert (w, h, depth) == (812, 1218, bits) and asked["IPP_PRINT_COLOR_MODE"] == ("color" if wish else "monochrome")
            assert middle == dot if dot else len(set(middle)) == 1 and middle[0] < 255  # grey
            assert lines[5][:3] == b"\xff\xff\xff"
    finally:
        s.end()


def test_what_a_job_asks_of_the_printer(server, bus):
    s = Shop(server, "Asks", {"P": Ippeve(bus, more="ATTR enum orientation-requested-supported 3,4\nATTR resolution printer-resolution-supported 203dpi,300dpi\n"
                                          "ATTR keyword multiple-document-handling-supported separate-documents-uncollated-copies,separate-documents-collated-copies\n")})
    try:
        s.agent.start()
        assert s.over(s.make(configuration={"copies": 2, "collate": False, "orientation": "landscape"}))["status"] == "completed"
        (document, asked), = s.printers["P"].papers()
        assert asked["IPP_ORIENTATION_REQUESTED"] == "portrait" and asked["IPP_PRINTER_RESOLUTION"] == "203dpi" and asked["IPP_COPIES"] == "2", asked
        assert asked["IPP_MULTIPLE_DOCUMENT_HANDLING"] == "separate-documents-uncollated-copies" and box(document) == [(288, 432)]
    finally:
        s.end()


@pytest.mark.parametrize("formats", ["application/pdf", "image/pwg-raster"])
def test_more_copies_than_the_printer_makes(server, bus, formats):
    s = Shop(server, "Copies " + formats[-6:], {"P": Ippeve(bus, formats=formats, copies=2)})
    try:
        s.agent.start()
        assert s.over(s.make(pdf(pages=2), configuration={"copies": 3}))["status"] == "completed"
        (document, asked), = s.printers["P"].papers()
        assert "IPP_COPIES" not in asked
        assert len(box(document) if formats == "application/pdf" else pwg_pages(document)) == 6
    finally:
        s.end()


@pytest.mark.parametrize("behave, status, more", [
    ("echo 'ERROR: out of toner' >&2; exit 1", "failed", {"reason_code": "printer_error"}),
    (r"printf 'ERROR: caf\351 %s\n' " + "é" * 90 + " >&2; exit 1", "failed", {"reason_code": "printer_error"}),  # no UTF-8, and more than is kept of it
    ("echo 'ERROR: éé' >&2; exit 1", "failed", {"reason": "the printer gave the job up"}),  # no reason is so short
    ("sleep 0.3", "completed", {"confidence": "device"}),
])
def test_how_it_ends(shop, behave, status, more):
    printer = shop.printers["Zebra"]
    printer.behave(behave)
    done = shop.over(shop.make())
    printer.behave("")
    assert done["status"] == status and {k: done[k] for k in more} == more


def test_cancel_while_printing(shop):
    printer = shop.printers["Zebra"]
    printer.behave("sleep 3")
    job = shop.make()
    wait_until(lambda: shop.get(job)["stage"] == "printing")
    shop.client.post(f"{JOBS}/{job['id']}", {"status": "canceled"}, expect=200)
    done = shop.over(job)
    printer.behave("")
    assert done["status"] == "canceled" and done["reason_code"] is None


def test_blocked(shop):
    printer = shop.printers["Zebra"]
    printer.behave("echo 'STATE: +media-empty-error' >&2; sleep 14; echo 'STATE: -media-empty-error' >&2")
    job = shop.make()
    wait_until(lambda: "media-empty" in shop.client.get(shop.path).data["printers"][0]["state_reasons"])
    printer.behave("")
    assert shop.over(job)["status"] == "completed"


def test_raw_by_socket(server, bus):
    port, got = free_port(), []

    def serve():
        with socket.create_server(("127.0.0.1", port)) as listener:
            for _ in range(2):
                c, _ = listener.accept()
                with c:
                    got.append(b"".join(iter(lambda: c.recv(4096), b"")))
    threading.Thread(target=serve, daemon=True).start()
    tray = {"uri": f"socket://127.0.0.1:{port}", "sizes": ["label_4x6"], "languages": ["zpl"]}
    wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)  # the first of the two
    s = Shop(server, "Raw", {"Z": tray, "Sure": {**tray, "assume_completed": True, "sizes": ["a4"]}})
    try:
        s.agent.start()
        raw = {"raw": True, "data": "data:,%5EXA%5EFDHi%5EFS%5EXZ"}
        done = s.over(s.make(**raw, configuration={"paper_size": "label_4x6"}))
        assert done["status"] == "unreported" and got[1] == b"~HS\r\n^XA^FDHi^FS^XZ"  # one that does not say how it is
    finally:
        s.end()


class Zebra:
    """A printer of ZPL that says how it is; `state` is what it says, `got` all that is no question."""

    def __init__(self, **state):
        self.state, self.got, self.asked = {"paper": 0, "pause": 0, "head": 0, "ribbon": 0, "formats": 0, "left": 0, **state}, b"", 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"socket://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(c,), daemon=True).start()

    def talk(self, c):
        with c:
            for data in iter(lambda: c.recv(4096), b""):
                if b"~HS" in data:
                    self.asked += data.count(b"~HS")
                    data, s = data.replace(b"~HS\r\n", b""), self.state
                    c.sendall((f"\x02030,{s['paper']},{s['pause']},1245,{s['formats']:03},0,0,0,000,0,0,0\x03\r\n"
                               f"\x02001,0,{s['head']},{s['ribbon']},1,2,6,0,{s['left']:08},1,000\x03\r\n\x021234,0\x03\r\n").encode())
                self.got += data

    def tray(self, **more):
        return {"uri": self.uri, "sizes": ["label_4x6"], "languages": ["zpl"], **more}


ZPL = {"raw": True, "data": "data:,%5EXA%5EFDHi%5EFS%5EXZ", "configuration": {"paper_size": "label_4x6"}}


def test_zebra(server, bus):
    z = Zebra(paper=1)
    s = Shop(server, "Zebra", {"Z": z.tray(assume_completed=True)})
    try:
        s.agent.start()
        job = s.make(**ZPL)
        wait_until(lambda: s.client.get(s.path).data["printers"][0]["state_reasons"] == ["media-empty"])
        assert z.got == b"" and s.get(job)["stage"] == "claimed" and s.client.get(s.path).data["printers"][0]["status"] == "error"
        z.state.update(paper=0, left=1)
        wait_until(lambda: z.got)
        wait_until(lambda: s.get(job)["stage"] == "printing")
        z.state.update(head=1, ribbon=1)
        blocked = wait_until(lambda: (lambda d: d if d["stage"] == "blocked" else None)(s.get(job)))
        assert blocked["printer_state_reasons"] == ["marker-supply-empty", "cover-open"]
        z.state.update(head=0, ribbon=0, left=0)
        done = s.over(job)
        assert (done["status"], done["confidence"]) == ("completed", "assumed") and z.got == b"^XA^FDHi^FS^XZ"
        z.state.update(pause=1)  # what was not sent is canceled at once
        job = s.make(**ZPL)
        asked = z.asked
        wait_until(lambda: z.asked > asked)
        s.client.post(f"{JOBS}/{job['id']}", {"status": "canceled"}, expect=200)
        assert s.over(job)["status"] == "canceled" and z.got == b"^XA^FDHi^FS^XZ"
    finally:
        s.end()
        z.listener.close()


def test_dry_run_sends_nothing(server, bus):
    s = Shop(server, "Dry", {"P": Ippeve(bus)})
    try:
        job = s.make()
        s.agent.start("--once", "--dry-run")
        wait_until(lambda: "would be sent now" in s.agent.said())
        assert s.agent.command("--dry-run", "pair", "--refresh").stdout.count("POST /v1/cloud-printing/stations/") == 1
        s.agent.stop()
        assert s.printers["P"].papers() == [] and s.get(job)["status"] in ("queued", "failed")
    finally:
        s.end()


def test_commands(shop):
    assert "label_4x6" in shop.agent.command("printers").stdout
    wait_until(lambda: "is online" in shop.agent.command("status").stdout)
    before = len(shop.printers["Zebra"].papers())
    said = shop.agent.command("test", "Zebra").stdout
    assert re.match(r"Test page prnt_job_\w+ is queued", said)
    wait_until(lambda: len(shop.printers["Zebra"].papers()) == before + 1)
    assert shop.agent.command("test", "Nobody").returncode == 1
    two = subprocess.run([PROGRAM, "--config", shop.agent.file, "run"], capture_output=True, text=True, timeout=WAIT)
    assert two.returncode == 1 and "another agent uses this spool folder" in two.stderr
    assert subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).returncode == 0
    assert (shop.agent.folder / "config.json").stat().st_mode & 0o777 == 0o600


def test_a_second_computer_takes_over(server, bus):
    printer = Ippeve(bus)
    s = Shop(server, "Takeover", {"P": printer})
    try:
        s.agent.start()
        wait_until(lambda: "connected" in s.agent.said())
        other = json.loads(s.agent.file.read_text())
        other["spool"] = str(s.agent.folder / "other")
        (s.agent.folder / "other.json").write_text(json.dumps(other))
        p = subprocess.Popen([PROGRAM, "--config", s.agent.folder / "other.json", "run"], stdout=subprocess.DEVNULL)
        wait_until(lambda: s.agent.process.poll() is not None)
        assert "took this station over" in s.agent.said() and s.over(s.make())["status"] == "completed" and len(printer.papers()) == 1
        p.terminate()
        assert p.wait(WAIT) == 0
    finally:
        s.end()
