"""How long images of labels are kept: settings.inferences.retain_images_days (docs/spec/06-inference.md section 2)."""
import pytest

from readings import PATH, drawn, get, labels, numbered, read
from wharf import Client, Server, make_location, until

DAY = 86400


class World:
    def __init__(self):
        self.server = Server("--modules", "org,locations,carriers,contacts,inference", "--test-clock", "--set", "rate_limit.key=0")
        self.offset = 0

    def ahead(self, seconds):
        self.offset += seconds
        Client(self.server, self.server.demo_key).post("/v1/system/clock", {"offset_seconds": self.offset}, expect=200)

    def gone(self, row):
        return self.server.sql("SELECT NOT has_images FROM inference.shipping_label WHERE id = %s", row["id"])[0][0]


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


def test_only_a_location_says_so(world):
    client = world.server.organization().client()
    here, there = (make_location(client, n)["id"] for n in ("Here", "There"))
    client.post(f"/v1/locations/{here}", {"settings": {"inferences": {"retain_images_days": 1}}}, expect=200)
    short, ever = read(client, drawn(), location_id=here).data, read(client, drawn(), location_id=there).data
    world.ahead(2 * DAY)
    until(lambda: world.gone(short), "its day is over")
    assert not world.gone(ever)
