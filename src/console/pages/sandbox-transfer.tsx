import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { Refusal } from '../../platform/refusal.js';
import { SANDBOX_STEPS } from '../../transfers/sandbox.js';
import { NEXT_STATUSES, REASON_CODES, STATUSES_WITH_REASON_CODE } from '../../transfers/states.js';
import { Card, type Choice, Field, PostButton, Select, Submit, Up } from '../components/parts.js';
import { form, page, seeOther, type Visit } from '../page.js';

export const NEW_TRANSFER = '/console/transfers/new';

/** @throws Refusal not_found */
export function refuseOutsideSandbox({ config }: Pick<Visit, 'config'>): void {
  if (config.environment === 'sandbox') return;
  throw new Refusal('not_found', 'The console creates and changes transfers in the sandbox only. Use the API.');
}

/** The outcome of a sandbox transfer, which its account selects (contract, Sandbox). */
const OUTCOMES: readonly Choice[] = [
  { value: '', text: 'None: you change its status yourself' },
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
            value={OUTCOMES.find(({ value }) => value === visit.query.get('outcome'))?.value}
            hint="With an outcome, the status changes on its own every few seconds. Each change is an event."
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
          <Field
            label="Account"
            name="account"
            pointer="/destination/account"
            value="DE89370400440532013000"
            class="mono"
            hint="Ignored with an outcome, which has an account of its own."
          />
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
      amount: { value: numberOf(text('value')), currency: text('currency').trim().toUpperCase() },
      destination: { name: text('name'), account: text('outcome') || text('account') },
      reference: text('reference') || null,
    };
    const { id } = await visit.operations.change<{ id: string }>('createTransfer', { body });
    const next = text('outcome')
      ? 'Its status changes on its own, and this page follows it.'
      : 'Change its status below.';
    return seeOther(`/console/transfers/${id}`, `The transfer is created. ${next} Each change is an event.`);
  },
});

/** Any other text stays a text, so that the API explains the error. */
function numberOf(text: string): number | string {
  return /^\d{1,16}$/.test(text.trim()) ? Number(text.trim()) : text;
}

/** Changes the status of a sandbox transfer as the operator would, or cancels it as a client would. */
export function MoveForms({ id, status }: { id: string; status: TransferStatus }) {
  const next = NEXT_STATUSES[status];
  if (next.length === 0) return <p class="muted">{status} is final.</p>;
  return (
    <Card title="Change the status">
      <form class="stack" method="post" action={`/console/transfers/${id}/status`} id="move">
        <div class="fields">
          <Select label="New status" name="status" choices={next} />
          <Select
            label="Reason code (optional)"
            name="reason_code"
            choices={[{ value: '', text: 'None' }, ...REASON_CODES]}
            hint={`Only with ${STATUSES_WITH_REASON_CODE.join(', ')}.`}
          />
          <Field label="Reason (optional)" name="reason" />
        </div>
        <Submit>Change</Submit>
      </form>
      {status === 'CREATED' && (
        <PostButton action={`/console/transfers/${id}/cancel`} id="cancel" class="danger">
          Cancel the transfer
        </PostButton>
      )}
    </Card>
  );
}
