import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recoverNow } from '../support/delivery-actions.js';
import { makeClient } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const range = { since: 0, until: Date.now() + 60_000 };

async function failed() {
  const { clientId, eventId, deliveries } = await commitEvent(db);
  const data = { status: 'failed', attemptCount: 7, nextAttemptAt: null } as const;
  await db.prisma.delivery.updateMany({ where: { eventId }, data });
  return { clientId, endpointId: deliveries[0]!.endpointId };
}

describe('a recovery', () => {
  it('is committed with the need for its workflow', async () => {
    const { clientId, endpointId } = await failed();
    expect(await recoverNow(db, clientId, endpointId, range)).toEqual({
      id: expect.any(String),
      count: 1,
      missing: 0,
      pending: 0,
    });
    const start = await db.prisma.workflowStart.findFirstOrThrow({ where: { endpointId } });
    expect(start).toMatchObject({
      ...{ workflowId: expect.stringMatching(/^recover-/), type: 'recoverEndpoint', clientId },
      ...{ summary: `recover 1 deliveries → hooks.example.com …${endpointId.slice(-8)}`, startedAt: null },
      input: { clientId, webhookId: endpointId, ...range, count: 1, includeMissing: false, missing: 0, pending: 0 },
    });
    await expect(recoverNow(db, clientId, endpointId, range)).rejects.toMatchObject({ code: 'recover_in_progress' });
  });

  it("is rejected for a disabled endpoint, a deleted endpoint, and another client's endpoint", async () => {
    const { clientId, endpointId } = await failed();
    const set = (data: object) => db.prisma.endpoint.update({ where: { id: endpointId }, data });
    const code = (of = clientId) => recoverNow(db, of, endpointId, range).catch((error) => error.code);
    expect(await code(await makeClient(db))).toBe('not_found');
    await set({ enabled: false, cancellingAfter: endpointId });
    expect(await code()).toBe('cancellation_in_progress');
    await set({ cancellingAfter: null });
    expect(await code()).toBe('endpoint_not_active');
    await set({ deletedAt: new Date() });
    expect(await code()).toBe('not_found');
    expect(await db.prisma.workflowStart.count({ where: { endpointId } })).toBe(0);
  });

  it('that the operator asks for does not count towards the statements of the client', async () => {
    const { clientId, endpointId } = await failed();
    const nothing = { since: 0, until: 1 };
    for (let i = 0; i < 25; i++) await recoverNow(db, clientId, endpointId, { ...nothing, countedFor: null });
    for (let i = 0; i < 20; i++) await recoverNow(db, clientId, endpointId, nothing);
    const more = recoverNow(db, clientId, endpointId, nothing);
    await expect(more).rejects.toMatchObject({ code: 'statement_limit_reached' });
    expect(await recoverNow(db, clientId, endpointId, { ...range, countedFor: null })).toMatchObject({ count: 1 });
  });

  it('leaves nothing behind where its transaction is rolled back', async () => {
    const { clientId, endpointId } = await failed();
    await db.query(
      `alter table audit_entries add constraint full_disk check (action <> 'endpoints.recover') not valid`,
      [],
    );
    await expect(recoverNow(db, clientId, endpointId, range)).rejects.toThrow('full_disk');
    await db.query('alter table audit_entries drop constraint full_disk', []);
    expect(await db.prisma.workflowStart.count({ where: { endpointId } })).toBe(0);
    expect(await recoverNow(db, clientId, endpointId, range)).toMatchObject({ count: 1 });
  });
});
