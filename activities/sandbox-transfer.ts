import type { Handle } from '../src/database/database.js';
import type { Handover } from '../src/delivery/handover.js';
import { failpoint } from '../src/failpoints.js';
import type { Metrics } from '../src/telemetry/metrics.js';
import { makeSandboxStep } from '../src/transfers/sandbox-step.js';
import type { SandboxTransferActivities } from '../workflows/sandbox-transfer.js';

export interface SandboxTransferDependencies {
  database: Handle;
  /** Takes the event of each step, as of any other change. */
  handover: () => Handover;
  metrics: Pick<Metrics, 'sandboxStepEnded'>;
}

/** Creates the activities of transfers that move by themselves. */
export function createSandboxTransferActivities({
  database,
  handover,
  metrics,
}: SandboxTransferDependencies): SandboxTransferActivities {
  return {
    async sandboxStep({ transferId, number }) {
      failpoint('before-step');
      const result = await makeSandboxStep(database, handover(), transferId, number);
      failpoint('after-step');
      metrics.sandboxStepEnded(result.made ? 'made' : 'overtaken');
      return result;
    },
  };
}
