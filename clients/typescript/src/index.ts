// The client: each operation of the server is a method of its name. Retries, cursors and errors are here; the types are generated
// (generate.mjs). Webhooks: webhooks.ts.
import type { components, operations } from "./api.js";
import { calls, type Call } from "./operations.js";

export { verifyWebhook, WebhookError, type WebhookHeaders } from "./webhooks.js";
export type { components, operations };
export type Schemas = components["schemas"];
export type ErrorCode = Schemas["ErrorCode"];

// ---- types of a call ----

type Json<T> = T extends { content: { "application/json": infer B } } ? B : T extends { content: Record<string, unknown> } ? BodyInit : never;
type BodyOf<O> = O extends { requestBody: infer R } ? { body: Json<R> } : O extends { requestBody?: infer R } ? ([Exclude<R, undefined>] extends [never] ? {} : { body?: Json<Exclude<R, undefined>> }) : {};
type PathOf<O> = O extends { parameters: { path: infer P } } ? { path: P } : {};
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? ([Exclude<Q, undefined>] extends [never] ? {} : { query?: Exclude<Q, undefined> }) : {};
type HeadersOf<O> = O extends { parameters: { header?: infer H } } ? { headers?: Partial<Exclude<H, undefined>> & Record<string, string> } : { headers?: Record<string, string> };

/** What an operation takes: `path`, `query`, `headers` and `body`. */
export type Args<K extends keyof operations> = PathOf<operations[K]> & QueryOf<operations[K]> & BodyOf<operations[K]> & HeadersOf<operations[K]> & { signal?: AbortSignal };

type Success<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? R[S] : never }[keyof R];
type Envelope<K extends keyof operations> = operations[K] extends { responses: infer R } ? (Success<R> extends { content: { "application/json": infer B } } ? B : never) : never;
/** The `data` of an operation's answer; bytes come as a `Response`. */
export type Data<K extends keyof operations> = [Envelope<K>] extends [never] ? Response : Envelope<K> extends { data: infer D } ? D : Response;
type Row<K extends keyof operations> = Data<K> extends (infer R)[] ? R : never;

type Method<K extends keyof operations> = {} extends Args<K> ? (args?: Args<K>) => Promise<Data<K>> : (args: Args<K>) => Promise<Data<K>>;
type Lists = { [K in keyof operations]: [Row<K>] extends [never] ? never : operations[K] extends { parameters: { query?: infer Q } } ? ("cursor" extends keyof Exclude<Q, undefined> ? K : never) : never }[keyof operations];

export type Operations = { readonly [K in keyof operations]: Method<K> };
/** Walks all rows of a list; asks for the next page when it needs one. */
export type Each = { readonly [K in Lists]: (args?: Args<K>) => AsyncIterable<Row<K>> };

// ---- errors ----

/** An answer that is no success. `code` says what is wrong, `errors` where. */
export class WharfError extends Error {
  override readonly name = "WharfError";
  constructor(
    readonly operation: string,
    readonly status: number,
    readonly code: ErrorCode | (string & {}),
    message: string,
    readonly errors: readonly string[],
    readonly requestId: string | null,
    readonly retryAfter: number | null,
  ) {
    super(`${operation}: ${status} ${code}: ${message}${errors.length ? ` (${errors.join(", ")})` : ""}`);
  }
}

// ---- the client ----

export interface Options {
  /** Where the server is: https://wharf.example.com */
  baseUrl: string;
  key: string;
  /** How many times a request is sent again that failed on the way, or that the server could not take: 3. */
  retries?: number;
  fetch?: typeof fetch;
  /** Waits between two tries; for tests. */
  sleep?: (ms: number) => Promise<void>;
}

interface AnyArgs {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  signal?: AbortSignal;
}

const RETRIED = new Set([429, 502, 503, 504]);

function written(value: unknown): string {
  if (Array.isArray(value)) return value.map(written).join(",");
  return String(value);
}

/** Returns the address of a call: `base` with the path and the query of `args`. */
function address(base: string, call: Call, args: AnyArgs): URL {
  const path = call.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = args.path?.[name];
    if (value === undefined || value === "") throw new TypeError(`path.${name} is needed`);
    return encodeURIComponent(String(value));
  });
  const url = new URL(base.replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(args.query ?? {})) {
    if (value !== undefined && value !== null) url.searchParams.append(name, written(value));
  }
  return url;
}

