import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from './private-file.js';
import { endProcess, isRunning, type ProcessRecord } from './process-record.js';

/** `LOCAL_DIR/stack.json`: the processes under LOCAL_DIR, for the commands and for the start after a crash. */
export interface StackState {
  postgres?: ProcessRecord;
  temporal?: ProcessRecord;
  ports: { postgres: number; temporal: number; temporalUi: number };
  /**
   * The `keyId` of the service's master key. The service could not open an envelope that a command seals with another.
   */
  masterKeyId: string;
  /** The variables that a command needs to work on this stack, without secrets. */
  env: Record<string, string>;
}

const FILE = 'stack.json';

export function readState(localDir: string): StackState | undefined {
  const text = readPrivateFile(join(localDir, FILE));
  return text === undefined ? undefined : (JSON.parse(text) as StackState);
}

export function writeState(localDir: string, state: StackState): void {
  writePrivateFile(join(localDir, FILE), `${JSON.stringify(state, null, 2)}\n`);
}

/** Ends the processes that a killed parent left running: Temporal first, then Postgres. */
export async function endLeftovers(localDir: string, progress: (line: string) => void): Promise<void> {
  const state = readState(localDir);
  for (const [name, record, signal] of [
    ['Temporal', state?.temporal, 'SIGTERM'],
    ['Postgres', state?.postgres, 'SIGINT'],
  ] as const) {
    if (!record || !isRunning(record)) continue;
    progress(`ending ${name}: an earlier run was killed and left it running as process ${record.pid}`);
    await endProcess(record, signal, 10_000);
  }
}
