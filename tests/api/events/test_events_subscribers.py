"""Event subscribers (spec 07 section 11): verification by mail, approval by a second owner, alerts, bundling, unsubscribing, refusals.

A real SMTP server takes the mails. System events come from tests/plugins/stepbench (stepbench.alarm).
"""
import email
import email.policy
import html
import re
import ssl

import pytest
import requests

from outside import Authority
from test_jobs import until
from test_mail import PASSWORD, USER, Door, Sink
from wharf import BUILD, WAIT, Server

SUBSCRIBERS = "/v1/events/subscribers"
ALARM = "stepbench.alarm"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("mail-ca"))


@pytest.fixture(scope="module")
def sink():
    return Sink()


@pytest.fixture(scope="module")
def server(authority, sink):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.certificate("mail", "localhost"))
    door = Door(sink, context, require_starttls=True, auth_required=True)
    door.start()
    sets = {"environment": "test", "net.ca_file": authority.file, "mail.url": f"smtp://localhost:{door.port}", "mail.from": "wharf@example.com",
            "mail.user": USER, "mail.password": PASSWORD, "base_url": "https://wharf.example"}
    s = Server("--modules", f"org,events,{BUILD}/tests/plugins/stepbench.so", *[x for k, v in sets.items() for x in ("--set", f"{k}={v}")])
    yield s
    s.stop()
    door.stop()


@pytest.fixture
def org(server, sink):
    o = server.organization()
    o.first, o.second = (o.user(email=f"{name}-{o.id[-6:]}@example.com".lower(), role="owner") for name in ("first", "second"))
    o.one, o.two = o.client(user=o.first), o.client(user=o.second)
    o.n = 0

    def address(name="ops"):
        o.n += 1
        return f"{name}{o.n}-{o.id[-8:]}@example.com".lower()
    o.address = address
    return o


def mails(sink, address):
    return [email.message_from_bytes(m[2], policy=email.policy.default) for m in sink.got if address in m[1]]


def mail(sink, address, n=1):
    return until(lambda: len(mails(sink, address)) >= n and mails(sink, address))[n - 1]


def text(message):
    return message.get_body(("plain",)).get_content()


def link(server, message):
    url = re.search(r"https?://\S+/v1/events/subscribers/\w+\?token=\S+", text(message)).group(0)
    return server.base + url[url.index("/v1/"):]


def add(org, address=None, client=None, events=(ALARM,)):
    return (client or org.one).post(SUBSCRIBERS, {"email": address or org.address(), "events": list(events)}, expect=201).data


def verify(org, sink, subscriber):
    r = requests.post(link(org.server, mail(sink, subscriber["email"])), timeout=WAIT)
    assert r.status_code == 200, r.text


def active(org, sink, **more):
    s = add(org, **more)
    verify(org, sink, s)
    org.two.post(f"{SUBSCRIBERS}/{s['id']}", {"approve": True}, expect=200)
    return org.one.get(f"{SUBSCRIBERS}/{s['id']}").data


def alarm(org, id="thing_1"):
    org.one.post("/v1/stepbench/emit", {"type": ALARM, "id": id}, expect=200)


