"""The world outside, as tests need it: a name server that answers as it is told, HTTPS servers with certificates of a test authority,
listeners that must never hear anything."""
import http.server
import pathlib
import socket
import ssl
import struct
import subprocess
import threading
import time


class NameServer:
    """UDP and TCP on 127.0.0.1. `names` maps a name to a list of addresses, to a function of the count of questions, or to None (silence).
    A name that is not there does not exist."""

    def __init__(self, names):
        self.names, self.asked = names, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.lock = threading.Lock()
        threading.Thread(target=self.serve, daemon=True).start()

    def questions(self, name, kind=1):
        with self.lock:
            return self.asked.count((name, kind))

    def addresses(self, name, kind):
        found = self.names.get(name, ())
        with self.lock:
            self.asked.append((name, kind))
        return found(self.questions(name, kind)) if callable(found) else found

    def serve(self):
        while True:
            try:
                packet, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            labels, at = [], 12
            while packet[at]:
                labels.append(packet[at + 1:at + 1 + packet[at]].decode())
                at += 1 + packet[at]
            kind = struct.unpack("!H", packet[at + 1:at + 3])[0]
            name = ".".join(labels).lower()
            found = self.addresses(name, kind)
            if found is None:
                continue
            answers = b""
            count = 0
            for address in found:
                v6 = ":" in address
                if kind != (28 if v6 else 1):
                    continue
                data = socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, address)
                answers += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
                count += 1
            flags = 0x8580 if name in self.names else 0x8583
            self.socket.sendto(packet[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0) + packet[12:at + 5] + answers, peer)

    def close(self):
        self.socket.close()


class Silent:
    """Accepts TCP connections and counts them: where nothing may arrive."""

    def __init__(self, host="127.0.0.1", port=0):
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((host, port))
        self.socket.listen(64)
        self.port, self.heard, self.kept = self.socket.getsockname()[1], 0, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                self.kept.append(self.socket.accept()[0])
            except OSError:
                return
            self.heard += 1

    def close(self):
        self.socket.close()
        for s in self.kept:
            s.close()


class Authority:
    """Makes certificates with the openssl program."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.file = self.folder / "ca.pem"
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                 "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem")

    def run(self, *args):
        subprocess.run(["openssl", *args], cwd=self.folder, check=True, capture_output=True)

    def certificate(self, name, *alternatives):
        """(certificate, key) for the names and addresses; signed by this authority."""
        entries = ",".join(("IP:" if a.replace(".", "").isdigit() or ":" in a else "DNS:") + a for a in (alternatives or (name,)))
        (self.folder / f"{name}.ext").write_text("subjectAltName=" + entries)
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout",
                 f"{name}.key", "-out", f"{name}.csr")
        self.run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
                 f"{name}.ext", "-out", f"{name}.pem")
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"

    def server_context(self, name, *alternatives):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate(name, *alternatives))
        return context


class Web(http.server.ThreadingHTTPServer):
    """HTTP or HTTPS; `pages` maps a path (without query) to a function of the handler."""
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, pages, context=None, host="127.0.0.1", port=0):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.pages, self.context, self.seen, self.lock = pages, context, [], threading.Lock()
        self.connections = self.running = self.most = 0  # the last two are the pages' own
        super().__init__((host, port), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        self.connections += 1
        try:
            if self.context:
                request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
        except (OSError, ssl.SSLError):
            pass

    def handle_error(self, request, client_address):
        pass


class Host(Web):
    """HTTPS under a name that a server with `settings` reaches, and believes."""

    def __init__(self, folder, name, pages):
        authority = Authority(folder)
        super().__init__(pages, authority.server_context("web", name))
        self.name = name
        self.settings = [a for s in ("environment=test", f"net.ca_file={authority.file}", f"net.allow=127.0.0.1:{self.port}", f"net.resolve={name}=127.0.0.1:{self.port}") for a in ("--set", s)]

    def url(self, path):
        return f"https://{self.name}:{self.port}{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def handle_any(self):
        path = self.path.split("?")[0]
        length = int(self.headers.get("Content-Length") or 0)
        self.sent = self.rfile.read(length) if length else b""
        with self.server.lock:
            self.server.seen.append((self.command, self.path, dict(self.headers), self.sent))
        try:
            self.server.pages.get(path, missing)(self)
        except OSError:
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any

    def answer(self, status=200, body=b"", **headers):
        self.send_response(status)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def missing(handler):
    handler.answer(404, b"nothing here")


def redirect(to, status=302):
    return lambda handler: handler.answer(status, b"over there", Location=to)


def drip(every, piece=b"x", head=True):
    def page(handler):
        if head:
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
        while True:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(every)
    return page
