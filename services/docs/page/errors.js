// errors.js - adds to the page of error codes which operations answer with each, and the codes of modules where the server shows them to keys only.
import { html } from "./html.js";
import { load_json } from "./load.js";
import { read_document } from "./model.js";

const body = document.querySelector("#codes tbody");

function add_missing(errors) {
  for (const e of errors.filter((one) => !document.getElementById(one.code))) {
    body.insertAdjacentHTML("beforeend", String(html`<tr id="${e.code}"><th scope="row"><a href="#${e.code}"><code>${e.code}</code></a></th><td>${e.status}</td>
      <td>${e.cause}</td><td>${e.remedy}</td><td>${e.module ?? "platform"}</td></tr>`));
  }
}

/** Below the cause: the operations, folded when there are many. */
function add_operations(model) {
  const platform = new Set(model.errors);
  for (const row of body.rows) {
    const users = model.operations.filter((o) => o.errors.includes(row.id));
    const links = users.map((o) => html`<li><a href="/docs#operation/${encodeURIComponent(o.id)}">${o.summary}</a></li>`);
    const told = platform.has(row.id) && !users.length ? html`<p class="limits">any operation</p>`
      : users.length > 0 && html`<details class="inner"><summary>${users.length} ${users.length === 1 ? "operation" : "operations"}</summary><ul>${links}</ul></details>`;
    if (told) row.cells[2].insertAdjacentHTML("beforeend", String(told));
  }
}

const [told, description] = await Promise.all(["/docs/errors.json", "/v1/openapi.json"].map(load_json));
if (told) add_missing(told.errors);
if (description) add_operations(read_document(description));
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
