import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import { ExpressLane, type LaneOptions } from '../../src/express-lane/express-lane.js';
import type { LaneJob } from '../../src/express-lane/lane-event.js';
import { Sweep } from '../../src/express-lane/sweep.js';
import { shareWaiting } from '../../src/outbox/waiting.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { EndpointHours } from '../../src/webhooks/endpoint-hours.js';
import type { AttemptDependencies } from '../../src/webhooks/make-attempt.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import type { Sender } from '../../src/webhooks/sender/send.js';
import type { TestDatabase } from './database.js';
import { masterKeys } from './factories.js';
import { silentLog } from './silent-log.js';
import { waitFor } from './wait-for.js';

export type TestLaneOptions = Partial<LaneOptions> & { limits?: ConstructorParameters<typeof AttemptSlots>[0] };

/** What a lane makes its attempts with. */
export function createTestAttempts(db: TestDatabase, sender: Sender, recorder: Recorder): AttemptDependencies {
  const endpointHours = new EndpointHours(db, silentLog);
  const metrics = createMetrics();
  return { database: db, masterKeys, sender, recorder, endpointHours, disableAfter: 0, metrics, log: silentLog };
}

/** Express lanes with their sweeps on `db`; `stop` ends them and empties the outbox. */
export function createTestLanes(db: TestDatabase) {
  const opened: { stop(): Promise<void> }[] = [];
  const readEvent = (id: string) =>
    db.prisma.event.findUniqueOrThrow({ where: { id }, include: { deliveries: { include: { attempts: true } } } });
  return {
    /** `due`: the events that the lane has passed on to the workflow starter. */
    open(sender: Sender, options: TestLaneOptions = {}) {
      const due: { eventId: string; urgent: boolean }[] = [];
      const recorder = new Recorder(db, silentLog);
      const onDue = ({ eventId }: { eventId: string }, urgent: boolean) => due.push({ eventId, urgent });
      const lane = new ExpressLane({
        db,
        slots: new AttemptSlots<LaneJob>(options.limits ?? { perEndpoint: 10, perClient: 20, total: 50 }),
        attempts: createTestAttempts(db, sender, recorder),
        retryDelays: [0, 300_000],
        workflows: 'every-event',
        capacity: 1_000,
        onDue,
        log: silentLog,
        ...options,
      });
      const sweep = new Sweep({ db, lane, recorder, onDue, waiting: shareWaiting(db), log: silentLog });
      opened.push(sweep, lane);
      return { lane, sweep, due };
    },
    readEvent,
    /** Waits until the event has left the outbox's state `attempt`. */
    settled: (id: string) =>
      waitFor('the event to be settled', async () => {
        const event = await readEvent(id);
        return event.outbox !== 'attempt' && event;
      }),
    async stop(): Promise<void> {
      for (const each of opened.splice(0)) await each.stop();
      await db.query(`update events set outbox = 'done'`, []);
    },
  };
}
