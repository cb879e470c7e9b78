import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { isId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { problemAnswer, send, writeAnswer } from './answer.js';
import { readBody } from './body.js';
import { answerOnce, hashRequest, readIdempotencyKey } from './idempotency.js';
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
    const key = route.method === 'POST' ? readIdempotencyKey(ctx.req.headersDistinct['idempotency-key']) : undefined;
    const bytes = route.method === 'GET' ? new Uint8Array() : await readBody(ctx);
    // What has not the form of an id names nothing.
    if (!Object.values(ctx.params).every(isId)) throw new Refusal('not_found', 'There is no such thing.');
    const search = new URLSearchParams(ctx.querystring);
    const work = route.accept({ caller, params: ctx.params, path: ctx.path, search, bytes });
    if (key === undefined) {
      send(ctx, writeAnswer(await work(database)));
      return;
    }
    const keyed = { clientId: caller.clientId, key, hashes: hashRequest(masterKeys, ctx.method, ctx.path, bytes) };
    const refused = (refusal: Refusal) => problemAnswer(refusal, { baseUrl, path: ctx.path, requestId });
    send(ctx, await answerOnce(database, keyed, work, refused));
  };
}
