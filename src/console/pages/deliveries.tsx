import type { z } from 'zod';
import { idCursor } from '../../http/paging.js';
import { type deliveryView, presentDelivery } from '../../http/schemas/delivery.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isId, timeOf } from '../../platform/ids.js';
import { Refusal } from '../../platform/refusal.js';
import { ATTEMPT_ERRORS } from '../../platform/vocabulary.js';
import { listDeliveriesByResponse, responseFilterOf } from '../../reports/read-deliveries.js';
import { ANY, List, type Listed, listQuery, Table } from '../components/lists.js';
import { Select } from '../components/parts.js';
import { NextAttempt, Response, Status, Time, Untrusted } from '../components/values.js';
import { isEditor, page, type Visit } from '../page.js';
import { namesOf, readEndpoints } from './endpoints/endpoint.js';
import { eventPath } from './paths.js';
import { RETRY_FORM, RetrySelected } from './retry-deliveries.js';
import { TransferLabel, type TransferSummaries, transfersOf } from './transfer-label.js';

const PATH = '/console/deliveries';
export type Delivery = z.output<typeof deliveryView>;

const STATUSES = Object.values(DeliveryStatus);
const RESPONSES = ['2xx', '4xx', '5xx', ...ATTEMPT_ERRORS.filter((error) => error !== 'status')];

/** `/console/deliveries`: the deliveries to all endpoints, newest events first. */
export const deliveryList = page({
  path: PATH,
  scope: 'webhooks:read',
  points: 6,
  title: 'Deliveries',
  hasRows: true,
  navigation: 'Deliveries',
  async view(visit) {
    const { query } = visit;
    const endpoints = await readEndpoints(visit);
    const names = namesOf(endpoints);
    const response = query.get('response') ?? '';
    const { data, next_cursor: nextCursor } = await (response === '' ? readPlain(visit) : readByResponse(visit));
    const transfers = await transfersOf(
      visit,
      data.map(({ transfer_id }) => transfer_id),
    );
    return (
      <>
        <h1>Deliveries</h1>
        <List
          {...{ path: PATH, query, many: 'deliveries', nextCursor }}
          filters={
            <>
              <EndpointFilter {...{ query, names }} />
              <Select label="Status" name="status" value={query.get('status')} choices={[ANY, ...STATUSES]} />
              <ResponseFilter query={query} />
            </>
          }
          table={
            data.length > 0 && <DeliveryTable visit={visit} deliveries={data} {...{ names, transfers }} selectable />
          }
          actions={isEditor(visit) && <RetrySelected />}
        >
          <p>Each change of a transfer's status creates one delivery for every enabled endpoint.</p>
          <a href="/console/endpoints">Endpoints</a>
        </List>
      </>
    );
  },
});

export function EndpointFilter({ query, names }: { query: URLSearchParams; names: ReadonlyMap<string, string> }) {
  const choices = [ANY, ...Array.from(names, ([value, text]) => ({ value, text }))];
  return <Select label="Endpoint" name="webhookId" value={query.get('webhookId')} choices={choices} />;
}

export function ResponseFilter({ query }: { query: URLSearchParams }) {
  const value = query.get('response') ?? '';
  // A bar of the endpoint's page leads to a single status, such as 401.
  const responses = value === '' || RESPONSES.includes(value) ? RESPONSES : [value, ...RESPONSES];
  return <Select label="Last response" name="response" value={value} choices={[ANY, ...responses]} />;
}

type Page = Listed<Delivery>;

function readPlain(visit: Visit): Promise<Page> {
  return visit.operations.read<Page>('listDeliveries', {
    query: { ...listQuery(visit), response: undefined, limit: String(PAGE) },
  });
}

const cursors = idCursor('deliveries');
const PAGE = 20;

/** The last response is a filter of the console alone. A page looks at a thousand deliveries, and may be short. */
async function readByResponse(visit: Visit): Promise<Page> {
  const { session, read } = visit;
  const { response, ...filters } = deliveryFilters(visit, 'status');
  if (!response) throw new TypeError('there is no response to filter by');
  const { records, nextId } = await read((db) =>
    listDeliveriesByResponse(db, session.clientId, { ...filters, response }),
  );
  return { data: records.map(presentDelivery), next_cursor: nextId === null ? null : cursors.write(nextId) };
}

/**
 * The filters of a list that is made of deliveries.
 * @param statusField the parameter that names a status @throws Refusal invalid_request
 */
export function deliveryFilters(visit: Visit, statusField: 'status' | 'outcome') {
  const { query } = visit;
  const { created_after: after, created_before: before } = listQuery(visit);
  const text = query.get('response') ?? '';
  const response = responseFilterOf(text);
  if (text !== '' && response === undefined) {
    const error = { code: 'invalid_value', detail: 'must be a status such as 4xx or 401, or an error such as timeout' };
    throw new Refusal('invalid_request', 'The response cannot be read.', [{ parameter: 'response', ...error }]);
  }
  const idIn = (name: string) => {
    const id = query.get(name)?.trim().toLowerCase() ?? '';
    return isId(id) ? id : undefined;
  };
  return {
    response,
    status: STATUSES.find((one) => one === query.get(statusField)),
    endpointId: idIn('webhookId'),
    transferId: idIn('transfer_id'),
    createdAfter: after === undefined ? undefined : Date.parse(after),
    createdBefore: before === undefined ? undefined : Date.parse(before),
    before: cursors.read(query.get('cursor') ?? ''),
    take: PAGE,
  };
}

interface TableProps {
  visit: Visit;
  deliveries: readonly Delivery[];
  /** The names of their endpoints; undefined: they are all of one. */
  names?: ReadonlyMap<string, string>;
  transfers: TransferSummaries;
  /** Whether an editor may select rows, to retry them. */
  selectable?: true;
}

export function DeliveryTable({ visit, deliveries, names, transfers, selectable }: TableProps) {
  return (
    <Table<Delivery>
      id="rows"
      rows={deliveries}
      row={({ id, status }) => ({ id: `delivery-${id}`, 'data-announce': `${status} delivery` })}
      href={({ id, event_id }) => eventPath(event_id, id)}
      select={
        selectable && isEditor(visit)
          ? ({ id }) => (
              <input
                type="checkbox"
                form={RETRY_FORM}
                name="delivery"
                value={id}
                aria-label={`Select delivery …${id.slice(-8)}`}
              />
            )
          : undefined
      }
      classes={{ Transfer: 'wide-only' }}
      columns={{
        Event: ({ transfer_status }) => transfer_status,
        ...(names && {
          Endpoint: ({ webhookId, url }) => <Untrusted text={names.get(webhookId) ?? url} />,
        }),
        Status: ({ status, next_attempt_at }) => (
          <span class="one-line">
            <Status status={status} />
            {next_attempt_at && <NextAttempt at={new Date(next_attempt_at)} />}
          </span>
        ),
        'Last response': ({ last_attempt }) =>
          last_attempt && (
            <span class="one-line">
              <Response error={last_attempt.error} responseStatus={last_attempt.response_status} />{' '}
              <span class="muted">attempt {last_attempt.number}</span>
            </span>
          ),
        Transfer: ({ transfer_id }) => <TransferLabel visit={visit} id={transfer_id} of={transfers} />,
        // The list has the order of its events: a recovery may have made the delivery long after.
        'Event created': ({ id }) => <Time at={new Date(timeOf(id))} />,
      }}
    />
  );
}
