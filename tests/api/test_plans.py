"""Which way rows are looked up while tables are small: plans are kept, and the table may have grown by the next minute."""
import time

from wharf import Server


def whole_reads(server):
    return server.sql("SELECT seq_scan FROM pg_stat_all_tables WHERE relid = 'contacts.contact'::regclass")[0][0]


def end_sessions(server):
    """They tell of their scans when they end, if they have not yet."""
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
    old, end = server.sql(f"SELECT pid, backend_start {others}"), time.monotonic() + 10
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
