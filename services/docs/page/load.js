// load.js - asks this server for JSON, with the API key that this tab keeps where the server asks for one.

const key_name = "wharf-key";

export const kept_key = () => sessionStorage.getItem(key_name);
export const keep_key = (key) => sessionStorage.setItem(key_name, key);

/** The answer to a GET of an address. */
export function load(address) {
  const key = kept_key();
  return fetch(address, { headers: { Accept: "application/json", ...(key && { "SVC-API-KEY": key }) }, credentials: "omit" });
}

/** What an address answers; null when the server refuses it. */
export async function load_json(address) {
  const answer = await load(address);
  return answer.ok ? answer.json() : null;
}
