import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import pg from 'pg';
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

/** The server's reported version and history shards, and the versions of its stores' schemas. */
export async function describeCluster(port, postgresUrl) {
  const { serverVersion, historyShardCount } = await withConnection(port, (connection) =>
    connection.workflowService.getClusterInfo({}),
  );
  const schema = await Promise.all(Object.values(DATABASES).map((name) => schemaVersion(postgresUrl, name)));
  return { server: serverVersion, shards: historyShardCount, schema };
}

async function schemaVersion(postgresUrl, database) {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const { rows } = await client.query('select curr_version from schema_version').finally(() => client.end());
  return rows[0].curr_version;
}

async function withConnection(port, ask) {
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  try {
    return await connection.withDeadline(Date.now() + 2_000, () => ask(connection));
  } finally {
    await connection.close();
  }
}
