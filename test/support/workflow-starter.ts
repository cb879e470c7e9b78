import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { shareWaiting } from '../../src/delivery/waiting.js';
import { type WorkflowStarterOptions, workflowStarter } from '../../src/delivery/workflow-starter.js';
import type { Periodic } from '../../src/platform/periodic.js';
import { makeOne } from './attempt.js';
import { type CommittedEvent, commitEvent } from './committed-event.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { outcome, refusedBy } from './factories.js';
import { emptyOutbox, outboxOf } from './outbox.js';
import { silentLog } from './silent-log.js';
import { createTestNamespace, type TestTemporal } from './temporal.js';
import { waitFor } from './wait-for.js';

/** The database, the namespace and the starters of a test file; each test ends its own starters. */
export function useStarters() {
  const its = {} as { db: TestDatabase; temporal: TestTemporal; starters: ReturnType<typeof createTestStarters> };
  beforeAll(async () => {
    const [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
    Object.assign(its, { db, temporal });
    its.starters = createTestStarters(db, () => temporal.client);
  }, 120_000);
  afterEach(() => its.starters.stop());
  afterAll(async () => {
    await its.temporal.close();
    await its.db.drop();
  });
  return its;
}

/** Workflow starters on `db`; `stop` ends them and empties queue and outbox. */
export function createTestStarters(db: TestDatabase, temporal: WorkflowStarterOptions['temporal']) {
  const opened: Periodic[] = [];
  return {
    /** Opens a starter, as in a separate process, and starts it. */
    open(options: Partial<WorkflowStarterOptions> = {}) {
      const starter = workflowStarter({
        db,
        temporal,
        workflows: 'every-event',
        idleTime: () => performance.now() * 1_000,
        waiting: shareWaiting(db, { isFirst: true }),
        log: silentLog,
        ...options,
      });
      opened.push(starter);
      starter.start();
      return starter;
    },
    /** Waits until the event has left the outbox: its workflow has been started. */
    done: ({ eventId }: CommittedEvent) =>
      waitFor('the event to leave the outbox', async () => (await outboxOf(db, eventId)) === null),
    async stop(): Promise<void> {
      for (const starter of opened.splice(0)) await starter.stop();
      await db.query('delete from queue', []);
      await emptyOutbox(db);
    },
  };
}

/** What a starter has asked of `fakeTemporal`. */
export interface AskedStart {
  workflowId: string;
  /** `wake`, or the policy of a start. */
  how: 'wake' | 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE';
  deadline: number;
}

/** A Temporal that starts nothing. `asked` has the starts, in order; `respond` may reject one or let it hang. */
export function fakeTemporal(respond: (start: AskedStart) => Promise<void> | void = () => undefined) {
  const asked: AskedStart[] = [];
  let deadline = 0;
  const ask = (how?: AskedStart['how']) => async (_: string, options: Record<string, string>) => {
    const start = {
      workflowId: options.workflowId!,
      how: how ?? options.workflowIdReusePolicy,
      deadline,
    } as AskedStart;
    asked.push(start);
    await respond(start);
  };
  const client = {
    connection: {
      // Calls of several starts interleave, but each asks at once.
      withDeadline: (at: number, call: () => Promise<unknown>) => {
        deadline = at;
        return call();
      },
    },
    workflow: { start: ask(), signalWithStart: ask('wake') },
  } as unknown as Client;
  return {
    temporal: () => client,
    client,
    asked,
    ids: () => asked.map(({ workflowId }) => workflowId),
  };
}

/** An event with one delivery after its first attempt: delivered, or asleep until its retry in five minutes. */
export async function attemptedEvent(
  db: TestDatabase,
  status: 'succeeded' | 'pending',
  clientId?: string,
): Promise<CommittedEvent> {
  const event = await commitEvent(db, { retryDelays: [300_000], ...(clientId ? { clientId, endpoints: 0 } : {}) });
  await makeOne(db, event.deliveries[0]!.deliveryId, status === 'succeeded' ? outcome() : refusedBy(503));
  return event;
}
