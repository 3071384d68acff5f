"""A cursor walk while others insert and delete: every row that nobody touches is seen exactly once (spec 01 section 10)."""
import threading

import pytest
from wharf import Client


@pytest.mark.parametrize("order", ["created_at", "name", "qty"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_cursor_walk_among_writers(server, order, direction):
    org = server.organization("Walk")
    key = org.key()
    # 600 rows that stay, spread in time, name and number (some without), and as many that will go
    server.sql("INSERT INTO filterbench.sample (organization_id, id, status, name, qty, created_at, updated_at)"
               " SELECT %s, 'smp_' || lpad(i::text, 22, '0'), 'open', CASE WHEN i %% 2 = 0 THEN 'stay ' ELSE 'go ' END || md5(i::text),"
               " CASE WHEN i %% 7 = 0 THEN NULL ELSE (i * 37) %% 1000 END, now() - i * interval '1 minute', now() FROM generate_series(1, 1200) i", org.id)
    staying = {r[0] for r in server.sql("SELECT id FROM filterbench.sample WHERE organization_id = %s AND name LIKE 'stay%%'", org.id)}
    going = [r[0] for r in server.sql("SELECT id FROM filterbench.sample WHERE organization_id = %s AND name LIKE 'go%%'", org.id)]
    stop, done, odd = threading.Event(), [0, 0], []

    def insert(n):
        c, i = Client(server, key), 0
        while not stop.is_set():
            a = c.request("POST", "/v1/samples", body={"status": "open", "name": f"new {n} {i * 7919 % 10007}", "qty": i % 1000}, check=False)
            odd.extend([a] if a.status != 201 else [])
            i += 1
            done[0] += 1

    def delete(mine):
        c = Client(server, key)
        for id in mine:
            if stop.is_set():
                return
            a = c.request("DELETE", f"/v1/samples/{id}", check=False)
            odd.extend([a] if a.status != 200 else [])
            done[1] += 1

    threads = [threading.Thread(target=insert, args=(n,)) for n in range(2)] + [threading.Thread(target=delete, args=(going,))]
    [t.start() for t in threads]
    seen, cursor, c = [], "start", Client(server, key)
    try:
        # new rows come at the walk's end when it is ordered by time ascending: it is over when all that stays was met
        while cursor and len(seen) < 50000:
            a = c.get(f"/v1/samples?limit=4&order_by={order}&direction={direction}&cursor={cursor}", check=False)
            seen += a.ids
            cursor = a.pagination["next_cursor"]
            if order == "created_at" and direction == "asc" and staying <= set(seen):
                break
    finally:
        stop.set()
        [t.join() for t in threads]
    assert not odd, odd[:3]
    met = [i for i in seen if i in staying]
    assert len(met) == len(set(met)) == len(staying), (len(met), len(set(met)), len(staying))
    assert len(seen) == len(set(seen))
    print(order, direction, done)
    assert done[0] + done[1] > 300
