#!/usr/bin/python3
"""Judges the server's JSON Schema validator by the public JSON-Schema-Test-Suite and by a second implementation.

run.py JUDGE [--suite DIR] [--random N] [--seed S]

1. Every test of the suite's files about keywords the server knows must get the verdict written there, but for the cases of
   excluded.txt, each with its reason. The suite is Debian's package json-schema-test-suite (tests/draft7; its schemas are
   rewritten into 2020-12, and python3-jsonschema confirms that the rewriting kept their meaning) or a checkout
   (tests/draft2020-12; there groups that need what the server has not are left out by outside(), which tells each).
2. N random schemas with random values: the verdicts must be those of python3-jsonschema.

Exit status 77: neither is installed.
"""
import argparse
import json
import os
import random
import subprocess
import sys

PLACES = ["/usr/share/json-schema-test-suite"]

FILES = """additionalProperties allOf anyOf boolean_schema const default defs definitions dependentRequired dependencies enum
exclusiveMaximum exclusiveMinimum if-then-else infinite-loop-detection items additionalItems maxItems maxLength maxProperties maximum
minItems minLength minProperties minimum multipleOf not oneOf pattern patternProperties prefixItems properties propertyNames ref
required type uniqueItems optional/bignum optional/zeroTerminatedFloats optional/float-overflow optional/ecmascript-regex
optional/non-bmp-regex optional/format/date optional/format/date-time optional/format/duration optional/format/email
optional/format/hostname optional/format/ipv4 optional/format/ipv6 optional/format/json-pointer optional/format/time
optional/format/uri optional/format/uri-reference optional/format/uuid""".split()

# "file: group" or "file: group: test" -> why the server answers otherwise. A case listed here that passes is an error too.
EXCLUDED = {}


def load_excluded():
    """The list stands beside this file, one "case | reason" per line, so that its changes are easy to see."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "excluded.txt")
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.strip()
            if line and not line.startswith("#"):
                case, reason = line.rsplit(" | ", 1)
                EXCLUDED[case] = reason


def rewrite(schema):
    """A draft-07 schema in the words of 2020-12."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and isinstance(schema["$ref"], str):  # siblings of $ref did not count then
        out = {"$ref": schema["$ref"].replace("#/definitions/", "#/$defs/").replace("items/", "prefixItems/")}
        if "definitions" in schema:
            out["$defs"] = {k: rewrite(v) for k, v in schema["definitions"].items()}
        return out
    out = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "definitions"):
            out["$defs" if key == "definitions" else key] = {k: rewrite(v) for k, v in value.items()}
        elif key == "items" and isinstance(value, list):
            out["prefixItems"] = [rewrite(v) for v in value]
        elif key == "additionalItems":
            if isinstance(schema.get("items"), list):
                out["items"] = rewrite(value)
        elif key in ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains"):
            out[key] = rewrite(value)
        elif key in ("allOf", "anyOf", "oneOf"):
            out[key] = [rewrite(v) for v in value]
        elif key == "dependencies":
            for name, need in value.items():
                if isinstance(need, list):
                    out.setdefault("dependentRequired", {})[name] = need
                else:
                    out.setdefault("dependentSchemas", {})[name] = rewrite(need)
        elif key != "$schema":
            out[key] = value
    if out.get("prefixItems") == []:
        del out["prefixItems"]
    return out


OTHER_WORDS = ["$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "unevaluatedItems", "unevaluatedProperties", "contains",
               "minContains", "maxContains", "dependentSchemas", "contentEncoding", "contentMediaType", "contentSchema"]


def outside(schema, root=True):
    """Why a 2020-12 schema of the suite needs more than the server has; None when it does not."""
    if isinstance(schema, list):
        return next((r for r in (outside(s, False) for s in schema) if r), None)
    if not isinstance(schema, dict):
        return None
    for word in OTHER_WORDS:
        if word in schema:
            return f"{word} is not one of the keywords (docs/reference/plugin-abi.md section 6)"
    if "$id" in schema and not root:
        return "gives a part an $id; only the document has one"
    ref = schema.get("$ref")
    if isinstance(ref, str) and ref != "#" and not ref.startswith("#/"):
        return "$ref stays within the document, by JSON pointer"
    inner = [v for k, v in schema.items() if k not in ("enum", "const", "default", "examples")]
    return outside([s for v in inner for s in (v.values() if isinstance(v, dict) else [v])] +
                   [v for v in inner if isinstance(v, dict)], False)


