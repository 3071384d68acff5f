// Verification of deliveries (Standard Webhooks): the signature over id, time and body, and the age of the time.

export interface WebhookHeaders {
  get(name: string): string | null;
}

export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

const encoder = new TextEncoder();

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** Takes the secret that the server showed: whsec_ and base64. */
async function key(secret: string): Promise<CryptoKey> {
  if (!secret.startsWith("whsec_")) throw new WebhookError("a secret begins with whsec_");
  return crypto.subtle.importKey("raw", bytes(secret.slice(6)), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

/**
 * Returns the event of a delivery, or throws a WebhookError when it is not from the server. `body` is the request's body as it came,
 * before any parser. While secrets are changed, give both. `tolerance`: how old or new a delivery may be, in seconds.
 */
export async function verifyWebhook<E = Record<string, unknown>>(
  secret: string | readonly string[], headers: WebhookHeaders, body: string, tolerance = 300, now = Date.now() / 1000,
): Promise<E> {
  const id = headers.get("webhook-id"), time = headers.get("webhook-timestamp"), signatures = headers.get("webhook-signature");
  if (!id || !time || !signatures) throw new WebhookError("a header is missing: webhook-id, webhook-timestamp or webhook-signature");
  if (!/^\d+$/.test(time) || Math.abs(now - Number(time)) > tolerance) throw new WebhookError("the delivery is too old, or a clock is wrong");
  const signed = encoder.encode(`${id}.${time}.${body}`);
  for (const one of typeof secret === "string" ? [secret] : secret) {
    const k = await key(one);
    for (const entry of signatures.split(" ")) {
      const [version, signature] = entry.split(",", 2);
      // verify() compares in constant time
      if (version === "v1" && signature && (await crypto.subtle.verify("HMAC", k, bytes(signature), signed).catch(() => false))) return JSON.parse(body) as E;
    }
  }
  throw new WebhookError("no signature is of this secret");
}
