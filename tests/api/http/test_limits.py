"""Rate limits: spec 01 section 9. Servers with small buckets, so that counting to the end takes no time."""
import re
import threading
import time

import pytest
import requests
from wharf import WAIT, Client, Server, make_location, until


def limited(**rates):
    """Only the named limits are on."""
    off = {"key": 0, "write": 0, "test": 0, "organization": 0, "concurrency": 0, **rates}
    return Server(*[a for name, value in off.items() for a in ("--set", f"rate_limit.{name}={value}")], limits=True)


@pytest.fixture(scope="module")
def server():
    s = limited(key=1, key_burst=10, write=1, write_burst=5, test=1, test_burst=3, organization=1, organization_burst=40)
    yield s
    s.stop()


def until_refused(ask, holds):
    """Asks until it is refused: (the answers before, the refusal). A bucket gives what it holds, and what comes back meanwhile: one in a second."""
    begun, good = time.monotonic(), []
    while status(a := ask(len(good))) != 429:
        good.append(a)
        assert len(good) <= holds + time.monotonic() - begun + 1
    assert len(good) >= holds
    return good, a


def status(a):
    return a.status if hasattr(a, "status") else a.status_code


def spent(client, holds, method="GET", path="/v1/locations", **more):
    return until_refused(lambda _: client.request(method, path, check=False, **more), holds)


@pytest.fixture(scope="module")
def installed():
    """As it is installed, behind a proxy."""
    s = Server("--set", "http.trusted_proxies=127.0.0.0/8", limits=True)
    yield s
    s.stop()


def told(answer):
    """The bucket that answers: (name, rate, what is left); the plain headers say the same."""
    policy, limit = (re.fullmatch(pattern, answer.headers[name]) for name, pattern in
                     (("RateLimit-Policy", r'"(\w+)";q=(\d+);w=1'), ("RateLimit", r'"(\w+)";r=(\d+);t=(\d+)')))
    assert policy[1] == limit[1]
    assert [answer.headers["RateLimit-" + n] for n in ("Limit", "Remaining", "Reset")] == [policy[2], limit[2], limit[3]] and int(limit[3]) >= 1
    return policy[1], int(policy[2]), int(limit[2])


def test_defaults(installed):
    org = installed.organization()
    assert told(org.client().get("/v1/locations")) == ("key", 100, 199)
    assert told(org.client().post("/v1/locations", {}, expect=400)) == ("write", 50, 99)
    assert told(org.client(test=True).get("/v1/locations")) == ("key", 25, 49)
    assert told(org.client(test=True).post("/v1/locations", {}, expect=400)) == ("key", 25, 49)
    assert "RateLimit" not in org.client().request("GET", "/v1/locations", key="nonsense", expect=401).headers


def test_default_of_organizations():
    """Of its buckets the emptiest answers; the keys' are off here."""
    s = Server("--set", "rate_limit.key=0", "--set", "rate_limit.write=0", limits=True)
    try:
        assert told(s.organization().client().get("/v1/locations")) == ("organization", 500, 999)
    finally:
        s.stop()


def test_default_of_addresses(installed):
    """20, and one more every three seconds."""
    begun = time.monotonic()
    codes = [failing(installed, "192.0.2.99").status_code for _ in range(30)]
    more = int((time.monotonic() - begun) / 3) + 1
    assert codes[:20] == [401] * 20 and 20 <= codes.count(401) <= 20 + more


@pytest.mark.usual_settings  # with request hooks the seventh does not get as far: no thread is free for its hook, 503
def test_default_of_requests_in_flight(installed):
    """64 wait for a lock; the others are told at once."""
    org = installed.organization()
    c = org.client()
    where, results, go = "/v1/locations/" + make_location(c)["id"], [], threading.Barrier(70)

    def write():
        mine = Client(installed, c.key)
        go.wait()
        results.append(mine.request("POST", where, body={"name": "n"}, check=False))

    installed.db.autocommit = False
    threads = [threading.Thread(target=write) for _ in range(70)]
    try:
        with installed.db.cursor() as cursor:
            cursor.execute("SELECT 1 FROM locations.location WHERE id = %s FOR UPDATE", (where.rsplit("/", 1)[1],))
        [t.start() for t in threads]
        end = time.monotonic() + WAIT
        while len(results) < 6 and time.monotonic() < end:
            time.sleep(0.01)
        assert [(r.status, r.errors) for r in results] == [(429, ["concurrency"])] * 6
    finally:
        installed.db.rollback()
        installed.db.autocommit = True
        [t.join() for t in threads]
    assert [r.status for r in results[6:]] == [200] * 64


