import type { z } from 'zod';
import type { eventView } from '../../../http/presenters/event.js';
import type { transferWithHistoryView } from '../../../http/presenters/transfer.js';
import { Amount } from '../../components/amount.js';
import { Live } from '../../components/live.js';
import { Status } from '../../components/status.js';
import { Time } from '../../components/time.js';
import { Untrusted } from '../../components/untrusted.js';
import { page, type Visit } from '../../page.js';
import { EventTable } from '../events/list.js';
import { mayMove } from './may-move.js';
import { MoveForms } from './move.js';

type Transfer = z.output<typeof transferWithHistoryView>;
type Event = z.output<typeof eventView>;

/** `/console/transfers/{id}`: one transfer with its history and its events. */
export const transferPage = page({
  path: '/console/transfers/{id}',
  scope: 'transfers:read',
  points: 4,
  title: 'Transfer',
  async view(visit) {
    const { id } = visit.params;
    const transfer = await visit.operations.read<Transfer>('getTransfer', { params: { id } });
    // More than a transfer can have: each event is a change of its status, and the changes follow a table.
    const events = visit.session.scopes.has('webhooks:read')
      ? await visit.operations.read<{ data: Event[] }>('listEvents', { query: { transfer_id: id } })
      : undefined;
    return <TransferView visit={visit} transfer={transfer} events={events?.data} />;
  },
});

interface Props {
  visit: Visit;
  transfer: Transfer;
  /** Undefined: the session may not read events. */
  events: readonly Event[] | undefined;
}

function TransferView({ visit, transfer, events }: Props) {
  return (
    <>
      <nav class="crumbs" aria-label="You are here">
        <a href="/console/transfers">Transfers</a>
      </nav>
      <Live id="transfer" path={`/console/transfers/${transfer.id}`} class="stack">
        <div class="page-head">
          <h1>
            <Amount amount={transfer.amount} /> to <Untrusted text={transfer.destination.name} />
          </h1>
          <Status status={transfer.status} />
        </div>
        <Facts transfer={transfer} />
        <History history={transfer.status_history} />
        {mayMove(visit) && <MoveForms visit={visit} transfer={transfer} />}
        {events && <Events visit={visit} events={events} />}
      </Live>
    </>
  );
}

function Facts({ transfer }: { transfer: Transfer }) {
  const pairs = Object.entries(transfer.metadata);
  return (
    <dl class="facts">
      <dt>Transfer</dt>
      <dd>
        <code>{transfer.id}</code>
      </dd>
      <dt>Account</dt>
      <dd class="mono">
        <Untrusted text={transfer.destination.account} />
      </dd>
      {transfer.reference !== null && (
        <>
          <dt>Reference</dt>
          <dd>
            <Untrusted text={transfer.reference} />
          </dd>
        </>
      )}
      {transfer.reason_code !== null && (
        <>
          <dt>Reason code</dt>
          <dd>{transfer.reason_code}</dd>
        </>
      )}
      {pairs.length > 0 && (
        <>
          <dt>Metadata</dt>
          <dd>
            {pairs.map(([name, value]) => (
              <div key={name}>
                <Untrusted text={name} />: <Untrusted text={value} />
              </div>
            ))}
          </dd>
        </>
      )}
    </dl>
  );
}

function History({ history }: { history: Transfer['status_history'] }) {
  return (
    <section class="card stack" aria-labelledby="history-name">
      <h2 id="history-name">History</h2>
      <ol class="time-line">
        {history.map(({ status, at, reason, reason_code }, index) => (
          <li key={status} class="rung made" id={`change-${index}`} data-announce={`The transfer is ${status}.`}>
            <span class="rung-head">
              <Status status={status} />
              <span class="rung-time">
                <Time at={at} />
              </span>
            </span>
            {(reason !== null || reason_code !== null) && (
              <span class="reason">
                {reason_code !== null && <code>{reason_code}</code>} {reason !== null && <Untrusted text={reason} />}
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Events({ visit, events }: { visit: Visit; events: readonly Event[] }) {
  return (
    <section class="stack" aria-labelledby="events-name">
      <h2 id="events-name">Events</h2>
      {events.length === 0 ? (
        <p class="muted">None yet: creating a transfer makes no event, each later change makes one.</p>
      ) : (
        <EventTable visit={visit} events={events} />
      )}
    </section>
  );
}
