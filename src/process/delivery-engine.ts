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
import { newId } from '../ids.js';
import { readBacklog } from '../outbox/backlog.js';
import { measureBacklog } from '../outbox/backlog-gauges.js';
import type { DueEvent } from '../outbox/due-event.js';
import type { Handover } from '../outbox/handover.js';
import { listenForEvents } from '../outbox/notify.js';
import { takeTurns } from '../outbox/take-turns.js';
import { shareWaiting } from '../outbox/waiting.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { readSdkMetrics } from '../temporal/runtime.js';
import { TemporalWorker } from '../temporal/worker.js';
import { CancelBacklogs } from '../webhooks/cancel-backlogs.js';
import { measureClients, readClientResults } from '../webhooks/client-gauges.js';
import { EndpointHours } from '../webhooks/endpoint-hours.js';
import type { AttemptDependencies } from '../webhooks/make-attempt.js';
import { Recorder } from '../webhooks/recorder.js';
import { createAddressGuard } from '../webhooks/sender/address-guard.js';
import { createSender } from '../webhooks/sender/send.js';
import { IN_FLIGHT_BOUNDS, InFlightLimit } from '../workflow-starts/in-flight-limit.js';
import { Reconcile } from '../workflow-starts/reconcile.js';
import { SkipTrailing } from '../workflow-starts/skip-trailing.js';
import { WorkflowStarter } from '../workflow-starts/workflow-starter.js';
import { deliveryQueue } from './delivery-queue.js';
import { createSandboxEngine } from './sandbox-engine.js';

/** Attempts at once in one process, so that no client takes all (design, The one path). */
const LIMITS: Omit<Limits, 'perEndpoint'> = { perClient: 60, total: 150 };
/**
 * First attempts that wait in memory: a few seconds of work. Jobs that wait longer are handed over or returned anyway.
 */
const CAPACITY = 10_000;

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
  const burst = new Burst(slots);
  const busy = () => burst.isNow();
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
  measureClients(metrics.registry, () => readClientResults(database));
  const temporal: TemporalWorker = new TemporalWorker({
    temporal: config.temporal,
    queue: deliveryQueue({ config, attempts, metrics, slots, shares, inFlight, temporal: () => temporal.client }),
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
  const cancelBacklogs = new CancelBacklogs({ db: database, log });
  const sandbox =
    config.environment === 'sandbox'
      ? createSandboxEngine(config, { ...attempts, metrics, handover: () => lane, temporal: client, busy, waiting })
      : undefined;
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
      sandbox?.start();
      sweep.start();
      reconcile.start();
      if (workflows === 'every-event') skipTrailing.start();
      cancelBacklogs.start();
      endpointHours.start();
      listener = listenForEvents(config.databaseDirectUrl, turns.onNotice, log);
    },
    async stop() {
      turns.stop();
      const loops = [reconcile, skipTrailing, cancelBacklogs, sweep];
      await Promise.all([listener?.stop(), sandbox?.stopStarts(), ...loops.map((loop) => loop.stop())]);
      await Promise.all([temporal.stop(), sandbox?.stop(), lane.stop()]);
      await Promise.all([starter.stop(), shares.stop()]);
      await recorder.drain();
      await endpointHours.stop();
      await sender.close();
    },
  };
}
