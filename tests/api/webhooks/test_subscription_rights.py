"""Whose rights webhooks and outgoing integrations have (spec 07 section 1.1): those of the key that chose what they send, and where to."""
import json

import pytest

from receivers import World, make, until

KINDS = {"webhook": ("/v1/webhooks", "webhooks:write", {}),
         "integration": ("/v1/integrations", "integrations:write", {"direction": "outgoing", "provider": "acme"})}


@pytest.fixture(scope="module")
def world():
    w = World("--modules", "org,locations,events,webhooks,integrations")
    yield w
    w.close()


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def names(world, path):
    return [json.loads(g.body)["data"]["name"] for g in world.web.got[path]]


def subscribe(world, client, kind):
    path = world.path()
    body = {"name": "S", "url": world.web.url(path), "events": ["location.created"], **kind[2]}
    return path, client.post(kind[0], body, expect=201).data["id"]


def test_what_the_key_lost_is_not_sent(world, kind):
    org = world.server.organization()
    user = org.user(role="developer")
    theirs, others = org.client(user=user), org.client()
    path, _ = subscribe(world, theirs, kind)
    control, _ = subscribe(world, others, kind)
    make(others, "before")
    until(lambda: names(world, path) == names(world, control) == ["before"])
    world.server.sql("UPDATE wharf.api_key SET scopes = '{\"webhooks\": 2, \"integrations\": 2}' WHERE organization_id = %s AND user_id = %s", org.id, user)
    make(others, "lost")
    until(lambda: names(world, control) == ["before", "lost"])
    world.server.sql("UPDATE wharf.api_key SET scopes = '{\"*\": 2}' WHERE organization_id = %s AND user_id = %s", org.id, user)
    make(others, "again")
    until(lambda: names(world, control)[2:] == ["again"] and names(world, path)[1:] == ["again"])


def test_a_url_is_chosen_by_who_may_read_what_is_sent(world, kind):
    """Else any key that writes webhooks would have the events of all others sent to itself."""
    org = world.server.organization()
    path, id = subscribe(world, org.client(), kind)
    poor, mine = org.client(kind[1]), world.path()
    a = poor.refused("POST", f"{kind[0]}/{id}", 403, "scope_access", body={"url": world.web.url(mine)})
    assert a.body["errors"] == ["locations:read"]
    same = {"name": "Renamed", "url": world.web.url(path)}
    assert poor.post(f"{kind[0]}/{id}", same, expect=200).data["name"] == "Renamed"
    if kind is KINDS["webhook"]:
        org.client().post(f"{kind[0]}/{id}", {"payload": "thin"}, expect=200)
        poor.refused("POST", f"{kind[0]}/{id}", 403, "scope_access", body={"payload": "full"})
    make(org.client(), "Place")
    until(lambda: world.web.got[path])
    assert not world.web.got[mine]
