// samples.js - a call of an operation as curl, TypeScript and Python. One function per language; call_of() says what is sent.
import { example } from "./schema.js";

/** What a sample sends: values of the path, query parameters and headers that must be there, the body. */
export function call_of(model, operation) {
  const sent = (place) => Object.fromEntries(operation.parameters.filter((p) => p.in === place && (p.required || place === "path"))
    .map((p) => [p.name, p.example ?? p.schema?.example ?? p.schema?.examples?.[0] ?? p.schema?.enum?.[0] ?? (place === "path" ? "ID" : "text")]));
  const body = operation.body;
  return {
    path: sent("path"),
    query: sent("query"),
    headers: Object.fromEntries(Object.entries(sent("header")).map(([name, value]) => [name, String(value)])),
    body: body && (body.example !== undefined ? body.example : example(model.document, body.schema)),
    json: !body || /json/.test(body.type),
  };
}

const quoted_shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The address with the values of the path and the query in it. */
export function address(operation, call) {
  const path = operation.path.replace(/\{([^}]+)\}/g, (whole, name) => (name in call.path ? encodeURIComponent(call.path[name]) : whole));
  const query = new URLSearchParams(call.query).toString();
  return path + (query ? `?${query}` : "");
}

export function curl(operation, call, origin) {
  const lines = [`curl ${operation.method === "GET" ? "" : `-X ${operation.method} `}${quoted_shell(origin + address(operation, call))}`];
  if (!operation.public) lines.push('-H "SVC-API-KEY: $WHARF_KEY"');
  for (const [name, value] of Object.entries(call.headers)) lines.push(`-H ${quoted_shell(`${name}: ${value}`)}`);
  if (operation.body && call.json) lines.push("-H 'Content-Type: application/json'", `-d ${quoted_shell(JSON.stringify(call.body, null, 2))}`);
  else if (operation.body) lines.push(`-H ${quoted_shell(`Content-Type: ${operation.body.type}`)}`, "--data-binary @FILE");
  return lines.join(" \\\n  ");
}

/** A value as source text. style: step, what a level is indented by; words, how null, true and false are written; key, how the name of a member is. */
function literal(value, style, indent = "") {
  const inner = indent + style.step;
  if (value === null || typeof value === "boolean") return style.words[value];
  if (Array.isArray(value)) return value.length ? `[\n${value.map((v) => `${inner}${literal(v, style, inner)},\n`).join("")}${indent}]` : "[]";
  if (typeof value === "object") {
    const rows = Object.entries(value).map(([k, v]) => `${inner}${style.key(k)}: ${literal(v, style, inner)},\n`);
    return rows.length ? `{\n${rows.join("")}${indent}}` : "{}";
  }
  return JSON.stringify(value);
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const in_typescript = { step: "  ", words: { null: "null", true: "true", false: "false" }, key: (k) => (identifier.test(k) ? k : JSON.stringify(k)) };
const in_python = { step: "    ", words: { null: "None", true: "True", false: "False" }, key: (k) => JSON.stringify(k) };

export function typescript(operation, call) {
  const sent = ["path", "query", "headers"].filter((place) => Object.keys(call[place]).length).map((place) => [place, call[place]]);
  const parts = { ...Object.fromEntries(sent), ...(operation.body && { body: call.body }) };
  return `await wharf.${operation.id}(${Object.keys(parts).length ? literal(parts, in_typescript) : ""})`;
}

/** Values of the path by their place, all else by name. */
export function python(operation, call) {
  const named = { ...(operation.body && { body: call.body }), ...call.query, ...(Object.keys(call.headers).length && { headers: call.headers }) };
  const given = [...Object.values(call.path).map((v) => literal(v, in_python)),
    ...Object.entries(named).map(([k, v]) => `${k.replace(/\W/g, "_")}=${literal(v, in_python)}`)];
  return `wharf.${operation.id}(${given.join(", ")})`;
}

export const languages = [
  { name: "curl", make: curl },
  { name: "TypeScript", make: typescript },
  { name: "Python", make: python },
];
