import type { Database, Handle } from '../database/database.js';
import { failpoint } from '../failpoints.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { inUse, type KeyedRequest, keepResponse, lockKey, readKept, replay } from './idempotency.js';
import { type HttpResponse, type WrittenResponse, writeResponse } from './response.js';

/**
 * Work whose effect is outside Postgres. A plan is JSON and identifies the effect: a repeat of a plan has no second
 * effect.
 */
export interface TwoStepWork {
  plan(tx: Handle, earlier: unknown): Promise<unknown>;
  carryOut(database: Database, plan: unknown): Promise<HttpResponse>;
}

/**
 * How long a reservation keeps duplicates out, in seconds: the time limit of a call to Temporal and a few statements.
 * After it, the process that made the reservation counts as dead. If that process is alive, both processes carry out
 * the same plan, and the first response counts.
 */
const LEASE_SECONDS = 10;

/** Does two-step work for a request without a key. */
export async function respondUnkeyed(database: Database, work: TwoStepWork): Promise<WrittenResponse> {
  const plan = await database.transaction((tx) => work.plan(tx, undefined));
  return writeResponse(await work.carryOut(database, plan));
}

/**
 * Does two-step work once for a key, with no transaction open during the second step:
 * 1. A reservation of the key commits with the plan. A duplicate gets 409 from here on.
 * 2. The plan is carried out.
 * 3. The response commits in place of the reservation.
 * A crash leaves the reservation. When its lease has expired, a repeat of the request continues with the same plan.
 * @param refused makes the response of a refusal
 * @throws Refusal idempotency_key_in_use | idempotency_key_reused, and what `work` throws
 */
export async function respondInSteps(
  database: Database,
  request: KeyedRequest,
  work: TwoStepWork,
  refused: (refusal: Refusal) => HttpResponse,
): Promise<WrittenResponse> {
  const holder = newId();
  const reserved = await database.transaction((tx) => reserve(tx, { request, holder }, work, refused));
  if ('response' in reserved) return reserved.response;
  failpoint('after-reserved');
  try {
    const response = writeResponse(await work.carryOut(database, reserved.plan));
    failpoint('before-kept');
    return await database.transaction((tx) => keepFirst(tx, request, response));
  } catch (error) {
    // Where the release fails too, the lease expires.
    await release(database, { request, holder }, error).catch(() => undefined);
    throw error;
  }
}

interface Held {
  request: KeyedRequest;
  holder: string;
}

/** Reserves the key for a plan, or returns the response that is kept under the key. */
async function reserve(
  tx: Handle,
  { request, holder }: Held,
  work: TwoStepWork,
  refused: (refusal: Refusal) => HttpResponse,
): Promise<{ plan: unknown } | { response: WrittenResponse }> {
  await lockKey(tx, request);
  const kept = await readKept(tx, request);
  const { clientId, key, hashes } = request;
  const [reserved] = kept ? await tx.query<{ held: boolean; plan: unknown }>(RESERVED, [clientId, key]) : [];
  if (kept && !reserved) return { response: replay(kept) };
  if (reserved?.held) throw inUse();
  const plan = await work.plan(tx, reserved?.plan);
  // The previous release reads a reservation as a kept response: the row holds the 409 of a request that still runs.
  const { status, headers, text } = writeResponse(refused(inUse()));
  const hash = Buffer.from(hashes[0]).toString('hex');
  const response = [hash, status, JSON.stringify(headers), text];
  const lease = [holder, JSON.stringify(plan), LEASE_SECONDS, reserved !== undefined];
  await tx.query(RESERVE, [clientId, key, ...response, ...lease]);
  return { plan };
}

/** Keeps the response, unless another run of the same plan was first: then the first response counts. */
async function keepFirst(tx: Handle, request: KeyedRequest, response: WrittenResponse): Promise<WrittenResponse> {
  const { clientId, key } = request;
  const [reserved] = await tx.query(RESERVED_LOCKED, [clientId, key]);
  const kept = reserved ? undefined : await readKept(tx, request);
  if (kept) return replay(kept);
  await keepResponse(tx, request, response);
  tx.afterCommit(() => failpoint('after-kept'));
  return response;
}

/**
 * Lets the next try of the request begin at once. After a refusal nothing was done, and the key is freed. After any
 * other error Temporal may have accepted the plan, so the plan is kept.
 */
async function release(db: Handle, { request, holder }: Held, error: unknown): Promise<void> {
  const nothingDone = error instanceof Refusal && error.code !== 'unavailable';
  await db.query(nothingDone ? FREE : END_LEASE, [request.clientId, request.key, holder]);
}

const OF_KEY = 'client_id = $1::uuid and key = $2 and lease_until is not null';
const HELD = `${OF_KEY} and holder = $3::uuid`;

/**
 * A lease that ends later than the longest lease could was made by another clock (Postgres was restored): it is not
 * held.
 */
const RESERVED = `
select lease_until > now() and lease_until < now() + interval '${2 * LEASE_SECONDS} seconds' as held, plan
  from idempotency_keys where ${OF_KEY}`;
const RESERVED_LOCKED = `select true as reserved from idempotency_keys where ${OF_KEY} for update`;

const RESERVE = `
insert into idempotency_keys as k
       (client_id, key, request_hash, status, headers, body, holder, plan, lease_until)
values ($1::uuid, $2, decode($3, 'hex'), $4::int, $5::jsonb, $6, $7::uuid, $8::jsonb, now() + $9::int * interval '1 second')
on conflict (client_id, key) do update set
       request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers, body = excluded.body,
       holder = excluded.holder, plan = excluded.plan, lease_until = excluded.lease_until,
       created_at = case when $10::boolean then k.created_at else excluded.created_at end`;

const FREE = `delete from idempotency_keys where ${HELD}`;
const END_LEASE = `update idempotency_keys set lease_until = now() where ${HELD}`;
