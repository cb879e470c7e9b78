import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { createDeliverActivities } from '../../activities/deliver.js';
import { Recorder } from '../../src/delivery/record.js';
import { resetForRecovery } from '../../src/delivery/recoveries.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import type { Sender, SendOutcome } from '../../src/delivery/sender/send.js';
import { newId } from '../../src/platform/ids.js';
import { type DeliverRequest, TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import type { CommittedEvent } from './committed-event.js';
import { createTestDatabase } from './database.js';
import { createTestAttempts, createTestDispatchers } from './dispatcher.js';
import { BY_OPERATOR as by, outcome, refusedBy } from './factories.js';
import { outboxOf } from './outbox.js';
import { LADDER } from './run-workflow.js';
import { silentLog } from './silent-log.js';
import { followTime, startTimeSkipping } from './time-skipping.js';
import { waitFor } from './wait-for.js';
import { thisBuild } from './workflow-builds.js';
import { createTestStarters } from './workflow-starter.js';

const DAY = 24 * 3_600_000;

export type TestLadder = Awaited<ReturnType<typeof startLadder>>;

/**
 * A process with the real workflows, activities, dispatcher, workflow starter and tables. Only the receiver is a
 * function, and Temporal's test server skips the time.
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

  const token = newId();
  const recorder = new Recorder(db, { token, workflows: 'every-event' }, silentLog);
  const sender: Sender = { send: async ({ body }) => receiver.receive(body), close: async () => undefined };
  const attempts = { ...createTestAttempts(db, sender, recorder), disableAfter: 5 * DAY };
  const dispatchers = createTestDispatchers(db);
  const { dispatcher, commit } = dispatchers.open(sender, { token, recorder, attempts });
  dispatcher.start();
  const starters = createTestStarters(db, () => env.client);
  const starter = starters.open();
  const { deliver, ...rest } = createDeliverActivities(db, dispatcher, silentLog);
  const worker = await createWorker(env, {
    ...rest,
    async deliver(request: DeliverRequest) {
      await follow();
      return deliver(request);
    },
  });
  const running = worker.run();

  const read = ({ deliveries }: CommittedEvent) =>
    db.prisma.delivery.findUniqueOrThrow({
      where: { id: deliveries[0]!.deliveryId },
      include: { attempts: { orderBy: { number: 'asc' } } },
    });
  /** Waits until the event's workflow knows the rows. */
  const untilKnown = ({ eventId }: CommittedEvent) =>
    waitFor('the workflow to be told', async () => {
      starter.request();
      if ((await outboxOf(db, eventId)) !== null) return false;
      const { raw, status } = await env.client.workflow.getHandle(eventId).describe();
      return status.name !== 'RUNNING' || !raw.pendingWorkflowTask;
    });
  const untilAttempts = (event: CommittedEvent, count: number) =>
    waitFor(`attempt ${count}`, async () => (await read(event)).attemptCount === count);
  /** An event whose first attempts the dispatcher makes. The endpoint is new, or that of `clientId`. */
  const begin = async (clientId?: string, retryDelays: readonly number[] = LADDER): Promise<CommittedEvent> => {
    await follow();
    return commit({ retryDelays, ...(clientId && { clientId, endpoints: 0 }) });
  };
  return {
    env,
    db,
    follow,
    madeAt,
    note,
    /** The receiver's reaction to an event's body; a test replaces it. */
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
    async fallAsleep(clientId?: string, retryDelays?: readonly number[]): Promise<CommittedEvent> {
      const event = await begin(clientId, retryDelays);
      await untilAttempts(event, 2);
      await untilKnown(event);
      return event;
    },
    async retry({ deliveries, clientId }: CommittedEvent): Promise<void> {
      await follow();
      await retryDelivery(db, dispatcher, { by, clientId, deliveryId: deliveries[0]!.deliveryId });
    },
    /** Begins the ladder again, as a recovery does. */
    async recover({ deliveries, clientId }: CommittedEvent, retryDelays: readonly number[]): Promise<void> {
      await follow();
      const { endpointId } = deliveries[0]!;
      const scope = { clientId, endpointId, since: 0, until: Date.now() + DAY };
      await resetForRecovery(db, { ...scope, after: null, limit: 20, retryDelays });
      dispatcher.poll();
    },
    read,
    endpointOf: ({ deliveries }: CommittedEvent) =>
      db.prisma.endpoint.findUniqueOrThrow({ where: { id: deliveries[0]!.endpointId } }),
    triggers: async (event: CommittedEvent) => (await read(event)).attempts.map(({ trigger }) => trigger),
    attemptsOf: ({ eventId }: CommittedEvent) => madeAt.get(eventId) ?? [],
    untilAttempts,
    untilKnown,
    /** Waits until the event's workflow has ended with the present state of the rows. */
    async untilEnded(event: CommittedEvent): Promise<void> {
      await untilKnown(event);
      await waitFor('the end of the workflow', async () => {
        const { status } = await env.client.workflow.getHandle(event.eventId).describe();
        return status.name !== 'RUNNING';
      });
    },
    async stop(): Promise<void> {
      worker.shutdown();
      await running;
      await starters.stop();
      await dispatchers.stop();
      await env.teardown();
      await db.drop();
    },
  };
}

const createWorker = (env: TestWorkflowEnvironment, activities: object): Promise<Worker> =>
  Worker.create({
    connection: env.nativeConnection,
    taskQueue: TASK_QUEUE,
    workflowBundle: { code: thisBuild },
    activities,
  });
