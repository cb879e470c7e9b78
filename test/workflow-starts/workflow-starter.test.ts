import { jest } from '@jest/globals';
import { type Client, ServiceError } from '@temporalio/client';
import type { Handle } from '../../src/database/database.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { IN_FLIGHT_BOUNDS, InFlightLimit } from '../../src/workflow-starts/in-flight-limit.js';
import { Pause } from '../../src/workflow-starts/pause.js';
import { WorkflowStarter, type WorkflowStarterOptions } from '../../src/workflow-starts/workflow-starter.js';
import { DeliveryState, WebhookIds } from '../../workflows/search-attributes.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let temporal: TestTemporal;
const starters: WorkflowStarter[] = [];
/** Of the starter that was opened last. */
let inFlight: InFlightLimit;

beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterEach(async () => {
  for (const starter of starters.splice(0)) await starter.stop();
  await db.query(`update events set outbox = 'done'`, []);
});
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

function openStarter(options: Partial<WorkflowStarterOptions> = {}): WorkflowStarter {
  inFlight = new InFlightLimit({ ...IN_FLIGHT_BOUNDS, hasSlot: () => true });
  const starter = new WorkflowStarter({
    db,
    temporal: () => ({ client: temporal.client, eager: false }),
    retryDelays: [0, 300_000],
    workflows: 'every-event',
    busy: () => false,
    inFlight,
    log: silentLog,
    ...options,
  });
  starters.push(starter);
  return starter;
}

/** An event whose first attempt has been made, as the lane leaves it. */
async function attempted(status: 'succeeded' | 'pending', clientId?: string): Promise<CommittedEvent> {
  const event = await commitEvent(db, clientId ? { clientId, endpoints: 0 } : {});
  const ended = status === 'succeeded' && { nextAttemptAt: null, finishedAt: new Date() };
  await db.prisma.delivery.updateMany({
    where: { eventId: event.eventId },
    data: { status, attemptCount: 1, attemptingUntil: null, ...ended },
  });
  await db.prisma.event.update({ where: { id: event.eventId }, data: { outbox: 'start', leaseUntil: new Date(0) } });
  return event;
}

const outboxOf = async ({ eventId }: CommittedEvent) =>
  (await db.prisma.event.findUniqueOrThrow({ where: { id: eventId } })).outbox;
const done = (event: CommittedEvent) =>
  waitFor('the event to be marked', async () => (await outboxOf(event)) === 'done');
const describeWorkflow = ({ eventId }: CommittedEvent) => temporal.client.workflow.getHandle(eventId).describe();

