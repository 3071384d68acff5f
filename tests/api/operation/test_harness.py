"""Servers that tests start (wharf.py): one that can't be used is ended by who started it, or the next tests find no memory."""
import os
import re

import pytest

from wharf import Server

# Ready at once, with nothing in the file that says where it listens.
USELESS = """#!/bin/bash
while [ $# -gt 0 ]; do
    [ "$1" = --ready ] && echo {} > "$2"
    shift
done
echo "pid $$"
exec sleep 600
"""


def test_a_server_that_can_not_be_used_is_ended(tmp_path, monkeypatch):
    program = tmp_path / "useless"
    program.write_text(USELESS)
    program.chmod(0o755)
    monkeypatch.delenv("WHARF_TEST_PLACE", raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(KeyError):
        Server(program=program, folder=folder)
    pid = int(re.search(r"pid (\d+)", (folder / "out").read_text())[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_ends_at_once_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="the server did not start(.|\n)*no_such_setting"):
        Server("--set", "no_such_setting=1", folder=tmp_path)
