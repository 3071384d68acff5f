"""docs/guide/operation.md, pasted into a shell: every command of the page as it stands there, in order. Its folders are folders of the test, its ports free ones."""
import fnmatch
import os
import re
import shutil
import signal
import socket
import subprocess

from test_backup_guide import BLOCK, Machine
from test_guides import told_is
from wharf import ROOT, WAIT

PAGE = ROOT / "docs" / "guide" / "operation.md"


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def fits(page, told):
    """As told_is(), where a line that is … alone may be any number of lines."""
    if "…" not in page.split("\n"):
        return told_is(page, told)
    pattern = re.sub(r"([\[?*])", r"[\1]", page.rstrip("\n")).replace("…", "*")
    return fnmatch.fnmatchcase(told.rstrip("\n"), pattern)


def test_the_page():
    machine = Machine()
    ports = dict(zip(("8080", "9090"), free_ports(2)))

    def here(text):
        text = re.sub(r"(?<![\w/.-])(/var/log/wharf)", lambda m: f"{machine.folder}{m.group()}", machine.here(text))
        return re.sub(r"127\.0\.0\.1:(8080|9090)", lambda m: f"127.0.0.1:{ports[m.group(1)]}", text)
    blocks = []
    for language, _, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        assert language in ("sh", "text"), language
        if language == "sh":
            blocks.append([text, None])
        else:
            blocks[-1][1] = text
    # the end of the server is told in the walk, and stands at the end of the day
    blocks.sort(key=lambda b: "wharf stop" in b[0])
    script = "".join(f"{{\n{here(text)}}} > {machine.folder}/out.{i} 2>&1 || exit 1\necho {i} >> {machine.folder}/done\n" for i, (text, _) in enumerate(blocks))
    env = {k: v for k, v in os.environ.items() if not k.startswith("WHARF_")} | {"PATH": f"{machine.folder}/bin:{os.environ['PATH']}"}
    shell = subprocess.Popen(["bash", "-ec", script], cwd=machine.folder, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        errors = shell.communicate(timeout=WAIT)[0]
        outs = [(machine.folder / f"out.{i}").read_text() if (machine.folder / f"out.{i}").exists() else None for i in range(len(blocks))]
        log = machine.folder / "var/log/wharf/wharf.log"
        assert not errors and shell.returncode == 0 and None not in outs, (errors, outs, log.read_text() if log.exists() else "no log")
        assert len(blocks) >= 8
        wrong = [(text, out, told) for (text, told), out in zip(blocks, outs) if not fits(here(told or "").replace(str(machine.folder), ""), out.replace(str(machine.folder), ""))]
        assert not wrong, "\n".join(f"{text}-- said\n{out}-- the page\n{told}" for text, out, told in wrong)
    finally:
        try:
            os.killpg(shell.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        shutil.rmtree(machine.folder, ignore_errors=True)
