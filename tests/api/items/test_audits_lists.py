"""Lists of audits and of their tasks: filters, order, groups (spec 01 section 14)."""
import pytest

from audits import AUDITS, audit_of, count, make_audit, reason, set_audit
from stock import entry, make_item, place
from wharf import make_location


@pytest.fixture(scope="module")
def world(server):
    """Three audits at two locations."""
    org = server.organization()
    client = org.client()
    here, shelf, bin = place(client, "Shelf", "Bin")
    there = make_location(client)
    a = make_item(client, "A", levels=[entry(here, layout_id=shelf, available_qty=1), entry(here, layout_id=bin, available_qty=2)])
    b = make_item(client, "B", levels=[entry(here, layout_id=bin, available_qty=3), entry(there, available_qty=4)])
    why = reason(client)
    first = make_audit(client, here, priority="low", complete_at="2020-01-01T00:00:00Z", metadata={"team": "1"}, number="B-1")
    second = make_audit(client, here, priority="high", layout_ids=[bin], complete_at="2099-01-01T00:00:00Z", number="a-2")
    third = make_audit(client, there)
    count(client, first, first["tasks"][0], 1)
    count(client, first, first["tasks"][1], 5, reason_code_id=why)
    set_audit(client, third, status="canceled")
    return {"org": org, "client": client, "here": here, "there": there, "shelf": shelf, "bin": bin, "a": a, "b": b, "why": why, "first": first, "second": second, "third": third}


@pytest.mark.parametrize("query, found", [
    ("location_id={here}", "12"), ("location_id={here},{there}", "123"), ("item_id={a}", "12"), ("item_id={b}", "123"), ("layout_id={shelf}", "1"), ("layout_id={bin}", "12"),
    ("item_id={b}&layout_id={shelf}", ""), ("item_id={a}&layout_id={shelf}", "1"), ("layout_path=/Bin", "12"), ("reason_code_id={why}", "1"), ("status=created", "2"), ("status=processing,canceled", "13"),
    ("status=!in:canceled", "12"), ("priority=low,high", "12"), ("priority=!eq:medium", "12"), ("priority=medium", "3"), ("overdue=true", "1"), ("overdue=false", "23"), ("complete_at=lt:2030-01-01T00:00:00Z", "1"),
    ("complete_at=gte:2030-01-01T00:00:00Z", "2"), ("finished_at=gte:2020-01-01T00:00:00Z", "3"), ("created_at=gte:2020-01-01T00:00:00Z", "123"), ("updated_at=lt:2020-01-01T00:00:00Z", ""), ("number=B-1", "1"), ("number=A-2", "2"), ("number=AUD-1", "3"),
    ("metadata.team=1", "1"), ("id={first}", "1")])
def test_filters(world, query, found):
    ids = {k: v if isinstance(v, str) else v["id"] for k, v in world.items() if k not in ("org", "client")}
    names = {world["first"]["id"]: "1", world["second"]["id"]: "2", world["third"]["id"]: "3"}
    assert "".join(sorted(names[id] for id in world["client"].get(f"{AUDITS}?{query.format(**ids)}").ids)) == found


def test_filters_by_who(world):
    user = world["org"].user()
    client = world["org"].client(user=user, scopes="audits:write")
    here = make_location(world["client"])
    make_item(world["client"], levels=[entry(here, available_qty=1)])
    audit = make_audit(client, here)
    set_audit(world["client"], audit, status="processing")
    assert client.get(f"{AUDITS}?created_by={user}").ids == [audit["id"]] and client.get(f"{AUDITS}?updated_by={user}").ids == []
    set_audit(client, audit, status="canceled")
    assert client.get(f"{AUDITS}?updated_by={user}").ids == [audit["id"]]
    client.delete(f"{AUDITS}/{audit['id']}")


@pytest.mark.parametrize("order, found", [("created_at", "123"), ("priority", "132"), ("number", "231"), ("complete_at", "12"), ("updated_at", "213")])
def test_order(world, order, found):
    names = {world["first"]["id"]: "1", world["second"]["id"]: "2", world["third"]["id"]: "3"}
    client, query = world["client"], f"{AUDITS}?order_by={order}&direction="
    up = [names[id] for id in client.get(query + "asc").ids]
    down = [names[id] for id in client.get(query + "desc").ids]
    assert "".join(up)[:len(found)] == found and "".join(down)[:len(found)] == found[::-1]
    assert [names[id] for id in client.get(AUDITS).ids] == ["3", "2", "1"]
    walked, cursor = [], "start"
    while cursor:  # one by one, after the cursor
        a = client.get(f"{query}desc&limit=1&cursor={cursor}")
        walked += [names[id] for id in a.ids]
        cursor = a.pagination["next_cursor"]
    assert walked == down


def test_groups(world):
    client, first = world["client"], world["first"]
    tasks = audit_of(client, first)["tasks"]
    for group, key in (("by_item", "item_id"), ("by_layout", "layout_id")):
        shown = audit_of(client, first, f"?group_by={group}")
        assert shown["tasks"] == [] and shown["by_item" if group == "by_layout" else "by_layout"] is None
        assert shown[group] == {id: [t for t in tasks if t[key] == id] for id in {t[key] for t in tasks}} and len(shown[group]) == 2
        listed = next(x for x in client.get(f"{AUDITS}?group_by={group}").data if x["id"] == first["id"])
        assert listed == shown
    client.refused("GET", f"{AUDITS}/{first['id']}?group_by=by_lot", 400, "param.invalid", ["group_by"])


def test_lists_show_tasks_too(world):
    client = world["client"]
    for row in client.get(AUDITS).data:
        assert row == audit_of(client, row)


def test_tasks_of_an_audit(world):
    client, first = world["client"], world["first"]
    path = f"{AUDITS}/{first['id']}/tasks"
    rows, shown = client.get(path).data, audit_of(client, first)["tasks"]
    assert [{k: r[k] for k in shown[0]} for r in rows] == shown
    assert client.get(f"{path}/{rows[1]['id']}").data == rows[1]
    one, two, three = (r["id"] for r in rows)
    for query, found in ((f"item_id={world['a']['id']}", [one, two]), (f"layout_id={world['bin']}", [two, three]), ("is_counted=true", [one, two]), ("is_counted=false", [three]), ("is_discrepant=true", [two]),
                         ("is_discrepant=false", [one, three]), (f"reason_code_id={world['why']}", [two]), ("counted_at=gte:2020-01-01T00:00:00Z", [one, two]), ("limit=2&page=2", [three]),
                         ("order_by=position&direction=desc", [three, two, one])):
        assert client.get(f"{path}?{query}").ids == found, query
    client.get(f"{AUDITS}/{world['second']['id']}/tasks/{one}", expect=404)
