// model.js - the OpenAPI document as lists that are easy to show: groups, operations, events. What the document lacks is left out.

const methods = ["get", "post", "put", "patch", "delete"];

/** Follows references of the document, "#/components/..." only. */
export function resolve(document, node) {
  for (let i = 0; i < 20 && node && typeof node.$ref === "string"; i++) {
    node = node.$ref.replace(/^#\//, "").split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce((at, key) => (at && Object.hasOwn(at, key) ? at[key] : undefined), document);
  }
  return node ?? {};
}

export const reference_name = (node) => (typeof node?.$ref === "string" ? node.$ref.split("/").pop() : null);

/** Of the content of a body or an answer: the JSON form, else the first one. */
function content_of(document, node) {
  const content = resolve(document, node).content ?? {};
  const type = Object.keys(content).find((t) => t === "application/json") ?? Object.keys(content)[0];
  return type ? { type, ...content[type] } : null;
}

/** The first example of a body or an answer; undefined when there is none. */
function example_of_content(document, content) {
  if (content?.example !== undefined) return content.example;
  return content?.examples && resolve(document, Object.values(content.examples)[0]).value;
}

function body_of(document, node) {
  const content = content_of(document, node);
  return content && { type: content.type, schema: content.schema ?? {}, required: resolve(document, node).required === true, example: example_of_content(document, content) };
}

function answers_of(document, responses) {
  return Object.entries(responses ?? {}).map(([status, node]) => {
    const content = content_of(document, node);
    return { status, description: resolve(document, node).description ?? "", type: content?.type, schema: content?.schema, example: example_of_content(document, content) };
  });
}

/** What of an answer is its own: of an envelope the member data, else the whole. */
export function data_schema(document, schema) {
  for (const part of resolve(document, schema).allOf ?? [schema]) {
    const data = resolve(document, part).properties?.data;
    if (data && Object.keys(data).length) return data;
  }
  return null;
}

function operation(document, path, method, node, shared) {
  const parameters = [...shared, ...(node.parameters ?? [])].map((p) => resolve(document, p)).filter((p) => p.name);
  const filters = Array.isArray(node["x-filters"]) ? node["x-filters"] : [];
  const filtered = new Set(filters.map((f) => f.name));
  return {
    id: node.operationId ?? `${method}${path.replace(/[^A-Za-z0-9]+/g, "_")}`,
    method: method.toUpperCase(),
    path,
    group: node.tags?.[0] ?? "other",
    summary: node.summary ?? `${method.toUpperCase()} ${path}`,
    description: node.description ?? "",
    deprecated: node.deprecated === true,
    public: Array.isArray(node.security) && node.security.length === 0,
    scope: node["x-scope"] ?? null,
    location: node["x-location-policy"] ?? null,
    errors: Array.isArray(node["x-errors"]) ? node["x-errors"] : [],
    filters: filters.map((f) => ({ description: parameters.find((p) => p.in === "query" && p.name === f.name)?.description, ...f })),
    parameters: parameters.filter((p) => !(p.in === "query" && filtered.has(p.name))),
    body: body_of(document, node.requestBody),
    answers: answers_of(document, node.responses),
    raw: node,
  };
}

function operations_of(document) {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    methods.filter((m) => item[m]).map((m) => operation(document, path, m, item[m], item.parameters ?? [])));
}

function events_of(document) {
  return Object.entries(document.webhooks ?? {}).map(([type, item]) => {
    const node = item.post ?? Object.values(item)[0] ?? {};
    return { type, group: type.split(".")[0], summary: node.summary ?? type, description: node.description ?? "", scope: node["x-scope"] ?? null, body: body_of(document, node.requestBody) };
  });
}

/** Groups in the order of the document, without those that have no operation; behind them those that only operations name. */
function groups_of(document, operations) {
  const known = (document.tags ?? []).map((t) => ({ name: t.name, title: t["x-displayName"] ?? t.name, description: t.description ?? "" }));
  for (const o of operations) {
    if (!known.some((g) => g.name === o.group)) known.push({ name: o.group, title: o.group, description: "" });
  }
  return known.map((g) => ({ ...g, operations: operations.filter((o) => o.group === g.name) })).filter((g) => g.operations.length);
}

export function read_document(document) {
  const operations = operations_of(document);
  return {
    document,
    title: document.info?.title ?? "API",
    description: document.info?.description ?? "",
    version: document.info?.version ?? "",
    operations,
    groups: groups_of(document, operations),
    events: events_of(document),
    schemas: document.components?.schemas ?? {},
    errors: Array.isArray(document["x-errors"]) ? document["x-errors"] : [],
  };
}

/** The operations whose parameters, body or answers name a schema. */
export function users_of(model, name) {
  const mark = `"#/components/schemas/${name}"`;
  return model.operations.filter((o) => JSON.stringify(o.raw).includes(mark));
}
