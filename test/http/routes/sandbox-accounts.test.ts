import { openApi, startApi, type TestClient } from '../../support/api.js';
import type { Reply } from '../../support/documented.js';
import { MASTER_KEY } from '../../support/factories.js';
import { setUses } from '../../support/limits.js';
import { transferRequest } from '../../support/transfers.js';

let client: TestClient;
const api = await openApi();
beforeEach(async () => {
  client = await api.client();
});

const to = (account: string) => transferRequest({ destination: { name: 'Ada', account } });
const create = (account: string, of = client) => of.call('POST', '/transfers', { json: to(account) });
const records = () => api.database.prisma.sandboxTransfer.findMany({ where: { clientId: client.id } });

/** Earlier transfers of the client, which are unfinished. */
async function fill(count: number): Promise<void> {
  await api.database.query(FILL, [client.id, count]);
}
/** Uses of the limit whose time is ahead, so that they stay in the window however slow the machine is. */
const use = (count: number) => setUses(api.database, 'simulated transfers', client.id, count, '0.9 s');
const FILL = `
with made as (
  insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account)
  select gen_random_uuid(), $1::uuid, 1, 'EUR', 'Ada', 'SANDBOX-COMPLETE' from generate_series(1, $2::int) returning id
)
insert into sandbox_transfers (transfer_id, client_id) select id, $1::uuid from made`;

describe('a transfer to an account of the sandbox', () => {
  it.each(['SANDBOX-COMPLETE', 'SANDBOX-FAIL-INSUFFICIENT_FUNDS', 'SANDBOX-RETURN-OTHER', 'SANDBOX-CANCEL'])(
    '%s: is created with the need for its workflow, without Temporal',
    async (account) => {
      const { status, body } = await create(account);
      expect([status, body]).toMatchObject([201, { status: 'CREATED', reason_code: null, destination: { account } }]);
      expect(await records()).toMatchObject([{ transferId: body.id, stepsMade: 0, endedAt: null }]);
      const start = await api.database.prisma.workflowStart.findMany({ where: { transferId: body.id } });
      expect(start).toMatchObject([{ workflowId: `sandbox-${body.id}`, type: 'sandboxTransfer', startedAt: null }]);
    },
  );

  it.each(['SANDBOX-', 'SANDBOX-complete', 'SANDBOX-FAIL-NO_SUCH_CODE', 'SANDBOX-FAIL-insufficient_funds'])(
    '%s: is refused with unknown_sandbox_account, and nothing is created',
    async (account) => {
      const { status, body } = await create(account);
      expect([status, body.code]).toEqual([422, 'unknown_sandbox_account']);
      expect(body.errors).toMatchObject([{ pointer: '/destination/account', code: 'unknown_sandbox_account' }]);
      expect((await client.call('GET', '/transfers')).body.data).toEqual([]);
    },
  );

  it.each(['sandbox-complete', 'DE89370400440532013000'])(
    '%s: is no such account, and waits for a change',
    async (account) => {
      expect((await create(account)).status).toBe(201);
      expect(await records()).toEqual([]);
    },
  );

  it('is rejected with sandbox_account in production, whether the account is known or not', async () => {
    const production = await startApi({
      env: { ENVIRONMENT: 'production', MASTER_KEY },
      database: api.database,
    });
    const other = await production.client();
    for (const account of ['SANDBOX-COMPLETE', 'SANDBOX-nonsense']) {
      const { status, body } = await create(account, other);
      expect([status, body.code]).toEqual([422, 'sandbox_account']);
      expect(body.errors).toMatchObject([{ pointer: '/destination/account', code: 'sandbox_account' }]);
    }
    expect((await create('sandbox-complete', other)).status).toBe(201);
    await production.close();
  });
});

describe('the limits of a client for these transfers', () => {
  const refusedWith = ({ status, body, headers }: Reply) => [status, body.code, headers.get('retry-after')];
  const REACHED = [429, 'sandbox_limit_reached', '1'];

  it('are 10 a second; other transfers are neither counted nor rejected', async () => {
    await use(10);
    expect(refusedWith(await create('SANDBOX-CANCEL'))).toEqual(REACHED);
    expect((await create('DE89370400440532013000')).status).toBe(201);
    expect((await create('SANDBOX-CANCEL', await api.client())).status).toBe(201);
  });

  it('are 1,000 unfinished, until one ends', async () => {
    await fill(999);
    expect((await create('SANDBOX-CANCEL')).status).toBe(201);
    expect(refusedWith(await create('SANDBOX-CANCEL'))).toEqual(REACHED);
    const [one] = await records();
    const { transferId } = one!;
    await api.database.prisma.sandboxTransfer.update({ where: { transferId }, data: { endedAt: new Date() } });
    expect((await create('SANDBOX-CANCEL')).status).toBe(201);
  });
});
