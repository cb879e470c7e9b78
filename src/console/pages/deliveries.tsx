import { eventSubject } from '../../delivery/event-catalogue.js';
import { idCursor } from '../../http/paging.js';
import { refusalOf } from '../../http/response.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isId, timeOf } from '../../platform/ids.js';
import { describeLimit, LIMITS } from '../../platform/limits.js';
import { PROBLEMS, type Refusal } from '../../platform/refusal.js';
import { type DeliveryRecord, listDeliveries } from '../../reports/read-deliveries.js';
import { findEventOf } from '../../reports/read-events.js';
import { ANY, invalidFilter, List, pageOf, readChoice, readCursor, Table, timeRange } from '../components/lists.js';
import { addressOf, Field, Select } from '../components/parts.js';
import { countOf, Id, RelativeTime, Response, Status, Time, Untrusted } from '../components/values.js';
import { form, isEditor, page, type SeeOther, seeOther, type Visit } from '../page.js';
import { namesOf, readEndpoints } from './endpoints/endpoint.js';
import { endpointPath, eventPath, MOVING_TRANSFER, REGISTER, transferHref } from './paths.js';

const PATH = '/console/deliveries';
const STATUSES = Object.values(DeliveryStatus);
const DELIVERIES_A_PAGE = 25;
const cursors = idCursor("a client's deliveries");

