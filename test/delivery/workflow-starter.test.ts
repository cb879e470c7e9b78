import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ServiceError } from '@temporalio/client';
import type { DueState } from '../../src/delivery/outbox.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import { IDLE_FOR_START } from '../../src/delivery/workflow-starter.js';
import { DeliveryState, WebhookIds } from '../../workflows/search-attributes.js';
import { makeOne } from '../support/attempt.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { watchStatements } from '../support/dispatcher.js';
import { BY_OPERATOR as by, refusedBy } from '../support/factories.js';
import { outboxOf as readOutbox, setOutbox as writeOutbox } from '../support/outbox.js';
import { waitFor } from '../support/wait-for.js';
import { attemptedEvent, fakeTemporal, useStarters } from '../support/workflow-starter.js';

const its = useStarters();

const idOf = ({ deliveries }: CommittedEvent, of = 0) => deliveries[of]!.deliveryId;
const handleOf = ({ eventId }: CommittedEvent) => its.temporal.client.workflow.getHandle(eventId);
const describeWorkflow = (event: CommittedEvent) => handleOf(event).describe();
const setOutbox = ({ eventId }: CommittedEvent, state: DueState) => writeOutbox(its.db, eventId, state);
const outboxOf = ({ eventId }: CommittedEvent) => readOutbox(its.db, eventId);
const signalsOf = async (event: CommittedEvent) =>
  ((await handleOf(event).fetchHistory()).events ?? [])
    .map(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName)
    .filter(Boolean);
const rejected = () => {
  const cause = Object.assign(new Error('3 INVALID_ARGUMENT'), { code: 3, details: '', metadata: new Map() });
  return new ServiceError('rejected', { cause });
};

