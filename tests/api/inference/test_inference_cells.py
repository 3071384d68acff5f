"""Pictures that end, fill or stop the process that reads them (docs/spec/06-inference.md sections 7.1 and 14.6): what the one who sent them hears, and that nobody else notices.
The process is the real one with faults (tests/cell/faulty), which pictures of a certain height set off."""
import concurrent.futures
import time

import pytest

from readings import PATH, drawn, labels, numbered, read, text
from test_inference_later import ended, later
from wharf import BUILD, Server

ITEMS = "/v0/ai/inferences/images/item-labels"
NOBODY = {"match": {"search": []}}
SOUND, ENDS_ONCE, ENDS_TWICE, MEMORY_ONCE, MEMORY_TWICE, HANGS, SLOW = range(1300, 1307)  # rows, as in faulty_image.c
THREADS = 12
QR = "https://example.test/t/7"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,carriers,contacts,shipments,trackers,events,inference", "--set", "rate_limit.key=0", "--set", "workers=1",
               "--set", f"database.pool={THREADS}", "--set", f"cell.dir={BUILD}/tests/cell/faulty")
    yield s
    s.stop()


def picture(rows):
    """A label with a Code 128 and a QR code."""
    page = labels.Image.new("L", (812, rows), 255)
    page.paste(labels.label(labels.code("qr", QR, 3)), (0, 0))
    return labels.bytes_of(page)


def blank(rows):
    return labels.bytes_of(labels.Image.new("L", (812, rows), 255))


def send(client, rows, path=PATH, made=picture, **more):
    """A busy machine may have no process for a picture: then once more."""
    body = {"image": text(made(rows)) if isinstance(rows, int) else [text(made(n)) for n in rows], **({"options": NOBODY} if path == PATH else {}), **more}
    answer = next(r for r in (client.post(path, body) for _ in range(10)) if r.status != 503)
    assert answer.status == 201, answer
    return answer.data


def codes(row):
    return sorted(b["value"] for b in row["barcodes"])


def processes(server):
    return server.process.pid, sorted(server.workers("web")), sorted(server.workers("job"))


@pytest.fixture
def unharmed(server):
    """Another organization goes on reading labels meanwhile, and the processes of the server are the same afterwards."""
    before = processes(server)
    other = server.organization().client()
    read(other, drawn(tracking=numbered(900)), options=NOBODY)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        beside = pool.submit(lambda: [read(other, drawn(tracking=numbered(901 + n)), options=NOBODY).data["tracking_number"] for n in range(3)])
        yield
        assert beside.result() == [numbered(901 + n) for n in range(3)]
    assert read(other, drawn(tracking=numbered(905)), options=NOBODY).data["tracking_number"] == numbered(905)
    assert processes(server) == before


def test_a_sound_picture(client):
    """Both codes are read where nothing ends the process: the other tests see what is left out."""
    row = read(client, picture(SOUND), options=NOBODY).data
    assert codes(row) == sorted([labels.TRACKING, QR]) and row["engine"]["whole"]


@pytest.mark.parametrize("rows", [ENDS_ONCE, MEMORY_ONCE])
def test_read_without_the_step_it_ended_in(client, unharmed, rows):
    """The linear code is not looked for again; the other one and the words are read."""
    row = next(r for r in (send(client, rows) for _ in range(10)) if r["tracking_number"])  # a busy machine may have no time for the words
    assert codes(row) == [QR] and not row["engine"]["whole"]
    assert (row["status"], row["errors"], row["tracking_number"]) == ("extracted", [], labels.TRACKING)


