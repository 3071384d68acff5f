"""Sends a request over plain HTTP and answers as `requests` does, in a third of its time: most of what a process of tests did was to prepare and take apart
requests. Whoever sends something else than bytes, or over TLS, takes `requests` itself (`can_send`).

A `Sender` keeps the connections of one client, which several threads may use at a time. What breaks is told by the exceptions of `requests`.
"""
import collections
import datetime
import re
import select
import socket
import time
import types
import urllib.parse
import zlib

import requests
from requests.structures import CaseInsensitiveDict
from urllib3.util.url import _encode_target

from noted import note_answer

PLAIN = re.compile(r"[A-Za-z0-9/?&=:,._~!$'()*+;@-]*")  # a target that `requests` leaves as it is
USUAL = {"Accept-Encoding": "identity", "User-Agent": "tests"}
KEPT = 10  # connections that wait for the next request, as many as those of a session of `requests`


class Broken(Exception):
    """The connection ended before the answer did."""


def can_send(base, data):
    return base.startswith("http://") and (data is None or isinstance(data, bytes))


class Connection:
    def __init__(self, host, port, timeout):
        self.socket = socket.create_connection((host, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 65536)

    def usable(self):
        """The server has neither ended it nor said anything that nobody asked for."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(0)

    def close(self):
        self.file.close()
        self.socket.close()

    def line(self):
        line = self.file.readline(65537)
        if not line.endswith(b"\n"):
            raise Broken("the connection ended inside of a head")
        return line.rstrip(b"\r\n")

    def exactly(self, n):
        got = self.file.read(n)
        if len(got) != n:
            raise Broken(f"{len(got)} of {n} bytes came")
        return got

    def head(self):
        """Status, reason and headers; a header that comes twice is one with both values, as `requests` has it."""
        version, status, *reason = self.line().split(b" ", 2)
        if not version.startswith(b"HTTP/1."):
            raise Broken(f"no HTTP: {version!r}")
        headers = CaseInsensitiveDict()
        while line := self.line():
            name, _, value = line.decode("latin-1").partition(":")
            value = value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return int(status), b"".join(reason).decode("latin-1"), headers

    def chunks(self):
        whole = b""
        while n := int(self.line().split(b";")[0], 16):
            whole += self.exactly(n)
            self.line()
        while self.line():
            pass
        return whole

    def body(self, method, status, headers):
        """The bytes, and whether the connection may be used again."""
        goes_on = headers.get("Connection", "").lower() != "close"
        if method == "HEAD" or status in (204, 304):
            return b"", goes_on
        if headers.get("Transfer-Encoding", "").lower() == "chunked":
            return self.chunks(), goes_on
        if "Content-Length" in headers:
            return self.exactly(int(headers["Content-Length"])), goes_on
        return self.file.read(), False


class Sender:
    def __init__(self):
        self.free = collections.deque()

    def close(self):
        while self.free:
            self.free.pop().close()

    def connection(self, host, port, timeout):
        while self.free:
            try:
                kept = self.free.pop()
            except IndexError:  # another thread took it
                break
            if kept.usable():
                kept.socket.settimeout(timeout)
                return kept
            kept.close()
        return Connection(host, port, timeout)

    def send(self, method, base, path, headers, data, timeout):
        at = urllib.parse.urlsplit(base)
        target = path if PLAIN.fullmatch(path) else _encode_target(path)
        names = {name.lower() for name in headers}
        headers = {name: value for name, value in USUAL.items() if name.lower() not in names} | headers
        lines = [f"{method} {target} HTTP/1.1", f"Host: {at.netloc}", *(f"{name}: {text(value)}" for name, value in headers.items())]
        if not names & {"content-length", "transfer-encoding"} and (data or method not in ("GET", "HEAD")):
            lines.append(f"Content-Length: {len(data or b'')}")
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        begun = time.monotonic()
        try:
            answer = self.exchange(method, at, head, data, timeout)
        except socket.timeout as e:
            raise requests.exceptions.ReadTimeout(e) from e
        except (OSError, Broken, ValueError) as e:
            raise requests.exceptions.ConnectionError(e) from e
        answer.elapsed = datetime.timedelta(seconds=time.monotonic() - begun)
        answer.url, answer.request = base + path, types.SimpleNamespace(method=method, headers=CaseInsensitiveDict(headers), body=data)
        note_answer(method, answer.url, answer.status_code)
        return answer

    def exchange(self, method, at, head, data, timeout):
        connection = self.connection(at.hostname, at.port, timeout)
        try:
            try:
                connection.socket.sendall(head + data if data and len(data) < 65536 else head)
                if data and len(data) >= 65536:
                    connection.socket.sendall(data)
            except ConnectionError:  # it may have said why before it closed
                pass
            status, reason, got = connection.head()
            while status == 100:
                status, reason, got = connection.head()
            content, goes_on = connection.body(method, status, got)
        except BaseException:
            connection.close()
            raise
        if goes_on and len(self.free) < KEPT:
            self.free.append(connection)
        else:
            connection.close()
        answer = requests.Response()
        answer.status_code, answer.reason, answer.headers = status, reason, got
        answer._content = unpacked(got.get("Content-Encoding"), content)
        answer.encoding = requests.utils.get_encoding_from_headers(got)
        return answer


def text(value):
    return value.decode("latin-1") if isinstance(value, bytes) else value


def unpacked(coding, content):
    if coding == "gzip" and content:
        return zlib.decompress(content, 16 + zlib.MAX_WBITS)
    if coding and content:
        raise ValueError(f"nobody asked for the coding {coding}")
    return content
