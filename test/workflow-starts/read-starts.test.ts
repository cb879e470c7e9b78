import { readFirstAttempts } from '../../src/outbox/read-first-attempts.js';
import { readOwnerStart, readPending } from '../../src/workflow-starts/read-pending.js';
import { readStarts } from '../../src/workflow-starts/read-starts.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

/** The ladder of the process that commits the event, and of the process that starts the workflow after a restart. */
const [OWN, PRESENT] = [
  [0, 60_000, 120_000],
  [0, 1_000],
];

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe('the ladder of a delivery', () => {
  it('is the one of its commit in every start of its workflow, whatever the present configuration', async () => {
    const event = await commitEvent(db, { endpoints: 2, leases: false, retryDelays: OWN });
    const [read] = await readFirstAttempts(db, [event]);
    expect(read!.ladder).toEqual(OWN);

    const [start] = await readStarts(db, [event], PRESENT);
    expect(start!.input.ladder).toEqual(OWN);
    expect(start!.input.deliveries).toHaveLength(2);

    await db.prisma.event.update({ where: { id: event.eventId }, data: { outbox: 'done' } });
    const { starts } = await readPending(db, PRESENT, { overdueMinutes: null, after: null, limit: 10 });
    expect(starts.map(({ input }) => input.ladder)).toEqual([OWN]);
    expect((await readOwnerStart(db, PRESENT, event.deliveries[0]!.deliveryId))!.input.ladder).toEqual(OWN);
  });

  it('is the present one where an earlier release kept none', async () => {
    const event = await commitEvent(db, { leases: false, retryDelays: OWN });
    await db.query('update deliveries set ladder = null where event_id = $1::uuid', [event.eventId]);
    const [read] = await readFirstAttempts(db, [event]);
    expect(read!.ladder).toBeNull();
    const [start] = await readStarts(db, [event], PRESENT);
    expect(start!.input.ladder).toEqual(PRESENT);
  });
});
