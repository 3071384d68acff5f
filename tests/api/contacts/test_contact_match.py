"""The service contacts.match (docs/spec/06-inference.md section 9), through a plugin that does nothing else: tests/plugins/matchbench."""
import base64
import math
import re
from urllib.parse import quote

import pytest

from wharf import BUILD, ROOT, Server, make_location

MATCH = "/v1/matchbench"


@pytest.fixture(scope="module")
def server():
    s = Server("--modules", f"org,locations,contacts,{BUILD}/tests/plugins/matchbench.so")
    yield s
    s.stop()


@pytest.fixture
def client(server):
    return server.organization().client()


def add(client, name, **more):
    return client.post("/v1/contacts", {"name": name, **more}, expect=201).data["id"]


def match(client, **label):
    return client.post(MATCH, label, expect=200).data


def score(client, **label):
    found = match(client, **label)["matches"]
    return found[0]["relevance_score"] if found else 0


def examples():
    """Label, contact, score at AUTO:4,9, score at 0: the table of section 9.4 as it stands in the specification."""
    text = (ROOT / "docs/spec/06-inference.md").read_text()
    rows = re.search(r"\| Label \| Contact \| AUTO:4,9 .*?\n\|[-|]+\n(.*?)\n\n", text, re.S).group(1).splitlines()
    for row in rows:
        cells = [c.strip() for c in row.strip("|").split("|")]
        for at in (0, 5):
            yield cells[at], cells[at + 1], float(cells[at + 2]), float(cells[at + 3])


def test_worked_examples(server):
    seen = 0
    for label, contact, fuzzy, exact in examples():
        client = server.organization().client()
        add(client, contact)
        for flag, expected in ((0, fuzzy), (1, exact)):
            assert score(client, name=label, exact=flag) == pytest.approx(expected, abs=1e-9), (label, contact, flag)
        seen += 1
    assert seen == 18


HOME = "12 Elm Street, Springfield, IL 62701, US"


def test_channels(client):
    """The combinations below the table of section 9.4."""
    jane = add(client, "John Smith", address={"line1": "12 Elm Street", "line2": "Apt 4B", "city": "Springfield", "state": "IL", "postal_code": "62701", "country_code": "US"},
               email="john@smith.example", phone="+12175550123", metadata={"company": "Acme Widgets Inc"})
    assert score(client, name="Smith", address=HOME) == 0.8088
    assert score(client, name="J Smith Apt 4B") == 0.9546
    assert score(client, name="J Smith Apt 9") == 0.8818
    assert score(client, name="J Smith", remembered=[jane]) == 0.9455
    assert score(client, name="Bill Smith", exact=1, phone="(217) 555-0123") == 0.9546
    assert score(client, business="ACME Widgets", address=HOME) == 0.9
    assert score(client, email="John@SMITH.example") == 0.9
    assert score(client, phone="2175550123") == 0.85
    assert score(client, name="Smith", address=HOME, own_address=HOME) == 0.7059, "everybody there shares it"
    assert match(client, name="Nobody Elsewhere")["matches"] == [] and match(client)["matches"] == []


def test_markers_and_what_a_candidate_shows(client):
    place = make_location(client)["id"]
    id = add(client, "William Smith", nickname="Smitty", email="will@smith.example", phone="+12175550123", address=HOME, locations=[place])
    [c] = match(client, name="Bill Smith", email="will@smith.example", phone="217-555-0123", address=HOME, location_id=place)["matches"]
    assert c["match_markers"] == ["email_exact", "phone_exact", "name_nickname", "address_exact", "postal_code", "street_number", "city", "location"]
    assert c["match_marker_points"] == {"email_exact": 40, "phone_exact": 30, "name_nickname": 22, "address_exact": 20, "postal_code": 5, "street_number": 4, "city": 2, "location": 3}
    assert [c["id"], c["name"], c["email"], c["phone"]] == [id, "William Smith", "will@smith.example", "+12175550123"]
    assert c["_search"]["relevance_score"] == c["_search"]["relevance_score_v4"] == c["_search"]["combined"] == c["relevance_score"] and c["_search"]["best"] == 1
    assert c["_search"]["per_field"] == {"name": 0.9773, "address": 1, "phone": 1, "email": 1}
    assert c["_searchV2"]["scores"] == {**c["_search"]["per_field"], "_coverage": 1} and {"field": "phone", "value": "+12175550123"} in c["_searchV2"]["matches"]
    for label, marker in (("William Smith", "name_exact"), ("Smitty", "alternate_name_exact"), ("Smith William", "name_swapped"), ("W Smith", "name_initial"),
                          ("Wiliam Smith", "name_fuzzy"), ("Smith", "name_partial"), ("William Harvey Smith", "name_partial")):
        assert [m for m in match(client, name=label)["matches"][0]["match_markers"] if "name" in m] == [marker], label


