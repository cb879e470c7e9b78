import { ACCOUNT_CODES, SANDBOX_ACCOUNTS } from '../../../transfers/sandbox-accounts.js';
import { type Choice, Field, Select } from '../../components/field.js';
import { form, page, seeOther, type Visit } from '../../page.js';
import { refuseOutsideSandbox } from './may-move.js';

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
  path: '/console/transfers/new',
  scope: 'transfers:write',
  points: 2,
  title: 'Make a transfer',
  view(visit) {
    refuseOutsideSandbox(visit);
    return <NewTransfer visit={visit} />;
  },
});

export const newTransferForm = form({
  path: '/console/transfers/new',
  scope: 'transfers:write',
  page: newTransferPage,
  async submit(visit, fields) {
    refuseOutsideSandbox(visit);
    const text = (name: string) => fields.get(name) ?? '';
    const body = {
      amount: { value: numberOf(text('value')), currency: text('currency').trim().toUpperCase() },
      destination: { name: text('name'), account: text('outcome') || text('account') },
      reference: text('reference') === '' ? null : text('reference'),
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

function NewTransfer({ visit: { refused, query } }: { visit: Visit }) {
  return (
    <>
      <nav class="crumbs" aria-label="You are here">
        <a href="/console/transfers">Transfers</a>
      </nav>
      <h1>Make a transfer</h1>
      <form class="card narrow" method="post" action="/console/transfers/new">
        <Select
          label="What shall happen to it"
          name="outcome"
          choices={OUTCOMES}
          value={OUTCOMES.find(({ value }) => value === query.get('outcome'))?.value}
          pointer="/outcome"
          refused={refused}
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
            refused={refused}
            hint="1250 is 12.50 EUR."
          />
          <Field
            label="Currency"
            name="currency"
            pointer="/amount/currency"
            required
            maxLength={3}
            value="EUR"
            refused={refused}
          />
        </div>
        <Field label="To" name="name" pointer="/destination/name" required value="Ada Lovelace" refused={refused} />
        <Field
          label="Account"
          name="account"
          pointer="/destination/account"
          value="DE89370400440532013000"
          class="mono"
          refused={refused}
          hint="Only for a transfer that waits until you move it; the other choices have accounts of their own."
        />
        <Field label="Reference (optional)" name="reference" value="" refused={refused} />
        <button type="submit" class="primary">
          Make the transfer
        </button>
      </form>
    </>
  );
}
