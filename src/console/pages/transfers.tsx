import type { z } from 'zod';
import { etagOf } from '../../http/etag.js';
import { transferView, type transferWithHistoryView } from '../../http/schemas/transfer.js';
import { amountText } from '../../transfers/currencies.js';
import { TRANSFER_STATUSES } from '../../transfers/states.js';
import { ANY, List, type Listed, listQuery, Table } from '../components/lists.js';
import { Facts, Field, Live, PageHead, Select, Up } from '../components/parts.js';
import { Id, Status, Time, Untrusted } from '../components/values.js';
import { form, mayMove, page, seeOther } from '../page.js';
import { type Event, EventTable } from './events.js';
import { MoveForms, NEW_TRANSFER, newTransferForm, newTransferPage } from './sandbox-transfer.js';

const PATH = '/console/transfers';

type Transfer = z.output<typeof transferView>;

/** `/console/transfers`: every transfer, newest first. */
const transferList = page({
  path: PATH,
  scope: 'transfers:read',
  points: 3,
  title: 'Transfers',
  hasRows: true,
  navigation: 'Transfers',
  async view(visit) {
    const { query } = visit;
    const { data, next_cursor: nextCursor } = await visit.operations.read<Listed<Transfer>>('listTransfers', {
      query: listQuery(visit),
    });
    return (
      <>
        <PageHead title="Transfers" button={mayMove(visit) && { href: NEW_TRANSFER, text: 'Make a transfer' }} />
        <List
          {...{ path: PATH, query, many: 'transfers', nextCursor }}
          filters={
            <>
              <Select label="Status" name="status" value={query.get('status')} choices={[ANY, ...TRANSFER_STATUSES]} />
              <Field label="Reference (exactly)" name="reference" value={query.get('reference')} />
            </>
          }
          table={
            data.length > 0 && (
              <Table
                id="rows"
                rows={data}
                row={({ id, status }) => ({ id: `transfer-${id}`, 'data-announce': `${status} transfer` })}
                href={({ id }) => `${PATH}/${id}`}
                classes={{ Amount: 'right', Id: 'wide-only' }}
                columns={{
                  To: ({ destination }) => <Untrusted text={destination.name} />,
                  Amount: ({ amount }) => amountText(amount),
                  Status: ({ status }) => <Status status={status} />,
                  Reference: ({ reference }) => (reference === null ? '–' : <Untrusted text={reference} />),
                  Id: ({ id }) => <Id id={id} />,
                  Created: ({ created_at }) => <Time at={created_at} />,
                }}
              />
            )
          }
        >
          <p>Your system creates transfers through the API. Each change of status is delivered to your endpoints.</p>
        </List>
      </>
    );
  },
});

/** `/console/transfers/{id}`: one transfer with its history and its events. */
const transferPage = page({
  path: '/console/transfers/{id}',
  scope: 'transfers:read',
  points: 4,
  title: 'Transfer',
  async view(visit) {
    const { id } = visit.params;
    const transfer = await visit.operations.read<z.output<typeof transferWithHistoryView>>('getTransfer', {
      params: { id },
    });
    const pairs = Object.entries(transfer.metadata);
    // A transfer has fewer events than a page: each is a change of its status.
    const events = visit.session.scopes.has('webhooks:read')
      ? await visit.operations.read<Listed<Event>>('listEvents', { query: { transfer_id: id } })
      : undefined;
    return (
      <>
        <Up to={PATH}>Transfers</Up>
        <Live id="transfer" path={`${PATH}/${transfer.id}`} class="stack">
          <div class="row between">
            <h1>
              {amountText(transfer.amount)} to <Untrusted text={transfer.destination.name} />
            </h1>
            <Status status={transfer.status} />
          </div>
          <Facts
            of={{
              Transfer: <Id id={transfer.id} whole />,
              Account: (
                <span class="mono">
                  <Untrusted text={transfer.destination.account} />
                </span>
              ),
              Reference: transfer.reference !== null && <Untrusted text={transfer.reference} />,
              'Idempotency key': transfer.idempotency_key !== null && (
                <span class="mono">
                  <Untrusted text={transfer.idempotency_key} />
                </span>
              ),
              'Reason code': transfer.reason_code,
              Metadata:
                pairs.length > 0 &&
                pairs.map(([name, value]) => (
                  <div key={name}>
                    <Untrusted text={name} />: <Untrusted text={value} />
                  </div>
                )),
            }}
          />
          <section class="stack" aria-labelledby="history-name">
            <h2 id="history-name">History</h2>
            <Table
              rows={transfer.status_history}
              row={({ status }) => ({ id: `change-${status}`, 'data-announce': `The transfer is ${status}.` })}
              columns={{
                Status: ({ status }) => <Status status={status} />,
                At: ({ at }) => <Time at={at} ago />,
                'Reason code': ({ reason_code }) => reason_code && <code>{reason_code}</code>,
                Reason: ({ reason }) => reason && <Untrusted text={reason} />,
              }}
            />
          </section>
          {mayMove(visit) && <MoveForms id={id} status={transfer.status} etag={etagOf(transferView.parse(transfer))} />}
          {events && events.data.length > 0 && (
            <section class="stack" aria-labelledby="events-name">
              <h2 id="events-name">Events</h2>
              <EventTable events={events.data} />
            </section>
          )}
        </Live>
      </>
    );
  },
});

/** `/console/transfers/{id}/status`: the sandbox's operation, which production does not have. */
const moveForm = form({
  path: '/console/transfers/{id}/status',
  scope: 'transfers:write',
  page: transferPage,
  async submit(visit, fields) {
    const { id } = visit.params;
    const request = { params: { id }, body: { status: fields.get('status') ?? '' } };
    const ifMatch = fields.get('etag') ?? undefined;
    const { status } = await visit.operations.change<Transfer>('setSandboxTransferStatus', { ...request, ifMatch });
    return seeOther(`${PATH}/${id}`, `The transfer is ${status}. Its event is being delivered.`);
  },
});

export const transferPages = [transferList, newTransferPage, newTransferForm, transferPage, moveForm];