def test_allow_lists_behind_a_proxy(installed, server):
    """An allow-list (spec 01 section 5) is compared with whom a trusted proxy saw; where there is none, with who is connected."""
    for s, trusted in ((installed, True), (server, False)):
        c = s.organization().client()
        s.sql("UPDATE wharf.api_key SET ip_allowlist = '[\"192.0.2.7\"]' WHERE last4 = %s", c.key[-4:])  # before the key is read
        for sent, good in (("192.0.2.7", True), ("192.0.2.8", False), ("192.0.2.7, 192.0.2.8", False), ("192.0.2.8, 192.0.2.7", True), ("", False)):
            a = c.request("GET", "/v1/locations", headers={"X-Forwarded-For": sent})
            assert (a.status, a.code) == ((200, None) if good and trusted else (403, "ip_access")), sent


def test_a_key_runs_out(server):
    c = server.organization().client()
    good, a = spent(c, 10)
    left = [int(g.headers["RateLimit-Remaining"]) for g in good]
    assert all(g.status == 200 for g in good) and left[0] == 9 and left[-1] == 0
    assert all(n >= before - 1 for before, n in zip(left, left[1:]))  # one less each time, but for those that came back
    assert a.code == "rate_limited" and a.errors == ["key"] and int(a.headers["Retry-After"]) >= 1
    assert a.headers["RateLimit"].startswith('"key";r=0;t=')


def test_it_comes_back(server):
    c = server.organization().client()
    _, a = spent(c, 10)
    time.sleep(int(a.headers["Retry-After"]) + 0.1)
    assert c.get("/v1/locations").status == 200


def test_writes_have_a_bucket_of_their_own(server):
    c = server.organization().client()
    good, a = spent(c, 5, "POST", body={})
    assert all(g.status == 400 for g in good) and a.errors == ["write"]
    assert c.get("/v1/locations").status == 200  # reads go on
    assert c.get("/v1/locations").headers["RateLimit-Policy"].startswith('"key"')


def test_keys_do_not_share_but_organizations_do(server):
    org = server.organization()
    clients = []

    def ask(n):
        if n % 9 == 0:
            clients.append(org.client())
        return clients[-1].request("GET", "/v1/locations", check=False)
    good, a = until_refused(ask, 40)
    assert all(g.status == 200 for g in good) and a.errors == ["organization"]
    assert server.organization().client().get("/v1/locations").status == 200


def test_test_keys(server):
    c = server.organization().client(test=True)
    good, a = spent(c, 3)
    assert all(g.status == 200 for g in good) and a.errors == ["key"]


def test_options_and_not_modified_cost_nothing(server):
    org = server.organization()
    c, tag = org.client(), org.client().get("/v1/locations").headers["ETag"]
    for _ in range(30):
        assert c.request("OPTIONS", "/v1/locations", check=False).status == 204
        assert c.get("/v1/locations", headers={"If-None-Match": tag}, expect=304).headers["RateLimit-Remaining"] == "10"


def test_scope_refusals_are_charged_and_come_after(server):
    c = server.organization().client(scopes="users:read")
    good, _ = spent(c, 10)
    assert all(g.status == 403 for g in good)


def test_buckets_are_one_for_all_workers(server):
    """Each connection goes to one of several workers; together they get no more than one bucket holds."""
    org = server.organization()
    key = org.key()
    good, _ = until_refused(lambda _: Client(server, key).request("GET", "/v1/locations", check=False), 10)
    assert all(g.status == 200 for g in good)


@pytest.fixture(scope="module")
def guarded():
    s = Server("--set", "rate_limit.ip=1", "--set", "rate_limit.ip_burst=4", "--set", "rate_limit.ip_exempt=::1",
               "--set", "http.trusted_proxies=127.0.0.0/8", limits=True)
    yield s
    s.stop()


