import type { Database, Handle } from '../database/database.js';
import { failpoint } from '../failpoints.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { inUse, type KeyedRequest, keepAnswer, lockKey, readKept, replay } from './idempotency.js';
import { type HttpResponse, type WrittenResponse, writeResponse } from './response.js';

/** Work whose effect is not in Postgres. A plan is JSON and identifies the effect: carried out again, it makes no second one. */
export interface TwoStepWork {
  plan(tx: Handle, earlier: unknown): Promise<unknown>;
  carryOut(database: Database, plan: unknown): Promise<HttpResponse>;
}

/**
 * How long a reservation keeps duplicates out, in seconds: the time limit of Temporal and a few statements. After it, the
 * process that made the reservation is taken for dead. If it is alive, both carry out the same plan, and the first answer counts.
 */
const LEASE_SECONDS = 10;

/** Does two-step work for a request without a key. */
export async function answerUnkeyed(database: Database, work: TwoStepWork): Promise<WrittenResponse> {
  const plan = await database.transaction((tx) => work.plan(tx, undefined));
  return writeResponse(await work.carryOut(database, plan));
}

/**
 * Does two-step work once for a key, with no transaction open during the second step:
 * 1. A reservation of the key commits with the plan. A duplicate gets 409 from here on.
 * 2. The plan is carried out.
 * 3. The answer commits in place of the reservation.
 * A crash leaves the reservation. When its lease has run out, a repeat of the request goes on with the same plan.
 * @param refused writes a refusal as an answer
 * @throws Refusal idempotency_key_in_use | idempotency_key_reused, and what `work` throws
 */
export async function answerInSteps(
  database: Database,
  request: KeyedRequest,
  work: TwoStepWork,
  refused: (refusal: Refusal) => HttpResponse,
): Promise<WrittenResponse> {
  const holder = newId();
  const begun = await database.transaction((tx) => reserve(tx, { request, holder }, work, refused));
  if ('answer' in begun) return begun.answer;
  failpoint('after-reserved');
  try {
    const answer = writeResponse(await work.carryOut(database, begun.plan));
    failpoint('before-kept');
    return await database.transaction((tx) => keepFirst(tx, request, answer));
  } catch (error) {
    // Where this fails too, the lease runs out.
    await release(database, { request, holder }, error).catch(() => undefined);
    throw error;
  }
}

interface Held {
  request: KeyedRequest;
  holder: string;
}

/** Reserves the key for a plan, or answers what is kept under it. */
async function reserve(
  tx: Handle,
  { request, holder }: Held,
  work: TwoStepWork,
  refused: (refusal: Refusal) => HttpResponse,
): Promise<{ plan: unknown } | { answer: WrittenResponse }> {
  await lockKey(tx, request);
  const kept = await readKept(tx, request);
  const { clientId, key, hashes } = request;
  const [reserved] = kept ? await tx.query<{ held: boolean; plan: unknown }>(RESERVED, [clientId, key]) : [];
  if (kept && !reserved) return { answer: replay(kept) };
  if (reserved?.held) throw inUse();
  const plan = await work.plan(tx, reserved?.plan);
  // The release before this one takes the row for an answer: it answers as if the first request ran.
  const { status, headers, text } = writeResponse(refused(inUse()));
  const hash = Buffer.from(hashes[0]).toString('hex');
  const answer = [hash, status, JSON.stringify(headers), text];
  const lease = [holder, JSON.stringify(plan), LEASE_SECONDS, reserved !== undefined];
  await tx.query(RESERVE, [clientId, key, ...answer, ...lease]);
  return { plan };
}

/** Keeps the answer, unless another run of the same plan was first: then that answer counts. */
async function keepFirst(tx: Handle, request: KeyedRequest, answer: WrittenResponse): Promise<WrittenResponse> {
  const { clientId, key } = request;
  const [reserved] = await tx.query(RESERVED_LOCKED, [clientId, key]);
  const kept = reserved ? undefined : await readKept(tx, request);
  if (kept) return replay(kept);
  await keepAnswer(tx, request, answer);
  tx.afterCommit(() => failpoint('after-kept'));
  return answer;
}

/**
 * Lets the next try of the request begin at once. A refusal says that nothing was done: the key is free. After anything else
 * Temporal may have taken the plan, so that the plan stays.
 */
async function release(db: Handle, { request, holder }: Held, error: unknown): Promise<void> {
  const nothingDone = error instanceof Refusal && error.code !== 'unavailable';
  await db.query(nothingDone ? FREE : END_LEASE, [request.clientId, request.key, holder]);
}

const OF_KEY = 'client_id = $1::uuid and key = $2 and lease_until is not null';
const HELD = `${OF_KEY} and holder = $3::uuid`;

/** A lease that ends later than one could was made by another clock (Postgres was restored): nobody holds it. */
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
