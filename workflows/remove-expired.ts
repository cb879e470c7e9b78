import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';

export interface RemoveExpiredActivities {
  /**
   * Removes batches for some seconds, starting behind the event `after`. `after` null in the result: nothing is left.
   */
  removeExpiredFor(request: Pick<RemoveExpiredProgress, 'after'>): Promise<RemoveExpiredProgress>;
}

export interface RemoveExpiredProgress {
  removed: number;
  after: string | null;
}

const { removeExpiredFor } = proxyActivities<RemoveExpiredActivities>({
  startToCloseTimeout: '10m',
  heartbeatTimeout: '60s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '5m' },
});

/** Removes rows older than the retention. The Schedule `retention` runs it. @returns the number of removed events */
export async function removeExpired(before: RemoveExpiredProgress = { removed: 0, after: null }): Promise<number> {
  let { removed, after } = before;
  for (;;) {
    const progress: RemoveExpiredProgress = await removeExpiredFor({ after });
    removed += progress.removed;
    after = progress.after;
    setCurrentDetails(`${removed} events removed${after === null ? '.' : ' so far.'}`);
    if (after === null) return removed;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof removeExpired>({ removed, after });
  }
}