def test_titles_ignored_terms_and_businesses(client):
    add(client, "Dr. Otto Maier Jr.")
    [c] = match(client, name="Otto Maier")["matches"]
    assert c["relevance_score"] == 1 and c["relevance_score_v3"] < 1
    found = match(client, name="Mailroom Otto Maier Floor Two", ignore=["mailroom", "Floor Two"])
    assert found["searched_name"] == "otto maier" and found["matches"][0]["relevance_score"] == 1
    found = match(client, name="Otto Maier c/o Acme Ltd")
    assert found["searched_name"] == "otto maier" and found["searched_business"] == "acme"
    add(client, "Acme Widgets Inc")
    assert score(client, business="ACME WIDGETS GmbH") == 0.95, "a business that is a contact's name"
    group = client.post("/v1/groups", {"name": "Northern Lights", "resource": "contact"}, expect=201).data["id"]
    add(client, "Uwe Bloch", groups=[group])
    assert score(client, business="northern lights ltd") == score(client, business="Northern Lights") == 0.8
    assert score(client, name="U Bloch", business="northern lights ltd") == score(client, name="U Bloch", business="Northern Lights") > score(client, name="U Bloch")


def decision(client, **label):
    d = match(client, **label)["decision"]
    return d["best_score"], d["error"], d["contact_id"], d["matches"]


def test_decisions(client):
    smith = add(client, "John Smith")
    assert decision(client, name="John Smith") == ("single_above_threshold", None, smith, 1)
    assert decision(client, name="Smith") == ("below_threshold", "partial_matches", None, 0)
    assert decision(client, name="Jane Goodall") == ("none", "no_matches", None, 0)
    other = add(client, "John Smith")
    assert decision(client, name="John Smith") == ("tied_above_threshold", "multiple_matches", None, 2)
    client.delete(f"/v1/contacts/{other}", expect=200)
    add(client, "Smith John")
    assert decision(client, name="John Smith") == ("tied_within_tolerance", "multiple_matches", None, 2), "1 and 0.98 are exactly the tolerance apart"
    assert decision(client, name="John Smith", tolerance=199) == ("single_above_threshold", None, smith, 2)
    assert decision(client, name="John Smith", threshold=9900) == ("tied_within_tolerance", "multiple_matches", None, 1)
    d = match(client, name="John Smith", phone="2175550123")["decision"]
    assert d["matched_by"] == ["name_exact"] and d["unmatched_by"] == [] and d["reason"]


NEWARK = {"line1": "7 Pier Road", "city": "Newark", "postal_code": "07114", "country_code": "US"}
ELSEWHERE = {"line1": "46 Elm Street", "city": "Boise", "postal_code": "83702", "country_code": "US"}


def test_a_word_that_is_somebodys_name_is_no_misreading(client):
    """Section 9.6, doubt: the one contact above the threshold may be another person."""
    talen = add(client, "Talen Vertahar", address=NEWARK, phone="+12015550143", email="talen@example.com")
    taken, doubted = ("single_above_threshold", None, talen, 1), ("single_in_doubt", "partial_matches", None, 1)
    assert decision(client, name="Kalen Vertahar") == taken
    add(client, "Kalen Brown")
    assert decision(client, name="Kalen Vertahar") == doubted
    reason = match(client, name="Kalen Vertahar")["decision"]["reason"]
    assert reason.startswith("1 contact of ") and reason.endswith(', but "kalen" is a name that other contacts have'), reason
    assert decision(client, name="Xalen Vertahar") == taken, "nobody is called Xalen"
    client.post(f"/v1/contacts/{talen}", {"alternate_names": {"0": "Yalen Brown"}}, expect=200)
    assert decision(client, name="Yalen Vertahar") == taken, "nobody else is called Yalen"
    assert decision(client, name="Talen Vertahar") == taken and decision(client, name="Vertahar Talen") == taken
    for more in ({"address": NEWARK}, {"phone": "201-555-0143"}, {"email": "TALEN@example.com"}, {"remembered": [talen]}):
        assert decision(client, name="Kalen Vertahar", **more) == taken, more


