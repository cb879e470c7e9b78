import './quiet-temporal.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../activities/deliver.js';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import type { Log } from '../../src/telemetry/log.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { EndpointHours } from '../../src/webhooks/endpoint-hours.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import type { Sender } from '../../src/webhooks/sender/send.js';
import type { DeliverOutcome, DeliverRequest } from '../../workflows/deliver-event.activities.js';
import type { TestDatabase } from './database.js';
import { masterKeys } from './factories.js';
import { silentLog } from './silent-log.js';

export interface DeliverOptions {
  disableAfter?: number;
  slots?: AttemptSlots<unknown>;
  startOwner?: (deliveryId: string) => Promise<void>;
  log?: Log;
}

/** The activity `deliver` on `db`, to be run again and again with the same slots. */
export function deliverActivity(db: TestDatabase, sender: Sender, options: DeliverOptions = {}) {
  const slots = options.slots ?? new AttemptSlots({ perEndpoint: 10, perClient: 10, total: 10 });
  const { deliver } = createActivities({
    database: db,
    masterKeys,
    sender,
    recorder: new Recorder(db, silentLog),
    endpointHours: new EndpointHours(db, silentLog),
    disableAfter: options.disableAfter ?? 0,
    metrics: createMetrics(),
    log: options.log ?? silentLog,
    acquireSlot: async (clientId, endpointId) => slots.tryAcquire(clientId, endpointId),
    releaseSlot: (clientId, endpointId) => slots.release(clientId, endpointId),
    inFlight: { arrived: () => undefined },
    startOwner: options.startOwner ?? (async () => undefined),
  });
  return (request: DeliverRequest): Promise<DeliverOutcome> => new MockActivityEnvironment().run(deliver, request);
}

/** The request for attempt 1 at the event's first delivery, as its workflow asks for it. */
export function deliverRequest(event: CommittedEvent, fields: Partial<DeliverRequest> = {}): DeliverRequest {
  const [delivery] = event.deliveries;
  return {
    deliveryId: delivery!.deliveryId,
    clientId: event.clientId,
    webhookId: delivery!.endpointId,
    number: 1,
    trigger: 'schedule',
    owner: null,
    nextDelay: 0,
    single: false,
    ...fields,
  };
}
