"""Requests as they are on the wire, and what RFC 9112 and RFC 9110 say of each: the table of test_http_heads.py.

A case is (name, bytes, answers). answers: a status for each request that the bytes hold; END behind them says that the connection ends there and what
comes behind is not answered. A refusal (one of REFUSED) always ends the connection; OWN_400 is a good request that its route does not like. In the bytes
<key> stands for a good API key.
"""
END = "end"
OWN_400 = "400"
REFUSED = {400: "http.malformed", 413: "body.too_large", 414: "uri.too_long", 417: "http.expectation", 431: "headers.too_large", 501: None, 505: "http.version"}
AUTH = b"SVC-API-KEY: <key>\r\n"


def get(line=b"GET /v1/locations?limit=1 HTTP/1.1", fields=b"Host: x\r\n", auth=AUTH):
    return line + b"\r\n" + fields + auth + b"\r\n"


def post(fields, body=b"", line=b"POST /v1/locations/loc_0000000000000000000000 HTTP/1.1"):
    return line + b"\r\nHost: x\r\n" + AUTH + b"Content-Type: application/json\r\n" + fields + b"\r\n" + body


def chunked(body, fields=b"Transfer-Encoding: chunked\r\n", **more):
    return post(fields, body, **more)


def lines():
    """Request lines."""
    for name, line in {
        "no version": b"GET /v1/locations", "no target": b"GET HTTP/1.1", "method alone": b"GET", "two blanks": b"GET  /v1/locations HTTP/1.1", "two blanks before the version": b"GET /v1/locations  HTTP/1.1",
        "tab for a blank": b"GET\t/v1/locations HTTP/1.1", "tab before the version": b"GET /v1/locations\tHTTP/1.1", "blank in front": b" GET /v1/locations HTTP/1.1", "blank behind": b"GET /v1/locations HTTP/1.1 ",
        "blank in the target": b"GET /v1/loca tions HTTP/1.1", "version in small letters": b"GET /v1/locations http/1.1", "version without a point": b"GET /v1/locations HTTP/11", "version of two digits": b"GET /v1/locations HTTP/1.10",
        "version 01.1": b"GET /v1/locations HTTP/01.1", "version with a letter": b"GET /v1/locations HTTP/1.x", "version HTTPS": b"GET /v1/locations HTTPS/1.1", "version 1": b"GET /v1/locations HTTP/1", "version with a sign": b"GET /v1/locations HTTP/+1.1",
        "empty version": b"GET /v1/locations ", "something behind the version": b"GET /v1/locations HTTP/1.1 x", "NUL in the path": b"GET /v1/loc\0ations HTTP/1.1", "NUL behind the path": b"GET /v1/locations\0 HTTP/1.1", "NUL in the method": b"GE\0T /v1/locations HTTP/1.1",
        "method with a brace": b"G{T /v1/locations HTTP/1.1", "method with a colon": b"GET: /v1/locations HTTP/1.1", "method in quotes": b"\"GET\" /v1/locations HTTP/1.1", "method with a letter of Latin 1": b"G\xcbT /v1/locations HTTP/1.1", "method in brackets": b"(GET) /v1/locations HTTP/1.1",
        "escape sequence first": b"\x1b[2J /v1/locations HTTP/1.1", "DEL in the target": b"GET /v1/loc\x7fations HTTP/1.1", "raw UTF-8 in the path": "GET /v1/locatiöns HTTP/1.1".encode(), "raw Latin 1 in the query": b"GET /v1/locations?search=\xe9 HTTP/1.1",
        "fragment": b"GET /v1/locations#x HTTP/1.1", "fragment in the query": b"GET /v1/locations?limit=1#x HTTP/1.1", "quote in the query": b"GET /v1/locations?search=\"x\" HTTP/1.1", "angle brackets in the query": b"GET /v1/locations?search=<x> HTTP/1.1",
        "backslash in the path": b"GET \\v1\\locations HTTP/1.1", "braces in the path": b"GET /v1/{id} HTTP/1.1", "brackets in the path": b"GET /v1/[id] HTTP/1.1", "caret in the path": b"GET /v1/^ HTTP/1.1", "pipe in the path": b"GET /v1/a|b HTTP/1.1",
        "percent with letters": b"GET /v1/locations/%zz HTTP/1.1", "percent with one digit": b"GET /v1/locations/%4 HTTP/1.1", "percent at the end": b"GET /v1/locations/% HTTP/1.1", "percent of Unicode": b"GET /v1/locations/%u0041 HTTP/1.1",
        "target without a slash": b"GET v1/locations HTTP/1.1", "target is a query": b"GET ?limit=1 HTTP/1.1", "asterisk": b"GET * HTTP/1.1", "asterisk and more": b"OPTIONS *x HTTP/1.1", "authority": b"GET example.com:80 HTTP/1.1",
        "absolute with userinfo": b"GET http://u:p@x/v1/locations HTTP/1.1", "absolute without a host": b"GET http:///v1/locations HTTP/1.1", "absolute with a port alone": b"GET http://:80/v1/locations HTTP/1.1", "absolute of another scheme": b"GET ftp://x/v1/locations HTTP/1.1",
        "absolute with a bad port": b"GET http://x:8a/v1/locations HTTP/1.1", "absolute with one slash": b"GET http:/x/v1/locations HTTP/1.1", "absolute with a bad host": b"GET http://x{y/v1/locations HTTP/1.1", "absolute with a bad address": b"GET http://[::g]/v1/locations HTTP/1.1",
        "path is an escape short": b"GET /%", "colon line": b"Host: x", "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "empty chunk": b"0", "JSON": b'{"a": 1}',
    }.items():
        yield name, get(line), [400]
    yield "HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [505]
    for version in (b"2.0", b"0.9", b"3.0", b"9.9"):
        yield f"version {version.decode()}", get(b"GET /v1/locations HTTP/" + version), [505]
    yield "CONNECT", get(b"CONNECT x:443 HTTP/1.1"), [501]
    yield "method of 33 letters", get(b"M" * 33 + b" /v1/locations HTTP/1.1"), [501]
    yield "method of 10000 letters", get(b"M" * 10000 + b" /v1/locations HTTP/1.1"), [501]
    yield "method of 32 letters", get(b"M" * 32 + b" /v1/locations HTTP/1.1"), [405]
    yield "method in small letters", get(b"get /v1/locations HTTP/1.1"), [405]
    yield "method of all token characters", get(b"!#$%&'*+-.^_`|~0aZ /v1/locations HTTP/1.1"), [405]
    yield "version 1.2", get(b"GET /v1/locations?limit=1 HTTP/1.2"), [200]
    yield "version 1.9", get(b"GET /v1/locations?limit=1 HTTP/1.9"), [200]
    yield "target of 16 KiB", get(b"GET /v1/locations?x=" + b"x" * (16384 - 16) + b" HTTP/1.1"), [200]
    yield "target of 16 KiB and one", get(b"GET /v1/locations?x=" + b"x" * (16384 - 15) + b" HTTP/1.1"), [414]
    yield "path of 20 KiB", get(b"GET /" + b"x" * 20000 + b" HTTP/1.1"), [414]
    yield "request line without an end", b"GET /" + b"x" * 70000, [414]
    yield "8000 arguments", get(b"GET /v1/locations?" + b"&" * 8000 + b" HTTP/1.1"), [200]
    yield "one empty line in front", b"\r\n" + get(), [200]
    yield "eight empty lines in front", b"\r\n" * 8 + get(), [200]
    yield "nine empty lines in front", b"\r\n" * 9 + get(), [400]
    yield "LF in front", b"\n" + get(), [400]
    yield "CR in front", b"\r" + get(), [400]
    yield "empty path", get(b"GET / HTTP/1.1"), [404]
    yield "query characters that browsers leave", get(b"GET /v1/locations?x=[a]{b}|c^d`e\\f HTTP/1.1"), [200]
    yield "two question marks", get(b"GET /v1/locations?x=a?b HTTP/1.1"), [200]
    yield "empty query", get(b"GET /v1/locations? HTTP/1.1"), [200]
    yield "broken escape in the query", get(b"GET /v1/locations?limit=%zz HTTP/1.1"), [OWN_400]
    yield "escapes in the path", get(b"GET /v1/%6Cocations/%00%ff HTTP/1.1"), [404]


