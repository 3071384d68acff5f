"""Notifications as rows, on a server with all modules: who reads them, and who does not. Spec 07 section 16.1."""
from wharf import until


def told(org, client):
    """A notification of a user without a device."""
    user = client.post("/v1/users", {"name": "P", "email": f"p@{org.id.replace('_', '-')}.example.com", "role": "user", "notification_events": ["organization.updated"]}, expect=201).data
    client.post("/v1/org", {"name": "Named anew"}, expect=200)
    row, = until(lambda: client.get(f"/v1/notifications?user_id={user['id']}").data)
    assert (row["object"], row["kind"], row["channel"], row["status"], row["reason"]) == ("notification", "user", "push", "skipped", "no_device")
    return row


def test_another_organization_sees_nothing(server):
    ours, theirs = server.organization(), server.organization()
    row, other = told(ours, ours.client()), theirs.client()
    assert other.get("/v1/notifications").data == [] == other.get(f"/v1/notifications?user_id={row['user_id']}").data
    other.refused("GET", f"/v1/notifications/{row['id']}", 404, "not_found")
    other.refused("POST", f"/v1/notifications/{row['id']}/resend", 404, "not_found")
    assert ours.client().get(f"/v1/notifications/{row['id']}").data == row


def test_scopes(server):
    org = server.organization()
    row = told(org, org.client())
    reads = org.client("notifications:read,organizations:read")
    assert reads.get(f"/v1/notifications/{row['id']}").data == row
    reads.refused("POST", f"/v1/notifications/{row['id']}/resend", 403, "scope_access", ["notifications:write"])
    org.client("organizations:read").refused("GET", "/v1/notifications", 403, "scope_access", ["notifications:read"])
