"""Lists of workflows (spec 08 section 1): those that are published, as they are published; drafts only where they are asked for; filters look at what is shown."""
import pytest

FLOWS = "/v1/workflows"
CODE = "return {on_run = function() end, on_event = function() end, on_schedule = function() end}"
MANUAL, EVENT = [{"type": "manual"}], [{"type": "event", "events": ["location.created"]}]
# What a version keeps, as it is published and as the draft has it afterwards.
BEFORE = {"source": CODE, "files": {"a": "return 1"}, "triggers": MANUAL, "scopes": ["locations:read"], "settings": {"a": 1}, "priority": 3, "on_error": "ignore", "http_hosts": ["a.example.com"],
          "retry": {"max": 1, "waits": [1]}, "concurrency": {"max": 2, "key": "resource"}, "budget": {"instructions": None, "memory_mib": None, "time_ms": None, "api_calls": 3, "http_calls": None, "mails": None, "emits": None}, "record": {"runs": "errors", "io": True}}
AFTER = {"source": CODE + " -- more", "files": {}, "triggers": EVENT, "scopes": [], "settings": {"b": 2}, "priority": -4, "on_error": "reject", "http_hosts": None,
         "retry": {"max": 2, "waits": [5]}, "concurrency": {"max": 3, "key": None}, "budget": None, "record": {"runs": "all", "io": False}}


@pytest.fixture
def client(fresh):
    return fresh.client()


def made(client, name, publish=True, **more):
    id = client.post(FLOWS, {"name": name, **BEFORE, **more}, expect=201).data["id"]
    if publish:
        client.post(f"{FLOWS}/{id}/publish", {}, expect=200)
    return id


@pytest.fixture
def four(client):
    """never published, published as it is, changed since, and disabled after it was published."""
    ids = {"never": made(client, "Flow never", False), **{n: made(client, f"Flow {n}") for n in ("same", "changed", "off")}}
    client.post(f"{FLOWS}/{ids['changed']}", AFTER, expect=200)
    client.post(f"{FLOWS}/{ids['off']}", {"enabled": False}, expect=200)
    return ids


def names(client, query=""):
    """The names, counted too: what a page shows and what is counted are the same rows."""
    a = client.get(f"{FLOWS}?include_total_count=true&limit=100&order_by=name&direction=asc{query}")
    assert a.pagination["total_count"] == len(a.data), query
    paged, cursor = [], "start"
    while cursor:
        page = client.get(f"{FLOWS}?limit=1&order_by=name&direction=asc&cursor={cursor}{query}")
        paged, cursor = paged + page.data, page.pagination["next_cursor"]
    assert paged == a.data, query
    return [w["name"].split()[1] for w in a.data]


def shown(client, id, query=""):
    row, = (w for w in client.get(f"{FLOWS}?limit=100&include_source=true{query}").data if w["id"] == id)
    return {k: row[k] for k in BEFORE}


@pytest.mark.parametrize("query, found", [
    ("", ["changed", "off", "same"]), ("&status=published", ["changed", "off", "same"]), ("&status=draft", ["changed", "never"]), ("&status=all", ["changed", "never", "off", "same"]),
    ("&search=flow", ["changed", "off", "same"]), ("&search=never", []), ("&search=never&status=all", ["never"]), ("&search=flow&status=draft", ["changed", "never"]),
    ("&enabled=true", ["changed", "same"]), ("&enabled=false", ["off"]), ("&has_draft=true", ["changed"]), ("&has_draft=true&status=all", ["changed", "never"]),
    ("&trigger_type=manual", ["changed", "off", "same"]), ("&trigger_type=event", []), ("&event=location.created", []),
    ("&trigger_type=manual&status=draft", ["never"]), ("&trigger_type=event&status=draft", ["changed"]), ("&event=location.created&status=draft", ["changed"]),
    ("&trigger_type=event&status=all", ["changed"]), ("&trigger_type=manual&status=all", ["never", "off", "same"]), ("&trigger_type=!manual", []), ("&trigger_type=!manual&status=all", ["changed"]),
    ("&name=Flow+never", []), ("&name=Flow+never&status=draft", ["never"]), ("&created_at[gte]=0&search=never", [])])
def test_what_is_never_published_is_in_no_list_of_the_published(client, four, query, found):
    assert names(client, query) == found


