"""Says what is wrong with a value by a JSON schema, in little time.

Most values that tests look at are right, and python3-jsonschema takes longer to say so than the server takes to answer. python3-fastjsonschema
makes a Python function of a schema; what that function accepts is right. Whatever it refuses, and schemas with words that it does not know,
python3-jsonschema judges: it knows JSON Schema 2020-12 and says where the fault is.

Making such a function takes a tenth of a second, and many processes of a run want the same ones: where WHARF_TEST_PLACE names a folder they are kept
there, as Python keeps its modules.
"""
import functools
import hashlib
import json
import marshal
import os
import pathlib
import re
import sys
import threading

import fastjsonschema
import jsonschema

# Words that mean the same in Draft 7, which fastjsonschema speaks, and in 2020-12, and words that decide nothing.
COMPARED = {"$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maximum",
            "maxItems", "maxLength", "maxProperties", "minimum", "minItems", "minLength", "minProperties", "multipleOf", "not", "oneOf", "pattern",
            "properties", "propertyNames", "required", "type", "uniqueItems"}
SAID = {"$comment", "$id", "$schema", "default", "deprecated", "description", "discriminator", "examples", "readOnly", "title", "writeOnly"}
WHERE = "#/components/schemas/"
FORMATS = jsonschema.FormatChecker()


class Unknown(Exception):
    """A schema that only jsonschema judges."""


def plain(schema, shared, used):
    """The schema without words that decide nothing, and the shared schemas that it refers to, in `used`."""
    if isinstance(schema, bool):
        return schema
    kept = {}
    for word, value in schema.items():
        if word in SAID or word.startswith("x-"):
            continue
        if word not in COMPARED or (word == "$ref" and (len(set(schema) - SAID) > 1 or not value.startswith(WHERE))):
            raise Unknown(word)
        if word == "$ref":
            name = value[len(WHERE):]
            if name not in used:
                used[name] = None  # a schema may refer to itself
                used[name] = plain(shared[name], shared, used)
        elif word in ("items", "additionalProperties", "propertyNames", "not"):
            value = plain(value, shared, used)
        elif word in ("allOf", "anyOf", "oneOf"):
            value = [plain(v, shared, used) for v in value]
        elif word == "properties":
            value = {name: plain(v, shared, used) for name, v in value.items()}
        elif word == "pattern":
            # fastjsonschema writes \Z for every $, also where it is a character of a class.
            value = re.sub(r"\[(?:[^\]\\]|\\.)*\]", lambda m: re.sub(r"\\?\$", r"\\x24", m.group()), value)
        kept[word] = value
    return kept


def kept(kind, text, make):
    """The bytes that make() answers for the text, asked once in the folder of the run; they are not None."""
    place = os.environ.get("WHARF_TEST_PLACE")
    if not place:
        return make()
    file = pathlib.Path(place) / kind / hashlib.sha256((sys.version + fastjsonschema.VERSION + text).encode()).hexdigest()
    if file.exists():
        return file.read_bytes()
    made = make()
    file.parent.mkdir(exist_ok=True)
    whole = file.with_name(f"{file.name}.{os.getpid()}.{threading.get_ident()}")  # others may make the same one
    whole.write_bytes(made)
    whole.rename(file)
    return made


@functools.lru_cache(maxsize=400)  # one takes half a megabyte
def compiled(text):
    formats = {name: functools.partial(FORMATS.conforms, format=name) for name in set(re.findall(r'"format": "([^"]+)"', text))}

    def make():
        source = fastjsonschema.compile_to_code(json.loads(text), use_default=False, formats=formats)
        return marshal.dumps(compile(source, "<schema>", "exec"))
    made = {}
    exec(marshal.loads(kept("schemas", text, make)), made)
    return functools.partial(made["validate"], custom_formats=formats)


@functools.lru_cache(maxsize=None)
def check_schema(text):
    """Raises when the text is no JSON Schema 2020-12."""
    def make():
        jsonschema.Draft202012Validator.check_schema(json.loads(text))
        return b"fine"
    kept("schemas-checked", text, make)


class Schema:
    """One schema. shared: those that it refers to by #/components/schemas/NAME."""

    def __init__(self, schema, shared=None):
        self.schema, self.shared, self.fast = schema, shared or {}, None
        try:
            used = {}
            own = plain(schema, self.shared, used)
            self.fast = compiled(json.dumps({**own, "components": {"schemas": used}}, sort_keys=True))
        except Unknown:
            pass

    @functools.cached_property
    def slow(self):
        return jsonschema.Draft202012Validator(self.schema, resolver=jsonschema.RefResolver("", {"components": {"schemas": self.shared}}), format_checker=FORMATS)

    def faults(self, value):
        """What is wrong with the value, and where: an empty list if nothing."""
        if self.fast:
            try:
                self.fast(value)
                return []
            except fastjsonschema.JsonSchemaValueException:
                pass
        return [f"{e.message[:300]} at {list(e.absolute_path)}" for e in sorted(self.slow.iter_errors(value), key=str)]
