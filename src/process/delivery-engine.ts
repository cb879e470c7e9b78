import { randomUUID } from 'node:crypto';
import { createCheckActivities } from '../../activities/check-receiver.js';
import { createDeliverActivities } from '../../activities/deliver.js';
import { createNotifyActivities } from '../../activities/notify.js';
import { createSandboxTransferActivities } from '../../activities/sandbox-transfer.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { findMasterKeyFault } from '../auth/master-key.js';
import { endUnstartedChecks } from '../checks/checks.js';
import { Dispatcher, type Job } from '../delivery/dispatcher.js';
import type { Handover } from '../delivery/handover.js';
import { LiveWorkers } from '../delivery/live-workers.js';
import type { AttemptDependencies } from '../delivery/make-attempt.js';
import { AttemptListener } from '../delivery/notifications.js';
import { skipWorkflowsLoop } from '../delivery/outbox.js';
import { Recorder } from '../delivery/record.js';
import { createAddressGuard } from '../delivery/sender/address-guard.js';
import { createSender, type Sender } from '../delivery/sender/send.js';
import { Slots } from '../delivery/slots.js';
import { startWorkflows } from '../delivery/start-workflows.js';
import { shareWaiting } from '../delivery/waiting.js';
import { sendWakeUps } from '../delivery/wake-ups.js';
import { watchdog } from '../delivery/watchdog.js';
import { workflowStarter } from '../delivery/workflow-starter.js';
import { measureClients, readClientResults } from '../endpoints/client-results.js';
import { cancelBacklogs } from '../endpoints/disable.js';
import { EndpointHours } from '../endpoints/hours.js';
import { measureNotified, readNotified } from '../endpoints/notified.js';
import { notifier, operatorSender } from '../notifications/notify.js';
import { removeExpired } from '../platform/remove-expired.js';
import { carryOutRecoveries } from '../recoveries/carry-out.js';
import { COUNTED, measureAttempts, measureBacklog, readBacklog } from '../reports/backlog.js';
import { readSdkMetrics, TemporalWorker } from '../temporal/worker.js';
import { measureSandboxTransfers } from '../transfers/sandbox.js';
import type { RoleContext } from './bootstrap.js';

/** Leased attempts that wait in one process: a few seconds of work. What waits longer is given back. */
const WAITING = 10_000;

/**
 * Workflows other than those of events are started this often, ms. The first step of a simulated transfer counts from
 * its creation, so a start within SANDBOX_STEP delays no step.
 */
const [INTERVAL, SANDBOX_INTERVAL] = [1_000, 500];

