import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

test('ends a program whose log says that it cannot respond any more, and starts it again', async () => {
  const logFile = join(folder, 'stuck.log');
  const started: ProcessRecord[] = [];
  const lines: string[] = [];
  let isStuck = false;
  const stuck = await startChild({
    name: 'The server',
    command: process.execPath,
    args: ['--eval', 'console.log("started"); setInterval(() => {}, 1_000)'],
    user: undefined,
    logFile,
    stopSignal: 'SIGTERM',
    isStuck: { logs: 'interrupted (9)', checkEvery: 20 },
    async ping() {
      if (isStuck) throw new Error('no response');
    },
    onStart(record) {
      started.push(record);
      isStuck = false;
    },
    progress: (line) => lines.push(line),
    signal: undefined,
  });
  try {
    await waitFor('its first line', () => readFileSync(logFile, 'utf8').includes('started'));
    isStuck = true;
    appendFileSync(logFile, 'Error: interrupted (9)\n');
    await waitFor('another start', () => lines.includes('The server is back'));
    expect(started.map(isRunning)).toEqual([false, true]);
    expect(lines[0]).toBe('The server cannot respond any more: interrupted (9)');
  } finally {
    await stuck.stop();
  }
});
