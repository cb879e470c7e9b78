import { z } from 'zod';
import type { Caller, Scope } from '../auth/caller.js';
import type { Database, Handle } from '../database/database.js';
import { Refusal, type RefusalCode } from '../refusal.js';
import type { TwoStepWork } from './answer-in-steps.js';
import { parseBody } from './json.js';
import { refuseExcess } from './limits.js';
import type { HttpResponse } from './response.js';
import { bodyErrors, queryErrors, shortened } from './validation-errors.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The names in braces: `'/transfers/{id}'` → `'id'`. */
type Parameters<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Parameters<Rest>
  : never;

/** A request that has been read and found right. */
export interface Incoming<Path extends string, Query, Body> {
  caller: Caller;
  /** The path's ids, each a UUID. */
  params: Readonly<Record<Parameters<Path>, string>>;
  query: Query;
  body: Body;
  path: string;
  search: URLSearchParams;
  /** A transaction, where the request carries an `Idempotency-Key`: what a handler does, it does through this. */
  db: Handle;
}

/** What documents an operation of the API, and checks its requests. */
interface Declaration<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  method: Method;
  /** As OpenAPI writes it: `/transfers/{id}`. */
  path: Path;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  scope: Scope;
  /** A strict object of texts; left out: no parameters. */
  query?: Query;
  /** A strict object; left out: none, or an empty one. */
  body?: Body;
  answer: { status: number; description: string; schema?: z.ZodType; headers?: Readonly<Record<string, string>> };
  /** Beyond those that every operation may meet. */
  refusals?: readonly RefusalCode[];
}

/** One operation of the API: what runs it and what documents it. */
export interface Operation<Path extends string, Query extends z.ZodType, Body extends z.ZodType>
  extends Declaration<Path, Query, Body> {
  handle(incoming: Incoming<Path, z.output<Query>, z.output<Body>>): Promise<HttpResponse>;
}

/** An operation that asks Temporal: see TwoStepAction. */
export interface TwoStepOperation<Path extends string, Query extends z.ZodType, Body extends z.ZodType, Plan>
  extends Declaration<Path, Query, Body> {
  /** @param earlier the plan of an earlier try of the same request; undefined: this is the first */
  plan(incoming: Incoming<Path, z.output<Query>, z.output<Body>>, earlier: Plan | undefined): Promise<Plan>;
  carryOut(database: Database, plan: Plan): Promise<HttpResponse>;
}

/** What a request brings, unread. */
export interface Unread {
  caller: Caller;
  params: Readonly<Record<string, string>>;
  path: string;
  search: URLSearchParams;
  /** The body's bytes; empty where there is none. */
  bytes: Uint8Array;
}

/** An operation with its types closed over. */
export interface Route extends Omit<Declaration<string, z.ZodType, z.ZodType>, 'query' | 'body'> {
  query: z.ZodType;
  body?: z.ZodType;
  /** Checks all of the request; what it returns does the work. @throws Refusal malformed_request | invalid_request | … */
  accept(request: Unread): ((db: Handle) => Promise<HttpResponse>) | TwoStepWork;
}

const NOTHING = z.strictObject({});

/** @param operation what is declared once and then runs, is documented and is tested */
export function route<
  const Path extends string,
  Query extends z.ZodType = typeof NOTHING,
  Body extends z.ZodType = typeof NOTHING,
>(operation: Operation<Path, Query, Body>): Route {
  const { handle, ...declaration } = operation;
  return checked(declaration, (incoming) => (db) => handle({ ...incoming, db }));
}

/** @param operation one that asks Temporal, declared once like any other */
export function twoStepRoute<
  const Path extends string,
  Plan,
  Query extends z.ZodType = typeof NOTHING,
  Body extends z.ZodType = typeof NOTHING,
>(operation: TwoStepOperation<Path, Query, Body, Plan>): Route {
  const { plan, carryOut, ...declaration } = operation;
  return checked(declaration, (incoming) => ({
    // A kept plan is what `plan` of the same operation returned.
    plan: (db, earlier) => plan({ ...incoming, db }, earlier as Plan | undefined),
    carryOut: (database, planned) => carryOut(database, planned as Plan),
  }));
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
    accept({ caller, params, path, search, bytes }) {
      const readsBody = documented.method !== 'GET' && (bodySchema !== undefined || bytes.length > 0);
      const read = readsBody ? parseBody(bytes) : { value: {} };
      if ('excess' in read) refuseExcess(schemas.body, read.excess);
      const query = readQuery(schemas.query, search) as z.output<Query>;
      const body = check(schemas.body, read.value) as z.output<Body>;
      const ids = params as Record<Parameters<Path>, string>;
      return toWork({ caller, params: ids, query, body, path, search });
    },
  };
}

function check(schema: z.ZodType, json: unknown): unknown {
  const result = schema.safeParse(json, { reportInput: true });
  if (result.success) return result.data;
  const validationErrors = bodyErrors(result.error);
  // One mistake may be so telling that it names the whole problem.
  const telling = validationErrors.find(({ code }) => code === 'secret_immutable');
  throw new Refusal(
    telling ? 'secret_immutable' : 'invalid_request',
    'The body is not right; see errors.',
    validationErrors,
  );
}

function readQuery(schema: z.ZodType, search: URLSearchParams): unknown {
  const repeated = [...new Set(search.keys())].filter((name) => search.getAll(name).length > 1);
  const result = schema.safeParse(Object.fromEntries(search), { reportInput: true });
  const validationErrors = [
    ...repeated.map((parameter) => ({
      parameter: shortened(parameter),
      code: 'repeated_parameter',
      detail: 'may be given once',
    })),
    ...(result.success ? [] : queryErrors(result.error)),
  ];
  if (validationErrors.length > 0)
    throw new Refusal('invalid_request', 'The query is not right; see errors.', validationErrors);
  return result.data;
}
