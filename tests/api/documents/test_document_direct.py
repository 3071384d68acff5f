"""Links that lead straight to the S3-compatible server (blob.s3.direct): spec 05 sections 2, 3.3 and 6. Clients that know nothing but a URL and the
headers that the answer says; the S3 server of the tests makes each signature again with Amazon's library."""
import re
import threading

import pytest
import requests

from document_files import DOCUMENTS, PDF, announce, body, get, link, make, md5, post, sha256
from s3 import Store
from wharf import WAIT, Client, Server, until

SIGNED = r"\?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=[^&]+&X-Amz-Date=\d{8}T\d{6}Z&X-Amz-Expires=%d&X-Amz-SignedHeaders=%s&%sX-Amz-Signature=[0-9a-f]{64}$"
BROKEN = 1 << 30


class World:
    def __init__(self, **settings):
        self.s3 = Store()
        self.s3.page = 1000
        self.base = f"http://localhost:{self.s3.port}/wharf"  # not where the server itself goes
        sets = {"blob.s3.direct": "true", "blob.s3.client_endpoint": f"http://localhost:{self.s3.port}", "blob.grace": 0, "blob.upload_limit": 3000000, **settings}
        self.server = Server("--modules", "org,documents", "--test-clock", *self.s3.settings(), *(w for k, v in sets.items() for w in ("--set", f"{k}={v}")))
        self.org, self.offset = self.server.organization(), 0
        self.client = self.org.client()

    def ahead(self, seconds):
        self.offset += seconds
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def swept(self, condition):
        """Waits for the job that looks each minute."""
        self.ahead(61)
        return until(condition)

    def collect(self):
        return self.server.command("files", "collect", *self.server.settings())

    def sql(self, row, columns="status, failure_reason, versions_count"):
        """The row without asking the API, which would look for the bytes."""
        return self.server.sql(f"SELECT {columns} FROM documents.document WHERE id = %s", row["id"])[0]

    def upload(self, row):
        return f"uploads/{self.org.id}/" + row["upload_url"].split("/uploads/")[1].split("?")[0].split("/")[1]

    def copies(self):
        return {n for n in self.s3.objects if n.startswith("downloads/")}

    def url(self, row, more=""):
        return get(self.client, row, f"?include_document_url=true{more}")["document_url"]

    def stop(self):
        self.s3.go.set()
        self.server.stop()
        self.s3.shutdown()
        self.s3.server_close()


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.stop()


@pytest.fixture(autouse=True)
def healthy(world):
    yield
    world.s3.broken = world.s3.ahead = 0
    world.s3.go.set()


def bring(row, data, **headers):
    """What a client does that was told no more than this."""
    return requests.put(row["upload_url"], data=data, headers={**row["upload_headers"], **headers}, timeout=WAIT)


def refused(r, status, code):
    assert (r.status_code, re.search("<Code>(.*)</Code>", r.text)[1]) == (status, code), r.text


def read(url, **headers):
    return requests.get(url, headers=headers, timeout=WAIT)


def gone(url):
    refused(read(url), 404, "NoSuchKey")


# ---- bringing and reading ----

def test_links_lead_to_the_s3_server(world):
    """Spec 05 section 2: requested until somebody looks; a retrieve finds the bytes, and all that a PUT to this server does is done."""
    row = announce(world.client, mime_type="application/pdf", size=len(PDF), checksum_md5=md5(PDF), checksum_sha256=sha256(PDF))
    assert re.match(re.escape(world.base) + f"/uploads/{world.org.id}/file_[0-9A-Za-z]+" + SIGNED % (3600, "content-md5%3Bcontent-type%3Bhost", ""), row["upload_url"])
    assert row["upload_headers"] == {"Content-Type": "application/pdf", "Content-MD5": md5(PDF)}
    assert bring(row, PDF).status_code == 200 and world.sql(row)[0] == "requested"
    done = get(world.client, row)
    assert (done["status"], done["versions_count"], done["size"], done["checksum_sha256"], done["mime_type"]) == ("completed", 1, len(PDF), sha256(PDF), "application/pdf")
    assert [e[0] for e in world.org.events(row["id"])] == ["document.created", "document.uploaded", "document.updated"]
    assert world.s3.objects[f"objects/{sha256(PDF)[:2]}/{sha256(PDF)}"][0] == PDF and world.upload(row) not in world.s3.objects
    url = world.url(row)
    assert re.match(re.escape(world.base) + f"/downloads/{world.org.id}/file_[0-9A-Za-z]+" +
                    SIGNED % (900, "host", "response-cache-control=[^&]+&response-content-disposition=[^&]+&response-content-type=[^&]+&"), url)
    assert read(url).content == PDF and read(url, Range="bytes=1-3").content == PDF[1:4]
    assert requests.get(f"{world.server.base}{DOCUMENTS}/{row['id']}/content", headers={"SVC-API-KEY": world.client.key}, timeout=WAIT).content == PDF


