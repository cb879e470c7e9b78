import { createActivities } from '../../activities/deliver.js';
import { createRecoverActivities } from '../../activities/recover.js';
import { createRemoveExpiredActivities } from '../../activities/remove-expired.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { AttemptSlots, type Limits } from '../express-lane/attempt-slots.js';
import { Burst } from '../express-lane/burst.js';
import { ExpressLane } from '../express-lane/express-lane.js';
import { measureInHand } from '../express-lane/gauges.js';
import type { LaneJob } from '../express-lane/lane-event.js';
import { SharedSlots } from '../express-lane/shared-slots.js';
import { Sweep } from '../express-lane/sweep.js';
import { WaitingRetries } from '../express-lane/waiting-retries.js';
import { newId } from '../ids.js';
import { COUNTED, readBacklog } from '../outbox/backlog.js';
import { measureBacklog } from '../outbox/backlog-gauges.js';
import type { DueEvent } from '../outbox/due-event.js';
import type { Handover } from '../outbox/handover.js';
import { listenForEvents } from '../outbox/notify.js';
import { takeTurns } from '../outbox/take-turns.js';
import { shareWaiting } from '../outbox/waiting.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { readSdkMetrics } from '../temporal/runtime.js';
import { type ServedQueue, TemporalWorker } from '../temporal/worker.js';
import { EndpointLimits } from '../webhooks/endpoint-concurrency.js';
import { EndpointHours } from '../webhooks/endpoint-hours.js';
import type { AttemptDependencies } from '../webhooks/make-attempt.js';
import { Recorder } from '../webhooks/recorder.js';
import { createAddressGuard } from '../webhooks/sender/address-guard.js';
import { createSender } from '../webhooks/sender/send.js';
import { IN_FLIGHT_BOUNDS, InFlightLimit } from '../workflow-starts/in-flight-limit.js';
import { readOwnerStart } from '../workflow-starts/read-pending.js';
import { Reconcile } from '../workflow-starts/reconcile.js';
import { measureSandboxTransfers } from '../workflow-starts/sandbox-gauges.js';
import { countSandboxTransfers } from '../workflow-starts/sandbox-outbox.js';
import { SandboxStarter } from '../workflow-starts/sandbox-starter.js';
import { SkipTrailing } from '../workflow-starts/skip-trailing.js';
import { startPending } from '../workflow-starts/start-pending.js';
import { WorkflowStarter } from '../workflow-starts/workflow-starter.js';
import { sandboxQueue } from './sandbox-queue.js';

/** Attempts at once in one process, so that no client takes all (design, The one path). */
const LIMITS: Omit<Limits, 'perEndpoint'> = { perClient: 60, total: 150 };
/** Retries that wait for a slot in an activity, of the 200 below, and for how long, ms. */
const RETRIES_WAIT = { patience: 1_000, perEndpoint: 10, total: 60 };
/**
 * First attempts that wait in memory: a few seconds of work. Jobs that wait longer are handed over or returned anyway.
 */
const CAPACITY = 10_000;
/**
 * A small cache is enough: a cached workflow takes 140 KB, and reading a short history again is cheap (design,
 * Temporal).
 */
const DELIVERY_SLOTS = { cachedWorkflows: 300, workflowTasksAtOnce: 40, activitiesAtOnce: 200 };

export interface DeliveryEngine {
  /** Hands the committed events of this process to its own lane. */
  handover: Handover;
  temporal: TemporalWorker;
  /** Starts to take events and tasks. */
  start(): void;
  /** Takes no new work, finishes and records the running attempts, and returns waiting events to the table. */
  stop(): Promise<void>;
}

