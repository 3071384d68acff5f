"""docs/guide/api, pasted into a shell: every command of every guide is run as it stands there, in a folder of its own with an organization and a key
of its own, and says what the guide says. A block in another language is the file that its first line names."""
import contextlib
import fnmatch
import os
import pathlib
import re
import signal
import subprocess

import pytest

from wharf import ROOT, WAIT, Server

HERE = pathlib.Path(__file__).resolve().parent
GUIDES = [g for g in sorted((ROOT / "docs" / "guide" / "api").glob("*.md")) if "<!-- made by" not in g.read_text(encoding="utf-8")]  # those have no commands
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.S | re.M)


@pytest.fixture(scope="module")
def server():
    """With its limits, as clients meet it; webhooks may be sent to this machine."""
    s = Server("--set", "net.allow=127.0.0.1", "--set", "net.allow_http=true", limits=True)
    yield s
    s.stop()


def told_is(said, told):
    """Whether what was told is what the guide says; … stands for any text of a line."""
    lines, said = told.rstrip("\n").split("\n"), said.rstrip("\n").split("\n")
    return len(lines) == len(said) and all(
        fnmatch.fnmatchcase(line, re.sub(r"([\[?*])", r"[\1]", pattern).replace("…", "*")) for line, pattern in zip(lines, said))


def run(guide, folder, server, key):
    """What each block of commands told: (commands, told, said or None)."""
    commands = []
    for language, name, text in BLOCK.findall(guide.read_text(encoding="utf-8")):
        if language == "sh":
            commands.append([text, None])
        elif language == "text":
            commands[-1][1] = text
        else:
            assert name, f"{guide.name}: a block of {language} names no file"
            (folder / name).write_text(text, encoding="utf-8")
    script = "".join(f"{{\n{text}}} > out.{i} 2>&1\necho {i} >> done\n" for i, (text, _) in enumerate(commands))
    first = guide.stem == "first-request"  # it asks for them
    env = {k: v for k, v in os.environ.items() if not k.startswith("WHARF_")} | ({} if first else {"WHARF_SERVER": server.base, "WHARF_KEY": key})
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, text=True, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        errors = shell.communicate(f"{server.base}\n{key}\n", timeout=WAIT)[1]
    finally:
        with contextlib.suppress(ProcessLookupError):  # what a guide starts and did not come to end
            os.killpg(shell.pid, signal.SIGKILL)
    ran = (folder / "done").read_text().split() if (folder / "done").exists() else []
    outs = [(folder / f"out.{i}").read_text() if (folder / f"out.{i}").exists() else "" for i in range(len(commands))]
    assert not errors and len(ran) == len(commands), (errors, outs)
    return [(text, out, said) for (text, said), out in zip(commands, outs)]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda g: g.stem)
def test_a_guide(guide, server, tmp_path):
    blocks = run(guide, tmp_path, server, server.organization().key())
    assert blocks
    for text, out, said in blocks:
        assert told_is(said or "", out), f"{text}\ntold:\n{out}\nnot:\n{said}"
