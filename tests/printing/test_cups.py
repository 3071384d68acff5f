"""A real cupsd between the agent and the printer: server, wharf-station, a queue with a PPD, and a backend that puts what arrives into a tray
(spec 04 section 10: queues of CUPS). The cupsd is private to the test: its folders, its port, no browsing, no D-Bus."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from documents import pdf
from rig import free_port, wait_until
from test_agent import Shop, box, ink, near
from wharf import WAIT, Server

FILES = """ServerRoot {0}
ServerBin {0}/bin
DataDir /usr/share/cups
StateDir {0}/run
CacheDir {0}/cache
RequestRoot {0}/spool
TempDir {0}/spool/tmp
DocumentRoot {0}/www
AccessLog {0}/log/access
ErrorLog {0}/log/error
PageLog {0}/log/page
SystemGroup root
"""
CONF = """Listen 127.0.0.1:{1}
LogLevel debug
Browsing Off
WebInterface No
DefaultAuthType None
<Location />
Order allow,deny
Allow all
</Location>
<Policy default>
JobPrivateAccess all
JobPrivateValues none
SubscriptionPrivateAccess all
SubscriptionPrivateValues none
<Limit All>
Order deny,allow
</Limit>
</Policy>
"""
# job, user, title, copies, options, [file]
BACKEND = """#!/bin/sh
[ $# = 0 ] && {{ echo 'direct tray "Unknown" "Tray"'; exit 0; }}
[ -f {0}/tray/behave ] && . {0}/tray/behave
n=$(date +%s%N)
printf '%s\\n' "$3" "$4" "$5" > {0}/tray/$n.asked
cat ${{6:+"$6"}} > {0}/tray/$n.part
mv {0}/tray/$n.part {0}/tray/$n.doc
"""
PPD = """*PPD-Adobe: "4.3"
*FormatVersion: "4.3"
*FileVersion: "1.0"
*LanguageVersion: English
*LanguageEncoding: ISOLatin1
*PCFileName: "TRAY.PPD"
*Manufacturer: "Test"
*Product: "(Tray)"
*ModelName: "Test Tray"
*ShortNickName: "Test Tray"
*NickName: "Test Tray"
*PSVersion: "(3010.000) 0"
*LanguageLevel: "3"
*ColorDevice: False
*DefaultColorSpace: Gray
*FileSystem: False
*cupsFilter2: "application/pdf application/pdf 0 -"
*OpenUI *PageSize/Media Size: PickOne
*DefaultPageSize: w288h432
*PageSize w288h432/4x6: ""
*PageSize Letter/Letter: ""
*CloseUI: *PageSize
*OpenUI *PageRegion/Media Size: PickOne
*DefaultPageRegion: w288h432
*PageRegion w288h432/4x6: ""
*PageRegion Letter/Letter: ""
*CloseUI: *PageRegion
*DefaultImageableArea: w288h432
*ImageableArea w288h432: "0 0 288 432"
*ImageableArea Letter: "0 0 612 792"
*DefaultPaperDimension: w288h432
*PaperDimension w288h432: "288 432"
*PaperDimension Letter: "612 792"
*DefaultResolution: 203dpi
"""


class Cups:
    """A cupsd with one queue, `Tray`."""

    def __init__(self):
        self.folder, self.port = pathlib.Path(tempfile.mkdtemp(prefix="wharf-cups-")), free_port()
        self.folder.chmod(0o755)
        for name in ("bin/backend", "bin/filter", "run", "cache", "spool/tmp", "www", "log", "tray", "ppd"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "bin" / "daemon").symlink_to("/usr/lib/cups/daemon")  # cups-exec starts backends
        (self.folder / "files.conf").write_text(FILES.format(self.folder))
        (self.folder / "cupsd.conf").write_text(CONF.format(self.folder, self.port))
        backend = self.folder / "bin" / "backend" / "tray"
        backend.write_text(BACKEND.format(self.folder))
        backend.chmod(0o700)  # of root: cupsd runs it as such
        (self.folder / "tray.ppd").write_text(PPD)
        self.log = open(self.folder / "out", "wb")  # what cupsd says before it has a log
        self.process = subprocess.Popen(["cupsd", "-f", "-c", self.folder / "cupsd.conf", "-s", self.folder / "files.conf"], stdout=self.log, stderr=subprocess.STDOUT)
        wait_until(lambda: self.ask("lpstat", "-r").stdout.startswith("scheduler is running"))
        made = self.ask("lpadmin", "-p", "Tray", "-E", "-v", "tray:/", "-P", self.folder / "tray.ppd")
        assert made.returncode == 0, made.stderr + (self.folder / "log" / "error").read_text()[-3000:]

    @property
    def env(self):
        return {**os.environ, "CUPS_SERVER": f"127.0.0.1:{self.port}"}

    def ask(self, *args):
        return subprocess.run([args[0], "-h", f"127.0.0.1:{self.port}", *args[1:]], capture_output=True, text=True, timeout=WAIT)

    def behave(self, script):
        (self.folder / "tray" / "behave").write_text(script)

    def papers(self):
        return [(f.read_bytes(), f.with_suffix(".asked").read_text().splitlines()) for f in sorted((self.folder / "tray").glob("*.doc"), key=lambda f: int(f.stem))]

    def stop(self):
        self.process.terminate()
        self.process.wait(WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)


pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("cupsd"), reason="cupsd wants to be root")


@pytest.fixture(scope="module")
def cups():
    c = Cups()
    yield c
    c.stop()


@pytest.fixture(scope="module")
def shop(cups):
    server = Server("--modules", "org,locations,stations")
    os.environ["CUPS_SERVER"] = f"127.0.0.1:{cups.port}"
    s = Shop(server, "Queue", {})
    s.agent.start()
    yield s
    s.end()
    del os.environ["CUPS_SERVER"]
    server.stop()


def test_the_queue_is_found(shop):
    p, = shop.client.get(shop.path).data["printers"]
    assert p["name"] == "Tray" and {k for k, v in p["page_size"].items() if v} == {"letter", "label_8_5x11", "label_4x6"} and p["status"] == "online"


def test_a_label_goes_through_the_queue(shop, cups):
    job = shop.make(name="Label 1", configuration={"scaling": 0.5})
    done = shop.over(job)
    assert (done["status"], done["confidence"]) == ("completed", "spooler"), done  # the bytes have left this computer, no more is known
    (document, (title, copies, options)), = cups.papers()
    assert title == f"wharf:{job['id']} Label 1" and copies == "1" and box(document) == [(288, 432)]
    assert near(ink(document, 203)[0], [203 * v for v in (1.5, 2.5, 2.5, 3.5)])


def test_copies_and_sizes(shop, cups):
    before = len(cups.papers())
    assert shop.over(shop.make(pdf(8.5, 11), configuration={"copies": 2}))["status"] == "completed"
    (document, (_, copies, options)), = cups.papers()[before:]
    assert box(document) == [(612, 792)] and (copies == "2" or len(box(document)) == 2), (copies, options)


def test_a_backend_that_fails(shop, cups):
    before = len(cups.papers())
    cups.behave("echo 'ERROR: the tray is on fire' >&2; exit 5")  # CUPS_BACKEND_CANCEL: this job is over
    done = shop.over(shop.make())
    cups.behave("")
    assert done["status"] in ("failed", "canceled") and len(cups.papers()) == before, done
    assert done["reason_code"] in ("printer_error", "canceled_at_printer"), done
    assert shop.over(shop.make())["status"] == "completed" and len(cups.papers()) == before + 1


def test_custom_sizes_tell_the_printer_no_medium(shop, cups):
    before = len(cups.papers())
    station = shop.client.get(shop.path).data
    job = shop.make(configuration={"paper_size": "page_size_custom"}, custom_dimensions={"width": 3, "height": 1.5}, print_station_id=station["id"], printer_name="Tray")
    assert shop.over(job)["status"] == "completed"
    (document, (_, _, options)), = cups.papers()[before:]
    assert box(document) == [(216, 108)] and "media-col" not in options
