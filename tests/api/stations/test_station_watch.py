"""The watch of print stations (spec 04 section 7): what is due by time alone is looked for once a second."""
import time

from wharf import Server, make_location


def test_events_of_others_do_not_make_it_look():
    server = Server("--modules", "org,locations,contacts,stations,events")
    try:
        client = server.organization().client()
        make_location(client)
        server.sql("ALTER DATABASE wharf SET track_functions = 'all'")
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
        looks = "SELECT COALESCE(sum(calls), 0)::bigint FROM pg_stat_user_functions WHERE schemaname = 'stations' AND funcname = 'due'"
        begun = time.monotonic()
        for i in range(60):
            client.post("/v1/contacts", {"name": f"Ann {i}"}, expect=201)
            time.sleep(0.05)  # each is an event that is processed by itself
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")  # they tell of their calls
        calls = server.sql(looks)[0][0]
        assert 0 < calls <= time.monotonic() - begun + 2, calls
    finally:
        server.stop()
