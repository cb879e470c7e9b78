import { isFailing, listFailingEndpoints, readEndpointHealth } from '../../src/endpoints/health.js';
import { readWindow, readWithinLimits } from '../../src/endpoints/window.js';
import type { Handle } from '../../src/platform/database/database.js';
import { DeliveryStatus } from '../../src/platform/database/generated/enums.js';
import { lowestIdAt } from '../../src/platform/ids.js';
import { countAsleep, countRecoverable } from '../../src/recoveries/start-recovery.js';
import {
  getDeliveryWithAttempts,
  listAttempts,
  listDeliveries,
  readAttemptSummaries,
} from '../../src/reports/read-deliveries.js';
import { getEvent, listEvents, listMissing, readEventTimeline } from '../../src/reports/read-events.js';
import { listTransfers } from '../../src/transfers/read-transfers.js';
import { TRANSFER_STATUSES } from '../../src/transfers/states.js';
import type { Filled } from './fill.js';

/** A name, and a call of the service's own code. */
export type Query = [name: string, run: (db: Handle) => Promise<unknown>];

const DAY = 86_400_000;
/** The id of nothing. */
const NOBODY = '00000000-0000-7000-8000-000000000000';

/**
 * Every list of the API and the command line, and each filter that changes its plan: the first page, and one deep in
 * the past.
 */