def targets():
    """Absolute targets and *."""
    for name, line, status in [
        ("absolute", b"GET http://x/v1/locations?limit=1 HTTP/1.1", 200), ("absolute https", b"GET https://x/v1/locations?limit=1 HTTP/1.1", 200), ("absolute in capitals", b"GET HTTP://X/v1/locations?limit=1 HTTP/1.1", 200),
        ("absolute with a port", b"GET http://x:8080/v1/locations?limit=1 HTTP/1.1", 200), ("absolute with an empty port", b"GET http://x:/v1/locations?limit=1 HTTP/1.1", 200), ("absolute with an address", b"GET http://127.0.0.1/v1/locations?limit=1 HTTP/1.1", 200),
        ("absolute with an IPv6 address", b"GET http://[::1]:80/v1/locations?limit=1 HTTP/1.1", 200), ("absolute with another host than Host", b"GET http://a.much.longer.name.example/v1/locations?limit=1 HTTP/1.1", 200),
        ("absolute without a path", b"GET http://x HTTP/1.1", 404), ("absolute query without a path", b"GET http://x?limit=1 HTTP/1.1", 404), ("absolute root", b"GET http://x/ HTTP/1.1", 404),
        ("options of the server", b"OPTIONS * HTTP/1.1", 204), ("options of the server, absolute", b"OPTIONS http://x HTTP/1.1", 204), ("options of a path", b"OPTIONS /v1/locations HTTP/1.1", 204),
        ("head", b"HEAD /v1/locations?limit=1 HTTP/1.1", 200), ("head of nothing", b"HEAD /v1/nothing HTTP/1.1", 404), ("head, absolute", b"HEAD http://x/v1/locations HTTP/1.1", 200)]:
        yield name, get(line), [status]
    yield "absolute without Host", get(b"GET http://x/v1/locations HTTP/1.1", fields=b""), [400]
    yield "absolute with an empty Host", get(b"GET http://x/v1/locations HTTP/1.1", fields=b"Host:\r\n"), [200]
    yield "broken head", get(b"HEAD /v1/locations HTTP/1.1", fields=b"Host: x\r\nHost: x\r\n"), [400]


