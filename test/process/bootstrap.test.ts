import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { NODE_OPTIONS } from '../../src/process/bootstrap.js';

test('every way to start the service gives the options that V8 reads only at its start', () => {
  const options = NODE_OPTIONS.join(' ');
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  expect(scripts.start).toBe(`exec node ${options} dist/src/main.js`);
  expect(scripts.cli).toBe(`exec node ${options} dist/src/cli.js`);
  expect(readFileSync('src/cli.ts', 'utf8').split('\n')[0]).toBe(`#!/usr/bin/env -S node ${options}`);
  // Node.js rejects a name that it does not allow there.
  execFileSync(process.execPath, ['--eval', ''], { env: { ...process.env, NODE_OPTIONS: options } });
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  expect(dockerfile.match(/\bNODE_OPTIONS=\S+/g)).toEqual(Array(2).fill(`NODE_OPTIONS=${options}`));
});
