"""Support requests (spec 01 section 16): states, messages, attachments by signed link, one mail to the desk with links that end."""
import contextlib
import email
import email.policy
import re
import time

import pytest
import requests
from aiosmtpd.controller import Controller

from wharf import WAIT, Server, until

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 50


class Sink:
    def __init__(self):
        self.got, self.refuse = [], 0

    async def handle_DATA(self, server, session, envelope):
        if self.refuse:
            self.refuse -= 1
            return "451 later"
        self.got.append(email.message_from_bytes(bytes(envelope.content), policy=email.policy.default))
        return "250 taken"


class Door(Controller):
    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@pytest.fixture(scope="module")
def sink():
    return Sink()


@contextlib.contextmanager
def serving(sink, base_url):
    door = Door(sink, hostname="127.0.0.1", port=0)
    door.start()
    s = Server("--modules", "org,support", "--set", f"mail.url=smtp://127.0.0.1:{door.port}", "--set", "mail.tls=none", "--set", "mail.from=wharf@example.com",
               "--set", "support.email_to=desk@example.com, boss@example.com", "--set", "base_url=" + base_url)
    try:
        yield s
    finally:
        s.stop()
        door.stop()


@pytest.fixture(scope="module")
def server(sink):
    with serving(sink, "https://wharf.example") as s:
        yield s


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def client(org):
    return org.client()


@pytest.fixture
def clock(server):
    def move(seconds):
        server.sql("SELECT wharf.clock_set(value::bigint + %s) FROM wharf.setting WHERE key = 'clock.offset_seconds'", seconds)
        server.sql("NOTIFY wharf_clock")
        time.sleep(0.3)
    yield move
    server.sql("SELECT wharf.clock_set(0)")
    server.sql("NOTIFY wharf_clock")
    time.sleep(0.3)


def mails(sink, id):
    return [m for m in sink.got if id in m["Subject"]]


def ask(c, expect=201, **more):
    return c.request("POST", "/v1/support", {"subject": "Broken", "message": "It is broken.", "email": "me@example.com", **more}, expect)


def attachment(**more):
    return {"name": "shot.png", "mime_type": "image/png", "size": len(PNG), **more}


def local(server, url):
    assert url.startswith("https://wharf.example/")
    return server.base + url[len("https://wharf.example"):]


def bring(server, a, data=PNG, type="image/png", url=None):
    return requests.put(local(server, url or a["upload_url"]), data=data, headers={"Content-Type": type}, timeout=WAIT)


# ---- the resource ----

def test_create_and_read(client, org):
    a = ask(client, category="bug", priority="high", metadata={"k": "v"}, request_id="req_" + "a" * 22)
    d = a.data
    assert d["object"] == "support_request" and d["id"].startswith("sup_") and d["status"] == "open"
    assert (d["subject"], d["message"], d["email"], d["category"], d["priority"]) == ("Broken", "It is broken.", "me@example.com", "bug", "high")
    assert d["metadata"] == {"k": "v"} and d["request_id"] == "req_" + "a" * 22 and d["attachments"] == []
    assert not {"announced", "revoke_links", "parts", "mailed_at"} & set(d)
    m, = d["messages"]
    assert m["body"] == "It is broken." and m["attachments"] == [] and m["created_at"] == d["created_at"]
    assert m["author"] == {"type": "api_key", "id": d["created_by"], "email": "me@example.com"}
    assert client.get("/v1/support/" + d["id"]).data == d
    assert [e[0] for e in org.events(d["id"])] == ["support_request.created"]


def test_defaults(client):
    d = ask(client).data
    assert (d["category"], d["priority"], d["status"], d["request_id"], d["metadata"]) == ("question", "normal", "open", None, {})
    assert [client.post("/v1/support/" + d["id"], {"priority": p}, expect=200).data["priority"] for p in ("low", "high", "normal")] == ["low", "high", "normal"]
    for category in ("question", "bug", "billing", "feature", "other"):
        assert ask(client, category=category).data["category"] == category


