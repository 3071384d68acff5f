// upload.js ENDPOINT KEY FILE METADATA [URL] - brings a file in pieces with the package tus-js-client, which tries again for as long as it takes.
// METADATA is a JSON object; URL: of an upload that another process began. Prints "url URL", "at BYTES" after each piece that was taken, and "done".
import { createReadStream, statSync } from "node:fs";
import { Upload } from "tus-js-client";

const [endpoint, key, file, metadata, uploadUrl] = process.argv.slice(2);
const upload = new Upload(createReadStream(file), {
  endpoint,
  uploadUrl: uploadUrl || null,
  uploadSize: statSync(file).size,
  chunkSize: 1 << 20,
  metadata: JSON.parse(metadata),
  retryDelays: Array(1500).fill(200),
  headers: uploadUrl ? {} : { "SVC-API-KEY": key },
  onUploadUrlAvailable: () => console.log(`url ${upload.url}`),
  onChunkComplete: (_, taken) => console.log(`at ${taken}`),
  onError: (error) => {
    console.log(`failed ${error.message}`);
    process.exit(1);
  },
  onSuccess: () => console.log("done"),
});
upload.start();