describe('the workflow starter', () => {
  it('starts one workflow for each event with a summary and search attributes, and marks the event', async () => {
    const event = await attemptedEvent(its.db, 'pending');
    its.starters.open();
    await its.starters.done(event);
    const description = await describeWorkflow(event);
    expect(description).toMatchObject({ type: 'deliverEvent', taskQueue: 'webhook-deliveries' });
    expect(description.typedSearchAttributes.get(DeliveryState)).toBe('retrying');
    expect(description.typedSearchAttributes.get(WebhookIds)).toEqual([event.deliveries[0]!.endpointId]);
    expect(await description.staticSummary()).toMatch(
      /^transfer\.status_changed PROCESSING → hooks\.example\.com …[0-9a-f]{8}$/,
    );
  });

  // It went round and round without a pause where other workers had leased the events of more clients than a batch has.
  it('looks at all clients once in each poll, if other workers have leased their events', async () => {
    await its.db.query(
      `insert into outbox (event_id, client_id, state, lease_until)
       select gen_random_uuid(), gen_random_uuid(), 'start', now() + interval '25 s' from generate_series(1, 100)`,
      [],
    );
    const { db, texts } = watchStatements(its.db);
    let polls = 0;
    const waiting = async () => ({ starts: polls++ < 3 });
    its.starters.open({ db, waiting });
    await waitFor('the polls', () => polls === 4);
    // 100 clients in batches of 32.
    expect(texts.length).toBeGreaterThanOrEqual(4);
    expect(texts.length).toBeLessThanOrEqual(3 * 4);
  });

  it('starts the workflow of a delivered event once, and that of a failed one again after it has ended', async () => {
    const [delivered, failed] = [await attemptedEvent(its.db, 'succeeded'), await attemptedEvent(its.db, 'pending')];
    const events = [delivered, failed];
    const starter = its.starters.open();
    await Promise.all(events.map(its.starters.done));
    const before = await Promise.all(events.map(async (event) => (await describeWorkflow(event)).runId));
    for (const event of events) await handleOf(event).terminate('it has ended');
    await Promise.all([setOutbox(delivered, 'delivered'), setOutbox(failed, 'start')]);
    starter.request();
    await Promise.all(events.map(its.starters.done));
    const after = await Promise.all(events.map(async (event) => (await describeWorkflow(event)).runId));
    expect(after.map((runId, i) => runId === before[i])).toEqual([true, false]);
  });

  it('wakes a running workflow whose row was changed, and starts one that has ended', async () => {
    const [running, ended] = [await attemptedEvent(its.db, 'pending'), await attemptedEvent(its.db, 'succeeded')];
    const events = [running, ended];
    const starter = its.starters.open();
    await Promise.all(events.map(its.starters.done));
    const before = await Promise.all(events.map(async (event) => (await describeWorkflow(event)).runId));
    await handleOf(ended).terminate('it has ended');
    for (const event of events) {
      await retryDelivery(
        its.db,
        { queued: () => undefined },
        { by, clientId: event.clientId, deliveryId: idOf(event) },
      );
      await makeOne(its.db, idOf(event), refusedBy(503));
      expect(await outboxOf(event)).toBe('again');
    }
    starter.request();
    await Promise.all(events.map(its.starters.done));
    expect(await Promise.all(events.map(signalsOf))).toEqual([['wake'], ['wake']]);
    const after = await Promise.all(events.map(async (event) => (await describeWorkflow(event)).runId));
    expect(after.map((runId, i) => runId === before[i])).toEqual([true, false]);
  });

  it('regression: starts one workflow at a time while Temporal is overloaded, so that it can recover', async () => {
    const { clientId, ...first } = await attemptedEvent(its.db, 'pending');
    const events: CommittedEvent[] = [{ clientId, ...first }];
    for (let i = 0; i < 40; i++) events.push(await attemptedEvent(its.db, 'pending', clientId));
    let isOverloaded = true;
    let inFlight = 0;
    let most = 0;
    const { temporal, asked } = fakeTemporal(async () => {
      most = Math.max(most, ++inFlight);
      await new Promise(setImmediate);
      inFlight--;
      if (isOverloaded) throw new Error('4 DEADLINE_EXCEEDED');
    });
    its.starters.open({ temporal });
    await waitFor('smaller batches', () => asked.length >= 32 + 16 + 8 + 4 + 2);
    most = 0;
    await waitFor('two more batches', () => asked.length >= 32 + 16 + 8 + 4 + 2 + 2);
    expect(most).toBe(1);
    isOverloaded = false;
    await Promise.all(events.map(its.starters.done));
  });

  it('starts all other events while Temporal rejects the input of one, even the first', async () => {
    const poison = await attemptedEvent(its.db, 'pending');
    await setOutbox(poison, 'again');
    const others = [await attemptedEvent(its.db, 'pending'), await attemptedEvent(its.db, 'succeeded')];
    const { temporal, ids } = fakeTemporal(({ workflowId }) => {
      if (workflowId === poison.eventId) throw rejected();
    });
    its.starters.open({ temporal });
    await Promise.all(others.map(its.starters.done));
    await waitFor('another try', () => ids().filter((id) => id === poison.eventId).length >= 2);
    expect(await outboxOf(poison)).toBe('again');
  });

  // It leased and released such events again and again, for as long as a receiver hung.
  it('regression: looks once at a delivered event whose other first attempt is queued, and starts it with that', async () => {
    const event = await commitEvent(its.db, { endpoints: 2 });
    await makeOne(its.db, idOf(event));
    expect(await outboxOf(event)).toBe('delivered');
    const { temporal, ids } = fakeTemporal();
    its.starters.open({ temporal });
    await its.starters.done(event);
    expect([ids(), await outboxOf(event)]).toEqual([[], null]);
    await makeOne(its.db, idOf(event, 1));
    await its.starters.done(event);
    expect(ids()).toEqual([event.eventId]);
  });

  it('gives way to attempts: starts as many as the idle time of the process pays for', async () => {
    const { clientId, ...first } = await attemptedEvent(its.db, 'pending');
    const events: CommittedEvent[] = [{ clientId, ...first }];
    for (let i = 0; i < 40; i++) events.push(await attemptedEvent(its.db, 'pending', clientId));
    const { temporal, ids } = fakeTemporal();
    let idle = 1_000;
    its.starters.open({ temporal, idleTime: () => idle });
    const started = async (count: number) => {
      await waitFor(`${count} starts`, () => ids().length >= count);
      // Longer than the rest between two looks.
      await setTimeout(600);
      expect(ids()).toHaveLength(count);
    };
    await started(32);
    idle += 3 * IDLE_FOR_START - 1;
    await started(34);
    idle += 1_000_000;
    await Promise.all(events.map(its.starters.done));
  });
});
