"""Carriers: whose number is this (spec 03 sections 8 to 11). The check digits are computed here a second time, from the specification."""
import itertools
import json
import random
import re

import pytest

from receivers import until
from wharf import BUILD, ROOT, Server

DETECT = "/v1/utils/providers/detect"
random.seed(7)


# ---- check digits, written from spec 03 section 9.2 ----

def value(c):
    return int(c) if c.isdigit() else (ord(c) - 3) % 10


def mod10(e, o):
    return lambda s: str((10 - sum(value(c) * (o if i % 2 else e) for i, c in enumerate(s)) % 10) % 10)


def luhn(s):
    total = 0
    for i, c in enumerate(reversed(s)):
        d = int(c) * (2 if i % 2 == 0 else 1)
        total += d - 9 if d > 9 else d
    return str((10 - total % 10) % 10)


def mod7(s):
    return str(int(s) % 7)


def w11(weights):
    return lambda s: str(sum(int(c) * w for c, w in zip(s, weights)) % 11 % 10)


W12, W13 = w11([3, 1, 7] * 3 + [3, 1]), w11([1, 7, 3] * 4 + [1])


def s10(s):
    r = 11 - sum(int(c) * w for c, w in zip(s, [8, 6, 4, 2, 3, 5, 9, 7])) % 11
    return {10: "0", 11: "5"}.get(r, str(r))


def mod37_36(s):
    c = 36
    for ch in s:
        c += int(ch, 36)
        c = c - 36 if c > 36 else c
        c *= 2
        c = c - 37 if c > 36 else c
    c = 37 - c
    c = 0 if c == 36 else c
    return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[c]


def test_the_worked_examples_of_the_specification():
    assert mod10(1, 2)("58F2A7037865797") == "5" and W12("71637265167") == "6" and s10("73319124") == "0"
    assert mod7("547106724") == "3" and mod10(3, 1)("940011141213622446431") == "1" and mod37_36("09981122334455") == "6"


# ---- numbers of every format: template (9 a digit, X letter or digit), how the serial is cut, where the check stands ----

def digits(n):
    return "".join(random.choice("123456789") for _ in range(n))


def mixed(n):
    return "".join(random.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(n))


