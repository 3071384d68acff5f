"""After a run in which keys, tokens, secrets and signatures were used, none of them stands in anything that the server keeps or prints."""
import json
import re
import time

import pytest
import requests
from aiosmtpd.controller import Controller

from wharf import BUILD, ISO, STATIONS, WAIT, Server, make_location, station_body

TABLES = ("change_log", "request_log", "event", "idempotency", "job", "job_past")


class Sink:
    def __init__(self):
        self.got = []

    async def handle_DATA(self, server, session, envelope):
        self.got.append(bytes(envelope.content).decode().replace("=\r\n", ""))
        return "250 taken"


class Door(Controller):
    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(server, {what: text}): a server in which each of these texts was used, in right and wrong ways."""
    sink, access = Sink(), tmp_path_factory.mktemp("leaks") / "access.log"
    door = Door(sink, hostname="127.0.0.1", port=0)
    door.start()
    s = Server("--modules", f"org,locations,contacts,reasons,carriers,shipments,trackers,containers,parcels,stations,support,logs,events,webhooks,integrations,batches,exports,{BUILD}/tests/plugins/filterbench.so", "--set", "request_log.reads=true",
               "--set", f"log.access={access}", "--set", "log.level=debug", "--set", f"mail.url=smtp://127.0.0.1:{door.port}", "--set", "mail.tls=none",
               "--set", "mail.from=w@example.com", "--set", "support.email_to=desk@example.com", "--set", "base_url=https://wharf.example")
    here = lambda url: s.base + url.removeprefix("https://wharf.example")  # noqa: E731
    s.access = access
    org = s.organization()
    secrets = {"key": org.key(), "limited key": org.key("samples:read"), "test key": org.key(test=True), "pin": "Pin-7-hunter2", "other pin": "Pin-8-hunter3",
               "device token": "tiny-device-token-5", "wrong key": "wh_live_" + "Z" * 38, "bearer": "wh_live_" + "Y" * 38}
    c = org.client()
    secrets["client's key"] = c.key
    for key in ("key", "limited key", "test key", "wrong key"):
        c.get("/v1/samples", key=secrets[key], expect=None)
        c.post("/v1/samples", {"status": "open", "pin": secrets["pin"]}, key=secrets[key], headers={"Idempotency-Key": "i-" + key.replace(" ", "-")})
    c.request("GET", "/v1/samples", key=False, headers={"Authorization": "Bearer " + secrets["bearer"]})
    d = c.post("/v1/samples", {"status": "open", "pin": secrets["pin"]}, expect=201, headers={"Idempotency-Key": "i-1"}).data
    c.post("/v1/samples/" + d["id"], {"pin": secrets["other pin"]}, expect=200)
    c.post("/v1/samples/" + d["id"], {"pin": secrets["pin"], "status": "never"}, expect=400)
    for mistake in (f"/v1/samples?api_key={secrets['key']}", f"/v1/samples?search={secrets['key']}", f"/v1/samples/{secrets['key']}", f"/v1/{secrets['key']}",
                    f"/v1/samples?name={secrets['key']}&order_by={secrets['key']}"):
        c.get(mistake, expect=None)
    c.post("/v1/samples", {"status": "never", "metadata": {"note": "my key is " + secrets["key"]}, secrets["key"]: 1}, expect=None)
    place = make_location(c)["id"]
    body = station_body(place, device_token=secrets["device token"])
    c.post(STATIONS, body, expect=201, headers={"Idempotency-Key": "i-2"})
    c.post(STATIONS, body, expect=400)
    request = c.post("/v1/support", {"subject": "s", "message": "m", "email": "a@b.example", "attachments": [
        {"name": "a.txt", "mime_type": "text/plain", "size": 18}]}, expect=201, headers={"Idempotency-Key": "i-3"}).data
    c.post("/v1/support", {"subject": "s", "message": "m", "email": "a@b.example", "attachments": [
        {"name": "a.txt", "mime_type": "text/plain", "size": 18}]}, expect=201, headers={"Idempotency-Key": "i-3"})
    upload = request["attachments"][0]["upload_url"]
    secrets["file content"] = "attached-secret-9z"
    for data in (b"short", secrets["file content"].encode()):
        requests.put(here(upload), data=data, headers={"Content-Type": "text/plain"}, timeout=WAIT)
    requests.put(here(upload), data=b"again", headers={"Content-Type": "text/plain"}, timeout=WAIT)
    url = c.get("/v1/support/" + request["id"]).data["attachments"][0]["url"]
    requests.get(here(url), timeout=WAIT)
    requests.get(here(url).replace("op=get", "op=put"), timeout=WAIT)
    end = time.monotonic() + WAIT
    while not sink.got:
        assert time.monotonic() < end
        time.sleep(0.05)
    link = re.search(r"/v1/support/attachments/([A-Za-z0-9_-]{43})", sink.got[0])
    assert requests.get(s.base + link.group(0), timeout=WAIT).text == secrets["file content"]
    requests.get(s.base + link.group(0) + "x", timeout=WAIT)
    secrets |= {"upload signature": re.search("sig=([^&]+)", upload).group(1), "download signature": re.search("sig=([^&]+)", url).group(1),
                "link token": link.group(1)}
    for path in ("/livez", "/readyz", "/healthz"):
        assert requests.get(s.base + path, timeout=WAIT).status_code == 200
    last = c.post("/v1/samples", {"status": "open"}, expect=201).headers["Request-Id"]
    while not s.sql("SELECT 1 FROM wharf.request_log WHERE id = %s", last):
        assert time.monotonic() < end + 20
        time.sleep(0.05)
    time.sleep(1.5)  # other workers' lines
    yield s, secrets
    s.stop()
    door.stop()


def found(text, secrets):
    return [what for what, secret in secrets.items() if secret in text or json.dumps(secret)[1:-1] in text]


@pytest.mark.parametrize("table", TABLES)
def test_tables(run, table):
    server, secrets = run
    rows = server.sql(f"SELECT t::text FROM wharf.{table} t")
    assert rows or table.startswith("job")
    text = "\n".join(r[0] for r in rows)
    assert found(text, secrets) == []
    # Answers that were kept, and events, carry no links either.
    assert "sig=" not in re.sub(r"sig=\*\*\*", "", text)


def test_access_log(run):
    server, secrets = run
    text = server.access.read_text()
    assert text.count("\n") > 20 and found(text, secrets) == []
    lines = [json.loads(line) for line in text.splitlines()]
    assert {tuple(line) for line in lines} == {("time", "request_id", "method", "route", "status", "code", "ms", "bytes", "key", "ip")}
    assert not {"/livez", "/readyz", "/healthz"} & {line["route"] for line in lines}, "probes are not logged"
    made = next(line for line in lines if line["status"] == 201)
    assert ISO.match(made["time"]) and re.fullmatch("req_[0-9A-Za-z]{22}", made["request_id"]) and made["key"].startswith("key_") and made["ip"] == "127.0.0.1"
    assert made["method"] == "POST" and made["route"].startswith("/v1/") and made["code"] is None and 0 < made["ms"] < 60000 and made["bytes"] > 100
    assert {line["code"] for line in lines if line["status"] == 401} == {"api_key.invalid"}


def test_server_log(run):
    server, secrets = run
    text = "".join((server.folder / name).read_text(errors="replace") for name in ("wharf.log", "out", "postgresql.log"))
    assert text and found(text, secrets) == []


def test_metrics(run):
    server, secrets = run
    text = server.http.get(server.admin + "/metrics", timeout=WAIT).text
    assert "wharf_http_requests_total" in text and found(text, secrets) == []


def test_hashes_only(run):
    server, secrets = run
    for table in ("wharf.token", "wharf.api_key", "support.attachment", "support.message", "support.request", "wharf.file"):
        text = "\n".join(r[0] for r in server.sql(f"SELECT t::text FROM {table} t"))
        assert found(text, {k: v for k, v in secrets.items() if k not in ("pin", "other pin", "device token")}) == [], table
