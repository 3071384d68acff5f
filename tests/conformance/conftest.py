"""A server with every module that is there, and with the test plugin that has one field of each type."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

from wharf import BUILD, Server  # noqa: E402


@pytest.fixture(scope="session")
def server():
    s = Server("--modules", f"org,locations,stations,logs,support,events,webhooks,{BUILD}/tests/plugins/filterbench.so")
    yield s
    s.stop()