@pytest.mark.parametrize("rows", [ENDS_TWICE, MEMORY_TWICE])
def test_given_up_after_the_second_one(client, unharmed, rows):
    row = send(client, rows)
    assert (row["status"], row["errors"], row["tracking_number"]) == ("error", ["extraction_failed", "unknown_provider"], None)
    assert client.http.get(client.server.base + row["image_url"]).content == picture(rows), "somebody can look at it"
    fixed = client.post(f"{PATH}/{row['id']}", {"tracking_number": labels.TRACKING}, expect=200).data
    assert (fixed["status"], fixed["tracking_number"]) == ("completed", labels.TRACKING)
    row = send(client, [rows, SOUND, SOUND + 10])
    assert [i["error"] for i in row["images"]] == ["extraction_failed", None, None] and row["errors"] == [] and row["tracking_number"] == labels.TRACKING
    item = send(client, rows, ITEMS)
    assert (item["status"], item["errors"]) == ("error", ["image_unreadable"])


@pytest.mark.parametrize("rows", [ENDS_TWICE, MEMORY_TWICE])
def test_a_scanner_counts_where_the_picture_is_given_up(client, unharmed, rows):
    row = send(client, rows, barcode_values=[labels.TRACKING])
    assert (row["status"], row["errors"], row["tracking_number"], row["provider_id"]) == ("extracted", [], labels.TRACKING, "ups") and not row["engine"]["whole"]
    row = send(client, [rows, SOUND], barcode_values=[[labels.TRACKING], []], options={**NOBODY, "images": {"barcodes_from_all": True}})
    assert [i["error"] for i in row["images"]] == ["extraction_failed", None] and row["tracking_number"] == labels.TRACKING and row["errors"] == []
    assert send(client, rows, barcode_values=["no number"])["tracking_number"] is None
    item = send(client, rows, ITEMS, barcode_values=["(01)09506000134352(10)LOT7"])
    assert (item["gtin"], item["lot_number"], item["errors"]) == ("09506000134352", "LOT7", []), item


def test_nothing_is_found_without_the_step(client):
    """Then it is not the picture that says nothing."""
    assert send(client, SOUND, made=blank)["errors"] == ["image_unreadable", "unknown_provider"]
    for rows in (ENDS_ONCE, MEMORY_ONCE):
        row = send(client, rows, made=blank)
        assert (row["status"], row["errors"]) == ("error", ["extraction_failed", "unknown_provider"])


def test_steps_for_which_there_is_no_time(client):
    """They are left out: what was found counts, and where nothing was, the time is the reason."""
    row = send(client, SLOW)
    assert (row["status"], row["errors"], row["tracking_number"], codes(row)) == ("extracted", [], labels.TRACKING, [labels.TRACKING]) and not row["engine"]["whole"] and not row["raw_text"]
    row = send(client, SLOW, made=blank)
    assert (row["status"], row["errors"]) == ("error", ["extraction_timeout", "unknown_provider"])


def test_a_job_gives_a_picture_no_more_time_than_a_request_does(client):
    """Eight seconds: with more the process would be ended at its twelve, and nothing would be told of what was found."""
    row = next(r for r in (ended(client, later(client, picture(SLOW), options=NOBODY)) for _ in range(5)) if r["tracking_number"])  # a busy machine may have no process
    assert (row["status"], row["errors"], codes(row)) == ("extracted", [], [labels.TRACKING]) and not row["engine"]["whole"] and not row["raw_text"]


def test_everybody_waits_for_ten_seconds_at_most(server, client):
    """Four pictures are read at a time; who finds no process is told to come back, and others go on."""
    def one(_):
        begun = time.monotonic()
        answer = client.request("POST", PATH, {"image": text(picture(HANGS)), "options": NOBODY})
        return answer, time.monotonic() - begun

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(one, range(THREADS)))
    refused = [(a, waited) for a, waited in answers if a.status != 201]
    assert refused and len(refused) < THREADS, answers
    for answer, waited in refused:
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "overloaded", "2") and waited >= 10
    assert all(a.data["errors"] == ["extraction_timeout", "unknown_provider"] for a, _ in answers if a.status == 201)
    assert read(client, drawn(tracking=numbered(910)), options=NOBODY).data["tracking_number"] == numbered(910)
