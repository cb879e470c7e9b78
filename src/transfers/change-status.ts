import { handOverAfterCommit } from '../delivery/append.js';
import { eventBody } from '../delivery/event-catalogue.js';
import type { Handover } from '../delivery/handover.js';
import { Batcher } from '../platform/database/batcher.js';
import type { Database, Handle } from '../platform/database/database.js';
import type { Transfer } from '../platform/database/generated/client.js';
import type { TransferStatus } from '../platform/database/generated/enums.js';
import { newId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { currentTraceparent } from '../platform/telemetry/traces.js';
import {
  type Change,
  type ChangedRow,
  changeAll,
  changeByStep,
  EVENT_TYPE,
  type StatusChangeRequest,
  toTransfer,
} from './change-statement.js';
import { nextStatuses, previousStatuses } from './states.js';

/**
 * Changes the status and makes the event with its deliveries, all in one statement. The statement compares and sets the
 * status that its own snapshot saw, so that of two concurrent changes one wins and the other is refused.
 * The insert also leases the first attempts if this process has a dispatcher with room for them.
 * Outside of a transaction, concurrent changes are committed in one batch.
 * @throws Refusal `not_found` | `invalid_transition`
 */
export async function changeStatus(
  db: Handle | Database,
  handover: Handover,
  request: StatusChangeRequest,
): Promise<Transfer> {
  const createdAt = Date.now();
  const eventId = newId(createdAt);
  const { transferId, to: status } = request;
  const change: Change = {
    request,
    allowed: previousStatuses(status).filter((from) => request.from?.includes(from) ?? true),
    eventId,
    at: new Date(createdAt).toISOString(),
    body: eventBody({ id: eventId, type: EVENT_TYPE, data: { id: transferId, status }, createdAt }),
    traceparent: currentTraceparent(),
  };
  const row = await run(db, handover, change);
  if (!row) throw new Refusal('not_found', 'There is no such transfer.');
  if (!row.changed) throw refused(row.seen, status, change.allowed);
  const { changed, deliveries } = row;
  handOverAfterCommit(db, handover, {
    eventId,
    clientId: changed.client_id,
    body: change.body,
    traceparent: change.traceparent,
    deliveries,
  });
  return toTransfer(changed);
}

const BATCH = 64;
const BATCHES_AT_ONCE = 2;
/** Longer than a statement takes at full speed, ms. */
const GATHER = 20;

type ChangeBatcher = Batcher<Change, ChangedRow | undefined>;
/** By pool: a client's request has a database of its own on the same pool. */
const batchers = new WeakMap<Database['pool'], WeakMap<Handover, ChangeBatcher>>();

function batcherOf(db: Database, handover: Handover): ChangeBatcher {
  const known = batchers.get(db.pool) ?? new WeakMap<Handover, ChangeBatcher>();
  batchers.set(db.pool, known);
  const batcher =
    known.get(handover) ??
    new Batcher<Change, ChangedRow | undefined>({
      run: (changes) => changeAll(db, handover, changes),
      size: BATCH,
      concurrency: BATCHES_AT_ONCE,
      gather: GATHER,
      wait: db.limits.wait,
    });
  known.set(handover, batcher);
  return batcher;
}

async function run(db: Handle | Database, handover: Handover, change: Change): Promise<ChangedRow | undefined> {
  const { sandboxStep } = change.request;
  if (sandboxStep) return changeByStep(db, handover, change, sandboxStep);
  if ('pool' in db) return batcherOf(db, handover).run(change);
  const [row] = await changeAll(db, handover, [change]);
  return row;
}

function refused(seen: TransferStatus, to: TransferStatus, allowed: readonly TransferStatus[]): Refusal {
  const next = nextStatuses(seen);
  if (allowed.includes(seen)) {
    return new Refusal('invalid_transition', `The transfer was ${seen}, and another request has just changed it.`);
  }
  return new Refusal(
    'invalid_transition',
    next.length === 0
      ? `The transfer is ${seen}, which is final.`
      : `The transfer is ${seen} and may not become ${to} this way; from here: ${next.join(', ')}.`,
  );
}
