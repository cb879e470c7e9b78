import { changeStatus } from '../../../src/transfers/change-status.js';
import { openApi } from '../../support/api.js';
import { makeTransfer, OPERATOR } from '../../support/factories.js';

const api = await openApi();
const operator = await api.client(['operator']);
const client = await api.client();

const entriesOf = (target: string) => api.database.prisma.auditEntry.findMany({ where: { target } });

it('records a change by the operator’s system with the id of its event', async () => {
  const { id } = await makeTransfer(api.database, client.id);
  await operator.call('POST', `/operator/transfers/${id}/status`, {
    json: { status: 'PROCESSING', reason: 'paid in' },
  });
  const event = await api.database.prisma.event.findFirstOrThrow({ where: { transferId: id } });
  expect(await entriesOf(id)).toMatchObject([
    {
      id: event.id,
      at: event.createdAt,
      actor: `client:${operator.id}`,
      action: 'transfers.set-status',
      target: id,
      details: { client_id: client.id, from: 'CREATED', to: 'PROCESSING', reason: 'paid in' },
    },
  ]);
});

it('writes one entry for each change in a batch', async () => {
  const made = await Promise.all(['CREATED', 'CREATED', 'SENT'].map(() => makeTransfer(api.database, client.id)));
  const [ours, theirs, refused] = made.map(({ id }) => id) as [string, string, string];
  const { handover } = api.dependencies;
  const change = { to: 'PROCESSING', reason: null } as const;
  await Promise.allSettled([
    changeStatus(api.database, handover, { ...change, transferId: ours, by: { actor: OPERATOR } }),
    changeStatus(api.database, handover, { ...change, transferId: theirs, clientId: client.id }),
    changeStatus(api.database, handover, { ...change, transferId: refused, by: { actor: OPERATOR }, to: 'RETURNED' }),
  ]);
  const entries = await Promise.all([ours, theirs, refused].map(entriesOf));
  expect(entries.map((found) => found.map(({ actor }) => actor))).toEqual([[OPERATOR], [], []]);
  // The request has no reason, so the entry has none.
  expect(entries[0]?.[0]?.details).toEqual({ client_id: client.id, from: 'CREATED', to: 'PROCESSING' });
});
