"""The agent lives through whatever a server answers: what is missing, of another type or no JSON at all."""
import http.server
import json
import socket
import subprocess
import threading

import pytest

import api_folders  # noqa: F401
from rig import wait_until
from wharf import BUILD, WAIT

PROGRAM = BUILD / "station" / "wharf-station"
DEEP = "[" * 5000
SESSION = {"data": {"session_id": "prnt_sess_1", "heartbeat_interval": 1, "station": {"printers": [{"name": "Raw", "id": "prnt_1"}, {}, 7, None]}}}
ODD = ["", "null", "7", "[]", "{", "\"", "{}", DEEP, '{"data": ' + DEEP, '{"data": null}', '{"data": 1e999}', '{"data": []}', '{"data": "text"}', '{"data": {}} more']
CLAIMS = [*ODD, *(json.dumps({"data": {"jobs": v}}) for v in (
    None, 7, "job", {}, {"a": {"id": 1}}, [None, 7, "job", [], {}], [{"id": 7, "attempt": "x", "printer_name": None}],
    [{"id": "prnt_job_1", "attempt": 1e300, "printer_name": "Raw", "document_url": None, "configuration": [], "raw": "yes"}]))]
BEATS = [*ODD, *(json.dumps({"data": {"cancel": v}}) for v in (None, 7, {}, [None, 7, {}, "prnt_job_1"]))]


class Odd(http.server.BaseHTTPRequestHandler):
    """Opens a session, then answers each call by the next odd text."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        what = self.path.rsplit("/", 1)[-1].split("?")[0]
        status, text = 200, "null"
        if what == "sessions":
            status, text = 201, self.server.session
        elif what == "stream":
            text = "".join(f"event: print_job.cancel\ndata: {d}\n\n" for d in ODD)
        elif what in self.server.texts:
            text = next(self.server.texts[what], None)
            if text is None:
                self.server.done.add(what)
                text = "{}"
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *args):
        pass


@pytest.fixture
def odd():
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    s.session, s.texts, s.done = json.dumps(SESSION), {}, set()
    threading.Thread(target=s.serve_forever, args=(0.02,), daemon=True).start()
    yield s
    s.shutdown()
    s.server_close()


def config(tmp_path, odd, **more):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"server": f"http://127.0.0.1:{odd.server_port}", "key": "k", "station_id": "prnt_stn_1", "name": "Odd",
                                "spool": str(tmp_path / "spool"), "printers": {}, **more}))
    return file


@pytest.mark.parametrize("text", [*ODD, '{"data": {"session_id": 7, "station": {"printers": {"a": {"name": "Raw"}}}}}'], ids=range(len(ODD) + 1))
def test_odd_sessions(tmp_path, odd, text):
    odd.session = text
    p = subprocess.run([PROGRAM, "--config", config(tmp_path, odd), "run", "--once"], capture_output=True, text=True, timeout=WAIT)
    assert p.returncode == 0, p.stdout + p.stderr


@pytest.mark.parametrize("command", [["status"], ["test", "Raw"], ["pair", "--refresh"]])
@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_answers_to_commands(tmp_path, odd, command, text):
    odd.texts = {w: iter([text] * 9) for w in ("prnt_stn_1", "test-page")}
    p = subprocess.run([PROGRAM, "--config", config(tmp_path, odd), *command], capture_output=True, text=True, timeout=WAIT)
    assert p.returncode in (0, 1), p.stdout + p.stderr


def test_odd_claims_and_heartbeats(tmp_path, odd):
    printer = socket.create_server(("127.0.0.1", 0))
    odd.texts = {"claim": iter(CLAIMS), "heartbeat": iter(BEATS)}
    file = config(tmp_path, odd, printers={"Raw": {"uri": f"socket://127.0.0.1:{printer.getsockname()[1]}", "sizes": [7, "letter"], "languages": {}}})
    with open(tmp_path / "out", "wb") as out:
        p = subprocess.Popen([PROGRAM, "--config", file, "run"], stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: p.poll() is not None or {"claim", "heartbeat"} <= odd.done)
            assert p.poll() is None, (tmp_path / "out").read_text()
        finally:
            p.terminate()
            p.wait(WAIT)
            printer.close()