def hosts():
    for name, fields in {
        "no Host": b"", "two Hosts": b"Host: x\r\nHost: x\r\n", "two different Hosts": b"Host: x\r\nhost: y\r\n", "Host with a path": b"Host: a/b\r\n", "Host with userinfo": b"Host: u@x\r\n", "Host with a blank": b"Host: a b\r\n", "Host with a comma and a blank": b"Host: a, b\r\n",
        "Host with a bad port": b"Host: x:8o\r\n", "Host with two ports": b"Host: x:80:80\r\n", "Host with a scheme": b"Host: http://x\r\n", "Host with a query": b"Host: x?y\r\n", "Host with a fragment": b"Host: x#y\r\n", "Host with a backslash": b"Host: x\\y\r\n",
        "Host with brackets open": b"Host: [::1\r\n", "Host with a bad address": b"Host: [1:2]\r\n", "Host with empty brackets": b"Host: []\r\n", "Host with something behind brackets": b"Host: [::1]x\r\n", "Host with a broken escape": b"Host: x%2\r\n", "Host of 300 letters": b"Host: " + b"x" * 300 + b"\r\n",
        "Host of Latin 1": b"Host: \xe9\r\n", "Host with a quote": b"Host: \"x\"\r\n", "Host with an angle bracket": b"Host: <x>\r\n", "Host with a blank before the colon": b"Host : x\r\n", "blank before Host": b" Host: x\r\n"}.items():
        yield name, get(fields=fields), [400]
    for host in ("", "x", "X.example.com", "x:80", "x:", ":80", "127.0.0.1:8080", "[::1]", "[2001:db8::1]:443", "[::ffff:1.2.3.4]", "a_b-c.d~e", "x%41", "a!$&'()*+,;=b"):
        yield f"Host {host!r}", get(fields=f"Host: {host}\r\n".encode()), [200]
    yield "Host with blanks around", get(fields=b"Host: \t x \t\r\n"), [200]
    yield "Host without a blank", get(fields=b"hOST:x\r\n"), [200]


