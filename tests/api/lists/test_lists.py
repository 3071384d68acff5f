"""Pagination, cursors, totals, sorting, search and field sets: spec 01 section 10, on tests/plugins/filterbench."""
import base64
import random

import pytest

from wharf import make_location

COUNT = 57


@pytest.fixture(scope="module")
def filled(server):
    """57 rows with ties and nulls: (client, rows as created)."""
    org = server.organization()
    c = org.client()
    rng = random.Random(7)
    rows = []
    for i in range(COUNT):
        body = {"status": rng.choice(["open", "closed"]), "qty": rng.choice([None, -1.5, 0, 2, 2.25]), "count": i % 5, "is_active": i % 2 == 0,
                "name": rng.choice([None, "alpha", "Alpha", "beta", "Éclair", "zulu"])}
        if i % 3 == 0:
            body["completed_at"] = f"2024-01-0{1 + i % 7}T00:00:00Z"
        rows.append(c.post("/v1/samples", body, expect=201).data)
    return c, rows


def walk_pages(c, query, limit):
    ids, page = [], 1
    while True:
        a = c.get(f"/v1/samples?{query}&limit={limit}&page={page}")
        assert a.pagination == {"page": page, "limit": limit, "has_more": a.pagination["has_more"]}
        ids += a.ids
        if not a.pagination["has_more"]:
            return ids
        assert len(a.ids) == limit
        page += 1


def walk_cursor(c, query, limit):
    ids, cursor = [], "start"
    while cursor:
        a = c.get(f"/v1/samples?{query}&limit={limit}&cursor={cursor}")
        assert a.pagination["page"] is None and a.pagination["has_more"] == (a.pagination["next_cursor"] is not None)
        ids += a.ids
        cursor = a.pagination["next_cursor"]
    return ids


def sort_key(row, field):
    v = row[field]
    return v.lower().encode() if isinstance(v, str) and field == "name" else v