def test_limits(client):
    for body, path in (({"subject": "x" * 192}, "subject"), ({"message": "x" * 16001}, "message"), ({"email": "nobody"}, "email"), ({"category": "x"}, "category"),
                       ({"priority": "urgent"}, "priority"), ({"request_id": "x"}, "request_id"), ({"subject": None}, "subject"),
                       ({"attachments": [attachment()] * 11}, "attachments"), ({"attachments": {}}, "attachments"),
                       ({"attachments": [attachment(), attachment(size=25 * 1024 * 1024 + 1)]}, "attachments.1.size"),
                       ({"attachments": [attachment(size=0)]}, "attachments.0.size"), ({"attachments": [attachment(mime_type="png")]}, "attachments.0.mime_type"),
                       ({"attachments": [attachment(name="a\nb")]}, "attachments.0.name"), ({"attachments": ["x"]}, "attachments.0")):
        a = ask(client, expect=400, **body)
        assert a.code == "validation.failed" and a.errors == [path], (body, a)
    ask(client, subject="x" * 191, message="é" * 16000, attachments=[attachment(size=25 * 1024 * 1024)] * 10)
    assert client.post("/v1/support", {"subject": "a", "message": "b"}, expect=400).errors == ["email"]


def test_email_of_the_user(org):
    user = org.user(email="ann@example.com", role="admin")
    d = org.client(user=user).post("/v1/support", {"subject": "a", "message": "b"}, expect=201).data
    assert d["email"] == "ann@example.com" and d["messages"][0]["author"] == {"type": "user", "id": user, "email": "ann@example.com"}


def test_states(client, org):
    id = ask(client).data["id"]

    def to(status, expect=200, **more):
        return client.post("/v1/support/" + id, {"status": status, **more}, expect=expect)

    for bad in ("resolved", "closed"):
        assert to(bad, 409).code == "support.invalid_transition"
    to("open")
    to("in_progress")
    assert to("open", 409).code == "support.invalid_transition"
    d = client.post("/v1/support/" + id, {"message": "More."}, expect=200).data
    assert d["status"] == "open" and [m["body"] for m in d["messages"]] == ["It is broken.", "More."] and d["message"] == "It is broken."
    to("in_progress")
    to("resolved")
    assert to("in_progress", 409).code == "support.invalid_transition"
    assert client.post("/v1/support/" + id, {"message": "No."}, expect=200).data["status"] == "open"
    to("in_progress", message="I look.")
    to("resolved")
    to("closed")
    for body in ({"message": "x"}, {"status": "open"}, {"status": "open", "message": "x"}):
        assert client.post("/v1/support/" + id, body, expect=409).code == "support.invalid_transition"
    client.post("/v1/support/" + id, {"priority": "low"}, expect=200)
    types = [e[0] for e in org.events(id)]
    assert types.count("support_request.replied") == 3 and types.count("support_request.closed") == 1
    assert len(client.get("/v1/support/" + id).data["messages"]) == 4


def test_lists(client):
    a = ask(client, subject="Printer on fire", category="bug").data["id"]
    b = ask(client, message="The invoice is wrong", category="billing", priority="high").data["id"]
    client.post("/v1/support/" + a, {"status": "in_progress"}, expect=200)

    def found(q):
        return client.get("/v1/support?" + q).ids

    assert found("") == [b, a] and "messages" not in client.get("/v1/support").data[0]
    assert found("status=in_progress") == [a] and found("category=billing,bug") == [b, a] and found("priority=high") == [b]
    assert found("search=printer") == [a] and found("search=invoice") == [b] and found("email=ME@example.com") == [b, a]
    assert found("created_at[gt]=2020-01-01T00:00:00Z") == [b, a] and found("updated_at[lt]=2020-01-01T00:00:00Z") == []


def test_scopes_and_others(client, org):
    id = ask(client).data["id"]
    org.client("support:read").refused("POST", "/v1/support", 403, "scope_access", body={"subject": "a", "message": "b", "email": "a@b.example"})
    org.client("logs:write").refused("GET", "/v1/support", 403, "scope_access")
    org.server.organization().client().get("/v1/support/" + id, expect=404)