async function refusal(name: string, answer: Response): Promise<WharfError> {
  const body = (await answer.json().catch(() => ({}))) as { code?: string; message?: string; errors?: string[] };
  const after = Number(answer.headers.get("Retry-After"));
  return new WharfError(name, answer.status, body.code ?? "unknown", body.message ?? answer.statusText, body.errors ?? [], answer.headers.get("Request-Id"), after > 0 ? after : null);
}

class Caller {
  readonly #options: Required<Options>;

  constructor(options: Options) {
    this.#options = { retries: 3, fetch: globalThis.fetch, sleep: (ms) => new Promise((done) => setTimeout(done, ms)), ...options };
  }

  /**
   * Sends a request until it is answered, or until `retries` are used up. A write has one Idempotency-Key in all tries: it is done once.
   * A write that takes no such key, or whose body is not JSON, is sent once. Throws a WharfError when the server refuses.
   */
  async send(name: string, args: AnyArgs): Promise<Response> {
    const call = calls[name];
    if (!call) throw new TypeError(`there is no operation ${name}; generate the client from this server's description`);
    const headers = new Headers({ "SVC-API-KEY": this.#options.key });
    const keyed = call.keyed && !call.type;
    const retries = call.method === "GET" || keyed ? this.#options.retries : 0;
    if (keyed) headers.set("Idempotency-Key", crypto.randomUUID());
    for (const [key, value] of Object.entries(args.headers ?? {})) if (value !== undefined) headers.set(key, value);
    let body: BodyInit | undefined;
    if (args.body !== undefined && call.type) {
      headers.set("Content-Type", call.type);
      body = args.body as BodyInit;
    } else if (args.body !== undefined) {
      headers.set("Content-Type", "application/json");
      body = JSON.stringify(args.body);
    }
    const url = address(this.#options.baseUrl, call, args);
    for (let n = 0; ; n++) {
      let answer: Response | undefined;
      try {
        answer = await this.#options.fetch(url, { method: call.method, headers, ...(body === undefined ? {} : { body }), ...(args.signal ? { signal: args.signal } : {}) });
      } catch (error) {
        if (args.signal?.aborted || n >= retries) throw error;
      }
      if (answer?.ok) return answer;
      if (answer && (!RETRIED.has(answer.status) || n >= retries)) throw await refusal(name, answer);
      const told = Number(answer?.headers.get("Retry-After"));
      await answer?.body?.cancel();
      await this.#options.sleep(told > 0 ? told * 1000 : Math.min(8000, 250 * 2 ** n) * (0.5 + Math.random() / 2));
    }
  }

  async call(name: string, args: AnyArgs = {}): Promise<unknown> {
    const answer = await this.send(name, args);
    if (calls[name]?.bytes) return answer;
    return answer.status === 204 ? null : ((await answer.json()) as { data: unknown }).data;
  }

  async *rows(name: string, args: AnyArgs = {}): AsyncGenerator<unknown> {
    for (let cursor: string | null | undefined = "start"; cursor; ) {
      const answer = await this.send(name, { ...args, query: { ...args.query, cursor } });
      const page = (await answer.json()) as { data: unknown[]; pagination: { next_cursor?: string | null } };
      yield* page.data;
      cursor = page.pagination.next_cursor;
    }
  }
}

export type Wharf = Operations & {
  /** `for await (const contact of wharf.each.list_contacts({query: {...}}))`: all rows of a list. */
  readonly each: Each;
};

/** Makes a client. Each operation of the description is a method: `await wharf.create_contact({body: {...}})`. */
export function wharf(options: Options): Wharf {
  const caller = new Caller(options);
  const each = new Proxy({}, { get: (_, name) => (args?: AnyArgs) => caller.rows(String(name), args) });
  return new Proxy({}, { get: (_, name) => (name === "then" ? undefined : name === "each" ? each : (args?: AnyArgs) => caller.call(String(name), args)) }) as Wharf;
}