A31, A13, A12 = mod10(3, 1), mod10(1, 3), mod10(1, 2)
# format: (provider, maker of a number without its check, algorithm, cut of the serial, place of the check)
CHECKED = {
    "ups_1z": ("ups", lambda: "1Z" + mixed(15) + "#", A12, lambda s: s[2:17], 17),
    "ups_waybill": ("ups", lambda: "H" + digits(9) + "#", A12, lambda s: s[1:10], 10),
    "fedex_12": ("fedex", lambda: digits(11) + "#", W12, lambda s: s[:11], 11),
    "fedex_ground_15": ("fedex", lambda: digits(14) + "#", A13, lambda s: s[:14], 14),
    "fedex_ground_sscc_18": ("fedex", lambda: "00" + digits(15) + "#", A31, lambda s: s[2:17], 17),
    "fedex_smartpost_20": ("fedex", lambda: "612" + digits(16) + "#", A31, lambda s: "92" + s[:19], 19),
    "fedex_ground_96": ("fedex", lambda: "96" + digits(19) + "#", A13, lambda s: s[7:21], 21),
    "fedex_astra_32": ("fedex", lambda: "3" + digits(26) + "#" + digits(4), W12, lambda s: s[16:27], 27),
    "fedex_34": ("fedex", lambda: "1" + digits(32) + "#", W13, lambda s: s[20:33], 33),
    "fedex_ground_gsn": ("fedex", lambda: "96" + digits(31) + "#", W13, lambda s: s[20:33], 33),
    "usps_20": ("usps", lambda: "70" + digits(17) + "#", A31, lambda s: s[:19], 19),
    "usps_impb_n": ("usps", lambda: "94" + digits(3) + "9" + digits(15) + "#", A31, lambda s: s[:21], 21),
    "usps_impb_c": ("usps", lambda: "92" + digits(3) + "9" + digits(15) + "#", A31, lambda s: s[:21], 21),
    "usps_legacy": ("usps", lambda: "91" + digits(19) + "#", A31, lambda s: s[:21], 21),
    "s10": ("royal_mail", lambda: "RR" + digits(8) + "#GB", s10, lambda s: s[2:10], 10),
    "dhl_express": ("dhl", lambda: digits(9) + "#", mod7, lambda s: s[:9], 9),
    "dhl_paket_20": ("dhl", lambda: "00340434" + digits(11) + "#", A31, lambda s: s[:19], 19),
    "ontrac_c": ("ontrac", lambda: "C1" + digits(12) + "#", A12, lambda s: "4" + s[1:14], 14),
    "ontrac_d": ("ontrac", lambda: "D1" + digits(12) + "#", A12, lambda s: "5" + s[1:14], 14),
    "canada_post_16": ("canada_post", lambda: digits(15) + "#", A31, lambda s: s[:15], 15),
    "purolator_12": ("purolator", lambda: "3" + digits(10) + "#", luhn, lambda s: s[:11], 11),
    "dpd_28": ("dpd", lambda: digits(27) + "#", mod37_36, lambda s: s[:27], 27),
    "dpd_14": ("dpd", lambda: digits(14) + "#", mod37_36, lambda s: s[:14], 14),
    "old_dominion": ("old_dominion", lambda: "778" + digits(7) + "#", luhn, lambda s: s[:10], 10),
    "old_dominion_guaranteed": ("old_dominion", lambda: "80" + digits(8) + "#", luhn, lambda s: s[:10], 10),
}
# format: (provider, number)
SHAPES = {
    "ups_mail_innovations": ("ups", "MI123456ABCDEF12"), "dhl_express_piece_id": ("dhl", "JJD012345678"), "dhl_ecommerce": ("dhl", "GM1A2B3C4D5E6F"),
    "dhl_ecommerce_14": ("dhl", "12345678901234"), "amazon_logistics": ("amazon", "TBA123456789012"), "amazon_international": ("amazon", "A1234567891"),
    "lasership_lx": ("lasership", "LX12345678"), "lasership_1ls7_15": ("lasership", "1LS712345678901"), "lasership_1ls7_18": ("lasership", "1LS7123011234567-1"),
    "lasership_1lscx": ("lasership", "1LSCXABCDE12345"), "purolator_alpha": ("purolator", "ABC123456789"), "canpar_22": ("canpar", "D123456789012345678901"),
    "yodel": ("yodel", "JD1234567890123456"), "evri_16": ("evri", "H00ABCDEFGHIJ123"), "postnl_3s": ("postnl", "3SABCD12345678"),
    "colissimo_13": ("la_poste", "6A12345678901"), "bpost_24": ("bpost", "321234567890123456789012"), "speedee_20": ("speedee", "SP123456789012345678"),
    "gofo_us": ("gofo", "GFUS12345678901234"), "landmark_ltn": ("landmark", "LTN12345678N1"), "yunexpress": ("yunexpress", "YT1234567890123456"),
    "sf_express": ("sf_express", "SF1234567890123"), "cainiao_lp": ("cainiao_lp", "LP12345678901234"), "fourpx": ("fourpx", "4PX1234567890123CN"),
    "uniuni": ("uniuni", "UUS1234567890ABCDEF"), "ups_18": ("ups", "912345678901234567"), "dhl_licence_plate": ("dhl", "JJD000390012345678901"),
    "amazon_logistics_region": ("amazon", "TBAONT123456789"),
}


def detect(client, number, **more):
    return client.post(DETECT, {"tracking_number": number, **more}, expect=200).data


def formats(entry):
    return [c["format"] for c in entry["candidates"]]


def complete(name):
    _, make, algorithm, cut, at = CHECKED[name]
    raw = make()
    check = algorithm(cut(raw))
    return raw[:at] + check + raw[at + 1:]


