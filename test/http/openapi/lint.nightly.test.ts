import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startApi } from '../../support/api.js';
import { toolPath } from '../../support/tooling.js';

it('the document passes a third-party linter without a warning', async () => {
  const api = await startApi();
  const { text } = await api.call('GET', '/openapi.json');
  await api.close();
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  writeFileSync(join(folder, 'openapi.json'), text);
  writeFileSync(join(folder, 'redocly.yaml'), 'extends: [recommended-strict]\n');
  const program = toolPath('@redocly/cli/bin/cli.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'lint', 'openapi.json', '--format=json'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  rmSync(folder, { recursive: true });
  const found = stdout === '' ? { problems: [stderr] } : JSON.parse(stdout);
  expect([found.problems, status]).toEqual([[], 0]);
});
