import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { freePort } from '../../src/platform/free-port.js';
import { openFolder } from '../support/folder.js';
import { makeLocalDir } from '../support/local-dir.js';
import { waitFor } from '../support/wait-for.js';

const root = join(import.meta.dirname, '../..');
const read = (document: string) => readFileSync(join(root, document), 'utf8');

const local = makeLocalDir();
const folder = openFolder();
const started: ChildProcess[] = [];
afterAll(async () => {
  for (const child of started) if (child.exitCode === null && child.kill()) await once(child, 'exit');
  await local.remove();
});

test('a user who pastes the lines of the README gets the first delivery', async () => {
  const [, snippet = ''] = /<!-- snippet: first-delivery.sh -->\n```sh\n(.*?)```/s.exec(read('README.md')) ?? [];
  const { PATH, HOME } = process.env;
  const ports = { PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };
  const service = spawn(process.execPath, ['dist/src/cli.js', 'start'], {
    cwd: root,
    env: { PATH, HOME, ...ports, LOCAL_DIR: local.path, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  started.push(service);
  await once(service.stdout, 'data');
  const receiver = await freePort();
  // A clone, as far as npx is concerned. It finds the command there, or fails: it must install nothing.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const npm = { npm_config_offline: 'true', npm_config_cache: join(folder, 'cache') };
  const lines = snippet.replaceAll('.local/', `${local.path}/`).replaceAll('4000', String(receiver));
  // As in an interactive shell, the background job is a process group.
  const terminal = spawn('bash', ['-c', `set -m\n${lines}\nread _; kill %1; wait`], {
    cwd: folder,
    env: { PATH, HOME, ...npm },
  });
  started.push(terminal);
  let said = '';
  for (const stream of [terminal.stdout, terminal.stderr]) stream.on('data', (text) => (said += text));
  await waitFor(
    'the receiver to say so',
    () => /PROCESSING .*signature verified .*204/.test(said) || terminal.exitCode !== null,
  );
  terminal.stdin.end('\n');
  if (terminal.exitCode === null) await once(terminal, 'exit');
  await expect(fetch(`http://127.0.0.1:${receiver}/`)).rejects.toThrow();
  expect(said).toMatch(/transfer\.status_changed PROCESSING .* signature verified {2}→ 204/);
});
