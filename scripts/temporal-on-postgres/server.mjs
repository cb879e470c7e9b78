import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { startChild } from '../../dist/src/local/child.js';
import { dynamicConfiguration, serverConfiguration } from './configuration.mjs';
import { applySchema } from './schema.mjs';

const DATABASES = { main: 'temporal', visibility: 'temporal_visibility' };

/** Upgrades the schema and then starts the server, like docker-compose.yml. @returns `{ stop }` */
export async function startServer({ programs, postgresUrl, port, folder, shards }) {
  await applySchema(programs, postgresUrl);
  const config = join(folder, 'temporal');
  mkdirSync(config, { recursive: true });
  const dynamic = join(config, 'dynamic.yaml');
  writeFileSync(dynamic, dynamicConfiguration());
  const settings = await serverConfiguration({ port, postgresUrl, databases: DATABASES, dynamic, shards });
  writeFileSync(join(config, 'server.yaml'), JSON.stringify(settings));
  return startChild({
    name: 'Temporal',
    command: programs.server,
    args: ['--root', '/', '--config', config, '--env', 'server', '--allow-no-auth', 'start'],
    user: undefined,
    logFile: join(folder, 'temporal.log'),
    stopSignal: 'SIGTERM',
    ping: () => withConnection(port, (connection) => connection.workflowService.listNamespaces({})),
    ...{ onStart: () => {}, progress: () => {}, signal: undefined },
  });
}

async function withConnection(port, ask) {
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  try {
    return await connection.withDeadline(Date.now() + 2_000, () => ask(connection));
  } finally {
    await connection.close();
  }
}
