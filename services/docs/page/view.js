// view.js - the views of the reference as HTML: navigation, overview, group, operation, event, schema.
import { html } from "./html.js";
import { first_sentence, inline, markdown } from "./markdown.js";
import { data_schema, users_of } from "./model.js";
import { address, call_of, languages } from "./samples.js";
import { example, limit_words, schema_tree, type_words } from "./schema.js";

const to = (kind, name) => `#${kind}/${encodeURIComponent(name)}`;
const method = (m) => html`<span class="method ${m.toLowerCase()}">${m}</span>`;
const json = (value) => html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`;

/** What the location policy of an operation means (docs/spec/01-platform.md section 7). */
const policies = {
  none: "locations do not matter",
  row: "the key must reach the location of the row",
  via: "the key must reach the location of the row above",
  multi: "the key must reach one of the locations of the row",
  body: "the key must reach the locations that the body names",
};

// ---- navigation ----

export function navigation(model) {
  const link = (kind, name, title) => html`<li><a href="${to(kind, name)}">${title}</a></li>`;
  const part = (address_of, title, rows) => html`<details><summary><a href="${address_of}">${title}</a></summary><ul>${rows}</ul></details>`;
  return html`${model.groups.map((g) => part(to("tag", g.name), g.title, g.operations.map((o) => link("operation", o.id, o.summary))))}
    ${model.events.length > 0 && part("#events", "Event types", model.events.map((e) => link("webhook", e.type, e.type)))}
    ${part("#schemas", "Schemas", Object.keys(model.schemas).map((name) => link("schema", name, name)))}`;
}

export function search_results(found) {
  if (!found.length) return html`<p class="none">Nothing has these words.</p>`;
  return html`<ul class="found">${found.map((e) => html`<li><a href="${e.address}"><span class="kind">${e.kind}</span> ${e.title} <small>${e.note}</small></a></li>`)}</ul>`;
}

// ---- operations ----

/** A list of operations or events: heads that open. page.js fills what is opened. */
const head = (kind, name, line) => html`<details class="operation" id="${kind}/${encodeURIComponent(name)}" data-kind="${kind}" data-name="${name}"><summary>${line}</summary></details>`;

const operation_head = (o) => head("operation", o.id, html`${method(o.method)} <code class="path">${o.path}</code>
  <span class="summary">${o.summary}</span>${o.deprecated && html` <span class="deprecated">deprecated</span>`}`);

function facts(o) {
  return html`<dl class="facts">
    <dt>Scope</dt><dd>${o.scope ? html`<code>${o.scope}</code>` : o.public ? "no key is needed" : "any key"}</dd>
    ${o.location && html`<dt>Locations</dt><dd><code>${o.location}</code>${policies[o.location] && html`: ${policies[o.location]}`}</dd>`}
    <dt>Name</dt><dd><code>${o.id}</code></dd></dl>`;
}

function parameter_row(p) {
  const words = limit_words(p.schema);
  const values = p.schema?.enum;
  return html`<tr><th scope="row"><code>${p.name}</code>${p.required && html` <span class="required">required</span>`}</th><td>${type_words(p.schema)}</td>
    <td>${inline(p.description ?? p.schema?.description ?? "")}${words.length > 0 && html` <span class="limits">${words.join(" · ")}</span>`}
      ${values && html`<span class="values">${values.map((v) => html`<code>${String(v)}</code> `)}</span>`}</td></tr>`;
}

function parameters(o) {
  return ["path", "query", "header"].map((place) => {
    const rows = o.parameters.filter((p) => p.in === place);
    return rows.length > 0 && html`<h4>${place[0].toUpperCase() + place.slice(1)} parameters</h4><div class="wide"><table class="stack">
      <thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.map(parameter_row)}</tbody></table></div>`;
  });
}

function filter_row(f) {
  const words = (f.operators ?? "").split(" ").filter(Boolean);
  return html`<tr><th scope="row"><code>${f.name}</code></th><td>${f.type}${f.ref && html` of ${f.ref}`}${f.nullable && " or null"}</td>
    <td>${words.map((w) => html`<code>${w}</code> `)}</td>
    <td>${f.members ? html`<span class="values">${f.members.map((m) => html`<code>${m}</code> `)}</span>` : inline(f.description ?? "")}</td></tr>`;
}

function filters(o) {
  return o.filters.length > 0 && html`<h4>Filters</h4><p>All filters of a request must hold. <a href="/docs/guides/filters">How filters are written</a></p><div class="wide"><table class="stack">
    <thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Operators</th><th scope="col">Values</th></tr></thead>
    <tbody>${o.filters.map(filter_row)}</tbody></table></div>`;
}

function errors(o, model, codes) {
  const line = (code) => html`<li><a href="/docs/errors#${encodeURIComponent(code)}"><code>${code}</code></a>${codes.has(code) && html` <span class="limits">${codes.get(code).status} · ${codes.get(code).cause}</span>`}</li>`;
  const own = o.errors.filter((code) => !model.errors.includes(code));
  return html`<h4>Errors</h4>${own.length > 0 && html`<ul class="errors">${own.map(line)}</ul>`}
    ${model.errors.length > 0 && html`<p>${own.length ? "Also" : "It answers with"} the <a href="/docs/errors">codes of the platform</a>, which any operation may answer with.</p>`}`;
}

function answer(model, a) {
  const data = data_schema(model.document, a.schema);
  return html`<h4>Answer ${a.status}</h4>${a.description && html`<p>${inline(a.description)}${data && html`; <code>data</code> is:`}</p>`}
    ${a.schema && a.type && !/json/.test(a.type) ? html`<p><code>${a.type}</code></p>` : a.schema && schema_tree(model.document, data ?? a.schema)}`;
}

function code_samples(o, call, origin) {
  return html`<div class="samples"><div class="tabs" role="tablist" aria-label="Language">${languages.map((l) => html`<button type="button" role="tab" data-language="${l.name}">${l.name}</button>`)}</div>
    ${languages.map((l) => html`<div role="tabpanel" data-language="${l.name}" aria-label="${l.name}"><button type="button" class="copy">Copy</button><pre><code>${l.make(o, call, origin)}</code></pre></div>`)}</div>`;
}

function example_answer(model, o) {
  const good = o.answers.find((a) => /^2/.test(a.status) && /json/.test(a.type ?? ""));
  if (!good) return null;
  const data = data_schema(model.document, good.schema);
  const shown = good.example !== undefined ? good.example : example(model.document, data ?? good.schema ?? {}, 0, true);
  return html`<h4>Example answer${data && good.example === undefined && html`: <code>data</code>`}</h4>${json(shown)}`;
}

export function operation(model, o, codes, origin) {
  const call = call_of(model, o);
  return html`<div class="two"><div class="told">${markdown(o.description)}${facts(o)}${parameters(o)}${filters(o)}
      ${o.body && html`<h4>Body${o.body.required && html` <span class="required">required</span>`}</h4>${call.json ? schema_tree(model.document, o.body.schema) : html`<p><code>${o.body.type}</code></p>`}`}
      ${o.answers.filter((a) => /^[23]/.test(a.status)).map((a) => answer(model, a))}${errors(o, model, codes)}</div>
    <div class="shown"><h4>Request</h4><p class="line">${method(o.method)} <code class="path">${address(o, call)}</code></p>${code_samples(o, call, origin)}
      ${example_answer(model, o)}</div></div>`;
}

export function event(model, e) {
  const shown = e.body && (e.body.example !== undefined ? e.body.example : example(model.document, e.body.schema, 0, true));
  return html`<div class="two"><div class="told">${markdown(e.description)}${e.scope && html`<dl class="facts"><dt>Scope</dt><dd><code>${e.scope}</code></dd></dl>`}
      ${e.body && html`<h4>Body</h4>${schema_tree(model.document, e.body.schema)}`}</div>
    <div class="shown">${e.body && html`<h4>Example</h4>${json(shown)}`}</div></div>`;
}

// ---- whole views ----

const event_head = (e) => head("webhook", e.type, html`<code class="path">${e.type}</code> <span class="summary">${e.summary === e.type ? "" : e.summary}</span>`);

export function group(g) {
  return html`<h1>${g.title}</h1>${markdown(g.description)}${g.operations.map(operation_head)}`;
}

export function events(model) {
  return html`<h1>Event types</h1><p>Each event is sent to the webhooks that want it. <a href="/docs/guides/events-and-webhooks">How to receive and check them</a></p>
    ${model.events.map(event_head)}`;
}

export function schema(model, name) {
  if (!Object.hasOwn(model.schemas, name)) return null;
  const users = users_of(model, name);
  return html`<h1>${name}</h1>${markdown(model.schemas[name].description)}${schema_tree(model.document, model.schemas[name])}
    ${users.length > 0 && html`<h2>Used by</h2><ul>${users.map((o) => html`<li><a href="${to("operation", o.id)}">${o.summary}</a></li>`)}</ul>`}
    <h2>Example</h2>${json(example(model.document, model.schemas[name], 0, true))}`;
}

export function schemas(model) {
  return html`<h1>Schemas</h1><ul class="plain">${Object.keys(model.schemas).map((name) => html`<li><a href="${to("schema", name)}">${name}</a></li>`)}</ul>`;
}

export function overview(model) {
  return html`<h1>${model.title}</h1>${markdown(model.description)}
    <p>Begin with <a href="/docs/guides/first-request">the first request</a>; the <a href="/docs/guides">guides</a> tell of keys, lists, retries and events,
      the <a href="/docs/errors">error codes</a> what went wrong. The document behind this page: <a href="/v1/openapi.json">openapi.json</a>.</p>
    <div class="groups">${model.groups.map((g) => html`<section><h2><a href="${to("tag", g.name)}">${g.title}</a></h2><p>${first_sentence(g.description)}</p>
      <p class="count">${g.operations.length} ${g.operations.length === 1 ? "operation" : "operations"}</p></section>`)}</div>`;
}

export function unknown(name) {
  return html`<h1>Not here</h1><p>This server has no <code>${name}</code>. Perhaps its module is not loaded; <a href="#">begin at the overview</a> or search.</p>`;
}
