import { z } from 'zod';
import type { Caller, Scope } from '../auth/caller.js';
import type { Handle } from '../platform/database/database.js';
import { Refusal, type RefusalCode } from '../platform/refusal.js';
import { parseBody } from './body.js';
import { type HttpResponse, jsonResponse, Reply } from './response.js';
import { errorsOf, refuseExcess, shortened } from './validation-errors.js';

/** The names in braces: `'/transfers/{id}'` → `'id'`. */
export type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** A request that was read and is valid. */
export interface Incoming<Path extends string, Query, Body> {
  caller: Caller;
  /** The path's ids, each a UUID, and `number`, a positive integer as text. */
  params: Readonly<Record<PathNames<Path>, string>>;
  query: Query;
  body: Body;
  /** The absolute URL, without its query. */
  url: string;
  search: URLSearchParams;
  /**
   * A transaction where the request changes something, unless it shares a statement with others. A handler makes all
   * its statements through this handle.
   */
  db: Handle;
  /** Of a request with an `Idempotency-Key`: the key, and the digest by which a repeat of its body is known. */
  once?: { key: string; bodyDigest: Buffer<ArrayBuffer> };
}

/** One operation of the API: the single declaration that documents it, checks its requests and runs it. */
interface Operation<Path extends string, Query extends z.ZodType, Body extends z.ZodType, View extends z.ZodType> {
  operationId: string;
  summary: string;
  description?: string;
  /** Set where the response holds a secret, which must not be kept: what becomes of an `Idempotency-Key`. */
  idempotencyKey?: 'ignored' | 'rejected';
  /**
   * Runs a change with its transaction: it may refuse it first, or let it wait for its turn while it holds no
   * connection.
   */
  around?: <T>(change: () => Promise<T>) => Promise<T>;
  /**
   * Set where the verb writes the audit entry of a change; the console writes one for any other change that it offers.
   */
  isAudited?: true;
  /**
   * Concurrent requests share a statement: those with an `Idempotency-Key` in a transaction, the others without one. A
   * request near its deadline has a transaction of its own.
   */
  sharesStatement?: true;
  /** A strict object of texts; if omitted, the operation has no parameters. */
  query?: Query;
  /** A strict object; if omitted, the body must be absent or an empty object. */
  body?: Body;
  /** The body of the response, a registered schema; if omitted, it has none, and the status is 204. */
  returns?: View;
  /** 200 unless given. */
  status?: 201 | 202;
  /**
   * Presents what an earlier request with the same key made, once its response is no longer kept; undefined: nothing.
   * @throws Refusal idempotency_key_reused where that request had another body
   */
  earlier?: (incoming: Keyed) => Promise<Reply | undefined>;
  /** Its response has the ETag of the resource. A GET then heeds `If-None-Match`. */
  tagged?: true;
  /**
   * Locks what the request changes and gives its ETag, for `If-Match`: it then runs in a transaction of its own.
   * @throws Refusal not_found
   */
  version?(target: Target<Path>): Promise<string>;
  /** In addition to the refusals that every operation has. */
  refusals?: readonly RefusalCode[];
  /** Does the work and presents its result. */
  handle(incoming: Incoming<Path, z.output<Query>, z.output<Body>>): Promise<z.output<View> | Reply>;
}

/** What a request is about. */
export type Target<Path extends string> = Pick<Incoming<Path, never, never>, 'caller' | 'params' | 'db'>;

/** A request with an `Idempotency-Key`, whose body is not read yet. */
type Keyed = Pick<Incoming<string, never, never>, 'caller' | 'db'> &
  Required<Pick<Incoming<string, never, never>, 'once'>>;

/** A request before it is parsed: the bytes of its body, empty where there is none. */
type Unread = Omit<Incoming<string, never, never>, 'query' | 'body' | 'db'> & { bytes: Uint8Array };