/** Assembles everything that delivers in a worker process: dispatcher, watchdog, starters, and the Temporal worker. */
export function createDeliveryEngine(context: RoleContext) {
  const { config, database, metrics, log } = context;
  const { retryDelays, workflows, disableAfter } = config;
  const token = randomUUID();
  const sender = createSender({ guard: createAddressGuard(config.receivers) });
  const operator = config.notify && {
    ...config.notify,
    sender: operatorSender(config.receivers, config.notify),
  };
  const recorder = new Recorder(database, { token, workflows }, log);
  const onGrown = () => {
    slots.refresh();
    dispatcher.expectAny();
  };
  const workers = new LiveWorkers(database, token, onGrown, log);
  const endpointHours = new EndpointHours(database, log, workers);
  const waiting = shareWaiting(database, workers);
  const perEndpoint = config.endpointConcurrency;
  const { workerConcurrency: total, clientConcurrency: perClient } = config;
  const slots: Slots<Job> = new Slots({ perEndpoint, perClient, total, waiting: WAITING }, workers);
  const attempts: AttemptDependencies = { ...context, sender, recorder, endpointHours, disableAfter, clock: workers };
  const wakeUps = sendWakeUps(database, log);
  const dispatcher: Dispatcher = new Dispatcher({
    db: database,
    token,
    slots,
    workers,
    wakeUps,
    perEndpoint,
    attempts,
    retryDelays,
    waiting,
    onUnreadableSecret: () => void endIfKeyIsWrong(context),
    log,
  });
  const listener = new AttemptListener({
    url: config.databaseDirectUrl,
    database,
    receiver: {
      ...{ workers, perEndpoint },
      expectAny: () => dispatcher.expectAny(),
      expect: (at) => dispatcher.expect(at),
    },
    log,
  });
  measureAttempts(metrics.registry, { slots, recorder, workers, listener });
  measureBacklog(metrics.registry, () => readBacklog(database), config.retention);
  measureClients(metrics.registry, () => readClientResults(database));
  measureNotified(metrics.registry, () => readNotified(database));
  const temporal: TemporalWorker = new TemporalWorker({
    temporal: config.temporal,
    queue: {
      taskQueue: TASK_QUEUE,
      activities: {
        ...createDeliverActivities(database, dispatcher, log),
        ...createNotifyActivities({ ...context, sender, operator }),
      },
      // A small cache is enough: a cached workflow takes 140 KB, and reading a short history again is cheap.
      maxCachedWorkflows: 300,
      maxConcurrentWorkflowTaskExecutions: 40,
      maxConcurrentActivityTaskExecutions: 200,
    },
    onConnected: () => starter.request(),
    measured: config.metrics !== undefined,
    log,
  });
  metrics.append(readSdkMetrics);
  const client = () => temporal.client;
  const starter = workflowStarter({ db: database, temporal: client, workflows, waiting, log });
  const isSandbox = config.environment === 'sandbox';
  const sandbox = isSandbox ? createSandboxWorker({ ...context, sender, handover: dispatcher }) : undefined;
  const loops = [
    starter,
    startWorkflows({
      ...{ db: database, temporal: client, interval: isSandbox ? SANDBOX_INTERVAL : INTERVAL, log },
      async waiting() {
        const found = await waiting();
        if (found.sandboxUsed) sandbox?.start();
        return found;
      },
      async endLate() {
        const ended = await endUnstartedChecks(database, null);
        for (let i = 0; i < ended; i++) metrics.receiverChecked('failed');
      },
    }),
    watchdog(database, (at) => dispatcher.expectAndTell(at), log),
    cancelBacklogs({ db: database, workers, log }),
    carryOutRecoveries({
      ...{ db: database, workers, waiting, retryDelays, metrics, log },
      onQueued: (at) => dispatcher.expectOrTell(at),
    }),
    removeExpired({ db: database, workers, retention: config.retention, log }),
    notifier({ db: database, workers, operator: operator !== undefined, retryDelays, log }),
    skipWorkflowsLoop({ db: database, workflows, workers, trail: config.workflowsTrail, metrics, log }),
  ];

  return {
    /** Hands the committed events of this process to its own dispatcher. */
    handover: dispatcher as Handover,
    temporal,
    /** Starts to take events and tasks. */
    start(): void {
      for (const part of [workers, temporal, dispatcher, endpointHours, listener, ...loops]) part.start();
    },
    /** Takes no new work, finishes and records the running attempts, and gives the waiting ones back to the queue. */
    async stop(): Promise<void> {
      await Promise.all([listener.stop(), ...loops.map((loop) => loop.stop())]);
      recorder.stop();
      await Promise.all([temporal.stop(), sandbox?.stop(), dispatcher.stop()]);
      await wakeUps.flush();
      await workers.stop();
      await endpointHours.stop();
      await Promise.all([sender.close(), operator?.sender.close()]);
    },
  };
}

/**
 * Ends the process if it has another master key than the rest of the deployment. Postgres could not be asked when it
 * started, or had no secret yet.
 */
async function endIfKeyIsWrong({ database, masterKeys, log }: RoleContext): Promise<void> {
  const fault = await findMasterKeyFault(database, masterKeys).catch(() => false);
  if (!fault) return;
  log.fatal(`${fault}; the process ends`);
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

/**
 * The Temporal worker of the part that only a sandbox has: automatic steps of transfers, and checks of receivers. Their
 * task queue has few slots of its own. It takes some 37 MiB, so it starts only with the first simulated transfer of the
 * environment, or the first check.
 */
function createSandboxWorker(dependencies: RoleContext & { sender: Sender; handover: Handover }): TemporalWorker {
  const { config, database, metrics, log } = dependencies;
  measureSandboxTransfers(metrics.registry, database, COUNTED);
  return new TemporalWorker({
    temporal: config.temporal,
    queue: {
      taskQueue: SANDBOX_TASK_QUEUE,
      activities: {
        ...createCheckActivities(dependencies),
        ...createSandboxTransferActivities(database, dependencies.handover, metrics),
      },
      maxCachedWorkflows: 20,
      maxConcurrentWorkflowTaskExecutions: 2,
      // Only checks have regular activities: a client has at most two in flight (LIMITS.checksAtOnce).
      maxConcurrentActivityTaskExecutions: 10,
    },
    measured: config.metrics !== undefined,
    log,
  });
}
