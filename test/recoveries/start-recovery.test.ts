import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { recoverNow } from '../support/delivery-actions.js';

const db = await openTestDatabase();

const range = { since: 0, until: Date.now() + 60_000 };

async function failed() {
  const { clientId, eventId, deliveries } = await commitEvent(db);
  const data = { status: 'failed', attemptCount: 7, nextAttemptAt: null } as const;
  await db.prisma.delivery.updateMany({ where: { eventId }, data });
  return { clientId, endpointId: deliveries[0]!.endpointId };
}

describe('a recovery', () => {
  it('that the operator asks for does not count towards the statements of the client', async () => {
    const { clientId, endpointId } = await failed();
    const nothing = { since: 0, until: 1 };
    for (let i = 0; i < 25; i++) await recoverNow(db, clientId, endpointId, { ...nothing, countedFor: null });
    for (let i = 0; i < 20; i++) await recoverNow(db, clientId, endpointId, nothing);
    const more = recoverNow(db, clientId, endpointId, nothing);
    await expect(more).rejects.toMatchObject({ code: 'statement_limit_reached' });
    expect(await recoverNow(db, clientId, endpointId, { ...range, countedFor: null })).toMatchObject({ count: 1 });
  });
});