describe('WorkflowStarter', () => {
  it('starts one workflow for each event, with what an operator reads and filters by, and marks the event', async () => {
    const event = await attempted('pending');
    openStarter().start();
    await done(event);
    const description = await describeWorkflow(event);
    expect(description).toMatchObject({ type: 'deliverEvent', taskQueue: 'webhook-deliveries' });
    expect(description.typedSearchAttributes.get(DeliveryState)).toBe('retrying');
    expect(description.typedSearchAttributes.get(WebhookIds)).toEqual([event.deliveries[0]!.endpointId]);
    expect(await description.staticSummary()).toBe('transfer.status_changed PROCESSING → 1 endpoint');
  });

  it('puts neither URL nor secret nor body into the history', async () => {
    const event = await attempted('pending');
    openStarter().start();
    await done(event);
    const history = JSON.stringify(await temporal.client.workflow.getHandle(event.eventId).fetchHistory());
    const [input] = [...history.matchAll(/"data":"([^"]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    expect(input).toContain('hooks.example.com');
    for (const secret of [event.deliveries[0]!.url, event.deliveries[0]!.secretEnvelope, '"version"']) {
      expect(history).not.toContain(secret);
      expect(input).not.toContain(secret);
    }
  });

  it('counts a workflow that has started already as started: a crash between start and mark', async () => {
    const event = await attempted('pending');
    openStarter().start();
    await done(event);
    const { runId } = await describeWorkflow(event);
    await db.prisma.event.update({ where: { id: event.eventId }, data: { outbox: 'start', leaseUntil: new Date(0) } });
    await done(event);
    expect((await describeWorkflow(event)).runId).toBe(runId);
  });

  it('where WORKFLOWS=retries-only starts none for what is delivered everywhere', async () => {
    const [delivered, pending] = [await attempted('succeeded'), await attempted('pending')];
    openStarter({ workflows: 'retries-only' }).start();
    await Promise.all([done(delivered), done(pending)]);
    await expect(describeWorkflow(delivered)).rejects.toThrow(/not found/i);
    expect((await describeWorkflow(pending)).status.name).toBe('RUNNING');
  });

  it('lets events wait while Temporal is away, and starts them when it is back, oldest first of each client', async () => {
    const clientId = await makeClient(db);
    const events = [await attempted('pending')];
    for (let i = 0; i < 3; i++) events.push(await attempted('pending', clientId));
    let connected: { client: Client; eager: boolean } | undefined;
    const started: string[] = [];
    const recording = {
      workflow: {
        start: async (_type: string, { workflowId }: { workflowId: string }) => void started.push(workflowId),
      },
    } as unknown as Client;
    const starter = openStarter({ temporal: () => connected });
    starter.start();
    starter.due({ ...events[0]!, attempts: 1 }, true);
    expect(await db.prisma.event.count({ where: { outbox: 'start' } })).toBe(4);
    connected = { client: recording, eager: false };
    starter.nudge();
    await Promise.all(events.map(done));
    const own = events.slice(1).map(({ eventId }) => eventId);
    expect(started.filter((id) => own.includes(id))).toEqual(own);
    expect(new Set(started).size).toBe(4);
  });

  it('returns an event that could not be started to the queue, and tries again', async () => {
    const event = await attempted('pending');
    let calls = 0;
    const flaky = {
      workflow: {
        start: async () => {
          calls++;
          if (calls === 1) throw new Error('14 UNAVAILABLE');
        },
      },
    } as unknown as Client;
    openStarter({ temporal: () => ({ client: flaky, eager: false }) }).start();
    await done(event);
    expect(calls).toBe(2);
  });

  it('holds up no event for one that cannot be started, alone in its batch or not', async () => {
    const whole = jest.spyOn(Pause.prototype, 'full');
    const poison = await attempted('pending');
    const others = [await attempted('pending'), await attempted('pending')];
    let refused = 0;
    const start = async (_: string, { workflowId }: { workflowId: string }) => {
      if (workflowId !== poison.eventId) return;
      refused++;
      const cause = Object.assign(new Error('3 INVALID_ARGUMENT'), { code: 3, details: '', metadata: new Map() });
      throw new ServiceError('refused', { cause });
    };
    const client = { workflow: { start } } as unknown as Client;
    openStarter({ temporal: () => ({ client, eager: false }) }).start();
    await Promise.all(others.map(done));
    await waitFor('another try', () => refused >= 2);
    expect(await outboxOf(poison)).toBe('start');
    expect(whole).not.toHaveBeenCalled();
    whole.mockRestore();
  });

  it('forgets no event that becomes due while it reads the table and finds nothing', async () => {
    // Without the interval, only the notification can lead to another look.
    const interval = jest.spyOn(globalThis, 'setInterval').mockReturnValue(setTimeout(() => undefined, 0));
    let looks = 0;
    const looking: Handle = Object.create(db, {
      query: {
        value: async (text: string, values: unknown[]) => {
          if (values[0] !== 'start') return db.query(text, values);
          looks++;
          if (looks === 1) starter.due({ eventId: '', clientId: '', attempts: 0 }, false);
          return [];
        },
      },
    });
    const starter = openStarter({ db: looking });
    starter.start();
    interval.mockRestore();
    await waitFor('another look', () => looks === 2);
  });

  it('gives way to a busy lane, however many events become due meanwhile: two in a quarter of a second', async () => {
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 30; i++) events.push(await attempted('succeeded'));
    const started: string[] = [];
    const start = async (_: string, { workflowId }: { workflowId: string }) => void started.push(workflowId);
    const client = { workflow: { start } } as unknown as Client;
    let busy = true;
    const starter = openStarter({ temporal: () => ({ client, eager: false }), busy: () => busy });
    const begun = performance.now();
    starter.start();
    await waitFor('a few', () => {
      for (const event of events) starter.due({ ...event, attempts: 0 }, false);
      return started.length >= 4;
    });
    expect(started.length).toBeLessThanOrEqual(2 * (1 + (performance.now() - begun) / 250));
    busy = false;
    await Promise.all(events.map(done));
  });

  /** A client that starts nothing, and a starter whose attempts arrive at once. */
  function withoutTemporal() {
    const started: string[] = [];
    const begin = async (_: string, options: { workflowId: string; args: { clientId: string }[] }) => {
      started.push(options.workflowId);
      if (arriving) inFlight.arrived(options.args[0]!.clientId);
    };
    let arriving = true;
    const client = { workflow: { start: begin } } as unknown as Client;
    const starter = openStarter({ temporal: () => ({ client, eager: false }) });
    return { starter, started, stopArrivals: () => (arriving = false) };
  }

  async function floodAndQuiet() {
    const loud = await attempted('pending');
    const flood: CommittedEvent[] = [loud];
    for (let i = 0; i < 120; i++) flood.push(await attempted('pending', loud.clientId));
    return { flood, quiet: await attempted('pending') };
  }

  it('serves clients in turn: the backlog of one does not hold up another', async () => {
    const { flood, quiet } = await floodAndQuiet();
    const { starter, started } = withoutTemporal();
    starter.start();
    await Promise.all([...flood, quiet].map(done));
    expect(started.indexOf(quiet.eventId)).toBeLessThan(50);
  });

  it('starts urgent ones in turn across clients: a mass failure of one does not delay the first retry of another', async () => {
    const { flood, quiet } = await floodAndQuiet();
    const all = [...flood, quiet];
    // Leased to this process, as the lane leaves them: nobody finds them in the table.
    const leaseUntil = new Date(Date.now() + 60_000);
    await db.prisma.event.updateMany({
      where: { id: { in: all.map(({ eventId }) => eventId) } },
      data: { leaseUntil },
    });
    const { starter, started } = withoutTemporal();
    for (const event of all) starter.due({ ...event, attempts: 1 }, true);
    starter.start();
    await Promise.all(all.map(done));
    // In the first batch, with 31 of the others.
    expect(started.indexOf(quiet.eventId)).toBeLessThan(32);
  });

  it('counts no attempt in flight of a workflow that another worker has started', async () => {
    const clientId = await makeClient(db);
    const first = await attempted('pending');
    const elsewhere = [await commitEvent(db, { clientId })];
    for (let i = 1; i < 80; i++) elsewhere.push(await commitEvent(db, { clientId, endpoints: 0 }));
    await db.query(`update events set outbox = 'done' where client_id = $1::uuid`, [clientId]);
    const last = await attempted('pending', clientId);
    const starter = openStarter();
    for (const event of [...elsewhere, last]) starter.due({ ...event, attempts: 1 }, true);
    starter.start();
    await Promise.all([done(first), done(last)]);
  });

  it('counts no attempt in flight of a workflow that sleeps first, such as where the first retry is hours away', async () => {
    const clientId = await makeClient(db);
    // With the endpoint of all the others.
    await commitEvent(db, { clientId });
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 60; i++) events.push(await attempted('pending', clientId));
    await db.query(`update deliveries set next_attempt_at = now() + interval '6 hours' where client_id = $1::uuid`, [
      clientId,
    ]);
    const starter = openStarter();
    for (const event of events) starter.due({ ...event, attempts: 1 }, true);
    starter.start();
    await Promise.all(events.map(done));
  });

  it('lets ten attempts of one client wait in Temporal, and starts the next as they come', async () => {
    const { flood, quiet } = await floodAndQuiet();
    const { starter, started, stopArrivals } = withoutTemporal();
    stopArrivals();
    starter.start();
    await done(quiet);
    await waitFor('ten of the flood', () => started.length === 11);
    const late = await attempted('pending');
    starter.nudge();
    await done(late);
    expect(started).toHaveLength(12);
    const { clientId } = flood[0]!;
    for (let i = 0; i < 5; i++) inFlight.arrived(clientId);
    await waitFor('five more', () => started.length === 17);
  });
});
