// A day in a mail room by the generated client: what a developer would write first. The test runs it against a live server.
import { createServer } from "node:http";
import { wharf, WharfError, verifyWebhook, WebhookError } from "@wharf/client";

const env = process.env as Record<string, string>;
const server = wharf({ baseUrl: env.WHARF_BASE!, key: env.WHARF_KEY! });

function check(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

// Receives webhooks, and refuses those whose signature is wrong.
let secret = "";
const received: { type: string; resource_id: string }[] = [];
const refused: string[] = [];
const receiver = createServer((request, answer) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", async () => {
    const headers = { get: (name: string) => (request.headers[name] as string | undefined) ?? null };
    try {
      received.push(await verifyWebhook(secret, headers, Buffer.concat(parts).toString()));
      answer.writeHead(200).end();
    } catch (error) {
      refused.push(String(error));
      answer.writeHead(401).end();
    }
  });
});
await new Promise<void>((listening) => receiver.listen(Number(env.WHARF_HOOK_PORT), "127.0.0.1", listening));

const webhook = await server.create_webhook({ body: { url: `http://127.0.0.1:${env.WHARF_HOOK_PORT}/hook`, events: ["shipment.created"] } });
secret = (await server.retrieve_webhook_secret({ path: { webhook: webhook.id } })).secret!;

const location = await server.create_location({ body: { name: "Mail room", address: { line1: "1 Main St", city: "Springfield", country_code: "US" } } });
const station = await server.create_print_station({
  body: {
    name: "DOCK-1", display_name: "Dock 1", location_id: location.id, device_token: "token",
    printers: [{ name: "Zebra", model: "ZD421", configuration: { port: 9100 }, page_size: { label_4x6: true } }],
  },
});
const job = await server.create_print_job({ body: { location_id: location.id, data: env.WHARF_PDF!, name: "Label" } });
check(job.status === "queued" && station.printers.length === 1, "a job waits for its station");

const contact = await server.create_contact({ body: { name: "Ann Smith", email: "ann@example.com" } });
check("id" in contact && contact.object === "contact", "a contact");
const shipment = await server.create_shipment({ body: { tracking_number: "1Z999AA10123456784", location_id: location.id } });
const tracker = await server.create_tracker({ body: { tracking_number: "1Z999AA10123456784", provider_id: "ups" } });
check(shipment.object === "shipment" && tracker.object === "tracker" && tracker.tracking_number === shipment.tracking_number, "shipment and tracker");

for (let n = 0; received.length === 0 && n < 10 * Number(env.WHARF_WAIT); n++) await new Promise((done) => setTimeout(done, 100));
check(received[0]?.type === "shipment.created" && received[0].resource_id === shipment.id && refused.length === 0, `the event came: ${refused}`);
let forged: unknown;
await verifyWebhook(secret, { get: (name) => (name === "webhook-timestamp" ? String(Math.floor(Date.now() / 1000)) : "v1,AAAA") }, "{}").catch((error: unknown) => (forged = error));
check(forged instanceof WebhookError, "a forged one is refused");

// A batch, and its progress.
const people = Array.from({ length: 45 }, (_, i) => ({ name: `Person ${i}`, email: `person${i}@example.com` }));
let batch = await server.create_batch({ body: { resource: "contact", action: "merge", data: people } });
for (let n = 0; batch.status !== "completed" && n < 10 * Number(env.WHARF_WAIT); n++) {
  await new Promise((done) => setTimeout(done, 100));
  batch = await server.retrieve_batch({ path: { batch: batch.id } });
}
check(batch.status === "completed" && batch.progress === 100, `the batch: ${JSON.stringify(batch)}`);

// Lists: a filter with an operator, and all rows by a cursor.
const page = await server.list_contacts({ query: { created_at: "gte:2020-01-01T00:00:00Z", order_by: "name", direction: "asc", limit: 5 } });
check(page.length === 5, "a page");
const names = new Set<string>();
for await (const one of server.each.list_contacts({ query: { limit: 10 } })) names.add(one.id!);
check(names.size === 46, `all ${names.size} contacts by the cursor`);
const found = await server.list_shipments({ query: { location_id: [location.id], tracking_number: "1Z999AA10123456784" } });
check(found.length === 1 && found[0]!.id === shipment.id, "found by two filters");

// Errors say what is wrong, and where.
try {
  await server.create_location({ body: { name: "", address: { line1: "x" } } });
  check(false, "an empty name is refused");
} catch (error) {
  check(error instanceof WharfError && error.status === 400 && error.code === "validation.failed" && error.errors.includes("name") && error.requestId, `the error: ${error}`);
}
await server.delete_contact({ path: { id: contact.id! } });
await server.retrieve_contact({ path: { id: contact.id! } }).then(
  () => check(false, "gone"),
  (error: unknown) => check(error instanceof WharfError && error.code === "not_found", "gone"),
);

// Loses the answer of a create. The client sends the request again, with the same Idempotency-Key: one contact is made.
let calls = 0;
const lossy = wharf({
  baseUrl: env.WHARF_BASE!, key: env.WHARF_KEY!, sleep: async () => {},
  fetch: async (url, init) => {
    const answer = await fetch(url, init);
    if (calls++ === 0) throw new TypeError("the connection was lost");
    return answer;
  },
});
const once = await lossy.create_contact({ body: { name: "Only Once" } });
check(calls === 2 && (await server.list_contacts({ query: { search: "Only Once" } })).filter((c) => c.name === "Only Once").length === 1 && once, "done once");

// A write that takes no Idempotency-Key works, and is sent once: when its answer is lost, the caller hears of it.
const source = { body: { source: "return {on_run = function() return 1 end}", triggers: [{ type: "manual" as const, name: "count" }], scopes: [] } };
await server.check_workflow(source);
calls = 0;
await lossy.check_workflow(source).then(
  () => check(false, "sent once"),
  (error: unknown) => check(error instanceof TypeError && calls === 1, `sent once: ${error}`),
);

receiver.close();
receiver.closeAllConnections();
console.log("the story of the TypeScript client is told");