@pytest.mark.parametrize("data, type, told, disposition", [
    (PDF, "application/pdf", "application/pdf", "inline"), (b"a,b\n", "text/csv", "text/csv; charset=utf-8", "attachment"), (b"plain", "text/plain", "text/plain; charset=utf-8", "inline"),
    (b"<script>1</script>", "text/html", "application/octet-stream", "attachment"), (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "application/octet-stream", "attachment"),
    (b"<?xml version='1.0'?><a/>", "application/xml", "application/octet-stream", "attachment"), (b"alert(1)", "text/javascript", "application/octet-stream", "attachment"),
    (b"\0\1", "application/octet-stream", "application/octet-stream", "attachment")])
def test_what_the_s3_server_says_of_bytes(world, data, type, told, disposition):
    """Spec 05 section 3.2, as far as the answer is not ours: type and disposition stand in the signed link."""
    row = announce(world.client, mime_type=type, filename='Größe 1+"x".y')
    assert bring(row, data).status_code == 200
    r = read(world.url(row))
    assert (r.status_code, r.content, r.headers["Content-Type"], r.headers["Cache-Control"]) == (200, data, told, "private, max-age=0")
    name = get(world.client, row)["filename"]
    assert r.headers["Content-Disposition"].startswith(f"{disposition}; filename=\"Gr__e 1+") and "; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201+" in r.headers["Content-Disposition"], (r.headers, name)


def altered(url, part, value):
    assert re.search(part, url), url
    return re.sub(part, value, url)


def test_the_s3_server_refuses_what_was_not_signed(world):
    row = announce(world.client, mime_type="application/pdf", checksum_md5=md5(PDF))
    refused(bring(row, PDF, **{"Content-Type": "text/html"}), 403, "SignatureDoesNotMatch")
    refused(bring(row, PDF, **{"Content-MD5": md5(b"x")}), 403, "SignatureDoesNotMatch")
    refused(requests.put(row["upload_url"], data=PDF, timeout=WAIT), 403, "SignatureDoesNotMatch")
    refused(bring(row, PDF + b"x"), 400, "BadDigest")
    other = announce(world.client, mime_type="application/pdf", checksum_md5=md5(PDF))
    theirs = other["upload_url"].split("?")[0].rsplit("/", 1)[1]
    for url in (altered(row["upload_url"], "Expires=3600", "Expires=3601"), altered(row["upload_url"], r"file_\w+", theirs), altered(row["upload_url"], "/uploads/", "/objects/"),
                altered(row["upload_url"], "content-md5%3B", ""), row["upload_url"][:-1] + ("0" if row["upload_url"][-1] != "0" else "1")):
        refused(bring({**row, "upload_url": url}, PDF), 403, "SignatureDoesNotMatch")
    for method in ("GET", "DELETE", "POST"):
        refused(requests.request(method, row["upload_url"], headers=row["upload_headers"], timeout=WAIT), 403, "SignatureDoesNotMatch")
    assert get(world.client, row)["status"] == get(world.client, other)["status"] == "requested"
    assert bring(row, PDF).status_code == 200 and get(world.client, row)["status"] == "completed"
    url = world.url(row)
    refused(requests.put(url, data=b"x", timeout=WAIT), 403, "SignatureDoesNotMatch")
    for part, value in (("/downloads/", "/objects/"), ("inline", "attachment"), (r"Expires=\d+", "Expires=901")):
        refused(read(altered(url, part, value)), 403, "SignatureDoesNotMatch")


