"""A folder of operators' hooks, and what tests of them share: fixtures for files whose `server` has it as lua_hooks.dir (imported by name)."""
import json
import os
import pathlib
import re
import shutil
import tempfile

import pytest

from wharf import Client, until

HOOKS = "/v1/system/lua-hooks"


class Folder:
    """The hooks of a server: what is written here is loaded when the call returns."""

    def __init__(self, path, server=None):
        self.path, self.server = path, server

    def write(self, files):
        """The folder has these files and no others."""
        for old in self.path.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for name, text in files.items():
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    def load(self, files, good=True):
        self.write(files)
        told = self.system.post(HOOKS + "/reload", {}, expect=200).data
        assert (told["last_error"] is None) == good, told["last_error"]
        return told


def system_of(server, org):
    told = server.command("key", "create", "--org", org.id, "--scopes", "all", "--system")
    return Client(server, re.search(r"wh_live_[0-9A-Za-z]{38}", told).group(0))


@pytest.fixture(scope="module")
def place():
    path = pathlib.Path(tempfile.mkdtemp(prefix="wharf-hooks-", dir=os.environ.get("WHARF_TEST_PLACE")))
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def system(server, org):
    return system_of(server, org)


@pytest.fixture
def hooks(place, server, system):
    f = Folder(place, server)
    f.system = system
    return f


def lines(server, event):
    text = (server.folder / "out").read_text() + ((server.folder / "wharf.log").read_text() if (server.folder / "wharf.log").exists() else "")
    told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [t["message"] for t in told if t.get("event") == event]