def test_another_address_and_not_quite_the_name(client):
    """Section 9.6, doubt: the score stays, the contact is not chosen."""
    talen = add(client, "Talen Vertahar", address=NEWARK, phone="+12015550143")
    assert decision(client, name="Xalen Vertahar", address=NEWARK)[0] == "single_above_threshold"
    assert decision(client, name="Xalen Vertahar", address=ELSEWHERE) == ("single_in_doubt", "partial_matches", None, 1)
    assert match(client, name="Xalen Vertahar", address=ELSEWHERE)["decision"]["reason"].endswith(", but it has another address and not quite that name")
    assert decision(client, name="Talen Vertahar", address=ELSEWHERE) == ("single_above_threshold", None, talen, 1)
    assert decision(client, name="Xalen Vertahar", address=ELSEWHERE, phone="201-555-0143") == ("single_above_threshold", None, talen, 1)
    assert score(client, name="Xalen Vertahar", address=ELSEWHERE) == score(client, name="Xalen Vertahar")


def test_disagreeing_channels_are_told(client):
    add(client, "John Smith", phone="+12175550123", email="a@b.example", address=HOME)
    d = match(client, name="John Smith", phone="3125550199", email="c@d.example", address="9 Oak Road, Boston, MA 02101, US")["decision"]
    assert d["unmatched_by"] == ["address", "phone", "email"] and d["best_score"] == "single_above_threshold"


def test_orders(client):
    ids = {n: add(client, n, **more) for n, more in (("Maria Novak", {}), ("Maria Nowak", {"email": "m@n.example"}), ("Maria Adler", {}), ("Zelda Novak", {}), ("Maria Weber", {}), ("Otto Weber", {}))}
    names = {v: k for k, v in ids.items()}

    def order(n, **label):
        return [names[c["id"]] for c in match(client, order=n, limit=25, **label)["matches"]]
    assert order(1, name="Maria Novak")[:2] == ["Maria Novak", "Maria Nowak"]
    assert order(0, name="Maria Novak", email="m@n.example")[0] == "Maria Nowak", "points of the e-mail"
    by_relevance = match(client, order=1, limit=25, name="Maria Novak")["matches"]
    assert [(-c["relevance_score"], c["id"]) for c in by_relevance] == sorted((-c["relevance_score"], c["id"]) for c in by_relevance)
    # "novak" is in two of six, "maria" in four: who shares the rarer word ranks higher
    rare, frequent = (math.log(1 + (6 - df + 0.5) / (df + 0.5)) for df in (2, 4))
    assert rare > frequent and order(2, name="Maria Novak").index("Zelda Novak") < order(2, name="Maria Novak").index("Maria Adler")
    assert len(match(client, name="Maria Novak", limit=2)["matches"]) == 2 and match(client, name="Maria Novak", limit=0)["matches"] == []


def test_who_is_chosen_is_among_the_candidates(client):
    chosen, other = add(client, "Maria Novak"), add(client, "M Novak", address=HOME)
    asked = {"name": "Maria Novak", "address": HOME}
    assert [c["id"] for c in match(client, limit=25, **asked)["matches"]] == [other, chosen], "points of the address"
    found = match(client, limit=1, **asked)
    assert found["decision"]["contact_id"] == chosen and [c["id"] for c in found["matches"]] == [chosen]


def test_only_what_the_caller_reaches(server):
    org = server.organization()
    admin = org.client()
    a, b = make_location(admin, "A")["id"], make_location(admin, "B")["id"]
    add(admin, "Lena Here", locations=[a]), add(admin, "Lena There", locations=[b]), add(admin, "Lena Everywhere")
    found = match(org.client(locations=[a]), name="Lena", limit=25)["matches"]
    assert {c["name"] for c in found} == {"Lena Here", "Lena Everywhere"}
    assert len(match(admin, name="Lena", limit=25)["matches"]) == 3


