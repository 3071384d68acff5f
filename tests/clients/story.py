"""A day in a mail room by the generated client: what a developer would write first. The test runs it against a live server."""
import http.server
import os
import threading
import time
from typing import Any, cast

import requests

from wharf_client import WebhookError, Wharf, WharfError, verify_webhook
from wharf_client.api import CheckWorkflowBody, Contact

wharf = Wharf(os.environ["WHARF_BASE"], os.environ["WHARF_KEY"])
WAIT = int(os.environ["WHARF_WAIT"])  # seconds
port = int(os.environ["WHARF_HOOK_PORT"])

# Receives webhooks, and refuses those whose signature is wrong.
secret = ""
received: list[dict[str, Any]] = []
refused: list[str] = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            received.append(verify_webhook(secret, dict(self.headers), body))
            self.send_response(200)
        except WebhookError as error:
            refused.append(str(error))
            self.send_response(401)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
webhook = wharf.create_webhook(body={"url": f"http://127.0.0.1:{port}/hook", "events": ["shipment.created"]})
secret = wharf.retrieve_webhook_secret(webhook["id"])["secret"] or ""

location = wharf.create_location(body={"name": "Mail room", "address": {"line1": "1 Main St", "city": "Springfield", "country_code": "US"}})
station = wharf.create_print_station(body={
    "name": "DOCK-1", "display_name": "Dock 1", "location_id": location["id"], "device_token": "token",
    "printers": [{"name": "Zebra", "model": "ZD421", "configuration": {"port": 9100}, "page_size": {"label_4x6": True}}]})
job = wharf.create_print_job(body={"location_id": location["id"], "data": os.environ["WHARF_PDF"], "name": "Label"})
assert job["status"] == "queued" and len(station["printers"]) == 1

contact = cast(Contact, wharf.create_contact(body={"name": "Ann Smith", "email": "ann@example.com"}))
assert contact["object"] == "contact"
shipment = wharf.create_shipment(body={"tracking_number": "1Z999AA10123456784", "location_id": location["id"]})
tracker = wharf.create_tracker(body={"tracking_number": "1Z999AA10123456784", "provider_id": "ups"})
assert tracker["object"] == "tracker" and shipment["object"] == "shipment" and tracker["tracking_number"] == shipment["tracking_number"]

until = time.monotonic() + WAIT
while not received and time.monotonic() < until:
    time.sleep(0.1)
assert received and received[0]["type"] == "shipment.created" and received[0]["resource_id"] == shipment["id"] and not refused, refused
try:
    verify_webhook(secret, {"webhook-id": "x", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}, b"{}")
    raise AssertionError("a forged one is refused")
except WebhookError:
    pass

# A batch, and its progress.
batch = wharf.create_batch(body={"resource": "contact", "action": "merge", "data": [{"name": f"Person {i}", "email": f"person{i}@example.com"} for i in range(45)]})
until = time.monotonic() + WAIT
while batch["status"] != "completed" and time.monotonic() < until:
    time.sleep(0.1)
    batch = wharf.retrieve_batch(batch["id"])
assert batch["status"] == "completed" and batch["progress"] == 100, batch

# Lists: a filter with an operator, and all rows by a cursor.
page = wharf.list_contacts(created_at={"gte": "2020-01-01T00:00:00Z"}, order_by="name", direction="asc", limit=5)
assert len(page) == 5 and page.pagination["has_more"]
assert len({c["id"] for c in wharf.each(wharf.list_contacts, limit=10)}) == 46
found = wharf.list_shipments(location_id=[location["id"]], tracking_number="1Z999AA10123456784")
assert [s["id"] for s in found] == [shipment["id"]]

# Errors say what is wrong, and where.
try:
    wharf.create_location(body={"name": "", "address": {"line1": "x"}})
    raise AssertionError("an empty name is refused")
except WharfError as error:
    assert error.status == 400 and error.code == "validation.failed" and "name" in error.errors and error.request_id, error
wharf.delete_contact(contact["id"])
try:
    wharf.retrieve_contact(contact["id"])
    raise AssertionError("it is gone")
except WharfError as error:
    assert error.code == "not_found", error


# Loses the answer of a create. The client sends the request again, with the same Idempotency-Key: one contact is made.
class Lossy(requests.Session):
    calls = 0

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        answer = super().request(*args, **kwargs)
        Lossy.calls += 1
        if Lossy.calls == 1:
            raise requests.ConnectionError("the connection was lost")
        return answer


lossy = Wharf(os.environ["WHARF_BASE"], os.environ["WHARF_KEY"], sleep=lambda _: None)
lossy.session = Lossy()
lossy.session.headers["SVC-API-KEY"] = os.environ["WHARF_KEY"]
lossy.create_contact(body={"name": "Only Once"})
assert Lossy.calls == 2 and [c["name"] for c in wharf.list_contacts(search="Only Once")].count("Only Once") == 1

# A write that takes no Idempotency-Key works, and is sent once: when its answer is lost, the caller hears of it.
checked: CheckWorkflowBody = {"source": "return {on_run = function() return 1 end}", "triggers": [{"type": "manual", "name": "count"}], "scopes": []}
wharf.check_workflow(body=checked)
Lossy.calls = 0
try:
    lossy.check_workflow(body=checked)
    raise AssertionError("sent once")
except requests.ConnectionError:
    assert Lossy.calls == 1
receiver.shutdown()
print("the story of the Python client is told")
