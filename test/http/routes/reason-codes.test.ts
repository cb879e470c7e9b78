import { REASON_CODES } from '../../../src/transfers/states.js';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';

let api: TestApi;
let client: TestClient;
let operator: TestClient;

beforeAll(async () => {
  api = await startApi();
  client = await api.client();
  operator = await api.client(['operator']);
});
afterAll(() => api.close());

const newTransfer = async () => {
  const destination = { name: 'Ada', account: 'DE02' };
  return (await client.call('POST', '/transfers', { json: { amount: { value: 1, currency: 'EUR' }, destination } }))
    .body.id as string;
};
const change = (id: string, json: object) => client.call('POST', `/sandbox/transfers/${id}/status`, { json });

describe('reason_code', () => {
  it.each(REASON_CODES)('%s is on the transfer, in its history and in every list', async (reason_code) => {
    const id = await newTransfer();
    const { status, body } = await change(id, { status: 'FAILED', reason: 'Bank said no', reason_code });
    expect([status, body.reason_code]).toEqual([200, reason_code]);
    const read = (await client.call('GET', `/transfers/${id}`)).body;
    expect(read.reason_code).toBe(reason_code);
    expect(read.status_history).toEqual([
      { status: 'CREATED', at: expect.any(String), reason: null, reason_code: null },
      { status: 'FAILED', at: expect.any(String), reason: 'Bank said no', reason_code },
    ]);
    const [listed] = (await client.call('GET', '/transfers?limit=1')).body.data;
    expect(listed).toMatchObject({ id, reason_code });
  });

  it('is null if none was given, and follows the latest change', async () => {
    const id = await newTransfer();
    for (const status of ['PROCESSING', 'SENT', 'COMPLETED']) await change(id, { status });
    expect((await client.call('GET', `/transfers/${id}`)).body.reason_code).toBeNull();
    const { body } = await change(id, { status: 'RETURNED', reason_code: 'account_closed' });
    expect(body.reason_code).toBe('account_closed');
  });

  it('is customer_request after the client cancels', async () => {
    const id = await newTransfer();
    const { body } = await client.call('POST', `/transfers/${id}/cancel`);
    expect(body).toMatchObject({ status: 'CANCELLED', reason_code: 'customer_request' });
  });

  it.each(['PROCESSING', 'SENT', 'COMPLETED', 'CREATED'])(
    'is rejected with %s, and nothing changes',
    async (status) => {
      const id = await newTransfer();
      const refused = await change(id, { status, reason_code: 'other' });
      expect(refused.status).toBe(422);
      expect(refused.body.errors).toEqual([
        expect.objectContaining({ pointer: '/reason_code', code: 'not_applicable' }),
      ]);
      expect((await client.call('GET', `/transfers/${id}`)).body.status).toBe('CREATED');
    },
  );

  it('is rejected if it is unknown', async () => {
    const refused = await change(await newTransfer(), { status: 'FAILED', reason_code: 'bad_mood' });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toEqual([expect.objectContaining({ pointer: '/reason_code', code: 'invalid_value' })]);
  });

  it('of an operator is in the audit entry; the event has no reason code', async () => {
    const id = await newTransfer();
    const path = `/operator/transfers/${id}/status`;
    const { body } = await operator.call('POST', path, { json: { status: 'FAILED', reason_code: 'compliance' } });
    expect(body.reason_code).toBe('compliance');
    const [entry] = await api.database.prisma.auditEntry.findMany({ where: { target: id } });
    expect(entry?.details).toMatchObject({ from: 'CREATED', to: 'FAILED', reason_code: 'compliance' });
    const [event] = (await client.call('GET', `/events?transfer_id=${id}`)).body.data;
    expect(event.data).toEqual({ id, status: 'FAILED' });
  });
});
