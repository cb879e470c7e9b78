import { jest } from '@jest/globals';
import { type Client, ServiceError } from '@temporalio/client';
import type { Handle } from '../../src/database/database.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { IN_FLIGHT_BOUNDS, InFlightLimit } from '../../src/workflow-starts/in-flight-limit.js';
import { Pause } from '../../src/workflow-starts/pause.js';
import { DeliveryState, WebhookIds } from '../../workflows/search-attributes.js';
import { makeClient } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';
import { attemptedEvent, useStarters } from '../support/workflow-starter.js';

const its = useStarters();
/** A client that starts nothing; `started` has the ids, in order. */
function recordingClient() {
  const started: string[] = [];
  const start = async (_type: string, { workflowId }: { workflowId: string }) => void started.push(workflowId);
  return { client: { workflow: { start } } as unknown as Client, started };
}
const describeWorkflow = ({ eventId }: CommittedEvent) => its.temporal.client.workflow.getHandle(eventId).describe();

describe('WorkflowStarter', () => {
  it('starts one workflow for each event with a summary and search attributes, and marks the event', async () => {
    const event = await attemptedEvent(its.db, 'pending');
    its.starters.open().starter.start();
    await its.starters.done(event);
    const description = await describeWorkflow(event);
    expect(description).toMatchObject({ type: 'deliverEvent', taskQueue: 'webhook-deliveries' });
    expect(description.typedSearchAttributes.get(DeliveryState)).toBe('retrying');
    expect(description.typedSearchAttributes.get(WebhookIds)).toEqual([event.deliveries[0]!.endpointId]);
    expect(await description.staticSummary()).toBe('transfer.status_changed PROCESSING → 1 endpoint');
  });

  it('keeps URLs, secrets and bodies out of the history', async () => {
    const event = await attemptedEvent(its.db, 'pending');
    its.starters.open().starter.start();
    await its.starters.done(event);
    const history = JSON.stringify(await its.temporal.client.workflow.getHandle(event.eventId).fetchHistory());
    const [input] = [...history.matchAll(/"data":"([^"]+)"/g)].map(([, data]) =>
      Buffer.from(data!, 'base64').toString(),
    );
    expect(input).toContain('hooks.example.com');
    for (const secret of [event.deliveries[0]!.url, event.deliveries[0]!.secretEnvelope, '"version"']) {
      expect(history).not.toContain(secret);
      expect(input).not.toContain(secret);
    }
  });

  it('marks an event whose workflow runs already, after a crash between start and mark', async () => {
    const event = await attemptedEvent(its.db, 'pending');
    its.starters.open().starter.start();
    await its.starters.done(event);
    const { runId } = await describeWorkflow(event);
    await its.db.prisma.event.update({
      where: { id: event.eventId },
      data: { outbox: 'start', leaseUntil: new Date(0) },
    });
    await its.starters.done(event);
    expect((await describeWorkflow(event)).runId).toBe(runId);
  });

  it('starts no workflow for an event that every endpoint received, with WORKFLOWS=retries-only', async () => {
    const [delivered, pending] = [await attemptedEvent(its.db, 'succeeded'), await attemptedEvent(its.db, 'pending')];
    its.starters.open({ workflows: 'retries-only' }).starter.start();
    await Promise.all([its.starters.done(delivered), its.starters.done(pending)]);
    await expect(describeWorkflow(delivered)).rejects.toThrow(/not found/i);
    expect((await describeWorkflow(pending)).status.name).toBe('RUNNING');
  });

  it('starts events that waited for Temporal when it is back, the oldest of each client first', async () => {
    const clientId = await makeClient(its.db);
    const events = [await attemptedEvent(its.db, 'pending')];
    for (let i = 0; i < 3; i++) events.push(await attemptedEvent(its.db, 'pending', clientId));
    let connected: { client: Client; eager: boolean } | undefined;
    const { client, started } = recordingClient();
    const { starter } = its.starters.open({ temporal: () => connected });
    starter.start();
    starter.due({ ...events[0]!, attempts: 1 }, true);
    expect(await its.db.prisma.event.count({ where: { outbox: 'start' } })).toBe(4);
    connected = { client, eager: false };
    starter.nudge();
    await Promise.all(events.map(its.starters.done));
    const own = events.slice(1).map(({ eventId }) => eventId);
    expect(started.filter((id) => own.includes(id))).toEqual(own);
    expect(new Set(started).size).toBe(4);
  });

  it('starts an event with something left to do before older delivered events', async () => {
    const delivered = [];
    for (let i = 0; i < 5; i++) delivered.push(await attemptedEvent(its.db, 'succeeded'));
    const failed = await attemptedEvent(its.db, 'pending', delivered[0]!.clientId);
    const { client, started } = recordingClient();
    its.starters.open({ temporal: () => ({ client, eager: false }) }).starter.start();
    await Promise.all([failed, ...delivered].map(its.starters.done));
    expect([started[0], started.length]).toEqual([failed.eventId, 6]);
  });

  it('lets a delivered event in the state `start` trail, as the release before leaves it, unless it is exhausted', async () => {
    const [delivered, exhausted] = [
      await attemptedEvent(its.db, 'succeeded'),
      await attemptedEvent(its.db, 'succeeded'),
    ];
    await its.db.prisma.delivery.updateMany({ where: { eventId: exhausted.eventId }, data: { status: 'failed' } });
    await its.db.query(`update events set outbox = 'start' where outbox = 'trailing'`, []);
    const states: string[] = [];
    const start = async (_: string, { workflowId }: { workflowId: string }) => {
      states.push(await its.starters.outboxOf(workflowId === delivered.eventId ? delivered : exhausted));
    };
    const client = { workflow: { start } } as unknown as Client;
    its.starters.open({ temporal: () => ({ client, eager: false }) }).starter.start();
    await Promise.all([delivered, exhausted].map(its.starters.done));
    expect(states).toEqual(['start', 'trailing']);
  });

  it('returns an event to the queue when its start fails, and tries again', async () => {
    const event = await attemptedEvent(its.db, 'pending');
    let calls = 0;
    const flaky = {
      workflow: {
        start: async () => {
          calls++;
          if (calls === 1) throw new Error('14 UNAVAILABLE');
        },
      },
    } as unknown as Client;
    its.starters.open({ temporal: () => ({ client: flaky, eager: false }) }).starter.start();
    await its.starters.done(event);
    expect(calls).toBe(2);
  });

  it('starts the next batch while a start of the batch before has no response', async () => {
    const clientId = await makeClient(its.db);
    const events: CommittedEvent[] = [];
    // The first batch has two events.
    for (let i = 0; i < 4; i++) events.push(await attemptedEvent(its.db, 'pending', clientId));
    const [slow] = events as [CommittedEvent];
    const others = Promise.withResolvers<void>();
    const started = new Set<string>();
    const start = async (_: string, { workflowId }: { workflowId: string }) => {
      started.add(workflowId);
      if (started.size === events.length) others.resolve();
      if (workflowId === slow.eventId) await others.promise;
    };
    const client = { workflow: { start } } as unknown as Client;
    its.starters.open({ temporal: () => ({ client, eager: false }) }).starter.start();
    await Promise.all(events.map(its.starters.done));
    expect(started).toEqual(new Set(events.map(({ eventId }) => eventId)));
  });

  it('starts all other events while one event cannot be started', async () => {
    const pausedFully = jest.spyOn(Pause.prototype, 'full');
    const poison = await attemptedEvent(its.db, 'pending');
    const others = [await attemptedEvent(its.db, 'pending'), await attemptedEvent(its.db, 'pending')];
    let refused = 0;
    const start = async (_: string, { workflowId }: { workflowId: string }) => {
      if (workflowId !== poison.eventId) return;
      refused++;
      const cause = Object.assign(new Error('3 INVALID_ARGUMENT'), { code: 3, details: '', metadata: new Map() });
      throw new ServiceError('refused', { cause });
    };
    const client = { workflow: { start } } as unknown as Client;
    its.starters.open({ temporal: () => ({ client, eager: false }) }).starter.start();
    await Promise.all(others.map(its.starters.done));
    await waitFor('another try', () => refused >= 2);
    expect(await its.starters.outboxOf(poison)).toBe('start');
    expect(pausedFully).not.toHaveBeenCalled();
    pausedFully.mockRestore();
  });

  it('reads the table again when an event becomes due during a read that finds nothing', async () => {
    // With no interval, only the notification can cause another read.
    const interval = jest.spyOn(globalThis, 'setInterval').mockReturnValue(setTimeout(() => undefined, 0));
    let reads = 0;
    const counting: Handle = Object.create(its.db, {
      query: {
        value: async (text: string, values: unknown[]) => {
          if (values[0] !== 'trailing') return its.db.query(text, values);
          reads++;
          if (reads === 1) starter.due({ eventId: '', clientId: '', attempts: 0 }, false);
          return [];
        },
      },
    });
    const { starter } = its.starters.open({ db: counting });
    starter.start();
    interval.mockRestore();
    await waitFor('another read', () => reads === 2);
  });

  it('starts at most two workflows of delivered events in a second while the express lane is busy', async () => {
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 30; i++) events.push(await attemptedEvent(its.db, 'succeeded'));
    const { client, started } = recordingClient();
    let busy = true;
    const { starter } = its.starters.open({ temporal: () => ({ client, eager: false }), busy: () => busy });
    const begun = performance.now();
    starter.start();
    await waitFor('a few starts', () => {
      for (const event of events) starter.due({ ...event, attempts: 0 }, false);
      return started.length >= 4;
    });
    expect(started.length).toBeLessThanOrEqual(2 * (1 + (performance.now() - begun) / 1_000));
    busy = false;
    await Promise.all(events.map(its.starters.done));
  });

  it('starts at most two workflows of delivered events in 250 ms while an attempt waits for capacity in Temporal', async () => {
    const waiting = await attemptedEvent(its.db, 'pending');
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 30; i++) events.push(await attemptedEvent(its.db, 'succeeded'));
    const { client, started } = recordingClient();
    const inFlight = new InFlightLimit({ ...IN_FLIGHT_BOUNDS, size: 1, forgottenAfter: 600_000, hasSlot: () => true });
    inFlight.admit(waiting.clientId, 1, performance.now());
    const { starter } = its.starters.open({ temporal: () => ({ client, eager: false }), inFlight });
    const begun = performance.now();
    starter.start();
    await waitFor('a few starts', () => started.length >= 4);
    expect(started.length).toBeLessThanOrEqual(2 * (1 + (performance.now() - begun) / 250));
    expect(started).not.toContain(waiting.eventId);
    inFlight.arrived(waiting.clientId);
    await Promise.all([waiting, ...events].map(its.starters.done));
  });
});
