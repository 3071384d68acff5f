"""docs/guide/workflows-tutorial.md, pasted into a shell: every command of the document is run as it stands there, and says what the document says."""
import fnmatch
import os
import re
import subprocess

from author import ROOT, WHARF

BLOCK = re.compile(r"```(sh|text)\n(.*?)```\n", re.S)


def said(text):
    return re.sub(r"\s+$", "", text, flags=re.M)


def test_the_tutorial(tmp_path):
    blocks = BLOCK.findall((ROOT / "docs" / "guide" / "workflows-tutorial.md").read_text(encoding="utf-8"))
    place = os.environ.get("WHARF_TEST_PLACE")
    folder = tmp_path
    if place:
        folder = type(tmp_path)(subprocess.run(["mktemp", "-d", f"{place}/wharf-tutorial-XXXXXX"], capture_output=True, text=True, check=True).stdout.strip())
    os.chmod(folder, 0o711)  # PostgreSQL runs as another user
    script, expected = "", {}
    for i, (kind, text) in enumerate(blocks):
        if kind == "sh":
            script += f"{{\n{text}}} > out.{i} 2>&1\necho {i} >> done\n"
            last = i
        else:
            expected[last] = text
    assert WHARF.is_file()  # the tutorial waits for a server
    env = {k: v for k, v in os.environ.items() if k not in ("WHARF_KEY", "WHARF_SERVER")} | {"PATH": f"{WHARF.parent}:{os.environ['PATH']}"}
    try:
        r = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=3000, check=False)  # it promises ten minutes
        told = {i: (folder / f"out.{i}").read_text(encoding="utf-8") for i, (kind, _) in enumerate(blocks) if kind == "sh" and (folder / f"out.{i}").exists()}
        assert not r.stderr and len((folder / "done").read_text().split()) == len(told) == sum(kind == "sh" for kind, _ in blocks), (r.stderr, told)
        for i, text in expected.items():
            pattern = said(text).replace("[", "[[]").replace("?", "[?]").replace("*", "[*]").replace("…", "*")
            assert fnmatch.fnmatchcase(said(told[i]) + ("\n" if pattern.endswith("\n*") else ""), pattern), (told[i], text)
        silent = [i for i in told if i not in expected and told[i]]
        assert not silent, [told[i] for i in silent]
    finally:
        subprocess.run([WHARF, "stop", "--data", "play"], cwd=folder, capture_output=True, timeout=300, check=False)
        subprocess.run(["rm", "-rf", folder], check=False)
