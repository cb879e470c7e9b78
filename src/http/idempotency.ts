import { timingSafeEqual } from 'node:crypto';
import type { Database, Handle } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import type { IdempotencyKey } from '../database/generated/client.js';
import { Refusal } from '../refusal.js';
import { type HttpResponse, type WrittenResponse, writeResponse } from './response.js';

const MAX_LENGTH = 255;

/**
 * The key of an `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header-07): a structured-field string
 * (RFC 8941 §3.3.3), or the same text bare. Undefined where there is no header.
 * @param values the header's field lines
 * @throws Refusal invalid_request
 */
export function readIdempotencyKey(values: readonly string[] | undefined): string | undefined {
  if (values === undefined || values.length === 0) return undefined;
  const text = values[0]?.trim() ?? '';
  const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(text)?.[1];
  const key = quoted === undefined ? text : quoted.replace(/\\(["\\])/g, '$1');
  const good = values.length === 1 && /^[\x20-\x7e]+$/.test(key) && key.length <= MAX_LENGTH;
  if (!good || (quoted === undefined && text.startsWith('"'))) {
    throw new Refusal(
      'invalid_request',
      `Idempotency-Key must be given once, with 1 to ${MAX_LENGTH} ASCII characters.`,
    );
  }
  return key;
}

/**
 * Two requests are the same when method, path and the body's bytes are. Digests under the master key, since a body may hold
 * an endpoint's secret, which whoever has a dump of the table could otherwise try out.
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
  /** The one to keep first; then what it was before a rotation of the master key. */
  hashes: readonly [Uint8Array<ArrayBuffer>, ...Uint8Array<ArrayBuffer>[]];
}

/**
 * Does `work` once for a key: its effect and its answer are committed together, so that after a crash there are both or
 * neither, and nothing is to be recovered. A key is kept for 24 h.
 * @param refused writes a refusal as the answer it will be, where that answer is to be kept
 * @throws Refusal idempotency_key_in_use | idempotency_key_reused, and what `work` throws
 */
export function answerOnce(
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
    const answer = writeResponse(await work(tx).catch((error: unknown) => refused(keptRefusal(error))));
    await keepAnswer(tx, request, answer);
    return answer;
  });
}

/** Keeps others with the same key out until `tx` ends. @throws Refusal idempotency_key_in_use */
export async function lockKey(tx: Handle, { clientId, key }: KeyedRequest): Promise<void> {
  const [lock] = await tx.query<{ taken: boolean }>(TRY_LOCK, [clientId, key]);
  if (!lock?.taken) throw inUse();
}

export function inUse(): Refusal {
  return new Refusal('idempotency_key_in_use', 'The first request with this key is still running.');
}

/** Keeps an answer, in place of what is there. */
export async function keepAnswer(tx: Handle, { clientId, key, hashes }: KeyedRequest, answer: WrittenResponse) {
  const hash = Buffer.from(hashes[0]).toString('hex');
  await tx.query(KEEP, [clientId, key, hash, answer.status, JSON.stringify(answer.headers), answer.text]);
}

/** A kept answer, as it leaves again. */
export function replay({ status, headers, body }: Kept): WrittenResponse {
  return { status, headers: { ...(headers as Record<string, string>), 'Idempotency-Replayed': 'true' }, text: body };
}

/**
 * Checks a request with a key. One that is wrong is told first that its key was used for another, where it was: a
 * right body would not help it.
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

/** The answer that is kept for a key, or its reservation. @throws Refusal idempotency_key_reused where it answered another request */
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
 * The one refusal that is kept: it judged the transfer's own status, so that the request was carried out and that was its
 * outcome. Every other says that the request was wrong or came at the wrong moment: rolled back, and the key is free.
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
