"""Every setting is in the mode of everything.py, or left out of it with a reason: who adds a setting decides which. And the servers of the mode are so."""
import json
import subprocess

import pytest

import everything
from hook_folder import HOOKS, lines, until
from wharf import PROGRAM, ROOT, WAIT, Client, Server


def settings():
    """What `wharf help settings` names; tables in the table of a module count as one."""
    printed = subprocess.run([PROGRAM, "help", "settings", "--json"], capture_output=True, text=True, timeout=WAIT, check=True).stdout
    modules = {json.loads(file.read_text())["name"] for file in (ROOT / "modules").glob("*/plugin.json")}
    keys = [said["key"] for said in json.loads(printed)]
    return list(dict.fromkeys(".".join(key.split(".")[:2]) if key.split(".")[0] in modules else key for key in keys))


def test_every_setting_is_decided():
    known, left = settings(), [key for keys in everything.LEFT_OUT.values() for key in keys]
    on = [key for key in everything.SETTINGS if not key.startswith("hook_secrets.")] + everything.OTHERS
    assert len(known) >= 100 and len(set(known)) == len(known)
    assert sorted(set(known) - set(on) - set(left)) == [], "switch these on in everything.py, or say there why not"
    assert sorted((set(on) | set(left)) - set(known)) == [], "there are no such settings any more"
    assert len(set(on + left)) == len(on + left), "decided twice"


def test_what_a_test_says_wins(tmp_path):
    def keys(*args, limits=False):
        given = everything.arguments(args, tmp_path, ROOT / "schemas", limits, tmp_path)
        assert set(given[::2]) == {"--set"}
        return {a.split("=", 1)[0] for a in given[1::2]}

    try:
        every = keys()
        assert every == set(everything.SETTINGS) | set(everything.OTHERS)
        assert every - keys("--set", "log.level=info") == every - keys("--set=log.level=info") == {"log.level"}
        assert every - keys("--set", "tls.certificate=") == {"tls.certificate", "tls.key"}
        assert every - keys("--set", "blob.dir=/x") == {key for key in every if key.startswith("blob.")}
        assert every - keys("--set", "mail.url=") == {key for key in every if key.startswith("mail.")}
        assert every - keys(limits=True) == {key for key in every if key.startswith("rate_limit.")}
    finally:
        everything.forget(tmp_path)


@pytest.mark.skipif(not everything.ON, reason="is about servers with the settings of everything.py")
def test_a_server_has_it_all():
    """What the settings add was done: TLS, gzip both ways, limits, hooks of all kinds, files on S3, all logs."""
    s = Server("--modules", "org,locations,contacts,events,batches,exports,logs,carriers,shipments")
    try:
        client = s.organization().client()
        assert s.base.startswith("https://")
        made = client.post("/v1/contacts", {"name": "A", "email": "a@example.com", "notes": "x" * 2000}, expect=201)
        assert made.headers["Content-Encoding"] == "gzip" and made.headers["RateLimit"]
        assert made.raw.request.headers["Content-Encoding"] == "gzip" and made.data["notes"] == "x" * 2000
        assert client.get("/v1/x/everything/here").data == {"name": "here"}
        until(lambda: any(m.endswith(": seen contact.created with [secret:EVERYTHING]") for m in lines(s, "lua.log")), "the event's hook")
        hooks = Client(s, s.demo_key).get(HOOKS).data["hooks"]
        assert {h["phase"] for h in hooks if h["calls"]} >= {"before", "after", "request", "response", "event", "route"} and not [h for h in hooks if h["errors"]], hooks
        client.post("/v1/exports", {"resource": "contact", "options": {}}, expect=201)
        until(lambda: everything.stores[s.folder].objects, "the files of an export")
        assert "/v1/x/everything/" in (s.folder / "access.log").read_text()
    finally:
        s.stop()