def load_suite(root):
    """(file, group, schema, [(test, value, valid)]) of every test, and whether the schemas were rewritten."""
    new = os.path.join(root, "tests", "draft2020-12")
    old = os.path.join(root, "tests", "draft7")
    folder, rewritten = (new, False) if os.path.isdir(new) else (old, True)
    groups = []
    for name in FILES:
        path = os.path.join(folder, name + ".json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as text:
            for group in json.load(text):
                schema = rewrite(group["schema"]) if rewritten else group["schema"]
                reason = None if rewritten else outside(schema)
                if reason:
                    print(f"  outside: {name}: {group['description']}: {reason}")
                    continue
                tests = [(t["description"], t["data"], t["valid"]) for t in group["tests"]]
                groups.append((name, group["description"], schema, tests))
    return groups, rewritten


def judge(program, groups):
    """The server's answers for [(schema, values)]."""
    text = json.dumps([{"schema": s, "values": v} for s, v in groups])
    done = subprocess.run([program], input=text.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def reference(schema, value):
    """The verdict of python3-jsonschema, or None when it gives up."""
    import jsonschema  # pylint: disable=import-outside-toplevel
    try:
        return jsonschema.Draft202012Validator(schema).is_valid(value)
    except Exception:  # pylint: disable=broad-except
        return None


def run_suite(program, root):
    groups, rewritten = load_suite(root)
    answers = judge(program, [(s, [v for _, v, _ in tests]) for _, _, s, tests in groups])
    failures, used, count = [], set(), 0
    for (name, group, schema, tests), answer in zip(groups, answers):
        for i, (test, value, valid) in enumerate(tests):
            case = f"{name}: {group}: {test}"
            key = case if case in EXCLUDED else f"{name}: {group}"
            verdict = answer["verdicts"][i] if answer["verdicts"] else "; ".join(answer["problems"])
            count += 1
            if verdict is valid:
                continue
            if key in EXCLUDED:
                used.add(key)
            elif rewritten and "optional/" not in name and reference(schema, value) is not valid:
                print(f"  not kept by rewriting: {case}")
            else:
                failures.append(f"{case}: expected {valid}, got {verdict}")
    for name, group, _, tests in groups:
        for key in [f"{name}: {group}"] + [f"{name}: {group}: {test}" for test, _, _ in tests]:
            if key in EXCLUDED and key not in used:
                failures.append(f"{key}: is listed as excluded ({EXCLUDED[key]}) but passes")
                used.add(key)
    print(f"suite: {count} tests of {len(groups)} groups, {len(used)} cases excluded, {len(failures)} failures")
    return failures


class Maker:
    """Random schemas of the server's keywords and random values that come near them."""

    TEXTS = ["", "a", "ab", "abc", "b", "äö", "a.b", "1", "x-1", "\U0001F600"]
    NUMBERS = [0, 1, -1, 2, 3, 10, 1.5, 2.0, 0.25, 1e3, -2.5, 100, 12345678901234567890]
    KEYS = ["a", "b", "c", "ab"]

    def __init__(self, seed):
        self.r = random.Random(seed)

    def value(self, depth=3):
        kind = self.r.randrange(9 if depth else 6)
        if kind < 2:
            return self.r.choice(self.TEXTS)
        if kind < 4:
            return self.r.choice(self.NUMBERS)
        if kind == 4:
            return self.r.choice([True, False])
        if kind == 5:
            return None
        if kind == 6:
            return [self.value(depth - 1) for _ in range(self.r.randrange(4))]
        return {k: self.value(depth - 1) for k in self.KEYS if self.r.random() < 0.5}

    def simple(self):
        r = self.r
        return r.choice([
            lambda: {"type": r.choice(["string", "number", "integer", "boolean", "null", "array", "object"])},
            lambda: {"type": r.sample(["string", "number", "integer", "boolean", "null", "array", "object"], 2)},
            lambda: {"enum": [self.value(1) for _ in range(r.randrange(1, 5))]},
            lambda: {"const": self.value(2)},
            lambda: {r.choice(["minLength", "maxLength"]): r.randrange(4)},
            lambda: {r.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]): r.choice(self.NUMBERS)},
            lambda: {"multipleOf": r.choice([1, 2, 0.5, 0.25, 3, 5])},
            lambda: {"pattern": r.choice(["^a", "b$", "^a?b*$", "^(a|b)+$", "[^a]", "^[a-c.]{1,2}$", "^.$", "a|^b", "(?:ab){1,2}"])},
            lambda: {r.choice(["minItems", "maxItems", "minProperties", "maxProperties"]): r.randrange(4)},
            lambda: {"uniqueItems": True},
            lambda: {"required": r.sample(self.KEYS, r.randrange(3))},
            lambda: {"dependentRequired": {r.choice(self.KEYS): r.sample(self.KEYS, 2)}},
        ])()

    def schema(self, depth=3):
        r = self.r
        out = {}
        for _ in range(r.randrange(1, 4)):
            out.update(self.simple())
        if depth == 0:
            return r.choice([True, False]) if r.random() < 0.1 else out
        for _ in range(r.randrange(3)):
            out.update(r.choice([
                lambda: {"properties": {k: self.schema(depth - 1) for k in r.sample(self.KEYS, 2)}},
                lambda: {"patternProperties": {r.choice(["^a", "b", "^.$"]): self.schema(depth - 1)}},
                lambda: {"additionalProperties": self.schema(0)},
                lambda: {"propertyNames": self.schema(0)},
                lambda: {"items": self.schema(depth - 1)},
                lambda: {"prefixItems": [self.schema(depth - 1) for _ in range(r.randrange(1, 3))]},
                lambda: {r.choice(["allOf", "anyOf", "oneOf"]): [self.schema(depth - 1) for _ in range(r.randrange(1, 4))]},
                lambda: {"not": self.schema(depth - 1)},
                lambda: {"if": self.schema(0), "then": self.schema(depth - 1), "else": self.schema(depth - 1)},
            ])())
        if depth == 3 and r.random() < 0.3:
            out = {"$defs": {"d": self.schema(2), "list": {"items": {"anyOf": [{"$ref": "#/$defs/list"}, {"type": "null"}]}}},
                   "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"$ref": "#/$defs/list"}}, "anyOf": [out, {"$ref": "#/$defs/d"}]}
        return out


def run_random(program, count, seed):
    maker = Maker(seed)
    groups = []
    for _ in range(count):
        schema = maker.schema()
        groups.append((schema, [maker.value() for _ in range(8)]))
    failures, compared, valid = [], 0, 0
    for (schema, values), answer in zip(groups, judge(program, groups)):
        if answer["problems"]:
            failures.append(f"refused: {json.dumps(schema)}: {answer['problems']}")
            continue
        for value, verdict in zip(values, answer["verdicts"]):
            want = reference(schema, value)
            if want is None:
                continue
            compared += 1
            valid += want
            if verdict is not want:
                failures.append(f"seed {seed}: {json.dumps(schema)} with {json.dumps(value)}: expected {want}, got {verdict}")
    print(f"random: {compared} values compared ({valid} valid), seed {seed}, {len(failures)} failures")
    if compared < count or not compared > valid > 0:
        failures.append("random: too few values could be compared")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("judge")
    parser.add_argument("--suite", default=os.environ.get("JSON_SCHEMA_TEST_SUITE"))
    parser.add_argument("--random", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    load_excluded()
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("python3-jsonschema is not installed")
        return 77
    failures = run_random(args.judge, args.random, args.seed)
    roots = [p for p in [args.suite] + PLACES if p and os.path.isdir(os.path.join(p, "tests"))]
    if roots:
        failures += run_suite(args.judge, roots[0])
    else:
        print("the test suite is not here: install the package json-schema-test-suite, or set JSON_SCHEMA_TEST_SUITE")
    for line in failures[:200]:
        print("FAIL", line)
    if failures:
        return 1
    return 0 if roots else 77


if __name__ == "__main__":
    sys.exit(main())
