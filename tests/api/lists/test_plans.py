"""Which way rows are looked up while tables are small: plans are kept, and the table may have grown by the next minute."""
import re
import time

import pytest

from wharf import WAIT, Server


def whole_reads(server):
    return server.sql("SELECT seq_scan FROM pg_stat_all_tables WHERE relid = 'contacts.contact'::regclass")[0][0]


def end_sessions(server):
    """They tell of their scans when they end, if they have not yet."""
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
    old, end = server.sql(f"SELECT pid, backend_start {others}"), time.monotonic() + WAIT
    server.sql(f"SELECT pg_terminate_backend(pid) {others}")
    while set(server.sql(f"SELECT pid, backend_start {others}")) & set(old):
        assert time.monotonic() < end, "sessions don't end"
        time.sleep(0.05)


def test_single_rows_are_looked_up_by_an_index_however_small_their_table_is():
    server = Server("--modules", "org,locations,contacts,events,webhooks")
    try:
        client = server.organization("Small").client()
        ids = [client.post("/v1/contacts", {"name": f"Ann {i}"}, expect=201).data["id"] for i in range(3)]
        server.sql("ANALYZE contacts.contact")  # that it is small is known from now on
        before = whole_reads(server)
        for _ in range(10):
            for i, id in enumerate(ids):
                client.get(f"/v1/contacts/{id}", expect=200)
                client.post(f"/v1/contacts/{id}", {"name": f"Bea {time.monotonic()}"}, expect=200)
                client.get("/v1/contacts", expect=200)
        end_sessions(server)
        assert whole_reads(server) == before
    finally:
        server.stop()


def planned(server, ask, times, table="contact", then=lambda: None):
    """How often PostgreSQL planned a list of this table while it was asked for so many times, and before them for 20 times, with then() behind those.
    Its log tells, once per planning."""
    ask()
    server.sql("ALTER DATABASE wharf SET log_planner_stats = on")
    end_sessions(server)
    log = server.folder / "postgresql.log"
    for _ in range(20):
        ask()  # what each connection plans while it learns what a plan of its own is worth
    then()
    time.sleep(0.3)
    before = log.stat().st_size
    for _ in range(times):
        ask()
    time.sleep(0.3)
    with log.open("rb") as f:
        f.seek(before)
        text = f.read().decode(errors="replace")
    server.sql("ALTER DATABASE wharf RESET log_planner_stats")
    return len(re.findall(rf"PLANNER STATISTICS(?:(?!PLANNER STATISTICS).)*?STATEMENT:  [^\n]*FROM \"contacts\"\.\"{table}\" t WHERE", text, re.S))


def copies(server, table, like, n):
    columns = server.sql("SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
                         "AND NOT attisdropped AND attgenerated = '' AND attname NOT IN ('id', 'created_at', 'name')", f"contacts.{table}")[0][0]
    server.sql(f"INSERT INTO contacts.{table} (id, created_at, name, {columns}) SELECT 'copy_' || n, created_at - n * interval '1 s', name || n, {columns} "
               f"FROM contacts.{table}, generate_series(1, {n}) n WHERE id = '{like}'")
    server.sql(f"ANALYZE contacts.{table}")


def test_a_page_of_everything_is_planned_once_and_a_filtered_one_for_its_values():
    server = Server("--modules", "org,locations,contacts,events,webhooks", "--set", "workers=1", "--set", "database.pool=1")
    try:
        client = server.organization("Planned").client()
        copies(server, "contact", client.post("/v1/contacts", {"name": "Ann"}, expect=201).data["id"], 5000)
        page = planned(server, lambda: client.get("/v1/contacts", expect=200), 100)
        filtered = planned(server, lambda: client.get("/v1/contacts?created_at[gt]=2020-01-01T00:00:00Z", expect=200), 100)
        assert page < 10 < 50 < filtered, (page, filtered)
    finally:
        server.stop()


@pytest.mark.parametrize("path, table, more", [("/v1/contacts", "contact", {}), ("/v1/groups", "contact_group", {"resource": "contact"})], ids=["by a thread", "by the loop"])
def test_a_page_of_everything_is_not_planned_again_and_again_when_its_table_has_grown(path, table, more):
    """PostgreSQL compares its cost with that of plans that it made when there was less."""
    server = Server("--modules", "org,locations,contacts,events,webhooks", "--set", "workers=1", "--set", "database.pool=1")
    try:
        server.sql("ALTER SYSTEM SET autovacuum = off")
        server.sql("SELECT pg_reload_conf()")
        client = server.organization("Grown").client()
        id = client.post(path, {"name": "Ann", **more}, expect=201).data["id"]
        server.sql(f"ANALYZE contacts.{table}")
        page = planned(server, lambda: client.get(path, expect=200), 100, table, lambda: copies(server, table, id, 5000))
        assert 1 <= page < 10, page
    finally:
        server.stop()


def reads(server, client):
    """Groups that were looked at, by whatever way. A session tells of its reads when a second has passed, at the end of the next statement."""
    client.get("/v1/contacts", expect=200)
    time.sleep(1.2)
    client.get("/v1/contacts", expect=200)
    time.sleep(0.3)
    return server.sql("SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_all_tables WHERE relid = 'contacts.contact_group'::regclass")[0][0]


def test_reads_go_on_when_the_database_has_ended_all_sessions():
    """Each connection finds out for itself; nobody hears of it."""
    server = Server("--modules", "org,locations,contacts,events,webhooks", "--set", "workers=1")
    try:
        client = server.organization("Restarted").client()
        id = client.post("/v1/contacts", {"name": "Ann"}, expect=201).data["id"]
        for _ in range(20):
            client.get("/v1/contacts", expect=200)
        end_sessions(server)
        for _ in range(10):
            client.get("/v1/contacts", expect=200)
            client.get(f"/v1/contacts/{id}", expect=200)
            client.get("/v1/contacts?search=ann", expect=200)
            client.get("/v1/stations/x", expect=404)
    finally:
        server.stop()


def test_rows_that_a_list_shows_of_others_are_looked_up_one_by_one():
    server = Server("--modules", "org,locations,contacts,events,webhooks", "--set", "workers=1", "--set", "database.pool=1")
    server.broken |= {"contacts.group_members", "contacts.contact_groups"}  # rows are copied
    try:
        client = server.organization("Crowded").client()
        ids = [client.post("/v1/contacts", {"name": f"Ann {i}"}, expect=201).data["id"] for i in range(10)]
        group = client.post("/v1/groups", {"name": "Crew", "resource": "contact"}, expect=201).data["id"]
        client.post(f"/v1/groups/{group}", {"add": ids}, expect=200)
        copies(server, "contact_group", group, 5000)
        before = reads(server, client)
        for _ in range(10):
            assert all(len(c["groups"]) == 1 for c in client.get("/v1/contacts", expect=200).data)
        assert reads(server, client) - before < 500  # 10 x 10 of them, and what reads() asks
    finally:
        server.stop()