def test_twenty_a_minute():
    s = Server("--modules", "org,support", limits=True)
    try:
        c = s.organization().client()
        begun, n = time.monotonic(), 0
        while (a := ask(c, None)).status == 201:
            n += 1
            assert n <= 21 + (time.monotonic() - begun) / 3  # one comes back every three seconds
        assert n >= 20 and a.status == 429 and a.code == "rate_limited" and a.errors == ["endpoint"] and int(a.headers["Retry-After"]) >= 1
        c.get("/v1/support")
    finally:
        s.stop()


# ---- attachments ----

def test_upload(client, server):
    d = ask(client, attachments=[attachment(), attachment(name="log.txt", mime_type="text/plain", size=3)]).data
    first, second = d["attachments"]
    assert (first["name"], first["mime_type"], first["size"], first["status"], first["url"]) == ("shot.png", "image/png", len(PNG), "pending", None)
    assert d["messages"][0]["attachments"] == [first["id"], second["id"]]
    assert bring(server, first, data=PNG + b"x").status_code == 400
    assert bring(server, first, type="image/jpeg").status_code == 400
    altered = first["upload_url"][:-4] + ("AAAA" if not first["upload_url"].endswith("AAAA") else "BBBB")
    assert bring(server, first, url=altered).status_code == 403
    assert bring(server, first).status_code in (200, 201)
    assert bring(server, first).status_code == 409
    first, second = client.get("/v1/support/" + d["id"]).data["attachments"]
    assert (first["status"], first["upload_url"], second["status"]) == ("uploaded", None, "pending") and second["upload_url"]
    got = requests.get(local(server, first["url"]), timeout=WAIT)
    assert got.content == PNG and got.headers["Content-Type"] == "image/png"
    more = client.post("/v1/support/" + d["id"], {"message": "one more", "attachments": [attachment()]}, expect=200).data
    assert len(more["attachments"]) == 3 and more["messages"][1]["attachments"] == [more["attachments"][2]["id"]]


def test_upload_links_end(client, server, clock):
    d = ask(client, attachments=[attachment()]).data
    clock(15 * 60 + 1)
    assert bring(server, d["attachments"][0]).status_code in (403, 404)
    a, = client.get("/v1/support/" + d["id"]).data["attachments"]
    assert (a["status"], a["upload_url"], a["url"]) == ("expired", None, None)


def test_an_answer_given_again_has_good_links(client, server):
    body = {"subject": "a", "message": "b", "email": "a@b.example", "attachments": [attachment()]}
    first = client.post("/v1/support", body, expect=201, headers={"Idempotency-Key": "one"}).data
    again = client.post("/v1/support", body, expect=201, headers={"Idempotency-Key": "one"})
    assert again.headers["Idempotent-Replayed"] == "true" and again.data["id"] == first["id"]
    assert bring(server, again.data["attachments"][0]).status_code in (200, 201)
    assert client.server.sql("SELECT body FROM wharf.idempotency WHERE organization_id = (SELECT organization_id FROM support.request WHERE id = %s)",
                             first["id"]) == [(None,)]


# ---- the mail ----

def links(m):
    return re.findall(r"https://wharf\.example/v1/support/attachments/[A-Za-z0-9_-]{43}", m.get_content())


def test_a_mail_without_attachments(client, sink):
    id = ask(client, subject="Naïve\r\nBcc: evil@example.com", request_id="req_" + "b" * 22).data["id"]
    m, = until(lambda: mails(sink, id))
    assert [a.addr_spec for a in m["To"].addresses] == ["desk@example.com", "boss@example.com"] and m["Reply-To"] == "me@example.com"
    assert m["Bcc"] is None and "Naïve" in m["Subject"] and "It is broken." in m.get_content() and "req_" + "b" * 22 in m.get_content()
    client.post("/v1/support/" + id, {"message": "More."}, expect=200)
    time.sleep(1)
    assert len(mails(sink, id)) == 1


