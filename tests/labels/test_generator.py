"""The generator of labels: the same seed gives the same bytes, and what it calls true is so, by a second reading of the specification and by the image cell."""
import collections
import datetime
import hashlib
import json
import pathlib
import re
import subprocess

import pytest

import label_numbers as numbers
import label_people as people
import label_set

CODES = 1


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A label of each print at least, as they were drawn."""
    folder = tmp_path_factory.mktemp("labels")
    return folder, label_set.make("test", sum(row["times"] for row in label_set.PRINTS), folder, wears=("clean",))


def digests(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    label_set.make("7", 6, first)
    label_set.make("7", 6, again)
    label_set.make("8", 3, other)
    assert digests(first) == digests(again) and len(digests(first)) == 7
    assert not set(digests(first).values()) & set(digests(other).values())
    assert {e["wear"] for e in map(json.loads, (first / "truth.jsonl").read_text().splitlines())} == set(label_set.WEARS)


def test_a_set_is_the_same_in_parts_and_by_several_processes(tmp_path, monkeypatch):
    label_set.make("7", 6, tmp_path / "one")
    monkeypatch.setattr(label_set, "BATCH", 4)
    label_set.make("7", 6, tmp_path / "two", jobs=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


@pytest.mark.parametrize("number, told", [("1Z58F2A70378657975", ("ups_1z", "ups")), ("9622042935575918362361078852611491", ("fedex_ground_gsn", "fedex")), ("RR733191240GB", ("s10", "royal_mail")),
                                          ("420100019400111212345678901238", None), ("4201000194001121" "38004567891237", None), ("1Z58F2A70378657976", None), ("00340434161094042557", ("dhl_paket_20", "dhl"))])
def test_whose_a_number_is(number, told):
    """Numbers of the specification and of public pages, and some with a wrong digit."""
    assert next(iter(numbers.detect(number)), (None, None, None))[:2] == (told or (None, None))


def test_a_number_of_each_format_passes_its_check(made):
    """Every format of the data has its label; its number is of the format, and no other check digit would do."""
    _, entries = made
    seen = collections.Counter(e["format"] for e in entries)
    assert set(seen) == {f["id"] for f in numbers.FORMATS} | {None}
    for e in entries:
        told = e["truth"]["tracking_number"]
        if not e["format"]:
            assert told is None and e["truth"]["provider_id"] is None
            continue
        codes = [c["value"] for c in e["codes"] if c["purpose"] == "tracking"]
        found = [f for f in numbers.FORMATS if f["id"] == e["format"]]
        assert any(numbers.fits(f, c) == told for f in found for c in codes) or e["layout"] == "dpd" and numbers.fits(found[0], told) == told, e
        assert e["truth"]["provider_id"] in [p for c in (*codes, told) for _, p, _ in numbers.detect(c)], e
    checks = {f["id"]: f["check"] for f in numbers.FORMATS if "check" in f}
    for name, check in checks.items():
        number = numbers.number_of(label_set.random.Random(name), next(f for f in numbers.FORMATS if f["id"] == name))
        at = check["pos"] % len(number)
        others = [number[:at] + c + number[at + 1:] for c in "0123456789" if c != number[at]]
        assert not any(numbers.fits(f, n) for f in numbers.FORMATS if f["id"] == name and name != "usps_legacy" for n in others), name


def test_nothing_on_a_label_of_no_carrier_is_a_tracking_number(made):
    _, entries = made
    for e in entries:
        if not e["format"]:
            assert not [c for c in e["codes"] if numbers.detect(c["value"])] and not [v for v in e["truth"].values() if isinstance(v, str) and numbers.detect(v)], e


def test_other_barcodes_are_of_no_other_carrier(made):
    """But for SSCC: with 00 in front each passes the check of a number of USPS, and only what is said of it tells."""
    _, entries = made
    for e in entries:
        others = [c for c in e["codes"] if c["purpose"] in ("reference", "sscc")]
        for c in others:
            told = numbers.detect(c["value"])
            assert not told or c["purpose"] == "sscc" and told[0][0] == "usps_20" or told[0][0] == "dhl_licence_plate" and e["truth"]["provider_id"] == "dhl", (e["file"], c)


def test_postal_codes_are_those_of_the_city_and_each_party_is_printed(made):
    _, entries = made
    for e in entries:
        for party in (e["truth"]["recipient"], e["truth"]["sender"]):
            if not party:
                assert e["layout"] == "receipt"
                continue
            a = party["address"]
            cities = [c.split("|") for c in people.PLACES[a["country_code"]]["cities"]]
            assert any((c.upper(), s.upper()) == (a["city"].upper(), (a["state_code"] or "").upper()) and (a["postal_code"] or "")[:len(p)] == p.replace("_", " ")
                       for c, s, codes in cities for p in codes.split(" ")), a
            assert party["name"] or party["business"]


def test_forty_clean_labels_are_read(made):
    """By the image cell: every tracking barcode, and nothing that is not on the label."""
    folder, entries = made
    some = entries[:40]
    build = label_set.build_folder()
    told = subprocess.run([build / "tests/cell/image-once", build / "cells", str(CODES), "100000", "0", *(folder / e["file"] for e in some)], capture_output=True, text=True, check=True).stdout
    for e, said in zip(some, map(json.loads, told.splitlines()), strict=True):
        read = {c["value"].replace("\x1d", "") for c in said["codes"]}
        assert {c["value"] for c in e["codes"] if c["purpose"] == "tracking"} <= read, (e["file"], e["format"], read)
        linear = {c["value"].replace("\x1d", "") for c in said["codes"] if c["symbology"] in ("code128", "gs1_128", "code39")}
        assert linear <= {c["value"] for c in e["codes"]}, (e["file"], linear)


def test_the_day_is_the_one_that_was_asked_for(tmp_path):
    entries = label_set.make("3", 12, tmp_path, wears=("clean",), day=datetime.date(2031, 5, 9))
    days = [e["truth"]["ship_date"] for e in entries if e["truth"]["ship_date"]]
    assert days and all("2031-03-10" <= d <= "2031-05-09" for d in days)


def test_names_of_the_truth_are_those_of_the_specification(made):
    """Section 3 of the page on inference has each member."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "spec" / "06-inference.md").read_text()
    table = page[page.index("## 3. Resource"):page.index("### 3.1")]
    words = set(re.findall(r"\w+", table))
    for e in made[1][:1]:
        assert set(e["truth"]) <= words
