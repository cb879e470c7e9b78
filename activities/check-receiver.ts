import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { checkWorkflowId, finishCheck } from '../src/checks/checks.js';
import { type CaseDependencies, runCase } from '../src/checks/run-case.js';
import type { Slots } from '../src/delivery/slots.js';
import { keepStarted } from '../src/delivery/workflow-starts.js';
import type { Metrics } from '../src/platform/telemetry/metrics.js';
import type { CheckActivities } from '../workflows/check-receiver.js';

export interface CheckDependencies extends CaseDependencies {
  /** The slots of the checks, so that a client's slow receivers do not hold up other clients. */
  slots: Pick<Slots<unknown>, 'tryAcquire' | 'release'>;
  metrics: Pick<Metrics, 'receiverChecked'>;
}

/** Longest delay before a case without a slot asks again, ms. */
const LONGEST_SLOT_RETRY = 16_000;

/** Creates the activities of the workflow `checkReceiver`. */
export function createCheckActivities(dependencies: CheckDependencies): CheckActivities {
  const { database, slots, metrics } = dependencies;
  return {
    async sendCase({ checkId, clientId, webhookId, name }) {
      await keepStarted(database, checkWorkflowId(checkId));
      if (!slots.tryAcquire(clientId, webhookId)) throw noSlot(activityInfo().attempt);
      try {
        return await runCase(dependencies, { checkId, name });
      } finally {
        slots.release(clientId, webhookId);
      }
    },
    async finishCheck({ checkId, endpointActive }) {
      const status = await finishCheck(database, checkId, endpointActive ? 'stopped' : 'endpoint_not_active');
      if (status) metrics.receiverChecked(status);
    },
  };
}

/** A case never waits for a slot: it fails, and Temporal tries again after 1 s, growing to 16 s, with jitter. */
function noSlot(attempt: number): ApplicationFailure {
  const delay = Math.min(LONGEST_SLOT_RETRY, 1_000 * 2 ** Math.min(attempt - 1, 4));
  return ApplicationFailure.create({
    type: 'NoSlot',
    category: 'BENIGN',
    message: 'the concurrency limit of checks, in all or of this client, is reached',
    nextRetryDelay: Math.round(delay * (0.5 + Math.random() / 2)),
  });
}