@pytest.mark.parametrize("name", CHECKED)
def test_a_number_of_each_format_and_with_each_wrong_check_digit(client, name):
    provider, _, _, _, at = CHECKED[name]
    good = [complete(name) for _ in range(20)]
    for entry, number in zip(detect(client, good), good):
        assert name in formats(entry), (number, entry)
        c = next(c for c in entry["candidates"] if c["format"] == name)
        assert c["provider"]["id"] == provider and c["checksum"] == "valid"
    number = good[0]
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" if name.startswith("dpd") else "0123456789"
    wrong = [number[:at] + c + number[at + 1:] for c in letters if c != number[at]]
    for entry in detect(client, wrong):
        assert name not in formats(entry), entry
        assert entry["candidates"] or entry["reason"] == "checksum"


@pytest.mark.parametrize("name", SHAPES)
def test_a_number_of_each_format_without_check_digit(client, name):
    provider, number = SHAPES[name]
    entry = detect(client, number)[0]
    c = next(c for c in entry["candidates"] if c["format"] == name)
    assert c["provider"]["id"] == provider and c["checksum"] == "none"
    assert name not in formats(detect(client, number + "99999999999999999999999999999")[0]) and name not in formats(detect(client, "#" + number)[0])


def test_every_format_of_the_data_has_a_test():
    data = json.loads((ROOT / "schemas" / "carriers.json").read_text())
    assert {f["id"] for f in data["formats"]} == set(CHECKED) | set(SHAPES)


# ---- the answer ----

def test_the_answer_of_the_specification(client):
    a = client.post(DETECT, {"tracking_number": "1z 58f2a70378657975"}, expect=200)
    assert a.message == "1 number checked" and a.pagination is None
    url = "https://www.ups.com/track?tracknum=1Z58F2A70378657975"
    assert a.data == [{
        "tracking_number": "1z 58f2a70378657975", "normalized": "1Z58F2A70378657975", "summary": "external", "provider_id": "ups", "reason": None, "tracking_url": url,
        "candidates": [{"provider": {"id": "ups", "name": "UPS", "country_code": "US"}, "format": "ups_1z", "confidence": "high", "checksum": "valid",
                        "tracking_number": "1Z58F2A70378657975", "tracking_url": url, "service": {"code": "03", "name": "Ground"},
                        "parts": {"shipper_id": "58F2A7", "service_type": "03", "package_id": "7865797"}}]}]


def test_edge_case_8_forms_of_one_number_and_order_of_results(client):
    same = ["1Z58F2A70378657975", "1z58f2a70378657975", " 1Z 58F 2A7 03 7865 7975 ", "1Z-58F2A7-03-7865-7975", "1Z\u00a058F2A7\u2007037\u202f8657975\u200b\ufeff", "1Z.58F2A7_03/78657975"]
    entries = detect(client, same)
    assert [e["tracking_number"] for e in entries] == same
    assert all(e["candidates"] == entries[0]["candidates"] and e["candidates"] for e in entries)
    two = detect(client, "1Z58F2A70378657975,,hello")
    assert len(two) == 2 and two[1]["reason"] == "no_match" and two[1]["summary"] == "unknown" and two[1]["tracking_url"] is None and two[1]["candidates"] == []
    again = detect(client, ["hello", "1Z58F2A70378657975", "hello"])
    assert [e["tracking_number"] for e in again] == ["hello", "1Z58F2A70378657975", "hello"]


@pytest.mark.parametrize("number,provider", [
    ("RR733191240GB", "royal_mail"), ("RR869241100US", "usps"), ("RR750648446TW", "chunghwa_post"), ("LX123456785DE", "deutsche_post"),
    ("61296502014620168493", "fedex"), ("70196204207858270842", "usps"), ("9622042935575918362361078852611491", "fedex"),
    ("420100019400112704534577691524", "usps")])
def test_edge_case_9_one_provider(client, number, provider):
    e = detect(client, number)[0]
    assert (e["summary"], e["provider_id"]) == ("external", provider)


