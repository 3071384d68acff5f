"""The reference in a browser: with the document of a real server, and with one that has everything and means harm; its scripts by node."""
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.parse

import pytest

from browser import Browser
from wharf import BUILD, ROOT, WAIT, Server

HERE = pathlib.Path(__file__).resolve().parent
PAGE = ROOT / "services" / "docs" / "page"
RICH = json.loads((HERE / "rich.json").read_text(encoding="utf-8"))
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}


def test_the_scripts(tmp_path):
    shutil.copytree(PAGE, tmp_path / "page")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for name in ("page.test.mjs", "rich.json"):
        shutil.copy(HERE / name, tmp_path)
    done = subprocess.run(["node", "--test", "page.test.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0 and re.search(r"^# pass [1-9]", done.stdout, re.M), done.stdout + done.stderr


@pytest.fixture(scope="module")
def browser():
    b = Browser()
    yield b
    b.close()


@pytest.fixture(scope="module")
def rich(server):
    """The pages as the server sends them, with another document: of tests, not of modules."""
    policy = server.http.get(server.base + "/docs").headers["Content-Security-Policy"]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = urllib.parse.urlparse(self.path).path
            if path == "/v1/openapi.json":
                body, kind = json.dumps(RICH).encode(), "application/json"
            elif path == "/docs/errors.json":
                body, kind = json.dumps({"errors": [{"code": "box.broken", "status": 409, "cause": "<x-hostile>", "remedy": "", "module": "<x-hostile>"}]}).encode(), "application/json"
            else:
                file = (BUILD / "services" / "docs" / "reference.html") if path == "/docs" else (
                    BUILD / "services" / "docs" / "errors.html") if path == "/docs/errors" else PAGE / pathlib.Path(path).name
                body, kind = file.read_bytes(), TYPES[file.suffix]
            self.send_response(200)
            for name, value in (("Content-Type", kind), ("Content-Length", len(body)), ("Content-Security-Policy", policy)):
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()


def heading(browser):
    return browser.until("document.querySelector('main h1')?.textContent")


# ---- with a real document ----

def test_the_overview(browser, server):
    browser.open(server.base + "/docs")
    assert heading(browser)
    tags = {o["tags"][0] for item in server.openapi["paths"].values() for o in item.values()}
    assert browser.run("document.querySelectorAll('.groups section').length") == len(tags)
    assert browser.run("document.querySelectorAll('#navigation li a').length") >= sum(len(item) for item in server.openapi["paths"].values())
    assert not browser.complaints() and browser.run("document.cookie") == ""
    assert all(url.startswith(server.base) for url in browser.asked()), browser.asked()


def test_every_operation_opens(browser, server):
    """None throws, and each shows a sample of each language."""
    browser.open(server.base + "/docs")
    heading(browser)
    ids = [o["operationId"] for item in server.openapi["paths"].values() for o in item.values()]
    assert len(ids) > 200
    script = """(async (ids) => {
      const bad = [];
      for (const id of ids) {
        const changed = new Promise((r) => addEventListener('hashchange', r, {once: true}));
        location.hash = `operation/${encodeURIComponent(id)}`;
        await changed;
        const opened = [...document.querySelectorAll('details.operation[open]')];
        if (opened.length !== 1 || opened[0].dataset.name !== id || opened[0].querySelectorAll('[role=tabpanel] code').length !== 3) bad.push(id);
      }
      return bad;
    })"""
    assert browser.run(f"{script}({json.dumps(ids)})") == []
    assert not browser.complaints()


def test_every_schema_opens(browser, server):
    browser.open(server.base + "/docs#schemas")
    heading(browser)
    names = list(server.openapi["components"]["schemas"])
    script = """(async (names) => {
      const bad = [];
      for (const name of names) {
        const changed = new Promise((r) => addEventListener('hashchange', r, {once: true}));
        location.hash = `schema/${encodeURIComponent(name)}`;
        await changed;
        for (const inner of document.querySelectorAll('main details[data-schema]')) {
          inner.open = true;
          await new Promise((r) => setTimeout(r));
          if (inner.childElementCount < 2) bad.push([name, inner.dataset.schema]);
        }
        if (document.querySelector('main h1').textContent !== name) bad.push(name);
      }
      return bad;
    })"""
    assert browser.run(f"{script}({json.dumps(names)})") == []
    assert not browser.complaints()


def test_search_by_keys(browser, server):
    browser.open(server.base + "/docs")
    heading(browser)
    browser.press("/", "/")
    assert browser.run("document.activeElement.id") == "search" and browser.run("document.activeElement.value") == ""
    browser.write("list contacts")
    assert browser.until("document.querySelector('#found a')?.textContent").split()[:2] == ["operation", "List"]
    browser.press("ArrowDown")
    assert browser.run("document.activeElement === document.querySelector('#found a')")
    browser.press("ArrowUp")
    browser.press("Enter", "\r")
    assert browser.until("document.querySelector('details.operation[open] code.path')?.textContent") == "/v1/contacts"
    browser.press("/", "/")
    browser.write("error api_key.missing")
    assert browser.until("document.querySelector('#found a')?.getAttribute('href')") == "/docs/errors#api_key.missing"
    browser.press("Escape")
    assert browser.run("document.querySelector('#found').hidden && !document.querySelector('#navigation').hidden")
    assert not browser.complaints()


def test_what_is_not_there(browser, server):
    browser.open(server.base + "/docs#operation/nothing")
    assert heading(browser) == "Not here"
    browser.open(server.base + "/docs#schema/%E0%A4%A")
    assert heading(browser) == "Not here"


def test_printing(browser, server):
    """What is open is printed; else everything of the view."""
    browser.open(server.base + "/docs#operation/list_groups")
    browser.until("document.querySelectorAll('details.operation[open]').length === 1")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details.operation[open]').length") == 1
    browser.open(server.base + "/docs#tag/" + urllib.parse.quote(server.openapi["paths"]["/v1/groups"]["get"]["tags"][0], safe=""))
    heading(browser)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details.operation:not([open])').length") == 0
    assert browser.run("document.querySelectorAll('details.operation .shown').length") > 3
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("document.querySelectorAll('details.operation[open]').length") == 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("path", ["/docs", "/docs#operation/list_contacts", "/docs#schema/Contact", "/docs/errors", "/docs/guides/filters", "/docs/guides/events-and-webhooks"])
def test_a_narrow_window(browser, server, path, dark):
    """Nothing is wider than the window; the menu opens."""
    browser.size(380, 800, dark)
    try:
        browser.open(server.base + path)
        assert heading(browser) != "Not here"
        assert browser.run("document.documentElement.scrollWidth <= innerWidth && innerWidth === 380")
        ground = browser.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground))) < 200) == dark, ground
        if path == "/docs":
            assert browser.run("getComputedStyle(document.querySelector('#side')).display") == "none"
            browser.run("document.querySelector('#menu').click()")
            assert browser.run("getComputedStyle(document.querySelector('#side')).display") == "block"
            assert browser.run("document.documentElement.scrollWidth <= innerWidth && innerWidth === 380")
    finally:
        browser.size(1440, 900)