def test_equal_phones_and_emails_are_always_looked_at(server, client):
    """Whatever the names are: by the last nine digits of any phone, and any e-mail in any case (sections 9.4 and 9.7)."""
    other = server.organization().client()
    for c in (client, other):
        add(c, "Paula Main", phone="+48 600 700 800", email="Paula@Main.example")
        add(c, "Ole Other", phone="5550123", alternate_phones={"work": "(217) 555-0188"}, email="o@o.example", alternate_emails={"work": "ole@Work.example"})

    def who(**label):
        return [(c["name"], c["match_markers"]) for c in match(client, **label)["matches"]]
    for phone in ("600700800", "0048600700800", "+1 600 700 800"):
        assert who(phone=phone) == [("Paula Main", ["phone_exact"])], phone
    assert who(phone="2175550188") == who(phone="+49 17 5550188") == [("Ole Other", ["phone_exact"])] and who(phone="555-0123") == [("Ole Other", ["phone_exact"])]
    assert who(phone="00700800") == who(phone="700800") == who(phone="+1 555 0123") == [], "the end of fewer digits is another number"
    assert who(email="PAULA@main.EXAMPLE") == [("Paula Main", ["email_exact"])] and who(email="ole@work.example") == [("Ole Other", ["email_exact"])]
    assert who(email="main.example") == who(email="aula@main.example") == []
    paula = match(client, phone="600700800")["matches"][0]["id"]
    client.post(f"/v1/contacts/{paula}", {"phone": "+48600700801", "email": None}, expect=200)
    assert who(phone="600700800") == [] and who(email="paula@main.example") == [] and who(phone="600700801") == [("Paula Main", ["phone_exact"])]
    client.delete(f"/v1/contacts/{paula}", expect=200)
    assert who(phone="600700801") == []


@pytest.mark.parametrize("label, frequent, rare", [("Jhon", "John", "Jhin"), ("Jhon van der Berg", "John van der Berg", "Jhin van der Berg")])
def test_of_equal_weight_the_rarer_word_is_looked_at(client, label, frequent, rare):
    """Two hundred names are scored: section 9.7. The points of its location show which one was among them."""
    place = make_location(client)["id"]
    text = "Name\n" + f"{frequent}\n" * 220
    client.post("/v1/contacts", {"csv_url": "data:text/csv;base64," + base64.b64encode(text.encode()).decode()}, expect=200)
    add(client, rare, locations=[place])
    assert match(client, name=label, location_id=place)["matches"][0]["name"] == rare


def test_pages_of_what_was_found_are_those_of_all_of_it(fresh):
    """The page looks at the best of what the search found; a list that counts looks at all. Also where the best are gone, or not for the caller."""
    client = fresh.client()
    place = make_location(client)["id"]
    other = make_location(client)["id"]
    made = [client.post("/v1/contacts", {"name": f"Marlene {'Dietrich' if i < 30 else 'Dietz' if i % 2 else 'Meyer'}", "locations": [place if i < 30 else other]}, expect=201).data["id"]
            for i in range(70)]
    for id in made[:3]:
        client.delete(f"/v1/contacts/{id}")
    for asks in (client, fresh.client(locations=[other])):
        for limit, pages in ((2, 30), (7, 3)):
            for page in range(1, pages + 1):
                query = f"/v1/contacts?search=marlene+dietrich&order_by=_relevance&limit={limit}&page={page}"
                some, all = asks.get(query), asks.get(query + "&include_total_count=true")
                assert some.data == all.data and some.pagination["has_more"] == all.pagination["has_more"], (limit, page)
    assert len(client.get("/v1/contacts?search=marlene+dietrich&limit=100").data) == 67 and len(asks.get("/v1/contacts?search=marlene+dietrich&limit=100").data) == 40


# ---- more of them than are looked at ----

# Statements after which the planner reaches the same rows by other ways.
LEARNED = ("ANALYZE contacts.contact", "DELETE FROM pg_statistic WHERE starelid = 'contacts.contact'::regclass",
           "UPDATE pg_class SET reltuples = 1000000, relpages = 10000 WHERE oid = 'contacts.contact'::regclass", "UPDATE pg_class SET reltuples = 10, relpages = 1 WHERE oid = 'contacts.contact'::regclass")


@pytest.mark.parametrize("by", [{"email": "office@shared.test"}, {"phone": "+12015550123"}, {"address": HOME}, {"business": "Northern Lights"}])
def test_the_same_ones_of_very_many_are_looked_at(server, client, by):
    """150 contacts are reached by the same e-mail, phone, address or business, more than are compared: the same label finds the same ones, whatever the planner does."""
    for i in range(150):
        add(client, f"Person{chr(97 + i % 26)}{chr(97 + i // 26)} Nobody", email="office@shared.test", phone="+12015550123", address=HOME, metadata={"business": "Northern Lights"})
    server.sql("UPDATE contacts.contact SET version = version WHERE id IN (SELECT id FROM contacts.contact ORDER BY md5(id) LIMIT 75)")
    found = []
    for statement in LEARNED:
        server.sql(statement)
        found.append([m["id"] for m in match(client, name="Zzyx Qwrv", **by)["matches"]])
    assert found[0] and found[0] == found[1] == found[2] == found[3], by


# ---- businesses ----

