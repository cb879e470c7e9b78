import { z } from 'zod';
import type { Caller, Scope } from '../auth/caller.js';
import type { Handle } from '../platform/database/database.js';
import { Refusal, type RefusalCode } from '../platform/refusal.js';
import { parseBody } from './body.js';
import type { HttpResponse } from './response.js';
import { bodyErrors, queryErrors, refuseExcess, shortened } from './validation-errors.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The names in braces: `'/transfers/{id}'` → `'id'`. */
type Parameters<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Parameters<Rest>
  : never;

/** A request that was read and is valid. */
export interface Incoming<Path extends string, Query, Body> {
  caller: Caller;
  /** The path's ids, each a UUID, and `number`, a positive integer as text. */
  params: Readonly<Record<Parameters<Path>, string>>;
  query: Query;
  body: Body;
  /** The absolute URL, without its query. */
  url: string;
  search: URLSearchParams;
  /**
   * A transaction where the request changes something, unless it shares a statement with others. A handler makes all its
   * statements through this handle.
   */
  db: Handle;
}

/** The declaration of an operation: it documents the operation and checks its requests. */
interface Declaration<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  method: Method;
  /** As OpenAPI writes it: `/transfers/{id}`. */
  path: Path;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  /** The scope that the token needs; of a list, any one. */
  scope: Scope | readonly Scope[];
  /** Set where the response holds a secret, which must not be kept: an `Idempotency-Key` is ignored. */
  ignoresIdempotencyKey?: true;
  /**
   * Runs a change with its transaction: it may refuse it first, or let it wait for its turn while it holds no connection.
   */
  around?: <T>(caller: Pick<Caller, 'clientId'>, change: () => Promise<T>) => Promise<T>;
  /** Set where the verb writes the audit entry of a change. */
  isAudited?: true;
  /** Without an `Idempotency-Key`, concurrent requests share a statement, which needs no transaction. */
  sharesStatement?: true;
  /** A strict object of texts; if omitted, the operation has no parameters. */
  query?: Query;
  /** A strict object; if omitted, the body must be absent or an empty object. */
  body?: Body;
  response: { status: number; description: string; schema?: z.ZodType; headers?: Readonly<Record<string, string>> };
  /** In addition to the refusals that every operation has. */
  refusals?: readonly RefusalCode[];
}

/** One operation of the API: its declaration and its handler. */
export interface Operation<Path extends string, Query extends z.ZodType, Body extends z.ZodType>
  extends Declaration<Path, Query, Body> {
  handle(incoming: Incoming<Path, z.output<Query>, z.output<Body>>): Promise<HttpResponse>;
}

/** A request before it is parsed. */
export interface Unread {
  caller: Caller;
  params: Readonly<Record<string, string>>;
  url: string;
  search: URLSearchParams;
  /** The body's bytes; empty where there is none. */
  bytes: Uint8Array;
}

/** An operation with its types closed over. */
export interface Route extends Omit<Declaration<string, z.ZodType, z.ZodType>, 'query' | 'body'> {
  query: z.ZodType;
  body?: z.ZodType;
  /** Checks the whole request and returns the work. @throws Refusal malformed_request | invalid_request | … */
  accept(request: Unread): (db: Handle) => Promise<HttpResponse>;
}

const NOTHING = z.strictObject({});

/** The scopes of which a token needs one. */
export function scopesOf({ scope }: Pick<Route, 'scope'>): readonly Scope[] {
  return typeof scope === 'string' ? [scope] : scope;
}

/** Whether a request of the operation may have an `Idempotency-Key`. */
export function isKeyed({ method, ignoresIdempotencyKey }: Pick<Route, 'method' | 'ignoresIdempotencyKey'>): boolean {
  return method === 'POST' && !ignoresIdempotencyKey;
}

/** @param operation the single declaration that runs, documents and tests the operation */
export function route<
  const Path extends string,
  Query extends z.ZodType = typeof NOTHING,
  Body extends z.ZodType = typeof NOTHING,
>(operation: Operation<Path, Query, Body>): Route {
  const { handle, ...declaration } = operation;
  return checked(declaration, (incoming) => (db) => handle({ ...incoming, db }));
}

function checked<const Path extends string, Query extends z.ZodType, Body extends z.ZodType>(
  { query: querySchema, body: bodySchema, ...documented }: Declaration<Path, Query, Body>,
  toWork: (incoming: Omit<Incoming<Path, z.output<Query>, z.output<Body>>, 'db'>) => ReturnType<Route['accept']>,
): Route {
  const schemas = { query: querySchema ?? NOTHING, body: bodySchema ?? NOTHING };
  return {
    ...documented,
    query: schemas.query,
    ...(bodySchema && { body: bodySchema }),
    accept({ caller, params, url, search, bytes }) {
      const readsBody = documented.method !== 'GET' && (bodySchema !== undefined || bytes.length > 0);
      const read = readsBody ? parseBody(bytes) : { value: {} };
      if ('excess' in read) refuseExcess(schemas.body, read.excess);
      const query = readQuery(schemas.query, search) as z.output<Query>;
      const body = check(schemas.body, read.value) as z.output<Body>;
      const ids = params as Record<Parameters<Path>, string>;
      return toWork({ caller, params: ids, query, body, url, search });
    },
  };
}

function check(schema: z.ZodType, json: unknown): unknown {
  const result = schema.safeParse(json, { reportInput: true });
  if (result.success) return result.data;
  const validationErrors = bodyErrors(result.error);
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
    ...(result.success ? [] : queryErrors(result.error)),
  ];
  if (validationErrors.length > 0)
    throw new Refusal('invalid_request', 'The query is invalid; see errors.', validationErrors);
  return result.data;
}
