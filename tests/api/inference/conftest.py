"""A server that reads labels, for the files of this folder that need no other one; an organization and a key of it for each test."""
import pytest

from wharf import Server


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", "org,locations,carriers,contacts,shipments,trackers,events,inference", "--set", "rate_limit.key=0")
    yield s
    s.stop()


@pytest.fixture
def org(server):
    return server.organization()


@pytest.fixture
def client(org):
    return org.client()