def test_edge_case_9_ambiguous_unknown_and_inside(client):
    e = detect(client, "371755712374")[0]
    assert e["summary"] == "ambiguous" and e["provider_id"] is None and {c["provider"]["id"] for c in e["candidates"]} == {"fedex", "purolator"}
    assert e["tracking_url"] == e["candidates"][0]["tracking_url"]
    assert formats(detect(client, "LX123456785DE")[0]) == ["s10"]
    c = detect(client, "420100019400112704534577691524")[0]["candidates"][0]
    assert c["tracking_number"] == "9400112704534577691524" and c["parts"]["zip"] == "10001"
    for number, reason in (("000000000000", "repeated_digit"), ("WHRF-0000001-0000001", "internal_prefix"), ("1Z#8", "invalid_characters"), ("1" * 65, "too_long"),
                           ("RR733191240XX", "no_match"), ("RR733191241GB", "checksum")):
        e = detect(client, number)[0]
        assert (e["summary"], e["reason"], e["candidates"], e["tracking_url"]) == ("unknown", reason, [], None), e


def test_s10_countries_and_services(client):
    data = json.loads((ROOT / "schemas" / "carriers.json").read_text())
    assert len(data["countries"]) == 206
    entries = detect(client, ["RR733191240" + cc for cc in data["countries"]])
    assert [e["provider_id"] for e in entries] == list(data["countries"].values())
    assert next(e for e in entries if e["normalized"].endswith("AE"))["provider_id"] == "post_ae"
    assert detect(client, "RR733191240AE")[0]["candidates"][0]["provider"]["name"] == "Post AE"
    names = {k: detect(client, k + "733191240GB")[0]["candidates"][0]["service"] for k in ("EA", "RR", "QM", "QN", "AV", "AA", "GA", "GB")}
    assert names["EA"] == {"code": "EA", "name": "EMS"} and names["RR"]["name"] == "registered" and names["QM"]["name"] == "IBRS" and names["QN"] is None
    assert names["AV"]["name"] == "domestic or bilateral" and names["AA"] is None and names["GA"] and names["GB"] is None


def test_parts(client):
    c = next(c for c in detect(client, "0998112" + "2334455" + "6" * 13 + mod37_36("0998112" + "2334455" + "6" * 13))[0]["candidates"] if c["format"] == "dpd_28")
    assert c["parts"] == {"zip": "0998112", "service_type": "666", "country_number": "666"} and c["service"] is None
    core = "94055" + "912345678" + "1234567"
    core += A31(core)
    c = detect(client, "420123456789" + core)[0]["candidates"][0]
    assert c["parts"] == {"zip": "12345", "zip4": "6789", "application_id": "94", "application_id_name": "online or vendor label", "service_type": "055",
                          "mailer_id": "912345678", "serial_number": "1234567"}
    core = "94055" + "123456" + "1234567890"
    core += A31(core)
    assert detect(client, core)[0]["candidates"][0]["parts"]["mailer_id"] == "123456"
    n = complete("fedex_34")
    c = next(c for c in detect(client, n)[0]["candidates"] if c["format"] == "fedex_34")
    assert c["tracking_number"] == n[22:] and c["parts"] == {"destination_zip": n[15:20]} and c["tracking_url"].endswith("=" + n[22:])


def test_suppressed_candidates(client):
    for _ in range(200):
        n = complete("fedex_smartpost_20")
        assert not {"usps_20", "usps_legacy"} & set(formats(detect(client, n)[0]))
    assert formats(detect(client, "CN123456785" + "CN")[0]) == ["s10"]


def test_order_of_candidates(client):
    levels = ["high", "medium", "low"]
    for name in CHECKED:
        seen = [levels.index(c["confidence"]) for c in detect(client, complete(name))[0]["candidates"]]
        assert seen == sorted(seen)


def test_only_these_providers(client):
    e = detect(client, "371755712374", provider_ids=["purolator"])[0]
    assert (e["summary"], e["provider_id"]) == ("external", "purolator")
    client.refused("POST", DETECT, 400, "provider.unknown", ["provider_ids.1"], body={"tracking_number": "1", "provider_ids": ["ups", "nobody"]})


