import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { isId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { answerInSteps, answerUnkeyed, type TwoStepWork } from './answer-in-steps.js';
import { readBody } from './body.js';
import { answerOnce, hashRequest, readIdempotencyKey, unlessReused } from './idempotency.js';
import { limitParameters } from './limits.js';
import { problemResponse, send, writeResponse } from './response.js';
import type { Route } from './route.js';
import type { AppContext } from './state.js';

export interface DispatchDependencies {
  database: Database;
  masterKeys: MasterKeys;
  baseUrl: string;
}

/** Runs a route for a caller who may: body, checks, work, answer. */
export function dispatch(route: Route, { database, masterKeys, baseUrl }: DispatchDependencies) {
  return async (ctx: AppContext & { params: Record<string, string> }): Promise<void> => {
    const { caller, requestId } = ctx.state;
    limitParameters(ctx.querystring);
    const key = route.method === 'POST' ? readIdempotencyKey(ctx.req.headersDistinct['idempotency-key']) : undefined;
    const bytes = route.method === 'GET' ? new Uint8Array() : await readBody(ctx);
    const params = readIds(ctx.params);
    const search = new URLSearchParams(ctx.querystring);
    const accept = () => route.accept({ caller, params, path: ctx.path, search, bytes });
    if (key === undefined) {
      const work = accept();
      send(ctx, isTwoStep(work) ? await answerUnkeyed(database, work) : writeResponse(await work(database)));
      return;
    }
    const keyed = { clientId: caller.clientId, key, hashes: hashRequest(masterKeys, ctx.method, ctx.path, bytes) };
    const work = await unlessReused(database, keyed, accept);
    const refused = (refusal: Refusal) => problemResponse(refusal, { baseUrl, path: ctx.path, requestId });
    const answered = isTwoStep(work)
      ? answerInSteps(database, keyed, work, refused)
      : answerOnce(database, keyed, work, refused);
    send(ctx, await answered);
  };
}

const isTwoStep = (work: ReturnType<Route['accept']>): work is TwoStepWork => typeof work !== 'function';

/** In lower case, as ids are written everywhere else (RFC 9562 §4 takes either). @throws Refusal not_found */
function readIds(params: Record<string, string>): Record<string, string> {
  // What has not the form of an id names nothing.
  if (!Object.values(params).every(isId)) throw new Refusal('not_found', 'There is no such thing.');
  return Object.fromEntries(Object.entries(params).map(([name, id]) => [name, id.toLowerCase()]));
}
