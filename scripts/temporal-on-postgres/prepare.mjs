// What the program `temporal` of start.mjs does before it becomes Temporal's server: its databases, copied from those that
// have the schema, and its configuration, whose folder it prints. Started again, it finds both.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { freePort } from '../../dist/src/local/free-port.js';

const [postgresUrl = '', ...args] = process.argv.slice(2);
const text = { type: 'string' };
const { values } = parseArgs({
  args,
  options: { port: text, namespace: text, 'db-filename': text },
  // The rest is the dev server's alone.
  strict: false,
});
const port = Number(values.port);
// The databases stay with the state of the stack, the configuration with the port, which is another after each restart.
const state = dirname(values['db-filename']);
const folder = join(state, `server-${port}`);
const suffix = createHash('sha256').update(state).digest('hex').slice(0, 12);

if (!existsSync(join(folder, 'server.yaml'))) {
  mkdirSync(folder, { recursive: true });
  const stores = { 'postgres-default': 'temporal', 'postgres-visibility': 'temporal_visibility' };
  for (const name of Object.values(stores)) await copyDatabase(name, `${name}_${suffix}`);
  const dynamic = join(folder, 'dynamic.yaml');
  writeFileSync(
    dynamic,
    JSON.stringify({
      'matching.enableFairness': [{ value: true }],
      // As the dev server does: a search attribute that was added just now is known at once.
      'system.forceSearchAttributesCacheRefreshOnRead': [{ value: true }],
    }),
  );
  writeFileSync(join(folder, 'server.yaml'), JSON.stringify(await configuration(stores, dynamic)));
}
// The dev server makes the namespace that it is told to.
const register = fileURLToPath(new URL('./register.mjs', import.meta.url));
spawn(process.execPath, [register, `127.0.0.1:${port}`, values.namespace], {
  detached: true,
  stdio: 'ignore',
}).unref();
process.stdout.write(folder);

async function configuration(stores, dynamic) {
  const { hostname, port: postgresPort, username, password } = new URL(postgresUrl);
  const sql = (name) => ({
    ...{ pluginName: 'postgres12', connectProtocol: 'tcp', connectAddr: `${hostname}:${postgresPort}` },
    ...{ databaseName: `${name}_${suffix}`, user: username, password, maxConns: 20, maxIdleConns: 20 },
  });
  const service = async (grpcPort) => ({
    rpc: { grpcPort, membershipPort: await freePort(), bindOnLocalHost: true },
  });
  return {
    log: { stdout: true, level: 'error' },
    persistence: {
      ...{ defaultStore: 'postgres-default', visibilityStore: 'postgres-visibility', numHistoryShards: 4 },
      datastores: Object.fromEntries(Object.entries(stores).map(([store, name]) => [store, { sql: sql(name) }])),
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: {
      frontend: await service(port),
      history: await service(await freePort()),
      matching: await service(await freePort()),
      worker: await service(await freePort()),
    },
    clusterMetadata: {
      ...{ enableGlobalNamespace: false, failoverVersionIncrement: 10 },
      ...{ masterClusterName: 'active', currentClusterName: 'active' },
      clusterInformation: {
        active: {
          ...{ enabled: true, initialFailoverVersion: 1 },
          ...{ rpcName: 'frontend', rpcAddress: `127.0.0.1:${port}` },
        },
      },
    },
    dynamicConfigClient: { filepath: dynamic, pollInterval: '60s' },
  };
}

async function copyDatabase(from, to) {
  await onDatabase('postgres', `create database ${to} template ${from}`).catch((error) => {
    // An earlier start came so far.
    if (error.code !== '42P04') throw error;
  });
  await onDatabase(to, `update schema_version set db_name = '${to}'`);
}

async function onDatabase(name, statement) {
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
