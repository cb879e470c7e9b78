import { Dispatcher, type DispatcherOptions, type Job } from '../../src/delivery/dispatcher.js';
import type { LiveWorkers } from '../../src/delivery/live-workers.js';
import type { AttemptDependencies } from '../../src/delivery/make-attempt.js';
import { Recorder, type RecordOptions } from '../../src/delivery/record.js';
import type { Sender } from '../../src/delivery/sender/send.js';
import { type Limits, Slots } from '../../src/delivery/slots.js';
import { shareWaiting } from '../../src/delivery/waiting.js';
import { EndpointHours } from '../../src/endpoints/hours.js';
import type { Handle } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { createMetrics } from '../../src/platform/telemetry/metrics.js';
import { commitEvent } from './committed-event.js';
import type { TestDatabase } from './database.js';
import { masterKeys } from './factories.js';
import { emptyOutbox, outboxOf } from './outbox.js';
import { silentLog } from './silent-log.js';
import { waitFor } from './wait-for.js';

export interface TestDispatcherOptions extends Partial<Omit<DispatcherOptions, 'slots' | 'workers'>> {
  limits?: Partial<Limits>;
  workers?: Pick<LiveWorkers, 'of' | 'count'>;
  workflows?: RecordOptions['workflows'];
  recorder?: Recorder;
}

const LIMITS: Limits = { perEndpoint: 10, perClient: 20, total: 50, waiting: 1_000 };
const ALONE = { count: 1, of: (_: string, max: number) => max };
const ALWAYS = { isFirst: true };
export const NO_WAKE_UPS = { send: () => undefined };

/** What a process makes its attempts with. */
export function createTestAttempts(db: TestDatabase, sender: Sender, recorder: Recorder): AttemptDependencies {
  const endpointHours = new EndpointHours(db, silentLog);
  const metrics = createMetrics();
  const shared = { database: db, masterKeys, metrics, log: silentLog, clock: { now: Date.now() } };
  return { ...shared, sender, recorder, endpointHours, disableAfter: 0 };
}

/** Counts the statements of a handle, and keeps their texts. */
export function watchStatements<Db extends Handle>(db: Db): { db: Db; texts: string[] } {
  const texts: string[] = [];
  const watched = Object.assign(Object.create(db) as Db, {
    query(text: string, values: readonly unknown[]) {
      texts.push(text);
      return db.query(text, values);
    },
    hot(text: string, values: readonly unknown[]) {
      texts.push(text);
      return db.hot(text, values);
    },
  });
  return { db: watched, texts };
}

/** Whether a statement leases attempts from the queue. */
export const isLeaseStatement = (text: string) => text.includes('set lease_token = $1');

/** Dispatchers on `db`, each as in a separate process; `stop` ends them and empties queue and outbox. */
export function createTestDispatchers(db: TestDatabase) {
  const opened: Dispatcher[] = [];
  const readEvent = async (id: string) => ({
    ...(await db.prisma.event.findUniqueOrThrow({
      where: { id },
      include: { deliveries: { include: { attempts: { orderBy: { number: 'asc' } } }, orderBy: { id: 'asc' } } },
    })),
    outbox: await outboxOf(db, id),
  });
  return {
    open(sender: Sender, options: TestDispatcherOptions = {}) {
      const { limits, workers = ALONE, workflows = 'every-event', db: handle = db, ...rest } = options;
      const token = options.token ?? newId();
      const recorder = options.recorder ?? new Recorder(db, { token, workflows }, silentLog);
      const all = { ...LIMITS, ...limits };
      const slots = new Slots<Job>(all, workers);
      const dispatcher = new Dispatcher({
        db: handle,
        token,
        slots,
        workers,
        perEndpoint: all.perEndpoint,
        attempts: createTestAttempts(db, sender, recorder),
        retryDelays: [0, 300_000],
        waiting: shareWaiting(handle, ALWAYS),
        wakeUps: NO_WAKE_UPS,
        log: silentLog,
        ...rest,
      });
      opened.push(dispatcher);
      return {
        dispatcher,
        slots,
        recorder,
        token,
        /** Commits an event as this process does: its statement leases the attempts. */
        async commit(given: Parameters<typeof commitEvent>[1] = {}) {
          const { retryDelays } = dispatcher;
          const leaseTerms = () => dispatcher.leaseTerms();
          const event = await commitEvent(db, { retryDelays, leaseTerms, ...given });
          dispatcher.committed(event);
          return event;
        },
      };
    },
    readEvent,
    /** Waits until no attempt of the event is queued. */
    settled: (id: string) =>
      waitFor('the event to be settled', async () => {
        const queued = await db.prisma.queuedAttempt.count({
          where: { deliveryId: { in: (await readEvent(id)).deliveries.map((delivery) => delivery.id) } },
        });
        return queued === 0 && readEvent(id);
      }),
    readQueue: () => db.prisma.queuedAttempt.findMany({ orderBy: [{ dueAt: 'asc' }, { deliveryId: 'asc' }] }),
    async stop(): Promise<void> {
      for (const each of opened.splice(0)) await each.stop();
      await db.query('delete from queue', []);
      await emptyOutbox(db);
    },
  };
}
