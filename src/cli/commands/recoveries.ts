import { cancelRecovery, listRecoveries, type RecoveryRecord } from '../../delivery/recovery-progress.js';
import { getEndpoint } from '../../endpoints/endpoints.js';
import { presentRecovery } from '../../http/schemas/recovery.js';
import { type Command, type CommandResult, idOf, parseLimit } from '../command.js';
import { pageOf } from '../view.js';
import { onDatabase } from '../with-database.js';

/** `recoveries …`: recoveries of endpoints, which `endpoints recover` starts. */
export function declare(recoveries: Command): void {
  recoveries
    .command('list')
    .description('list recoveries with their progress, newest first')
    .option('--endpoint <webhookId>', 'only recoveries of this endpoint', idOf('webhook endpoint'))
    .option('--limit <n>', 'at most this many recoveries', parseLimit, 50)
    .option('--cursor <recovery_id>', 'the last recovery of the previous page', idOf('recovery'))
    .does(list);

  recoveries
    .command('cancel')
    .argument('<recovery_id>', '', idOf('recovery'))
    .description('stop queueing deliveries; those that are queued continue')
    .does(cancel);
}

interface ListOptions {
  endpoint?: string;
  limit: number;
  cursor?: string;
}

const list = onDatabase(async ({ database }, options: ListOptions): Promise<CommandResult> => {
  const { endpoint, limit, cursor: before } = options;
  // A mistyped id is an error; an empty list means that the endpoint has no recoveries.
  if (endpoint !== undefined) await getEndpoint(database, null, endpoint);
  const found = await listRecoveries(database, endpoint, { before, take: limit + 1 });
  const { shown, note } = pageOf(found, limit);
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
    note,
  };
});

const cancel = onDatabase(async ({ database, actor }, id: string): Promise<CommandResult> => {
  const recovery = await database.transaction((tx) => cancelRecovery(tx, { by: { actor }, id }));
  return { json: present(recovery), text: `recovery ${id} is cancelled; it queued ${progressText(recovery)}` };
});

function present(recovery: RecoveryRecord) {
  const { id, ...fields } = presentRecovery(recovery);
  return { id, webhookId: recovery.endpointId, client_id: recovery.clientId, ...fields };
}

const progressText = ({ started, count, missing }: RecoveryRecord) => `${started} of ${count + missing}`;
