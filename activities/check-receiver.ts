import { checkWorkflowId, finishCheck } from '../src/checks/checks.js';
import { type CaseDependencies, runCase } from '../src/checks/run-case.js';
import { keepStarted } from '../src/delivery/workflow-starts.js';
import type { Metrics } from '../src/platform/telemetry/metrics.js';
import type { CheckActivities } from '../workflows/check-receiver.js';

/** Creates the activities of the workflow `checkReceiver`. */
export function createCheckActivities(
  dependencies: CaseDependencies & { metrics: Pick<Metrics, 'receiverChecked'> },
): CheckActivities {
  const { database, metrics } = dependencies;
  return {
    async sendCase(request) {
      await keepStarted(database, checkWorkflowId(request.checkId));
      return runCase(dependencies, request);
    },
    async finishCheck({ checkId, endpointActive }) {
      const status = await finishCheck(database, checkId, endpointActive ? 'stopped' : 'endpoint_not_active');
      if (status) metrics.receiverChecked(status);
    },
  };
}