def fields():
    for name, line in {
        "blank before the colon": b"X-A : 1", "tab before the colon": b"X-A\t: 1", "no colon": b"X-A", "no name": b": 1", "no name, blank": b" : 1", "folded": b"X-A: 1\r\n 2", "folded by a tab": b"X-A: 1\r\n\t2", "folded, empty": b"X-A: 1\r\n ",
        "blank in a name": b"X A: 1", "bracket in a name": b"X[A]: 1", "brace in a name": b"X{A}: 1", "quote in a name": b"\"X\": 1", "comma in a name": b"X,A: 1", "slash in a name": b"X/A: 1", "NUL in a name": b"X\0A: 1", "Latin 1 in a name": b"X\xe9: 1", "at in a name": b"X@A: 1",
        "NUL in a value": b"X-A: 1\x002", "NUL at the end of a value": b"X-A: 1\0", "NUL as a value": b"X-A: \0", "bell in a value": b"X-A: 1\x07", "DEL in a value": b"X-A: \x7f", "escape in a value": b"X-A: \x1b[1m", "form feed in a value": b"X-A: 1\x0c2",
        "CR in a value": b"X-A: 1\r2", "CR at the end of a value": b"X-A: 1\r", "CR behind a name": b"X-A\r: 1", "LF for a line end": b"X-A: 1\nX-B: 2", "LF smuggles": b"X-A: 1\nContent-Length: 10", "CR for a line end": b"X-A: 1\rX-B: 2", "LF CR": b"X-A: 1\n\rX-B: 2", "vertical tab before the colon": b"X-A\x0b: 1",
        "Content-Length with a blank before its colon": b"Content-Length : 50", "Transfer-Encoding with a blank before its colon": b"Transfer-Encoding : chunked", "folded Transfer-Encoding": b"Transfer-Encoding:\r\n chunked", "folded Content-Length": b"Content-Length:\r\n 50",
    }.items():
        yield name, get(fields=b"Host: x\r\n" + line + b"\r\n"), [400]
    yield "first header folded", b"GET /v1/locations HTTP/1.1\r\n X: y\r\nHost: x\r\n" + AUTH + b"\r\n", [400]
    yield "LF for the last line end", b"GET /v1/locations HTTP/1.1\r\nHost: x\r\n\n", [400]
    yield "LF for all line ends", b"GET /v1/locations HTTP/1.1\nHost: x\n\n", [400]
    yield "CR for all line ends", b"GET /v1/locations HTTP/1.1\rHost: x\r\r", [400]
    yield "CR CR LF", b"GET /v1/locations HTTP/1.1\r\r\nHost: x\r\n\r\n", [400]
    yield "key cut by NUL", get(auth=b"SVC-API-KEY: <key>\0zz\r\n"), [400]
    yield "key with blanks behind", get(auth=b"SVC-API-KEY: <key> \t \r\n"), [200]
    yield "key with blanks in front", get(auth=b"SVC-API-KEY: \t  <key>\r\n"), [200]
    yield "key without a blank", get(auth=b"SVC-API-KEY:<key>\r\n"), [200]
    yield "key as a bearer with blanks behind", get(auth=b"Authorization: Bearer <key>  \r\n"), [200]
    for name, line in {
        "empty value": b"X-A:", "blank value": b"X-A:    ", "tab inside a value": b"X-A: a\tb", "Latin 1 in a value": b"X-A: \xe9\xff", "all token characters in a name": b"!#$%&'*+-.^_`|~09aZ: 1", "colons in a value": b"X-A:: :", "name of one letter": b"X: 1",
        "name with an underscore": b"X_A: 1", "name of digits": b"123: 1", "a long name": b"X" * 4000 + b": 1", "a long value": b"X-A: " + b"v" * 30000, "a long cookie": b"Cookie: " + b"a=b; " * 5000, "Content-Length 0": b"Content-Length: 0", "Content-Length of zeros": b"Content-Length: 000",
        "Content-Length with blanks": b"Content-Length: \t 0 \t", "Upgrade": b"Connection: upgrade\r\nUpgrade: h2c", "TE": b"TE: trailers", "empty Connection": b"Connection:", "Connection with empty members": b"Connection: , ,keep-alive, ,", "keep-alive": b"Connection: Keep-Alive", "Trailer": b"Trailer: X",
        "Expect without a body": b"Expect: 100-continue", "empty Expect": b"Expect:", "same header twice": b"X-A: 1\r\nX-A: 2", "a close that is no member": b"Connection: closed\r\nX-Connection: close", "94 headers": b"\r\n".join(b"X-%d: 1" % i for i in range(94)),
    }.items():
        yield name, get(fields=b"Host: x\r\n" + line + b"\r\n"), [200]
    yield "headers of 32 KiB and more", get(fields=b"Host: x\r\n" + b"".join(b"X-%d: " % i + b"v" * 5000 + b"\r\n" for i in range(7))), [431]
    yield "101 headers", get(fields=b"Host: x\r\n" + b"".join(b"X-%d: 1\r\n" % i for i in range(101))), [431]
    yield "headers without an end", b"GET / HTTP/1.1\r\nX: " + b"v" * 70000, [431]
    yield "everything just below its limit", get(b"GET /v1/locations?x=" + b"x" * (16384 - 16) + b" HTTP/1.1", fields=b"Host: x\r\n" + b"".join(b"X-%02d: " % i + b"v" * 320 + b"\r\n" for i in range(97))), [200]
    yield "unknown expectation", get(fields=b"Host: x\r\nExpect: magic\r\n"), [417]
    yield "known and unknown expectation", get(fields=b"Host: x\r\nExpect: 100-continue, magic\r\n"), [417]
    yield "expectation with a parameter", get(fields=b"Host: x\r\nExpect: 100-continue;q=1\r\n"), [417]
    yield "unknown expectation with a body", post(b"Expect: 200-maybe\r\nContent-Length: 2\r\n", b"{}"), [417]