/** `/console/deliveries`: the deliveries to all endpoints, newest events first. */
export const deliveryList = page({
  path: PATH,
  scope: 'webhooks:read',
  points: 5,
  title: 'Deliveries',
  navigation: 'Deliveries',
  asksItself: true,
  async view(visit) {
    const query = filtersOf(visit);
    const found = await findById(visit, query);
    if ('location' in found) return found;
    const { session, config } = visit;
    const endpoints = await readEndpoints(visit);
    const names = namesOf(endpoints);
    const endpointId = query.get('endpoint')?.toLowerCase() ?? '';
    const filters = {
      status: readChoice(query, 'status', STATUSES),
      ...(isId(endpointId) && { endpointId }),
      transferId: found.transferId,
      ...timeRange(query),
      before: readCursor(query, cursors),
      take: DELIVERIES_A_PAGE + 1,
    };
    const rows = await visit.read((db) => listDeliveries(db, session.clientId, filters));
    const { shown, nextCursor } = pageOf(rows, DELIVERIES_A_PAGE, cursors);
    const choices = endpoints.map(({ webhookId }) => ({ value: webhookId, text: names.get(webhookId) ?? '' }));
    return (
      <>
        <h1>Deliveries</h1>
        <List
          {...{ path: PATH, query, many: 'deliveries', nextCursor }}
          filters={
            <>
              <Select label="Endpoint" name="endpoint" value={query.get('endpoint')} choices={[ANY, ...choices]} />
              <Select label="Status" name="status" value={query.get('status')} choices={[ANY, ...STATUSES]} />
              <IdFilter query={query} />
            </>
          }
          table={
            shown.length > 0 && (
              <>
                {isEditor(visit) && <BulkRetry query={query} deliveries={shown} names={names} />}
                <DeliveryTable visit={visit} deliveries={shown} names={names} />
              </>
            )
          }
        >
          {endpoints.length > 0 ? (
            <p>Each change of a transfer's status creates one delivery for every enabled endpoint.</p>
          ) : (
            <p>
              Deliveries go to your endpoints. First <a href={REGISTER.href}>register an endpoint</a>: the URL of your
              receiver.
            </p>
          )}
          {config.environment === 'sandbox' && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
        </List>
      </>
    );
  },
});

interface TableProps {
  visit: Visit;
  deliveries: readonly DeliveryRecord[];
  /** The names of their endpoints; undefined: they are all of one. */
  names?: ReadonlyMap<string, string>;
}

const BULK = 'bulk-retry';

export function DeliveryTable({ visit, deliveries, names }: TableProps) {
  return (
    <Table<DeliveryRecord>
      rows={deliveries}
      row={({ id, status }) => ({ id: `delivery-${id}`, 'data-announce': `${status} delivery` })}
      href={({ id, eventId }) => eventPath(eventId, id)}
      classes={{ Transfer: 'wide-only' }}
      columns={{
        Event: ({ event }) => eventSubject(event.type, event.body),
        ...(names && {
          Endpoint: ({ endpointId, endpoint }) => (
            <Untrusted text={names.get(endpointId) ?? (endpoint.description || endpoint.url)} />
          ),
        }),
        Status: ({ status, nextAttemptAt }) => (
          <span class="one-line">
            <Status status={status} />
            {nextAttemptAt && (
              <span class="muted">
                {nextAttemptAt > new Date() ? 'next ' : 'due '}
                <RelativeTime at={nextAttemptAt} />
              </span>
            )}
          </span>
        ),
        'Last response': ({ lastAttempt }) =>
          lastAttempt && (
            <span class="one-line">
              <Response {...lastAttempt} /> <span class="muted">attempt {lastAttempt.number}</span>
            </span>
          ),
        Transfer: ({ event }) => <Id id={event.transferId} href={transferHref(visit, event.transferId)} />,
        // The list has the order of its events: a recovery may have made the delivery long after.
        'Event created': ({ id }) => <Time at={new Date(timeOf(id))} />,
        ...(names &&
          isEditor(visit) && {
            Retry: ({ id }) => (
              <input type="checkbox" form={BULK} name="delivery" value={id} aria-label={`Select delivery ${id}`} />
            ),
          }),
      }}
    />
  );
}

/** Retries the selected rows, and leads to the recovery of an endpoint where it sends more with less. */
function BulkRetry({ query, deliveries, names }: Required<Omit<TableProps, 'visit'>> & { query: URLSearchParams }) {
  const lost = deliveries.filter(({ status }) => status === 'failed' || status === 'cancelled');
  const endpoints = [...new Set(lost.map(({ endpointId }) => endpointId))].filter((id) => names.has(id));
  return (
    <form id={BULK} class="row bulk" method="post" action={`${PATH}/retry`}>
      <input type="hidden" name="list" value={query.toString()} />
      <label class="check" data-check-all={BULK} hidden>
        <input type="checkbox" data-check-all={BULK} />
        Select all on this page
      </label>
      <button type="submit">Retry the selected</button>
      <span class="hint">Limit: {describeLimit(LIMITS.retries)}.</span>
      {endpoints.length > 0 && <span class="hint">Or recover everything that an endpoint missed:</span>}
      {endpoints.slice(0, 3).map((id) => (
        <a key={id} class="hint" href={`${endpointPath(id)}/statement`}>
          <Untrusted text={names.get(id) ?? ''} />
        </a>
      ))}
    </form>
  );
}

/** Rows that one form retries. */
const MOST_RETRIED = 100;

/** `/console/deliveries/retry`: retries the selected deliveries, each as a retry of its own. */
export const bulkRetryForm = form({
  path: `${PATH}/retry`,
  scope: 'webhooks:write',
  points: 25,
  parameters: MOST_RETRIED + 1,
  async submit({ operations }, fields) {
    const ids = [...new Set(fields.getAll('delivery'))].slice(0, MOST_RETRIED);
    const rejected = new Map<Refusal['code'], number>();
    for (const id of ids) {
      try {
        await operations.change('retryDelivery', { params: { id } });
      } catch (error) {
        const { code } = refusalOf(error);
        // A fault after the first retry is reported like a rejected one, because the others are queued.
        if (!(code in REASONS) && id === ids[0]) throw error;
        rejected.set(code, (rejected.get(code) ?? 0) + 1);
      }
    }
    const list = addressOf(PATH, new URLSearchParams(fields.get('list') ?? '')) as typeof PATH;
    return seeOther(list, bulkNotice(ids.length, rejected));
  },
});

/** Why a delivery of the list is not retried, whatever becomes of the others. */
const REASONS: Partial<Record<Refusal['code'], string>> = {
  endpoint_not_active: 'the endpoint is disabled or deleted',
  retry_limit_reached: `already retried ${LIMITS.retries.amount} times in the last hour`,
  not_found: 'no longer there',
};

/** `2 of 3 deliveries are being sent. 1 was not retried: the endpoint is disabled or deleted.` */
function bulkNotice(selected: number, rejected: ReadonlyMap<Refusal['code'], number>): string {
  if (selected === 0) return 'Nothing was retried, because no delivery was selected.';
  const made = [...rejected.values()].reduce((sum, count) => sum - count, selected);
  const sent =
    made === 0
      ? 'No delivery is being sent.'
      : `${made} of ${countOf(selected, 'delivery', 'deliveries')} ${made === 1 ? 'is' : 'are'} being sent.`;
  const others = [...rejected].map(
    ([code, count]) =>
      `${count} ${count === 1 ? 'was' : 'were'} not retried: ${REASONS[code] ?? PROBLEMS[code].title}.`,
  );
  return [sent, ...others].join(' ');
}

/** The filters of a list; none where they were rejected, so that the page shows the whole list below their errors. */
export const filtersOf = ({ query, refused }: Visit): URLSearchParams => (refused ? new URLSearchParams() : query);

/** The filter that `findById` reads. */
export function IdFilter({ query }: { query: URLSearchParams }) {
  return (
    <Field
      label="Id"
      name="id"
      placeholder="Event, delivery, transfer"
      value={query.get('id')}
      autoComplete="off"
      spellcheck={false}
    />
  );
}

/**
 * Reads the filter `id`: the id of an event or of a delivery leads to the event's page; any other id is a transfer's.
 * @throws Refusal invalid_request
 */
export async function findById(
  { read, session }: Visit,
  query: URLSearchParams,
): Promise<SeeOther | { transferId: string | undefined }> {
  const id = (query.get('id') ?? '').trim().toLowerCase();
  if (id === '') return { transferId: undefined };
  if (!isId(id))
    throw invalidFilter(
      'id',
      'invalid_id',
      'must be a whole id of 36 characters. The button beside an id copies all of it',
    );
  const found = await read((db) => findEventOf(db, session.clientId, id));
  return found ? seeOther(eventPath(found.eventId, found.deliveryId)) : { transferId: id };
}