def failing(server, address, key="nonsense"):
    return requests.get(server.base + "/v1/locations", headers={"SVC-API-KEY": key, "X-Forwarded-For": address} if key else {"X-Forwarded-For": address}, timeout=WAIT)


def test_failed_keys_per_address(guarded):
    keys = ("x", None, "wh_live_" + "0" * 38, "y", "z")
    good, r = until_refused(lambda n: failing(guarded, "192.0.2.1", keys[n % len(keys)]), 4)
    assert all(g.status_code == 401 for g in good)
    assert r.json()["errors"] == ["ip"] and r.json()["code"] == "rate_limited" and int(r.headers["Retry-After"]) >= 1
    assert failing(guarded, "192.0.2.2").status_code == 401  # another address
    assert guarded.organization().client().get("/v1/locations", headers={"X-Forwarded-For": "192.0.2.1"}).status == 200  # a good key goes on
    for path in ("/livez", "/readyz", "/healthz") * 10:  # probes have no key and no limit
        assert requests.get(guarded.base + path, headers={"X-Forwarded-For": "192.0.2.1"}, timeout=WAIT).status_code == 200


def test_an_ipv6_network_is_one_address(guarded):
    until_refused(lambda i: failing(guarded, f"2001:db8:1:1::{i}"), 4)
    assert failing(guarded, "2001:db8:1:2::1").status_code == 401


def test_what_clients_forge_is_not_believed(guarded):
    """The proxy adds whom it saw at the end; what stands before came from the client."""
    until_refused(lambda i: failing(guarded, f"203.0.113.{i}, 198.51.100.7"), 4)


def test_without_trusted_proxies_the_header_says_nothing():
    s = Server("--set", "rate_limit.ip=1", "--set", "rate_limit.ip_burst=2", "--set", "rate_limit.ip_exempt=", limits=True)
    try:
        good, _ = until_refused(lambda i: failing(s, f"203.0.113.{i}"), 2)
        assert all(g.status_code == 401 for g in good)
    finally:
        s.stop()


def test_loopback_is_exempt_by_default():
    s = Server("--set", "rate_limit.ip=1", "--set", "rate_limit.ip_burst=1", limits=True)
    try:
        assert [requests.get(s.base + "/v1/locations", timeout=WAIT).status_code for _ in range(5)] == [401] * 5
    finally:
        s.stop()


@pytest.mark.parametrize("setting", ["http.trusted_proxies=10.0.0.0/33", "rate_limit.ip_exempt=localhost", "http.trusted_proxies=1.2.3"])
def test_settings_that_are_no_networks(setting):
    with pytest.raises(RuntimeError, match="neither an address nor a network"):
        Server("--set", setting)


def test_in_flight():
    """More requests at once than allowed: the rest is refused, and everything is given back."""
    s = limited(concurrency=2)
    try:
        org = s.organization()
        c = org.client()
        lock = s.db.cursor()
        location = make_location(c)
        s.db.autocommit = False
        lock.execute("SELECT 1 FROM locations.location WHERE id = %s FOR UPDATE", (location["id"],))
        results, threads = [], []
        for i in range(6):
            t = threading.Thread(target=lambda: results.append(Client(s, c.key).request("POST", f"/v1/locations/{location['id']}", body={"name": "n"}, check=False)))
            t.start()
            threads.append(t)
        end = time.monotonic() + WAIT
        while len(results) < 4 and time.monotonic() < end:
            time.sleep(0.01)
        assert [(r.status, r.errors) for r in results] == [(429, ["concurrency"])] * 4
        s.db.rollback()
        s.db.autocommit = True
        [t.join() for t in threads]
        assert [r.status for r in results[4:]] == [200, 200]
        assert c.get("/v1/locations").status == 200
        metrics = requests.get(s.admin + "/metrics", timeout=WAIT).text
        assert 'wharf_rate_limited_total{reason="concurrency"} 4' in metrics
    finally:
        s.stop()


