"""The npm package tus-js-client brings large files in pieces: through restarts and kills of the server, and from a second process."""
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest
import requests

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))

from wharf import WAIT, Client, Server  # noqa: E402

MIB = 1 << 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Uploader:
    """A process of upload.js, whose lines are read as they come."""

    def __init__(self, server, key, file, metadata, url=""):
        self.lines = []
        self.process = subprocess.Popen(["node", HERE / "upload.js", f"{server.base}/v1/documents/uploads", key, file, json.dumps(metadata), url],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def said(self, word):
        return [line.split(" ", 1)[1] for line in self.lines if line.startswith(word + " ")]

    def reach(self, n):
        until = time.monotonic() + WAIT
        while not any(int(at) >= n for at in self.said("at")):
            assert time.monotonic() < until and self.process.poll() is None, self.lines
            time.sleep(0.01)

    def end(self):
        code = self.process.wait(WAIT)
        self.thread.join()
        assert code == 0 and self.lines[-1] == "done", self.lines


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "large.bin"
    path.write_bytes(random.Random(7).randbytes(24 * MIB + 12345))
    return path


METADATA = {"filename": "large.bin", "filetype": "application/octet-stream", "name": "Large", "visibility": "private", "metadata": '{"from": "tus"}'}


def document(client):
    rows = client.get("/v1/documents?name=Large").data
    assert len(rows) == 1
    return rows[0]


def check(client, file, row):
    data = file.read_bytes()
    assert (row["status"], row["size"], row["checksum_sha256"], row["metadata"]) == ("completed", len(data), hashlib.sha256(data).hexdigest(), {"from": "tus"})
    assert requests.get(f"{client.server.base}/v1/documents/{row['id']}/content", headers={"SVC-API-KEY": client.key}, timeout=WAIT).content == data


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=os.environ.get("WHARF_TEST_PLACE")) as name:
        os.chmod(name, 0o711)  # PostgreSQL runs as another user
        yield pathlib.Path(name)


def test_through_kills(folder, file):
    """Each piece that was taken is still there when its worker was killed, and the server started anew."""
    port = free_port()
    server = Server("--modules", "org,documents", "--listen", f"127.0.0.1:{port}", folder=folder)
    try:
        key = server.organization().key()
        uploader = Uploader(server, key, file, METADATA)
        uploader.reach(3 * MIB)
        for pid in server.workers("web"):
            os.kill(pid, signal.SIGKILL)
        uploader.reach(8 * MIB)
        server.stop()
        server = Server("--modules", "org,documents", "--listen", f"127.0.0.1:{port}", folder=folder)
        uploader.end()
        taken = [int(at) for at in uploader.said("at")]
        assert taken == sorted(set(taken)), "no piece was brought twice after it was taken"
        client = Client(server, key)
        check(client, file, document(client))
    finally:
        server.stop()


def test_another_process_goes_on(file):
    server = Server("--modules", "org,documents")
    try:
        key = server.organization().key()
        first = Uploader(server, key, file, METADATA)
        first.reach(5 * MIB)
        first.process.kill()
        first.process.wait(WAIT)
        first.thread.join()
        second = Uploader(server, "", file, METADATA, first.said("url")[0])
        second.end()
        assert int(second.said("at")[0]) > 5 * MIB, "it begins where the first one was killed"
        client = Client(server, key)
        check(client, file, document(client))
    finally:
        server.stop()
