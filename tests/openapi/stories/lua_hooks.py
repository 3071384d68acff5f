"""The operator of the server looks at the hooks that run in it."""
import pathlib
import re

import wharf

SETTINGS = {"lua_hooks.dir": str(pathlib.Path(__file__).resolve().parent / "hooks")}


def tell(w):
    key = re.search(r"wh_live_[0-9A-Za-z]{38}", w.server.command("key", "create", "--org", w.org.id, "--scopes", "all", "--system")).group(0)
    operator = wharf.Client(w.server, key)
    w.call("retrieve_lua_hooks", by=operator)
    w.call("reload_lua_hooks", by=operator)
