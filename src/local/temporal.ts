import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import { type Child, type StartPlan, startChild } from './child.js';

interface TemporalPlan extends StartPlan {
  /** The program `temporal`. */
  command: string;
  port: number;
  uiPort: number;
  namespace: string;
}

/** Starts Temporal's dev server with its UI on 127.0.0.1. Its state is in `localDir`. */
export function startTemporal(plan: TemporalPlan): Promise<Child> {
  // SQLite makes its files readable for all users. The mode of the folder keeps other users out.
  const folder = join(plan.localDir, 'temporal');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return startChild({
    ...plan,
    name: 'Temporal',
    folder,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--log-level', 'error'],
      ...['--port', String(plan.port), '--ui-port', String(plan.uiPort), '--namespace', plan.namespace],
      // The server puts the path unescaped into a URI, in which % ? and # have a meaning: so it is relative.
      ...['--db-filename', 'temporal.db'],
      ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
      ...['--dynamic-config-value', 'matching.enableFairness=true'],
      ...SEARCH_ATTRIBUTES.flatMap(({ name, type }) => ['--search-attribute', `${name}=${SPELLING[type]}`]),
    ],
    // Otherwise it tells version-info.temporal.io what runs here, and asks for newer versions.
    env: { TEMPORAL_VERSION_CHECK_DISABLED: '1' },
    logFile: join(plan.localDir, 'temporal.log'),
    stopSignal: 'SIGTERM',
    // After the machine slept, its SQLite may reject every statement for good (modernc.org/sqlite before 1.44).
    isStuck: { logs: 'interrupted (9)', checkEvery: 15_000 },
    ping: () => describeNamespace(`127.0.0.1:${plan.port}`, plan.namespace),
  });
}

/** The dev server's spelling of the SDK's types. */
const SPELLING = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList' } as const;

async function describeNamespace(address: string, namespace: string): Promise<void> {
  // A pool of its own: with the service's, which has tried to connect while Temporal was built, it would wait as well.
  const connection = Connection.lazy({ address, channelArgs: { 'grpc.use_local_subchannel_pool': 1 } });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } finally {
    await connection.close();
  }
}