export async function listQueries(db: Handle, filled: Filled): Promise<Query[]> {
  const { bigClient, failingEndpoint, busyEndpoint, smallClient, smallEndpoint } = filled;
  const now = Date.now();
  const deep = lowestIdAt(now - 25 * DAY);
  const take = 26;
  const first = { before: undefined, take };
  const range = { createdAfter: now - 10 * DAY, createdBefore: now - 9 * DAY, ...first };
  const [event] = await listEvents(db, bigClient, { take: 1 });
  const { transferId } = await db.prisma.event.findUniqueOrThrow({ where: { id: event?.id ?? '' } });
  const type = 'transfer.status_changed';
  const queries: Query[] = [];
  const ask = (name: string, run: Query[1]) => queries.push([name, run]);

  for (const [whose, client] of [
    ['big client', bigClient],
    ['small client', smallClient],
  ] as const) {
    ask(`events, ${whose}`, (h) => listEvents(h, client, first));
    ask(`events, ${whose}, deep`, (h) => listEvents(h, client, { before: deep, take }));
    ask(`events, ${whose}, type, a day`, (h) => listEvents(h, client, { type, ...range }));
    const own = { clientId: client, order: 'newest' } as const;
    ask(`transfers, ${whose}`, (h) => listTransfers(h, { ...own, take }));
    ask(`transfers, ${whose}, deep`, (h) => listTransfers(h, { ...own, cursor: deep, take }));
    ask(`transfers, ${whose}, status`, (h) => listTransfers(h, { ...own, status: 'SENT', ...first }));
    ask(`transfers, ${whose}, status nobody has`, (h) => listTransfers(h, { ...own, status: 'RETURNED', ...first }));
    ask(`transfers, ${whose}, status, a day`, (h) => listTransfers(h, { ...own, status: 'SENT', ...range }));
    ask(`transfers, ${whose}, reference`, (h) => listTransfers(h, { ...own, reference: 'Invoice 1', ...first }));
    ask(`transfers, ${whose}, reference, status`, (h) =>
      listTransfers(h, { ...own, reference: 'Invoice 1', status: 'SENT', ...first }),
    );
    ask(`transfers, ${whose}, a day`, (h) => listTransfers(h, { ...own, ...range }));
  }
  ask('events, transfer', (h) => listEvents(h, bigClient, { transferId, ...first }));
  ask('event', (h) => getEvent(h, bigClient, event?.id ?? ''));
  ask('deliveries of an event', (h) => listDeliveries(h, bigClient, { eventId: event?.id ?? '', ...first }));
  const deliveries = await listDeliveries(db, bigClient, {
    endpointId: busyEndpoint,
    before: undefined,
    take: 100,
  });
  const [delivery] = deliveries.filter(({ attemptCount }) => attemptCount > 0);
  const deliveryId = delivery?.id ?? '';
  ask('last attempts of a hundred deliveries', (h) => readAttemptSummaries(h, deliveries, 1));
  ask('delivery with its attempts', (h) => getDeliveryWithAttempts(h, bigClient, deliveryId));
  ask('attempts of a delivery', (h) => listAttempts(h, deliveryId, { take: 21 }));
  ask('attempts of a delivery, second page', (h) => listAttempts(h, deliveryId, { before: 2, take: 21 }));
  ask('console: timeline of an event', (h) => readEventTimeline(h, bigClient, event?.id ?? '', { take: 26 }));
  ask('console: attempts of a hundred deliveries', (h) => readAttemptSummaries(h, deliveries, 20));
  ask('console: deliveries, transfer', (h) => listDeliveries(h, bigClient, { transferId, ...first }));
  for (const [which, endpointId, client] of [
    ['failing endpoint', failingEndpoint, bigClient],
    ['busy endpoint', busyEndpoint, bigClient],
    ['small endpoint', smallEndpoint, smallClient],
  ] as const) {
    ask(`deliveries, ${which}`, (h) => listDeliveries(h, client, { endpointId, ...first }));
    ask(`deliveries, ${which}, deep`, (h) => listDeliveries(h, client, { endpointId, before: deep, take }));
    for (const status of Object.values(DeliveryStatus)) {
      ask(`deliveries, ${which}, ${status}`, (h) => listDeliveries(h, client, { endpointId, status, ...first }));
    }
  }
  for (const order of ['newest', 'oldest'] as const) {
    const all = { clientId: null, order, take: 26 };
    ask(`operator: transfers, ${order}`, (h) => listTransfers(h, all));
    ask(`operator: transfers, ${order}, deep`, (h) => listTransfers(h, { ...all, cursor: deep }));
    ask(`operator: transfers, ${order}, client`, (h) => listTransfers(h, { ...all, clientId: bigClient }));
    ask(`operator: transfers, ${order}, reference`, (h) => listTransfers(h, { ...all, reference: 'none' }));
    for (const status of TRANSFER_STATUSES) {
      const of = { ...all, status };
      ask(`operator: transfers, ${order}, ${status}`, (h) => listTransfers(h, of));
      ask(`operator: transfers, ${order}, ${status}, deep`, (h) => listTransfers(h, { ...of, cursor: deep }));
      ask(`operator: transfers, ${order}, ${status}, client`, (h) =>
        listTransfers(h, { ...of, clientId: smallClient }),
      );
    }
  }
  ask('operator: deliveries', (h) => listDeliveries(h, null, { take: 50 }));
  ask('operator: deliveries, deep', (h) => listDeliveries(h, null, { before: deep, take: 50 }));
  ask('operator: failing endpoints', (h) => listFailingEndpoints(h, { clientId: undefined, ...first }));
  ask('operator: failing endpoints, client', (h) => listFailingEndpoints(h, { clientId: bigClient, ...first }));
  for (const status of Object.values(DeliveryStatus)) {
    ask(`operator: deliveries, ${status}`, (h) => listDeliveries(h, null, { status, take: 50 }));
    ask(`operator: deliveries, ${status}, deep`, (h) => listDeliveries(h, null, { status, before: deep, take: 50 }));
  }
  for (const [whose, clientId] of [
    ['big client', bigClient],
    ['small client', smallClient],
  ] as const) {
    ask(`console: deliveries, ${whose}`, (h) => listDeliveries(h, clientId, first));
    ask(`console: deliveries, ${whose}, deep`, (h) => listDeliveries(h, clientId, { before: deep, take }));
    ask(`console: deliveries, ${whose}, a day`, (h) => listDeliveries(h, clientId, range));
    for (const status of Object.values(DeliveryStatus)) {
      ask(`console: deliveries, ${whose}, ${status}`, (h) => listDeliveries(h, clientId, { status, ...first }));
      ask(`console: deliveries, ${whose}, ${status}, a day`, (h) => listDeliveries(h, clientId, { status, ...range }));
    }
    ask(`operator: deliveries, ${whose}`, (h) => listDeliveries(h, clientId, { take: 50 }));
    for (const status of Object.values(DeliveryStatus)) {
      ask(`operator: deliveries, ${whose}, ${status}`, (h) => listDeliveries(h, clientId, { status, take: 50 }));
    }
  }
  const scope = { clientId: bigClient, endpointId: failingEndpoint, until: now };
  ask('recover: count of a day', (h) => countRecoverable(h, { ...scope, since: now - DAY }));
  ask('recover: count of what sleeps', (h) => countAsleep(h, { ...scope, since: 0 }));
  ask('recover: count of all', (h) => countRecoverable(h, { ...scope, since: 0 }));
  for (const [which, client, endpointId] of [
    ['failing endpoint', bigClient, failingEndpoint],
    ['busy endpoint', bigClient, busyEndpoint],
    ['small endpoint', smallClient, smallEndpoint],
  ] as const) {
    const window = { clientId: client, endpointId, since: now - 31 * DAY, until: now };
    ask(`statement of 31 days, ${which}`, (h) => readWithinLimits(h, null, (tx) => readWindow(tx, window)));
    const missing = { endpointId, createdAfter: now - 31 * DAY, createdBefore: now, take: 26 };
    ask(`missing events, ${which}`, (h) => listMissing(h, client, { ...missing, before: undefined }));
    ask(`missing events, ${which}, none of 10,000`, (h) =>
      listMissing(h, client, { ...missing, before: undefined, transferId: NOBODY }),
    );
  }
  for (const [which, endpointId] of [
    ['failing', failingEndpoint],
    ['busy', busyEndpoint],
    ['small', smallEndpoint],
  ] as const) {
    ask(`is failing? ${which} endpoint`, (h) => isFailing(h, endpointId, 5 * DAY));
  }
  for (const [whose, client] of [
    ['big client', bigClient],
    ['small client', smallClient],
  ] as const) {
    ask(`overview: health of 20 endpoints, ${whose}`, (h) => readEndpointHealth(h, client));
  }
  return queries;
}
