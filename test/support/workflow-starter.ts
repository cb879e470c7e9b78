import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { shareWaiting } from '../../src/outbox/waiting.js';
import { IN_FLIGHT_BOUNDS, InFlightLimit } from '../../src/workflow-starts/in-flight-limit.js';
import { WorkflowStarter, type WorkflowStarterOptions } from '../../src/workflow-starts/workflow-starter.js';
import { commitEvent } from './committed-event.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { silentLog } from './silent-log.js';
import { createTestNamespace, type TestTemporal } from './temporal.js';
import { waitFor } from './wait-for.js';

/** The database, the namespace and the starters of a test file; each test ends its own starters. */
export function useStarters() {
  const its = {} as { db: TestDatabase; temporal: TestTemporal; starters: ReturnType<typeof createTestStarters> };
  beforeAll(async () => {
    const [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
    Object.assign(its, { db, temporal });
    its.starters = createTestStarters(db, () => ({ client: temporal.client, eager: false }));
  }, 120_000);
  afterEach(() => its.starters.stop());
  afterAll(async () => {
    await its.temporal.close();
    await its.db.drop();
  });
  return its;
}

/** Workflow starters on `db`; `stop` ends them and empties the outbox. */
export function createTestStarters(db: TestDatabase, temporal: WorkflowStarterOptions['temporal']) {
  const opened: WorkflowStarter[] = [];
  const outboxOf = async ({ eventId }: CommittedEvent) =>
    (await db.prisma.event.findUniqueOrThrow({ where: { id: eventId } })).outbox;
  return {
    open(options: Partial<WorkflowStarterOptions> = {}) {
      const inFlight = new InFlightLimit({ ...IN_FLIGHT_BOUNDS, hasSlot: () => true });
      const starter = new WorkflowStarter({
        db,
        temporal,
        retryDelays: [0, 300_000],
        workflows: 'every-event',
        busy: () => false,
        inFlight,
        waiting: shareWaiting(db),
        log: silentLog,
        ...options,
      });
      opened.push(starter);
      return { starter, inFlight };
    },
    outboxOf,
    /** Waits until the event's workflow has been started and the event is marked. */
    done: (event: CommittedEvent) => waitFor('the event to be marked', async () => (await outboxOf(event)) === 'done'),
    async stop(): Promise<void> {
      for (const starter of opened.splice(0)) await starter.stop();
      await db.query(`update events set outbox = 'done'`, []);
    },
  };
}

/** An event whose first attempt has been made, in the state in which the express lane passes it on. */
export async function attemptedEvent(
  db: TestDatabase,
  status: 'succeeded' | 'pending',
  clientId?: string,
): Promise<CommittedEvent> {
  const event = await commitEvent(db, clientId ? { clientId, endpoints: 0 } : {});
  const ended = status === 'succeeded' && { nextAttemptAt: null, finishedAt: new Date() };
  await db.prisma.delivery.updateMany({
    where: { eventId: event.eventId },
    data: { status, attemptCount: 1, attemptingUntil: null, ...ended },
  });
  const outbox = status === 'succeeded' ? 'trailing' : 'start';
  await db.prisma.event.update({ where: { id: event.eventId }, data: { outbox, leaseUntil: new Date(0) } });
  return event;
}
