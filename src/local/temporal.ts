import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import { type Child, startChild } from './child.js';
import type { ProcessRecord } from './process-record.js';

export interface TemporalPlan {
  localDir: string;
  /** The program `temporal`. */
  command: string;
  port: number;
  uiPort: number;
  namespace: string;
  onStart(record: ProcessRecord): void;
  progress(line: string): void;
  signal: AbortSignal | undefined;
}

/** Starts Temporal's dev server with its UI on 127.0.0.1. Its state is in `localDir`. */
export function startTemporal(plan: TemporalPlan): Promise<Child> {
  // SQLite makes its files readable for all users. The mode of the folder keeps other users out.
  const folder = join(plan.localDir, 'temporal');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return startChild({
    name: 'Temporal',
    command: plan.command,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--log-level', 'error'],
      ...['--port', String(plan.port), '--ui-port', String(plan.uiPort), '--namespace', plan.namespace],
      ...['--db-filename', join(folder, 'temporal.db')],
      ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
      ...['--dynamic-config-value', 'matching.enableFairness=true'],
      ...SEARCH_ATTRIBUTES.flatMap(({ name, type }) => ['--search-attribute', `${name}=${SPELLING[type]}`]),
    ],
    user: undefined,
    logFile: join(plan.localDir, 'temporal.log'),
    stopSignal: 'SIGTERM',
    ping: () => describeNamespace(`127.0.0.1:${plan.port}`, plan.namespace),
    onStart: plan.onStart,
    progress: plan.progress,
    signal: plan.signal,
  });
}

/** The dev server's spelling of the SDK's types. */
const SPELLING = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList' } as const;

async function describeNamespace(address: string, namespace: string): Promise<void> {
  const connection = Connection.lazy({ address });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } finally {
    await connection.close();
  }
}
