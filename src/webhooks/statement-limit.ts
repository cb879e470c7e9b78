import pLimit from 'p-limit';
import { tryLockInTransaction } from '../database/advisory-lock.js';
import { atomically, type Handle } from '../database/database.js';
import { SharedLimit } from '../database/shared-limit.js';
import { Refusal } from '../refusal.js';
import { within } from '../time-limit.js';

/** Statements, lists of missing events and recovers that a client gets in a minute, over all processes (contract). */
export const STATEMENTS_A_MINUTE = 20;
/** Time limit of one answer, the wait for its turn included, ms (contract). */
const TIME_LIMIT = 5_000;
/** Answers that a process works on at the same time, so that they leave the pool's connections to other requests. */
const AT_ONCE = 2;

const TOO_MANY = `A client may ask for at most ${STATEMENTS_A_MINUTE} statements, lists of missing events and recovers a minute.`;

const BUSY = 'Another statement, list of missing events or recover of this client is being counted.';

const limit = new SharedLimit({ name: 'statements', points: STATEMENTS_A_MINUTE, duration: 60 });
const turns = pLimit(AT_ONCE);
/** Clients for which this process reads. A further request costs nothing, waits for no turn and does not count. */
const reading = new Set<string>();

/**
 * Reads with the limits of statements: one at a time for a client and 20 a minute, both over all processes, and 5 s.
 * Postgres ends a statement that takes longer.
 * @param clientId null: the operator, who has the time limit only
 * @param read makes one statement
 * @throws Refusal statement_limit_reached | unavailable
 */
export function readWithinLimits<T>(db: Handle, clientId: string | null, read: (tx: Handle) => Promise<T>): Promise<T> {
  const deadline = performance.now() + TIME_LIMIT;
  const work = counted(db, clientId, () =>
    turns(() => {
      if (performance.now() >= deadline) throw tooLate();
      return atomically(db, async (tx) => {
        const left = Math.ceil(deadline - performance.now());
        if (left <= 0) throw tooLate();
        await tx.query(SETTINGS, [String(left)]);
        if (clientId !== null && !(await tryLockInTransaction(tx, `statement of ${clientId}`))) {
          await limit.giveBack(db, clientId);
          throw refused(BUSY, 1);
        }
        return read(tx);
      });
    }),
  );
  return within(TIME_LIMIT, work, tooLate);
}

async function counted<T>(db: Handle, clientId: string | null, work: () => Promise<T>): Promise<T> {
  if (clientId === null) return work();
  if (reading.has(clientId)) throw refused(BUSY, 1);
  reading.add(clientId);
  try {
    await limit.consume(db, clientId, (retryAfter) => refused(TOO_MANY, retryAfter));
    return await work();
  } finally {
    reading.delete(clientId);
  }
}

function refused(detail: string, retryAfter: number): Refusal {
  return new Refusal('statement_limit_reached', detail, [], { retryAfter });
}

function tooLate(): Refusal {
  return new Refusal('unavailable', `This took longer than ${TIME_LIMIT / 1_000} s. Ask for a shorter window.`);
}

/**
 * The time limit, and the plan: only the index of the owner and the range. Without statistics of the last rows, the
 * planner may choose to scan the table. One process of Postgres works on it, so that other statements keep theirs.
 */
const SETTINGS = `
select set_config('statement_timeout', $1::text, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
       set_config('jit', 'off', true)`;
