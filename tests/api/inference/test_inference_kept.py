"""How long images of labels are kept: settings.inferences.retain_images_days (docs/spec/06-inference.md sections 2 and 11)."""
import pytest

import readings
from readings import PATH, drawn, get, labels, numbered, read, text
from wharf import Client, Server, make_location, until

DAY = 86400
ITEMS = "/v0/ai/inferences/images/item-labels"


class World:
    def __init__(self, modules="org,locations,carriers,contacts,inference"):
        self.server = Server("--modules", modules, "--test-clock", "--set", "rate_limit.key=0")
        self.offset = 0

    def ahead(self, seconds):
        self.offset += seconds
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def gone(self, row):
        item = row["object"] == "item_label_inference"
        return self.server.sql("SELECT image_file IS NULL FROM inference.item_label WHERE id = %s" if item else "SELECT NOT has_images FROM inference.shipping_label WHERE id = %s", row["id"])[0][0]

    def stored(self, organization):
        return self.server.sql("SELECT count(*) FROM wharf.file WHERE organization_id = %s", organization)[0][0]


def read_item(client, picture, **body):
    """A busy machine may have no process for a picture: then once more."""
    for _ in range(10):
        r = client.post(ITEMS, {"image": text(picture), **body})
        if r.raw.status_code != 503:
            break
    assert r.raw.status_code == 201, r.raw.text[:500]
    return r.data


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.server.stop()


def test_images_are_erased_and_what_was_read_stays(world):
    client, other = (world.server.organization().client() for _ in range(2))
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    client.post("/v1/org", {"settings": {"inferences": {"retain_images_days": 10}}}, expect=200)
    client.post(f"/v1/locations/{here}", {"settings": {"inferences": {"retain_images_days": 3}}}, expect=200)
    short, usual, ever = read(client, drawn(), location_id=here).data, read(client, [drawn(), drawn(tracking=numbered(5))], location_id=there).data, read(other, drawn()).data
    assert not any(world.gone(r) for r in (short, usual, ever))
    world.ahead(4 * DAY)
    until(lambda: world.gone(short), "its days are over")
    assert not world.gone(usual)
    now = get(client, short)
    assert now["image_url"] is None and now["tracking_number"] == labels.TRACKING and now["raw_text"]
    world.ahead(7 * DAY)
    until(lambda: world.gone(usual), "its days are over")
    now = get(client, usual)
    assert now["image_url"] is None and now["media_urls"] == [] and [i["image_url"] for i in now["images"]] == [None, None] and now["images"][0]["scores"]["extraction"]
    assert not world.gone(ever) and get(other, ever)["image_url"]
    assert world.server.sql("SELECT count(*) FROM wharf.file f JOIN inference.shipping_label t USING (organization_id) WHERE t.id = %s", usual["id"])[0][0] == 0
    client.delete(f"{PATH}/{usual['id']}", expect=200)


def test_images_of_item_labels(world):
    """They go with the same days: the file, its bytes and the link, at once; what was read stays."""
    organization = world.server.organization()
    client, other = organization.client(), world.server.organization().client()
    here = make_location(client, "Here")["id"]
    client.post("/v1/org", {"settings": {"inferences": {"retain_images_days": 10}}}, expect=200)
    client.post(f"/v1/locations/{here}", {"settings": {"inferences": {"retain_images_days": 3}}}, expect=200)
    lines = ["LOT: K-77", "SKU 99-1"]
    pictures = [readings.drawn(rest=[*lines, name], recipient=[name]) for name in ("SHORT", "USUAL", "EVER")]
    short, usual, ever = read_item(client, pictures[0], location_id=here), read_item(client, pictures[1]), read_item(other, pictures[2])
    assert not any(world.gone(r) for r in (short, usual, ever)) and world.stored(organization.id) == 2
    hash = world.server.sql("SELECT f.hash FROM wharf.file f JOIN inference.item_label t ON t.image_file = f.id WHERE t.id = %s", short["id"])[0][0]
    object = world.server.folder / "blobs" / "objects" / hash[:2] / hash
    assert object.exists()
    world.ahead(4 * DAY)
    until(lambda: world.gone(short), "its days are over")
    assert not world.gone(usual) and world.stored(organization.id) == 1
    until(lambda: not object.exists(), "the bytes are erased at once")
    now = client.get(f"{ITEMS}/{short['id']}", expect=200).data
    assert now["image_url"] is None and now["raw_text"] and (now["sku"], now["lot_number"]) == (short["sku"], short["lot_number"])
    world.ahead(7 * DAY)
    until(lambda: world.gone(usual), "its days are over")
    assert world.stored(organization.id) == 0 and not world.gone(ever)
    link = other.get(f"{ITEMS}/{ever['id']}", expect=200).data["image_url"]
    assert other.http.get(world.server.base + link).content == pictures[2]
    client.delete(f"{ITEMS}/{usual['id']}", expect=200)


def test_only_a_location_says_so(world):
    client = world.server.organization().client()
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    client.post(f"/v1/locations/{here}", {"settings": {"inferences": {"retain_images_days": 1}}}, expect=200)
    short, ever = read(client, drawn(), location_id=here).data, read(client, drawn(), location_id=there).data
    short_item, ever_item = read_item(client, drawn(), location_id=here), read_item(client, drawn())
    world.ahead(2 * DAY)
    until(lambda: world.gone(short) and world.gone(short_item), "its day is over")
    assert not world.gone(ever) and not world.gone(ever_item)


def test_without_locations():
    """The organization alone says how long."""
    w = World("org,carriers,inference")
    try:
        client = w.server.organization().client()
        client.post("/v1/org", {"settings": {"inferences": {"retain_images_days": 2}}}, expect=200)
        rows = [read(client, drawn()).data, read_item(client, drawn())]
        w.ahead(3 * DAY)
        until(lambda: all(w.gone(r) for r in rows), "their days are over")
    finally:
        w.server.stop()
