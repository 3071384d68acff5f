"""GET /docs and what is below it over HTTP: types, headers, tags, the switch, and that no code is missing."""
import html.parser
import re

import pytest

from wharf import ROOT, Server

GUIDES = [p.stem for p in sorted((ROOT / "docs" / "guide" / "api").glob("*.md"))]
FILES = [p.name for p in sorted((ROOT / "services" / "docs" / "page").iterdir()) if p.suffix != ".html"]
PAGES = ["/docs", "/docs/errors", "/docs/guides", *(f"/docs/guides/{g}" for g in GUIDES)]
VOID = {"meta", "link", "img", "input", "br", "hr"}


class Page(html.parser.HTMLParser):
    """What a page names, and whether its elements are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.ids, self.named, self.inline = [], [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.named += [attrs[a] for a in ("href", "src") if a in attrs]
        self.inline += [tag] if tag == "style" or (tag == "script" and "src" not in attrs) or any(a == "style" or a.startswith("on") for a in attrs) else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def pages(server):
    return {path: server.http.get(server.base + path) for path in PAGES}


def test_pages(pages):
    for path, r in pages.items():
        assert (r.status_code, r.headers["Content-Type"]) == (200, "text/html; charset=utf-8"), path
        page = Page(r.text)
        assert not page.wrong and not page.inline and len(page.ids) == len(set(page.ids)), (path, page.wrong, page.inline)


def test_links_lead_somewhere(server, pages):
    """Of pages to pages, with the parts behind #; nothing of another host is loaded."""
    parsed = {path: Page(r.text) for path, r in pages.items()}
    for path, page in parsed.items():
        for name in page.named:
            target, _, part = name.partition("#")
            if name.startswith("https://"):
                continue
            target = target or path
            r = pages.get(target) or server.http.get(server.base + target)
            assert r.status_code == 200, (path, name)
            if part and target != "/docs":
                assert part in Page(r.text).ids, (path, name)
        loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"', pages[path].text)
        assert loaded and all(one.startswith("/docs/page/") for one in loaded), (path, loaded)


def test_files_of_pages(server):
    types = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
    assert len(FILES) > 8
    for name in FILES:
        r = server.http.get(f"{server.base}/docs/page/{name}")
        assert (r.status_code, r.headers["Content-Type"]) == (200, types[name.split(".")[-1]]), name
        assert r.content == (ROOT / "services" / "docs" / "page" / name).read_bytes()
    for name in ("reference.html", "guide-filters.html", "layout.html", "nothing.js", "..%2fpages.py", "docs.css/x"):
        assert server.http.get(f"{server.base}/docs/page/{name}").status_code == 404, name
    assert server.http.get(server.base + "/docs/guides/nothing").status_code == 404


@pytest.mark.parametrize("path", ["/docs", "/docs/page/page.js", "/docs/errors", "/docs/errors.json", "/docs/guides", "/docs/guides/filters"])
def test_headers(server, path):
    http, url = server.http, server.base + path
    r = http.get(url, headers={"Accept": "text/html", "Accept-Encoding": "identity"})
    assert r.status_code == 200 and "Content-Encoding" not in r.headers and "Set-Cookie" not in r.headers
    rules = dict(rule.strip().split(" ", 1) for rule in r.headers["Content-Security-Policy"].split(";"))
    assert rules.pop("default-src") == "'none'" and set(rules.values()) == {"'self'", "'none'"} and rules["script-src"] == rules["style-src"] == "'self'"
    assert (r.headers["X-Content-Type-Options"], r.headers["Referrer-Policy"], r.headers["Cache-Control"]) == ("nosniff", "no-referrer", "private, no-cache")
    packed = http.get(url, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and packed.content == r.content
    for tag in (r.headers["ETag"], packed.headers["ETag"]):
        same = http.get(url, headers={"If-None-Match": tag})
        assert same.status_code == 304 and not same.content and same.headers["Content-Security-Policy"]
    head = http.head(url, headers={"Accept-Encoding": "identity"})
    assert (head.status_code, head.headers["Content-Length"], head.content) == (200, str(len(r.content)), b"")
    assert http.post(url).status_code == 405


def test_every_error_code_is_told(server, pages):
    """Those of the server's own list and of each module, once, with the texts that answers have."""
    errors = server.http.get(server.base + "/docs/errors.json").json()["errors"]
    codes = [e["code"] for e in errors]
    assert codes == sorted(set(codes)) and set(server.openapi["x-errors"]) <= set(codes)
    named = {c for item in server.openapi["paths"].values() for o in item.values() for c in o.get("x-errors", [])}
    assert named <= set(codes)
    rows = re.findall(r'<tr id="([^"]+)"><th scope="row"><a href="#\1"><code>\1</code></a></th><td>(\d+)</td><td>(.*?)</td><td>(.*?)</td><td>(\w+)</td></tr>', pages["/docs/errors"].text)
    unescaped = [(code, int(status), html.unescape(cause), html.unescape(remedy), module) for code, status, cause, remedy, module in rows]
    assert unescaped == [(e["code"], e["status"], e["cause"], e["remedy"], e["module"] or "platform") for e in errors]
    known = {e["code"]: e for e in errors}
    assert known["api_key.expired"] == {"code": "api_key.expired", "status": 401, "cause": "The API key has expired", "remedy": "ask for a new one", "module": None}
    assert {e["module"] for e in errors} >= {None, "contacts", "webhooks", "items"}


def test_they_are_no_part_of_the_description(server):
    assert not [p for p in server.openapi["paths"] if p.startswith("/docs")]


def test_guides_are_listed_in_order(pages):
    listed = re.findall(r'<a href="/docs/guides/([\w-]+)">', pages["/docs/guides"].text)
    assert listed[0] == "first-request" and sorted(listed) == GUIDES


def test_a_server_without_pages():
    s = Server("--set", "docs.enabled=false", "--modules", "org,locations")
    try:
        for path in (*PAGES, "/docs/page/page.js", "/docs/errors.json"):
            r = s.http.get(s.base + path)
            assert (r.status_code, r.json()["code"]) == (404, "route.not_found"), path
    finally:
        s.stop()


def test_a_server_that_hides_what_it_has():
    """Pages are shown; what modules there are is told with a key only."""
    s = Server("--set", "openapi.require_key=true", "--modules", "org,locations,contacts")
    try:
        key = {"SVC-API-KEY": s.demo_key}
        for path in PAGES:
            assert s.http.get(s.base + path).status_code == 200, path
        for path in ("/v1/openapi.json", "/docs/errors.json"):
            assert s.http.get(s.base + path).json()["code"] == "api_key.missing"
            assert s.http.get(s.base + path, headers=key).status_code == 200
        page = s.http.get(s.base + "/docs/errors").text
        assert 'id="api_key.missing"' in page and "contact." not in page
    finally:
        s.stop()