/** An operation with its types closed over. */
export interface Route
  extends Omit<Operation<string, z.ZodType, z.ZodType, z.ZodType>, 'query' | 'body' | 'status' | 'handle'> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As OpenAPI writes it: `/transfers/{id}`. */
  path: string;
  tag: string;
  /** The scopes of which a token needs one. */
  scopes: readonly Scope[];
  query: z.ZodType;
  body?: z.ZodType;
  status: number;
  /** Checks the whole request and returns the work. @throws Refusal malformed_request | invalid_request | … */
  accept(request: Unread): (db: Handle) => Promise<HttpResponse>;
}

const NOTHING = z.strictObject({});

/** Whether a request of the operation may have an `Idempotency-Key`. */
export function isKeyed({ method, idempotencyKey }: Pick<Route, 'method' | 'idempotencyKey'>): boolean {
  return method === 'POST' && !idempotencyKey;
}

/**
 * Declares operations of the API, which the OpenAPI document groups under `tag`.
 * @param access the resource, whose `read` scope a GET needs and whose `write` scope any other request needs; or the
 * scopes of which a token needs one
 */
export const routesOf =
  (tag: string, access: 'transfers' | 'webhooks' | readonly Scope[]) =>
  <
    const Path extends string,
    Query extends z.ZodType = typeof NOTHING,
    Body extends z.ZodType = typeof NOTHING,
    View extends z.ZodType = z.ZodVoid,
  >(
    method: Route['method'],
    path: Path,
    { handle, query, body, status, ...documented }: Operation<Path, Query, Body, View>,
  ): Route => ({
    ...documented,
    method,
    path,
    tag,
    scopes: typeof access === 'string' ? [`${access}:${method === 'GET' ? 'read' : 'write'}`] : access,
    status: status ?? (documented.returns ? 200 : 204),
    query: query ?? NOTHING,
    ...(body && { body }),
    accept({ bytes, search, params, ...request }) {
      const readsBody = method !== 'GET' && (body !== undefined || bytes.length > 0);
      const read = readsBody ? parseBody(bytes) : { value: {} };
      const bodySchema = body ?? NOTHING;
      if ('excess' in read) refuseExcess(bodySchema, read.excess);
      const incoming = {
        ...request,
        search,
        params: params as Record<PathNames<Path>, string>,
        query: readQuery(query ?? NOTHING, search) as z.output<Query>,
        body: check(bodySchema, method === 'PATCH' ? read.value : withoutNulls(read.value)) as z.output<Body>,
      };
      return async (db) => {
        const result = await handle({ ...incoming, db });
        const { json, headers } = result instanceof Reply ? result : new Reply(JSON.stringify(result));
        return jsonResponse(this.status, json, headers);
      };
    },
  });

/**
 * In the body of a POST or PUT, null is as good as absent, since many serialisers write it for an unset field. Only a
 * merge patch gives it a meaning. The names stay, so that an unknown one is still refused.
 */
function withoutNulls(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(withoutNulls);
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, value === null ? undefined : withoutNulls(value)]),
  );
}

function check(schema: z.ZodType, json: unknown): unknown {
  const result = schema.safeParse(json, { reportInput: true });
  if (result.success) return result.data;
  const validationErrors = errorsOf(result.error, 'field');
  // An attempt to change the secret has a problem code of its own.
  const changesSecret = validationErrors.some(({ code }) => code === 'secret_immutable');
  const code = changesSecret ? 'secret_immutable' : 'invalid_request';
  throw new Refusal(code, 'The body is invalid; see errors.', validationErrors);
}

function readQuery(schema: z.ZodType, search: URLSearchParams): unknown {
  const names = search.size === 0 ? [] : [...new Set(search.keys())];
  const repeated = names.filter((name) => search.getAll(name).length > 1);
  const result = schema.safeParse(Object.fromEntries(search), { reportInput: true });
  const validationErrors = [
    ...repeated.map((parameter) => ({
      parameter: shortened(parameter),
      code: 'repeated_parameter',
      detail: 'may appear only once',
    })),
    ...(result.success ? [] : errorsOf(result.error, 'parameter')),
  ];
  if (validationErrors.length > 0)
    throw new Refusal('invalid_request', 'The query is invalid; see errors.', validationErrors);
  return result.data;
}
