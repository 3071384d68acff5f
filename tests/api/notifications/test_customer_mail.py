"""Mails to the recipients of shipments (spec 07 section 16.3): who is told, of what, and how often. A real SMTP server takes them."""
import pytest
from mail_world import World


@pytest.fixture(scope="module")
def world():
    w = World()
    yield w
    w.close()


@pytest.fixture(scope="module")
def shop(world):
    return world.shop()


def test_a_tracker_goes_out_for_delivery(shop):
    ada = shop.contact()
    shipment = shop.shipment(ada)
    shop.client.post(f"/v1/trackers/{shipment['tracker_id']}", {"tracking_update": {"status": "out_for_delivery"}}, expect=200)
    row = shop.row(shipment)
    assert row["status"] == "sent" and row["occasion"] == "out_for_delivery" and row["contact_id"] == ada["id"] and row["address"] == ada["email"]
    message = shop.mail(ada)
    assert message["Subject"] == "Your parcel is out for delivery"
    assert shipment["tracking_number"] in message.get_body(("plain",)).get_content()