def test_request_errors(client):
    refuse = lambda body, at: client.refused("POST", DETECT, 400, "validation.failed", at, body=body)
    for body in ({}, {"tracking_number": None}, {"tracking_number": 5}, {"tracking_number": []}, {"tracking_number": {}}, {"tracking_number": " ,, "}):
        refuse(body, ["tracking_number"])
    refuse({"tracking_number": ["a", 5, "b", None]}, ["tracking_number.1", "tracking_number.3"])
    refuse({"tracking_number": ["a"] * 1001}, ["tracking_number"])
    refuse({"tracking_number": ",".join(["a"] * 1001)}, ["tracking_number"])
    assert len(detect(client, ["a"] * 1000)) == 1000 and len(detect(client, ",".join(["a"] * 1000))) == 1000
    assert detect(client, ["", "a,b"])[1]["reason"] == "invalid_characters"


def test_scope(org):
    other = org.client("documents:read")
    other.refused("POST", DETECT, 403, "scope_access", ["trackers:read"], body={"tracking_number": "1"})
    other.refused("GET", "/v1/providers", 403, "scope_access", ["trackers:read"])
    org.client("trackers:read").post(DETECT, {"tracking_number": "1"}, expect=200)


def test_providers(client):
    a = client.get("/v1/providers")
    rows = {p["id"]: p for p in a.data}
    assert rows["ups"]["url"] == "https://www.ups.com/track?tracknum={n}" and rows["uniuni"]["url"] == "https://t.17track.net/en#nums={n}"
    assert {f["id"] for f in rows["ups"]["formats"]} == {"ups_1z", "ups_waybill", "ups_mail_innovations", "ups_18"}
    assert [f["id"] for f in rows["royal_mail"]["formats"]] == ["s10"] and len(rows) == len(a.data)


# ---- the data is what the specification says ----

SPEC = (ROOT / "docs" / "spec" / "03-shipments-and-trackers.md").read_text()
DATA = json.loads((ROOT / "schemas" / "carriers.json").read_text())


def section(title):
    return SPEC.split(f"\n## {title}")[1].split("\n## ")[0]


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def specified_formats():
    """The table of section 10: format → (providers, patterns, checks, confidences); a row of several formats has its parts between slashes."""
    rows = [cells(line) for line in section("10. Formats").splitlines() if re.match(r"\| [a-z0-9_]+", line)]
    for name, provider, pattern, check, confidence in [r for r in rows if len(r) == 5 and r[1] != ""]:
        names = [n.split()[0] for n in re.split(r" / |, ", re.sub(r" \[O\]|†.*", "", name))]
        if names[0] in ("USPS", "Format"):
            continue
        names = [n if not n.startswith("_") else names[0].rsplit("_15", 1)[0] + n for n in names]
        patterns = re.findall(r"`([^`]+)`", pattern)
        yield names, [p.strip() for p in provider.split(",")], patterns, [c.strip() for c in check.split(" / ")], confidence


def test_patterns_providers_and_confidence_are_the_specifications():
    level, seen = {"H": "high", "M": "medium", "L": "low"}, set()
    for names, providers, patterns, _, confidence in specified_formats():
        for i, name in enumerate(names):
            rows = [f for f in DATA["formats"] if f["id"] == name]
            assert rows, name
            seen.add(name)
            wanted = patterns if len(names) == 1 else [patterns[i]]
            assert [f["pattern"] for f in rows] == wanted, name
            provider = None if providers[0].startswith("by country") else name if providers == ["same"] else providers[i] if len(providers) == len(names) else providers[0]
            assert {f["provider"] for f in rows} == {provider}, name
            if name == "usps_legacy":
                assert [f["confidence"] for f in rows] == ["high", "medium"]
                continue
            letter = confidence.split(" / ")[i] if "/" in confidence else confidence
            assert [f["confidence"] for f in rows] == [level[letter]], name
    assert seen == {f["id"] for f in DATA["formats"]}
    order = [f["id"] for f in DATA["formats"]]
    assert order == sorted(order, key=[n for names, *_ in specified_formats() for n in names].index), "the order of the table breaks ties"


