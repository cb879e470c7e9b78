import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { NODE_OPTIONS } from '../../src/process/bootstrap.js';

test('the name of every setting is known to V8', () => {
  const configure = `import { configureGarbageCollection } from './dist/src/process/bootstrap.js';
configureGarbageCollection();`;
  const args = [...NODE_OPTIONS, '--input-type=module', '--eval', configure];
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stderr).toBe('');
});

test('every way to start the service gives the options that V8 reads only at its start', () => {
  const options = NODE_OPTIONS.join(' ');
  const given = (command = '') => command.split(' ').filter((word) => word.startsWith('--'));
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const [shebang] = readFileSync('src/cli.ts', 'utf8').split('\n');
  for (const way of [scripts.start, scripts.cli, shebang]) expect(given(way)).toEqual(NODE_OPTIONS);
  // Node.js rejects a name that it does not allow there.
  execFileSync(process.execPath, ['--eval', ''], { env: { ...process.env, NODE_OPTIONS: options } });
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  expect(dockerfile.match(/\bNODE_OPTIONS=\S+/g)).toEqual([`NODE_OPTIONS=${options}`]);
});
