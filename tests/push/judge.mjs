// Reads lines of what a browser's push service was sent, and answers for each what the package web-push and the packages it is made of say of it:
// the opened text, the claims of a token whose signature is good, and the headers that web-push itself sends to this subscription.
import crypto from "node:crypto";
import { createInterface } from "node:readline";
import ece from "http_ece";
import jws from "jws";
import webpush from "web-push";

// The key as PEM: the fixed beginning of a SubjectPublicKeyInfo of P-256, and the point.
function pem(point) {
  const start = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");
  return crypto.createPublicKey({ key: Buffer.concat([start, point]), format: "der", type: "spki" }).export({ type: "spki", format: "pem" });
}

function opened(line) {
  const own = crypto.createECDH("prime256v1");
  own.setPrivateKey(Buffer.from(line.private, "base64url"));
  return ece.decrypt(Buffer.from(line.body, "base64"), { version: "aes128gcm", privateKey: own, authSecret: line.keys.auth }).toString("utf8");
}

function claims(authorization) {
  const [, token, key] = authorization.match(/^vapid t=([^,]+), k=(.+)$/);
  if (!jws.verify(token, "ES256", pem(Buffer.from(key, "base64url")))) throw new Error("the signature is wrong");
  return jws.decode(token).payload; // its head says that it is JSON
}

function own_headers(line) {
  const { publicKey, privateKey } = webpush.generateVAPIDKeys();
  return webpush.generateRequestDetails({ endpoint: line.endpoint, keys: line.keys }, "x", {
    TTL: 86400, urgency: "high", topic: line.headers.topic, contentEncoding: "aes128gcm",
    vapidDetails: { subject: "mailto:ops@example.com", publicKey, privateKey },
  }).headers;
}

for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  try {
    console.log(JSON.stringify({ text: opened(line), claims: claims(line.headers.authorization), own: own_headers(line) }));
  } catch (e) {
    console.log(JSON.stringify({ wrong: e.message }));
  }
}
