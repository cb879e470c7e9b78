import type { z } from 'zod';
import type { pageView } from '../../../http/presenters/page.js';
import type { transferView } from '../../../http/presenters/transfer.js';
import { TRANSFER_STATUSES } from '../../../transfers/states.js';
import { Amount } from '../../components/amount.js';
import { Empty } from '../../components/empty.js';
import { Field, Select } from '../../components/field.js';
import { Filters, readChoice, TimeFilters, timeRange } from '../../components/filters.js';
import { Live } from '../../components/live.js';
import { Pager } from '../../components/pager.js';
import { ShortId } from '../../components/short-id.js';
import { Status } from '../../components/status.js';
import { Time } from '../../components/time.js';
import { Untrusted } from '../../components/untrusted.js';
import { page, type Visit } from '../../page.js';
import { mayMove } from './may-move.js';

type Transfers = z.output<ReturnType<typeof pageView<typeof transferView>>>;

const PATH = '/console/transfers';

/** `/console/transfers`: every transfer, newest first. */
export const transferList = page({
  path: PATH,
  scope: 'transfers:read',
  points: 3,
  title: 'Transfers',
  navigation: 'Transfers',
  async view(visit) {
    const { query } = visit;
    const status = readChoice(query, 'status', TRANSFER_STATUSES);
    const reference = query.get('reference') ?? '';
    const { createdAfter, createdBefore } = timeRange(query);
    const cursor = query.get('cursor');
    const transfers = await visit.operations.read<Transfers>('listTransfers', {
      query: {
        ...(status !== undefined && { status }),
        ...(reference !== '' && { reference }),
        ...(createdAfter !== undefined && { created_after: new Date(createdAfter).toISOString() }),
        ...(createdBefore !== undefined && { created_before: new Date(createdBefore).toISOString() }),
        ...(cursor !== null && { cursor }),
      },
    });
    return <TransferList visit={visit} transfers={transfers} />;
  },
});

function TransferList({ visit, transfers }: { visit: Visit; transfers: Transfers }) {
  const { query } = visit;
  return (
    <>
      <div class="page-head">
        <h1>Transfers</h1>
        {mayMove(visit) && (
          <a class="button primary" href="/console/transfers/new">
            Make a transfer
          </a>
        )}
      </div>
      <Filters path={PATH} query={query}>
        <Select
          label="Status"
          name="status"
          value={query.get('status') ?? ''}
          choices={[
            { value: '', text: 'Any' },
            ...TRANSFER_STATUSES.map((status) => ({ value: status, text: status })),
          ]}
        />
        <Field label="Reference (exactly)" name="reference" value={query.get('reference') ?? ''} />
        <TimeFilters query={query} />
      </Filters>
      <Live id="transfers" path={PATH} query={query}>
        {transfers.data.length === 0 ? <NoTransfers visit={visit} /> : <TransferTable transfers={transfers.data} />}
        <Pager path={PATH} query={query} nextCursor={transfers.next_cursor} />
      </Live>
    </>
  );
}

function TransferTable({ transfers }: { transfers: Transfers['data'] }) {
  return (
    <div class="card table-card scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Transfer</th>
            <th scope="col">Status</th>
            <th scope="col" class="right">
              Amount
            </th>
            <th scope="col">To</th>
            <th scope="col">Reference</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {transfers.map((transfer) => (
            <tr key={transfer.id} id={`transfer-${transfer.id}`} data-announce={`${transfer.status} transfer`}>
              <td data-label="Transfer">
                <ShortId id={transfer.id} href={`${PATH}/${transfer.id}`} />
              </td>
              <td data-label="Status">
                <Status status={transfer.status} />
              </td>
              <td data-label="Amount" class="right">
                <Amount amount={transfer.amount} />
              </td>
              <td data-label="To" class="wide">
                <Untrusted text={transfer.destination.name} />
              </td>
              <td data-label="Reference" class="wide">
                {transfer.reference === null ? (
                  <span class="muted">none</span>
                ) : (
                  <Untrusted text={transfer.reference} />
                )}
              </td>
              <td data-label="Created">
                <Time at={transfer.created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NoTransfers({ visit }: { visit: Visit }) {
  if ([...visit.query].some(([, value]) => value !== '')) {
    return (
      <Empty title="No transfer matches">
        <p>
          <a href={PATH}>Show all transfers</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No transfer yet">
      {mayMove(visit) ? (
        <p>
          <a href="/console/transfers/new">Make one</a>: each change of its status is delivered to your endpoints.
        </p>
      ) : (
        <p>Your system makes transfers through the API.</p>
      )}
    </Empty>
  );
}
