"""Rules that hold when several clients act at once: one server, an organization for each test."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from wharf import MODULES, Server  # noqa: E402


@pytest.fixture(scope="session")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture
def fresh(server):
    return server.organization()
