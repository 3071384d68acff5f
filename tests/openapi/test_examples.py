"""Each operation of the served description has an example, which is what the server really answers: the stories are told again."""
import pytest

import stories

MODULES = {p.parent.name for p in (stories.ROOT / "modules").glob("*/plugin.json")} | {"kernel", "lua_hooks"}


@pytest.fixture(scope="module")
def server():
    s = stories.server()
    yield s
    s.stop()


@pytest.fixture(scope="module")
def document(server):
    return stories.Document(server)


def unlike(told, kept, at="answer"):
    """Tells where two answers have not the same members and types; null is like anything."""
    if told is None or kept is None:
        return []
    if isinstance(told, dict) and isinstance(kept, dict):
        return [f"{at}.{k}: only one has it" for k in told.keys() ^ kept.keys() if at.rsplit(".", 1)[-1] not in FREE] + \
            [f for k in told.keys() & kept.keys() for f in unlike(told[k], kept[k], f"{at}.{k}")]
    if isinstance(told, list) and isinstance(kept, list):
        return [f for n, (a, b) in enumerate(zip(told, kept)) for f in unlike(a, b, f"{at}.{n}")]
    kinds = [(float if isinstance(v, int) and not isinstance(v, bool) else type(v)) for v in (told, kept)]
    return [] if kinds[0] is kinds[1] else [f"{at}: {told!r} and {kept!r}"]


FREE = ("headers",)  # objects whose members another side chooses


def test_every_module_has_a_story():
    assert set(stories.names()) == MODULES


@pytest.mark.parametrize("name", stories.names())
def test_the_story_is_as_it_was(server, document, name):
    kept, told = stories.kept(stories.file_of(name)), stories.tell(server, name)
    assert told, "it has no example"
    for operation, example in told.items():
        was = kept.get(operation)
        assert was, f"{operation}: no example is kept; run tools/examples.py BUILD --write {name}"
        for part in ("path", "query", "headers", "body"):
            assert was.get(part, {}).keys() == example.get(part, {}).keys() if not isinstance(was.get(part), list) else isinstance(example.get(part), list), (operation, part)
        shown = [[example, *example.get("more", [])], [was, *was.get("more", [])]]
        assert [e["status"] for e in shown[0]] == [e["status"] for e in shown[1]], operation
        for now, before in zip(*shown):
            assert not (faults := unlike(now.get("answer"), before.get("answer"))), (operation, faults)


def test_what_is_kept_is_valid(document):
    for operation, example in stories.all_kept().items():
        assert operation in document.operations, f"there is no {operation}"
        faults = document.faults_of_request(operation, example) + document.faults_of_answer(operation, example)
        assert not faults, (operation, faults)


def test_the_document_shows_them(document):
    for operation, example in stories.all_kept().items():
        said = document.operations[operation][2]
        if "body" in example:
            assert said["requestBody"]["content"]["application/json"]["example"] == example["body"], operation
        for shown in [example, *example.get("more", [])]:
            if isinstance(shown.get("answer"), dict):
                assert document.json_of(document.answer(operation, shown["status"]))["example"] == shown["answer"], operation


def test_an_answer_that_comes_later_has_one(document):
    """Where `Prefer: respond-async` makes another answer of it, that one is shown beside the first."""
    for operation in ("create_shipping_label_inference",):
        shown = {status: document.json_of(document.answer(operation, status))["example"] for status in (201, 202)}
        assert {s: e["status"] for s, e in shown.items()} == {201: 201, 202: 202} and shown[202]["data"]["status"] == "processing"


def test_every_operation_has_one(document):
    missing = sorted(document.operations.keys() - stories.all_kept().keys())
    assert not missing, missing


def test_a_wrong_example_is_seen(document):
    example = stories.kept(stories.file_of("reasons"))["create_reason_code"]
    assert document.faults_of_request("create_reason_code", {**example, "body": {**example["body"], "resources": "parcel"}})
    assert document.faults_of_request("create_reason_code", {k: v for k, v in example.items() if k != "body"})
    assert document.faults_of_request("create_reason_code", {**example, "query": {"nobody": "knows"}})
    assert document.faults_of_request("retrieve_reason_code", {"status": 200})
    assert document.faults_of_answer("create_reason_code", {**example, "answer": {**example["answer"], "data": {}}})
    assert document.faults_of_answer("create_reason_code", {**example, "status": 299})
    assert unlike({"a": [{"b": 1}]}, {"a": [{"b": "1"}]}) and unlike({"a": 1}, {}) and not unlike({"a": 1, "b": None}, {"a": 1.5, "b": "x"})
