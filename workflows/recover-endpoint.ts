import { proxyActivities, setCurrentDetails, sleep } from '@temporalio/workflow';

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
}

export interface RecoverBatchRequest extends Omit<RecoverEndpointInput, 'host' | 'count'> {
  /** The last delivery of the previous batch; null: this is the first batch. */
  after: string | null;
}

export interface RecoverActivities {
  /**
   * Resets the next deliveries to the start of their ladders and starts their workflows. `after` null: the last batch.
   */
  recoverBatch(request: RecoverBatchRequest): Promise<{ recovered: number; after: string | null }>;
}

const { recoverBatch } = proxyActivities<RecoverActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
});

/** Recovers an endpoint's failed and cancelled deliveries, oldest first, a batch a second. @returns their number */
export async function recoverEndpoint(input: RecoverEndpointInput): Promise<number> {
  const { count, host, ...scope } = input;
  let recovered = 0;
  for (let after: string | null = null; ; ) {
    const batch: Awaited<ReturnType<typeof recoverBatch>> = await recoverBatch({ ...scope, after });
    recovered += batch.recovered;
    setCurrentDetails(`${recovered} of ${count} deliveries to ${host} start their ladder again.`);
    after = batch.after;
    if (after === null) return recovered;
    await sleep('1s', { summary: `${recovered} of ${count} recovered` });
  }
}