def test_urls_are_the_specifications():
    urls = {p["id"]: p.get("url") for p in DATA["providers"]}
    table = [cells(line) for line in section("10. Formats").splitlines() if "`https://" in line and "{n}" in line]
    assert len(table) == 22
    for ids, url in table:
        url = re.search(r"`([^`]+)`", url).group(1)
        if ids.startswith("others"):
            assert DATA["fallback_url"] == url
            continue
        for id in re.split(r", ", ids):
            assert urls[id] == url, id
    text = section("11. S10")
    found = re.findall(r"([a-z_]+) \((?:[A-ZÖ][\w Öö]*; )?`(https://[^`]+)`\)", text)
    assert len(found) == 13 and all(urls[id] == url for id, url in found)
    countries = re.search(r"Accepted country codes \(206\): ([A-Z ]+)\.", text).group(1).split()
    assert sorted(DATA["countries"]) == sorted(countries) and len(countries) == 206
    said = re.search(r"Provider by country: (.*?) All others", text, re.S).group(1)
    named = {cc: id for ccs, id in re.findall(r"((?:[A-Z]{2}(?: / )?)+) ([a-z_]+)", re.sub(r"\([^)]*\)", "", said)) for cc in ccs.split(" / ")}
    assert len(named) == 35
    assert DATA["countries"] == {cc: named.get(cc, "post_" + cc.lower()) for cc in DATA["countries"]}


def test_service_names_are_the_specifications():
    text = section("11. S10")
    ups = re.search(r"UPS services: (.*?)\. Waybill: (.*?)\.\n", text, re.S)
    assert DATA["names"]["ups"] == dict(x.split(" ", 1) for x in ups.group(1).split(", "))
    assert DATA["names"]["ups_waybill"] == dict(x.split(" ", 1) for x in ups.group(2).split(", "))
    dpd, sscc, usps = re.search(r"DPD services: (.*?)\. SSCC container type: (.*?)\. USPS application id: (.*?)\.$", text, re.S | re.M).groups()
    assert DATA["names"]["dpd"] == dict(x.split(" ", 1) for x in dpd.split(", "))
    assert DATA["names"]["sscc_container"] == dict(x.split(" ", 1) for x in sscc.split(", "))
    assert set(DATA["names"]["usps_application"]) == {"91", "92", "93", "94", "95"} and "commercial" in DATA["names"]["usps_application"]["93"]
    s10, letters = DATA["names"]["s10"], "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    wanted = {"E": "EMS", "L": "letter express", "M": "M-bag", "R": "registered", "U": "letter other", "V": "insured letter", "C": "parcel", "H": "e-commerce parcel"}
    for two in (a + b for a in letters for b in letters):
        name = s10.get(two) or s10.get(two[0] + "?")
        domestic = two[0] in "BDNPZ" or (two[0] == "A" and two[1] in "VWXYZ") or two in ("GA", "GD")
        assert name == (wanted.get(two[0]) or ("IBRS" if two[0] == "Q" and two[1] <= "M" else "domestic or bilateral" if domestic else None)), two


