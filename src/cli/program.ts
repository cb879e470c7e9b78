import { VERSION } from '../version.js';
import { addAudit } from './audit.js';
import { addClients } from './clients.js';
import { createProgram, run } from './command.js';
import { addDeliveries } from './deliveries.js';
import { addDoctor } from './doctor.js';
import { addEndpoints } from './endpoints.js';
import { addKeys } from './keys.js';
import { addListen } from './listen.js';
import { addMigrate } from './migrate.js';
import { addServe, type RoleLoaders } from './serve.js';
import { addTransfers } from './transfers.js';
import { addVerify } from './verify.js';

/**
 * Runs a command line of `transfer-service` (without node and script). The groups declare names, options and
 * descriptions; what a command does lies in `actions` and is loaded by that command alone. @returns the exit code
 */
export function runCli(args: readonly string[], roles: RoleLoaders): Promise<number> {
  const program = createProgram('transfer-service')
    .description(
      'The commands of the operator. They use the database and the Temporal server that the environment names, or the embedded stack that runs under LOCAL_DIR.',
    )
    .version(VERSION);
  const groups = [
    addServe(roles),
    addMigrate,
    addClients,
    addTransfers,
    addEndpoints,
    addDeliveries,
    addKeys,
    addAudit,
    addVerify,
    addListen,
    addDoctor,
  ];
  for (const add of groups) add(program);
  return run(program, args);
}