def test_key_allow_list(server):
    org = server.organization()
    c = org.client()
    set_list = lambda text: server.sql("UPDATE wharf.api_key SET ip_allowlist = %s WHERE organization_id = %s; NOTIFY wharf_auth", text, org.id)
    for text, good in (('["127.0.0.1"]', True), ('["10.0.0.0/8", "127.0.0.0/8"]', True), ('["10.0.0.0/8"]', False), ('["::1"]', False), ('["junk"]', False), ("[]", True)):
        set_list(text)
        time.sleep(1)
        a = c.request("GET", "/v1/locations", check=False)
        assert (a.status, a.code) == ((200, None) if good else (403, "ip_access")), text


def test_limits_of_one_organization_or_key(server):
    """An operator gives them from the shell; running servers hear of it, and the lists show them."""
    org, other = server.organization(), server.organization()
    c, unlimited = org.client(), org.client()
    key = c.get("/v1/auth").data["key"]["id"]

    def told_soon(client, method, *wanted):
        return until(lambda: told(client.request(method, "/v1/locations", body={} if method == "POST" else None, check=False))[:2] == wanted)
    server.command("key", "limit", key, "--rate", "400", "--write", "300", "--write-burst", "900")
    server.command("org", "limit", org.id, "--rate", "250", "--burst", "250")
    assert told_soon(c, "GET", "organization", 250)
    until(lambda: told(c.get("/v1/locations"))[2] > 200)  # what was taken is counted by time, and comes back soon
    server.command("org", "limit", org.id, "--burst", "5000")  # the rate stays
    assert told_soon(c, "GET", "key", 400)
    until(lambda: told(c.get("/v1/locations"))[2] > 780)  # twice the rate
    server.command("org", "limit", org.id, "--rate", "0")
    assert told_soon(c, "POST", "key", 400)
    server.command("key", "limit", key, "--rate", "0")
    assert told_soon(c, "POST", "write", 300)
    assert told(unlimited.get("/v1/locations"))[:2] == told(other.client().get("/v1/locations"))[:2] == ("key", 1)
    line = next(x for x in server.command("key", "list", "--org", org.id).splitlines() if x.startswith(key))
    assert "  rate=0,write=300,write_burst=900  " in line
    assert re.search(rf"^{org.id} .* burst=5000,rate=0  ", server.command("org", "list"), re.M)
    assert [x[0] for x in org.changes(key)].count("updated") == 2
    server.command("org", "limit", org.id, "--reset")
    server.command("key", "limit", key, "--reset", "--concurrency", "7")
    assert told_soon(c, "GET", "key", 1)
    assert "  concurrency=7  " in server.command("key", "list", "--org", org.id) and re.search(rf"^{org.id} .* -  ", server.command("org", "list"), re.M)


def test_a_test_organization_has_the_limits_of_its_live_one(server):
    org = server.organization()
    c = org.client(test=True)
    server.command("key", "limit", c.get("/v1/auth").data["key"]["id"], "--rate", "1000")
    server.command("org", "limit", org.id, "--rate", "1", "--burst", "1")
    assert until(lambda: told(c.request("GET", "/v1/locations", check=False))[0] == "organization")
    twin = server.sql("SELECT test_organization_id FROM wharf.organization WHERE id = %s", org.id)[0][0]
    server.command("org", "limit", twin, "--rate", "0")
    assert until(lambda: told(c.request("GET", "/v1/locations", check=False))[0] == "key")


@pytest.mark.parametrize("args, said", [
    (("org", "limit", "org_x", "--rate", "5"), "there is no organization org_x"), (("key", "limit", "key_x", "--rate", "5"), "there is no key key_x in use"),
    (("org", "limit", "ORG", "--rate", "1.5"), "--rate is a whole number from 0 to 1000000"), (("org", "limit", "ORG", "--burst", "0"), "--burst is a whole number from 1"),
    (("org", "limit", "ORG", "--write", "5"), "no option --write"), (("org", "limit", "ORG"), "wharf org limit ORG"), (("key", "limit", "--rate", "5"), "wharf key limit KEY")])
def test_limits_that_can_not_be(server, args, said):
    with pytest.raises(RuntimeError, match=re.escape(said)):
        server.command(*[server.organization().id if a == "ORG" else a for a in args])
