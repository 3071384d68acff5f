"""One server and one print shop for the files of this folder."""
import contextlib
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "api"), str(HERE.parent / "draw")]


def pytest_addoption(parser):
    with contextlib.suppress(ValueError):  # another folder of the same run has said it
        parser.addoption("--long", action="store_true", help="the long form: each kill 20 times")


@pytest.fixture(scope="session")
def bus():
    from rig import Bus
    b = Bus()
    yield b
    b.stop()
