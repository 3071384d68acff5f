"""Reason codes (spec 03 section 7). What every resource does is in tests/conformance."""
CODES = "/v1/reason-codes"


def code(client, **more):
    return client.post(CODES, {"code": "DMG", "name": "Damaged", "resources": ["manifest", "parcel"], **more}, expect=201).data


def test_reason_codes(fresh):
    client = fresh.client()
    row = code(client)
    assert row["object"] == "reason_code" and row["id"].startswith("rsn_") and row["active"] is True and row["resources"] == ["manifest", "parcel"]
    client.refused("POST", CODES, 409, "reason_code.exists", ["code"], body={"code": "dmg", "name": "x", "resources": ["item"]})
    for bad, at in (([], "resources"), (["nothing"], "resources.0"), (["item", "item"], "resources.1")):
        client.refused("POST", CODES, 400, "validation.failed", [at], body={"code": "B", "name": "x", "resources": bad})
    assert code(client, code="AUD", resources=["audit"])["resources"] == ["audit"]
    assert len(client.get(CODES + "?resources=manifest").data) == 1 and len(client.get(CODES + "?search=dam").data) == 2
    client.delete(f"{CODES}/{row['id']}")
    code(client)
    assert [e[0] for e in fresh.events(row["id"])] == ["reason_code.created", "reason_code.deleted"]


def test_scope(fresh):
    fresh.client("items:write").refused("GET", CODES, 403, "scope_access", ["reason_codes:read"])
