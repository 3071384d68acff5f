"""What tests of documents share."""
import base64
import hashlib
import threading

import requests

from wharf import WAIT

DOCUMENTS = "/v1/documents"
PDF = b"%PDF-1.4\n% nothing that can be drawn\n%%EOF\n"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def b64(data):
    return base64.b64encode(data).decode()


def data_uri(data, mime="application/pdf"):
    return f"data:{mime};base64,{b64(data)}"


def md5(data):
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def body(**more):
    return {"name": "Contract 2026", "visibility": "private", **more}


def make(client, content=PDF, **more):
    return client.post(DOCUMENTS, body(content=b64(content), **more), expect=201).data


def refused(client, status, code, errors, /, **more):
    return client.refused("POST", DOCUMENTS, status, code, errors, body=body(**more))


def link(server, url):
    return url if url.startswith("http") else server.base + url


def put(server, row, data, **headers):
    """Brings the bytes as the answer says."""
    return requests.put(link(server, row["upload_url"]), data=data, headers={**row["upload_headers"], **headers}, timeout=WAIT)


def announce(client, **more):
    return client.post(DOCUMENTS, body(**more), expect=201).data


def get(client, row, query=""):
    return client.get(f"{DOCUMENTS}/{row['id']}{query}").data


def post(client, row, **fields):
    return client.post(f"{DOCUMENTS}/{row['id']}", fields, expect=200).data


def pdf(pages=1, width=612, height=792):
    """A PDF of empty pages, in points."""
    kids = " ".join(f"{3 + i} 0 R" for i in range(pages))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>"]
    objects += [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] >>"] * pages
    out, places = "%PDF-1.4\n", []
    for i, o in enumerate(objects, 1):
        places.append(len(out))
        out += f"{i} 0 obj\n{o}\nendobj\n"
    at = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{p:010} 00000 n \n" for p in places)
    return (out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n").encode()


def together(*acts):
    """Lets all begin at once; returns what they said."""
    start, said = threading.Barrier(len(acts)), []

    def run(act):
        start.wait()
        said.append(act())

    threads = [threading.Thread(target=run, args=(a,)) for a in acts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return said
