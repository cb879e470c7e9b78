import { timingSafeEqual } from 'node:crypto';
import type { Database, Handle } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import type { IdempotencyKey } from '../database/generated/client.js';
import { Refusal } from '../refusal.js';
import { type HttpResponse, type WrittenResponse, writeResponse } from './response.js';

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

/**
 * The digests of a request. Two requests are equal when their methods, paths and body bytes are equal. The digests are
 * keyed with the master key: a body may hold an endpoint's secret, which a reader of a table dump could otherwise
 * guess.
 */
export function hashRequest(
  masterKeys: MasterKeys,
  method: string,
  path: string,
  bytes: Uint8Array,
): readonly [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]] {
  return masterKeys.digests('idempotency', [`${method} ${path}\n`, bytes]);
}

export interface KeyedRequest {
  clientId: string;
  key: string;
  /** First the hash to store, then the hashes under the previous master key. */
  hashes: readonly [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]];
}

/**
 * Does `work` once for a key. Its effect and its response are committed together: after a crash both exist or neither,
 * and no recovery is needed. A key is kept for 24 h.
 * @param refused makes the response of a refusal that is kept
 * @throws Refusal idempotency_key_in_use | idempotency_key_reused, and what `work` throws
 */
export function respondOnce(
  database: Database,
  { clientId, key, hashes }: KeyedRequest,
  work: (db: Handle) => Promise<HttpResponse>,
  refused: (refusal: Refusal) => HttpResponse,
): Promise<WrittenResponse> {
  return database.transaction(async (tx) => {
    const request = { clientId, key, hashes };
    await lockKey(tx, request);
    const kept = await readKept(tx, request);
    if (kept) return replay(kept);
    const response = writeResponse(await work(tx).catch((error: unknown) => refused(keptRefusal(error))));
    await keepResponse(tx, request, response);
    return response;
  });
}

/** Keeps other requests with the same key out until `tx` ends. @throws Refusal idempotency_key_in_use */
export async function lockKey(tx: Handle, { clientId, key }: KeyedRequest): Promise<void> {
  const [lock] = await tx.query<{ taken: boolean }>(TRY_LOCK, [clientId, key]);
  if (!lock?.taken) throw inUse();
}

export function inUse(): Refusal {
  return new Refusal('idempotency_key_in_use', 'The first request with this key is still running.');
}

/** Keeps a response under its key, replacing the row that is there. */
export async function keepResponse(tx: Handle, { clientId, key, hashes }: KeyedRequest, response: WrittenResponse) {
  const hash = Buffer.from(hashes[0]).toString('hex');
  await tx.query(KEEP, [clientId, key, hash, response.status, JSON.stringify(response.headers), response.text]);
}

/** The kept response, as it is sent again. */
export function replay({ status, headers, body }: Kept): WrittenResponse {
  return { status, headers: { ...(headers as Record<string, string>), 'Idempotency-Replayed': 'true' }, text: body };
}

/**
 * Checks a request that has a key. Where the request is invalid and its key was used for another request, the key is
 * reported: a valid body would not help such a request.
 * @throws Refusal idempotency_key_reused, and what `accept` throws
 */
export async function unlessReused<Accepted>(
  db: Handle,
  request: KeyedRequest,
  accept: () => Accepted,
): Promise<Accepted> {
  try {
    return accept();
  } catch (error) {
    await readKept(db, request);
    throw error;
  }
}

type Kept = Pick<IdempotencyKey, 'status' | 'headers' | 'body'>;

/**
 * The response or the reservation under a key.
 * @throws Refusal idempotency_key_reused where it belongs to another request
 */
export async function readKept(db: Handle, { clientId, key, hashes }: KeyedRequest) {
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

const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended('idempotency ' || $1::text || ' ' || $2::text, 0)) as taken`;

const KEEP = `
insert into idempotency_keys (client_id, key, request_hash, status, headers, body)
values ($1::uuid, $2, decode($3, 'hex'), $4::int, $5::jsonb, $6)
on conflict (client_id, key) do update set
       request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers, body = excluded.body,
       created_at = excluded.created_at, holder = null, plan = null, lease_until = null`;
