"""The npm package eventsource follows the live stream across restarts and reloads of the server: every event once, in order."""
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))

from wharf import BUILD, WAIT, Client, Server  # noqa: E402


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def begin(folder, port):
    return Server("--modules", f"org,events,{BUILD}/tests/plugins/stepbench.so", "--listen", f"127.0.0.1:{port}", folder=folder)


class Follower:
    def __init__(self, server, key, n):
        self.lines = []
        self.process = subprocess.Popen(["node", HERE / "follow.js", f"{server.base}/v1/events/stream?from=0&types=*", key, str(n)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.thread = threading.Thread(target=lambda: self.lines.extend(line.strip() for line in self.process.stdout))
        self.thread.start()

    def reach(self, n):
        """Waits until event n was read, so that what ends a connection next meets one that is open."""
        until = time.monotonic() + WAIT
        while not any(line.startswith(f"{n} ") for line in self.lines):
            assert time.monotonic() < until and self.process.poll() is None, self.lines
            time.sleep(0.05)

    def end(self):
        assert self.process.wait(WAIT) == 0, self.lines
        self.thread.join()
        return [line for line in self.lines if not line.startswith("#")]


def write(client, n):
    for i in range(n):
        client.post("/v1/things", {"name": str(i)}, expect=201)


def test_across_restarts():
    with tempfile.TemporaryDirectory() as folder:
        folder, port = pathlib.Path(folder), free_port()
        server = begin(folder, port)
        try:
            key = server.organization().key()
            follower = None
            for turn in range(3):
                client = Client(server, key)
                write(client, 20)
                follower = follower or Follower(server, key, 90)
                write(client, 10)
                follower.reach(30 * (turn + 1))
                if turn == 1:
                    server.command("reload")
                elif turn == 0:
                    server.stop()
                    server = begin(folder, port)
            got = follower.end()
        finally:
            server.stop()
    assert got == [f"{n} {n} stepbench.thing.created" for n in range(1, 91)]
    assert sum(line == "# closing" for line in follower.lines) >= 2
