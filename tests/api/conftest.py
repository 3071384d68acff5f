"""One server for the session; organizations of their own for each test file and, where wanted, each test."""
import pytest

from wharf import MODULES, Server, make_location


@pytest.fixture(scope="session")
def server():
    s = Server("--modules", MODULES)
    yield s
    s.stop()


@pytest.fixture(scope="module")
def org(server):
    """An organization that the tests of one file share."""
    return server.organization()


@pytest.fixture(scope="module")
def client(org):
    return org.client()


@pytest.fixture(scope="module")
def location(client):
    return make_location(client)


@pytest.fixture
def fresh(server):
    """An organization for one test."""
    return server.organization()
