import { AsyncLocalStorage } from 'node:async_hooks';
import { timingSafeEqual } from 'node:crypto';
import { Batcher } from '../platform/database/batcher.js';
import { batchLimits, type Database, type Handle } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { withoutDeadline } from '../platform/deadline.js';
import { Refusal } from '../platform/refusal.js';
import type { HttpResponse } from './response.js';

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

/** A request with a key, and what it does, once. */
interface Keyed {
  clientId: string;
  key: string;
  /**
   * Digests of the method, the path and the body's bytes, which equal requests have in common. They are keyed with the
   * master key: a body may hold an endpoint's secret, which a reader of a table dump could otherwise guess. First the
   * one to store, then those under the previous master key.
   */
  hashes: ReturnType<MasterKeys['digests']>;
  /** Checks the request first: where its key was used for another one, that is reported and not what is invalid. */
  work: (db: Handle) => Promise<HttpResponse>;
  /** Runs first, before the key is looked at, unless requests share a statement. @throws Refusal */
  before?: (tx: Handle) => Promise<void>;
  /**
   * Finds what an earlier request with the key made, where no response to it is kept: the response, or undefined.
   * @throws Refusal idempotency_key_reused
   */
  earlier?: ((db: Handle) => Promise<HttpResponse | undefined>) | undefined;
  /** Makes the response of a refusal that is kept. */
  refused: (refusal: Refusal) => HttpResponse;
}

/**
 * Does the work of a request once for its key. Its effect and its response are committed together: after a crash both
 * exist or neither, and no recovery is needed. A key is kept for 24 h.
 * @throws Refusal idempotency_key_in_use | idempotency_key_reused, and what `work` throws
 */
export function respondOnce(database: Database, keyed: Keyed): Promise<HttpResponse> {
  return database.transaction(async (tx) => {
    await keyed.before?.(tx);
    return responseOf(await respondAll(tx, [keyed]));
  });
}

const BATCH = 64;
const BATCHES_AT_ONCE = 2;
/** ms */
const GATHER = 8;

/**
 * Like `respondOnce`, for work of one statement that changes nothing where it is refused: concurrent requests share a
 * transaction and its statements.
 */
export function respondTogether(database: Database): (keyed: Keyed) => Promise<HttpResponse> {
  const batches = new Batcher<Keyed, Settled>({
    // It ends before the deadline of any of the requests: each has time left for the longest batch.
    run: (all) =>
      withoutDeadline(() =>
        database.hotTransaction((tx) => respondAll({ ...tx, sharing: { inTransaction: true } }, all)),
      ),
    size: BATCH,
    concurrency: BATCHES_AT_ONCE,
    gather: GATHER,
    ...batchLimits(database.limits),
  });
  return async (keyed) => responseOf([await batches.run({ ...keyed, work: AsyncLocalStorage.bind(keyed.work) })]);
}

/** A response, or the refusal of a request whose work has changed nothing. */
type Settled = HttpResponse | Refusal;

function responseOf([settled]: readonly Settled[]): HttpResponse {
  if (settled === undefined || settled instanceof Refusal) throw settled ?? new Error('a keyed request has no result');
  return settled;
}

/** @throws what is no refusal: then none of the requests has had an effect */
async function respondAll(tx: Handle, all: readonly Keyed[]): Promise<Settled[]> {
  const names = all.map(({ clientId, key }) => `idempotency ${clientId} ${key}`);
  const distinct = [...new Set(names)];
  const locks = await tx.hot<{ taken: boolean }>(LOCK, [distinct]);
  const taken = new Set(distinct.filter((_, i) => locks[i]?.taken));
  // Not in the statement that takes the locks: what was committed before a lock was free must be seen.
  const values = [all.map(({ clientId }) => clientId), all.map(({ key }) => key)];
  const kept = await tx.hot<Kept>(READ, values);
  const made: { keyed: Keyed; response: HttpResponse }[] = [];
  const respond = async (keyed: Keyed, i: number): Promise<HttpResponse> => {
    const name = names[i] ?? '';
    // Of equal keys in one batch, the first one runs.
    if (!taken.has(name) || names.indexOf(name) < i) {
      throw new Refusal('idempotency_key_in_use', 'The first request with this key is still running.');
    }
    const before = keptFor(keyed, kept);
    const repeated = before && before !== 'other' ? before : await keyed.earlier?.(tx);
    if (repeated) return { ...repeated, headers: { ...repeated.headers, 'Idempotency-Replayed': 'true' } };
    if (before === 'other') throw keyReused();
    const response = await keyed.work(tx).catch((error: unknown) => keyed.refused(keptRefusal(error)));
    made.push({ keyed, response });
    return response;
  };
  const settled = await Promise.all(
    all.map((keyed, i) =>
      respond(keyed, i).catch((error: unknown) => {
        if (error instanceof Refusal) return error;
        throw error;
      }),
    ),
  );
  if (made.length > 0) {
    await tx.hot(KEEP, [
      made.map(({ keyed }) => keyed.clientId),
      made.map(({ keyed }) => keyed.key),
      made.map(({ keyed }) => keyed.hashes[0].toString('hex')),
      made.map(({ response }) => response.status),
      made.map(({ response }) => JSON.stringify(response.headers)),
      made.map(({ response }) => response.text),
    ]);
  }
  return settled;
}

interface Kept extends HttpResponse {
  clientId: string;
  key: string;
  /** In hexadecimal digits. */
  hash: string;
}

export const keyReused = () => new Refusal('idempotency_key_reused', 'This key was used for another request.');

/** The response that is kept for a request; `other`: it belongs to another request with the key. */
function keptFor({ clientId, key, hashes }: Keyed, all: readonly Kept[]): HttpResponse | 'other' | undefined {
  const kept = all.find((one) => one.clientId === clientId && one.key === key);
  if (!kept) return undefined;
  const hash = Buffer.from(kept.hash, 'hex');
  if (!hashes.some((own) => timingSafeEqual(own, hash))) return 'other';
  const { status, headers, text } = kept;
  return { status, headers, text };
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

const LOCK = `
select pg_try_advisory_xact_lock(hashtextextended(n.name, 0)) as taken
  from unnest((select $1::text[])) with ordinality as n(name, position) order by n.position`;

const READ = `
select k.client_id::text as "clientId", k.key, encode(k.request_hash, 'hex') as hash, k.status, k.headers, k.body as text
  from unnest((select $1::uuid[]), $2::text[]) as asked(client_id, key)
  join idempotency_keys k on k.client_id = asked.client_id and k.key = asked.key
 where k.created_at > now() - interval '24 hours'`;

const KEEP = `
insert into idempotency_keys (client_id, key, request_hash, status, headers, body)
select m.client_id, m.key, decode(m.hash, 'hex'), m.status, m.headers::jsonb, m.body
  from unnest((select $1::uuid[]), $2::text[], $3::text[], $4::int[], $5::text[], $6::text[])
    as m(client_id, key, hash, status, headers, body)
 order by m.client_id, m.key
on conflict (client_id, key) do update set
       request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers, body = excluded.body,
       created_at = excluded.created_at`;
