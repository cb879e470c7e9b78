import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { Refusal } from '../../platform/refusal.js';
import { REASON_CODES, STATUSES_WITH_REASON_CODE } from '../../transfers/reason-codes.js';
import { ACCOUNT_CODES, SANDBOX_ACCOUNTS } from '../../transfers/sandbox.js';
import { nextStatuses } from '../../transfers/states.js';
import { type Choice, Field, PostButton, Select } from '../components/forms.js';
import { Card, Crumbs } from '../components/parts.js';
import { form, page, seeOther, type Visit } from '../page.js';

export const NEW_TRANSFER = '/console/transfers/new';

/** @throws Refusal not_found */
export function refuseOutsideSandbox({ config }: Pick<Visit, 'config'>): void {
  if (config.environment === 'sandbox') return;
  throw new Refusal('not_found', 'The console makes and changes transfers in the sandbox only; use the API.');
}

const CODE = '<CODE>';

/** What a transfer of the sandbox does by itself, chosen by the account of its destination (contract, Sandbox). */
const OUTCOMES: readonly Choice[] = [
  { value: '', text: 'It waits until you move it' },
  ...SANDBOX_ACCOUNTS.flatMap(([account, statuses]): Choice[] => {
    const path = statuses.join(' → ');
    if (!account.includes(CODE)) return [{ value: account, text: path }];
    return ACCOUNT_CODES.map((code) => ({
      value: account.replace(CODE, code),
      text: code.toLowerCase(),
      group: path,
    }));
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
        <Crumbs to={{ '/console/transfers': 'Transfers' }} />
        <h1>Make a transfer</h1>
        <form class="card narrow" method="post" action={NEW_TRANSFER}>
          <Select
            label="What shall happen to it"
            name="outcome"
            choices={OUTCOMES}
            value={OUTCOMES.find(({ value }) => value === visit.query.get('outcome'))?.value}
            hint="Every choice but the first moves by itself, a few seconds a step. Each step is one event."
          />
          <div class="pair">
            <Field
              label="Amount in minor units"
              name="value"
              pointer="/amount/value"
              inputMode="numeric"
              required
              value="1250"
              hint="1250 is 12.50 EUR."
            />
            <Field label="Currency" name="currency" pointer="/amount/currency" required maxLength={3} value="EUR" />
          </div>
          <Field label="To" name="name" pointer="/destination/name" required value="Ada Lovelace" />
          <Field
            label="Account"
            name="account"
            pointer="/destination/account"
            value="DE89370400440532013000"
            class="mono"
            hint="Only for a transfer that waits until you move it; the other choices have accounts of their own."
          />
          <Field label="Reference (optional)" name="reference" />
          <button type="submit" class="primary">
            Make the transfer
          </button>
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
    const next = text('outcome') ? 'It moves by itself now; this page follows it.' : 'Move it below.';
    return seeOther(
      `/console/transfers/${id}`,
      `The transfer is made. ${next} Each change of its status makes one event.`,
    );
  },
});

/** A text that is no number stays a text, so that the API says what is wrong with it. */
function numberOf(text: string): number | string {
  return /^\d{1,16}$/.test(text.trim()) ? Number(text.trim()) : text;
}

/** Moves a transfer of the sandbox as the operator would, or cancels it as a client does. */
export function MoveForms({ id, status }: { id: string; status: TransferStatus }) {
  const next = nextStatuses(status);
  if (next.length === 0) return <p class="muted">{status} is final: the transfer changes no more.</p>;
  return (
    <Card title="Move it">
      <form class="move" method="post" action={`/console/transfers/${id}/status`} id="move">
        <Select label="New status" name="status" choices={next} />
        <Select
          label="Reason code (optional)"
          name="reason_code"
          choices={[{ value: '', text: 'None' }, ...REASON_CODES]}
          hint={`Only with ${STATUSES_WITH_REASON_CODE.join(', ')}.`}
        />
        <Field label="Reason (optional)" name="reason" />
        <button type="submit" class="primary">
          Move
        </button>
      </form>
      {status === 'CREATED' && (
        <PostButton action={`/console/transfers/${id}/cancel`} id="cancel" class="danger">
          Cancel the transfer
        </PostButton>
      )}
    </Card>
  );
}