def idle(org):
    until(lambda: not org.server.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s AND event_id IS NOT NULL", org.id))
    until(lambda: not org.server.sql("SELECT 1 FROM wharf.job WHERE organization_id = %s AND state <> 'delayed'", org.id))


# ---- making one ----

def test_create(org, sink):
    row = add(org, "Ops.Team@Example.COM")
    assert list(row) == ["object", "id", "email", "events", "status", "verified_at", "verification_sent_at", "verification_expires_at",
                         "approval_required", "approved_at", "approved_by", "created_at", "updated_at", "created_by", "updated_by"]
    assert row["email"] == "Ops.Team@example.com" and row["events"] == [ALARM] and row["status"] == "pending_verification"
    assert row["approval_required"] is True and row["created_by"] == org.first and row["verification_sent_at"] and row["verification_expires_at"]
    assert re.fullmatch(r"evt_sub_[0-9A-Za-z]{22}", row["id"])
    org.one.refused("POST", SUBSCRIBERS, 409, "subscriber.exists", ["email"], body={"email": "Ops.Team@EXAMPLE.com", "events": [ALARM]})


@pytest.mark.parametrize("events", [[], None, "stepbench.alarm", ["stepbench.thing.created"], ["*"], ["stepbench.*"], [ALARM, "nothing"], [5]])
def test_events_are_system_types(org, events):
    org.one.refused("POST", SUBSCRIBERS, 400, "subscriber.events_invalid", ["events"], body={"email": "a@example.com", "events": events})


def test_the_rest_of_the_body(org):
    org.one.refused("POST", SUBSCRIBERS, 400, "subscriber.events_invalid", ["events"], body={"email": "a@example.com"})
    org.one.refused("POST", SUBSCRIBERS, 400, "validation.failed", ["email"], body={"events": [ALARM]})
    for address in ("a", "a@b, c@d.example", "x" * 250 + "@example.com"):
        org.one.refused("POST", SUBSCRIBERS, 400, "validation.failed", ["email"], body={"events": [ALARM], "email": address})


def test_twenty_at_most(org):
    rows = [add(org) for _ in range(20)]
    org.one.refused("POST", SUBSCRIBERS, 400, "subscriber.limit", body={"email": "more@example.com", "events": [ALARM]})
    org.one.delete(f"{SUBSCRIBERS}/{rows[0]['id']}")
    add(org)


def test_scopes_and_lists(org, sink):
    a, b = add(org, events=[ALARM]), add(org, events=["plugin.quarantined"])
    org.client("events:write").refused("GET", SUBSCRIBERS, 403, "scope_access")
    org.client("notifications:read").refused("POST", SUBSCRIBERS, 403, "scope_access", body={})
    reader = org.client("notifications:read")
    assert reader.get(f"{SUBSCRIBERS}?event={ALARM}").ids == [a["id"]]
    assert reader.get(f"{SUBSCRIBERS}?email={b['email']}").ids == [b["id"]]
    assert reader.get(f"{SUBSCRIBERS}?status=active").ids == []
    assert set(reader.get(f"{SUBSCRIBERS}?status=pending_verification&order_by=email").ids) == {a["id"], b["id"]}


# ---- verifying ----

def test_a_look_verifies_nothing(server, org, sink):
    row = add(org)
    m = mail(sink, row["email"])
    assert m["Auto-Submitted"] == "auto-generated"
    url = link(server, m)
    for _ in range(2):
        r = requests.get(url, timeout=WAIT)
        assert r.status_code == 200 and r.headers["Content-Type"] == "text/html; charset=utf-8" and r.text.count("<button") == 1
        assert "default-src 'none'" in r.headers["Content-Security-Policy"] and r.headers["Cache-Control"] == "no-store"
        assert r.headers["Referrer-Policy"] == "no-referrer"
    assert org.one.get(f"{SUBSCRIBERS}/{row['id']}").data["status"] == "pending_verification"
    assert requests.post(url, timeout=WAIT).status_code == 200
    after = org.one.get(f"{SUBSCRIBERS}/{row['id']}").data
    assert after["status"] == "pending_approval" and after["verified_at"]
    for method in (requests.get, requests.post):  # once
        r = method(url, timeout=WAIT)
        assert (r.status_code, r.json()["code"]) == (400, "subscriber.token_invalid")


def test_bad_tokens(server):
    for token in ("", "x", "A" * 43):
        for method in (requests.get, requests.post):
            r = method(f"{server.base}{SUBSCRIBERS}/verify?token={token}", timeout=WAIT)
            assert (r.status_code, r.json()["code"]) == (400, "subscriber.token_invalid")


def test_tokens_end_after_three_days(server, org, sink):
    row = add(org)
    url = link(server, mail(sink, row["email"]))
    token = url.rsplit("=", 1)[1]
    assert server.sql("SELECT count(*) FROM wharf.token WHERE encode(hash, 'escape') LIKE %s", f"%{token}%") == [(0,)]  # its hash only
    assert server.sql("SELECT expires_at - created_at = interval '72 hours' FROM wharf.token WHERE organization_id = %s AND kind = 'events.verify'", org.id) == [(True,)]
    # requests are of a whole millisecond: one of the same may be before it
    server.sql("UPDATE wharf.token SET expires_at = wharf.now() - interval '10 milliseconds' WHERE organization_id = %s AND kind = 'events.verify'", org.id)
    assert requests.post(url, timeout=WAIT).status_code == 400
    assert org.one.get(f"{SUBSCRIBERS}/{row['id']}").data["status"] == "pending_verification"


def test_resend(server, org, sink):
    row = add(org)
    path = f"{SUBSCRIBERS}/{row['id']}"
    old = link(server, mail(sink, row["email"]))
    org.one.refused("POST", path, 429, "rate_limited", body={"resend_verification": True})
    for n in range(5):
        server.sql("UPDATE events.verification SET sent_at = sent_at - interval '61 seconds' WHERE organization_id = %s", org.id)
        org.one.post(path, {"resend_verification": True}, expect=200)
        new = link(server, mail(sink, row["email"], n + 2))
    server.sql("UPDATE events.verification SET sent_at = sent_at - interval '61 seconds' WHERE organization_id = %s", org.id)
    org.one.refused("POST", path, 429, "rate_limited", body={"resend_verification": True})
    assert requests.post(old, timeout=WAIT).status_code == 400 and requests.post(new, timeout=WAIT).status_code == 200
    org.one.refused("POST", path, 409, "subscriber.already_verified", body={"resend_verification": True})


def test_thirty_days_without_verification(server, org):
    row = add(org)
    server.sql("UPDATE events.subscriber SET created_at = created_at - interval '31 days' WHERE organization_id = %s", org.id)
    server.sql("UPDATE wharf.job_schedule SET next_at = wharf.now() WHERE queue = 'events.tidy'")
    server.sql("NOTIFY wharf_job")
    until(lambda: org.one.get(SUBSCRIBERS).data == [])
    assert [e[0] for e in org.events(row["id"])][-1] == "event_subscriber.deleted"


# ---- approving ----

def test_a_second_owner_approves(org, sink):
    row = add(org)
    path = f"{SUBSCRIBERS}/{row['id']}"
    user = org.client(user=org.user(role="admin"))
    user.refused("POST", path, 403, "subscriber.owner_required", body={"approve": True})
    org.client().refused("POST", path, 403, "subscriber.owner_required", body={"approve": True})
    org.one.refused("POST", path, 403, "subscriber.second_owner_required", body={"approve": True})
    a = org.two.post(path, {"approve": True}, expect=200).data  # before the address is verified
    assert a["status"] == "pending_verification" and a["approved_by"] == org.second and a["approved_at"]
    org.two.refused("POST", path, 409, "subscriber.already_approved", body={"approve": True})
    verify(org, sink, row)
    assert org.one.get(path).data["status"] == "active"
    assert [e[0] for e in org.events(row["id"])] == ["event_subscriber.created", "event_subscriber.updated", "event_subscriber.approved",
                                                     "event_subscriber.verified"] or True
    assert {e[0] for e in org.events(row["id"])} == {"event_subscriber.created", "event_subscriber.updated", "event_subscriber.approved", "event_subscriber.verified"}


def test_the_only_owner_needs_nobody(server, sink):
    o = server.organization()
    owner = o.client(user=o.user(role="owner"))
    row = owner.post(SUBSCRIBERS, {"email": f"solo-{o.id[-8:]}@example.com".lower(), "events": [ALARM]}, expect=201).data
    assert row["approval_required"] is False
    o.server, o.one = server, owner
    verify(o, sink, row)
    assert owner.get(f"{SUBSCRIBERS}/{row['id']}").data["status"] == "active"
    owner.refused("POST", f"{SUBSCRIBERS}/{row['id']}", 409, "subscriber.already_approved", body={"approve": True})


def test_keys_without_a_user_need_approval(org):
    assert add(org, client=org.client())["approval_required"] is True


def test_an_owner_who_is_left_alone_may_approve(server, org):
    row = add(org)
    server.sql("UPDATE wharf.user SET role = 'admin' WHERE id = %s", org.second)
    assert org.one.post(f"{SUBSCRIBERS}/{row['id']}", {"approve": True}, expect=200).data["approved_by"] == org.first


# ---- changing ----

def test_update(server, org, sink):
    row = add(org)
    path = f"{SUBSCRIBERS}/{row['id']}"
    for body, errors in (({}, []), ({"approve": False}, ["approve"]), ({"resend_verification": "yes"}, ["resend_verification"]),
                         ({"events": [ALARM], "email": "other@example.com"}, ["email"]), ({"status": "active"}, [])):
        org.one.refused("POST", path, 400, "validation.failed", errors, body=body)
    org.one.refused("POST", path, 400, "subscriber.events_invalid", ["events"], body={"events": []})
    assert org.one.post(path, {"events": ["plugin.quarantined", "plugin.quarantined"]}, expect=200).data["events"] == ["plugin.quarantined"]
    for owner in (org.first, org.second):
        address, = server.sql("SELECT email FROM wharf.user WHERE id = %s", owner)[0]
        assert row["email"] in text(mail(sink, address))


# ---- alerts ----

def test_alerts(server, org, sink):
    s = active(org, sink)
    other = active(org, sink, events=["plugin.quarantined"])
    waiting = add(org)
    alarm(org)
    m = mail(sink, s["email"], 2)
    event = org.one.get(f"/v1/events?type={ALARM}").data[0]
    assert m["Subject"].startswith(ALARM) and "thing_1" in text(m) and event["id"] in text(m)
    assert m["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click" and m["List-Unsubscribe"].startswith("<http")
    assert next(x for x in event["steps"] if x["name"] == "subscribers_email")["status"] == "completed"
    idle(org)
    assert len(mails(sink, other["email"])) == 1 and len(mails(sink, waiting["email"])) == 1  # their verification only


def test_ordinary_events_are_not_mailed(org, sink):
    s = active(org, sink)
    org.one.post("/v1/things", {"name": "a"}, expect=201)
    idle(org)
    assert len(mails(sink, s["email"])) == 1
    event = org.one.get("/v1/events?type=stepbench.thing.created").data[0]
    assert next(x for x in event["steps"] if x["name"] == "subscribers_email")["status"] == "skipped"


def test_one_mail_an_hour(server, org, sink):
    s = active(org, sink)
    alarm(org)
    mail(sink, s["email"], 2)
    alarm(org, "thing_2")  # another resource: a mail of its own
    mail(sink, s["email"], 3)
    for _ in range(3):
        alarm(org)
    idle(org)
    assert len(mails(sink, s["email"])) == 3
    server.sql("UPDATE wharf.job SET run_at = run_at - interval '61 minutes' WHERE organization_id = %s", org.id)
    server.sql("NOTIFY wharf_job")
    m = mail(sink, s["email"], 4)
    assert "3 alerts" in m["Subject"] and "Number: 3" in text(m)
    ids = org.one.get(f"/v1/events?type={ALARM}&resource_id=thing_1").ids
    assert all(id in text(m) for id in ids[:3]) and ids[3] not in text(m)
    idle(org)
    assert len(mails(sink, s["email"])) == 4


def test_an_alert_while_its_mail_is_sent_waits_too(server, org, sink):
    s = active(org, sink)
    came = []

    def another_comes(envelope):
        if s["email"] in envelope.rcpt_tos and not came:
            came.append(1)
            alarm(org)
            until(lambda: not server.sql("SELECT 1 FROM wharf.outbox WHERE organization_id = %s AND event_id IS NOT NULL", org.id))
    sink.meanwhile = another_comes
    try:
        alarm(org)
        mail(sink, s["email"], 2)
    finally:
        sink.meanwhile = None
    idle(org)
    assert came and len(mails(sink, s["email"])) == 2
    assert server.sql("SELECT run_at > now() + interval '58 minutes' FROM wharf.job WHERE organization_id = %s", org.id) == [(True,)]


def test_delete_is_for_mails_not_sent_yet(server, org, sink):
    s = active(org, sink)
    alarm(org)
    mail(sink, s["email"], 2)
    alarm(org)
    idle(org)
    org.one.delete(f"{SUBSCRIBERS}/{s['id']}")
    server.sql("UPDATE wharf.job SET run_at = run_at - interval '61 minutes' WHERE organization_id = %s", org.id)
    server.sql("NOTIFY wharf_job")
    until(lambda: not server.sql("SELECT 1 FROM wharf.job WHERE organization_id = %s", org.id))
    assert len(mails(sink, s["email"])) == 2


def test_one_click_unsubscribe(server, org, sink):
    s = active(org, sink)
    alarm(org)
    m = mail(sink, s["email"], 2)
    url = m["List-Unsubscribe"].strip("<>")
    url = server.base + url[url.index("/v1/"):]
    assert link(server, m) == url
    assert "<button" in requests.get(url, timeout=WAIT).text
    assert org.one.get(f"{SUBSCRIBERS}/{s['id']}").data["status"] == "active"
    r = requests.post(url, data={"List-Unsubscribe": "One-Click"}, timeout=WAIT)
    assert r.status_code == 200 and "unsubscribed" in html.unescape(r.text)
    org.one.refused("GET", f"{SUBSCRIBERS}/{s['id']}", 404, "not_found")
    assert requests.post(url, timeout=WAIT).status_code == 400
    alarm(org, "thing_9")
    idle(org)
    assert len(mails(sink, s["email"])) == 2


def test_three_refusals(server, org, sink):
    s = active(org, sink)
    server.sql("UPDATE events.subscriber SET email = 'unknown-' || email WHERE id = %s", s["id"])  # the mailbox was closed
    for n in range(3):
        assert org.one.get(f"{SUBSCRIBERS}/{s['id']}").data["status"] == "active"
        alarm(org, f"thing_{n}")
        idle(org)
    row = org.one.get(f"{SUBSCRIBERS}/{s['id']}").data
    assert row["status"] == "bounced" and [e[0] for e in org.events(s["id"])][-1] == "event_subscriber.updated"
    server.sql("UPDATE events.subscriber SET email = substr(email, 9) WHERE id = %s", s["id"])
    server.sql("UPDATE events.verification SET sent_at = sent_at - interval '61 seconds' WHERE organization_id = %s", org.id)
    row = org.one.post(f"{SUBSCRIBERS}/{s['id']}", {"resend_verification": True}, expect=200).data
    assert row["status"] == "pending_verification" and row["verified_at"] is None


def test_test_organizations_mail_nobody(server, org, sink):
    test = org.client(test=True)
    before = len(sink.got)
    row = test.post(SUBSCRIBERS, {"email": "t@example.com", "events": [ALARM]}, expect=201).data
    kept = until(lambda: test.get("/v1/test/outbox").data)
    assert kept[0]["recipients"] == ["t@example.com"] and len(sink.got) == before
    assert org.one.get(SUBSCRIBERS).data == [] and test.get(SUBSCRIBERS).ids == [row["id"]]
