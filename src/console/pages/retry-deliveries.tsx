import type { z } from 'zod';
import { type deliveryView, presentDelivery } from '../../http/schemas/delivery.js';
import { isId } from '../../platform/ids.js';
import { PROBLEMS, Refusal } from '../../platform/refusal.js';
import { readDeliveries } from '../../reports/read-deliveries.js';
import { Table } from '../components/lists.js';
import { addressOf, Live, Up } from '../components/parts.js';
import { Id, Response, Status } from '../components/values.js';
import { form, page, seeOther } from '../page.js';
import { eventPath } from './paths.js';

const PATH = '/console/deliveries';
type Delivery = z.output<typeof deliveryView>;

/** The id of the form to which the checkboxes of the rows belong. */
export const RETRY_FORM = 'retry-selected';

/** The button that retries the selected rows of a table. */
export function RetrySelected() {
  return (
    <form class="row" method="post" action={`${PATH}/retry`} id={RETRY_FORM}>
      <button type="button" data-select-all="" hidden>
        Select all
      </button>
      <button type="submit">Retry the selected deliveries</button>
      <span class="muted">Each gets one extra attempt now.</span>
    </form>
  );
}

/** Rows of a page of deliveries, and fields that a form may have. */
const MOST = 20;

/** Retries deliveries one after the other, each like its own button. The next page shows what became of each. */
export const retrySelectedForm = form({
  path: '/console/deliveries/retry',
  scope: 'webhooks:write',
  points: MOST,
  async submit({ operations }, fields) {
    const ids = [...new Set(fields.getAll('delivery'))].filter(isId).slice(0, MOST);
    if (ids.length === 0) return seeOther(PATH, 'Select deliveries first.');
    const results = new URLSearchParams();
    for (const id of ids) {
      const result = await operations.change('retryDelivery', { params: { id } }).then(
        () => REQUESTED,
        (error: unknown) => {
          if (error instanceof Refusal) return error.code;
          throw error;
        },
      );
      results.append(result, id);
    }
    const requested = results.getAll(REQUESTED).length;
    return seeOther(`${PATH}/retried?${results}`, `${requested} of ${ids.length} retries requested.`);
  },
});

const REQUESTED = 'requested';

interface Retried {
  delivery: Delivery;
  result: string;
}

/** The progress of the retries that a form asked for, by its results. */
export const retriedPage = page({
  path: '/console/deliveries/retried',
  scope: 'webhooks:read',
  points: 4,
  title: 'Retried deliveries',
  async view({ read, session, query }) {
    const resultOf = new Map([...query].filter(([, id]) => isId(id)).map(([result, id]) => [id.toLowerCase(), result]));
    const ids = [...resultOf.keys()].slice(0, MOST);
    const rows = (await read((db) => readDeliveries(db, session.clientId, ids))).map(
      (record): Retried => ({ delivery: presentDelivery(record), result: resultOf.get(record.id) ?? '' }),
    );
    return (
      <>
        <Up to={PATH}>Deliveries</Up>
        <h1>Retried deliveries</h1>
        <Live id="retried" path={addressOf(`${PATH}/retried`, query)}>
          <Table<Retried>
            rows={rows}
            row={({ delivery: { id, status } }) => ({ id: `delivery-${id}`, 'data-announce': `${status} delivery` })}
            href={({ delivery: { id, event_id } }) => eventPath(event_id, id)}
            columns={{
              Event: ({ delivery }) => delivery.transfer_status,
              Delivery: ({ delivery: { id } }) => <Id id={id} />,
              Retry: ({ result }) => resultText(result),
              Status: ({ delivery: { status } }) => <Status status={status} />,
              'Last response': ({ delivery: { last_attempt: last } }) =>
                last && (
                  <span class="one-line">
                    <Response error={last.error} responseStatus={last.response_status} />{' '}
                    <span class="muted">attempt {last.number}</span>
                  </span>
                ),
            }}
          />
        </Live>
      </>
    );
  },
});

function resultText(result: string): string {
  if (result === REQUESTED) return 'requested';
  return result in PROBLEMS ? PROBLEMS[result as keyof typeof PROBLEMS].title : 'unknown';
}
