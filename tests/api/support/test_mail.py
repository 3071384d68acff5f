"""Mail through a real SMTP server (aiosmtpd) with STARTTLS and AUTH; what arrives is read by Python's mail parser."""
import asyncio
import datetime
import email
import email.policy
import socket
import ssl

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

from outside import Authority
from wharf import BUILD, Server, until

USER, PASSWORD = "wharf", "s3cret \u00e4"


class Sink:
    """Keeps what it gets; refuses some recipients. meanwhile(envelope), if set, runs before the mail is answered."""

    def __init__(self):
        self.got, self.meanwhile = [], None

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("unknown"):
            return "550 no such user"
        if address.startswith("full"):
            return "452 mailbox full"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if self.meanwhile:
            await asyncio.to_thread(self.meanwhile, envelope)
        self.got.append((envelope.mail_from, envelope.rcpt_tos, bytes(envelope.content), session.ssl is not None, session.authenticated))
        return "250 taken"


class Door(Controller):
    """host is where it listens; the certificate is another matter."""

    def __init__(self, sink, context, **more):
        self.tls, self.more = context, more
        super().__init__(sink, hostname="127.0.0.1", port=0)

    def factory(self):
        return SMTP(self.handler, tls_context=self.tls, authenticator=self.check, **self.more)

    def check(self, server, session, envelope, mechanism, data):
        return AuthResult(success=(data.login, data.password) == (USER.encode(), PASSWORD.encode()))

    def _trigger_server(self):
        """The port is known only now: aiosmtpd would connect to 0."""
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("mail-ca"))


@pytest.fixture(scope="module")
def sink():
    return Sink()


@pytest.fixture(scope="module")
def door(authority, sink):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certificate("mail", "localhost"))
    d = Door(sink, context, require_starttls=True, auth_required=True)
    d.start()
    yield d
    d.stop()


def start(authority, url, **settings):
    sets = {"environment": "test", "net.ca_file": authority.file, "mail.url": url, "mail.from": "wharf@example.com", "mail.user": USER,
            "mail.password": PASSWORD, **settings}
    args = [x for k, v in sets.items() for x in ("--set", f"{k}={v}")]
    return Server("--modules", f"org,{BUILD}/tests/plugins/outside.so", *args)


@pytest.fixture(scope="module")
def mailer(authority, door):
    s = start(authority, f"smtp://localhost:{door.port}")
    yield s.organization().client()
    s.stop()


def send(client, sink, expect=200, **m):
    sink.got.clear()
    a = client.post("/v1/outside/mail", {"to": ["a@example.com"], "subject": "S", "text": "T", **m}, expect=expect)
    return a if expect != 200 else email.message_from_bytes(sink.got[0][2], policy=email.policy.default)


def content(part):
    """Ends of lines are CRLF on their way, and the last one belongs to nobody."""
    return part.get_content().replace("\r\n", "\n").rstrip("\n")


