import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  deleteEndpoint,
  type EndpointRules,
  getEndpoint,
  setEndpointEnabledByOperator,
  updateEndpoint,
} from '../../src/endpoints/endpoints.js';
import type { Endpoint } from '../../src/platform/database/generated/client.js';
import { newId } from '../../src/platform/ids.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, makeClient, makeEndpoint, makeTransfer, OPERATOR } from '../support/factories.js';
import { recordingHandover } from '../support/recording-handover.js';

let db: TestDatabase;
const rules: EndpointRules = { httpsOnly: false, blocksLiteral: () => false, maxEndpoints: 20 };
const handover = recordingHandover();

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** Makes two endpoints of one client, each with a pending delivery. */
async function withPending(): Promise<{ endpoint: Endpoint; other: Endpoint }> {
  const clientId = await makeClient(db);
  const [endpoint, other] = [await makeEndpoint(db, clientId), await makeEndpoint(db, clientId)];
  const transfer = await makeTransfer(db, clientId);
  await changeStatus(db, handover, { transferId: transfer.id, to: 'PROCESSING', reason: null });
  return { endpoint, other };
}

async function deliveriesOf(endpointId: string) {
  const rows = await db.prisma.delivery.findMany({ where: { endpointId } });
  return rows.map(({ status, reason, nextAttemptAt, finishedAt }) => ({
    status,
    reason,
    planned: nextAttemptAt !== null,
    finished: finishedAt !== null,
  }));
}

const pending = [{ status: 'pending', reason: null, planned: true, finished: false }];
const cancelled = (reason: string) => [{ status: 'cancelled', reason, planned: false, finished: true }];

describe('a pending delivery', () => {
  it('is cancelled when the client disables its endpoint; deliveries to other endpoints are not', async () => {
    const { endpoint, other } = await withPending();
    const update = { by, clientId: endpoint.clientId, id: endpoint.id, url: endpoint.url, description: null };
    await updateEndpoint(db, rules, { ...update, enabled: undefined });
    expect(await deliveriesOf(endpoint.id)).toEqual(pending);
    await updateEndpoint(db, rules, { ...update, enabled: false });
    expect(await deliveriesOf(endpoint.id)).toEqual(cancelled('endpoint_disabled'));
    expect(await deliveriesOf(other.id)).toEqual(pending);
  });

  it('is cancelled when the operator disables its endpoint, and stays cancelled when the endpoint is enabled again', async () => {
    const { endpoint } = await withPending();
    expect(await setEndpointEnabledByOperator(db, OPERATOR, endpoint.id, false)).toMatchObject({
      disabledReason: 'operator',
    });
    expect(await setEndpointEnabledByOperator(db, OPERATOR, endpoint.id, true)).toMatchObject({
      enabled: true,
      disabledReason: null,
    });
    expect(await deliveriesOf(endpoint.id)).toEqual(cancelled('endpoint_disabled'));
  });

  it('is cancelled when its endpoint is deleted', async () => {
    const { endpoint } = await withPending();
    await deleteEndpoint(db, by, endpoint.clientId, endpoint.id);
    expect(await deliveriesOf(endpoint.id)).toEqual(cancelled('endpoint_deleted'));
  });

  it('is not cancelled when the surrounding transaction fails', async () => {
    const { endpoint } = await withPending();
    const failing = db.transaction(async (tx) => {
      await deleteEndpoint(tx, by, endpoint.clientId, endpoint.id);
      throw new Error('later');
    });
    await expect(failing).rejects.toThrow('later');
    expect(await deliveriesOf(endpoint.id)).toEqual(pending);
    expect(await getEndpoint(db, endpoint.clientId, endpoint.id)).toMatchObject({ enabled: true });
  });
});

describe('the operator', () => {
  it('disables an endpoint that the client has disabled, so that the client cannot enable it', async () => {
    const { endpoint } = await withPending();
    const update = { by, clientId: endpoint.clientId, id: endpoint.id, url: endpoint.url, description: null };
    await updateEndpoint(db, rules, { ...update, enabled: false });
    await setEndpointEnabledByOperator(db, OPERATOR, endpoint.id, false);
    await expect(updateEndpoint(db, rules, { ...update, enabled: true })).rejects.toMatchObject({
      code: 'disabled_by_operator',
    });
  });

  it('gets not_found for a deleted or missing endpoint', async () => {
    const { endpoint } = await withPending();
    await deleteEndpoint(db, by, endpoint.clientId, endpoint.id);
    for (const id of [endpoint.id, newId()]) {
      await expect(setEndpointEnabledByOperator(db, OPERATOR, id, true)).rejects.toMatchObject({ code: 'not_found' });
    }
  });
});

describe('an endpoint that a function returns', () => {
  it('has no secret, not even an encrypted one', async () => {
    const { endpoint } = await withPending();
    const read = await getEndpoint(db, endpoint.clientId, endpoint.id);
    expect(Object.keys(read)).not.toContain('secretEnvelope');
  });
});
