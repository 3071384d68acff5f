"""How changes of the folder of operators' hooks are found (spec 08 section 9): what is watched, looking when nothing can be watched, and what of a folder counts."""
import os
import pathlib
import shutil
import tempfile
import time

import pytest

from hook_folder import HOOKS, hooks, place, system, until  # noqa: F401  (fixtures among them)
from wharf import BUILD, WAIT, Server

NAMES = """wharf.hook.before('contact', 'create', function(c) c.input.name = %s end)"""


@pytest.fixture(scope="module")
def server(place):
    s = Server("--modules", "org,locations,contacts", "--set", f"lua_hooks.dir={place}", "--set", "workers=2")
    yield s
    s.stop()


def named(client):
    return client.post("/v1/contacts", {"name": "x"}, expect=201).data["name"]


def watched(pid):
    """Inodes that a process has inotify watches for."""
    told = set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            told |= {int(line.split("ino:")[1].split()[0], 16) for line in info.read_text().splitlines() if line.startswith("inotify")}
        except FileNotFoundError:
            pass
    return told


def workers(server):
    return [*server.workers("web"), *server.workers("job")]


def watch(server, *folders):
    until(lambda: all({f.stat().st_ino for f in folders} <= watched(pid) for pid in workers(server)), "a folder is not watched")


def test_folders_are_watched(hooks, client, server):
    """Sub-folders too, those that are made later, and the folder that took the place of another one."""
    hooks.load({"10-a.lua": NAMES % "require('lib.name')", "lib/name.lua": "return 'first'"})
    lib = hooks.path / "lib"
    watch(server, hooks.path, lib)
    (lib / "name.lua").write_text("return 'second'")
    until(lambda: named(client) == "second", "a change in a sub-folder was not noticed")
    (lib / "deep").mkdir()
    watch(server, lib / "deep")
    (lib / "deep" / "name.lua").write_text("return 'third'")
    (lib / "name.lua").write_text("return require('lib.deep.name')")
    until(lambda: named(client) == "third", "a change in a new sub-folder was not noticed")
    (lib / "deep" / "name.lua").write_text("return 'fourth'")
    until(lambda: named(client) == "fourth", "nor a later one")
    assert all((hooks.path / "_off").stat().st_ino not in watched(pid) for pid in workers(server) if (hooks.path / "_off").exists())


def test_ways_to_put_a_file_there(hooks, client, server):
    """Renamed into place, behind a link that is made anew, and with the folder away in between."""
    hooks.load({"10-a.lua": NAMES % "'first'"})
    (hooks.path / ".10-a.lua.new").write_text(NAMES % "'renamed'")
    os.rename(hooks.path / ".10-a.lua.new", hooks.path / "10-a.lua")
    until(lambda: named(client) == "renamed", "a renamed file was not noticed")
    for n in (1, 2):  # as sets of files are mounted in containers
        (hooks.path / f"..{n}").mkdir()
        (hooks.path / f"..{n}" / "10-a.lua").write_text(NAMES % f"'linked {n}'")
        os.symlink(f"..{n}", hooks.path / "..new")
        os.rename(hooks.path / "..new", hooks.path / "..data")
        if n == 1:
            (hooks.path / "10-a.lua").unlink()
            os.symlink("..data/10-a.lua", hooks.path / "10-a.lua")
        until(lambda: named(client) == f"linked {n}", "a link was not followed")
    aside = hooks.path.with_name(hooks.path.name + "-aside")
    os.rename(hooks.path, aside)
    until(lambda: named(client) == "x", "that the folder is gone was not noticed")
    hooks.path.mkdir()
    (hooks.path / "10-a.lua").write_text(NAMES % "'made anew'")
    until(lambda: named(client) == "made anew", "a folder that was made anew was not noticed")
    watch(server, hooks.path)
    shutil.rmtree(aside)


