"""A small S3 server for tests that believes nothing: signatures are computed again by botocore (Amazon's own client library), the hash of
the payload must fit, objects appear whole or not at all. Path style; put, get with Range, head, delete, list, copy, multipart; signed links (the
signature in the query) with all that Amazon's server refuses of them.

Run alone it serves until it is killed:   /usr/bin/python3 tests/api/s3.py PORT BUCKET KEY SECRET
"""
import base64
import datetime
import hashlib
import re
import socketserver
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$")


SHOWN = {"response-content-type": "Content-Type", "response-content-disposition": "Content-Disposition", "response-cache-control": "Cache-Control"}
MOMENT = "%Y%m%dT%H%M%SZ"


class Refused(Exception):
    pass


class Store(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bucket="wharf", key="test-key", secret="test-secret", port=0):
        self.bucket, self.key, self.secret, self.lock = bucket, key, secret, threading.Lock()
        self.objects, self.uploads, self.requests, self.broken, self.page = {}, {}, [], 0, 3
        self.ahead = 0  # seconds: of its clock
        self.cut = 0  # so many answers to GET end in the middle
        self.go = threading.Event()  # while it is not set, answers wait
        self.go.set()
        super().__init__(("127.0.0.1", port), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def settings(self):
        """Of a server that keeps its files here."""
        said = {"driver": "s3", "s3.endpoint": f"http://127.0.0.1:{self.port}", "s3.bucket": self.bucket, "s3.key": self.key, "s3.secret": self.secret}
        return [w for name, value in said.items() for w in ("--set", f"blob.{name}={value}")]

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request, client_address):
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", headers.pop("Content_Length", len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code):
        self.answer(status, f"<Error><Code>{code}</Code></Error>".encode(), Content_Type="application/xml")

    def check_link(self, path, query):
        """The signature of a link: made again by botocore from what was sent; its time; headers that it says must be sent."""
        if query.get("X-Amz-Algorithm") != "AWS4-HMAC-SHA256" or "X-Amz-Signature" not in query:
            raise Refused("AuthorizationQueryParametersError")
        key, day, region, *rest = query["X-Amz-Credential"].split("/")
        if key != self.server.key or rest != ["s3", "aws4_request"]:
            raise Refused("InvalidAccessKeyId")
        names, seconds = query["X-Amz-SignedHeaders"].split(";"), int(query["X-Amz-Expires"])
        if "host" not in names or names != sorted(names) or not 1 <= seconds <= 604800:
            raise Refused("AuthorizationQueryParametersError")
        made = datetime.datetime.strptime(query["X-Amz-Date"], MOMENT).replace(tzinfo=datetime.timezone.utc).timestamp()
        now = time.time() + self.server.ahead
        if now > made + seconds or made > now + 900 or not query["X-Amz-Date"].startswith(day):
            raise Refused("AccessDenied")
        text = self.path.partition("?")[2].split("&")
        request = AWSRequest(self.command, f"http://{self.headers['Host']}{path}?" + "&".join(t for t in text if not t.startswith("X-Amz-Signature=")),
                             {n: self.headers.get(n, "") for n in names})
        request.context["timestamp"] = query["X-Amz-Date"]
        auth = S3SigV4QueryAuth(Credentials(key, self.server.secret), "s3", region)
        auth.headers_to_sign = lambda r: r.headers
        if auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request) != query["X-Amz-Signature"]:
            raise Refused("SignatureDoesNotMatch")
        if any(n.lower().startswith("x-amz-") and n.lower() not in names for n in self.headers):
            raise Refused("AccessDenied")

    def check_md5(self, body):
        told = self.headers.get("Content-MD5")
        return not told or base64.b64encode(hashlib.md5(body).digest()).decode() == told

    def check_signature(self, body):
        found = SIGNED.match(self.headers.get("Authorization", ""))
        if not found or found[1] != self.server.key:
            raise Refused("InvalidAccessKeyId")
        key, day, region, names, signature = found.groups()
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names.split(";")):
            raise Refused("AccessDenied")
        if self.headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            raise Refused("XAmzContentSHA256Mismatch")
        request = AWSRequest(self.command, f"http://{self.headers['Host']}{self.path}", {n: self.headers[n] for n in names.split(";")})
        request.context["timestamp"] = self.headers["x-amz-date"]
        auth = S3SigV4Auth(Credentials(key, self.server.secret), "s3", region)
        auth.headers_to_sign = lambda r: r.headers
        expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        sent = time.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
        if expected != signature or not self.headers["x-amz-date"].startswith(day) or abs(time.mktime(sent) - time.mktime(time.gmtime())) > 900:
            raise Refused("SignatureDoesNotMatch")

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) != length:
            self.close_connection = True  # the client died: nothing happened
            return
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        link = "X-Amz-Signature" in query or "X-Amz-Algorithm" in query
        if not link:
            self.server.requests.append((self.command, self.path))
        self.server.go.wait()
        try:
            self.check_link(path, query) if link else self.check_signature(body)
        except Refused as e:
            return self.error(403, e.args[0])
        if self.command == "PUT" and not self.check_md5(body):
            return self.error(400, "BadDigest")
        if self.server.broken > 0:
            self.server.broken -= 1
            return self.error(503, "SlowDown")
        bucket, _, name = urllib.parse.unquote(path).lstrip("/").partition("/")
        if bucket != self.server.bucket:
            return self.error(404, "NoSuchBucket")
        with self.server.lock:
            self.act(name, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def act(self, name, query, body):
        store = self.server
        if self.command == "PUT" and "partNumber" in query:
            if query["uploadId"] not in store.uploads:
                return self.error(404, "NoSuchUpload")
            store.uploads[query["uploadId"]][int(query["partNumber"])] = body
            return self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        if self.command == "PUT" and "x-amz-copy-source" in self.headers:
            source = urllib.parse.unquote(self.headers["x-amz-copy-source"]).lstrip("/").partition("/")[2]
            if source not in store.objects:
                return self.error(404, "NoSuchKey")
            store.objects[name] = (store.objects[source][0], time.time())
            return self.answer(200, b"<CopyObjectResult></CopyObjectResult>")
        if self.command == "PUT":
            store.objects[name] = (body, time.time())
            return self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        if self.command == "POST" and "uploads" in query:
            id = f"up/load+{len(store.requests)}="
            store.uploads[id] = {}
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>".encode())
        if self.command == "POST" and "uploadId" in query:
            parts = store.uploads.pop(query["uploadId"], None)
            told = re.findall(r'<PartNumber>(\d+)</PartNumber><ETag>"?([0-9a-f]{32})"?</ETag>', body.decode())
            if parts is None or [int(n) for n, _ in told] != sorted(parts) or any(hashlib.md5(parts[int(n)]).hexdigest() != e for n, e in told):
                return self.error(400, "InvalidPart")
            store.objects[name] = (b"".join(parts[n] for n in sorted(parts)), time.time())
            return self.answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
        if self.command == "DELETE":
            if "uploadId" in query:
                store.uploads.pop(query["uploadId"], None)
            else:
                store.objects.pop(name, None)
            return self.answer(204)
        if not name:
            return self.list(query)
        if name not in store.objects:
            return self.error(404, "NoSuchKey")
        self.read(store.objects[name][0], {SHOWN[n]: v for n, v in query.items() if n in SHOWN})

    def read(self, content, shown):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if self.command == "HEAD":
            return self.answer(200, Content_Length=len(content))
        if self.server.cut > 0:
            self.server.cut -= 1
            self.close_connection = True
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            return self.wfile.write(content[:len(content) // 2])
        if not wanted:
            return self.answer(200, content, **shown)
        first, last = int(wanted[1]), min(int(wanted[2]), len(content) - 1)
        if first > last:
            return self.error(416, "InvalidRange")
        self.answer(206, content[first:last + 1], Content_Range=f"bytes {first}-{last}/{len(content)}", **shown)

    def list(self, query):
        names = sorted(n for n in self.server.objects if n.startswith(query.get("prefix", "")) and n > query.get("continuation-token", ""))
        page, rest = names[:self.server.page], names[self.server.page:]
        text = "".join(f"<Contents><Key>{n}</Key><LastModified>{iso(self.server.objects[n][1])}</LastModified></Contents>" for n in page)
        if rest:
            text += f"<NextContinuationToken>{page[-1]}</NextContinuationToken>"
        self.answer(200, f"<ListBucketResult>{text}</ListBucketResult>".encode())


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))


if __name__ == "__main__":
    Store(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[1]))
    while True:
        time.sleep(3600)
