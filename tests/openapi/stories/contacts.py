"""The address book of a mail room: people, what is known of them, and groups."""


def tell(w):
    place = w.do("create_location", body={"name": "Town Hall mail room", "address": "742 Evergreen Terrace, Springfield, IL 62704, US"})["id"]
    group = w.call("create_group", body={"name": "Town council", "resource": "contact", "external_id": "dept-12"})
    lisa = w.call("create_contact", body={
        "name": "Lisa Simpson", "email": "lisa@springfield.example", "phone": "(217) 555-0113", "alternate_emails": {"work": "l.simpson@townhall.example"},
        "address": {"line1": "742 Evergreen Terrace", "city": "Springfield", "state": "IL", "postal_code": "62704", "country_code": "US"},
        "groups": [group["id"]], "locations": [place], "external_id": "emp-0042", "metadata": {"desk": "2.17"}})
    twin = w.do("create_contact", body={"name": "Simpson, Lisa", "email": "lisa.simpson@springfield.example", "notes": "Gets the council's mail."})
    w.call("list_contacts", query={"search": "lisa simson", "limit": 5})
    w.call("retrieve_contact", path={"id": lisa["id"]})
    w.call("update_contact", path={"id": lisa["id"]}, body={"nickname": "Lis", "alternate_phones": {"mobile": "+12175550114"}})
    w.call("merge_contacts", path={"id": lisa["id"]}, body={"from": [twin["id"]]})

    moe = w.do("create_contact", body={"name": "Moe Szyslak", "address": "57 Walnut Street, Springfield, IL 62702, US"})
    w.call("list_groups", query={"resource": ["contact"]})
    w.call("update_group", path={"id": group["id"]}, body={"add": [moe["id"]], "primary_add": [lisa["id"]]})
    w.call("retrieve_group", path={"id": group["id"]})
    w.call("list_group_children", path={"id": group["id"]}, query={"page": 1, "limit": 10})
    w.call("delete_group", path={"id": group["id"]})
    w.call("delete_contact", path={"id": moe["id"]})
