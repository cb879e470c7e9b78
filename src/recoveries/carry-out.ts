import pLimit from 'p-limit';
import type { QueuedAt } from '../delivery/handover.js';
import { AT_ONCE } from '../delivery/lease.js';
import type { Waiting } from '../delivery/waiting.js';
import { ACTIVE } from '../endpoints/disable.js';
import { CommittedUntil } from '../platform/database/committed-until.js';
import { atomically, type Handle } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import { deliverMissing, type QueuedPart, type RecoveryPart, resetForRecovery, roomInLateLine } from './batches.js';
import { endRecovery } from './recoveries.js';

/** Between two batches, ms. */
const INTERVAL = 1_000;
/**
 * Deliveries of one batch of all recoveries of a client, so that fresh events of all clients continue to be delivered.
 */
const BATCH = 20;
/** Statements of a batch that finds nothing: each passes over up to 10,000 events. */
const STATEMENTS = 4;
/** Batches at once. */
const CONCURRENCY = 4;

/**
 * First the deliveries that sleep, then the failed and cancelled ones, then the missing ones. One that starts again may
 * sleep a moment later: its phase is over by then.
 */
const PHASES = ['pending', 'ended', 'missing'] as const;
type Phase = (typeof PHASES)[number];

export interface CarryOutOptions {
  db: Handle;
  workers: { isFirst: boolean };
  /** Asked each second. */
  waiting: () => Promise<Pick<Waiting, 'recoveries'>>;
  /** The present ladder, ms, with which deliveries start. */
  retryDelays: readonly number[];
  metrics: Pick<Metrics, 'missingDelivered'>;
  /** Called after attempts of an endpoint were queued. */
  onQueued: (at: QueuedAt) => void;
  log: Log;
}

/**
 * Carries out the recoveries: a batch of each every second, behind the fresh events of its client. The first of the
 * live workers does it, and another one continues after a crash, because a recovery's row says where.
 */
export function carryOutRecoveries(options: CarryOutOptions): Periodic {
  const { db, workers, waiting, metrics, onQueued, log } = options;
  const limit = pLimit(CONCURRENCY);
  const committed = new CommittedUntil();
  const report = reportTo(log, 'a batch of a recovery failed; next try in a second');

  async function queueNext({ recoveryId, share }: Running): Promise<void> {
    for (let statements = STATEMENTS; statements > 0 && !loop.stopped; statements--) {
      const batch = await nextBatch(options, committed, recoveryId, Math.max(1, Math.floor(BATCH / share)));
      if (!batch) return;
      const { recovered, phase, at } = batch;
      failpoint(phase === 'missing' ? 'after-missing-made' : 'after-requeued');
      if (phase === 'missing') metrics.missingDelivered(recovered);
      if (recovered > 0) return onQueued(at);
    }
  }

  const loop = new Periodic({
    interval: INTERVAL,
    isDue: async () => workers.isFirst && (await waiting()).recoveries,
    async run() {
      const running = await db.query<Running>(RUNNING, []);
      await Promise.all(running.map((one) => limit(() => queueNext(one).catch(report))));
    },
    onFault: reportTo(log, 'recoveries could not be read; next try in a second'),
  });
  return loop;
}

interface Running {
  recoveryId: string;
  /** How many recoveries its client has, which share the client's rate. */
  share: number;
}

const RUNNING = `
select id as "recoveryId", count(*) over (partition by client_id)::int as share
  from recoveries where finished_at is null`;

interface Locked {
  clientId: string;
  endpointId: string;
  maxConcurrency: number | null;
  isActive: boolean;
  since: number;
  until: number;
  /**
   * Once every event from before this time is committed, the missing ones are known, ms since 1970. A statement that
   * began before the endpoint was enabled may append an event without a delivery for it; later ones make the delivery
   * themselves. The endpoint was enabled when the request was accepted, at most 30 s after the recovery's `created_at`.
   */
  knownFrom: number;
  includeMissing: boolean;
  phase: Phase;
  after: string | null;
}

interface Batch {
  recovered: number;
  phase: Phase;
  at: QueuedAt;
}

/**
 * Queues the next deliveries of a recovery, as many as the late line has room for, and notes how far it has come, in
 * one transaction.
 * @returns undefined: nothing is left to do now
 */
function nextBatch(
  { db, retryDelays }: Pick<CarryOutOptions, 'db' | 'retryDelays'>,
  committed: CommittedUntil,
  recoveryId: string,
  most: number,
): Promise<Batch | undefined> {
  return atomically(db, async (tx) => {
    // A cancellation waits for these locks, as a change of the endpoint does; after it, nothing is queued.
    const [recovery] = await tx.query<Locked>(LOCK, [recoveryId]);
    if (!recovery) return undefined;
    if (!recovery.isActive) {
      await endRecovery(tx, recoveryId);
      return undefined;
    }
    const { clientId, endpointId, maxConcurrency, since, until, phase, after } = recovery;
    if (phase === 'missing' && after === null && (await committed.read(db)) < recovery.knownFrom) return undefined;
    const limit = await roomInLateLine(tx, endpointId, most);
    if (limit === 0) return undefined;
    const queued = await queuePart(tx, phase, { clientId, endpointId, since, until, after, limit, retryDelays });
    const next = queued.after === null ? phaseAfter(recovery) : phase;
    await tx.query(ADVANCE, [recoveryId, queued.recovered, next ?? phase, queued.after]);
    if (next === undefined) await endRecovery(tx, recoveryId);
    return { recovered: queued.recovered, phase, at: { clientId, endpointId, maxConcurrency } };
  });
}

function phaseAfter({ phase, includeMissing }: Locked): Phase | undefined {
  const next = PHASES[PHASES.indexOf(phase) + 1];
  return next === 'missing' && !includeMissing ? undefined : next;
}

async function queuePart(tx: Handle, phase: Phase, part: RecoveryPart): Promise<QueuedPart> {
  if (phase === 'missing') return deliverMissing(tx, part);
  const { ids, after } = await resetForRecovery(tx, part, phase);
  return { recovered: ids.length, after };
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

const LOCK = `
select r.client_id as "clientId", r.endpoint_id as "endpointId", ${AT_ONCE} as "maxConcurrency", ${ACTIVE} as "isActive",
       ${ms('r.since')} as since, ${ms('r.until')} as until, r.include_missing as "includeMissing",
       ${ms(`least(r.until, r.created_at + interval '30 seconds')`)} as "knownFrom",
       coalesce(r.phase, case when r.include_pending then 'pending' else 'ended' end) as phase, r.after_id as after
  from recoveries r join webhook_endpoints e on e.id = r.endpoint_id
 where r.id = $1::uuid and r.finished_at is null for no key update of r for share of e`;

const ADVANCE = `
update recoveries set started = started + $2::int, phase = $3::text, after_id = $4::uuid where id = $1::uuid`;