def test_the_mail_comes_when_all_is_there(client, server, sink):
    d = ask(client, attachments=[attachment(), attachment(name="évil/../b.html", mime_type="text/html", size=9)]).data
    assert bring(server, d["attachments"][0]).ok
    time.sleep(1)
    assert not mails(sink, d["id"])
    assert bring(server, d["attachments"][1], b"<script>x", "text/html").ok
    m, = until(lambda: mails(sink, d["id"]))
    first, second = links(m)
    got = requests.get(local(server, first), timeout=WAIT)
    assert got.status_code == 200 and got.content == PNG and got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Content-Disposition"].startswith("attachment;") and got.headers["Content-Type"] == "image/png"
    active = requests.get(local(server, second), timeout=WAIT)
    assert active.content == b"<script>x" and active.headers["Content-Type"] == "application/octet-stream"
    assert requests.get(local(server, first), headers={"Range": "bytes=0-3"}, timeout=WAIT).content == PNG[:4]
    for wrong in (first[:-1] + ("A" if first[-1] != "A" else "B"), first[:-1], first + "x", first.rsplit("/", 1)[0] + "/" + "A" * 43):
        assert requests.get(local(server, wrong), timeout=WAIT).status_code == 404
    text = first.rsplit("/", 1)[1]
    assert server.sql("SELECT count(*) FROM wharf.token t WHERE hash = sha256(%s::bytea)", text.encode()) == [(1,)]


def test_a_mail_of_a_server_that_does_not_know_its_address(sink):
    """Without base_url a link would be a path, which no reader of a mail can follow: the mail says why there is none."""
    with serving(sink, "") as server:
        d = ask(server.organization().client(), attachments=[attachment()]).data
        assert bring(server, d["attachments"][0], url="https://wharf.example" + d["attachments"][0]["upload_url"]).ok
        text = until(lambda: mails(sink, d["id"]))[0].get_content()
        assert "/v1/support" not in text and "base_url" in text and d["attachments"][0]["name"] in text and "It is broken." in text


def test_the_mail_does_not_wait_for_ever(client, server, sink, clock):
    d = ask(client, attachments=[attachment(), attachment()]).data
    assert bring(server, d["attachments"][0]).ok
    time.sleep(1)
    assert not mails(sink, d["id"])
    clock(15 * 60 + 1)
    m, = until(lambda: mails(sink, d["id"]))
    assert len(links(m)) == 1


@pytest.fixture
def link(client, server, sink):
    d = ask(client, attachments=[attachment()]).data
    assert bring(server, d["attachments"][0]).ok
    url, = links(until(lambda: mails(sink, d["id"]))[0])
    assert requests.get(local(server, url), timeout=WAIT).status_code == 200
    return d["id"], local(server, url)


def test_links_live_thirty_days(link, clock):
    clock(30 * 86400 - 60)
    assert requests.get(link[1], timeout=WAIT).status_code == 200
    clock(120)
    assert requests.get(link[1], timeout=WAIT).status_code == 404


def test_revoked_links_are_dead(client, link):
    id, url = link
    client.post("/v1/support/" + id, {"revoke_links": False}, expect=200)
    assert requests.get(url, timeout=WAIT).status_code == 200
    client.post("/v1/support/" + id, {"revoke_links": True}, expect=200)
    assert requests.get(url, timeout=WAIT).status_code == 404
    a, = client.get("/v1/support/" + id).data["attachments"]
    assert a["status"] == "uploaded" and requests.get(local(client.server, a["url"]), timeout=WAIT).content == PNG


def test_delete(client, server, org, link):
    id, url = link
    signed = local(server, client.get("/v1/support/" + id).data["attachments"][0]["url"])
    client.delete("/v1/support/" + id)
    client.get("/v1/support/" + id, expect=404)
    assert requests.get(url, timeout=WAIT).status_code == 404 and requests.get(signed, timeout=WAIT).status_code == 404
    assert server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s", org.id) == [(0,)]
    assert [e[0] for e in org.events(id)][-1] == "support_request.deleted"


def test_a_mail_server_that_is_away(client, sink, server, clock):
    sink.refuse = 2
    id = ask(client).data["id"]
    until(lambda: sink.refuse == 1)
    until(lambda: mails(sink, id) or clock(3600) or time.sleep(0.5))
    assert len(mails(sink, id)) == 1 and sink.refuse == 0


def test_events_have_no_links(client, org):
    d = ask(client, attachments=[attachment()]).data
    for type, data, *_ in org.events(d["id"]):
        assert "sig=" not in str(data) and data["id"] == d["id"]
