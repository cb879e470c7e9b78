import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { CheckCase } from '../src/platform/vocabulary.js';

export interface CheckReceiverInput {
  checkId: string;
  /** Its name (`receiverName`). */
  receiver: string;
  /** The cases in their order: kept for as long as this workflow runs. */
  cases: readonly CheckCase[];
}

/** `endpoint_not_active`, `ended` (the check has ended or is removed): the request was not sent, and the check ends. */
export type CaseResult = 'passed' | 'failed' | 'endpoint_not_active' | 'ended';

export interface CheckActivities {
  /** Sends one case and records it. The request holds no secret, so the workflow's history does not either. */
  sendCase(request: { checkId: string; name: CheckCase }): Promise<CaseResult>;
  /** Ends the check and records the cases that were not sent. */
  finishCheck(request: { checkId: string; endpointActive: boolean }): Promise<void>;
}

const { sendCase, finishCheck } = proxyActivities<CheckActivities>({
  // A receiver has 15 s to respond.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Sends the requests of a check, one after the other. The report is in Postgres. @returns the names of failed cases */
export async function checkReceiver({ checkId, receiver, cases }: CheckReceiverInput): Promise<CheckCase[]> {
  const failed: CheckCase[] = [];
  let passed = 0;
  let endpointActive = true;
  for (const name of cases) {
    const result = await sendCase.executeWithOptions({ summary: `${name} → ${receiver}` }, [{ checkId, name }]);
    if (result === 'passed') passed++;
    else if (result === 'failed') failed.push(name);
    else {
      endpointActive = result !== 'endpoint_not_active';
      break;
    }
    setCurrentDetails(detailsOf(passed, cases.length, failed));
  }
  if (!endpointActive) {
    setCurrentDetails(`${detailsOf(passed, cases.length, failed)} The endpoint was disabled or deleted.`);
  }
  await finishCheck({ checkId, endpointActive });
  return failed;
}

function detailsOf(passed: number, of: number, failed: readonly CheckCase[]): string {
  return `${passed} of ${of} cases passed.${failed.length > 0 ? ` Failed: ${failed.join(', ')}.` : ''}`;
}
