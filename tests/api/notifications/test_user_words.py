"""In which words users are told: spec 07 section 16.2 rule 6."""
import json

import pytest

from push_world import Shop, World
from wharf import MODULES, ROOT

WORDS = json.loads((ROOT / "schemas" / "notifications" / "words" / "push-words.json").read_text())


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("push"), modules=MODULES)
    yield w
    w.close()


@pytest.mark.parametrize("language, told, title, body", [
    ("de", "de", "Kontakt", "Neu"), ("DE-at", "de", "Kontakt", "Neu"), ("pt-BR", "pt", "Contato", "Criação"), ("nl", "nl", "Contact", "Nieuw"), ("en-GB", "en", "Contact created", None),
    ("sv", "en", "Contact created", None), (None, "en", "Contact created", None)])
def test_languages(world, language, told, title, body):
    shop = Shop(world)
    user, (token,) = shop.person(language=language)
    shop.contact()
    row, = shop.ended(user_id=user)
    assert (row["language"], row["title"]) == (told, title) and (row["body"] == body or body is None and row["body"])
    assert world.pushed(token)[0].event["message"]["notification"] == {"title": row["title"], "body": row["body"]}


def test_each_type_has_words_in_each_language(world):
    types = [t["type"] for t in Shop(world).client.get("/v1/events/types").data]
    assert len(types) > 100
    known = {l: {o + "." + c for o in w["objects"] for c in w["changes"]} for l, w in WORDS.items()}
    for language, pairs in known.items():
        assert [t for t in types if t not in pairs and not t.startswith(("notification", "custom.", "filterbench."))] == [], language


def test_all_languages_have_the_same_words():
    for part in ("objects", "changes"):
        assert len({tuple(sorted(w[part])) for w in WORDS.values()}) == 1
        assert all(v and len(v) <= 60 for w in WORDS.values() for v in w[part].values())
