import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, isRunning, type ProcessRecord, startChild } from '../../src/local/child.js';
import { waitFor } from '../support/wait-for.js';

const folder = mkdtempSync(join(tmpdir(), 'child-'));
let child: Child | undefined;

afterAll(async () => {
  await child?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('starts a program again when it dies, even if recording the start fails, such as on a full disk', async () => {
  const started: ProcessRecord[] = [];
  const lines: string[] = [];
  child = await startChild({
    name: 'The sleeper',
    command: process.execPath,
    args: ['--eval', 'setInterval(() => {}, 1_000)'],
    user: undefined,
    logFile: join(folder, 'sleeper.log'),
    stopSignal: 'SIGTERM',
    ping: async () => undefined,
    onStart(record) {
      if (started.push(record) === 2) throw new Error('ENOSPC: no space left on device');
    },
    progress: (line) => lines.push(line),
    signal: undefined,
  });
  process.kill(started[0]!.pid, 'SIGKILL');
  await waitFor('another start', () => lines.includes('The sleeper is back'));
  await waitFor('the end of the process that could not be recorded', () => !isRunning(started[1]!));
  expect(started.map(isRunning)).toEqual([false, false, true]);
  expect(lines).toEqual([
    'The sleeper ended (SIGKILL); starting it again',
    'ENOSPC: no space left on device',
    'The sleeper ended (SIGKILL); starting it again',
    'The sleeper is back',
  ]);
});
