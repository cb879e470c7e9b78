import { timingSafeEqual } from 'node:crypto';
import type { Database, Handle } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { Refusal } from '../refusal.js';
import { type Answer, type WrittenAnswer, writeAnswer } from './answer.js';

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
  work: (db: Handle) => Promise<Answer>,
  refused: (refusal: Refusal) => Answer,
): Promise<WrittenAnswer> {
  return database.transaction(async (tx) => {
    const [lock] = await tx.query<{ taken: boolean }>(TRY_LOCK, [clientId, key]);
    if (!lock?.taken) throw new Refusal('idempotency_key_in_use', 'The first request with this key is still running.');
    const kept = await readKept(tx, { clientId, key, hashes });
    if (kept) {
      const headers = { ...(kept.headers as Record<string, string>), 'Idempotency-Replayed': 'true' };
      return { status: kept.status, headers, text: kept.body };
    }
    const answer = writeAnswer(await work(tx).catch((error: unknown) => refused(keptRefusal(error))));
    const row = {
      requestHash: hashes[0],
      status: answer.status,
      headers: answer.headers,
      body: answer.text,
      createdAt: new Date(),
    };
    await tx.prisma.idempotencyKey.upsert({
      where: { clientId_key: { clientId, key } },
      create: { clientId, key, ...row },
      update: row,
    });
    return answer;
  });
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

/** The answer that is kept for a key. @throws Refusal idempotency_key_reused where it answered another request */
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
 * The one refusal that is kept: it judged the transfer's own status, so that the request was carried out and that was its
 * outcome. Every other says that the request was wrong or came at the wrong moment: rolled back, and the key is free.
 */
function keptRefusal(error: unknown): Refusal {
  if (error instanceof Refusal && error.code === 'invalid_transition') return error;
  throw error;
}

const TRY_LOCK = `select pg_try_advisory_xact_lock(hashtextextended('idempotency ' || $1::text || ' ' || $2::text, 0)) as taken`;
