import { proxyLocalActivities, setCurrentDetails, sleep } from '@temporalio/workflow';
import { formatDuration } from '../src/platform/duration.js';

export interface SandboxTransferInput {
  transferId: string;
  /** The statuses of all steps, in order. */
  statuses: readonly string[];
  /** Steps that an earlier workflow of this transfer has made. */
  made: number;
  /** ms from the creation to the first step, and from each step to the next. */
  stepDelay: number;
  /** When the transfer was created, ms since 1970. */
  createdAt: number;
}

/** `made`: the step is made, now or by an earlier call. Otherwise another change came first and the steps end. */
export interface SandboxStepResult {
  made: boolean;
  /** The transfer's status; null: the transfer is gone (Postgres was restored to a point before it). */
  status: string | null;
}

export interface SandboxTransferActivities {
  /** Makes step `number`, 1 for the first. */
  sandboxStep(request: { transferId: string; number: number }): Promise<SandboxStepResult>;
}

/**
 * Local, because a step is one short statement: a regular activity costs Temporal twice as much, and a flood of these
 * transfers shares the server with deliveries. A retry after more than a second waits on a timer and holds no slot.
 */
const { sandboxStep } = proxyLocalActivities<SandboxTransferActivities>({
  startToCloseTimeout: '30s',
  localRetryThreshold: '1s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/**
 * Moves a simulated transfer: one status after the other, each after a durable timer. Another change of
 * the transfer ends it. @returns the transfer's status as the last step found it
 */
export async function sandboxTransfer(input: SandboxTransferInput): Promise<string | null> {
  const { transferId, statuses, made, stepDelay, createdAt } = input;
  const times: (number | undefined)[] = [];
  let end = '';
  const show = () => setCurrentDetails(detailsOf(statuses, made, times) + end);
  show();
  // The first step counts from the creation, also when the workflow starts late. A wait is never longer than a step.
  let wait = made === 0 ? Math.min(Math.max(0, createdAt + stepDelay - Date.now()), stepDelay) : stepDelay;
  let current: string | null = statuses[made - 1] ?? 'CREATED';
  for (let number = made + 1; number <= statuses.length; number++) {
    const next = statuses[number - 1] ?? '';
    if (wait > 0) {
      await sleep(wait, { summary: `${next} after ${formatDuration(Math.ceil(wait / 1_000) * 1_000)}` });
    }
    const step = await sandboxStep.executeWithOptions({ summary: `${current} → ${next}` }, [{ transferId, number }]);
    current = step.status;
    if (!step.made) {
      end = `\n\nThe automatic steps ended: ${current === null ? 'the transfer is gone' : `another change made the transfer ${current}`}.`;
      show();
      return current;
    }
    times[number - 1] = Date.now();
    show();
    wait = stepDelay;
  }
  return current;
}

/** The current details in Temporal's UI: a Markdown table with a row for each step. */
function detailsOf(statuses: readonly string[], made: number, times: readonly (number | undefined)[]): string {
  const rows = statuses.map((status, i) => {
    const at = times[i];
    return `| ${status} | ${at === undefined ? (i < made ? 'made earlier' : '–') : `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`} |`;
  });
  return ['| status | set at |', '|---|---|', ...rows].join('\n');
}