def test_a_mail(mailer, sink):
    m = send(mailer, sink, to=["a@example.com", "b@example.com"], subject="Your parcel", text="It is here.\n", reply_to="desk@example.com",
             message_id="one@example.com")
    sender, to, _, encrypted, authenticated = sink.got[0]
    assert (sender, to) == ("wharf@example.com", ["a@example.com", "b@example.com"]) and encrypted and authenticated
    assert (m["Subject"], m["Reply-To"], m["Message-ID"]) == ("Your parcel", "desk@example.com", "<one@example.com>")
    assert (m["From"].addresses[0].display_name, m["From"].addresses[0].addr_spec) == ("Wharf", "wharf@example.com")
    assert m["To"].addresses[1].addr_spec == "b@example.com"
    assert abs((m["Date"].datetime - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 60
    assert content(m) == "It is here." and m.get_content_type() == "text/plain"
    assert not m.defects


@pytest.mark.parametrize("text", ["plain", "\u00c4rger mit \u20ac und \U0001f4e6", "x" * 500, "\u4e2d" * 200, "a =?UTF-8?Q?x?= b", "two  spaces " * 20], ids=range(6))
def test_subjects_and_names(mailer, sink, text):
    m = send(mailer, sink, subject=text, files=[{"name": text + ".bin", "type": "application/x-test", "text": text}])
    assert m["Subject"] == " ".join(text.split())
    part = list(m.iter_attachments())[0]
    assert part.get_filename() == " ".join((text + ".bin").split())
    assert part.get_content() == text.encode() and not m.defects and not part.defects


def test_texts_arrive_as_they_were(mailer, sink):
    lines = ["", ".", "..", ".leading", "trailing ", "tab\t", "=3D", "From here", "\u00e4" * 100, "x" * 2000, "\u2028", "--", "--=_"]
    text = "\n".join(lines)
    m = send(mailer, sink, text=text, html=f"<p>{text}</p>")
    assert m.get_content_type() == "multipart/alternative"
    plain, html = m.iter_parts()
    assert content(plain) == text and content(html) == f"<p>{text}</p>"


def test_attachments(mailer, sink):
    m = send(mailer, sink, html="<b>x</b>", files=[{"name": "a b.csv", "type": "text/csv", "text": "1,2\r\n"},
                                                  {"name": "", "type": "", "text": "\x01\x02"}])
    assert m.get_content_type() == "multipart/mixed"
    assert content(m.get_body(("plain",))) == "T" and content(m.get_body(("html",))) == "<b>x</b>"
    first, second = m.iter_attachments()
    assert (first.get_filename(), first.get_content_type()) == ("a b.csv", "text/csv")
    assert (second.get_filename(), second.get_content_type(), second.get_content()) == ("attachment", "application/octet-stream", b"\x01\x02")
    assert send(mailer, sink, text="", html="<i>only</i>").get_content_type() == "text/html"


def test_nothing_gets_into_the_headers(mailer, sink):
    evil = "x\r\nBcc: victim@example.com\r\n\r\nbody"
    m = send(mailer, sink, subject=evil, files=[{"name": evil, "type": "", "text": ""}])
    assert m["Bcc"] is None and m["Subject"] == "x Bcc: victim@example.com body" and sink.got[0][1] == ["a@example.com"]
    for field, value in (("to", ["a@b\r\nBcc: v@e"]), ("to", ["a@b>\r\nRCPT TO:<v@e"]), ("reply_to", evil), ("message_id", "a@b\r\nX: y"), ("to", []),
                         ("to", ["a@example.com"] * 101), ("files", [{"name": "", "type": evil, "text": ""}])):
        assert send(mailer, sink, expect=400, **{field: value}).code == "mail.refused"
        assert not sink.got


def test_refused_and_later(mailer, sink):
    assert send(mailer, sink, expect=400, to=["unknown@example.com"]).code == "mail.refused"
    assert send(mailer, sink, expect=400, to=["a@example.com", "unknown@example.com"]).code == "mail.refused"
    assert send(mailer, sink, expect=503, to=["full@example.com"]).code == "mail.unavailable"
    assert not sink.got


def unavailable(authority, sink, url, **settings):
    s = start(authority, url, **settings)
    try:
        a = send(s.organization().client(), sink, expect=503)
        assert a.code == "mail.unavailable" and not sink.got
    finally:
        s.stop()


def test_wrong_password(authority, door, sink):
    unavailable(authority, sink, f"smtp://localhost:{door.port}", **{"mail.password": "other"})


def test_certificate_of_another_name(authority, door, sink):
    unavailable(authority, sink, f"smtp://127.0.0.1:{door.port}")


def test_no_starttls_no_mail(authority, sink):
    """A server (or somebody in between) that offers no STARTTLS gets neither password nor mail."""
    d = Door(sink, None, auth_required=False)
    d.start()
    try:
        unavailable(authority, sink, f"smtp://localhost:{d.port}")
        s = start(authority, f"smtp://localhost:{d.port}", **{"mail.tls": "none", "mail.user": ""})
        try:
            send(s.organization().client(), sink)
            assert sink.got[0][3:] == (False, None)
        finally:
            s.stop()
    finally:
        d.stop()


@pytest.mark.parametrize("url, settings", [("smtp://localhost:1", {"mail.from": "nobody"}), ("http://x", {}), ("smtp://localhost:1", {"mail.tls": "none"})])
def test_settings_that_do_not_fit(authority, url, settings):
    with pytest.raises(RuntimeError, match="mail[.]"):
        start(authority, url, **settings).stop()


def test_no_server_configured(authority, sink):
    unavailable(authority, sink, "")


def test_queued(mailer, sink):
    """Sent after the commit, by a job; the message is gone when the server has it."""
    sink.got.clear()
    mailer.post("/v1/outside/mail", {"to": ["a@example.com"], "subject": "later", "text": "T", "queue": True}, expect=200)
    until(lambda: sink.got)
    assert email.message_from_bytes(sink.got[0][2], policy=email.policy.default)["Subject"] == "later"
    until(lambda: mailer.server.sql("SELECT count(*) FROM wharf.file") == [(0,)])
    a = mailer.post("/v1/outside/mail", {"to": ["nobody"], "subject": "S", "text": "T", "queue": True}, expect=400)
    assert a.code == "mail.refused" and mailer.server.sql("SELECT count(*) FROM wharf.file") == [(0,)]


def test_queued_and_refused_for_good(mailer, sink):
    sink.got.clear()
    mailer.post("/v1/outside/mail", {"to": ["unknown@example.com"], "subject": "S", "text": "T", "queue": True}, expect=200)
    until(lambda: mailer.server.sql("SELECT count(*) FROM wharf.file") == [(0,)])
    assert not sink.got


def test_so_many_per_minute(authority, sink, door):
    """The rest is asked for again, at a moment of the next minute."""
    s = start(authority, f"smtp://localhost:{door.port}", **{"mail.max_per_minute": 2})
    try:
        sink.got.clear()
        client = s.organization().client()
        for i in range(5):
            client.post("/v1/outside/mail", {"to": ["a@example.com"], "subject": f"n{i}", "text": "T", "queue": True}, expect=200)
        until(lambda: s.sql("SELECT count(*) FROM wharf.job WHERE queue = 'wharf.mail' AND run_at > wharf.now() AND attempts = 0") == [(3,)])
        until(lambda: len(sink.got) == 2 and s.sql("SELECT count(*) FROM wharf.file") == [(3,)])
    finally:
        s.stop()


def test_queued_while_the_server_is_away(authority, sink):
    """Kept and tried again: the same message, when the mail server is back."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certificate("back", "localhost"))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    s = start(authority, f"smtp://localhost:{port}")
    d = Door(sink, context, auth_required=True, require_starttls=True)
    d.port = port
    try:
        sink.got.clear()
        s.organization().client().post("/v1/outside/mail", {"to": ["a@example.com"], "subject": "patient", "text": "T", "queue": True}, expect=200)
        until(lambda: s.sql("SELECT count(*) FROM wharf.job WHERE queue = 'wharf.mail' AND attempts > 0") == [(1,)])
        assert s.sql("SELECT count(*) FROM wharf.file") == [(1,)]
        d.start()
        s.sql("UPDATE wharf.job SET run_at = wharf.now() WHERE queue = 'wharf.mail'")
        until(lambda: sink.got)
        until(lambda: s.sql("SELECT count(*) FROM wharf.file") == [(0,)])
    finally:
        s.stop()
        d.stop(no_assert=True)
