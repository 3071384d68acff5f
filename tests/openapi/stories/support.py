"""A clerk asks the operator of the server, with a picture of what is wrong; the operator reads it by the link of the mail."""
import re

from stories import link

SETTINGS = {"support.email_to": "help@wharf.example"}
PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001080000000003a7e9550000000a49444154789c63600000000200015c0d0a2db40000000049454e44ae426082")


def tell(w):
    made = w.call("create_support_request", body={
        "subject": "Labels come out blank", "message": "Since this morning the printer at the front desk prints blank labels.", "category": "bug",
        "email": "edna@springfield-mail.example", "attachments": [{"name": "label.png", "mime_type": "image/png", "size": len(PICTURE)}]})
    file, query = link(made["attachments"][0]["upload_url"])
    w.do("upload_file", by=None, path={"file": file}, query=query, headers={"Content-Type": "image/png"}, data=PICTURE)
    token = re.search(r"/v1/support/attachments/([\w-]{43})", w.mail("help@wharf.example", "attachments/")).group(1)
    w.call("download_support_attachment", by=None, path={"token": token})
    w.call("list_support_requests", query={"status": ["open"]})
    w.call("retrieve_support_request", path={"id": made["id"]})
    w.call("update_support_request", path={"id": made["id"]}, body={"message": "It is the cable.", "priority": "low", "revoke_links": True})
    w.call("delete_support_request", path={"id": made["id"]})
