"""Words of files, found by search: spec 05 section 3.7."""
import io
import sys
import urllib.parse

import pytest
from PIL import Image, ImageDraw

from document_files import DOCUMENTS, announce, b64, get, make, post, put
from test_document_preview import drawn
from wharf import ROOT, Client, Server, make_location, until

sys.path.insert(0, str(ROOT / "tests/cell"))
import labels  # noqa: E402


@pytest.fixture(scope="module")
def world():
    s = Server("--modules", "org,locations,batches,documents,exports,logs", "--test-clock", "--set", "blob.grace=0")
    s.offset = 0
    yield s
    s.stop()


@pytest.fixture
def org(world):
    return world.organization()


@pytest.fixture
def client(org):
    return org.client()


def unread(server, org):
    return server.sql("SELECT id FROM documents.document WHERE organization_id = %s AND deleted_at IS NULL AND words_file_id IS DISTINCT FROM file_id"
                      " AND mime_type <> 'application/octet-stream'", org.id)


def run(server):
    """Lets the job look for new files."""
    server.offset += 60
    Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": server.offset}, expect=200)


def read(server, org):
    """Waits until all files of the organization are read."""
    run(server)
    until(lambda: not unread(server, org) or run(server))


def search(client, words, **more):
    return client.get(f"{DOCUMENTS}?{urllib.parse.urlencode({'search': words, **more})}")


def found(client, words, **more):
    return search(client, words, **more).ids


def text_pdf(*lines):
    """A PDF whose text is text: one page for each line."""
    about = "/MediaBox [0 0 400 200] /Resources <</Font <</F <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> >> >>"
    return drawn(*[(about, f"BT /F 12 Tf 20 100 Td ({line}) Tj ET") for line in lines])


def scanned_pdf(*lines):
    """A PDF whose pages are pictures of a line each."""
    pages = [picture(line) for line in lines]
    out = io.BytesIO()
    pages[0].save(out, "PDF", resolution=200, save_all=True, append_images=pages[1:])
    return out.getvalue()


def picture(line):
    page = Image.new("L", (1000, 300), 255)
    ImageDraw.Draw(page).text((60, 110), line, 0, labels.font(48))
    return page


def png(line):
    out = io.BytesIO()
    picture(line).save(out, "PNG")
    return out.getvalue()


KINDS = {"text": lambda words: words.encode(), "pdf": text_pdf, "scan": scanned_pdf, "image": png}


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_found(world, org, client, kind):
    row = make(client, KINDS[kind]("Harpoon Winch 4711"), mime_type="text/plain" if kind == "text" else None)
    other = make(client, KINDS[kind]("Anchor chain"), mime_type="text/plain" if kind == "text" else None)
    read(world, org)
    for words in ("harpoon", "Winch", "arpoo", "harpoon 4711"):
        hits = search(client, words).data
        assert hits[0]["id"] == row["id"] and other["id"] not in [h["id"] for h in hits], words
        told = [m for m in hits[0]["_search"]["matches"] if m["field"] == "content"]
        assert len(told) == 1 and set(told[0]["value"].split()) <= {"harpoon", "winch", "4711"}
    assert found(client, "anchor") == [other["id"]]
    assert found(client, "capstan") == []


def test_only_what_matches_is_told(world, org, client):
    make(client, b"one two three four threefold", mime_type="text/plain")
    read(world, org)
    hit = search(client, "thre").data[0]
    assert [m for m in hit["_search"]["matches"] if m["field"] == "content"] == [{"field": "content", "value": "three threefold"}]
    many = make(client, " ".join(f"spoke{i}" for i in range(30)).encode(), mime_type="text/plain")
    read(world, org)
    hit = search(client, "spoke").data[0]
    assert hit["id"] == many["id"] and hit["_search"]["matches"][0]["value"] == " ".join(f"spoke{i}" for i in range(10))


def test_accents_and_case(world, org, client):
    row = make(client, "MÜLLER Çay 王小明".encode(), mime_type="text/plain")
    read(world, org)
    for words in ("muller", "Müller", "cay", "ÇAY", "王小明"):
        assert found(client, words) == [row["id"]], words
    assert found(client, "王小") == []  # shorter than what the index holds


