"""A cursor walk while others insert and delete: every row that nobody touches is seen exactly once (spec 01 section 10)."""
import threading

import pytest
from wharf import Client


class Writers:
    """Two that insert, and take away every second row again; one that takes away what was there before."""

    def __init__(self, server, key, going):
        self.server, self.key, self.stop, self.done, self.odd = server, key, threading.Event(), [0, 0, 0], []
        self.threads = [threading.Thread(target=self.insert, args=(n,)) for n in range(2)] + [threading.Thread(target=self.delete, args=(going,))]
        [t.start() for t in self.threads]

    def write(self, n, client, method, path, status, **more):
        a = client.request(method, path, check=False, **more)
        self.odd.extend([a] if a.status != status else [])
        self.done[n] += 1
        return a

    def insert(self, n):
        c, i = Client(self.server, self.key), 0
        while not self.stop.is_set():
            a = self.write(n, c, "POST", "/v1/samples", 201, body={"status": "open", "name": f"new {n} {i * 7919 % 10007}", "qty": i % 1000})
            if i % 2:
                self.write(n, c, "DELETE", f"/v1/samples/{a.data['id']}", 200)
            i += 1

    def delete(self, going):
        c = Client(self.server, self.key)
        for id in going:
            if self.stop.is_set():
                return
            self.write(2, c, "DELETE", f"/v1/samples/{id}", 200)

    def end(self):
        self.stop.set()
        [t.join() for t in self.threads]
        assert not self.odd, self.odd[:3]


@pytest.mark.parametrize("order", ["created_at", "name", "qty"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_cursor_walk_among_writers(request, server, order, direction):
    writes = 10000 if request.config.getoption("--long") else 400
    org = server.organization("Walk")
    key = org.key()
    # 600 rows that stay, spread in time, name and number (some without), and as many that will go
    server.sql("INSERT INTO filterbench.sample (organization_id, id, status, name, qty, created_at, updated_at)"
               " SELECT %s, 'smp_' || lpad(i::text, 22, '0'), 'open', CASE WHEN i %% 2 = 0 THEN 'stay ' ELSE 'go ' END || md5(i::text),"
               " CASE WHEN i %% 7 = 0 THEN NULL ELSE (i * 37) %% 1000 END, now() - i * interval '1 minute', now() FROM generate_series(1, 1200) i", org.id)
    staying = {r[0] for r in server.sql("SELECT id FROM filterbench.sample WHERE organization_id = %s AND name LIKE 'stay%%'", org.id)}
    going = [r[0] for r in server.sql("SELECT id FROM filterbench.sample WHERE organization_id = %s AND name LIKE 'go%%'", org.id)]
    c, writers = Client(server, key), Writers(server, key, going)
    try:
        while sum(writers.done) < writes:
            walk(c, order, direction, staying)
    finally:
        writers.end()


def walk(c, order, direction, staying):
    seen, cursor = [], "start"
    # new rows come at the walk's end when it is ordered by time ascending: it is over when all that stays was met
    while cursor and len(seen) < 50000:
        a = c.get(f"/v1/samples?limit=4&order_by={order}&direction={direction}&cursor={cursor}", check=False)
        seen += a.ids
        cursor = a.pagination["next_cursor"]
        if order == "created_at" and direction == "asc" and staying <= set(seen):
            break
    met = [i for i in seen if i in staying]
    assert len(met) == len(set(met)) == len(staying), (len(met), len(set(met)), len(staying))
    assert len(seen) == len(set(seen))
