"""Chromium without a window, driven over its pipe: pages are loaded, keys pressed, scripts asked."""
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

WAIT = 60  # seconds for what must come on a busy machine


class Browser:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-browser-"))
        theirs, self.commands = os.pipe()
        self.answers, told = os.pipe()

        def pipes():  # Chromium reads 3 and writes 4; numbers that are free until here
            for fd, number in ((os.dup(theirs), 3), (os.dup(told), 4)):
                os.dup2(fd, number)

        self.log = open(self.folder / "log", "wb")
        # Tests run as root in containers, where Chromium has no sandbox of its own; it sees no page but ours.
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-ipc-flooding-protection", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=self.log, stderr=self.log)
        os.close(theirs)
        os.close(told)
        self.read, self.n, self.events, self.session = b"", 0, [], None
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def next_message(self):
        end = time.monotonic() + WAIT
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            assert ready and self.process.poll() is None, (self.folder / "log").read_text(errors="replace")
            self.read += os.read(self.answers, 1 << 20)
        line, self.read = self.read.split(b"\0", 1)
        return json.loads(line)

    def ask(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params} | ({"sessionId": self.session} if self.session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        while True:
            m = self.next_message()
            if m.get("id") == self.n:
                assert "error" not in m, m
                return m["result"]
            self.events.append(m)

    def run(self, script):
        """The value of an expression, or of a promise, in the page."""
        r = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in r, r
        return r["result"].get("value")

    def until(self, script):
        """Waits until the expression is true; its value."""
        end = time.monotonic() + WAIT
        while True:
            value = self.run(script)
            if value:
                return value
            assert time.monotonic() < end, (script, self.run("document.body.innerText")[:2000])
            time.sleep(0.02)

    def open(self, address):
        """A page in a tab that was elsewhere before, so that a new part behind # is a new page."""
        self.ask("Page.navigate", url="about:blank")
        self.until("location.href === 'about:blank'")
        self.events.clear()
        self.ask("Page.navigate", url=address)
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'")

    def size(self, width, height, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def press(self, key, text=None):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def write(self, text):
        self.ask("Input.insertText", text=text)

    def complaints(self):
        """What the browser said against the page since it was opened: errors of scripts, refusals of the policy."""
        self.run("new Promise((r) => setTimeout(r))")
        said = [m["params"] for m in self.events if m.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        return [p for p in said if "exceptionDetails" in p or p["entry"]["level"] == "error"]

    def asked(self):
        """The addresses that the page asked for."""
        return [m["params"]["request"]["url"] for m in self.events if m.get("method") == "Network.requestWillBeSent"]

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
