"""kill -9 between a client's PUT to the S3 server and the document that has the bytes, and between a link and the copy that it leads to (blob.s3.direct;
spec 05 sections 2, 3.3 and 6): nothing that was acknowledged is lost, nothing is taken twice, nothing is left over after the collection."""
import os

import pytest
import requests

from document_chaos import DOCUMENTS, WAIT, Client, Store, World, sha256, until


@pytest.fixture(scope="module")
def world():
    store = Store()
    store.page = 1000
    w = World(store, "--set", "blob.s3.direct=true")
    yield w
    w.stop()


@pytest.fixture
def client(world):
    return lambda: Client(world.server, world.key)


def dies(world, method, path):
    """Sends a request whose worker kills itself at the failure point."""
    with pytest.raises(requests.ConnectionError):
        answer = requests.request(method, world.server.base + path, headers={"SVC-API-KEY": world.key}, timeout=WAIT)
        pytest.fail(f"{method} {path} was answered: {answer.status_code} {answer.text[:300]}")


def stored(world, prefix):
    return {n for n in world.store.objects if n.startswith(prefix)}


def collected(world):
    """What is there when all is collected: objects by their hash, and nothing beside them."""
    assert stored(world, "uploads/") == set()
    world.collect()
    world.server.check_rows()
    return {n.rsplit("/", 1)[1] for n in stored(world, "objects/")}


@pytest.mark.parametrize("by", ["retrieve", "sweeper"])
@pytest.mark.parametrize("point", ["upload.fetched", "blob.synced", "blob.placed", "upload.taken"])
def test_killed_while_an_upload_is_taken(world, client, point, by):
    data = os.urandom(3000)
    row = client().post(DOCUMENTS, {"name": "Brought", "visibility": "private"}, expect=201).data
    assert requests.put(row["upload_url"], data=data, headers=row["upload_headers"], timeout=WAIT).status_code == 200
    world.restart(env={"WHARF_FAULT": point})
    assert stored(world, "uploads/"), "somebody took it before"
    if by == "retrieve":
        dies(world, "GET", f"{DOCUMENTS}/{row['id']}")
    else:
        before = set(world.server.workers("job"))
        world.ahead(61)
        until(lambda: not before <= set(world.server.workers("job")))
    state = world.server.sql("SELECT status, versions_count FROM documents.document WHERE id = %s", row["id"])
    assert state == [("completed", 1) if point == "upload.taken" else ("requested", 0)] and stored(world, "uploads/")
    world.restart()
    done = client().get(f"{DOCUMENTS}/{row['id']}").data
    assert (done["status"], done["versions_count"], done["checksum_sha256"]) == ("completed", 1, sha256(data))
    assert world.server.sql("SELECT count(*) FROM wharf.event WHERE resource_id = %s AND type = 'document.uploaded'", row["id"]) == [(1,)]
    world.ahead(61)
    until(lambda: not stored(world, "uploads/"))
    assert sha256(data) in collected(world)
    client().delete(f"{DOCUMENTS}/{row['id']}?purge=true")
    assert collected(world) == set() == stored(world, "downloads/")


def test_killed_before_a_copy_is_noted(world, client):
    """No link was given out. The copy is made again, or collected."""
    row = client().post(DOCUMENTS, {"name": "Linked", "visibility": "private", "content": "bGlua2Vk"}, expect=201).data
    asked = f"{DOCUMENTS}/{row['id']}?include_document_url=true"
    world.restart(env={"WHARF_FAULT": "file.copied"})
    dies(world, "GET", asked)
    assert stored(world, "downloads/")
    world.restart()
    assert requests.get(client().get(asked).data["document_url"], timeout=WAIT).content == b"linked"
    world.restart(env={"WHARF_FAULT": "file.copied"})
    world.ahead(3601)
    dies(world, "GET", asked)
    world.restart()
    client().delete(f"{DOCUMENTS}/{row['id']}?purge=true")
    assert collected(world) == set() == stored(world, "downloads/")


def test_killed_while_links_are_ended(world, client):
    """The copy is gone and the document is not: links that are out are dead, the next one is good, and the delete that is sent again ends it."""
    row = client().post(DOCUMENTS, {"name": "Linked", "visibility": "private", "content": "bGlua2Vk"}, expect=201).data
    asked = f"{DOCUMENTS}/{row['id']}?include_document_url=true"
    url = client().get(asked).data["document_url"]
    world.restart(env={"WHARF_FAULT": "file.links_ended"})
    dies(world, "DELETE", f"{DOCUMENTS}/{row['id']}")
    assert requests.get(url, timeout=WAIT).status_code == 404
    world.restart()
    url = client().get(asked).data["document_url"]
    assert requests.get(url, timeout=WAIT).content == b"linked"
    client().delete(f"{DOCUMENTS}/{row['id']}?purge=true")
    assert requests.get(url, timeout=WAIT).status_code == 404
    assert collected(world) == set() == stored(world, "downloads/")