def test_what_does_not_count(hooks, client):
    """Names that begin with . or _, what editors leave beside a file, tests, and what is no file."""
    bad = "error('loaded')"
    told = hooks.load({"10-a.lua": NAMES % "'good'", ".10-a.lua": bad, "_10-a.lua": bad, "10-a.lua~": bad, "#10-a.lua#": bad, ".10-a.lua.swp": bad, "10-a.lua.bak": bad, "10-a_test.lua": bad,
                       "_lib/a.lua": "x = = 1", ".git/a.lua": "x = = 1", "my lib/a.lua": "x = = 1", "readme.txt": bad})
    assert [f["name"] for f in told["files"]] == ["10-a.lua"] and named(client) == "good"
    (hooks.path / "20-b.lua").mkdir()
    os.mkfifo(hooks.path / "30-c.lua")
    os.symlink("nowhere.lua", hooks.path / "40-d.lua")
    told = hooks.system.post(HOOKS + "/reload", {}, expect=200).data
    assert told["last_error"] is None and [f["name"] for f in told["files"]] == ["10-a.lua"]


def test_order_of_names(hooks, client):
    """Byte by byte: capitals first, and 100 before 20."""
    one = "wharf.hook.before('contact', 'create', function(c) c.input.name = c.input.name .. '%s' end)"
    told = hooks.load({f"{n}.lua": one % f" {n}" for n in ("20", "100", "b", "A", "a-", "a_", "B")})
    assert [f["name"] for f in told["files"]] == [f"{n}.lua" for n in ("100", "20", "A", "B", "a-", "a_", "b")]
    assert named(client) == "x 100 20 A B a- a_ b"


def test_nothing_can_be_watched():
    """The server's user has no watcher left: the folder is looked at."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-hooks-", dir=os.environ.get("WHARF_TEST_PLACE")))
    os.chmod(folder, 0o755)
    (folder / "10-a.lua").write_text(NAMES % "'first'")
    s = Server("--modules", "org,locations,contacts", "--set", f"lua_hooks.dir={folder}", "--set", "workers=2", env={"LD_PRELOAD": str(BUILD / "tests" / "unwatched.preload")})
    try:
        client = s.organization().client()
        assert named(client) == "first"
        for text in ("second", "third"):
            (folder / "10-a.lua").write_text(NAMES % f"'{text}'")
            until(lambda: named(client) == text, "a change was not noticed")
        assert not any(watched(pid) for pid in workers(s))
    finally:
        s.stop()
        shutil.rmtree(folder)


def test_a_fault_is_told_until_it_is_mended(hooks, client):
    """What is told of a fault goes when the folder is as it was, and when it has something else that is good."""
    for mended in ("'good'", "'better'"):
        hooks.load({"10-a.lua": NAMES % "'good'", "20-b.lua": ""})
        (hooks.path / "20-b.lua").write_text("\n\nx = = 1")
        until(lambda: hooks.system.get(HOOKS).data["last_error"], "the fault was not told")
        assert hooks.system.get(HOOKS).data["last_error"]["line"] == 3 and named(client) == "good"
        (hooks.path / "10-a.lua").write_text(NAMES % mended)  # with the fault still there nothing is taken
        (hooks.path / "20-b.lua").write_text("")
        until(lambda: hooks.system.get(HOOKS).data["last_error"] is None, "the fault is still told")
        until(lambda: named(client) == mended.strip("'"), "what is good was not taken")


def test_files_of_one_moment_are_one_generation(hooks, client):
    """They are taken when nothing changed for 300 ms. (Where the machine paused for longer while they were written, it is done again.)"""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        before = hooks.load({"10-a.lua": NAMES % "'before'"})["generation"]
        latest, longest = time.monotonic(), 0
        for n in range(8):
            (hooks.path / "10-a.lua").write_text(NAMES % f"'{n}'")
            time.sleep(0.06)
            longest, latest = max(longest, time.monotonic() - latest), time.monotonic()
        until(lambda: named(client) == "7", "the last one was not taken")
        if longest < 0.2:
            assert hooks.system.get(HOOKS).data["generation"] == before + 1
            return
    raise AssertionError("the machine is too busy to write files at a steady pace")
