import { cancelRecovery, listRecoveries, type RecoveryRecord } from '../../delivery/recovery-progress.js';
import { getEndpoint } from '../../endpoints/endpoints.js';
import { presentRecovery } from '../../http/schemas/recovery.js';
import type { CommandResult } from '../command.js';
import { onDatabase } from '../with-database.js';

interface ListOptions {
  endpoint?: string;
  limit: number;
  cursor?: string;
}

/** `recoveries list` */
export const list = onDatabase(async ({ database }, options: ListOptions): Promise<CommandResult> => {
  const { endpoint, limit, cursor: before } = options;
  // A mistyped id is an error; an empty list means that the endpoint has no recoveries.
  if (endpoint !== undefined) await getEndpoint(database, null, endpoint);
  const found = await listRecoveries(database, endpoint, { before, take: limit + 1 });
  const shown = found.slice(0, limit);
  return {
    json: shown.map(present),
    text: {
      rows: shown.map((one) => ({
        recovery: one.id,
        endpoint: one.endpointId,
        status: one.status,
        queued: progressText(one),
        since: one.since,
        until: one.until,
        created: one.createdAt,
        finished: one.finishedAt,
      })),
      none: 'no recoveries',
    },
    note: found.length > shown.length ? `there are more; next page: --cursor ${shown.at(-1)?.id}` : undefined,
  };
});

/** `recoveries cancel` */
export const cancel = onDatabase(async ({ database, actor }, id: string): Promise<CommandResult> => {
  const recovery = await database.transaction((tx) => cancelRecovery(tx, { by: { actor }, id }));
  return { json: present(recovery), text: `recovery ${id} is cancelled; it queued ${progressText(recovery)}` };
});

function present(recovery: RecoveryRecord) {
  const { id, ...fields } = presentRecovery(recovery);
  return { id, webhookId: recovery.endpointId, client_id: recovery.clientId, ...fields };
}

const progressText = ({ started, count, missing }: RecoveryRecord) => `${started} of ${count + missing}`;
