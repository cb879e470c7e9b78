import { makeContinueAsNewFunc, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';

export interface RecoverEndpointInput {
  /** The id of its row in Postgres. */
  recoverId: string;
  clientId: string;
  webhookId: string;
  host: string;
  /** Events made in [since, until), ms since 1970. */
  since: number;
  until: number;
  /** Deliveries to recover, counted at the request. */
  count: number;
  /** Whether events without a delivery for the endpoint get one. */
  includeMissing: boolean;
  /** Events without a delivery, counted at the request. */
  missing: number;
  /** What the runs before have done; undefined: this is the first run. A workflow that is started again begins anew. */
  progress?: RecoverProgress;
  /** Batches after which the workflow continues as a new run; undefined: `BATCHES`. */
  batchesPerRun?: number;
}

export interface RecoverProgress {
  recovered: number;
  /** First the failed and cancelled deliveries, then the missing ones. */
  phase: 'ended' | 'missing';
  /** Where the next batch starts: the last delivery (`ended`) or event (`missing`) of the batch before; null: first. */
  after: string | null;
}

export interface RecoverBatchRequest
  extends Pick<RecoverEndpointInput, 'recoverId' | 'clientId' | 'webhookId' | 'since' | 'until'> {
  /** The last delivery, or event, of the previous batch; null: this is the first batch. */
  after: string | null;
  /** Whether the recovery ends with the last batch of this phase. */
  endsRecover: boolean;
}

export interface RecoveredBatch {
  recovered: number;
  after: string | null;
}

export interface RecoverActivities {
  /**
   * Resets the next deliveries to the start of their ladders and starts their workflows. `after` null: the last batch of
   * the phase.
   */
  recoverBatch(request: RecoverBatchRequest): Promise<RecoveredBatch>;
  /** Makes the next missing deliveries and starts their workflows. `after` null: as in `recoverBatch`. */
  deliverMissingBatch(request: RecoverBatchRequest): Promise<RecoveredBatch>;
}

const { recoverBatch, deliverMissingBatch } = proxyActivities<RecoverActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/**
 * Batches of one run. A batch takes 11 events of the history. Temporal warns at 10,240 events, and ends a workflow at
 * 51,200.
 */
const BATCHES = 300;

/**
 * Recovers an endpoint's failed and cancelled deliveries, then makes its missing ones if asked, oldest first, a batch a
 * second. @returns their number over all runs
 */
export async function recoverEndpoint(input: RecoverEndpointInput): Promise<number> {
  const { recoverId, clientId, webhookId, since, until, host, includeMissing } = input;
  const { count, missing, batchesPerRun = BATCHES } = input;
  let { recovered, phase, after }: RecoverProgress = input.progress ?? { recovered: 0, phase: 'ended', after: null };
  for (let batches = 1; ; batches++) {
    const endsRecover = phase === 'missing' || !includeMissing;
    const request = { recoverId, clientId, webhookId, since, until, after, endsRecover };
    const batch = await (phase === 'missing' ? deliverMissingBatch(request) : recoverBatch(request));
    recovered += batch.recovered;
    setCurrentDetails(`${recovered} of ${count + missing} deliveries to ${host} start their ladder.`);
    after = batch.after;
    if (after === null) {
      if (endsRecover) return recovered;
      phase = 'missing';
    }
    await sleep('1s', { summary: `${recovered} of ${count + missing} recovered` });
    if (batches >= batchesPerRun) await continueWith({ ...input, progress: { recovered, phase, after } });
  }
}

/** The new run keeps what operators filter by. */
function continueWith(input: RecoverEndpointInput): Promise<never> {
  const { typedSearchAttributes } = workflowInfo();
  return makeContinueAsNewFunc<typeof recoverEndpoint>({ typedSearchAttributes })(input);
}
