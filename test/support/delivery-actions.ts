import type { Database } from '../../src/platform/database/database.js';
import type { RecoveryRange } from '../../src/recoveries/batches.js';
import { recoverEndpoint } from '../../src/recoveries/start-recovery.js';
import { BY_OPERATOR as by } from './factories.js';

/** Starts a recovery, like a request of the endpoint's client. */
export const recoverNow = (
  db: Database,
  clientId: string,
  endpointId: string,
  range: RecoveryRange & { includeMissing?: boolean; includePending?: boolean; countedFor?: null },
) =>
  db.transaction((tx) =>
    recoverEndpoint(tx, {
      by,
      clientId,
      endpointId,
      includeMissing: false,
      includePending: false,
      countedFor: clientId,
      ...range,
    }),
  );