def test_a_document_without_a_type_says_what_to_send(world):
    row = announce(world.client)
    assert row["upload_headers"] == {"Content-Type": "application/octet-stream"}
    refused(bring(row, PDF, **{"Content-Type": "application/pdf"}), 403, "SignatureDoesNotMatch")
    assert bring(row, PDF).status_code == 200 and get(world.client, row)["mime_type"] == "application/pdf"


def test_links_end_by_the_clock_of_the_s3_server(world):
    """Spec 05 sections 1 and 3.3: an hour to bring, 15 minutes to read."""
    row, done = announce(world.client), make(world.client, b"read in time")
    url = world.url(done)
    world.s3.ahead = 895
    assert read(url).status_code == 200
    world.s3.ahead = 901
    refused(read(url), 403, "AccessDenied")
    world.s3.ahead = 3595
    assert bring(row, PDF).status_code == 200
    world.s3.ahead = 3601
    refused(bring(row, PDF), 403, "AccessDenied")


def test_other_links_lead_here(world):
    """Public documents have their permanent URL; content in a request is stored as ever."""
    row = make(world.client, b"public bytes", visibility="public")
    url = link(world.server, world.url(row))
    assert url == f"{world.server.base}/v1/public/documents/{row['id']}/Contract%202026.txt" and read(url).content == b"public bytes"


# ---- the end of links ----

@pytest.mark.parametrize("purge", ["", "?purge=true"])
def test_a_delete_ends_all_links_at_once(world, purge):
    """Spec 05 section 3 [S]: URLs die at once; those of older versions, too. What shares the bytes is not touched."""
    row, twin = make(world.client, b"of two " + purge.encode()), make(world.client, b"of two " + purge.encode())
    urls = [world.url(row)]
    post(world.client, row, content="data:text/plain;base64,c2Vjb25k")
    urls += [world.url(row), world.url(row, "&version=1")]
    theirs = world.url(twin)
    assert [read(u).content for u in urls] == [b"of two " + purge.encode(), b"second", b"of two " + purge.encode()]
    world.client.delete(f"{DOCUMENTS}/{row['id']}{purge}")
    for url in urls:
        gone(url)
    assert read(theirs).content == b"of two " + purge.encode()


def test_a_delete_while_the_s3_server_is_down(world):
    """Links that are out can't be ended: 503 and the document as it was. Where none is out nothing has to be asked."""
    row, quiet = make(world.client, b"to be deleted later"), make(world.client, b"never read")
    url = world.url(row)
    world.s3.broken = BROKEN
    r = world.client.request("DELETE", f"{DOCUMENTS}/{row['id']}", expect=503)
    assert (r.code, r.headers["Retry-After"]) == ("storage.unavailable", "5")
    world.client.delete(f"{DOCUMENTS}/{quiet['id']}")
    world.s3.broken = 0
    assert read(url).status_code == 200 and get(world.client, row)["status"] == "completed"
    world.client.delete(f"{DOCUMENTS}/{row['id']}")
    gone(url)


def test_links_after_a_delete_that_was_given_up(world):
    """The copy is erased, the transaction rolled back: the next link leads to a copy again."""
    row = make(world.client, b"given up")
    url = world.url(row)
    world.s3.objects.pop(next(n for n in world.copies() if n in url))
    gone(url)
    assert read(world.url(row)).content == b"given up" and read(url).content == b"given up"


