"""Print jobs of documents: spec 04 section 7 'document_id', spec 05 section 4."""
import pytest

from document_files import DOCUMENTS, announce, b64, make, pdf, post, sha256
from wharf import make_location

JOBS = "/v1/cloud-printing/jobs"


@pytest.fixture(scope="module")
def place(client):
    at = make_location(client)["id"]
    client.post("/v1/cloud-printing/stations", {"name": "Desk", "display_name": "Desk", "device_token": "token", "location_id": at, "printers": [{"name": "P", "model": "M", "configuration": {}, "page_size": {"a4": True}}]}, expect=201)
    return at


def job(place, id):
    return {"location_id": place, "document_id": id, "configuration": {"paper_size": "a4"}}


def test_a_print_job_takes_the_current_version(client, place):
    """Spec 05 section 4: print jobs by document id mean the current version at the time of use."""
    first, second = pdf(1, 595, 842), pdf(2, 595, 842)
    row = make(client, first)
    assert client.post(JOBS, job(place, row["id"]), expect=201).data["document"]["pages"] == 1
    post(client, row, content=b64(second))
    printed = client.post(JOBS, job(place, row["id"]), expect=201).data
    assert (printed["document_id"], printed["document"]["pages"], printed["document"]["content_type"]) == (row["id"], 2, "application/pdf")


def test_documents_that_can_not_be_printed(client, org, place):
    client.refused("POST", JOBS, 409, "document.not_ready", ["document_id"], body=job(place, announce(client)["id"]))
    client.refused("POST", JOBS, 400, "validation.failed", ["document_id"], body=job(place, "dcmt_0000000000000000000000"))
    row = make(client, pdf(1, 595, 842))
    org.client("print_jobs:write").refused("POST", JOBS, 403, "scope_access", ["documents:read"], body=job(place, row["id"]))
    client.delete(f"{DOCUMENTS}/{row['id']}")
    client.refused("POST", JOBS, 400, "validation.failed", ["document_id"], body=job(place, row["id"]))
    client.refused("POST", JOBS, 400, "print_job.document_invalid", ["document_id"], body=job(place, make(client, b"\0\1\2")["id"]))
