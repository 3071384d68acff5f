"""What tests of audits share."""
AUDITS = "/v1/audits"


def make_audit(client, location, expect=201, **more):
    return client.post(AUDITS, {"location_id": location["id"] if isinstance(location, dict) else location, **more}, expect=expect).data


def audit_of(client, audit, query=""):
    return client.get(f"{AUDITS}/{audit['id']}{query}").data


def set_audit(client, audit, /, http=200, **body):
    return client.post(f"{AUDITS}/{audit['id']}", body, expect=http).data


def refused_audit(client, audit, http, code, errors, /, **body):
    return client.refused("POST", f"{AUDITS}/{audit['id']}", http, code, errors, body=body)


def task_path(audit, task):
    return f"{AUDITS}/{audit['id']}/tasks/{task['id']}"


def count(client, audit, task, quantity, expect=200, **more):
    return client.post(task_path(audit, task), {"counted_qty": quantity, **more}, expect=expect).data


def count_all(client, audit, *quantities, **more):
    """Counts the tasks in their order, by one request; without quantities what the server has."""
    tasks = audit_of(client, audit)["tasks"]
    wanted = quantities or [t["total_qty"] for t in tasks]
    return set_audit(client, audit, tasks=[{"id": t["id"], "counted_qty": q, **more} for t, q in zip(tasks, wanted, strict=True)])


def reason(client, code="LOST"):
    return client.post("/v1/reason-codes", {"code": code, "name": code, "resources": ["audit"]}, expect=201).data["id"]
