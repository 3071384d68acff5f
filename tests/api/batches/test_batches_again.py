"""Batches (spec 10): rows that can not be what a request could say, what a key lost meanwhile, trying again, and what a request's own batch does with a race that is lost."""
import json

import pytest
import requests

from test_batches import BATCHES, lines, run
from test_batches_background import LOSER, items, wait
from test_batches_files import data_url as url
from wharf import WAIT, Server


def upload(client, text, **more):
    """A batch whose file is brought: (the batch as it was answered, what brings it)."""
    b = client.post(BATCHES, {"resource": "contact", "action": "merge", "mode": "async", "data": None, **more}, expect=202).data
    link = b["_upload_url"]

    def bring():
        r = requests.put(client.server.base + link if link.startswith("/") else link, data=text.encode(), headers={"Content-Type": "text/plain"}, timeout=WAIT)
        assert r.status_code < 300, r.text
        return wait(client, b["id"])
    return b, bring


@pytest.mark.parametrize("depth", [16, 40, 62, 63, 64, 100])
def test_a_deep_cell_is_its_rows_own_problem(client, depth):
    b = run(client, url(f"name,metadata\nA,{'[' * depth}{']' * depth}\nB,\nC,\n".encode(), "text/csv"))
    assert (b["stats"]["created"], b["stats"]["errors"]) == (2, 1)
    assert [i["state"] for i in items(client, b)] == ["error", "done", "done"]


def test_a_deep_record_of_a_json_file(client):
    for depth in (16, 28):
        deep = json.loads("[" * depth + "]" * depth)
        b = run(client, url(json.dumps([{"name": "A"}, {"name": "B", "metadata": {"d": deep}}, {"name": "C"}]).encode(), "application/json"))
        assert (b["stats"]["created"], lines(b, "index", "code")) == (2, [(1, "batch.shape")])


def test_keys_that_are_the_same_once_they_are_normalized(client):
    file = '[{"name": "A", "metadata": {"\u00e9": 1, "e\u0301": 2}}, {"name": "B"}]'
    b = run(client, url(file.encode(), "application/json"))
    assert (b["stats"]["created"], lines(b, "index", "code")) == (1, [(0, "row.cell_error")])


def test_numbers_that_the_database_has_not(client):
    """An item that fails is told with the numbers that it had."""
    data = json.loads('[{"name": "A"}]')
    body = json.dumps({"resource": "contact", "action": "merge", "mode": "sync", "data": data})[:-2] + ', {"x": 1e-20000}]}'
    r = requests.post(client.server.base + BATCHES, data=body, headers={"SVC-API-KEY": client.key, "Content-Type": "application/json"}, timeout=WAIT)
    assert r.status_code == 201 and r.json()["data"]["stats"]["created"] == 1 and r.json()["data"]["stats"]["errors"] == 1, r.text


def test_large_records_do_not_add_up(client):
    """A few megabytes each take a hundred when they are read: one after the other, and those that are too large are refused."""
    large = '{"name": "L", "metadata": {"a": [' + ",".join(["0"] * 600_000) + "]}}"
    b = run(client, url(f"[{large}, {large}, {large}, {large}, {large}, {large}, {{\"name\": \"Small\"}}]".encode(), "application/json"), mode="async", expect=202)
    b = wait(client, b["id"])
    assert (b["status"], b["stats"]["created"], b["stats"]["errors"]) == ("completed", 1, 6)
    assert {i["code"] for i in items(client, b, state="error")} == {"batch.shape"}


def test_who_waits_has_not_started(fresh):
    client = fresh.client()
    b = run(client, [{"name": "A"}], mode="async", expect=202)
    assert b["status"] == "queued" and b["started_at"] is None
    assert wait(client, b["id"])["started_at"]


def test_a_scope_that_the_key_lost_meanwhile(fresh, server):
    """spec 10 section 12, 8: permissions are those of the creating key at run time."""
    admin, client = fresh.client(), fresh.client()
    b, bring = upload(client, "name\nA\nB\n")
    server.sql("UPDATE wharf.api_key SET scopes = '[\"batches:write\", \"batches:read\"]' WHERE id = %s", b["created_by"])
    bring()
    done = admin.get(f"{BATCHES}/{b['id']}").data
    assert (done["status"], done["reason"], done["stats"]["created"]) == ("failed", "batch.key_revoked", 0)


def test_rows_that_were_read_wrongly_stay_wrong(client):
    b = run(client, url(b"name,email\nA,a@b.example,surplus\nB,nonsense\n", "text/csv"))
    assert lines(b, "index", "code") == [(0, "row.too_many_columns"), (1, "validation.failed")]
    again = wait(client, client.post(f"{BATCHES}/{b['id']}/retry", {}, expect=202).data["id"])
    assert (again["stats"]["created"], again["stats"]["errors"]) == (0, 2)
    assert [i["code"] for i in items(client, again)] == ["row.too_many_columns", "validation.failed"]
    once_more = wait(client, client.post(f"{BATCHES}/{again['id']}/retry", {}, expect=202).data["id"])
    assert [i["code"] for i in items(client, once_more)] == ["row.too_many_columns", "validation.failed"]


def test_what_names_stand_for_is_looked_up_again(client):
    b = run(client, url(b"name,groups\nA,Not There Yet\n", "text/csv"))
    assert lines(b, "code") == [("reference.not_found",)]
    group = client.post("/v1/groups", {"name": "Not There Yet", "resource": "contact"}, expect=201).data
    again = wait(client, client.post(f"{BATCHES}/{b['id']}/retry", {}, expect=202).data["id"])
    assert again["stats"]["created"] == 1, items(client, again)
    made = client.get(f"/v1/contacts/{items(client, again)[0]['result_id']}").data
    assert group["id"] in json.dumps(made)


def test_the_name_of_a_data_url_is_kept(client):
    b = run(client, url(b"name\nA\n", "text/csv", ";name=people.csv"), mode="async", expect=202)
    assert wait(client, b["id"])["file"]["name"] == "people.csv"


def test_a_race_that_is_lost_in_a_request_is_the_items():
    """spec 10 sections 2 and 12, 11: an item's errors never change the HTTP status."""
    server = Server("--modules", "org,locations,contacts,batches")
    try:
        server.sql(LOSER)
        client = server.organization().client()
        for mode in ("sync", "mixed"):
            b = run(client, [{"name": f"{mode} 1"}, {"name": "Loser"}, {"name": f"{mode} 2"}], mode=mode)
            assert (b["status"], b["stats"]["created"], lines(b, "index", "code")) == ("completed", 2, [(1, "conflict")])
    finally:
        server.stop()