def test_numbers_behind_routing_and_other_lengths(client):
    """420 and five or nine digits stand before three formats; IMpb has three lengths; a legacy core may be without its 91."""
    def checked(core):
        return core + A31(core)
    for core in ("94055" + "912345678" + "123456789012345", "94055" + "912345678" + "12345678901", "94055" + "123456" + "12345678901234"):
        assert "usps_impb_n" in formats(detect(client, checked(core))[0]), core
    for core in ("95055" + "912345678" + "12345678901", "93055" + "123456" + "12345678901234", "95055" + "123456" + "1234567890"):
        assert "usps_impb_c" in formats(detect(client, checked(core))[0]), core
    assert "usps_impb_c" not in formats(detect(client, checked("92055" + "123456" + "1234567890"))[0]), "92 has mailers of nine digits"
    thirty, short = checked("94055" + "912345678" + "123456789012345"), checked("94055" + "912345678" + "1234567")
    assert "usps_impb_n" not in formats(detect(client, "42012345" + thirty)[0]) and "usps_impb_n" not in formats(detect(client, "420123456789" + checked("94055" + "912345678" + "12345678901"))[0])
    for routing, zips in (("42012345", {"zip": "12345"}), ("420123456789", {"zip": "12345", "zip4": "6789"})):
        c = next(c for c in detect(client, routing + short)[0]["candidates"] if c["format"] == "usps_impb_n")
        assert c["tracking_number"] == short and {k: v for k, v in c["parts"].items() if k.startswith("zip")} == zips and c["tracking_url"].endswith("=" + short)
    legacy = "7" + digits(18)
    legacy += A31("91" + legacy)
    with_91 = checked("91" + digits(19))
    for routing in ("", "42012345", "420123456789"):
        c = next(c for c in detect(client, routing + legacy)[0]["candidates"] if c["format"] == "usps_legacy")
        assert (c["confidence"], c["tracking_number"]) == ("medium", legacy), routing
        c = next(c for c in detect(client, routing + with_91)[0]["candidates"] if c["format"] == "usps_legacy")
        assert (c["confidence"], c["tracking_number"]) == ("high", with_91), routing


def test_a_serial_that_begins_with_its_prefix_gets_none(client):
    for letter, four in (("C", "4"), ("D", "5")):
        number = letter + four + digits(12)
        assert f"ontrac_{letter.lower()}" in formats(detect(client, number + A12(number[1:]))[0]), number
        wrong = A12(four + number[1:])
        assert wrong == A12(number[1:]) or f"ontrac_{letter.lower()}" not in formats(detect(client, number + wrong)[0])


def test_the_number_of_a_carrier_inside_a_longer_one(client):
    for name, cut in (("fedex_astra_32", slice(16, 28)), ("fedex_34", slice(22, 34)), ("fedex_ground_gsn", slice(22, 34))):
        n = complete(name)
        c = next(c for c in detect(client, n)[0]["candidates"] if c["format"] == name)
        assert c["tracking_number"] == n[cut] and c["tracking_url"] == "https://www.fedex.com/fedextrack/?trknbr=" + n[cut]


def test_other_parts(client):
    n = complete("fedex_ground_96")
    assert next(c for c in detect(client, n)[0]["candidates"] if c["format"] == "fedex_ground_96")["parts"] == {"service_type": n[4:7], "shipper_id": n[7:14], "package_id": n[14:21]}
    n = complete("usps_20")
    assert next(c for c in detect(client, n)[0]["candidates"] if c["format"] == "usps_20")["parts"] == {"service_type": n[:2], "shipper_id": n[2:11], "package_id": n[11:19]}
    n = complete("canada_post_16")
    assert next(c for c in detect(client, n)[0]["candidates"] if c["format"] == "canada_post_16")["parts"] == {"origin_id": n[:7]}
    assert detect(client, "RR733191240GB")[0]["candidates"][0]["parts"] == {"service_type": "RR", "country_code": "GB"}
    n = complete("fedex_ground_sscc_18")
    c = next(c for c in detect(client, n)[0]["candidates"] if c["format"] == "fedex_ground_sscc_18")
    assert c["parts"] == {"container_type": "00", "container_type_name": "carton"}


def test_suppressed_by_usps(client):
    """fedex_34 beside a USPS number of 34 digits: 420, nine digits of ZIP, 22 of IMpb."""
    for serial in range(1000):
        core = f"94001912345678{serial:07}"
        n = "420123456789" + core + A31(core)
        if W13(n[20:33]) == n[33]:
            break
    assert W13(n[20:33]) == n[33]
    assert "fedex_34" not in formats(detect(client, n)[0]) and "usps_impb_n" in formats(detect(client, n)[0])
    n = complete("dhl_paket_20")
    assert not {"usps_20", "usps_legacy"} & set(formats(detect(client, n)[0]))


# ---- own providers ----

OWN = {"id": "valley_van", "name": "Valley Van", "country_code": "US", "url": "https://valley.example/t/{n}?x=1", "support_phone": "+15550100",
       "formats": [{"id": "valley_10", "pattern": "VV[0-9]{8}(A|B)?", "check": {"name": "luhn", "from": 2, "to": 9, "pos": 9}, "confidence": "high"},
                   {"id": "valley_slash", "pattern": "V/[A-Z]+"}]}