FORMS = [("Acme Widgets, Inc.", "ACME WIDGETS"), ("Acme Widgets LLC", "acme widgets gmbh"), ("Société Générale S.A.", "SOCIETE GENERALE"), ("Müller Söhne GmbH & Co. KG", "Muller Sohne"), ("Bakker B.V.", "BAKKER BV"),
         ("株式会社ヤマト", "ヤマト"), ("Rossi S.r.l.", "ROSSI SRL"), ("Volvo AB", "volvo"), ("Nokia Oyj", "Nokia Oy"), ("Example Pty Ltd", "Example Pty. Limited"), ("O'Neill Ltd.", "ONEILL"),
         ("ООО «Ромашка»", "ооо ромашка"), ("Firma Sp. z o.o.", "FIRMA"), ("Cemex, S.A. de C.V.", "Cemex"), ("S.C. Dacia S.R.L.", "Dacia"), ("Łódź Fabryczna S.A.", "LODZ FABRYCZNA"), ("Acme GmbH Logistics", "Acme Logistics")]


@pytest.mark.parametrize("kept, asked", FORMS)
@pytest.mark.parametrize("place", ["business", "company", "group"])
def test_a_business_is_matched_without_case_accents_and_legal_forms(client, place, kept, asked):
    """Contacts are found by it, whichever side has the form (sections 9.2 and 9.7), and score as if it were written the same."""
    for stored, label in ((kept, asked), (asked, kept)):
        more = {"groups": [client.post("/v1/groups", {"name": stored, "resource": "contact"}, expect=201).data["id"]]} if place == "group" else {"metadata": {place: stored}}
        id = add(client, "Quirin Zabel", **more)
        add(client, "Other Person", metadata={"business": "Unrelated Trading"})
        [c] = match(client, business=label)["matches"]
        assert (c["id"], c["relevance_score"], c["match_markers"]) == (id, 0.8, ["business_exact"]), (stored, label)
        assert match(client, name=f"Quirin Zabel c/o {label}")["matches"][0]["_search"]["per_field"]["business"] == 1
        client.delete(f"/v1/contacts/{id}")


def test_a_legal_form_alone_is_no_business(client):
    """Two firms that share nothing but their form are two firms; initials are no form."""
    for name in ("ООО Ромашка", "SIA Rimi Latvia", "PT Astra International Tbk", "A-B-C Company", "Visa"):
        add(client, "Person " + chr(97 + len(name)), metadata={"business": name})
    for label in ("ООО Василёк", "SIA Maxima", "PT Telkom Indonesia Tbk", "X Y Z Company", "Vi S.A.", "Company", "Ltd", "S.A."):
        assert all(c["_search"]["per_field"].get("business", 0) < 0.6 for c in match(client, business=label)["matches"]), label
    assert match(client, business="A B C Ltd")["matches"][0]["_search"]["per_field"]["business"] == 1


# ---- what the search endpoint shows of section 9 ----

def found(client, text):
    return {c["name"]: c for c in client.get("/v1/contacts?limit=10&search=" + quote(text)).data}


@pytest.mark.parametrize("label, contact, fuzzy", [(e[0], e[1], e[2]) for e in examples()])
def test_the_search_endpoint_shows_the_scores_of_the_table(client, label, contact, fuzzy):
    add(client, contact)
    row = found(client, label)[contact]
    assert row["relevance_score"] == row["_search"]["relevance_score"] == row["_search"]["relevance_score_v4"] == fuzzy


def test_the_search_endpoint_shows_channels_alone(client):
    add(client, "Petra Novak", email="desk7@quist.example", phone="+12175550123")
    assert found(client, "Desk7@QUIST.example")["Petra Novak"]["relevance_score"] == 0.9
    assert found(client, "(217) 555-0123")["Petra Novak"]["relevance_score"] == 0.85


# Inner names and initials, and pairs on which implementations of Jaro-Winkler differ (half of three letters in another order is 1.5): reckoned by hand.
@pytest.mark.parametrize("label, contact, score", [
    ("John M Smith", "John Michael Smith", 0.9725), ("J. Michael Smith", "John Michael Smith", 0.9216), ("John Michael Smith", "John Paul Smith", 0.8627), ("M Smith", "John Michael Smith", 0.7085),
    ("John Mike Smith", "John Michael Smith", 0.9931), ("Smith, John M.", "John Michael Smith", 0.9725)])
def test_inner_names_and_initials(client, label, contact, score):
    add(client, contact)
    assert found(client, label)[contact]["relevance_score"] == score
