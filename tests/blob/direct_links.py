"""Direct links (blob.s3.direct) against an S3 server that is there, by hand:   tests/blob/direct_links.py ENDPOINT BUCKET KEY SECRET

Says what the server answers to each step. tests/api/documents/test_document_direct.py has the rules, on a smaller server."""
import pathlib
import sys

import botocore.session
import requests

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/documents")]
from document_files import DOCUMENTS, PDF, announce, get, make, md5, post, sha256  # noqa: E402
from wharf import WAIT, Client, Server, until  # noqa: E402


def settings(endpoint, bucket, key, secret):
    said = {"driver": "s3", "s3.endpoint": endpoint, "s3.client_endpoint": endpoint.replace("127.0.0.1", "localhost"), "s3.bucket": bucket, "s3.key": key, "s3.secret": secret,
            "s3.direct": "true", "grace": 0}
    return [w for name, value in said.items() for w in ("--set", f"blob.{name}={value}")]


def bring(row, data, **headers):
    return requests.put(row["upload_url"], data=data, headers={**row["upload_headers"], **headers}, timeout=WAIT)


def expect(what, r, *statuses):
    print(f"{what}: {r.status_code} {r.text[:60]!r}")
    assert r.status_code in statuses, (what, r.status_code, r.text)
    return r


def play(server, keys):
    client, offset = server.organization().client(), 61
    row = announce(client, mime_type="application/pdf", size=len(PDF), checksum_md5=md5(PDF), filename='Größe 1+"x".pdf')
    expect("PUT of another type", bring(row, PDF, **{"Content-Type": "text/html"}), 403)
    expect("PUT without the MD5", requests.put(row["upload_url"], data=PDF, headers={"Content-Type": "application/pdf"}, timeout=WAIT), 403)
    expect("PUT of other bytes", bring(row, PDF + b"x"), 400)
    expect("PUT with an altered signature", bring({**row, "upload_url": row["upload_url"][:-4] + "0000"}, PDF), 403)
    expect("GET by the link of the PUT", requests.get(row["upload_url"], headers=row["upload_headers"], timeout=WAIT), 403)
    expect("PUT", bring(row, PDF), 200)
    done = get(client, row)
    assert (done["status"], done["checksum_sha256"]) == ("completed", sha256(PDF)), done
    assert not keys("uploads/")
    url = get(client, row, "?include_document_url=true")["document_url"]
    r = expect("GET", requests.get(url, timeout=WAIT), 200)
    print("   ", r.headers["Content-Type"], "|", r.headers["Content-Disposition"], "|", r.headers["Cache-Control"])
    assert r.content == PDF and r.headers["Content-Type"] == "application/pdf" and r.headers["Content-Disposition"].startswith("inline; filename=")
    expect("GET of a range", requests.get(url, headers={"Range": "bytes=1-3"}, timeout=WAIT), 206)
    expect("GET with an altered disposition", requests.get(url.replace("inline", "attachment"), timeout=WAIT), 403)
    expect("PUT by the link of the GET", requests.put(url, data=b"x", timeout=WAIT), 403)
    expect("second PUT", bring(row, PDF), 200)
    assert post(client, row, content="data:text/html;base64,PGI+")["version"] == 2
    page = get(client, row, "?include_document_url=true")["document_url"]
    r = expect("GET of HTML", requests.get(page, timeout=WAIT), 200)
    assert r.headers["Content-Type"] == "application/octet-stream" and r.headers["Content-Disposition"].startswith("attachment"), r.headers
    assert requests.get(url, timeout=WAIT).content == PDF
    swept = announce(client)
    bring(swept, b"nobody asks")
    Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": offset}, expect=200)
    until(lambda: server.sql("SELECT status FROM documents.document WHERE id = %s", swept["id"]) == [("completed",)])
    until(lambda: not keys("uploads/"))
    client.delete(f"{DOCUMENTS}/{row['id']}")
    expect("GET after the delete", requests.get(url, timeout=WAIT), 404)
    expect("GET of HTML after the delete", requests.get(page, timeout=WAIT), 404)
    large = announce(client)
    expect("PUT of 100 MiB", bring(large, bytes(100 << 20)), 200)
    assert get(client, large)["status"] == "requested"
    Client(server, server.demo_key).post("/v1/system/clock", {"offset_seconds": 2 * offset}, expect=200)
    until(lambda: get(client, large)["status"] == "completed")
    r = requests.get(get(client, large, "?include_document_url=true")["document_url"], timeout=WAIT)
    assert r.content == bytes(100 << 20)
    shared = make(client, b"public", visibility="public")
    assert "/v1/public/" in get(client, shared, "?include_document_url=true")["document_url"]


def main(endpoint, bucket, key, secret):
    s3 = botocore.session.get_session().create_client("s3", endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")
    server = Server("--modules", "org,documents", "--test-clock", *settings(endpoint, bucket, key, secret))
    try:
        play(server, lambda prefix: [o["Key"] for o in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])])
    finally:
        server.stop()
    print("all of it")


if __name__ == "__main__":
    main(*sys.argv[1:])
