import type { TransferStatus } from '../../../database/generated/enums.js';
import { REASON_CODES, STATUSES_WITH_REASON_CODE } from '../../../transfers/reason-codes.js';
import { nextStatuses } from '../../../transfers/states.js';
import { Field, Select } from '../../components/field.js';
import type { Visit } from '../../page.js';

interface Props {
  visit: Visit;
  transfer: { id: string; status: TransferStatus };
}

/** Moves a transfer of the sandbox as the operator would, or cancels it as a client does. */
export function MoveForms({ visit: { refused }, transfer: { id, status } }: Props) {
  const next = nextStatuses(status);
  if (next.length === 0) return <p class="muted">{status} is final: the transfer changes no more.</p>;
  return (
    <section class="card stack" aria-labelledby="move-name">
      <h2 id="move-name">Move it</h2>
      <form class="move" method="post" action={`/console/transfers/${id}/status`} id="move">
        <Select
          label="New status"
          name="status"
          choices={next.map((value) => ({ value, text: value }))}
          refused={refused}
        />
        <Select
          label="Reason code (optional)"
          name="reason_code"
          choices={[{ value: '', text: 'None' }, ...REASON_CODES.map((code) => ({ value: code, text: code }))]}
          hint={`Only with ${STATUSES_WITH_REASON_CODE.join(', ')}.`}
          refused={refused}
        />
        <Field label="Reason (optional)" name="reason" value="" refused={refused} />
        <button type="submit" class="primary">
          Move
        </button>
      </form>
      {status === 'CREATED' && (
        <form class="inline" method="post" action={`/console/transfers/${id}/cancel`} id="cancel">
          <button type="submit" class="danger">
            Cancel the transfer
          </button>
        </form>
      )}
    </section>
  );
}
