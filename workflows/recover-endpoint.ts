import { proxyActivities, setCurrentDetails, sleep } from '@temporalio/workflow';

export interface RecoverEndpointInput {
  /** Its row in Postgres; undefined: it was started by a release that had none. */
  recoverId?: string;
  clientId: string;
  webhookId: string;
  host: string;
  /** Events made in [since, until), ms since 1970. */
  since: number;
  until: number;
  /** How many there were when it was asked for. */
  count: number;
}

export interface RecoverBatchRequest extends Omit<RecoverEndpointInput, 'host' | 'count'> {
  /** The last delivery of the batch before. */
  after: string | null;
}

export interface RecoverActivities {
  /** Puts the next few back at their ladder's start and starts their workflows. `after` null: that was the last batch. */
  recoverBatch(request: RecoverBatchRequest): Promise<{ recovered: number; after: string | null }>;
}

const { recoverBatch } = proxyActivities<RecoverActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Recovers an endpoint's failed and cancelled deliveries, oldest first, a batch a second. Answers how many. */
export async function recoverEndpoint(input: RecoverEndpointInput): Promise<number> {
  const { count, host, ...scope } = input;
  let recovered = 0;
  for (let after: string | null = null; ; ) {
    const batch: Awaited<ReturnType<typeof recoverBatch>> = await recoverBatch({ ...scope, after });
    recovered += batch.recovered;
    setCurrentDetails(`${recovered} of ${count} deliveries to ${host} begin their ladder again.`);
    after = batch.after;
    if (after === null) return recovered;
    await sleep('1s', { summary: `${recovered} of ${count} recovered` });
  }
}