def connections():
    for name, value in {"close": b"close", "Close": b"Close", "close in a list": b"keep-alive, close", "close among empty members": b", close ,", "close with blanks": b" \tclose\t "}.items():
        yield "Connection: " + name, get(fields=b"Host: x\r\nConnection: " + value + b"\r\n"), [200, END]
    yield "close in a second header", get(fields=b"Host: x\r\nConnection: keep-alive\r\nConnection: close\r\n"), [200, END]
    yield "close with a body", post(b"Connection: close\r\nContent-Length: 2\r\n", b"{}"), [404, END]
    yield "close with chunks", chunked(b"2\r\n{}\r\n0\r\n\r\n", fields=b"Connection: close\r\nTransfer-Encoding: chunked\r\n"), [404, END]
    old = b"GET /v1/locations?limit=1 HTTP/1.0"
    yield "HTTP/1.0", get(old), [200, END]
    yield "HTTP/1.0 without Host", get(old, fields=b""), [200, END]
    yield "HTTP/1.0 that stays", get(old, fields=b"Connection: keep-alive\r\n"), [200]
    yield "HTTP/1.0 that stays and ends", get(old, fields=b"Connection: keep-alive, close\r\n"), [200, END]
    yield "HTTP/1.0 with two Hosts", get(old, fields=b"Host: x\r\nHost: y\r\n"), [400]
    yield "HTTP/1.0 with a bad Host", get(old, fields=b"Host: a/b\r\n"), [400]
    yield "HTTP/1.0 with an unknown expectation", get(old, fields=b"Expect: magic\r\n"), [200, END]
    yield "HTTP/1.0 with a body", post(b"Content-Length: 2\r\n", b"{}", line=b"POST /v1/locations/loc_0000000000000000000000 HTTP/1.0"), [404, END]
    yield "HTTP/1.0 with chunks", chunked(b"2\r\n{}\r\n0\r\n\r\n", line=b"POST /v1/locations HTTP/1.0"), [400]
    yield "HTTP/1.0 with chunks that stays", chunked(b"2\r\n{}\r\n0\r\n\r\n", line=b"POST /v1/locations HTTP/1.0", fields=b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n"), [400]
    yield "three in a row", get() + get(b"HEAD /v1/locations HTTP/1.1") + get(), [200, 200, 200]
    yield "good, then broken", get() + get(b"GET  / HTTP/1.1"), [200, 400]
    yield "good with a body, then broken", post(b"Content-Length: 2\r\n", b"{}") + b"GET / HTTP/1.1\nHost: x\n\n", [404, 400]
    yield "empty line between two", get() + b"\r\n" + get(), [200, 200]
    yield "a body that looks like a request", post(b"Content-Length: %d\r\n" % len(get(auth=b"")), get(auth=b"")), [OWN_400]


def lengths():
    for name, value in {"sign": b"+2", "minus": b"-1", "two numbers": b"2 2", "list": b"2, 2", "list of two": b"2,3", "hexadecimal": b"0x2", "empty": b"", "point": b"2.0", "letter": b"2a", "exponent": b"2e0", "underscore": b"1_0", "blank inside": b"1 0", "full-width digits": "２".encode()}.items():
        yield f"Content-Length: {name}", post(b"Content-Length: " + value + b"\r\n", b"{}"), [400]
    yield "Content-Length twice", post(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}"), [400]
    yield "Content-Length twice, different", post(b"Content-Length: 2\r\ncontent-length: 0\r\n", b"{}"), [400]
    yield "Content-Length and chunks", chunked(b"2\r\n{}\r\n0\r\n\r\n", fields=b"Content-Length: 12\r\nTransfer-Encoding: chunked\r\n"), [400]
    yield "chunks and Content-Length 0", chunked(b"0\r\n\r\n", fields=b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), [400]
    yield "Content-Length of 20 digits", post(b"Content-Length: 99999999999999999999\r\n", b"{}"), [413]
    yield "Content-Length of 2^64 and 2", post(b"Content-Length: 18446744073709551618\r\n", b"{}"), [413]
    yield "Content-Length with zeros in front", post(b"Content-Length: 0000000002\r\n", b"{}"), [404]
    yield "Content-Length with blanks around", post(b"Content-Length:\t2 \r\n", b"{}"), [404]
    yield "body of a GET", get(fields=b"Host: x\r\nContent-Length: 2\r\n") + b"{}", [200]
    yield "chunks of a GET", get(fields=b"Host: x\r\nTransfer-Encoding: chunked\r\n") + b"2\r\n{}\r\n0\r\n\r\n", [200]
    yield "no body", post(b""), [404]


def chunks():
    for name, value, status in [
        ("gzip", b"gzip", 400), ("identity", b"identity", 400), ("empty", b"", 400), ("commas", b",,", 400), ("chunked, gzip", b"chunked, gzip", 400), ("twice", b"chunked, chunked", 400), ("with a parameter", b"chunked;q=1", 400), ("quoted", b"\"chunked\"", 400), ("xchunked", b"xchunked", 400),
        ("blank inside", b"chun ked", 400), ("gzip, chunked", b"gzip, chunked", 501), ("unknown, chunked", b"x, chunked", 501), ("vertical tab", b"\x0bchunked", 400)]:
        yield f"Transfer-Encoding: {name}", chunked(b"0\r\n\r\n", fields=b"Transfer-Encoding: " + value + b"\r\n"), [status]
    yield "Transfer-Encoding twice", chunked(b"0\r\n\r\n", fields=b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), [400]
    yield "Transfer-Encoding gzip, and chunked in a second header", chunked(b"0\r\n\r\n", fields=b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), [501]
    yield "Transfer-Encoding identity, and chunked in front", chunked(b"0\r\n\r\n", fields=b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), [400]
    for name, value in {"CHUNKED": b"CHUNKED", "blanks": b" \tchunked\t ", "empty members": b", chunked ,"}.items():
        yield f"Transfer-Encoding: {name}", chunked(b"2\r\n{}\r\n0\r\n\r\n", fields=b"Transfer-Encoding: " + value + b"\r\n"), [404]
    for name, body in {
        "no size": b"\r\n{}\r\n0\r\n\r\n", "size with a sign": b"+2\r\n{}\r\n0\r\n\r\n", "negative size": b"-2\r\n{}\r\n0\r\n\r\n", "size with 0x": b"0x2\r\n{}\r\n0\r\n\r\n", "size of letters": b"zz\r\n{}\r\n0\r\n\r\n", "size with a blank behind": b"2 \r\n{}\r\n0\r\n\r\n", "size with a blank in front": b" 2\r\n{}\r\n0\r\n\r\n",
        "size of 17 digits": b"1" + b"0" * 16 + b"\r\n{}\r\n0\r\n\r\n", "size of 30 digits": b"f" * 30 + b"\r\n{}\r\n0\r\n\r\n", "LF behind the size": b"2\n{}\r\n0\r\n\r\n", "CR behind the size": b"2\r{}\r\n0\r\n\r\n", "LF behind the data": b"2\r\n{}\n0\r\n\r\n", "data too long": b"2\r\n{}x\r\n0\r\n\r\n", "data too short": b"3\r\n{}\r\n0\r\n\r\n",
        "NUL in the size": b"2\0\r\n{}\r\n0\r\n\r\n", "extension without a name": b"2;\r\n{}\r\n0\r\n\r\n", "extension with NUL": b"2;a=\0\r\n{}\r\n0\r\n\r\n", "extension of no value": b"2;a=\r\n{}\r\n0\r\n\r\n", "extension with an open quote": b"2;a=\"b\r\n{}\r\n0\r\n\r\n", "extension with LF": b"2;a\n{}\r\n0\r\n\r\n", "extension with a blank behind": b"2;a \r\n{}\r\n0\r\n\r\n",
        "extension too long": b"2;a=" + b"x" * 2000 + b"\r\n{}\r\n0\r\n\r\n", "comma behind the size": b"2,a\r\n{}\r\n0\r\n\r\n", "LF behind the last chunk": b"2\r\n{}\r\n0\n\r\n", "LF at the end": b"2\r\n{}\r\n0\r\n\n", "trailer without a colon": b"0\r\nX\r\n\r\n", "trailer with a blank before the colon": b"0\r\nX : 1\r\n\r\n",
        "folded trailer": b"0\r\nX: 1\r\n 2\r\n\r\n", "trailer with NUL": b"0\r\nX: \0\r\n\r\n", "trailer with LF": b"0\r\nX: 1\n\r\n", "trailers too large": b"0\r\n" + b"".join(b"X: " + b"v" * 5000 + b"\r\n" for _ in range(7)) + b"\r\n", "200 trailers": b"0\r\n" + b"X: 1\r\n" * 200 + b"\r\n",
        "broken second chunk": b"2\r\n{}\r\nx\r\n", "request where a chunk should be": get()}.items():
        yield f"chunks: {name}", chunked(body), [400]
    for name, body in {
        "one": b"2\r\n{}\r\n0\r\n\r\n", "two": b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "none": b"0\r\n\r\n", "zeros in front": b"0002\r\n{}\r\n000\r\n\r\n", "capital digits": b"A\r\n{        }\r\n0\r\n\r\n", "small digits": b"a\r\n{        }\r\n0\r\n\r\n", "extension": b"2;a\r\n{}\r\n0\r\n\r\n",
        "extension with a value": b"2;a=b\r\n{}\r\n0;c=d\r\n\r\n", "extensions with blanks": b"2 ; a = b ;\tc\r\n{}\r\n0\r\n\r\n", "quoted extension": b"2;a=\"b;\\\"c\"\r\n{}\r\n0\r\n\r\n", "trailer": b"2\r\n{}\r\n0\r\nX: 1\r\n\r\n", "trailers that say nothing": b"2\r\n{}\r\n0\r\nContent-Length: 50\r\nHost: y\r\nTransfer-Encoding: x\r\n\r\n",
        "30 chunks": b"1\r\n \r\n" * 28 + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"}.items():
        yield f"chunks: {name}", chunked(body), [404]
    yield "Expect and a length", post(b"Expect: 100-continue\r\nContent-Length: 2\r\n", b"{}"), [404]
    yield "Expect in capitals and chunks", chunked(b"2\r\n{}\r\n0\r\n\r\n", fields=b"Expect: 100-CONTINUE\r\nTransfer-Encoding: chunked\r\n"), [404]
    yield "gzip;q=0 under *", get(fields=b"Host: x\r\nAccept-Encoding: gzip;q=0, *;q=1\r\n"), [200]


CASES = [case for part in (lines, targets, hosts, fields, connections, lengths, chunks) for case in part()]
