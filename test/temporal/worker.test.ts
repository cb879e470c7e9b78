import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TemporalWorker } from '../../src/temporal/worker.js';
import { waitFor } from '../support/wait-for.js';
import { otherBuild, WAIT } from '../support/workflow-builds.js';

const dist = join(import.meta.dirname, '../../dist');

test("writes the lines of the SDK's native part to our log, and not to standard output", () => {
  // The native part warns of a history that does not match the workflow's code. Its lines arrive late, and are lost
  // when the last worker ends before. So the replay is held open until a line has arrived.
  const script = `
    const { readFileSync } = await import('node:fs');
    const { Worker } = await import('@temporalio/worker');
    const { createLog } = await import('./dist/src/platform/telemetry/log.js');
    const { installRuntime } = await import('./dist/src/temporal/worker.js');
    const log = createLog('warn', 'worker');
    const { warn } = log;
    const warned = new Promise((resolve) => {
      log.warn = (...line) => resolve(warn.apply(log, line));
    });
    await installRuntime(log, false);
    const history = JSON.parse(readFileSync('test/histories/1.0.0/ladder.json', 'utf8'));
    const code = readFileSync(0, 'utf8');
    const replay = Worker.runReplayHistories({ workflowBundle: { code } }, [{ workflowId: 'ladder', history }]);
    await replay.next();
    await warned;
    await replay.return();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(dist, '..'),
    encoding: 'utf8',
    input: otherBuild(WAIT, WAIT.replace('wait > 0', 'false')),
    timeout: 200_000,
  });
  expect(stdout).toBe('');
  const lines = stderr.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ role: 'worker', msg: expect.stringMatching(/^Failing workflow task/) }),
  );
});

test('logs once that Temporal is still starting, without an error, and connects again until it is stopped', async () => {
  const lines: [string, object, string][] = [];
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const log = Object.fromEntries(
    levels.map((level) => [level, (...line: [object, string]) => lines.push([level, ...line])]),
  );
  const temporal = { address: '127.0.0.1:1', namespace: 'none', retention: 1, tls: false as const, apiKey: undefined };
  const queue = { taskQueue: 'none', activities: {} };
  const worker = new TemporalWorker({ temporal, queue, measured: false, log: log as never });
  worker.start();
  await waitFor('a third try', () => lines.length >= 3);
  await worker.stop();
  const text = expect.stringMatching(/^Temporal is unavailable: Temporal cannot be reached at 127\.0\.0\.1:1 /);
  expect(lines.slice(0, 3)).toEqual([
    ['info', { task_queue: 'none' }, text],
    ['debug', { task_queue: 'none', err: expect.anything() }, text],
    ['debug', { task_queue: 'none', err: expect.anything() }, text],
  ]);
  expect([worker.client, worker.wasConnected]).toEqual([undefined, false]);
});
