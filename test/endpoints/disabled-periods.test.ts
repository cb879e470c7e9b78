import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { disableEndpoint } from '../../src/endpoints/disable.js';
import { deleteEndpoint, updateEndpoint } from '../../src/endpoints/endpoints.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, makeClient, makeEndpoint } from '../support/factories.js';

let db: TestDatabase;
const rules = { httpsOnly: false, blocksLiteral: () => false, maxEndpoints: 20 };

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const endpoint = async (enabled = true) => makeEndpoint(db, await makeClient(db), { enabled });
const periodsOf = async (endpointId: string) =>
  (await db.prisma.disabledPeriod.findMany({ where: { endpointId }, orderBy: { id: 'asc' } })).map(
    ({ reason, endedAt }) => [reason, endedAt !== null],
  );

describe('the periods in which an endpoint was disabled', () => {
  it('are written with the reason of the service, in the transaction that disables', async () => {
    const { id } = await endpoint();
    await db.transaction((tx) => disableEndpoint(tx, id, 'gone'));
    expect(await periodsOf(id)).toEqual([['gone', false]]);
    const other = await endpoint();
    const rolledBack = db.transaction(async (tx) => {
      await disableEndpoint(tx, other.id, 'failing');
      throw new Error('the transaction fails');
    });
    await expect(rolledBack).rejects.toThrow();
    expect(await periodsOf(other.id)).toEqual([]);
  });

  it('end when the endpoint is deleted', async () => {
    const { id, clientId } = await endpoint(false);
    expect(await periodsOf(id)).toEqual([['owner', false]]);
    await deleteEndpoint(db, by, clientId, id);
    expect(await periodsOf(id)).toEqual([['owner', true]]);
  });

  it('are unchanged by an update that changes neither state nor reason', async () => {
    const { id, clientId, url } = await endpoint(false);
    await db.transaction((tx) => disableEndpoint(tx, id, 'gone'));
    await updateEndpoint(db, rules, { by, clientId, id, url, description: 'new', enabled: false });
    expect(await periodsOf(id)).toEqual([['owner', false]]);
  });

  it('do not overlap, and end in the last state, if changes race', async () => {
    const { id, clientId, url } = await endpoint();
    const update = (enabled: boolean) =>
      updateEndpoint(db, rules, { by, clientId, id, url, description: null, enabled });
    await Promise.all(Array.from({ length: 24 }, (_, i) => update(i % 2 === 0)));
    await update(false);
    const periods = await db.prisma.disabledPeriod.findMany({ where: { endpointId: id }, orderBy: { id: 'asc' } });
    expect(periods.filter(({ endedAt }) => endedAt === null)).toEqual([periods.at(-1)]);
    for (const [i, { startedAt }] of periods.entries()) {
      expect(startedAt.getTime()).toBeGreaterThanOrEqual(periods[i - 1]?.endedAt?.getTime() ?? 0);
    }
  });
});
