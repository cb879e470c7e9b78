import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/deliver.js';
import { createRecoverActivities } from '../../activities/recover.js';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { EndpointHours } from '../../src/webhooks/endpoint-hours.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import type { SendOutcome } from '../../src/webhooks/sender/send.js';
import { readStarts } from '../../src/workflow-starts/read-starts.js';
import { startDeliverEvent } from '../../src/workflow-starts/start-deliver-event.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { commitEvent } from './committed-event.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { masterKeys, outcome, refusedBy } from './factories.js';
import { LADDER } from './run-workflow.js';
import { silentLog } from './silent-log.js';
import { followTime, startTimeSkipping } from './time-skipping.js';
import { waitFor } from './wait-for.js';
import { thisBuild } from './workflow-builds.js';

const DAY = 24 * 3_600_000;

export type TestLadder = Awaited<ReturnType<typeof startLadder>>;

/**
 * A worker with the real workflows, activities and tables. Only the receiver is a function, and Temporal's test server
 * skips the time.
 */
export async function startLadder() {
  const [env, db] = await Promise.all([startTimeSkipping(), createTestDatabase()]);
  const follow = followTime(env, db);
  /** When each attempt was made, on Temporal's clock, by event. */
  const madeAt = new Map<string, number[]>();
  const note = async (body: string) => {
    const { id } = JSON.parse(body) as { id: string };
    madeAt.set(id, [...(madeAt.get(id) ?? []), await env.currentTimeMs()]);
  };
  const down = async (body: string): Promise<SendOutcome> => {
    await note(body);
    return refusedBy(503);
  };
  const receiver: { receive: (body: string) => SendOutcome | Promise<SendOutcome> } = { receive: down };
  const worker = await startWorker(env, db, (body) => receiver.receive(body), follow);
  const running = worker.run();

  /** An event whose attempts its workflow makes. The endpoint is new, or that of `clientId`. */
  const begin = async (clientId?: string, retryDelays: readonly number[] = LADDER): Promise<CommittedEvent> => {
    await follow();
    const event = await commitEvent(db, { leases: false, retryDelays, ...(clientId && { clientId, endpoints: 0 }) });
    const [start] = await readStarts(db, [event], LADDER);
    await startDeliverEvent(env.client, start!, { eager: false, reuse: 'start-once' });
    return event;
  };

  const read = ({ deliveries }: CommittedEvent) =>
    db.prisma.delivery.findUniqueOrThrow({
      where: { id: deliveries[0]!.deliveryId },
      include: { attempts: { orderBy: { number: 'asc' } } },
    });
  const untilAttempts = (event: CommittedEvent, count: number) =>
    waitFor(`attempt ${count}`, async () => (await read(event)).attemptCount === count);
  return {
    env,
    db,
    follow,
    madeAt,
    note,
    /** What the receiver does with an event's body; a test replaces it. */
    receiver,
    /** The receiver refuses with 503. */
    down,
    /** The receiver accepts. */
    async up(body: string): Promise<SendOutcome> {
      await note(body);
      return outcome();
    },
    begin,
    /** An event with two failed attempts, whose workflow sleeps before the third. */
    async fallAsleep(clientId?: string): Promise<CommittedEvent> {
      const event = await begin(clientId);
      await untilAttempts(event, 2);
      return event;
    },
    read,
    endpointOf: ({ deliveries }: CommittedEvent) =>
      db.prisma.endpoint.findUniqueOrThrow({ where: { id: deliveries[0]!.endpointId } }),
    triggers: async (event: CommittedEvent) => (await read(event)).attempts.map(({ trigger }) => trigger),
    attemptsOf: ({ eventId }: CommittedEvent) => madeAt.get(eventId) ?? [],
    untilAttempts,
    untilEnded: (workflowId: string) =>
      waitFor('the end of the workflow', async () => {
        const { status } = await env.client.workflow.getHandle(workflowId).describe();
        return status.name !== 'RUNNING';
      }),
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
      await env.teardown();
      await db.drop();
    },
  };
}

function startWorker(
  env: TestWorkflowEnvironment,
  db: TestDatabase,
  receive: (body: string) => SendOutcome | Promise<SendOutcome>,
  follow: () => Promise<void>,
): Promise<Worker> {
  const slots = new AttemptSlots({ perEndpoint: 10, perClient: 60, total: 150 });
  const { deliver } = createActivities({
    database: db,
    masterKeys,
    sender: { send: async ({ body }) => receive(body), close: async () => {} },
    recorder: new Recorder(db, silentLog),
    endpointHours: new EndpointHours(db, silentLog),
    disableAfter: 5 * DAY,
    metrics: createMetrics(),
    log: silentLog,
    acquireSlot: async (clientId, endpointId) => slots.tryAcquire(clientId, endpointId),
    releaseSlot: (clientId, endpointId) => slots.release(clientId, endpointId),
    inFlight: { arrived: () => undefined },
    startOwner: async () => undefined,
  });
  return Worker.create({
    connection: env.nativeConnection,
    taskQueue: TASK_QUEUE,
    workflowBundle: { code: thisBuild },
    activities: {
      async deliver(request: Parameters<typeof deliver>[0]) {
        await follow();
        return deliver(request);
      },
      ...createRecoverActivities({
        database: db,
        temporal: () => ({ client: env.client }),
        retryDelays: LADDER,
        metrics: createMetrics(),
      }),
    },
  });
}
