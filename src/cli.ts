#!/usr/bin/env node
import { addAudit } from './cli/audit.js';
import { addClients } from './cli/clients.js';
import { createProgram, run } from './cli/command.js';
import { addDeliveries } from './cli/deliveries.js';
import { addDoctor } from './cli/doctor.js';
import { addEndpoints } from './cli/endpoints.js';
import { addKeys } from './cli/keys.js';
import { addListen } from './cli/listen.js';
import { addMigrate } from './cli/migrate.js';
import { addServe } from './cli/serve.js';
import { addTransfers } from './cli/transfers.js';
import { addVerify } from './cli/verify.js';
import { VERSION } from './version.js';

const program = createProgram('transfer-service')
  .description(
    'The commands of the operator. They use the database and the Temporal server that the environment names, or the embedded stack that runs under LOCAL_DIR.',
  )
  .version(VERSION);
const groups = [
  addServe({
    start: async () => (await import('./main.js')).runService,
    api: async () => (await import('./api.js')).runApi,
    worker: async () => (await import('./worker.js')).runWorker,
  }),
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
process.exitCode = await run(program, process.argv.slice(2));