def test_error_codes(browser, server):
    """Each names the operations that answer with it, and the address leads to its row."""
    browser.open(server.base + "/docs/errors#not_found")
    told = browser.until("document.querySelector('#codes details') && [...document.querySelectorAll('#codes tbody tr')].map((r) => r.id)")
    assert told == [e["code"] for e in server.http.get(server.base + "/docs/errors.json").json()["errors"]]
    assert browser.run("document.querySelector('tr:target').id") == "not_found"
    used = {c for item in server.openapi["paths"].values() for o in item.values() for c in o.get("x-errors", [])}
    assert set(browser.run("[...document.querySelectorAll('#codes details')].map((d) => d.closest('tr').id)")) >= used - set(server.openapi["x-errors"])
    assert not browser.complaints()


def test_a_server_that_asks_for_a_key(browser):
    s = Server("--set", "openapi.require_key=true", "--modules", "org,locations,contacts")
    try:
        browser.open(s.base + "/docs")
        browser.until("!document.querySelector('#key').hidden")
        browser.run("document.querySelector('#key input').focus()")
        browser.write("wh_live_wrong")
        browser.press("Enter", "\r")
        assert "not good" in browser.until("document.querySelector('#key output').textContent")
        browser.run("document.querySelector('#key input').value = ''; document.querySelector('#key input').focus()")
        browser.write(s.organization().key("contacts:read"))
        browser.press("Enter", "\r")
        assert heading(browser)
        assert browser.run("document.querySelector('#key').hidden")
        assert browser.run("location.href") == s.base + "/docs" and browser.run("document.cookie") == ""
        browser.run("location.assign('/docs/errors')")
        browser.until("document.getElementById('contact.duplicate_email') !== null")  # of a module: shown with the key of this tab
    finally:
        s.stop()


# ---- with a document that has everything, and means harm ----

def test_a_document_that_means_harm(browser, rich):
    views = ["", "#tag/a%2Fb%20c", "#operation/retrieve_box", "#operation/update_box", "#operation/list_boxes", "#operation/post_v1_boxes", "#events", "#webhook/box.opened",
             "#schemas", "#schema/Box", "#operation/%3Cx-hostile%3E"]
    for part in views:
        browser.open(f"{rich}/docs{part}")
        heading(browser)
        assert browser.run("document.querySelectorAll('x-hostile, a[href^=javascript]').length") == 0, part
        assert not browser.complaints(), part
    browser.open(f"{rich}/docs/errors")
    browser.until("document.querySelector('#codes tbody tr td details') !== null")
    assert browser.run("document.querySelectorAll('x-hostile').length") == 0 and "<x-hostile>" in browser.run("document.querySelector('#codes').innerText")


def test_events(browser, rich):
    browser.open(f"{rich}/docs#webhook/box.opened")
    assert browser.until("document.querySelector('details.operation[open] .shown code')?.textContent") == json.dumps({"type": "box.opened", "note": "<x-hostile>"}, indent=2)
    assert browser.run("document.querySelector('#navigation [aria-current]').textContent") == "box.opened"


def test_a_schema_inside_of_itself(browser, rich):
    browser.open(f"{rich}/docs#schema/Box")
    heading(browser)
    for _ in range(3):
        opened = browser.run("""(async () => {
          const inner = [...document.querySelectorAll('details[data-schema=Box]')].at(-1);
          inner.open = true;
          await new Promise((r) => setTimeout(r));
          return inner.querySelectorAll('details[data-schema=Box]').length;
        })()""")
        assert opened == 1


def test_languages(browser, rich):
    browser.open(f"{rich}/docs#operation/update_box")
    heading(browser)
    shown = "[...document.querySelectorAll('[role=tabpanel]')].filter((p) => !p.hidden).map((p) => p.dataset.language)"
    assert browser.run(shown) == ["curl"]
    browser.run("document.querySelector('[role=tab][data-language=curl]').focus()")
    browser.press("ArrowRight")
    assert browser.run(shown) == ["TypeScript"] and browser.run("document.activeElement.dataset.language") == "TypeScript"
    browser.open(f"{rich}/docs#operation/list_boxes")  # it is remembered
    heading(browser)
    assert browser.run(shown) == ["TypeScript"]
    browser.run("localStorage.clear()")
