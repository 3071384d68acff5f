// What services/docs/page makes of a document, without a browser: model, schemas, samples, search, Markdown, escaping. Run by test_page.py beside a
// copy of the page's scripts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { escape, html } from "./page/html.js";
import { first_sentence, markdown } from "./page/markdown.js";
import { data_schema, read_document, resolve, users_of } from "./page/model.js";
import { address, call_of, curl, python, typescript } from "./page/samples.js";
import { example, limit_words, merged, schema_tree, type_words } from "./page/schema.js";
import { search, search_index } from "./page/search.js";
import * as view from "./page/view.js";

const document = JSON.parse(readFileSync(new URL("rich.json", import.meta.url), "utf8"));
const model = read_document(document);
const codes = new Map([["box.broken", { code: "box.broken", status: 409, cause: "The box is broken <x-hostile>", remedy: "take another one" }]]);
const by_id = (id) => model.operations.find((o) => o.id === id);
const { Box } = document.components.schemas;

test("what is put into HTML is text", () => {
  assert.equal(String(html`<b>${`<i>"'&`}</b>`), "<b>&lt;i&gt;&quot;&#39;&amp;</b>");
  assert.equal(String(html`${[html`<i>${"<"}</i>`, "<", null, undefined, false, 0]}`), "<i>&lt;</i>&lt;0");
  assert.equal(String(html`${{ text: "<b>" }}`), "[object Object]");
  assert.equal(escape(7), "7");
});

test("groups stand in the order of the document; those that nobody describes come last", () => {
  assert.deepEqual(model.groups.map((g) => [g.name, g.title, g.operations.map((o) => o.id)]), [
    ["second", "second", ["list_boxes"]],
    ["a/b c", "Slash", ["retrieve_box", "update_box"]],
    ["nowhere", "nowhere", ["post_v1_boxes"]],
  ]);
});

test("an operation has the parameters of its path, and filters are no parameters", () => {
  assert.deepEqual(by_id("update_box").parameters.map((p) => [p.in, p.name]), [["path", "box"], ["query", "dry"], ["header", "If-Match"]]);
  const list = by_id("list_boxes");
  assert.deepEqual(list.parameters.map((p) => p.name), ["limit"]);
  assert.deepEqual(list.filters.map((f) => [f.name, f.description]), [["state", "One of the states"], ["size", undefined]]);
  assert.equal(by_id("post_v1_boxes").public, true);
});

test("an empty document is shown too", () => {
  for (const bare of [{}, { paths: { "/v1/x": { get: {} } } }]) {
    const m = read_document(bare);
    for (const o of m.operations) String(view.operation(m, o, new Map(), ""));
    String(view.overview(m)) + String(view.navigation(m)) + String(view.schemas(m));
  }
});

test("references are followed, also those that lead nowhere", () => {
  assert.equal(resolve(document, { $ref: "#/components/schemas/Box" }), Box);
  assert.deepEqual(resolve(document, { $ref: "#/components/schemas/None" }), {});
  assert.deepEqual(resolve(document, { $ref: "#/constructor/name" }), {});
  const round = { components: { schemas: { A: { $ref: "#/components/schemas/A" } } } };
  assert.equal(resolve(round, { $ref: "#/components/schemas/A" }).$ref, "#/components/schemas/A");
});

test("of an envelope the data are shown", () => {
  const schema = by_id("retrieve_box").answers[0].schema;
  assert.deepEqual(data_schema(document, schema), { $ref: "#/components/schemas/Box" });
  assert.equal(data_schema(document, { type: "object" }), null);
  assert.deepEqual(merged(document, schema).required, ["data", "status"]);
});

test("types in words", () => {
  const words = Object.fromEntries(Object.entries(Box.properties).map(([k, s]) => [k, type_words(s)]));
  assert.deepEqual(words, { id: "string", name: "string or null", inside: "array of Box", state: "string", size: "object", owner: "Owner or null", labels: "map of string" });
  assert.deepEqual([type_words({}), type_words(true), type_words({ const: "x" }), type_words({ enum: [1] })], ["any", "any", '"x"', "one of"]);
});

test("limits in words", () => {
  assert.deepEqual(limit_words(Box.properties.name), ["1 to 20 characters"]);
  assert.deepEqual(limit_words(Box.properties.inside), ["at most 5 items"]);
  assert.deepEqual(limit_words(Box.properties.size.properties.width), ["above 0"]);
  assert.deepEqual(limit_words({ type: "array", items: { type: "string", maxLength: 3 } }), ["each: at most 3 characters"]);
  assert.deepEqual(limit_words({ anyOf: [{ type: "integer", minimum: 1, maximum: 1000 }, { type: "string", enum: ["all"] }, { type: "null" }], default: 10 }), ["from 1", "to 1000", "default 10"]);
});

test("a schema that holds itself has an end: what it names is opened later", () => {
  const tree = String(schema_tree(document, { $ref: "#/components/schemas/Box" }));
  assert.match(tree, /<details class="inner" data-schema="Box"><summary>Box<\/summary><\/details>/);
  assert.match(tree, /<details class="inner" data-schema="Owner">/);
  assert.match(tree, /<code class="name">width<\/code> <span class="type">number<\/span>\s*<span class="required">required/);
  assert.match(tree, /map of string<\/span>\s*<span class="limits">each: at most 9 characters/);
  assert.deepEqual(Object.keys(example(document, { $ref: "#/components/schemas/Box" }, 0, true)), Object.keys(Box.properties));
});

test("examples fit their schemas", () => {
  assert.deepEqual(example(document, { $ref: "#/components/schemas/Owner" }), { email: "name@example.com" });
  assert.deepEqual(example(document, { type: "object", properties: { a: { type: "integer", minimum: 3 }, b: { type: "string", format: "date-time" } }, required: ["a"] }), { a: 3 });
  assert.deepEqual(example(document, { type: ["null", "boolean"] }), true);
  assert.deepEqual(example(document, { type: "string", enum: ["x", "y"] }), "x");
});

test("a call as curl, TypeScript and Python", () => {
  const o = by_id("update_box");
  const call = call_of(model, o);
  assert.equal(address(o, call), "/v1/boxes/box%201?dry=true");
  assert.equal(curl(o, call, "http://h"), `curl -X POST 'http://h/v1/boxes/box%201?dry=true' \\
  -H "SVC-API-KEY: $WHARF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{
  "name": "it'\\''s <x-hostile>",
  "open": true,
  "inside": null
}'`);
  assert.equal(typescript(o, call), `await wharf.update_box({
  path: {
    box: "box 1",
  },
  query: {
    dry: true,
  },
  body: {
    name: "it's <x-hostile>",
    open: true,
    inside: null,
  },
})`);
  assert.equal(python(o, call), `wharf.update_box("box 1", body={
    "name": "it's <x-hostile>",
    "open": True,
    "inside": None,
}, dry=True)`);
});

test("a call without parts, and one with a file", () => {
  const list = by_id("list_boxes"), file = by_id("post_v1_boxes");
  assert.equal(typescript(list, call_of(model, list)), "await wharf.list_boxes()");
  assert.equal(python(list, call_of(model, list)), "wharf.list_boxes()");
  assert.equal(curl(list, call_of(model, list), ""), `curl '/v1/boxes' \\\n  -H "SVC-API-KEY: $WHARF_KEY"`);
  assert.equal(curl(file, call_of(model, file), ""), "curl -X POST '/v1/boxes' \\\n  -H 'Upload-Offset: 0' \\\n  -H 'Content-Type: application/octet-stream' \\\n  --data-binary @FILE");
  assert.match(typescript(file, call_of(model, file)), /^  headers: \{\n    "Upload-Offset": "0",\n  \},$/m);
  assert.match(python(file, call_of(model, file)), /headers=\{\n    "Upload-Offset": "0",\n\}\)$/);
});

test("search finds operations, fields, schemas, events and codes; all words must fit", () => {
  const index = search_index(model, [...codes.values()]);
  const found = (text) => search(index, text).map((e) => [e.kind, e.title, e.address]);
  assert.deepEqual(found("box.broken")[0], ["error", "box.broken", "/docs/errors#box.broken"]);
  assert.deepEqual(found("width"), []); // inside of an object of Box
  assert.deepEqual(found("owner")[0].slice(0, 2), ["schema", "Owner"]);
  assert.deepEqual(found("email"), [["field", "email", "#schema/Owner"]]);
  assert.deepEqual(found("list boxes")[0], ["operation", "List boxes", "#operation/list_boxes"]);
  assert.deepEqual(found("opened").find(([kind]) => kind === "event"), ["event", "box.opened", "#webhook/box.opened"]);
  assert.ok(found("STATE list").length === 0 && found("state boxes").length > 0);
  assert.deepEqual([found(""), found("nothing-of-this")], [[], []]);
});

test("who uses a schema", () => {
  assert.deepEqual(users_of(model, "Box").map((o) => o.id), ["retrieve_box"]);
  assert.deepEqual(users_of(model, "BoxUpdate").map((o) => o.id), ["update_box"]);
});

test("Markdown", () => {
  const made = String(markdown(document.tags[2].description));
  assert.match(made, /<h4>Head<\/h4>/);
  assert.match(made, /<ul><li>one<\/li><li><strong>two<\/strong><\/li><\/ul>/);
  assert.match(made, /<td><code>x<\/code><\/td><td>&lt;x-hostile&gt;<\/td>/);
  assert.match(made, /<pre><code>&lt;x-hostile&gt;<\/code><\/pre>/);
  assert.match(made, /<a href="https:\/\/example.com\/">good<\/a>/);
  assert.doesNotMatch(made, /href="(javascript|\/\/)/i);
  assert.equal(String(markdown("a\nb:\n- c\n  d\n1. e")), "<p>a b:</p><ul><li>c d</li><li>e</li></ul>");
  assert.equal(String(markdown("2 * 3 * 4, `a*b*`, [x]")), "<p>2 * 3 * 4, <code>a*b*</code>, [x]</p>");
  assert.equal(String(markdown("```\nopen")), "<pre><code>open</code></pre>");
  assert.deepEqual([first_sentence("One `two`. Three.\n\nFour."), first_sentence("v1.2 of it"), first_sentence(undefined)], ["One two.", "v1.2 of it", ""]);
});

test("Markdown loses nothing of a text that only begins marks", () => {
  for (const text of ["[".repeat(200) + "(", "`", "[a](b c)", "**", "|"]) assert.equal(String(markdown(text)), `<p>${text}</p>`);
});

test("no view lets anything of the document become markup", () => {
  const made = [
    view.overview(model), view.navigation(model), view.schemas(model), view.events(model), ...model.groups.map(view.group),
    ...model.operations.map((o) => view.operation(model, o, codes, "http://<x-hostile>")), ...model.events.map((e) => view.event(model, e)),
    ...Object.keys(model.schemas).map((name) => view.schema(model, name)), view.unknown("<x-hostile>"),
    view.search_results(search(search_index(model, [...codes.values()]), "<x-hostile>")),
  ].map(String);
  assert.equal(made.filter((m) => m.includes("&lt;x-hostile")).length > 8, true);
  for (const m of made) assert.doesNotMatch(m, /<x-hostile|href="javascript:/);
});

test("an operation says its scope, its locations, its errors, its filters", () => {
  const get = String(view.operation(model, by_id("retrieve_box"), codes, ""));
  assert.match(get, /<code>boxes:read<\/code>/);
  assert.match(get, /<code>row<\/code>: the key must reach the location of the row/);
  assert.match(get, /<a href="\/docs\/errors#box.broken"><code>box.broken<\/code><\/a> <span class="limits">409 · The box is broken/);
  assert.doesNotMatch(get, /errors#not_found/); // of the platform, which any operation may answer
  const list = String(view.operation(model, by_id("list_boxes"), codes, ""));
  assert.match(list, /enum or null/);
  assert.match(list, /<code>in<\/code> <code>!in<\/code>/);
  assert.match(list, /<code>gte<\/code> <code>&lt;x-hostile&gt;<\/code>/);
  assert.match(list, /any key/);
});

test("schemas that are not there have no view", () => {
  assert.equal(view.schema(model, "None"), null);
  assert.equal(view.schema(model, "constructor"), null);
});
