import { describe, expect, it } from '@jest/globals';
import { makeAttempt } from '../../src/delivery/make-attempt.js';
import { Recorder } from '../../src/delivery/record.js';
import type { SendOutcome } from '../../src/delivery/sender/send.js';
import type { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { lease } from '../support/attempt.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { createTestAttempts } from '../support/dispatcher.js';
import { fakeSender, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const HOUR = 3_600_000;
const token = newId();

const db = await openTestDatabase();

const leaseOf = ({ deliveries }: CommittedEvent) => lease(db, deliveries[0]!.deliveryId, token);

/** Makes the attempt of the event's first delivery, in a process with DISABLE_AFTER=120h. */
async function make(event: CommittedEvent, result: SendOutcome, database: Database = db, leased = leaseOf(event)) {
  const recorder = new Recorder(database, { token, workflows: 'every-event' }, silentLog);
  const attempts = createTestAttempts(
    db,
    fakeSender(() => result),
    recorder,
  );
  const dependencies = { ...attempts, database, disableAfter: 120 * HOUR };
  return makeAttempt(dependencies, await leased, () => undefined);
}
const endpointOf = (event: CommittedEvent) =>
  db.prisma.endpoint.findUniqueOrThrow({ where: { id: event.deliveries[0]!.endpointId } });
const statusOf = async (event: CommittedEvent) =>
  (await db.prisma.delivery.findUniqueOrThrow({ where: { id: event.deliveries[0]!.deliveryId } })).status;

describe('a receiver that responds 410', () => {
  it('fails its own delivery, then disables its endpoint and cancels the others', async () => {
    const event = await commitEvent(db);
    const other = await commitEvent(db, { clientId: event.clientId, endpoints: 0 });
    const { recorded } = await make(event, refusedBy(410));
    expect(recorded).toMatchObject({ status: 'failed', isQueued: false });
    expect(await endpointOf(event)).toMatchObject({ enabled: false, disabledReason: 'gone' });
    expect(await statusOf(other)).toBe('cancelled');
  });

  it('regression: leaves an endpoint that has another URL meanwhile enabled', async () => {
    const event = await commitEvent(db);
    const leased = await leaseOf(event);
    const { id } = await endpointOf(event);
    await db.prisma.endpoint.update({ where: { id }, data: { url: 'https://moved.example.com/in' } });
    expect((await make(event, refusedBy(410), db, Promise.resolve(leased))).recorded).toMatchObject({
      status: 'failed',
    });
    expect(await endpointOf(event)).toMatchObject({ enabled: true });
  });

  it('disables the endpoint once after a burst of 410s, without a deadlock', async () => {
    const event = await commitEvent(db);
    const events = [event];
    for (let i = 0; i < 19; i++) events.push(await commitEvent(db, { clientId: event.clientId, endpoints: 0 }));
    const leased = await Promise.all(events.map(leaseOf));
    await Promise.all(events.map((each, i) => make(each, refusedBy(410), db, Promise.resolve(leased[i]!))));
    const statuses = await Promise.all(events.map(statusOf));
    expect(statuses.filter((status) => status === 'failed' || status === 'cancelled')).toHaveLength(20);
    expect(statuses).toContain('failed');
    expect(await endpointOf(event)).toMatchObject({ enabled: false, disabledReason: 'gone' });
  });
});

describe('an endpoint that fails for DISABLE_AFTER', () => {
  /** Exhausts a delivery to the client's endpoint, created `ago` ms ago. */
  async function exhaust(clientId: string | undefined, ago: number): Promise<CommittedEvent> {
    const event = await commitEvent(db, { retryDelays: [], ...(clientId ? { clientId, endpoints: 0 } : {}) });
    const { clientId: owner } = event;
    const enabledAt = new Date(Date.now() - 500 * HOUR);
    await db.prisma.endpoint.updateMany({ where: { clientId: owner }, data: { enabledAt } });
    const createdAt = new Date(Date.now() - ago);
    await db.prisma.delivery.update({ where: { id: event.deliveries[0]!.deliveryId }, data: { createdAt } });
    await make(event, refusedBy(503));
    return event;
  }

  it('is disabled with the second exhausted delivery', async () => {
    const first = await exhaust(undefined, 130 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: true });
    await exhaust(first.clientId, 40 * HOUR);
    expect(await endpointOf(first)).toMatchObject({ enabled: false, disabledReason: 'failing' });
  });
});
