import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { isId } from '../id-form.js';
import { Refusal } from '../refusal.js';
import { readBody } from './body.js';
import { hashRequest, readIdempotencyKey, respondOnce, unlessReused } from './idempotency.js';
import { limitParameters } from './limits.js';
import { respondInSteps, respondUnkeyed, type TwoStepWork } from './respond-in-steps.js';
import { problemResponse, send, writeResponse } from './response.js';
import { isKeyed, type Route } from './route.js';
import type { AppContext } from './state.js';

export interface DispatchDependencies {
  database: Database;
  masterKeys: MasterKeys;
  baseUrl: string;
}

/** Runs a route for an authorized caller: reads the body, checks the request, does the work and sends the response. */
export function dispatch(route: Route, { database: shared, masterKeys, baseUrl }: DispatchDependencies) {
  return async (ctx: AppContext & { params: Record<string, string> }): Promise<void> => {
    const { caller, requestId } = ctx.state;
    // As for the rate, the operator has no limit.
    const database = caller.scopes.has('operator') ? shared : shared.forClient(caller.clientId);
    limitParameters(ctx.querystring);
    const key = isKeyed(route) ? readIdempotencyKey(ctx.req.headersDistinct['idempotency-key']) : undefined;
    const bytes = route.method === 'GET' ? new Uint8Array() : await readBody(ctx);
    const params = readParams(ctx.params);
    const search = new URLSearchParams(ctx.querystring);
    const accept = () => route.accept({ caller, params, path: ctx.path, search, bytes });
    if (key === undefined) {
      const work = accept();
      if (isTwoStep(work)) send(ctx, await respondUnkeyed(database, work));
      else send(ctx, writeResponse(await (isTransaction(route) ? database.transaction(work) : work(database))));
      return;
    }
    const keyed = { clientId: caller.clientId, key, hashes: hashRequest(masterKeys, ctx.method, ctx.path, bytes) };
    const work = await unlessReused(database, keyed, accept);
    const refused = (refusal: Refusal) => problemResponse(refusal, { baseUrl, path: ctx.path, requestId });
    const response = isTwoStep(work)
      ? respondInSteps(database, keyed, work, refused)
      : respondOnce(database, keyed, work, refused);
    send(ctx, await response);
  };
}

/** A change without a key has the transaction, the turns and the limits of a change with one. */
const isTransaction = ({ method, sharesStatement }: Route) => method !== 'GET' && !sharesStatement;

export const isTwoStep = (work: ReturnType<Route['accept']>): work is TwoStepWork => typeof work !== 'function';

/**
 * The ids in lower case, as the service writes them (RFC 9562 §4 allows both cases), and `number`, a positive integer.
 * @throws Refusal not_found
 */
export function readParams({ number, ...ids }: Record<string, string>): Record<string, string> {
  if (!Object.values(ids).every(isId)) throw new Refusal('not_found', 'The path contains an id that is not a UUID.');
  if (number !== undefined && !/^[1-9]\d{0,8}$/.test(number)) {
    throw new Refusal('not_found', 'The path contains a number that is not a positive integer.');
  }
  const lower = Object.entries(ids).map(([name, id]) => [name, id.toLowerCase()]);
  return { ...Object.fromEntries(lower), ...(number !== undefined && { number }) };
}
