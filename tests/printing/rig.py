"""A print shop in one folder: D-Bus, avahi, ippeveprinter and wharf-station, each private to the test process.

ippeveprinter announces itself through avahi whatever it is told, and avahi wants a D-Bus: both are started here, on addresses of their own. Where
mount namespaces can be had, avahi's run folder is private too, so that several test processes do not meet.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from wharf import WAIT

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth><policy context="default"><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"""

# What ippeveprinter runs for each job: the document goes to the paper tray, with what was asked for; TRAY/behave says how it ends.
SCRIPT = """#!/bin/sh
tray=%s
n=$(date +%%s%%N)
env | grep '^IPP_' > "$tray/$n.env"
cp "$1" "$tray/$n.part"
[ -f "$tray/behave" ] && . "$tray/behave"
mv "$tray/$n.part" "$tray/$n.doc"
exit 0
"""


def free_port():
    """One that no outgoing connection is given: who ends and comes back at it finds it free."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) != 0:
                return port


def wait_until(what, seconds=WAIT, every=0.02):
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < end, "it did not come"
        time.sleep(every)


class Bus:
    """D-Bus and avahi."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-bus-"))
        self.address = f"unix:path={self.folder}/bus"
        (self.folder / "bus.conf").write_text(BUS % (self.folder / "bus"))
        self.env = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self.address}
        self.log = open(self.folder / "log", "wb")
        self.processes = [self.start("dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile")]
        wait_until(lambda: (self.folder / "bus").exists())
        avahi = "exec avahi-daemon --no-drop-root --no-chroot --no-rlimits -f /dev/null"
        own = subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0
        private = ["unshare", "--mount", "sh", "-c", f"mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && {avahi}"]
        self.processes.append(self.start(*(private if own else ["sh", "-c", avahi])))
        wait_until(lambda: b"Server startup complete" in (self.folder / "log").read_bytes())

    def start(self, *args):
        return subprocess.Popen(args, env=self.env, stdout=self.log, stderr=subprocess.STDOUT)

    def stop(self):
        for p in reversed(self.processes):
            p.terminate()
            p.wait(WAIT)
        shutil.rmtree(self.folder, ignore_errors=True)


class Ippeve:
    """A printer. papers(): what came out, in order, as (document, attributes)."""

    def __init__(self, bus, formats="application/pdf,image/pwg-raster", sizes=((4, 6), (6, 4), (8.5, 11), (2, 1)), dpi=203, color=False, copies=99, more=""):
        self.bus, self.formats, self.folder = bus, formats, pathlib.Path(tempfile.mkdtemp(prefix="wharf-printer-"))
        self.tray, self.port, self.process = self.folder / "tray", free_port(), None
        self.tray.mkdir()
        (self.folder / "spool").mkdir()
        (self.folder / "print").write_text(SCRIPT % self.tray)
        (self.folder / "print").chmod(0o755)
        size = "MEMBER integer x-dimension %d\nMEMBER integer y-dimension %d\n"
        dimensions = [size % (round(w * 2540), round(h * 2540)) for w, h in sizes]
        col = ",".join("{\n%s}" % d for d in dimensions)
        ready = ",".join("{\nMEMBER collection media-size {\n%s}\n}" % d for d in dimensions)
        (self.folder / "attributes").write_text(f"""
ATTR enum operations-supported 2,4,5,6,8,9,10,11,59,60
ATTR collection media-size-supported {col}
ATTR collection media-col-database {ready}
ATTR keyword media-supported {",".join(f"oe_{w:g}x{h:g}_{w:g}x{h:g}in" for w, h in sizes)}
ATTR resolution pwg-raster-document-resolution-supported {dpi}dpi
ATTR keyword pwg-raster-document-type-supported {"srgb_8,sgray_8" if color else "black_1,sgray_8"}
ATTR resolution printer-resolution-supported {dpi}dpi
ATTR resolution printer-resolution-default {dpi}dpi
ATTR rangeOfInteger copies-supported 1-{copies}
ATTR mimeMediaType document-format-supported {formats}
ATTR boolean color-supported {"true" if color else "false"}
ATTR text printer-make-and-model "Test Label Printer"
{more}""")
        self.start()

    @property
    def uri(self):
        return f"ipp://127.0.0.1:{self.port}/ipp/print"

    def start(self):
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            ["ippeveprinter", "-p", str(self.port), "-c", str(self.folder / "print"), "-d", str(self.folder / "spool"), "-k", "-r", "off",
             "-a", str(self.folder / "attributes"), f"Test{self.port}"],
            env=self.bus.env, stdout=self.log, stderr=subprocess.STDOUT)
        wait_until(self.answers)

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def behave(self, script):
        (self.tray / "behave").write_text(script)

    def papers(self):
        done = sorted(self.tray.glob("*.doc"), key=lambda f: int(f.stem))
        return [(f.read_bytes(), dict(line.split("=", 1) for line in f.with_suffix(".env").read_text().splitlines() if "=" in line)) for f in done]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Agent:
    """wharf-station of a server's organization, with printers by name."""

    def __init__(self, program, server, client, location, printers, name="Agent", **more):
        self.program, self.client = program, client
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-station-"))
        self.file = self.folder / "config.json"
        self.config = {"server": server.base, "key": client.key, "location_id": location["id"], "name": name, "spool": str(self.folder / "spool"),
                       "printers": {n: p if isinstance(p, dict) else {"uri": p.uri} for n, p in printers.items()}, **more}
        self.file.write_text(json.dumps(self.config))
        self.process = None
        paired = self.command("pair")
        assert paired.returncode == 0, paired.stdout + paired.stderr
        self.station_id = json.loads(self.file.read_text())["station_id"]

    def command(self, *args):
        return subprocess.run([self.program, "--config", self.file, *args], capture_output=True, text=True, timeout=WAIT)

    def start(self, *args, die=None, stop=None):
        self.out = open(self.folder / "out", "ab")
        self.process = subprocess.Popen([self.program, "--config", self.file, "run", *args], stdout=self.out, stderr=subprocess.STDOUT,
                                        env={**os.environ, **({"WHARF_STATION_DIE": die} if die else {}),
                                             **({"WHARF_STATION_STOP": stop} if stop else {})})
        return self

    def said(self):
        return (self.folder / "out").read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def end(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
