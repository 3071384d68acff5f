// follow.js URL KEY N - reads the live stream with the eventsource package until event number N, through every end of the connection, and prints
// one line "sequence type" per event; after the first one it says "# reading", so that a test knows that it may stop the server.
import { EventSource } from "eventsource";

const [url, key, last] = process.argv.slice(2);
const source = new EventSource(url, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, "SVC-API-KEY": key } }),
});
const types = ["stepbench.thing.created", "stepbench.thing.updated", "stepbench.thing.deleted", "stream.gap", "stream.overflow"];
for (const type of types) {
  source.addEventListener(type, (e) => {
    const body = JSON.parse(e.data);
    console.log(type.startsWith("stream.") ? `! ${type}` : `${e.lastEventId} ${body.sequence} ${type}`);
    if (body.sequence === Number(last)) {
      source.close();
    }
  });
}
source.addEventListener("open", () => console.log("# open"));
source.addEventListener("stream.closing", () => console.log("# closing"));
// eventsource gives up on statuses other than 200, such as 503 while a server begins: whoever follows asks again
source.addEventListener("error", (e) => e.code && source.readyState === EventSource.CLOSED && process.exit(9));
