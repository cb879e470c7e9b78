import {
  makeContinueAsNewFunc,
  patched,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';

export interface RecoverEndpointInput {
  /** The id of its row in Postgres; undefined: an earlier release, without such rows, started it. */
  recoverId?: string;
  clientId: string;
  webhookId: string;
  host: string;
  /** Events made in [since, until), ms since 1970. */
  since: number;
  until: number;
  /** Deliveries to recover, counted at the request. */
  count: number;
  /** Whether events without a delivery for the endpoint get one; not in the histories of 0.1.0. */
  includeMissing?: boolean;
  /** Events without a delivery, counted at the request. */
  missing?: number;
  /** What the runs before have done; undefined: this is the first run. */
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
}

export interface RecoveredBatch {
  recovered: number;
  after: string | null;
}

export interface RecoverActivities {
  /**
   * Resets the next deliveries to the start of their ladders and starts their workflows. `after` null: the last batch,
   * which ends the recover `recoverId`.
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
  const { recoverId, clientId, webhookId, since, until, host, includeMissing = false } = input;
  const { count, missing = 0, batchesPerRun = BATCHES } = input;
  let { recovered, phase, after }: RecoverProgress = input.progress ?? { recovered: 0, phase: 'ended', after: null };
  for (let batches = 1; ; batches++) {
    const scope = { clientId, webhookId, since, until, after };
    const isLastPhase = phase === 'missing' || !includeMissing;
    // Only the last phase names the recover, because its last batch ends the recover in Postgres.
    const request = isLastPhase && recoverId !== undefined ? { recoverId, ...scope } : scope;
    const batch = await (phase === 'missing' ? deliverMissingBatch(request) : recoverBatch(request));
    recovered += batch.recovered;
    setCurrentDetails(`${recovered} of ${count + missing} deliveries to ${host} start their ladder.`);
    after = batch.after;
    if (after === null) {
      if (isLastPhase) return recovered;
      phase = 'missing';
    }
    await sleep('1s', { summary: `${recovered} of ${count + missing} recovered` });
    if (batches >= batchesPerRun && patched('recover-continues-as-new')) {
      await continueWith({ ...input, progress: { recovered, phase, after } });
    }
  }
}

/** The new run keeps the memo, by which a repeated request recognises its recover, and what operators filter by. */
function continueWith(input: RecoverEndpointInput): Promise<never> {
  const { memo, typedSearchAttributes } = workflowInfo();
  return makeContinueAsNewFunc<typeof recoverEndpoint>({ ...(memo && { memo }), typedSearchAttributes })(input);
}
