"""Outgoing requests of two organizations never meet (spec 07 section 9, docs/reference/net.md): no sender may write a header that says where a
request ends, whom it is for or what becomes of the connection, and a kept connection carries the requests of one organization only."""
import re
import socket
import threading

import pytest

from receivers import until
from test_workflow_runs import FLOWS, asked
from wharf import Server, make_location

RESERVED = ["Connection", "Content-Length", "Expect", "Host", "HTTP2-Settings", "Keep-Alive", "Proxy-Authenticate",
            "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade"]
VARIANTS = [str, str.lower, str.upper]


class Recorder:
    """A receiver that keeps connections open and records each one's bytes. It answers what RFC 9112 calls a request, and nothing else."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.connections, self.lock, self.requests = [], threading.Lock(), 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            got = bytearray()
            with self.lock:
                self.connections.append(got)
            threading.Thread(target=self.serve, args=(s, got), daemon=True).start()

    def serve(self, s, got):
        waiting = b""
        while piece := s.recv(65536):
            got += piece
            waiting += piece
            while b"\r\n\r\n" in waiting:
                head, rest = waiting.split(b"\r\n\r\n", 1)
                length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head + b"\r\ncontent-length: 0").group(1))
                if len(rest) < length:
                    break
                waiting = rest[length:]
                with self.lock:
                    self.requests += 1
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok")


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,events,webhooks,integrations,workflows", "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true")
    yield s
    s.stop()


@pytest.fixture(scope="module")
def receiver():
    return Recorder()


def flow(client, body, **more):
    row = client.post(FLOWS, {"name": "Sends", "source": f"return {{on_run = function(input, ctx)\n{body}\nend}}",
                              "triggers": [{"type": "manual"}], **more}, expect=201).data
    client.post(f"{FLOWS}/{row['id']}/publish", {}, expect=200)
    return row["id"]


@pytest.fixture(scope="module")
def hostile_flow(server, receiver):
    client = server.organization().client()
    id = flow(client, """local headers = {}
for name, value in pairs(input.headers) do headers[(name:gsub("<NUL>", string.char(0)))] = (value:gsub("<NUL>", string.char(0))) end
local ok, why = pcall(function()
  return assert(wharf.http.post(input.url, {body = input.body, headers = headers})).status
end)
return {ok = ok, why = tostring(why)}""")
    return lambda headers, body="x": asked(client, id, {"input": {"url": f"http://127.0.0.1:{receiver.port}/h", "headers": headers, "body": body}}, 200).data["output"]["value"]


@pytest.mark.parametrize("name", RESERVED)
def test_no_workflow_sends_a_reserved_header(hostile_flow, receiver, name):
    before = receiver.requests
    for variant in VARIANTS:
        told = hostile_flow({variant(name): "5"})
        assert not told["ok"] and "leave it out" in told["why"], told
    assert receiver.requests == before


def test_no_workflow_ends_a_header(hostile_flow, receiver):
    before = receiver.requests
    for name, value in (("X-A", "b\r\nHost: x"), ("X-A\r\nHost", "x"), ("X-A", "b\nc"), ("X A", "b"), ("X-A:", "b"), ("", "b"), ("X-A", "b<NUL>c"), ("X-A<NUL>", "b")):
        assert not hostile_flow({name: value})["ok"], (name, value)
    assert receiver.requests == before
    assert hostile_flow({"X-A": "b"})["ok"] and hostile_flow({"X-Empty": ""})["ok"]
    assert b"\r\nX-Empty:" in b"".join(receiver.connections)


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("path", ["/v1/webhooks", "/v1/integrations"])
def test_no_webhook_or_integration_has_a_reserved_header(server, receiver, path, name):
    client = server.organization().client()
    body = {"name": "W", "url": f"http://127.0.0.1:{receiver.port}/w", "events": ["location.created"]}
    if path == "/v1/integrations":
        body |= {"direction": "outgoing", "provider": "acme"}
    for variant in VARIANTS:
        client.refused("POST", path, 400, "webhook.header_invalid", body={**body, "headers": {variant(name): "5"}})


def test_connections_are_of_one_organization(server, receiver, request):
    """Two organizations send to one receiver by webhooks, integrations and workflows: no connection has bytes of both."""
    rounds = 500 if request.config.getoption("--long") else 12
    begun, tenants = len(receiver.connections), []
    for marker in ("tenant-one", "tenant-two"):
        client = server.organization().client()
        url = f"http://127.0.0.1:{receiver.port}/{marker}"
        client.post("/v1/webhooks", {"name": "W", "url": url + "/w", "events": ["location.created"], "headers": {"Authorization": marker}}, expect=201)
        client.post("/v1/integrations", {"name": "I", "direction": "outgoing", "provider": "acme", "url": url + "/i", "events": ["location.created"], "headers": {"Authorization": marker}}, expect=201)
        id = flow(client, "for i = 1, 8 do assert(wharf.http.post(input.url, {body = input.marker})) end return true")
        tenants.append((client, id, url, marker))
    before, sent = receiver.requests, 0
    for n in range(rounds):
        for client, id, url, marker in tenants:
            make_location(client, f"{marker} {n}")
            asked(client, id, {"input": {"url": url + "/f", "marker": marker}}, 200)
            sent += 10
    until(lambda: receiver.requests >= before + sent)
    seen = [bytes(c) for c in receiver.connections[begun:]]
    assert all(not (b"tenant-one" in c and b"tenant-two" in c) for c in seen)
    assert any(c.count(b"POST ") > 1 for c in seen)  # connections are kept, so the first line says something
