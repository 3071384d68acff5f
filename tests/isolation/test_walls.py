"""Nobody sees or changes what is not theirs: over all routes, with keys of two organizations, two locations, every single scope and none.

What is walked is the served OpenAPI document; the rows are made after the definitions (walls.py). A new module is walked without a line here.
"""
import re

import pytest
import requests

from receivers import Receivers
from walls import STREAMS, Walls
from wharf import MODULES, Server


@pytest.fixture(scope="module")
def walls():
    s = Server("--modules", MODULES, "--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", "--set", "request_log.reads=true")
    web = Receivers()
    yield Walls(s, web)
    s.stop()


def operations(walls, method):
    return [p for p, ops in sorted(walls.openapi["paths"].items()) if method in ops and p.startswith("/v1")]


def links(text):
    return re.findall(r'"(https?://[^"]*/v1/files/[^"]*)"', text)


def ask(who, method, path, body=None):
    kw = {} if body is None else {"json": body}
    return requests.request(method, who.client.server.base + path, headers={"SVC-API-KEY": who.client.key}, timeout=35, **kw)


def told(problems):
    """The first of each kind: ids are left out where the same is seen with many."""
    kinds = {}
    for p in problems:
        kinds.setdefault(re.sub(r"_[0-9A-Za-z]{22}|mk\d+x\w+", "_", p.split(": …")[0].split(": ", 1)[1]), p)
    return f"{len(problems)} answers show too much, of {len(kinds)} kinds:\n" + "\n".join(list(kinds.values())[:60])


def test_every_read_shows_only_what_the_key_may_see(walls):
    problems, asked = [], 0
    for who in walls.whos:
        hidden = walls.hidden(who)
        for path in operations(walls, "get"):
            if STREAMS.search(path):
                continue
            for _, filled in walls.calls(path):
                lists = [filled] if filled != path or "{" in path else [filled, filled + "?limit=all", filled + "?include_data=true&limit=100"]
                for each in lists:
                    r = ask(who, "GET", each)
                    asked += 1
                    assert r.status_code < 500, (who.name, each, r.text)
                    try:
                        walls.check(who, each, r.text, hidden)
                        for url in links(r.text):
                            walls.check(who, url, requests.get(url, timeout=30).text, hidden)
                    except AssertionError as e:
                        problems.append(str(e))
    assert asked > 2000
    assert not problems, told(problems)
