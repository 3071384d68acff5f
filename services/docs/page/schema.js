// schema.js - a JSON Schema as a tree to read, and as an example.
//
// References are not followed: they become a <details data-schema> that is filled when somebody opens it, so that schemas
// which hold themselves have an end.
import { html } from "./html.js";
import { inline } from "./markdown.js";
import { reference_name, resolve } from "./model.js";

const as_list = (v) => (Array.isArray(v) ? v : v === undefined ? [] : [v]);

/** The parts of a schema that stand side by side: anyOf, oneOf. */
const variants = (schema) => schema?.oneOf ?? schema?.anyOf ?? [];

/** Its allOf and its own members as one object schema; references of allOf are followed. */
export function merged(document, schema, depth = 0) {
  const parts = (schema?.allOf ?? []).map((p) => (depth < 8 ? merged(document, resolve(document, p), depth + 1) : {}));
  if (!parts.length) return schema ?? {};
  const { allOf, ...own } = schema;
  return [...parts, own].reduce((all, part) => ({
    ...all,
    ...part,
    properties: { ...all.properties, ...part.properties },
    required: [...new Set([...(all.required ?? []), ...(part.required ?? [])])],
  }), {});
}

/** The schema of the values of an object whose names are free; null: it has none. */
const map_of = (schema) => (typeof schema?.additionalProperties === "object" && !schema.properties ? schema.additionalProperties : null);

/** What a value is, in words: "string", "array of Contact", "map of string", "integer or null". */
export function type_words(schema) {
  if (schema === true || !schema) return "any";
  const name = reference_name(schema);
  if (name) return name;
  const nullable = variants(schema).some((v) => v.type === "null");
  const others = variants(schema).filter((v) => v.type !== "null");
  if (others.length) return [...new Set(others.map(type_words)), ...(nullable ? ["null"] : [])].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const types = as_list(schema.type);
  if (!types.length) return schema.enum ? "one of" : schema.properties || schema.allOf ? "object" : "any";
  return types.map((t) => (t === "array" && schema.items ? `array of ${type_words(schema.items)}` : t === "object" && map_of(schema) ? `map of ${type_words(map_of(schema))}` : t)).join(" or ");
}

const limits = [
  ["format", (v) => v],
  ["minLength", (v, s) => (s.maxLength !== undefined ? "" : `at least ${v} characters`)],
  ["maxLength", (v, s) => (s.minLength ? `${s.minLength} to ${v} characters` : `at most ${v} characters`)],
  ["minimum", (v) => `from ${v}`],
  ["exclusiveMinimum", (v) => `above ${v}`],
  ["maximum", (v) => `to ${v}`],
  ["exclusiveMaximum", (v) => `below ${v}`],
  ["multipleOf", (v) => `a multiple of ${v}`],
  ["minItems", (v) => (v === 1 ? "at least 1 item" : `at least ${v} items`)],
  ["maxItems", (v) => `at most ${v} items`],
  ["uniqueItems", (v) => v && "each item once"],
  ["maxProperties", (v) => `at most ${v} members`],
  ["pattern", (v) => `matches ${v}`],
  ["default", (v) => `default ${JSON.stringify(v)}`],
  ["readOnly", (v) => v && "only read"],
  ["writeOnly", (v) => v && "only written"],
  ["deprecated", (v) => v && "deprecated"],
];

/** What must hold of a value beside its type, in words. */
export function limit_words(schema) {
  const each = schema?.items ?? map_of(schema);
  const of_items = each && !reference_name(each) ? limit_words(each).map((w) => `each: ${w}`) : [];
  const of_variants = variants(schema).filter((v) => !reference_name(v) && v.type !== "null").flatMap(limit_words);
  return [...of_variants, ...limits.filter(([key]) => schema?.[key] !== undefined).map(([key, say]) => say(schema[key], schema)).filter(Boolean), ...of_items];
}

function values_of(schema) {
  const values = schema?.enum ?? schema?.items?.enum;
  return values && html`<span class="values">${values.map((v) => html`<code>${JSON.stringify(v)}</code> `)}</span>`;
}

