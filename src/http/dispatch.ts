import { timingSafeEqual } from 'node:crypto';
import { type Database, type Handle, tryLockInTransaction } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { isId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { readBody } from './body.js';
import type { AppContext, AppDependencies } from './context.js';
import { type HttpResponse, problemResponse, send } from './response.js';
import { isKeyed, type Route } from './route.js';
import { limitParameters } from './validation-errors.js';

/** Runs a route for an authorized caller: reads the body, checks the request, does the work and sends the response. */
export function dispatch(route: Route, { database: shared, masterKeys, config: { baseUrl } }: AppDependencies) {
  return async (ctx: AppContext & { params: Record<string, string> }): Promise<void> => {
    const { caller, requestId } = ctx.state;
    // As for the rate, the operator has no limit.
    const database = caller.scopes.has('operator') ? shared : shared.forClient(caller.clientId);
    limitParameters(ctx.querystring);
    const key = isKeyed(route) ? readIdempotencyKey(ctx.req.headersDistinct['idempotency-key']) : undefined;
    const bytes = route.method === 'GET' ? new Uint8Array() : await readBody(ctx);
    const params = readParams(ctx.params);
    const search = new URLSearchParams(ctx.querystring);
    const { around = (_caller, change) => change() } = route;
    const accept = () => route.accept({ caller, params, url: `${baseUrl}${ctx.path}`, search, bytes });
    if (key === undefined) {
      const work = accept();
      const run = () => (isTransaction(route) ? database.transaction(work) : work(database));
      send(ctx, await around(caller, run));
      return;
    }
    const hashes = masterKeys.digests('idempotency', [`${ctx.method} ${ctx.path}\n`, bytes]);
    const keyed = { clientId: caller.clientId, key, hashes };
    const work = await unlessReused(database, keyed, accept);
    const refused = (refusal: Refusal) => problemResponse(refusal, { baseUrl, path: ctx.path, requestId });
    send(ctx, await around(caller, () => respondOnce(database, keyed, work, refused)));
  };
}

/** A change without a key has the transaction, the turns and the limits of a change with one. */
const isTransaction = ({ method, sharesStatement }: Route) => method !== 'GET' && !sharesStatement;

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

const MAX_LENGTH = 255;

/**
 * The key of an `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header-07): a structured-field string
 * (RFC 8941 §3.3.3), or the same text unquoted. Undefined where there is no header.
 * @param values the header's field lines
 * @throws Refusal invalid_request
 */
export function readIdempotencyKey(values: readonly string[] | undefined): string | undefined {
  if (values === undefined || values.length === 0) return undefined;
  const text = values[0]?.trim() ?? '';
  const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(text)?.[1];
  const key = quoted === undefined ? text : quoted.replace(/\\(["\\])/g, '$1');
  const isValid = values.length === 1 && /^[\x20-\x7e]+$/.test(key) && key.length <= MAX_LENGTH;
  if (!isValid || (quoted === undefined && text.startsWith('"'))) {
    throw new Refusal(
      'invalid_request',
      `Idempotency-Key must be given once, with 1 to ${MAX_LENGTH} ASCII characters.`,
    );
  }
  return key;
}

interface KeyedRequest {
  clientId: string;
  key: string;
  /**
   * Digests of the method, the path and the body's bytes, which equal requests have in common. They are keyed with the
   * master key: a body may hold an endpoint's secret, which a reader of a table dump could otherwise guess. First the one
   * to store, then those under the previous master key.
   */
  hashes: ReturnType<MasterKeys['digests']>;
}

/**
 * Does `work` once for a key. Its effect and its response are committed together: after a crash both exist or neither,
 * and no recovery is needed. A key is kept for 24 h.
 * @param refused makes the response of a refusal that is kept
 * @throws Refusal idempotency_key_in_use | idempotency_key_reused, and what `work` throws
 */
function respondOnce(
  database: Database,
  request: KeyedRequest,
  work: (db: Handle) => Promise<HttpResponse>,
  refused: (refusal: Refusal) => HttpResponse,
): Promise<HttpResponse> {
  const { clientId, key, hashes } = request;
  return database.transaction(async (tx) => {
    if (!(await tryLockInTransaction(tx, `idempotency ${clientId} ${key}`))) {
      throw new Refusal('idempotency_key_in_use', 'The first request with this key is still running.');
    }
    const kept = await readKept(tx, request);
    if (kept) {
      const headers = { ...(kept.headers as Record<string, string>), 'Idempotency-Replayed': 'true' };
      return { status: kept.status, headers, text: kept.body };
    }
    const response = await work(tx).catch((error: unknown) => refused(keptRefusal(error)));
    const hash = hashes[0].toString('hex');
    await tx.query(KEEP, [clientId, key, hash, response.status, JSON.stringify(response.headers), response.text]);
    return response;
  });
}

/**
 * Checks a request that has a key. Where the request is invalid and its key was used for another request, the key is
 * reported: a valid body would not help such a request.
 * @throws Refusal idempotency_key_reused, and what `accept` throws
 */
async function unlessReused<Accepted>(db: Handle, request: KeyedRequest, accept: () => Accepted): Promise<Accepted> {
  try {
    return accept();
  } catch (error) {
    await readKept(db, request);
    throw error;
  }
}

/**
 * The response under a key.
 * @throws Refusal idempotency_key_reused where it belongs to another request
 */
async function readKept(db: Handle, { clientId, key, hashes }: KeyedRequest) {
  const kept = await db.prisma.idempotencyKey.findFirst({
    where: { clientId, key, createdAt: { gt: new Date(Date.now() - 24 * 3_600_000) } },
  });
  if (kept && !hashes.some((hash) => timingSafeEqual(kept.requestHash, hash))) {
    throw new Refusal('idempotency_key_reused', 'This key was used for another request.');
  }
  return kept;
}

/**
 * The only refusal that is kept is `invalid_transition`: the request was carried out, and the transfer's status decided
 * its outcome. Every other refusal reports an invalid request or a temporary condition: it is rolled back and frees the
 * key.
 */
function keptRefusal(error: unknown): Refusal {
  if (error instanceof Refusal && error.code === 'invalid_transition') return error;
  throw error;
}

const KEEP = `
insert into idempotency_keys (client_id, key, request_hash, status, headers, body)
values ($1::uuid, $2, decode($3, 'hex'), $4::int, $5::jsonb, $6)
on conflict (client_id, key) do update set
       request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers, body = excluded.body,
       created_at = excluded.created_at`;
