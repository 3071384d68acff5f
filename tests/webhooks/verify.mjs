// Reads lines of {secret, headers, body} and answers for each what two published libraries say of the signature.
import { createInterface } from "node:readline";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  const said = {};
  for (const [name, Library] of Object.entries({ standardwebhooks: Standard, svix: Svix })) {
    try {
      new Library(secret).verify(Buffer.from(body, "base64").toString("utf8"), headers);
      said[name] = true;
    } catch (e) {
      said[name] = e.message;
    }
  }
  console.log(JSON.stringify(said));
}