@pytest.mark.parametrize("field", ["created_at", "updated_at", "completed_at", "qty", "count", "is_active", "name", "status"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_orders(filled, field, direction):
    c, rows = filled
    ids = c.get(f"/v1/samples?order_by={field}&direction={direction}&limit=all").ids
    there = sorted([r for r in rows if r[field] is not None], key=lambda r: (sort_key(r, field), r["id"]), reverse=direction == "desc")
    nulls = sorted([r for r in rows if r[field] is None], key=lambda r: r["id"], reverse=direction == "desc")
    assert ids == [r["id"] for r in there + nulls]
    query = f"order_by={field}&direction={direction}"
    assert walk_pages(c, query, 10) == ids
    assert walk_cursor(c, query, 10) == ids
    assert walk_cursor(c, query, COUNT) == ids


def test_defaults(filled):
    c, rows = filled
    a = c.get("/v1/samples")
    assert a.pagination == {"page": 1, "limit": 25, "has_more": True} and len(a.data) == 25
    assert a.ids == [r["id"] for r in sorted(rows, key=lambda r: (r["created_at"], r["id"]), reverse=True)][:25]
    assert a.message == "25 samples retrieved"
    assert c.get("/v1/samples?limit=1").message == "1 sample retrieved"
    beyond = c.get("/v1/samples?page=99")
    assert beyond.data == [] and beyond.pagination == {"page": 99, "limit": 25, "has_more": False}
    assert c.get("/v1/samples?limit=all").pagination["limit"] == 1000
    exact = c.get(f"/v1/samples?limit={COUNT}")
    assert exact.pagination["has_more"] is False and len(exact.data) == COUNT


# Of spec 01 section 10, row 'limit', and 07 section 1: (default, most).
PAGES = {"/v1/containers": (25, 1000), "/v1/shipments": (25, 1000), "/v1/locations": (25, 1000), "/v1/users": (25, 1000), "/v1/api-keys": (25, 1000),
         "/v1/cloud-printing/stations": (20, 100), "/v1/contacts": (10, 1000), "/v1/groups": (10, 1000), "/v1/logs": (10, 1000),
         "/v1/request-logs": (10, 1000), "/v1/events": (20, 100)}


@pytest.mark.parametrize("path", PAGES)
def test_sizes_of_pages(client, path):
    default, most = PAGES[path]
    told = [client.get(path + q).pagination["limit"] for q in ("", "?limit=all", f"?limit={most}")]
    assert told == [default, most, most]
    a = client.request("GET", f"{path}?limit={most + 1}", expect=400)
    assert (a.code, a.errors) == ("validation.failed" if path == "/v1/containers" else "param.invalid", ["limit"])


@pytest.mark.parametrize("query", ["page=0", "page=-1", "page=1.5", "page=x", "page=", "limit=0", "limit=none", "limit=1001", "limit=5.0",
                                   "limit=-5", "limit=", "direction=DESC", "direction=up", "order_by=nope", "order_by=notes", "order_by=",
                                   "order_by=_relevance", "include_total_count=perhaps", "fields=nope", "fields=", "fields=name,,id",
                                   "search_strategy=none&search=xx", "page=1&page=2", "limit=1&limit=1", "order_by=name&order_by=name",
                                   "direction=asc&direction=asc", "search=ab&search=ab"])
def test_refused(filled, query):
    c, _ = filled
    c.refused("GET", "/v1/samples?" + query, 400, "param.invalid", [query.split("=")[0]])


def test_cursor_refusals(filled):
    c, _ = filled
    c.refused("GET", "/v1/samples?page=2&cursor=start", 400, "param.invalid")
    c.refused("GET", "/v1/samples?cursor=start&cursor=start", 400, "param.invalid", ["cursor"])
    c.refused("GET", "/v1/samples?cursor=start&search=alpha", 400, "param.invalid", ["cursor"])
    c.get("/v1/samples?cursor=start&search=alpha&order_by=name")
    for bad in ("nonsense", "AAAA", "start2", base64.urlsafe_b64encode(b"x" * 60).decode().rstrip("=")):
        c.refused("GET", "/v1/samples?cursor=" + bad, 400, "cursor.invalid", ["cursor"])


def test_cursor_is_bound(filled, server):
    c, _ = filled
    query = "order_by=count&direction=asc&status=open"
    cursor = c.get(f"/v1/samples?{query}&limit=5&cursor=start").pagination["next_cursor"]
    a = c.get(f"/v1/samples?status=open&direction=asc&order_by=count&limit=7&fields=id&cursor={cursor}")
    assert len(a.ids) == 7
    for other in ("order_by=count&direction=asc", "order_by=count&direction=desc&status=open", "direction=asc&status=open",
                  "order_by=count&direction=asc&status=closed", "order_by=qty&direction=asc&status=open"):
        c.refused("GET", f"/v1/samples?{other}&cursor={cursor}", 400, "cursor.invalid", ["cursor"])
    for i in range(0, len(cursor), 7):
        twisted = cursor[:i] + ("A" if cursor[i] != "A" else "B") + cursor[i + 1:]
        c.refused("GET", f"/v1/samples?{query}&cursor={twisted}", 400, "cursor.invalid", ["cursor"])
    server.organization().client().refused("GET", f"/v1/samples?{query}&cursor={cursor}", 400, "cursor.invalid", ["cursor"])


def test_walk_while_rows_come_and_go(fresh):
    c = fresh.client()
    ids = [c.post("/v1/samples", {"status": "open", "name": f"n{i:02}"}, expect=201).data["id"] for i in range(20)]
    seen, cursor, n = [], "start", 0
    while cursor:
        a = c.get(f"/v1/samples?order_by=name&direction=asc&limit=3&cursor={cursor}")
        seen += a.ids
        cursor = a.pagination["next_cursor"]
        c.delete("/v1/samples/" + ids[n])
        c.post("/v1/samples", {"status": "open", "name": f"a{n}"}, expect=201)
        n += 1
    stayed = set(ids[n:])
    assert len(seen) == len(set(seen)) and stayed <= set(seen)


def test_too_deep(filled):
    c, _ = filled
    c.get("/v1/samples?page=101&limit=1000")
    c.refused("GET", "/v1/samples?page=102&limit=1000", 400, "pagination.too_deep", ["page"])
    c.refused("GET", "/v1/samples?page=100002&limit=1", 400, "pagination.too_deep", ["page"])
    c.refused("GET", "/v1/samples?page=99999999999999999999", 400, "pagination.too_deep", ["page"])


def test_totals(filled):
    c, rows = filled
    assert c.get("/v1/samples?include_total_count=true&limit=5").pagination == {"page": 1, "limit": 5, "has_more": True, "total_count": COUNT}
    assert c.get("/v1/samples?include_total_count=estimated&limit=5").pagination["total_count"] == COUNT
    n = sum(r["status"] == "open" for r in rows)
    assert c.get("/v1/samples?include_total_count=1&status=open&limit=1").pagination["total_count"] == n
    assert "total_count" not in c.get("/v1/samples?include_total_count=false").pagination
    p = c.get("/v1/samples?include_total_count=true&cursor=start&limit=5").pagination
    assert p["total_count"] == COUNT and p["next_cursor"]


def test_estimated_total(fresh, server):
    server.sql("INSERT INTO filterbench.sample (organization_id, id, status, created_at, updated_at)"
               " SELECT %s, 'smp_' || lpad(i::text, 22, '0'), 'open', now(), now() FROM generate_series(1, 12000) i", fresh.id)
    server.sql("ANALYZE filterbench.sample")
    c = fresh.client()
    exact = c.get("/v1/samples?include_total_count=true&limit=1").pagination
    assert exact["total_count"] == 12000 and "total_count_is_estimate" not in exact
    p = c.get("/v1/samples?include_total_count=estimated&limit=1").pagination
    assert p["total_count_is_estimate"] is True and 10001 <= p["total_count"] <= 20000
    few = c.get("/v1/samples?include_total_count=estimated&limit=1&status=closed").pagination
    assert few["total_count"] == 0 and "total_count_is_estimate" not in few


def test_search(fresh):
    c = fresh.client()
    ids = {}
    for name, code, legs in (("Packing table far away", None, []), ("Table", "t1", []), ("Chair", None, ["table top"]), ("100% wool", None, []),
                             ("under_score", None, [])):
        ids[name] = c.post("/v1/samples", {"status": "open", "name": name, "code": code, "legs": [{"label": x} for x in legs]}, expect=201).data["id"]
    get = lambda q: c.get("/v1/samples?" + q).ids
    assert get("search=TABLE")[0] == ids["Table"] and set(get("search=table")) == {ids["Table"], ids["Packing table far away"], ids["Chair"]}
    assert get("search=packing+table")[0] == ids["Packing table far away"]
    assert set(get("search=packing+table")) == {ids["Table"], ids["Packing table far away"], ids["Chair"]}  # any term
    assert get("search=packing+table&search_strategy=match_all") == [ids["Packing table far away"]]
    assert get("search=0%25+w") == [ids["100% wool"]] and get("search=%25%25") == [] and get("search=r_s") == [ids["under_score"]]
    assert get("search=table&order_by=name&direction=asc") == [ids["Chair"], ids["Packing table far away"], ids["Table"]]
    assert len(get("search=")) == 5 and get("search=a") == []
    assert get("search=zzz") == []
    assert c.get("/v1/samples?search=table&limit=all").pagination["limit"] == 100
    assert c.get("/v1/samples?search=table&limit=7").pagination["limit"] == 7
    c.refused("GET", "/v1/samples?search=" + "x" * 257, 400, "param.invalid", ["search"])
    c.get("/v1/samples?search=" + "%C3%A9" * 256)
    alike = sorted(c.post("/v1/samples", {"status": "open", "name": "alike"}, expect=201).data["id"] for _ in range(5))
    assert get("search=alike") == alike, "of equal relevance: by id, ascending"
    pages = [c.get(f"/v1/samples?search=table&limit=1&page={i}").ids[0] for i in (1, 2, 3)]
    assert pages == get("search=table")


def test_pages_of_a_search_are_parts_of_one_order(fresh):
    """Rows with all words come first, and each row once, wherever the pages end: at, before and behind the last row that has all."""
    c, r = fresh.client(), random.Random(5)
    words = ["dock", "door", "crate", "pallet", "bay"]
    for _ in range(60):
        c.post("/v1/samples", {"status": "open", "name": " ".join(r.sample(words, r.randint(1, 3)))}, expect=201)
    for asked in ("dock+door", "dock+crate+bay", "bay+pallet", "crate"):
        found = c.get(f"/v1/samples?search={asked}&limit=100").data
        has = [sum(w in row["name"] for w in asked.split("+")) for row in found]
        assert has == sorted(has, reverse=True) and has[-1] == 1 and (has[0] == len(asked.split("+")))
        for size in (1, 3, has.count(has[0]), has.count(has[0]) + 1, 20):
            pages = [c.get(f"/v1/samples?search={asked}&limit={size}&page={i + 1}") for i in range(-(-len(found) // size))]
            assert [id for p in pages for id in p.ids] == [row["id"] for row in found], (asked, size)
            assert [p.pagination["has_more"] for p in pages] == [True] * (len(pages) - 1) + [False], (asked, size)


def test_a_word_that_very_many_rows_have(fresh, server):
    """The row that is the search as a whole comes first, wherever it lies in the table; pages show each row once, those that are not ranked last, by id."""
    server.sql("INSERT INTO filterbench.sample (organization_id, id, status, name, created_at, updated_at)"
               " SELECT %s, 'smp_' || lpad((i * 7919 %% 2531)::text, 22, '0'), 'open', CASE i WHEN 2530 THEN 'Everywhere' ELSE 'everywhere else' || (ARRAY['', ' far', ' far away'])[1 + i %% 3] END, now(), now()"
               " FROM generate_series(1, 2530) i", fresh.id)
    c = fresh.client()
    number = {f"smp_{i * 7919 % 2531:022}": i for i in range(1, 2531)}
    ranked = sorted((id for id, i in number.items() if i <= 1000), key=lambda id: (number[id] % 3, id))
    whole = [id for id, i in number.items() if i == 2530]
    expected = whole + ranked + sorted(set(number) - set(ranked) - set(whole))
    walked = [id for page in range(1, 9) for id in c.get(f"/v1/samples?search=everywhere&limit=100&page={page}").ids]
    server.sql("ANALYZE filterbench.sample")  # another plan, the same rows
    assert walked + [id for page in range(9, 27) for id in c.get(f"/v1/samples?search=everywhere&limit=100&page={page}").ids] == expected
    for size, page in ((7, 142), (7, 143), (7, 144), (77, 13), (77, 14), (11, 91), (11, 92)):
        assert c.get(f"/v1/samples?search=everywhere&limit={size}&page={page}").ids == expected[(page - 1) * size:page * size], (size, page)
    last = c.get("/v1/samples?search=everywhere&limit=10&page=253")
    assert len(last.data) == 10 and last.pagination["has_more"] is False and c.get("/v1/samples?search=everywhere&limit=10&page=254").data == []
    assert c.get("/v1/samples?search=everywhere&limit=10&page=253&order_by=created_at").pagination == {"page": 253, "limit": 10, "has_more": False}
    both = [id for page in range(1, 27) for id in c.get(f"/v1/samples?search=else+everywhere&search_strategy=match_all&limit=100&page={page}").ids]
    assert len(both) == len(set(both)) == 2529 and set(both) == set(number) - set(whole) and both[1000:] == sorted(both[1000:])


def test_a_word_that_is_everywhere_beside_a_rare_one(fresh, server):
    """Rows with both words come first, rows with the rare one are ranked, and pages behind those that are ranked have each row once too."""
    server.sql("INSERT INTO filterbench.sample (organization_id, id, status, name, created_at, updated_at)"
               " SELECT %s, 'smp_' || lpad(i::text, 22, '0'), 'open', CASE WHEN i %% 1000 = 7 THEN 'crate nail' WHEN i %% 1000 = 9 THEN 'long thin nail' ELSE 'crate ' || i END, now(), now()"
               " FROM generate_series(1, 3000) i", fresh.id)
    c = fresh.client()
    names = [row["name"] for row in c.get("/v1/samples?search=crate+nail&limit=10").data]
    assert names[:3] == ["crate nail"] * 3 and all("nail" not in name for name in names[3:])
    rows = [row for page in range(1, 31) for row in c.get(f"/v1/samples?search=crate+nail&limit=100&page={page}").data]
    assert len({row["id"] for row in rows}) == len(rows) == 3000 and [row["name"] for row in rows[:10]] == names
    assert max(i for i, row in enumerate(rows) if row["name"] == "long thin nail") < 600 and [r["id"] for r in rows[600:]] == sorted(r["id"] for r in rows[600:])
    assert c.get("/v1/samples?search=crate+nail&limit=100&page=30").pagination["has_more"] is False and c.get("/v1/samples?search=crate+nail&limit=100&page=31").data == []
    assert c.get("/v1/samples?search=crate+nail&limit=1&include_total_count=true").pagination["total_count"] == 3000


def test_two_words_that_very_many_rows_have_together(fresh, server):
    """Where 500 rows have all words, those with one of them are not ranked: they come behind, by id, as others do that are not ranked."""
    server.sql("INSERT INTO filterbench.sample (organization_id, id, status, name, created_at, updated_at)"
               " SELECT %s, 'smp_' || lpad((i * 7919 %% 2531)::text, 22, '0'), 'open', (ARRAY['nail ' || i, 'crate nail', 'crate ' || i, 'nail and crate'])[1 + i %% 4], now(), now()"
               " FROM generate_series(1, 1200) i", fresh.id)
    c = fresh.client()
    rows = [row for page in range(1, 13) for row in c.get(f"/v1/samples?search=nail+crate&limit=100&page={page}").data]
    assert len({row["id"] for row in rows}) == len(rows) == 1200
    names = [row["name"] for row in rows]
    assert names[:300] == ["crate nail"] * 300 and names[300:600] == ["nail and crate"] * 300
    assert all(("nail" in name) != ("crate" in name) for name in names[600:]) and [r["id"] for r in rows[600:]] == sorted(r["id"] for r in rows[600:])
    for size, page in ((7, 85), (7, 86), (7, 87), (77, 8), (100, 6), (100, 7)):
        assert c.get(f"/v1/samples?search=nail+crate&limit={size}&page={page}").ids == [r["id"] for r in rows[(page - 1) * size:page * size]], (size, page)


def test_fields(filled):
    c, _ = filled
    row = c.get("/v1/samples?fields=name,qty&limit=1").data[0]
    assert list(row) == ["object", "id", "name", "qty"]
    assert list(c.get("/v1/samples?fields=id&limit=1").data[0]) == ["object", "id"]
    assert list(c.get(f"/v1/samples/{row['id']}?fields=status,%20count").data) == ["object", "id", "status", "count"]
    c.refused("GET", f"/v1/samples/{row['id']}?fields=nope", 400, "param.invalid", ["fields"])


def test_locations_limit_counts(fresh):
    owner = fresh.client()
    a, b = make_location(owner, "A")["id"], make_location(owner, "B")["id"]
    rows = [owner.post("/v1/samples", {"status": "open", "location_id": x}, expect=201).data["id"] for x in (a, b, None, a, b)]
    c = fresh.client(locations=[a])
    got = c.get("/v1/samples?include_total_count=true&limit=3")
    assert set(got.ids) == {rows[0], rows[2], rows[3]} and got.pagination == {"page": 1, "limit": 3, "has_more": False, "total_count": 3}
    c.refused("GET", f"/v1/samples?location_id={b}", 403, "location_access", [b])
    c.refused("GET", f"/v1/samples?location_id={a},{b}", 403, "location_access", [b])
    assert set(c.get(f"/v1/samples?location_id={a}").ids) == {rows[0], rows[3]}
    assert c.get("/v1/samples?location_id=null").ids == [rows[2]]
    both = fresh.client(locations=[a, b])
    assert len(both.get("/v1/samples").ids) == 5
    nowhere = owner.get("/v1/samples?location_id=loc_0000000000000000000000")
    assert nowhere.data == []


@pytest.mark.parametrize("text", ["", "".join(map(chr, range(1, 128))), "ISTANBUL", "Straße 7", "ÉCOLE", "Ærø", "ΑΘΗΝΑ", "МОСКВА", "I\u0307stanbul", "王小明 LTD", "№ 5 \u00a9"])
def test_texts_are_folded_as_without_the_short_way_for_ascii(server, text):
    folded, slowly, again = server.sql("SELECT wharf.fold(%s), lower(public.unaccent(%s)), wharf.fold(wharf.fold(%s))", text, text, text)[0]
    assert folded == slowly == again
