"""The contacts of a town go into a spreadsheet."""


def tell(w):
    for name, email in (("Lisa Simpson", "lisa@springfield.example"), ("Moe Szyslak", "moe@springfield.example")):
        w.do("create_contact", body={"name": name, "email": email})
    made = w.call("create_export", body={"resource": "contact", "options": {"order_by": "name", "direction": "asc"}, "formats": ["csv", "json"],
                                         "csv_field_options": {"timezone": "America/Chicago", "columns": {"name": True, "email": True}}})
    w.until("retrieve_export", lambda row: row["status"] == "completed", path={"export": made["id"]})
    w.call("retrieve_export", path={"export": made["id"]}, query={"include_csv": True, "include_json": True})
    w.call("list_exports", query={"status": ["completed"]})
    w.call("delete_export", path={"export": made["id"]})
