import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { fillPast } from '../../bench/past.js';
import { makeTenants, makeTransfers, SECRET } from '../../bench/tenants.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { Secret } from '../../src/platform/secret.js';
import { readBacklog } from '../../src/reports/backlog.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recordingHandover } from '../support/recording-handover.js';

/**
 * The bench writes rows without the service's own functions. The rows must equal the rows that those functions make.
 */
describe('rows that the bench makes', () => {
  let db: TestDatabase;
  let database: pg.Client;
  const masterKeys = new MasterKeys(new Secret<Uint8Array>(randomBytes(32)));

  beforeAll(async () => {
    db = await createTestDatabase();
    database = new pg.Client({ connectionString: db.url.reveal() });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
    await db.drop();
  });

  it('are transfers whose change makes a delivery for each endpoint of the client, with a readable secret', async () => {
    const tenants = await makeTenants({ database, masterKeys }, 'http://127.0.0.1:1', { clients: 2, endpointsEach: 3 });
    const transfers = await makeTransfers({ database }, tenants, 4);
    for (const [index, transferId] of transfers.entries()) {
      const handover = recordingHandover();
      await changeStatus(db, handover, { transferId, to: 'PROCESSING', reason: null });
      const handed = handover.events.flatMap(({ deliveries }) => deliveries);
      const { endpoints } = tenants.clients[index % 2]!;
      expect(handed.map(({ endpointId }) => endpointId).sort()).toEqual([...endpoints].sort());
      for (const { endpointId: id } of handed) {
        const { secretEnvelope } = await db.prisma.endpoint.findUniqueOrThrow({ where: { id } });
        expect(masterKeys.open(secretEnvelope!, id).reveal()).toBe(SECRET.reveal());
      }
    }
  });

  it('are past events without pending work', async () => {
    const tenants = await makeTenants({ database, masterKeys }, 'http://127.0.0.1:1', { clients: 1, endpointsEach: 1 });
    const before = await readBacklog(db);
    await fillPast({ database }, tenants, 500, () => undefined);
    const { rows } = await database.query(
      `select count(*)::int as n from attempts a
         join deliveries d on d.id = a.delivery_id and d.status = 'succeeded'
         join webhook_endpoints w on w.id = d.endpoint_id and w.client_id = d.client_id
         join events e on e.id = d.event_id and e.client_id = d.client_id
         join transfers t on t.id = e.transfer_id and t.client_id = e.client_id
         join transfer_status_history h on h.transfer_id = t.id and h.position = 1 and h.status = t.status
        where d.client_id = $1::uuid`,
      [tenants.clients[0]!.id],
    );
    expect(rows[0].n).toBe(500);
    const after = await readBacklog(db);
    expect(after.waiting).toEqual(before.waiting);
    expect([after.sleeping, after.overdue]).toEqual([before.sleeping, before.overdue]);
  });
});