/** Assembles everything that delivers in a worker process: lane, sweep, starter, reconcile, and the Temporal worker. */
export function createDeliveryEngine(dependencies: {
  config: Config;
  database: Database;
  masterKeys: MasterKeys;
  metrics: Metrics;
  log: Log;
}): DeliveryEngine {
  const { config, database, masterKeys, metrics, log } = dependencies;
  const { retryDelays, workflows } = config;
  const sender = createSender({ guard: createAddressGuard(config.receivers) });
  const recorder = new Recorder(database, log);
  const endpointHours = new EndpointHours(database, log);
  const shares = new SharedSlots({
    db: database,
    workerId: newId(),
    useOf: (clientId, endpointId) => slots.useOf(clientId, endpointId),
    onGrown: () => slots.refresh(),
    log,
  });
  const slots: AttemptSlots<LaneJob> = new AttemptSlots({ perEndpoint: config.endpointConcurrency, ...LIMITS }, shares);
  const retries = new WaitingRetries({ slots, ...RETRIES_WAIT });
  const burst = new Burst(slots);
  const busy = () => burst.isNow();
  const limits = new EndpointLimits(database, config.endpointConcurrency);
  const inFlight = new InFlightLimit({ ...IN_FLIGHT_BOUNDS, hasSlot: (clientId) => slots.hasSlotFor(clientId) });
  const attempts: AttemptDependencies = {
    database,
    masterKeys,
    sender,
    recorder,
    endpointHours,
    disableAfter: config.disableAfter,
    metrics,
    log,
  };
  measureInHand(metrics.registry, { slots, recorder, shares });
  measureBacklog(metrics.registry, () => readBacklog(database), config.retention);
  const deliveries: ServedQueue = {
    taskQueue: TASK_QUEUE,
    activities: {
      ...createActivities({
        ...attempts,
        acquireSlot: async (clientId, endpointId) => {
          const max = await limits.of(endpointId);
          if (slots.tryAcquire(clientId, endpointId, max)) return true;
          await shares.take(clientId, endpointId, max);
          return retries.acquire(clientId, endpointId, max);
        },
        releaseSlot: (clientId, endpointId) => slots.release(clientId, endpointId),
        inFlight,
        startOwner: async (deliveryId) => {
          const start = await readOwnerStart(database, retryDelays, deliveryId);
          const connected = temporal.client;
          if (!connected) throw new Error('Temporal is away');
          if (start) await startPending(connected.client, [start], 'restart');
        },
      }),
      ...createRecoverActivities({ database, temporal: () => temporal.client, retryDelays, metrics }),
      ...createRemoveExpiredActivities({ database, retention: config.retention, log }),
    },
    ...DELIVERY_SLOTS,
  };
  const isSandbox = config.environment === 'sandbox';
  const temporal: TemporalWorker = new TemporalWorker({
    temporal: config.temporal,
    queues: [deliveries, ...(isSandbox ? [sandboxQueue({ ...attempts, metrics, handover: () => lane })] : [])],
    measured: config.metrics !== undefined,
    log,
  });
  metrics.append(readSdkMetrics);
  const client = () => temporal.client;
  const waiting = shareWaiting(database);
  const starter = new WorkflowStarter({
    db: database,
    temporal: client,
    retryDelays,
    workflows,
    busy,
    inFlight,
    waiting,
    log,
  });
  temporal.onConnected(() => starter.nudge());
  const onDue = (event: DueEvent, urgent: boolean) => starter.due(event, urgent);
  const lane = new ExpressLane({
    db: database,
    slots,
    attempts,
    retryDelays,
    workflows,
    capacity: CAPACITY,
    onDue,
    log,
  });
  const sweep = new Sweep({ db: database, lane, recorder, onDue, waiting, log });
  const reconcile = new Reconcile({
    db: database,
    databaseUrl: config.databaseDirectUrl,
    temporal: client,
    retryDelays,
    busy,
    log,
  });
  const skipTrailing = new SkipTrailing({ db: database, trail: config.workflowsTrail, metrics, log });
  const sandboxStarter = new SandboxStarter({
    db: database,
    temporal: client,
    stepDelay: config.sandboxStep,
    busy,
    waiting,
    log,
  });
  if (isSandbox) {
    measureSandboxTransfers(metrics.registry, () => countSandboxTransfers(database, COUNTED), COUNTED);
  }
  const turns = takeTurns({
    hasTurn: (turn) => shares.hasTurn(turn),
    look: ({ attempt, start }) => {
      if (attempt) sweep.now();
      if (start) starter.nudge();
    },
  });
  let listener: { stop(): Promise<void> } | undefined;

  return {
    handover: lane,
    temporal,
    start() {
      shares.start();
      temporal.start();
      starter.start();
      if (isSandbox) sandboxStarter.start();
      sweep.start();
      reconcile.start();
      if (workflows === 'every-event') skipTrailing.start();
      endpointHours.start();
      listener = listenForEvents(config.databaseDirectUrl, turns.onNotice, log);
    },
    async stop() {
      turns.stop();
      await Promise.all([listener?.stop(), reconcile.stop(), skipTrailing.stop(), sweep.stop(), sandboxStarter.stop()]);
      await Promise.all([temporal.stop(), lane.stop()]);
      await Promise.all([starter.stop(), shares.stop()]);
      await recorder.drain();
      await endpointHours.stop();
      await sender.close();
    },
  };
}
