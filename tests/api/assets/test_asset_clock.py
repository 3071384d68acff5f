"""Assets as time goes by: due dates, warranties, maintenance and its calendar (spec 02 section 9), by the test clock."""
import contextlib
import datetime

import pytest

from asset_rows import asset_item, found, get, make, post
from wharf import MODULES, Client, Server, make_contact, make_location

UTC = datetime.timezone.utc


@pytest.fixture(scope="module")
def server():
    s = Server("--test-clock", "--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture(scope="module")
def world(server):
    client = server.organization().client()
    return client, asset_item(client), make_location(client)


@contextlib.contextmanager
def clock(server, moment):
    """It is this moment meanwhile, a little past it by the time that requests take."""
    operator, offset = Client(server, server.demo_key), moment - datetime.datetime.now(UTC)
    operator.post("/v1/system/clock", {"offset_seconds": int(offset.total_seconds())}, expect=200)
    try:
        yield
    finally:
        operator.post("/v1/system/clock", {"offset_seconds": 0}, expect=200)


def noon(year, month, day):
    return datetime.datetime(year, month, day, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize("today, wanted", [
    (noon(2031, 1, 31), {"daily": "2031-02-01", "weekly": "2031-02-07", "monthly": "2031-02-28", "quarterly": "2031-04-30", "yearly": "2032-01-31"}),
    (noon(2032, 2, 29), {"daily": "2032-03-01", "weekly": "2032-03-07", "monthly": "2032-03-29", "quarterly": "2032-05-29", "yearly": "2033-02-28"}),
    (noon(2031, 12, 31), {"daily": "2032-01-01", "weekly": "2032-01-07", "monthly": "2032-01-31", "quarterly": "2032-03-31", "yearly": "2032-12-31"}),
    (noon(2031, 11, 30), {"monthly": "2031-12-30", "quarterly": "2032-02-29"})])
def test_the_next_maintenance_by_the_calendar(server, world, today, wanted):
    client, item, place = world
    with clock(server, today):
        rows = {schedule: make(client, item, place, maintenance_schedule=schedule) for schedule in wanted}
        assert {schedule: row["next_maintenance_at"][:13] for schedule, row in rows.items()} == {schedule: date + "T12" for schedule, date in wanted.items()}


def test_what_time_alone_changes(server, world):
    client, item, place = world
    row = make(client, item, place, status="on_loan", assignee_id=make_contact(client), due_back_at="2033-05-02T12:00:00Z", warranty_expires_at="2033-05-10T12:00:00Z",
               next_maintenance_at="2033-05-20T12:00:00Z")
    for today, overdue, valid, maintenance in ((noon(2033, 5, 1), False, True, "good"), (noon(2033, 5, 3), True, True, "good"), (noon(2033, 5, 12), True, False, "good"),
                                               (noon(2033, 5, 14), True, False, "upcoming"), (noon(2033, 5, 21), True, False, "required")):
        with clock(server, today):
            now = get(client, row)
            assert (now["overdue"], now["is_warranty_valid"], now["maintenance_status"]) == (overdue, valid, maintenance), today
            assert (found(client, f"id={row['id']}&overdue=true") != [], found(client, f"id={row['id']}&is_warranty_valid=true") != []) == (overdue, valid)
    with clock(server, noon(2033, 5, 21)):
        ongoing = post(client, row, maintenance_status="ongoing", maintenance_schedule="monthly", next_maintenance_at="2033-05-20T12:00:00Z")
        assert ongoing["maintenance_status"] == "ongoing"
        done = post(client, row, maintenance_status="good")
        assert (done["maintenance_status"], done["next_maintenance_at"][:10]) == ("good", "2033-06-21")
