import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { otherBuild } from '../support/workflow-builds.js';

const dist = join(import.meta.dirname, '../../dist');

test("what the SDK's native side has to say goes into our log, and not to standard output", () => {
  // It warns of a history that the workflow's code does not agree with.
  const script = `
    const { readFileSync } = await import('node:fs');
    const { Worker, Runtime } = await import('@temporalio/worker');
    const { createLog } = await import('./dist/src/telemetry/log.js');
    const { installRuntime } = await import('./dist/src/temporal/runtime.js');
    await installRuntime(createLog('warn', 'worker'), false);
    const history = JSON.parse(readFileSync('test/histories/0.1.0/ladder.json', 'utf8'));
    const code = readFileSync(0, 'utf8');
    await Worker.runReplayHistory({ workflowBundle: { code } }, history).catch(() => undefined);
    await Runtime.instance().shutdown();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(dist, '..'),
    encoding: 'utf8',
    input: otherBuild('if (wait > 0)', 'if (false)'),
  });
  expect(stdout).toBe('');
  const lines = stderr.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ role: 'worker', msg: expect.stringMatching(/^Failing workflow task/) }),
  );
});
