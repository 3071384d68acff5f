"""Tracking numbers from the data of schemas/carriers.json (docs/spec/03-shipments-and-trackers.md section 9): one of a format, with its check digit, and
whose a number may be. Written a second time from the specification, so that a fault of the server's does not become one of the truth."""
import functools
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARRIERS = json.loads((ROOT / "schemas" / "carriers.json").read_text())
FORMATS = CARRIERS["formats"]
NAMES = {p["id"]: p["name"] for p in CARRIERS["providers"]}
SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RANK = {"high": 0, "medium": 1, "low": 2}


# ---- check digits ----

def value(c):
    return int(c) if c.isdigit() else (ord(c) - 3) % 10


def luhn(s):
    return sum(sum(divmod(int(c) * (2 - i % 2), 10)) for i, c in enumerate(reversed(s)))


def mod37_36(s):
    c = 36
    for sign in s:
        c += int(sign, 36)
        c = (c - 36 if c > 36 else c) * 2
        c = c - 37 if c > 36 else c
    return SIGNS[(37 - c) % 36]


def check_sign(check, serial):
    """The sign that a rule of the data gives for a serial."""
    name, weights = check["name"], check.get("params")
    if name == "mod10":
        return str(-sum(value(c) * weights[i % 2] for i, c in enumerate(serial)) % 10)
    if name == "mod37_36":
        return mod37_36(serial)
    if not serial.isdigit():
        return None
    if name == "luhn":
        return str(-luhn(serial) % 10)
    if name == "mod7":
        return str(int(serial) % 7)
    if name == "s10":
        r = 11 - sum(int(c) * w for c, w in zip(serial, weights)) % 11
        return {10: "0", 11: "5"}.get(r, str(r))
    return str(sum(int(c) * w for c, w in zip(serial, weights)) % 11 % 10)  # w11


def wanted_sign(check, number):
    serial, prepend = number[check["from"]:check["to"]], check.get("prepend", "")
    if prepend and not ("unless" in check and serial.startswith(check["unless"])):
        serial = prepend + serial
    return check_sign(check, serial)


# ---- a number of a pattern ----

@functools.lru_cache(None)
def alternatives(pattern):
    """A pattern as a tree: alternatives of sequences of (least, most, signs or another tree). Only what the data has: sets, groups, | ? {n} {n,m}."""
    parts, i = [[]], 0
    while i < len(pattern):
        c = pattern[i]
        if c == "|":
            parts.append([])
            i += 1
            continue
        if c == "[":
            end = pattern.index("]", i)
            what = "".join(chr(k) for a, b in re.findall(r"(.)-(.)|$", pattern[i + 1:end]) if a for k in range(ord(a), ord(b) + 1))
            what += re.sub(r".-.", "", pattern[i + 1:end])
        elif c == "(":
            depth, end = 1, i
            while depth:
                end += 1
                depth += {"(": 1, ")": -1}.get(pattern[end], 0)
            what = alternatives(pattern[i + 1:end])
        else:
            what, end = c, i
        i = end + 1
        times = re.match(r"\?|\{(\d+)(?:,(\d+))?\}", pattern[i:])
        least = most = 1
        if times:
            i += times.end()
            least, most = (0, 1) if times[0] == "?" else (int(times[1]), int(times[2] or times[1]))
        parts[-1].append((least, most, what))
    return tuple(tuple(p) for p in parts)


def text_of(chance, tree):
    said = ""
    for least, most, what in chance.choice(tree):
        for _ in range(chance.randint(least, most)):
            said += chance.choice(what) if isinstance(what, str) else text_of(chance, what)
    return said


def number_of(chance, found, narrower=None, start=""):
    """A number of a format that passes its check digit. narrower: a pattern within the format's own; start: signs that it begins with."""
    tree, check = alternatives(narrower or found["pattern"]), found.get("check")
    for _ in range(100000):
        number = start + text_of(chance, tree)[len(start):]
        if check:
            sign, at = wanted_sign(check, number), check["pos"] % len(number)
            number = number[:at] + (sign or "") + number[at + 1:]
        if re.fullmatch(found["pattern"], number) and re.fullmatch(narrower or ".*", number) and (not check or sign == number[at]) and len(set(number)) > 3:
            return number
    raise ValueError(f"{found['id']}: no number of {narrower or found['pattern']} that begins with {start} was found")


# ---- whose it may be ----

def cores(found, number):
    """The parts of a number that may be the carrier's own: all of it, and what follows 420 and a ZIP code."""
    yield number
    for routing in found.get("routing", []):
        n = 3 + routing["digits"]
        if number[:n].isdigit() and number.startswith("420") and len(number) - n in routing.get("lengths", [len(number) - n]):
            yield number[n:]


def fits(found, number):
    """The carrier's number in one that is of the format; None: it is not."""
    for core in cores(found, number):
        if not re.fullmatch(found["pattern"], core):
            continue
        if "country" in found and core[slice(*found["country"])] not in CARRIERS["countries"]:
            continue
        if "check" not in found or wanted_sign(found["check"], core) == core[found["check"]["pos"]]:
            return core[slice(*found["number"])] if "number" in found else core
    return None


def provider_of(found, number):
    return found["provider"] or CARRIERS["countries"][number[slice(*found["country"])]]


def detect(text):
    """Whose a number may be, the likeliest first: [(format id, provider id, tracking number)]."""
    number = re.sub(r"\s", "", text).upper()
    if number.isdigit() and len(set(number)) == 1:
        return []
    for tried in (number, re.sub(r"[-._/]", "", number)):
        hits = [(f, provider_of(f, tried), core) for f in FORMATS for core in [fits(f, tried)] if core]
        ids = {f["id"] for f, _, _ in hits}
        hits = [h for h in hits if not ids & set(h[0].get("suppressed_by", []))]
        if hits:
            return [(f["id"], provider, core) for f, provider, core in sorted(hits, key=lambda h: RANK[h[0]["confidence"]])]
    return []


def checked(text):
    """Whether some format with a check digit accepts it."""
    with_check = {f["id"] for f in FORMATS if "check" in f}
    return any(name in with_check for name, _, _ in detect(text))