def test_providers_of_an_organization(fresh, client):
    mine = fresh.client()
    number = "VV1234567" + luhn("1234567")
    mine.post("/v1/org", {"settings": {"providers": {"custom": [OWN]}}}, expect=200)
    e = detect(mine, number)[0]
    assert e["provider_id"] == "valley_van" and e["tracking_url"] == f"https://valley.example/t/{number}?x=1"
    assert e["candidates"][0]["provider"] == {"id": "valley_van", "name": "Valley Van", "country_code": "US"}
    assert detect(mine, number[:9] + str((int(number[9]) + 1) % 10))[0]["reason"] == "checksum"
    assert "valley_van" in [p["id"] for p in mine.get("/v1/providers").data]
    assert "V%2FAB" in detect(mine, "V/AB")[0]["tracking_url"]
    assert detect(client, number)[0]["summary"] == "unknown"
    for formats_, at in (([{"id": "x", "pattern": "("}], "pattern"), ([{"id": "x", "pattern": "a" * 201}], "pattern"), ([{"id": "x", "pattern": "((a{60}){60})"}], "pattern"),
                         ([{"id": "x", "pattern": "a", "check": {"name": "mod9", "from": 0, "to": 1, "pos": 1}}], "check.name")):
        a = mine.refused("POST", "/v1/org", 400, "validation.failed", body={"settings": {"providers": {"custom": [{**OWN, "formats": formats_}]}}})
        assert a.errors == [f"settings.providers.custom.0.formats.{at}"], a.errors
    mine.refused("POST", "/v1/org", 400, "validation.failed", body={"settings": {"providers": {"custom": [OWN] * 51}}})
    mine.post("/v1/org", {"settings": {"providers": {"custom": [{**OWN, "formats": [*OWN["formats"], {"id": "valley_any", "pattern": "V[V-X][0-9]{8}"}]}]}}}, expect=200)
    e = detect(mine, number)[0]
    assert (len(e["candidates"]), e["summary"], e["provider_id"]) == (2, "external", "valley_van"), "several formats of one provider"


def test_an_operators_file(tmp_path):
    file = tmp_path / "carriers.json"
    tmp_path.chmod(0o755)
    file.write_text(json.dumps({"providers": [{**OWN, "formats": None}], "formats": [{**OWN["formats"][0], "provider": "valley_van"}], "fallback_url": "https://find.example/{n}"}))
    file.chmod(0o644)
    s = Server("--modules", "org,carriers", "--set", f"carriers.file={file}", "--set", "carriers.tracking_prefix=DOCK")
    try:
        client = s.organization().client()
        assert detect(client, "VV1234567" + luhn("1234567"))[0]["provider_id"] == "valley_van"
        assert detect(client, "1Z58F2A70378657975")[0]["provider_id"] == "ups"
        assert detect(client, "DOCK-1234567-ABCDEFG")[0]["reason"] == "internal_prefix" and detect(client, "WHRF-1234567-ABCDEFG")[0]["reason"] == "no_match"
        assert detect(client, "UUS1234567890ABCDEF")[0]["tracking_url"].startswith("https://find.example/")
        file.write_text(json.dumps({"providers": [{**OWN, "formats": None}], "formats": [{"id": "valley_new", "provider": "valley_van", "pattern": "VNEW[0-9]{4}"}]}))
        s.command("reload")
        until(lambda: detect(client, "VNEW1234")[0]["provider_id"] == "valley_van" and not detect(client, "VV1234567" + luhn("1234567"))[0]["candidates"])
        file.write_text('{"formats": [{"id": "broken", "pattern": "("}]}')
        with pytest.raises(RuntimeError, match="carriers.json: formats.0"):
            s.command("reload")
        assert detect(client, "VNEW1234")[0]["provider_id"] == "valley_van", "a file with a problem leaves what runs"
    finally:
        s.stop()
