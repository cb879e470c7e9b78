import type { operations } from './generated/openapi.js';

/** The names of the API's operations, as the OpenAPI document has them. */
export type OperationId = keyof operations;

export type PathOf<Id extends OperationId> = operations[Id]['parameters'] extends { path: infer Path }
  ? Path
  : undefined;

export type QueryOf<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>;

export type BodyOf<Id extends OperationId> = operations[Id] extends {
  requestBody: { content: { 'application/json': infer Body } };
}
  ? Body
  : undefined;

type Success<Responses> = Responses extends { 200: infer R }
  ? R
  : Responses extends { 201: infer R }
    ? R
    : Responses extends { 202: infer R }
      ? R
      : undefined;

type ContentOf<Response> = Response extends { content: { 'application/json': infer Json } } ? Json : undefined;

/** What a call of the operation resolves with. */
export type ResultOf<Id extends OperationId> = ContentOf<Success<operations[Id]['responses']>>;

/** What an operation is called with. */
export interface Arguments<Id extends OperationId> {
  path?: PathOf<Id>;
  query?: QueryOf<Id> | undefined;
  body?: BodyOf<Id>;
}

/** The options of every call. */
export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** The time for the whole call with all its tries, ms: at most, and by default, 60,000. */
  timeoutMs?: number;
  /** Sent as `X-Request-Id`, 1 to 128 visible ASCII characters. */
  requestId?: string;
}

/** The options of a call that changes something. */
export interface PostOptions extends CallOptions {
  /**
   * Sent as `Idempotency-Key`, 1 to 255 visible ASCII characters. Default: a new key for each call. Give your own, such
   * as the id of an order, to repeat the call safely after a crash of your program.
   */
  idempotencyKey?: string;
}

/** The options of a call that changes what you have read. */
export interface ChangeOptions extends CallOptions {
  /**
   * Sent as `If-Match`: the ETag of what you have read (`etagOf`). If it was changed meanwhile, the call rejects with
   * `changed_meanwhile`. An update is then not tried again after a broken connection: it may have been made.
   */
  ifMatch?: string;
}

/** Calls one operation. */
export type Call = <Id extends OperationId>(
  id: Id,
  given: Arguments<Id>,
  options?: PostOptions & ChangeOptions,
) => Promise<ResultOf<Id>>;
