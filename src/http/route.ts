import { z } from 'zod';
import type { Caller, Scope } from '../auth/caller.js';
import type { Handle } from '../database/database.js';
import { Refusal, type RefusalCode } from '../refusal.js';
import type { Answer } from './answer.js';
import { parseJson } from './json.js';
import { bodyMistakes, queryMistakes } from './mistakes.js';

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

/** One operation of the API: what runs it and what documents it. */
export interface Operation<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
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
  handle(incoming: Incoming<Path, z.output<Query>, z.output<Body>>): Promise<Answer>;
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
export interface Route extends Omit<Operation<string, z.ZodType, z.ZodType>, 'handle' | 'query' | 'body'> {
  query: z.ZodType;
  body?: z.ZodType;
  /** Checks all of the request; what it returns does the work. @throws Refusal malformed_request | invalid_request | … */
  accept(request: Unread): (db: Handle) => Promise<Answer>;
}

const NOTHING = z.strictObject({});

/** @param operation what is declared once and then runs, is documented and is tested */
export function route<
  const Path extends string,
  Query extends z.ZodType = typeof NOTHING,
  Body extends z.ZodType = typeof NOTHING,
>(operation: Operation<Path, Query, Body>): Route {
  const { handle, query: querySchema, body: bodySchema, ...documented } = operation;
  const schemas = { query: querySchema ?? NOTHING, body: bodySchema ?? NOTHING };
  return {
    ...documented,
    query: schemas.query,
    ...(bodySchema && { body: bodySchema }),
    accept({ caller, params, path, search, bytes }) {
      const readsBody = operation.method !== 'GET' && (bodySchema !== undefined || bytes.length > 0);
      const json = readsBody ? parseJson(bytes) : {};
      const query = readQuery(schemas.query, search) as z.output<Query>;
      const body = check(schemas.body, json) as z.output<Body>;
      const ids = params as Record<Parameters<Path>, string>;
      return (db) => handle({ caller, params: ids, query, body, path, search, db });
    },
  };
}

function check(schema: z.ZodType, json: unknown): unknown {
  const result = schema.safeParse(json, { reportInput: true });
  if (result.success) return result.data;
  const mistakes = bodyMistakes(result.error);
  // One mistake may be so telling that it names the whole problem.
  const telling = mistakes.find(({ code }) => code === 'secret_immutable');
  throw new Refusal(telling ? 'secret_immutable' : 'invalid_request', 'The body is not right; see errors.', mistakes);
}

function readQuery(schema: z.ZodType, search: URLSearchParams): unknown {
  const repeated = [...new Set(search.keys())].filter((name) => search.getAll(name).length > 1);
  const result = schema.safeParse(Object.fromEntries(search), { reportInput: true });
  const mistakes = [
    ...repeated.map((parameter) => ({ parameter, code: 'repeated_parameter', detail: 'may be given once' })),
    ...(result.success ? [] : queryMistakes(result.error)),
  ];
  if (mistakes.length > 0) throw new Refusal('invalid_request', 'The query is not right; see errors.', mistakes);
  return result.data;
}
