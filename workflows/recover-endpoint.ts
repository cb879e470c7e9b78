import { makeContinueAsNewFunc, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { type Receiver, receiverName } from './receiver.js';

export interface RecoverEndpointInput extends Receiver {
  clientId: string;
  /** Events made in [since, until), ms since 1970. */
  since: number;
  until: number;
  /** Deliveries to recover, counted at the request. */
  count: number;
  /** Whether events without a delivery for the endpoint get one. */
  includeMissing: boolean;
  /** Events without a delivery, counted at the request. */
  missing: number;
  /** Whether deliveries that sleep start again too. */
  includePending: boolean;
  /** Deliveries that sleep, counted at the request. */
  pending: number;
  /** Where this run begins; undefined: at the start. A workflow that is started again begins anew. */
  progress?: RecoveredBatch & { next: RecoveryPosition };
  /** Batches after which the workflow continues as a new run; undefined: `BATCHES`. */
  batchesPerRun?: number;
}

export interface RecoveryPosition {
  /**
   * First the deliveries that sleep, then the failed and cancelled ones, then the missing ones. One that starts again
   * may sleep a moment later: its phase is over by then.
   */
  phase: 'pending' | 'ended' | 'missing';
  /** The last delivery (`ended`) or event (`missing`) of the batch before; null: none. */
  after: string | null;
}

export interface RecoverBatchRequest
  extends Pick<RecoverEndpointInput, 'clientId' | 'webhookId' | 'since' | 'until' | 'includeMissing'> {
  workflowId: string;
  from: RecoveryPosition;
}

export interface RecoveredBatch {
  recovered: number;
  /** Where the next batch begins; null: the recovery has ended. */
  next: RecoveryPosition | null;
}

export interface RecoveryActivities {
  /** Queues the next deliveries, at the start of their ladders. */
  recoverBatch(request: RecoverBatchRequest): Promise<RecoveredBatch>;
}

const { recoverBatch } = proxyActivities<RecoveryActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/**
 * Batches of one run. A batch takes 11 events of the history. Temporal warns at 10,240 events, and ends a workflow at
 * 51,200.
 */
const BATCHES = 300;

/**
 * Recovers an endpoint's deliveries, those that sleep and the missing ones if asked, oldest first, a batch a second.
 * @returns their number over all runs
 */
export async function recoverEndpoint(input: RecoverEndpointInput): Promise<number> {
  const { clientId, webhookId, since, until, includeMissing, batchesPerRun = BATCHES } = input;
  const { workflowId, typedSearchAttributes } = workflowInfo();
  const total = input.count + input.missing + input.pending;
  const first = input.includePending ? 'pending' : 'ended';
  let { recovered, next }: Required<RecoverEndpointInput>['progress'] = input.progress ?? {
    recovered: 0,
    next: { phase: first, after: null },
  };
  for (let batches = 1; ; batches++) {
    const request = { workflowId, clientId, webhookId, since, until, includeMissing, from: next };
    const batch = await recoverBatch(request);
    recovered += batch.recovered;
    setCurrentDetails(`${recovered} of ${total} deliveries to ${receiverName(input)} start their ladder.`);
    if (batch.next === null) return recovered;
    next = batch.next;
    await sleep('1s', { summary: `${recovered} of ${total} recovered` });
    if (batches >= batchesPerRun) {
      // The new run keeps what operators filter by.
      const continueAsNew = makeContinueAsNewFunc<typeof recoverEndpoint>({ typedSearchAttributes });
      await continueAsNew({ ...input, progress: { recovered, next } });
    }
  }
}
