import type { Handover } from '../src/delivery/handover.js';
import type { Handle } from '../src/platform/database/database.js';
import { failpoint } from '../src/platform/failpoints.js';
import type { Metrics } from '../src/platform/telemetry/metrics.js';
import { makeSandboxStep } from '../src/transfers/sandbox.js';
import type { SandboxTransferActivities } from '../workflows/sandbox-transfer.js';

/**
 * Creates the activities of simulated transfers. @param handover takes the event of each step, as of any other change
 */
export function createSandboxTransferActivities(
  database: Handle,
  handover: Handover,
  metrics: Pick<Metrics, 'sandboxStepEnded'>,
): SandboxTransferActivities {
  return {
    async sandboxStep({ transferId, number }) {
      failpoint('before-step');
      const result = await makeSandboxStep(database, handover, transferId, number);
      failpoint('after-step');
      metrics.sandboxStepEnded(result.made ? 'made' : 'overtaken');
      return result;
    },
  };
}
