import { getEndpoint } from '../../endpoints/endpoints.js';
import { presentRecovery } from '../../http/schemas/recovery.js';
import { cancelRecovery, listRecoveries, type RecoveryRecord } from '../../recoveries/recoveries.js';
import { type Command, idOf } from '../command.js';
import { declareList, type Page } from '../list.js';
import { onDatabase } from '../with-database.js';

/** `recoveries …`: recoveries of endpoints, which `endpoints recover` starts. */
export function declare(recoveries: Command): void {
  declareList(recoveries, {
    about: 'list recoveries with their progress, newest first',
    columns: [
      'id',
      'webhookId',
      'status',
      'started',
      'count',
      'missing',
      'pending',
      'since',
      'until',
      'created_at',
      'finished_at',
    ],
    async read(database, { endpoint, ...page }: { endpoint?: string } & Page) {
      // A mistyped id is an error; an empty list means that the endpoint has no recoveries.
      if (endpoint !== undefined) await getEndpoint(database, null, endpoint);
      return listRecoveries(database, endpoint, page);
    },
    present,
  }).option('--endpoint <webhookId>', 'only recoveries of this endpoint', idOf('webhook endpoint'));

  recoveries
    .command('cancel')
    .argument('<recovery_id>', '', idOf('recovery'))
    .description('stop queueing deliveries; those that are queued continue')
    .does(
      onDatabase(async ({ database, actor }, id: string) => ({
        json: present(await database.transaction((tx) => cancelRecovery(tx, { by: { actor }, id }))),
      })),
    );
}

function present(recovery: RecoveryRecord) {
  const { id, ...fields } = presentRecovery(recovery);
  return { id, webhookId: recovery.endpointId, client_id: recovery.clientId, ...fields };
}
