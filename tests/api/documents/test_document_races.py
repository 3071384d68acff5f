"""One document, and several clients at once: bytes that are brought while the link is renewed, content is stored, the document is deleted
(spec 05 sections 2 and 4). Nobody is told of a trouble of the server, and what is there in the end is what was acknowledged."""
import pytest
import requests

from document_files import DOCUMENTS, announce, b64, link, make, post, sha256, together
from wharf import WAIT

CLIENTS, ROUNDS = 4, 12
FINE = {200, 201, 400, 403, 404, 409}  # 400, 403, 404 and 409: the link or the document is gone, or the bytes have come


def troubles(said):
    return [(r.status_code, r.text[:300]) for r in said if r.status_code not in FINE]


def ask(client, method, path, body=None):
    return lambda: requests.request(method, client.server.base + path, json=body, headers={"SVC-API-KEY": client.key}, timeout=WAIT)


def bring(server, row, data):
    return lambda: requests.put(link(server, row["upload_url"]), data=data, headers=row["upload_headers"], timeout=WAIT)


@pytest.mark.parametrize("other", ["renew", "content", "delete", "purge", "public"])
def test_bytes_come_while_the_document_changes(client, server, other):
    deadlocks = lambda: server.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'wharf'")
    before = deadlocks()
    for i in range(ROUNDS):
        had = i % 2  # versions before
        row = post(client, make(client, b"before"), renew_upload=True) if had else announce(client)
        path = f"{DOCUMENTS}/{row['id']}"
        act = {"renew": ask(client, "POST", path, {"renew_upload": True}), "content": ask(client, "POST", path, {"content": b64(b"content")}), "public": ask(client, "POST", path, {"visibility": "public"}),
               "delete": ask(client, "DELETE", path), "purge": ask(client, "DELETE", path + "?purge=true")}[other]
        said = together(*(bring(server, row, b"brought %d" % n) for n in range(CLIENTS)), act, act)
        assert not troubles(said), troubles(said)
        brought = [r for r in said if r.request.method == "PUT" and r.status_code == 200]
        assert len(brought) <= 1
        now = client.get(path, expect=None)
        if other in ("delete", "purge"):
            assert now.status == 404
            continue
        stored = sum(r.status_code == 200 for r in said if r.request.method == "POST") if other == "content" else 0
        assert now.data["versions_count"] == had + len(brought) + stored and now.data["status"] == ("completed" if now.data["versions_count"] else "requested"), now.data
        if now.data["versions_count"]:
            r = ask(client, "GET", path + "/content")()
            assert r.status_code == 200 and sha256(r.content) == now.data["checksum_sha256"]
    assert deadlocks() == before, "who brings and who changes wait for each other"
