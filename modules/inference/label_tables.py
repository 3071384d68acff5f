"""schemas/labels.json and countries.json as C tables: label_tables.py LABELS COUNTRIES OUT."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "locations"))
from address_tables import fold, literal  # noqa: E402  (one way to compare words)

# The order is that of enum label_kind in label_inside.h.
CAPTIONS = [
    "recipient", "sender", "tracking", "master", "weight", "dimensions", "package",
    "purchase_order", "order_number", "invoice_number", "rma_number", "reference_number",
    "account_id", "ship_date", "delivery_date", "phone", "email", "person", "care", "company",
    "other", "carton_number", "lot_number", "serial_number", "sku", "item_number", "quantity",
    "expiry_date", "production_date", "gtin", "item_name", "sscc", "supplier", "none"]
WORDS = ["filler", "legal", "business", "of", "tag", "carrier", "service", "class", "month", "unit"]
PHRASES = {"filler": "fillers", "legal": "legal", "business": "business", "of": "of"}
NAMED = {"tag": "tags", "carrier": "carriers", "class": "classes", "unit": "units"}
ANYWHERE, MARKED, BEGINS = 0, 1, 2


def key(phrase):
    return " ".join(k for k in map(fold, phrase.split()) if k)


def caption_of(phrase):
    needs = MARKED if phrase.endswith(":") else BEGINS if phrase.startswith("^") else ANYWHERE
    return key(phrase.strip("^:").rstrip("#")), needs


def main():
    labels, countries = (json.load(open(p, encoding="utf-8")) for p in sys.argv[1:3])
    rows, names, services = {}, [], []

    def add(k, kind, needs=ANYWHERE, ref=0):
        if k:
            rows.setdefault((k, kind), (needs, ref))

    assert list(labels["captions"]) == CAPTIONS
    for kind, phrases in labels["captions"].items():
        for k, needs in map(caption_of, phrases):
            told = [needs, rows.get((k, kind), (needs, 0))[0]]
            rows[(k, kind)] = (ANYWHERE if ANYWHERE in told else max(told), 0)
    for kind, member in PHRASES.items():
        for phrase in labels[member]:
            add(key(phrase.rstrip(":")), kind)
    named = set()
    for kind, member in NAMED.items():
        for name, phrases in labels[member].items():
            names.append(name)
            named |= {(*caption_of(phrase), kind, len(names) - 1) for phrase in phrases}
    for month, phrases in labels["months"].items():
        for phrase in phrases:
            add(key(phrase), "month", ref=int(month))
    words = []
    for provider, levels in labels["services"].items():
        for level, s in levels.items():
            services.append((provider, level, s["class"], " ".join(s.get("codes", []))))
            words += [(key(phrase), len(services) - 1) for phrase in s["words"]]
    kinds = {k: "LABEL_NO_CAPTION" if k == "none" else f"LABEL_{k.upper()}" for k in CAPTIONS + WORDS}
    table = [(k, kinds[kind], needs, ref) for (k, kind), (needs, ref) in rows.items()]
    named_too = named | {(k, ANYWHERE, "service", ref) for k, ref in words}
    table += [(k, kinds[kind], needs, ref) for k, needs, kind, ref in named_too]
    table.sort(key=lambda r: (r[0].encode(), r[1], r[3]))
    near = sorted((k, ref) for k, needs, kind, ref in named
                  if kind == "carrier" and needs == ANYWHERE and " " not in k and len(k) >= 5)
    weights = ", ".join(f".{k} = {v}" for k, v in labels["classifier"].items())
    out = ["/* made of schemas/labels.json and countries.json */\n#include \"label_inside.h\"\n"]

    def array(head, rows, end=""):
        out.extend([f"const {head}[] = {{\n", *(f"    {row},\n" for row in rows), end, "};\n"])

    array("struct label_word label_words",
          (f"{{{literal(k)}, {kind}, {needs}, {ref}}}" for k, kind, needs, ref in table))
    out.append(f"const size_t label_words_count = {len(table)};\n")
    array("struct label_word label_near_names",
          (f"{{{literal(k)}, LABEL_CARRIER, 0, {ref}}}" for k, ref in near), "    {0, 0, 0, 0}\n")
    array("char *const label_names", map(literal, names))
    array("struct label_service label_services",
          (f"{{{', '.join(map(literal, s))}}}" for s in services))
    out.append(f"const size_t label_services_count = {len(services)};\n")
    array("struct label_numeric label_numerics",
          (f"{{{int(c['number'])}, \"{c['code']}\"}}" for c in countries if "number" in c),
          "    {0, \"\"}\n")
    array("struct label_area label_areas",
          (f"{{{literal(c)}, {literal(a)}}}" for c, areas in labels["areas"].items()
           for a in " ".join(areas).split()), "    {0, 0}\n")
    out.append(f"const struct label_weights label_weights = {{{weights}}};\n")
    open(sys.argv[3], "w", encoding="utf-8").write("".join(out))


if __name__ == "__main__":
    main()
