import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'npx-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Each npm decides in its own way whether a command of the local package is already installed.
test.each(['10.9.9', '11.21.2'])('npx of npm %s runs the link and leaves nothing in the npm cache', async (npm) => {
  const prefix = join(folder, npm);
  const cache = join(folder, `cache-${npm}`);
  await run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', prefix, `npm@${npm}`]);
  const npx = join(prefix, 'node_modules/npm/bin/npx-cli.js');
  const env = { ...process.env, NODE_OPTIONS: '', npm_config_cache: cache };
  const { stdout } = await run(process.execPath, [npx, 'transfer-service', '--version'], { env });
  expect(stdout).toBe(`${version}\n`);
  expect(readdirSync(cache)).toEqual(['_logs']);
});
