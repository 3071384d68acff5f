// Writes src/api.d.ts and src/operations.ts from the description of a server, so that the types are those of its modules.
//
//   node generate.mjs https://wharf.example.com        (WHARF_KEY, when the server asks for a key)
//   node generate.mjs openapi.json
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const from = process.argv[2];
if (!from) {
  console.error("usage: node generate.mjs URL-OF-THE-SERVER | openapi.json");
  process.exit(2);
}

async function description() {
  if (!/^https?:/.test(from)) return JSON.parse(await readFile(from, "utf8"));
  const answer = await fetch(new URL("/v1/openapi.json", from), { headers: process.env.WHARF_KEY ? { "SVC-API-KEY": process.env.WHARF_KEY } : {} });
  if (!answer.ok) throw new Error(`${from} answered ${answer.status}`);
  return answer.json();
}

const document = await description();
const table = {};
const keyed = (parameter) => parameter.$ref === "#/components/parameters/IdempotencyKey";
for (const [path, methods] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(methods)) {
    const types = Object.keys(operation.requestBody?.content ?? {});
    const json = Object.entries(operation.responses).some(([status, r]) => status[0] === "2" && r.content?.["application/json"]?.schema?.properties?.data);
    table[operation.operationId] = { method: method.toUpperCase(), path, ...(types.length && types[0] !== "application/json" ? { type: types[0] } : {}), ...(json ? {} : { bytes: true }), ...((operation.parameters ?? []).some(keyed) ? { keyed: true } : {}) };
  }

const here = new URL("./src/", import.meta.url);
await writeFile(new URL("api.d.ts", here), astToString(await openapiTS(document)));
await writeFile(new URL("operations.ts", here), `// Written by generate.mjs: how each operation is called.
export interface Call { readonly method: string; readonly path: string; readonly type?: string; readonly bytes?: boolean; readonly keyed?: boolean }
export const calls: Readonly<Record<string, Call>> = ${JSON.stringify(table, null, 1)};
`);
console.log(`${Object.keys(table).length} operations`);
