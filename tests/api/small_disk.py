"""A disk that is soon full: a file system in memory, which tests may mount where they have the right to."""
import contextlib
import pathlib
import subprocess
import tempfile

import pytest


@contextlib.contextmanager
def small_disk(megabytes=8, more=""):
    place = pathlib.Path(tempfile.mkdtemp(prefix="wharf-disk-"))
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755{more}", "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        place.rmdir()
        pytest.skip("a file system can't be mounted here: " + done.stderr)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        place.rmdir()


def fill(place, spare=0):
    """Takes all room but so many bytes."""
    with contextlib.suppress(OSError), open(place / "filler", "wb", buffering=0) as f:
        while f.write(b"x" * 4096):
            pass
    if spare:
        with open(place / "filler", "r+b") as f:
            f.truncate((place / "filler").stat().st_size - spare)


def make_room(place):
    (place / "filler").unlink()
