import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { freePort } from '../../dist/src/platform/free-port.js';

/** The value of docker-compose.yml. The first start on a new store fixes it permanently. */
const HISTORY_SHARDS = 512;

/** The dynamic configuration of docker-compose.yml, with `more` settings; JSON is YAML. */
export function dynamicConfiguration(more = {}) {
  const own = parse(readFileSync(new URL('../../deploy/temporal.yaml', import.meta.url), 'utf8'));
  return JSON.stringify({ ...own, ...more });
}

/**
 * The server's configuration: all services in one process, with both stores on Postgres.
 * @param databases `{ main, visibility }`, their names
 * @param dynamic the path of the dynamic configuration
 */
export async function serverConfiguration({ port, postgresUrl, databases, dynamic }) {
  const { hostname, port: postgresPort, username, password } = new URL(postgresUrl);
  const store = (databaseName) => ({
    sql: {
      ...{ pluginName: 'postgres12', connectProtocol: 'tcp', connectAddr: `${hostname}:${postgresPort}` },
      ...{ databaseName, user: username, password, maxConns: 20, maxIdleConns: 20 },
    },
  });
  const service = async (grpcPort) => ({
    rpc: { grpcPort, membershipPort: await freePort(), bindOnLocalHost: true },
  });
  return {
    log: { stdout: true, level: 'error' },
    persistence: {
      ...{ defaultStore: 'main', visibilityStore: 'visibility', numHistoryShards: HISTORY_SHARDS },
      datastores: { main: store(databases.main), visibility: store(databases.visibility) },
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