def test_a_link_that_is_made_during_a_delete(world):
    """The copy is on its way when the document is deleted: when the delete is answered there is no copy."""
    row = make(world.client, b"a race")
    seen, answers = len(world.s3.requests), {}
    world.s3.go.clear()
    reader = threading.Thread(target=lambda: answers.update(url=world.client.get(f"{DOCUMENTS}/{row['id']}?include_document_url=true", expect=None)))
    reader.start()
    until(lambda: any(r[0] == "PUT" and "/downloads/" in r[1] for r in world.s3.requests[seen:]))
    other = world.org.client()
    killer = threading.Thread(target=lambda: answers.update(deleted=other.request("DELETE", f"{DOCUMENTS}/{row['id']}").status))
    killer.start()
    until(lambda: world.server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") != [(0,)])
    world.s3.go.set()
    for t in (reader, killer):
        t.join()
    assert answers["deleted"] == 200 and answers["url"].status == 200
    gone(answers["url"].data["document_url"])


def test_visibility_moves_no_bytes(world):
    """Spec 05 section 3.4: what is public is read by our route, so a change asks the S3 server nothing; signed links stay good for their 15 minutes."""
    row = make(world.client, b"shown and hidden")
    url, names, seen = world.url(row), set(world.s3.objects), len(world.s3.requests)
    world.s3.broken = BROKEN
    post(world.client, row, visibility="public")
    public = f"{world.server.base}/v1/public/documents/{row['id']}/{row['filename']}"
    post(world.client, row, visibility="private")
    assert requests.get(public, timeout=WAIT).status_code == 404 and len(world.s3.requests) == seen
    world.s3.broken = 0
    assert read(url).content == b"shown and hidden" and set(world.s3.objects) - names == set()


def test_links_stay_on_their_version(world):
    """Spec 05 section 4: signed URLs stay on theirs."""
    row = make(world.client, b"first")
    first = world.url(row)
    again = post(world.client, row, renew_upload=True)
    assert bring(again, b"second").status_code == 200
    second = world.url(row)
    assert (read(first).content, read(second).content, read(world.url(row, "&version=1")).content) == (b"first", b"second", b"first")


# ---- who takes the bytes ----

def test_bytes_are_taken_without_a_request(world):
    """Spec 05 section 2: a sweeper every 60 seconds."""
    row = announce(world.client, mime_type="text/plain")
    bring(row, b"nobody asks")
    world.swept(lambda: world.sql(row) == ("completed", None, 1))
    until(lambda: world.upload(row) not in world.s3.objects)


def test_bytes_are_taken_on_an_update(world):
    """Spec 05 section 2: POST /v1/documents/:id with any body; it answers the document with its bytes."""
    row = announce(world.client)
    bring(row, PDF)
    done = post(world.client, row)
    assert (done["status"], done["size"]) == ("completed", len(PDF)) and world.upload(row) not in world.s3.objects
    row = announce(world.client)
    bring(row, PDF)
    again = post(world.client, row, renew_upload=True)
    assert (again["status"], again["versions_count"]) == ("completed", 1) and again["upload_url"]
    bring(again, b"the next version")
    assert post(world.client, row, notes="x")["version"] == 2


def test_an_update_that_is_refused_takes_nothing(world):
    row = announce(world.client)
    bring(row, PDF)
    world.client.refused("POST", f"{DOCUMENTS}/{row['id']}", 400, "validation.failed", ["notes"], body={"notes": 1})
    assert world.sql(row)[0] == "requested" and world.upload(row) in world.s3.objects
    assert get(world.client, row)["status"] == "completed"


def test_bytes_are_taken_when_they_are_read(world):
    row = announce(world.client)
    bring(row, PDF)
    r = requests.get(f"{world.server.base}{DOCUMENTS}/{row['id']}/content", headers={"SVC-API-KEY": world.client.key}, timeout=WAIT)
    assert (r.status_code, r.content) == (200, PDF)


def test_fields_of_a_retrieve_are_of_the_bytes(world):
    """A retrieve that asks for few fields could be answered without a rule."""
    row = announce(world.client)
    bring(row, PDF)
    assert get(world.client, row, "?fields=status")["status"] == "completed"


def test_a_create_that_is_sent_again_has_the_same_link(world):
    """Spec 01 section 8: the answer of an Idempotency-Key is given again; a clock that went on changes nothing in it."""
    key = {"Idempotency-Key": "direct-1"}
    first = world.client.post(DOCUMENTS, body(), expect=201, headers=key).data
    made = re.search(r"X-Amz-Date=\w+", first["upload_url"])[0]
    until(lambda: re.search(r"X-Amz-Date=\w+", announce(world.client)["upload_url"])[0] != made)
    again = world.client.post(DOCUMENTS, body(), expect=201, headers=key).data
    assert again == first and bring(again, PDF).status_code == 200 and get(world.client, again)["status"] == "completed"


def test_what_reads_cost(world):
    """One HEAD for a document that awaits bytes; nothing for others, nor for lists; one HEAD for a link that is out already."""
    done, waiting = make(world.client, b"costs"), announce(world.client)

    def asked(act):
        seen = len(world.s3.requests)
        act()
        return [m for m, path in world.s3.requests[seen:] if "list-type" not in path]

    assert asked(lambda: get(world.client, waiting)) == ["HEAD"]
    assert asked(lambda: get(world.client, done)) == [] and asked(lambda: world.client.get(f"{DOCUMENTS}?status=requested")) == []
    assert asked(lambda: world.url(done)) == ["PUT"] and asked(lambda: world.url(done)) == ["HEAD"]


def test_one_of_many_takes_the_bytes(world):
    """Retrieves, updates and the sweeper at the same time: one version, told once."""
    row = announce(world.client)
    bring(row, PDF)
    statuses, clients = [], [world.org.client() for _ in range(6)]
    acts = [lambda c=c: get(c, row) for c in clients[:4]] + [lambda c=c: post(c, row) for c in clients[4:]]
    threads = [threading.Thread(target=lambda a=a: statuses.append(a()["status"])) for a in acts]
    world.ahead(61)
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert statuses == ["completed"] * 6 and world.sql(row, "versions_count") == (1,)
    assert len(world.org.events(row["id"], "document.uploaded")) == 1
    until(lambda: world.upload(row) not in world.s3.objects)


def test_a_second_put_changes_nothing(world):
    """Spec 05 section 2: single successful use. What comes later is ignored and erased."""
    row = announce(world.client)
    bring(row, b"the first")
    before = get(world.client, row)
    assert bring(row, b"the second").status_code == 200  # the S3 server knows no better
    assert get(world.client, row) == before and post(world.client, row)["checksum_sha256"] == sha256(b"the first")
    world.swept(lambda: world.upload(row) not in world.s3.objects)
    assert get(world.client, row)["versions_count"] == 1 and read(world.url(row)).content == b"the first"


@pytest.mark.parametrize("end", ["renew", "delete", "content"])
def test_a_link_that_was_ended_brings_nothing(world, end):
    """Spec 05 section 2: after renew_upload, a delete or content the link before is dead."""
    row = announce(world.client)
    if end == "delete":
        world.client.delete(f"{DOCUMENTS}/{row['id']}")
    else:
        post(world.client, row, **({"renew_upload": True} if end == "renew" else {"content": "data:text/plain;base64,c2Vjb25k"}))
    bring(row, b"too late")
    world.swept(lambda: world.upload(row) not in world.s3.objects)
    if end != "delete":
        assert get(world.client, row)["status"] == ("requested" if end == "renew" else "completed")
    assert f"objects/{sha256(b'too late')[:2]}/{sha256(b'too late')}" not in world.s3.objects


@pytest.mark.parametrize("more, data, reason", [
    ({"size": 10}, b"eleven bytes", "size_mismatch"), ({"size": 10}, b"nine byte", "size_mismatch"), ({}, b"x" * 3000001, "too_large"), ({}, b"", "missing"),
    ({"mime_type": "image/png"}, PDF, "mime_mismatch"), ({"checksum_sha256": sha256(b"x")}, PDF, "checksum_mismatch")])
@pytest.mark.parametrize("by", ["retrieve", "sweeper"])
def test_bytes_that_are_not_those_announced(world, more, data, reason, by):
    """Spec 05 section 2: failed, the bytes removed; a size is judged without reading the bytes. A new link returns to requested."""
    row, seen = announce(world.client, **more), len(world.s3.requests)
    bring(row, data)
    if by == "sweeper":
        world.swept(lambda: world.sql(row)[0] == "failed")
    failed = get(world.client, row)
    assert (failed["status"], failed["failure_reason"], failed["file"]["size"]) == ("failed", reason, None)
    until(lambda: world.upload(row) not in world.s3.objects)
    if reason in ("size_mismatch", "too_large", "missing"):
        assert ("GET", "/wharf/" + world.upload(row)) not in world.s3.requests[seen:]
    again = post(world.client, row, renew_upload=True)
    assert (again["status"], again["failure_reason"]) == ("requested", None)


def test_a_version_that_fails_leaves_the_document(world):
    row = make(world.client, b"kept")
    bring(post(world.client, row, renew_upload=True), b"")
    assert get(world.client, row)["status"] == "completed" and read(world.url(row)).content == b"kept"
    assert world.sql(row, "upload_id") == (None,)


def test_a_quota_that_is_full():
    """Nobody is there to be told: the document is failed as rejected, and nothing is tried again."""
    w = World(**{"documents.quota_bytes": 100})
    try:
        row = announce(w.client)
        bring(row, b"x" * 101)
        assert [get(w.client, row)[f] for f in ("status", "failure_reason")] == ["failed", "rejected"] and w.upload(row) not in w.s3.objects
        again = post(w.client, row, renew_upload=True)
        bring(again, b"x" * 100)
        assert get(w.client, row)["status"] == "completed"
    finally:
        w.stop()


# ---- an S3 server in trouble ----

def test_reads_while_the_s3_server_is_down(world):
    """A retrieve answers what the row says; links lead to this server, which says what is wrong; afterwards all is as before."""
    row, done = announce(world.client), make(world.client, b"stored before")
    bring(row, PDF)
    world.s3.broken = BROKEN
    assert get(world.client, row)["status"] == "requested" and post(world.client, row, notes="x")["status"] == "requested"
    url = link(world.server, world.url(done))
    assert url.startswith(f"{world.server.base}/v1/files/") and read(url).status_code == 503
    seen = len(world.s3.requests)
    world.swept(lambda: any("list-type" in path for _, path in world.s3.requests[seen:]))
    world.s3.broken = 0
    assert read(url).content == b"stored before"
    until(lambda: get(world.client, row)["status"] == "completed")
    until(lambda: world.url(done).startswith(world.base))


def test_an_answer_that_is_cut_off(world):
    """Half of an upload is never taken for the whole."""
    row, data = announce(world.client), bytes(range(256)) * 1000
    bring(row, data)
    world.s3.cut = 5  # the first time is given up after three tries
    until(lambda: get(world.client, row)["checksum_sha256"] == sha256(data))
    assert world.s3.cut == 0 and read(world.url(row)).content == data


# ---- what is left ----

def test_collection(world):
    """Copies go two hours after their last link was first made, uploads that nobody awaits at once; what links lead to stays."""
    old, new, waiting = make(world.client, b"linked long ago"), make(world.client, b"linked now"), announce(world.client)
    urls = [world.url(old)]
    world.ahead(2 * 3600 + 1)
    urls.append(world.url(new))
    bring(waiting, b"awaited")
    world.s3.objects["uploads/org_0/file_0"] = world.s3.objects["downloads/org_0/file_0"] = world.s3.objects[f"downloads/{world.org.id}/file_0"] = (b"left behind", 0)
    kept = world.s3.objects["uploads/odd"] = (b"not ours", 0)
    world.collect()
    gone(urls[0])
    assert read(urls[1]).content == b"linked now" and world.s3.objects["uploads/odd"] == kept
    assert not [n for n in world.s3.objects if n.endswith("file_0")]
    assert get(world.client, waiting)["status"] == "completed"
    assert read(world.url(old)).content == b"linked long ago"
    assert sha256(b"linked long ago") in str(list(world.s3.objects))


def test_a_copy_is_made_anew_before_it_is_collected(world):
    """A link is good for its 15 minutes: a copy that is an hour old is not led to any more."""
    row = make(world.client, b"led to again")
    world.url(row)
    world.ahead(3601)
    seen = len(world.s3.requests)
    url = world.url(row)
    assert [r for r in world.s3.requests[seen:] if r[0] == "PUT"]
    world.ahead(3601)
    world.collect()
    assert read(url).content == b"led to again"


def test_direct_links_can_be_switched_off(world):
    """Without blob.s3.direct nothing leads past this server, whatever else is set."""
    w = World(**{"blob.s3.direct": "false"})
    try:
        row = w.client.post(DOCUMENTS, body(), expect=201).data
        assert "/v1/files/" in row["upload_url"]
        assert requests.put(link(w.server, row["upload_url"]), data=PDF, headers=row["upload_headers"], timeout=WAIT).status_code == 200
        assert "/v1/files/" in w.url(row) and not w.copies()
    finally:
        w.stop()
