"""Spellings of paths that are taken, and what the tools say of themselves (docs/spec/06-inference.md section 1)."""
import pytest

from readings import PATH, contact, drawn, read, text


OTHER = ["/v1/inferences/images/shipping_labels", "/v1/inferences/shipping_labels"]


@pytest.mark.parametrize("path", OTHER)
def test_other_spellings(client, path):
    """All that is below the path, tools too; the answer names the path that was asked."""
    row = read(client, drawn()).data
    listed = client.get(path, expect=200)
    assert listed.ids == [row["id"]] and listed.body["endpoint"] == path
    assert client.get(f"{path}/{row['id']}", expect=200).data["id"] == row["id"]
    assert client.post(f"{path}/{row['id']}", {"notes": "x"}, expect=200).data["notes"] == "x"
    assert "matches" in client.get(f"{path}/search?name=Jane", expect=200).data
    assert client.get(f"{path}/compare?ids={row['id']}", expect=200).data["inferences"][0]["id"] == row["id"]
    assert client.post(f"{path}/match", {"inference_id": row["id"]}, expect=200).data["recipient"]
    made = client.post(path, {"image": text(drawn())})
    assert made.status == 201 and made.raw.headers["Location"] == f"{PATH}/{made.data['id']}"
    client.delete(f"{path}/{row['id']}", expect=200)
    client.refused("GET", f"{path}/{row['id']}", 404, "not_found")
    client.refused("GET", path + "x", 404, "route.not_found")
    assert client.request("PUT", path, {}, expect=405).raw.headers["Allow"] == client.request("PUT", PATH, {}, expect=405).raw.headers["Allow"]
    client.refused("GET", path, 401, "api_key.missing", key=False)


def test_the_description_names_one(server):
    assert not [p for p in server.openapi["paths"] if p.startswith(tuple(OTHER))]


def test_tools_say_that_they_may_change(server, org, client):
    """SVC-Unstable on every answer, refusals too; they write nothing: no row, no event, no line of the change log."""
    contact(client, "Jane Sample")
    row = read(client, drawn()).data
    count = lambda: server.sql("SELECT (SELECT count(*) FROM wharf.event WHERE organization_id = %s), (SELECT count(*) FROM wharf.change_log WHERE organization_id = %s),"
                               " (SELECT count(*) FROM inference.shipping_label), (SELECT count(*) FROM inference.choice)", org.id, org.id)
    before = count()
    for method, path, body, status in (("GET", "/search?name=Jane", None, 200), ("GET", "/search", None, 400), ("POST", "/match", {"inference_id": row["id"]}, 200), ("POST", "/match", {"recipient": 1}, 400),
                                       ("GET", f"/compare?ids={row['id']}", None, 200), ("GET", "/compare?ids=inf_sl_0000000000000000000000", None, 404), ("GET", "/compare?ids=" + ",".join([row["id"]] * 21), None, 400)):
        assert client.request(method, PATH + path, body, expect=status).raw.headers["SVC-Unstable"] == "true", path
    assert count() == before
    assert "SVC-Unstable" not in client.get(PATH).raw.headers and "SVC-Unstable" not in client.get(f"{PATH}/{row['id']}").raw.headers
    for path in ("search", "compare"):
        assert "SVC-Unstable" in server.openapi["paths"][f"{PATH}/{path}"]["get"]["responses"]["200"]["headers"]


def test_compare_names_what_is_missing(client):
    row = read(client, drawn()).data
    missing = ["inf_sl_0000000000000000000001", "inf_sl_0000000000000000000002"]
    client.refused("GET", f"{PATH}/compare?ids={missing[0]},{row['id']},{missing[1]}", 404, "not_found", missing)
