"""schemas/countries.json, address-forms.json and address-cities.json as C tables: address_tables.py COUNTRIES FORMS CITIES OUT."""
import json
import sys
import unicodedata

KINDS = ["COUNTRY", "COUNTRY_CODE", "STATE", "REGION", "NATION", "CITY", "CITY_END", "WARDS_OF", "PREFIX", "AFTER_CITY", "UNIT", "ALONE", "NUMBER", "BOX", "CARE",
         "LABEL", "STREET", "STREET_FIRST", "DIRECTION", "JOINT"]
OF_FORM = {"regions": "REGION", "nations": "NATION", "cities": "CITY", "city_ends": "CITY_END", "wards_of": "WARDS_OF", "prefixes": "PREFIX", "after_city": "AFTER_CITY",
           "units": "UNIT", "alone": "ALONE"}
OF_ALL = {"units": "UNIT", "alone": "ALONE", "numbers": "NUMBER", "boxes": "BOX", "care": "CARE", "labels": "LABEL", "streets": "STREET", "street_first": "STREET_FIRST",
          "directions": "DIRECTION", "joints": "JOINT"}
ANY = 0xffff
LATIN = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h", "ŋ": "n", "ĸ": "k", "ŧ": "t", "ŉ": "n", "ŀ": "l", "ſ": "s"}


def plain(c):
    """One letter of U+00C0 to U+017F without case and marks."""
    c = c.lower()[0]
    return LATIN.get(c) or (unicodedata.normalize("NFD", c)[0] if c.isalpha() else "")


def fold(word):
    """The same as address_words.c does."""
    out = ""
    for c in word:
        if c in ".'’`":
            continue
        if c in "ºª°":
            out += "a" if c == "ª" else "o"
        elif 0xc0 <= ord(c) < 0x180:
            out += plain(c)
        elif c == "№":
            out += "no"
        else:
            out += c.lower() if c.isascii() else c
    return out.strip("()[]:;*\"!")


def key(name):
    return " ".join(k for k in map(fold, name.split()) if k)


def hash32(text):
    h = 2166136261
    for b in text.encode():
        h = (h ^ b) * 16777619 & 0xffffffff
    return h


def literal(text):
    return json.dumps(text, ensure_ascii=False)


def states_of(forms, rows, add):
    for n, form in enumerate(forms):
        for code, name, *also in form.get("states", []):
            rows.append((form["code"], code, name, form.get("postal_of_states", {}).get(code, [])))
            for text in [code, name, *also]:
                add(text, "STATE", n, len(rows) - 1)


def ranges(told):
    """["197-199"] as {197, 199}."""
    return ", ".join(f"{{{a}, {b}}}" for a, b in (map(int, t.split("-")) for t in told)) or "{0, 0}"


def collect(countries, words, forms):
    found, states = {}, []

    def add(text, kind, form=ANY, ref=0):
        if key(text):
            found.setdefault((key(text), kind, form), ref)

    for n, c in enumerate(countries):
        for text in (c["code"], c["code3"]):
            add(text, "COUNTRY_CODE", ref=n)
        for text in (c["name"], *c["names"]):
            add(text, "COUNTRY", ref=n)
    states_of(forms, states, add)
    for name, kind in OF_ALL.items():
        for text in words[name]:
            add(text, kind)
    for n, form in enumerate(forms):
        for name, kind in OF_FORM.items():
            for text in form.get(name, []):
                add(text, kind, n)
                add(text.replace("-", " "), kind, n)
    return found, states


def form_row(form, forms):
    by_code = {f["code"]: n for n, f in enumerate(forms)}
    base = form if "like" not in form else forms[by_code[form["like"]]]
    patterns = base["postal"] + [""] * (8 - len(base["postal"]))
    sure = sum(1 << base["postal"].index(p) for p in base.get("sure", []))
    return f'    {{"{form["code"]}", {by_code[base["code"]]}, ADDRESS_{base["stands"].upper()}, {int(base.get("sure_with_state", 0))}, {int(base.get("number_last", base["stands"] == "before"))}, {int("states" in base)}, {int(base.get("names_are_cities", 0))}, {int(base.get("city_ends_part", 0))}, {sure}, {{{", ".join(map(literal, patterns))}}}}},\n'


def main():
    countries, told, cities = (json.load(open(p, encoding="utf-8")) for p in sys.argv[1:4])
    forms = told["forms"]
    for form in forms:
        if form["code"] in cities:
            form["cities"] = form.get("cities", []) + cities[form["code"]]
    found, states = collect(countries, told["words"], forms)
    pool, offsets, rows = "", {}, []
    for k in sorted({k for k, _, _ in found}):
        offsets[k] = len(pool.encode())
        pool += k + "\n"
    for (k, kind, form), ref in found.items():
        rows.append((hash32(k), offsets[k], len(k.encode()), KINDS.index(kind), form, ref))
    rows.sort()
    starts, at = [], 0
    for bucket in range(4097):
        while at < len(rows) and rows[at][0] >> 20 < bucket:
            at += 1
        starts.append(at)
    out = ["/* made of schemas/countries.json, address-forms.json and address-cities.json */\n#include \"address_tables.h\"\n"]
    out += ["const struct country countries[] = {\n", *(f'    {{"{c["code"]}", "{c["code3"]}", {literal(c["name"])}}},\n' for c in countries), "};\n"]
    out += [f"const size_t countries_count = {len(countries)};\nconst struct state address_states[] = {{\n", *(f'    {{"{a}", "{b}", {literal(c)}, {{{ranges(d)}}}}},\n' for a, b, c, d in states), "};\n"]
    out += ["const struct address_form address_forms[] = {\n", *(form_row(f, forms) for f in forms), "};\n", f"const size_t address_forms_count = {len(forms)};\n"]
    out += ["const char address_keys[] =\n", *(f"    {literal(k + chr(10))}\n" for k in pool.split("\n") if k), "    ;\n"]
    out += ["const struct address_word address_words[] = {\n", *(f"    {{{h}u, {o}, {n}, {kind}, {form}, {ref}}},\n" for h, o, n, kind, form, ref in rows), "};\n"]
    out += ["const uint16_t address_starts[4097] = {", ", ".join(map(str, starts)), "};\n"]
    out += ["const char address_latin[0xc0][3] = {", ", ".join(literal(plain(chr(c))) for c in range(0xc0, 0x180)), "};\n"]
    out += ["const char *const address_street_ends[] = {", ", ".join(literal(key(s)) for s in told["words"]["street_ends"]), ", 0};\n"]
    open(sys.argv[4], "w", encoding="utf-8").write("".join(out))


if __name__ == "__main__":
    main()