/** The schemas below a value that have members of their own. */
function below(document, schema) {
  if (!schema || typeof schema !== "object") return [];
  if (reference_name(schema)) return [schema];
  if (variants(schema).length) return variants(schema).flatMap((v) => below(document, v));
  if (schema.items) return below(document, schema.items);
  if (schema.properties || schema.allOf) return [schema];
  return typeof schema.additionalProperties === "object" ? below(document, schema.additionalProperties) : [];
}

function opened(document, schema) {
  const name = reference_name(schema);
  if (name) return html`<details class="inner" data-schema="${name}"><summary>${name}</summary></details>`;
  return html`<details class="inner"><summary>Members</summary>${members(document, schema)}</details>`;
}

function field(document, name, schema, required) {
  const words = limit_words(schema);
  return html`<li class="field"><div class="line"><code class="name">${name}</code> <span class="type">${type_words(schema)}</span>
    ${required && html` <span class="required">required</span>`}${words.length > 0 && html` <span class="limits">${words.join(" · ")}</span>`}</div>
    ${schema?.description && html`<p>${inline(schema.description)}</p>`}${values_of(schema)}
    ${below(document, schema).map((s) => opened(document, s))}</li>`;
}

/** The members of an object as a list. */
export function members(document, schema) {
  const all = merged(document, resolve(document, schema));
  const required = new Set(all.required ?? []);
  const rows = Object.entries(all.properties ?? {}).map(([name, s]) => field(document, name, s, required.has(name)));
  if (typeof all.additionalProperties === "object") rows.push(field(document, "any other name", all.additionalProperties, false));
  return rows.length ? html`<ul class="fields">${rows}</ul>` : html`<p class="none">${type_words(all) === "object" ? "Its members are not described." : type_words(all)}</p>`;
}

/** A schema as a tree: what it is, and its members. A reference at the top is followed. */
export function schema_tree(document, schema) {
  const name = reference_name(schema);
  const one = merged(document, resolve(document, schema));
  const words = limit_words(one);
  const shown = one.properties || typeof one.additionalProperties === "object";
  return html`<div class="schema"><p class="line"><span class="type">${name ? html`<a href="#schema/${encodeURIComponent(name)}">${name}</a>` : type_words(one)}</span>
    ${words.length > 0 && html` <span class="limits">${words.join(" · ")}</span>`}</p>${values_of(one)}
    ${shown ? members(document, one) : below(document, one).map((s) => opened(document, s))}</div>`;
}

const by_format = { "date-time": "2026-01-31T08:30:00.000Z", date: "2026-01-31", email: "name@example.com", uri: "https://example.com/", ipv4: "192.0.2.1" };

function example_of_type(document, schema, depth, all) {
  const type = as_list(schema.type).find((t) => t !== "null") ?? (schema.properties ? "object" : schema.items ? "array" : "string");
  if (type === "object") return example_object(document, schema, depth, all);
  if (type === "array") return schema.items && depth < 5 ? [example(document, schema.items, depth + 1, all)] : [];
  if (type === "boolean") return true;
  if (type === "null") return null;
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  return by_format[schema.format] ?? "text";
}

function example_object(document, schema, depth, all) {
  if (depth > 5) return {};
  const names = Object.keys(schema.properties ?? {});
  const required = names.filter((n) => (schema.required ?? []).includes(n));
  const shown = all ? names : required.length ? required : names.filter((n) => !schema.properties[n]?.readOnly).slice(0, 3);
  return Object.fromEntries(shown.map((n) => [n, example(document, schema.properties[n], depth + 1, all)]));
}

/** A value that fits a schema, where the document gives no example. all: every member, as in answers; else what must be there. */
export function example(document, schema, depth = 0, all = false) {
  const one = merged(document, resolve(document, schema));
  for (const given of [one.example, one.examples?.[0], one.default, one.const, one.enum?.[0]]) {
    if (given !== undefined && given !== null) return given;
  }
  const first = variants(one).find((v) => v.type !== "null");
  return first && !one.properties ? example(document, first, depth + 1, all) : example_of_type(document, one, depth, all);
}