def test_a_better_match_comes_first(world, org, client):
    in_file = make(client, b"ballast tank", mime_type="text/plain")
    in_name = make(client, b"nothing", mime_type="text/plain", name="Ballast tank")
    read(world, org)
    assert found(client, "ballast tank") == [in_name["id"], in_file["id"]]


def test_each_page(world, org, client):
    row = make(client, text_pdf("Foremast", "Mainmast", "Mizzen"))
    read(world, org)
    assert found(client, "mizzen") == found(client, "foremast") == [row["id"]]


def test_scanned_pages_behind_a_text(world, org, client):
    row = make(client, scanned_pdf("Bowsprit one", "Topgallant two"))
    read(world, org)
    assert found(client, "bowsprit") == found(client, "topgallant") == [row["id"]]


def test_the_current_version_counts(world, org, client):
    row = make(client, b"keelson", mime_type="text/plain")
    read(world, org)
    assert found(client, "keelson") == [row["id"]]
    post(client, row, content=b64(b"garboard"))
    assert found(client, "keelson") == []  # from the write on
    read(world, org)
    assert found(client, "garboard") == [row["id"]] and found(client, "keelson") == []


def test_bytes_that_come_by_a_link(world, org, client):
    row = announce(client, mime_type="text/plain")
    read(world, org)
    assert put(world, row, b"fothering sail").status_code == 200
    read(world, org)
    assert found(client, "fothering") == [row["id"]]


def test_a_delete_blanks_them(world, org, client):
    row = make(client, b"secret rendezvous", mime_type="text/plain")
    read(world, org)
    assert found(client, "rendezvous") == [row["id"]]
    client.delete(f"{DOCUMENTS}/{row['id']}", expect=200)
    assert found(client, "rendezvous") == []
    assert world.sql("SELECT content_words FROM documents.document WHERE id = %s", row["id"]) == [(None,)]


def test_words_are_told_nowhere(world, org, client):
    row = make(client, b"marlinspike", mime_type="text/plain")
    read(world, org)
    post(client, row, notes="changed")
    assert "marlinspike" not in client.get(f"{DOCUMENTS}/{row['id']}").raw.text
    assert "marlinspike" not in client.get(DOCUMENTS).raw.text
    assert "marlinspike" not in str(org.events(row["id"])) and "marlinspike" not in str(org.changes(row["id"]))


def test_reading_is_no_change(world, org, client):
    row = make(client, b"halyard", mime_type="text/plain")
    before, events = get(client, row), org.events(row["id"])
    read(world, org)
    assert get(client, row) == before and org.events(row["id"]) == events


def test_who_sees_it_finds_it(world, org, client):
    here, there = (make_location(client)["id"] for _ in range(2))
    row = make(client, b"capstan bar", mime_type="text/plain", resources=[{"type": "location", "id": here}])
    read(world, org)
    assert found(client, "capstan") == [row["id"]]
    assert found(org.client(locations=[here]), "capstan") == [row["id"]]
    assert found(org.client(locations=[there]), "capstan") == []
    stranger = world.organization()
    assert found(stranger.client(), "capstan") == []


def test_filters_and_counts_hold_for_words(world, org, client):
    rows = [make(client, b"ratline", mime_type="text/plain", category=c) for c in ("invoice", "photo", "invoice")]
    read(world, org)
    assert set(found(client, "ratline", category="invoice")) == {rows[0]["id"], rows[2]["id"]}
    page = search(client, "ratline", include_total_count="true", limit=1)
    assert page.pagination["total_count"] == 3


def test_files_without_words(world, org, client):
    [make(client, data, mime_type=t) for data, t in ((b"%PDF-1.4\nbroken", "application/pdf"), (b"\x89PNG\r\n\x1a\nbroken", "image/png"),
                                                              (b"\xff\xfe\x00 no text", "application/octet-stream"), (text_pdf(""), "application/pdf"))]
    read(world, org)
    assert world.sql("SELECT count(*) FROM documents.document WHERE organization_id = %s AND content_words IS NOT NULL", org.id) == [(0,)]


