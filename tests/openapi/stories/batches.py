"""A list of new colleagues comes from the personnel office."""


def tell(w):
    people = [{"name": "Homer Simpson", "email": "homer@springfield.example"}, {"name": "Lenny Leonard", "email": "lenny@springfield.example"}, {"name": "Carl Carlson", "email": "not an address"}]
    made = w.call("create_batch", body={"resource": "contact", "action": "merge", "mode": "sync", "match_by": "email", "name": "Power plant, March", "data": people, "properties": {"metadata": {"building": "B"}}, "save_result": True})
    assert [r["operation"] for r in made["results"]] == ["created", "created"] and len(made["errors"]) == 1
    w.call("list_batch_items", path={"batch": made["id"]}, query={"state": "error,skipped"})
    w.call("retrieve_batch", path={"batch": made["id"]}, query={"include_errors_csv": True, "include_result_json": True})
    again = w.call("retry_batch", path={"batch": made["id"]})
    w.until("retrieve_batch", lambda b: b["status"] == "completed", path={"batch": again["id"]})
    file = w.do("create_batch", body={"resource": "contact", "action": "merge", "mode": "async", "match_by": "email", "data": None, "name": "Power plant, April"})
    assert file["status"] == "requested"
    w.call("cancel_batch", path={"batch": file["id"]})
    w.call("list_batches", query={"resource": ["contact"], "status": ["completed", "canceled"]})
