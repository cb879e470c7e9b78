import type { Handover } from '../src/delivery/handover.js';
import type { Handle } from '../src/platform/database/database.js';
import { failpoint } from '../src/platform/failpoints.js';
import type { Metrics } from '../src/platform/telemetry/metrics.js';
import { makeSandboxStep } from '../src/transfers/sandbox.js';
import type { SandboxTransferActivities } from '../workflows/sandbox-transfer.js';

export interface SandboxTransferDependencies {
  database: Handle;
  /** Takes the event of each step, as of any other change. */
  handover: Handover;
  metrics: Pick<Metrics, 'sandboxStepEnded'>;
}

/** Creates the activities of simulated transfers. */
export function createSandboxTransferActivities({
  database,
  handover,
  metrics,
}: SandboxTransferDependencies): SandboxTransferActivities {
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