def test_a_text_without_end(world, org, client):
    words = "\n".join(f"word{i:06}" for i in range(200000)).encode()
    row = make(client, words, mime_type="text/plain")
    read(world, org)
    assert found(client, "word000000") == [row["id"]] and found(client, "word199999") == []
    assert world.sql("SELECT length(content_words) <= 20000 FROM documents.document WHERE id = %s", row["id"]) == [(True,)]


def test_a_word_that_very_many_files_have(world, org, client):
    """What has it in its name comes first, also behind more files than are ranked; pages show each document once."""
    world.sql("INSERT INTO documents.document (organization_id, id, name, filename, visibility, mime_type, status, content_words, created_at, updated_at)"
              " SELECT %s, 'dcmt_' || lpad((i * 7919 %% 1531)::text, 22, '0'), CASE WHEN i > 1500 THEN 'Gunwale ' || i ELSE 'Plan of a keel' END, 'plan.pdf', 'private', 'application/pdf', 'completed', 'oakum gunwale thole', now(), now()"
              " FROM generate_series(1, 1530) i", org.id)
    for words in ("gunwale", "gunwale thole", "gunwale capstan"):
        rows = [row for page in range(1, 17) for row in search(client, words, limit=100, page=page).data]
        assert len({row["id"] for row in rows}) == len(rows) == 1530, words
        assert all("Gunwale" in row["name"] for row in rows[:30]) and not any("Gunwale" in row["name"] for row in rows[30:]), words
        scores = [row["_search"]["relevance_score"] for row in rows]
        assert scores == sorted(scores, reverse=True) and scores[-1] == round(1 / (len(words.split()) + 1), 4), words
        assert [row["id"] for row in rows[530:]] == sorted(row["id"] for row in rows[530:]), words
    assert search(client, "gunwale", limit=100, page=17).data == [] and search(client, "gunwale thole", limit=10, page=153, search_strategy="match_all").pagination["has_more"] is False
    all_words = [id for page in range(1, 17) for id in search(client, "gunwale thole", limit=100, page=page, search_strategy="match_all").ids]
    assert len(set(all_words)) == len(all_words) == 1530
    world.sql("DELETE FROM documents.document WHERE organization_id = %s", org.id)  # they have no bytes


def test_a_search_for_two_letters_beside_files(world, org, client):
    """A term that is too short for words of files, and similar words, which are looked for in names only."""
    row = make(client, b"xy xy xyz", mime_type="text/plain", name="Bulkhead")
    read(world, org)
    assert found(client, "xy") == [] and found(client, "xyz") == [row["id"]]
    assert found(client, "bulkheed") == [row["id"]]
    assert found(client, "bu") == [row["id"]]


def test_a_language_that_is_missing():
    """Pictures wait; what a PDF carries is found, also of files that are older than pages that are pictures."""
    server = Server("--modules", "org,documents", "--test-clock", "--set", "documents.full_text.languages=qqq")
    server.offset = 0
    try:
        org = server.organization()
        client = org.client()
        old = make(client, text_pdf("Quarterdeck"))
        scans = [make(client, scanned_pdf("Gangway")) for _ in range(6)]
        waits = make(client, png("Forecastle"))
        run(server)
        until(lambda: [i for i, in unread(server, org)] == [waits["id"]] or run(server))
        run(server)
        assert found(client, "quarterdeck") == [old["id"]] and found(client, "gangway") == [] and scans
        until(lambda: "documents.language" in (server.folder / "wharf.log").read_text())
        assert [i for i, in unread(server, org)] == [waits["id"]]
    finally:
        server.stop()


def test_it_can_be_left_out():
    server = Server("--modules", "org,documents", "--test-clock", "--set", "documents.full_text.enabled=false")
    server.offset = 0
    try:
        org = server.organization()
        client = org.client()
        row = make(client, b"binnacle", mime_type="text/plain")
        for _ in range(3):
            run(server)
        witness = announce(client)  # the sweep ran after it: jobs of a minute have run
        server.offset += 86400 + 60
        Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": server.offset}, expect=200)
        until(lambda: get(client, witness)["status"] == "expired")
        assert found(client, "binnacle") == [] and unread(server, org) == [(row["id"],)]
    finally:
        server.stop()
