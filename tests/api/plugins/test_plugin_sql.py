"""SQL of plugins (plugin-api/wharf/plugin.h, wharf_db_api): what is done later is done in its order, once, and its failure is told."""
import pytest

from wharf import BUILD, Server


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,{BUILD}/tests/plugins/sqlbench.so")
    yield s
    s.stop()


@pytest.fixture
def client(server):
    return server.organization().client()


def steps(client, *list, expect=200):
    r = client.post("/v1/sqlbench", {"steps": [[s] if isinstance(s, str) else s for s in list]}, expect=expect)
    return r.data["told"] if expect == 200 else r.code


def there(client):
    return steps(client, "query")[0]


def test_what_is_done_later_is_seen_by_what_comes_next(client):
    assert steps(client, ["later", 3], ["exec", 1], ["later", 2], "query") == ["ok", "ok", "ok", [3, 1, 2]]
    assert there(client) == [3, 1, 2]


def test_the_last_one_goes_with_the_commit(client):
    assert steps(client, ["later", 1], ["later", 2]) == ["ok", "ok"]
    assert there(client) == [1, 2]


def test_its_failure_is_that_of_the_next_one(client):
    steps(client, ["exec", 1])
    # the transaction is over then, whatever the plugin makes of it
    assert steps(client, ["exec", 5], ["later", 1], ["exec", 6], "query", expect=500) == "internal"
    assert there(client) == [1]


@pytest.mark.parametrize("bad", [1, 0])
def test_its_failure_is_that_of_the_commit(client, bad):
    steps(client, ["exec", 1])
    assert steps(client, ["exec", 5], ["later", bad], expect=500) == "internal"
    assert there(client) == [1]


def test_a_failure_ends_with_the_savepoint(client):
    assert steps(client, ["later", 1], "begin", ["later", 2], ["later", 0], ["exec", 3], "rollback", ["later", 4], "query") == [
        "ok", "ok", "ok", "ok", "refused", "ok", "ok", [1, 4]]
    assert there(client) == [1, 4]


def test_a_savepoint_takes_back_what_was_not_sent_yet(client):
    assert steps(client, ["later", 1], "begin", ["later", 2], "rollback", ["later", 3], "query") == ["ok", "ok", "ok", "ok", "ok", [1, 3]]
    assert steps(client, ["later", 4], "begin", ["later", 5], "commit", ["later", 6]) == ["ok", "ok", "ok", "ok", "ok"]
    assert there(client) == [1, 3, 4, 5, 6]
    # a failure inside of one is told by its end, and whoever called for it is in the transaction around it then, which is over
    assert steps(client, ["later", 7], "begin", ["later", 1], "commit", expect=500) == "internal"
    assert steps(client, ["later", 7], "begin", ["later", 1], "commit", "rollback") == ["ok", "ok", "ok", "refused", "ok"]
    assert there(client) == [1, 3, 4, 5, 6]


def test_a_rollback_of_all_sends_nothing(client):
    assert steps(client, "begin", ["later", 1], "rollback", "query") == ["ok", "ok", "ok", []]
    assert there(client) == []


def test_organizations_stay_apart(server, client):
    other = server.organization().client()
    assert steps(client, ["later", 1]) == ["ok"] and steps(other, ["later", 1], ["later", 2]) == ["ok", "ok"]
    assert (there(client), there(other)) == ([1], [1, 2])


def test_many_and_long_ones(client):
    """More than the buffers of a socket hold."""
    n = 20000
    assert steps(client, *[["later", i + 1] for i in range(n)], "query")[-1] == list(range(1, n + 1))
