import { hash } from 'node:crypto';
import { hasOperatorScope } from '../auth/caller.js';
import { batchLimits, type Handle } from '../platform/database/database.js';
import { timeLeft } from '../platform/deadline.js';
import { isId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { readBody } from './body.js';
import type { AppContext, AppDependencies } from './context.js';
import { matches, refuseChanged } from './etag.js';
import { readIdempotencyKey, respondOnce, respondTogether } from './idempotency.js';
import { type HttpResponse, jsonResponse, problemResponse, send } from './response.js';
import { isKeyed, type Route } from './route.js';
import { limitParameters } from './validation-errors.js';

/** Runs a route for an authorized caller: reads the body, checks the request, does the work and sends the response. */
export function dispatch(route: Route, { database: shared, masterKeys, config: { baseUrl } }: AppDependencies) {
  const together = route.sharesStatement && respondTogether(shared);
  const { longest } = batchLimits(shared.limits);
  return async (ctx: AppContext & { params: Record<string, string> }): Promise<void> => {
    const { caller, requestId } = ctx.state;
    // As for the rate, the operator has no limit.
    const database = hasOperatorScope(caller.scopes) ? shared : shared.forClient(caller.clientId);
    limitParameters(ctx.querystring);
    const keys = ctx.req.headersDistinct['idempotency-key'];
    if (keys && route.idempotencyKey === 'rejected') throw new Refusal('idempotency_key_not_supported', NOT_KEPT);
    const key = isKeyed(route) ? readIdempotencyKey(keys) : undefined;
    const bytes = route.method === 'GET' ? new Uint8Array() : await readBody(ctx);
    const params = readParams(ctx.params);
    const search = new URLSearchParams(ctx.querystring);
    const { around = (change) => change() } = route;
    // Near its deadline, a change has a transaction of its own, which commits nothing after it.
    const ifMatch = route.version && ctx.req.headers['if-match'];
    const share = ifMatch === undefined && timeLeft() > longest && together;
    const once = key === undefined ? undefined : { key, bodyDigest: hash('sha256', bytes, 'buffer') };
    const accept = () =>
      route.accept({ caller, params, url: `${baseUrl}${ctx.path}`, search, bytes, ...(once && { once }) });
    const versionOf = async (db: Handle) => (await route.version?.({ caller, params, db })) ?? '';
    if (once === undefined) {
      const work = accept();
      const change = async (tx: Handle) => {
        if (ifMatch !== undefined) refuseChanged(ifMatch, await versionOf(tx));
        return work(tx);
      };
      const run = () => (route.method === 'GET' || share ? work(database) : database.transaction(change));
      const response = await around(run);
      send(ctx, route.method === 'GET' ? unlessKnown(ctx, response) : response);
      return;
    }
    const hashes = masterKeys.digests('idempotency', [`${ctx.method} ${ctx.path}\n`, bytes]);
    let version = '';
    const before = async (tx: Handle) => {
      if (ifMatch !== undefined) version = await versionOf(tx);
    };
    const work = async (db: Handle) => {
      const run = accept();
      if (ifMatch !== undefined) refuseChanged(ifMatch, version);
      return run(db);
    };
    const earlier = async (db: Handle) => {
      const made = await route.earlier?.({ caller, db, once });
      return made && jsonResponse(200, made.json, made.headers);
    };
    const refused = (refusal: Refusal) => problemResponse(refusal, { baseUrl, path: ctx.path, requestId });
    const keyed = { clientId: caller.clientId, key: once.key, hashes, before, work, earlier, refused };
    send(ctx, await around(() => (share ? share(keyed) : respondOnce(database, keyed))));
  };
}

/** 304 for a GET whose `If-None-Match` has the response's ETag (RFC 9110 §13.1.2). */
function unlessKnown(ctx: AppContext, response: HttpResponse): HttpResponse {
  const { ETag } = response.headers;
  const isKnown = ETag !== undefined && matches(ctx.get('If-None-Match'), ETag, { weak: true });
  return isKnown ? { status: 304, headers: { ETag }, text: '' } : response;
}

const NOT_KEPT = 'This response is never stored; send the request without Idempotency-Key.';

/**
 * The ids in lower case, as the service writes them (RFC 9562 §4 allows both cases), and `number`, a positive integer.
 * @throws Refusal not_found
 */
export function readParams(params: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, text] of Object.entries(params)) {
    const isValid = name === 'number' ? /^[1-9]\d{0,8}$/.test(text) : isId(text);
    if (!isValid) throw new Refusal('not_found', `The ${name} in the path is not valid.`);
  }
  return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, text.toLowerCase()]));
}
