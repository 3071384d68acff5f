// search.js - finds operations, fields, error codes, schemas and events by words.
import { merged } from "./schema.js";
import { resolve } from "./model.js";

/** What is found, in the order in which equal finds are shown; weight: what its kind counts. */
function entry(kind, weight, title, note, address, more = "") {
  return { kind, weight, title, note, address, name: title.toLowerCase(), text: `${kind} ${title} ${note} ${more}`.toLowerCase() };
}

function of_operation(o) {
  return [entry("operation", 30, o.summary, `${o.method} ${o.path}`, `#operation/${encodeURIComponent(o.id)}`, `${o.id} ${o.group} ${o.scope ?? ""} ${o.description ?? ""}`),
    ...[...o.parameters, ...o.filters].filter((p) => p.in !== "path").map((p) =>
      entry("parameter", 5, p.name, `${o.method} ${o.path}`, `#operation/${encodeURIComponent(o.id)}`, p.description ?? ""))];
}

function of_schema(model, name) {
  const fields = merged(model.document, resolve(model.document, model.schemas[name])).properties ?? {};
  const address = `#schema/${encodeURIComponent(name)}`;
  return [entry("schema", 20, name, "", address), ...Object.entries(fields).map(([field, s]) => entry("field", 10, field, `in ${name}`, address, s?.description ?? ""))];
}

/** Everything that can be found. codes: of /docs/errors.json, {code, status, cause, remedy}. */
export function search_index(model, codes) {
  return [
    ...model.groups.map((g) => entry("section", 25, g.title, "", `#tag/${encodeURIComponent(g.name)}`, g.description)),
    ...model.operations.flatMap(of_operation),
    ...model.events.map((e) => entry("event", 20, e.type, e.summary, `#webhook/${encodeURIComponent(e.type)}`, e.description)),
    ...codes.map((c) => entry("error", 20, c.code, `${c.status} ${c.cause}`, `/docs/errors#${encodeURIComponent(c.code)}`, c.remedy)),
    ...Object.keys(model.schemas).flatMap((name) => of_schema(model, name)),
  ];
}

/** How well an entry fits the words; 0: not all of them are in it. */
function score(e, words) {
  let sum = e.weight;
  for (const word of words) {
    if (!e.text.includes(word)) return 0;
    sum += e.name === word ? 60 : e.name.startsWith(word) ? 30 : e.name.includes(word) ? 20 : 0;
  }
  return sum;
}

/** The entries that have all words of a text in them, the best first. */
export function search(index, text, most = 40) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return index.map((e) => [score(e, words), e]).filter(([s]) => s).sort((a, b) => b[0] - a[0]).slice(0, most).map(([, e]) => e);
}
