import { MockActivityEnvironment } from '@temporalio/testing';
import { createDeliverActivities } from '../../activities/deliver.js';
import type { Sender } from '../../src/delivery/sender/send.js';
import type { Log } from '../../src/platform/telemetry/log.js';
import type { DeliverRequest, DeliveryProgress } from '../../workflows/deliver-event.input.js';
import type { CommittedEvent } from './committed-event.js';
import type { TestDatabase } from './database.js';
import { createTestDispatchers, type TestDispatcherOptions } from './dispatcher.js';
import { silentLog } from './silent-log.js';

/** The activities of `deliverEvent` on `db`, each set as in a separate process; `stop` ends their dispatchers. */
export function createTestActivities(db: TestDatabase) {
  const dispatchers = createTestDispatchers(db);
  return {
    open(sender: Sender, { log = silentLog, ...options }: TestDispatcherOptions & { log?: Log } = {}) {
      const opened = dispatchers.open(sender, options);
      const { deliver, readDeliveries } = createDeliverActivities(db, opened.dispatcher, log);
      return {
        ...opened,
        readDeliveries,
        /** @param attempt of the activity, which Temporal counts from 1 */
        deliver: (request: DeliverRequest, attempt = 1): Promise<DeliveryProgress> =>
          new MockActivityEnvironment({ attempt }).run(deliver, request),
      };
    },
    stop: () => dispatchers.stop(),
  };
}

/** The request of a workflow that knows of no attempt at the event's first delivery. */
export function deliverRequest(event: CommittedEvent, fields: Partial<DeliverRequest> = {}): DeliverRequest {
  const { eventId, clientId, deliveries } = event;
  const { deliveryId, endpointId: webhookId, url } = deliveries[0]!;
  return {
    eventId,
    deliveryId,
    clientId,
    webhookId,
    host: new URL(url).host,
    description: null,
    attemptCount: 0,
    ...fields,
  };
}