def test_rows_are_shown_as_published(client, four):
    for id, forms in ((four["changed"], {"": BEFORE, "&status=published": BEFORE, "&status=draft": AFTER, "&status=all": AFTER}), (four["same"], {"": BEFORE, "&status=all": BEFORE})):
        for query, form in forms.items():
            assert shown(client, id, query) == form, query
    assert {k: client.get(f"{FLOWS}/{four['changed']}").data[k] for k in AFTER} == AFTER
    client.post(f"{FLOWS}/{four['changed']}/publish", {}, expect=200)
    assert shown(client, four["changed"]) == AFTER and names(client, "&event=location.created") == ["changed"]
    client.post(f"{FLOWS}/{four['changed']}/publish", {"version": 1}, expect=200)
    assert shown(client, four["changed"]) == BEFORE


def test_answers_of_writes_show_the_draft(client, four):
    row = client.post(f"{FLOWS}/{four['changed']}", {"description": "New"}, expect=200).data
    assert {k: row[k] for k in AFTER} == AFTER and row["has_draft"] is True and row["status"] == "published"


@pytest.mark.parametrize("status", ["", "&status=draft", "&status=all"])
@pytest.mark.parametrize("type", ["manual", "event", "schedule"])
def test_a_filter_finds_what_its_rows_show(client, four, status, type):
    made(client, "Flow daily", triggers=[{"type": "schedule", "cron": "@daily"}])
    rows = client.get(f"{FLOWS}?limit=100{status}").data
    wanted = {w["id"] for w in rows if type in [t["type"] for t in w["triggers"]]}
    assert set(client.get(f"{FLOWS}?limit=100&trigger_type={type}{status}").ids) == wanted
    assert set(client.get(f"{FLOWS}?limit=100&trigger_type=!{type}{status}").ids) == {w["id"] for w in rows} - wanted


def test_cursors_belong_to_one_form(client, four):
    cursor = client.get(f"{FLOWS}?limit=1&cursor=start").pagination["next_cursor"]
    client.refused("GET", f"{FLOWS}?limit=1&cursor={cursor}&status=all", 400, "cursor.invalid", ["cursor"])


def test_what_was_deleted_is_in_none(client, four):
    for id in four.values():
        client.delete(f"{FLOWS}/{id}", expect=200)
    assert [names(client, q) for q in ("", "&status=draft", "&status=all")] == [[], [], []]


def test_a_discarded_draft_is_gone_from_drafts(client, four):
    client.post(f"{FLOWS}/{four['changed']}/discard-draft", {}, expect=200)
    assert names(client, "&status=draft") == ["never"] and shown(client, four["changed"], "&status=all") == BEFORE


def test_the_list_for_devices_agrees(client, four):
    """GET /v1/workflows/sync shows what is enabled of the same."""
    synced = {w["name"].split()[1]: w for w in client.get(f"{FLOWS}/sync").data["workflows"]}
    assert sorted(synced) == names(client, "&enabled=true") and synced["changed"]["settings"] == BEFORE["settings"]
    drafts = client.get(f"{FLOWS}/sync?status=draft").data["workflows"]
    assert sorted(w["name"].split()[1] for w in drafts) == names(client, "&status=draft")


def test_one_workflow_in_the_form_that_is_asked_for(client, four):
    def one(name, query="", **more):
        return client.get(f"{FLOWS}/{four[name]}{query}", **more)

    def members(name, query=""):
        row = one(name, query, expect=200).data
        return {k: row[k] for k in BEFORE}
    assert members("changed") == members("changed", "?version=draft") == AFTER
    assert members("changed", "?version=published") == members("changed", "?version=1") == BEFORE
    assert members("never", "?version=draft") == BEFORE
    client.post(f"{FLOWS}/{four['changed']}/publish", {}, expect=200)
    assert members("changed", "?version=published") == members("changed", "?version=2") == AFTER and members("changed", "?version=1") == BEFORE
    for name, query in (("changed", "?version=3"), ("never", "?version=published"), ("never", "?version=1"), ("same", "?version=999999999999999999")):
        one(name, query, expect=404)
    for query in ("?version=0", "?version=newest", "?version=-1", "?version=01", "?version=1.0", "?version=9999999999999999999", "?version="):
        client.refused("GET", f"{FLOWS}/{four['changed']}{query}", 400, "param.invalid", ["version"])


def test_a_form_is_for_reading(client, four):
    """A write with ?version= writes the draft, of the row as it is."""
    changed = client.post(f"{FLOWS}/{four['changed']}?version=1", {"priority": -5}, expect=200).data
    assert {k: changed[k] for k in AFTER} == {**AFTER, "priority": -5}
    assert client.get(f"{FLOWS}?version=7").data == client.get(FLOWS).data
    assert client.get(f"{FLOWS}/{four['changed']}/versions?version=7", expect=200).data
