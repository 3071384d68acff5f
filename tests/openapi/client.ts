// A client generated from the served document: compiled with tsc --strict, then run against the live server.
import createClient from "openapi-fetch";
import type { paths, components } from "./api.js";

const env = process.env as Record<string, string>;
const client = createClient<paths>({ baseUrl: env.WHARF_BASE, headers: { "SVC-API-KEY": env.WHARF_KEY } });

function check(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

const made = await client.POST("/v1/locations", { body: { name: "Typed", address: { line1: "1 Main St", city: "Springfield", country_code: "US" } } });
check(made.data, `create: ${JSON.stringify(made.error)}`);
const location: components["schemas"]["Location"] = made.data.data;
check(location.object === "location" && location.name === "Typed", "the row that was made");

const list = await client.GET("/v1/locations", { params: { query: { limit: 5, order_by: "name", direction: "asc" } } });
check(list.data && list.data.data.some((row) => row.id === location.id), "it is listed");

const changed = await client.POST("/v1/locations/{location}", { params: { path: { location: location.id! } }, body: { name: "Renamed" } });
check(changed.data?.data.name === "Renamed", "it is renamed");

const station = await client.POST("/v1/cloud-printing/stations", {
  body: {
    name: "TS-1", display_name: "Typed", location_id: location.id!, device_token: "t",
    printers: [{ name: "P", model: "M", configuration: { port: 9100 }, page_size: { label_4x6: true } }],
  },
});
check(station.data?.data.printers?.[0]?.page_size?.label_4x6 === true, `station: ${JSON.stringify(station.error)}`);

const refused = await client.POST("/v1/locations", { body: { name: "", address: { line1: "x" } } });
check(refused.error, "an empty name is refused");
check(refused.response.status === 400 && refused.error.code === "validation.failed" && refused.error.errors.includes("name"), "with its path");

const gone = await client.DELETE("/v1/cloud-printing/stations/{station_id}", { params: { path: { station_id: station.data!.data.id! } } });
check(gone.data?.data.deleted === true, "it is deleted");
const missing = await client.GET("/v1/cloud-printing/stations/{station_id}", { params: { path: { station_id: station.data!.data.id! } } });
check(missing.response.status === 404 && missing.error?.code === "not_found", "and gone");
console.log("the typed client works");
