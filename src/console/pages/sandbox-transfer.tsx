import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { Refusal } from '../../platform/refusal.js';
import { SANDBOX_STEPS } from '../../transfers/sandbox.js';
import { NEXT_STATUSES } from '../../transfers/states.js';
import { Card, type Choice, Field, PostButton, Select, Submit, Up } from '../components/parts.js';
import { form, page, seeOther, type Visit } from '../page.js';

export const NEW_TRANSFER = '/console/transfers/new';

/** @throws Refusal not_found */
function refuseOutsideSandbox({ config }: Pick<Visit, 'config'>): void {
  if (config.environment === 'sandbox') return;
  throw new Refusal('not_found', 'The console makes transfers in the sandbox only. Use the API.');
}

/** The accounts of sandbox transfers by the outcome that each selects. */
const OUTCOMES: readonly Choice[] = [
  { value: 'DE89370400440532013000', text: 'None: you change its status yourself' },
  ...Array.from(SANDBOX_STEPS, ([value, steps]) => {
    const path = steps.map(({ status }) => status).join(' → ');
    return { value, text: [path, steps.at(-1)?.reasonCode].filter(Boolean).join(': ') };
  }),
];

/** `/console/transfers/new`: makes a transfer in the sandbox. */
export const newTransferPage = page({
  path: NEW_TRANSFER,
  scope: 'transfers:write',
  points: 2,
  title: 'Make a transfer',
  view(visit) {
    refuseOutsideSandbox(visit);
    return (
      <>
        <Up to="/console/transfers">Transfers</Up>
        <h1>Make a transfer</h1>
        <form class="card stack narrow" method="post" action={NEW_TRANSFER}>
          <Select
            label="Outcome"
            name="outcome"
            choices={OUTCOMES}
            value={visit.query.get('outcome')}
            hint="With an outcome, the status changes on its own every few seconds. Each change is an event."
            pointer="/destination/account"
          />
          <div class="fields">
            <Field
              label="Amount in minor units"
              class="short"
              name="value"
              pointer="/amount/value"
              inputMode="numeric"
              required
              value="1250"
              hint="1250 is 12.50 EUR, or 1,250 JPY."
            />
            <Field
              class="short"
              label="Currency"
              name="currency"
              pointer="/amount/currency"
              required
              maxLength={3}
              value="EUR"
            />
          </div>
          <Field label="To" name="name" pointer="/destination/name" required value="Ada Lovelace" />
          <Field label="Reference (optional)" name="reference" />
          <Submit>Make the transfer</Submit>
        </form>
      </>
    );
  },
});

export const newTransferForm = form({
  path: NEW_TRANSFER,
  scope: 'transfers:write',
  page: newTransferPage,
  async submit(visit, fields) {
    refuseOutsideSandbox(visit);
    const text = (name: string) => fields.get(name) ?? '';
    const body = {
      amount: { value: Number(text('value')), currency: text('currency').trim().toUpperCase() },
      destination: { name: text('name'), account: text('outcome') },
      reference: text('reference') || null,
    };
    const { id } = await visit.operations.change<{ id: string }>('createTransfer', { body });
    return seeOther(`/console/transfers/${id}`, 'The transfer is created. Each change of its status is an event.');
  },
});

/** Changes the status of a sandbox transfer as the operator would. */
export function MoveForms({ id, status, etag }: { id: string; status: TransferStatus; etag: string }) {
  const next = NEXT_STATUSES[status];
  if (next.length === 0) return <p class="muted">{status} is final.</p>;
  return (
    <Card title="Change the status">
      <div class="row">
        {next.map((to) => (
          <PostButton key={to} id={`to-${to}`} action={`/console/transfers/${id}/status`} fields={{ status: to, etag }}>
            {to}
          </PostButton>
        ))}
      </div>
    </Card>
  );
}
