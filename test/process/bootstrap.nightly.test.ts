import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { NODE_OPTIONS } from '../../src/process/bootstrap.js';

/** Runs a module in a process of its own, after `configured` has been called or not. */
function run(module: string, configured: boolean): { stdout: string; stderr: string } {
  const configure = `import { configureGarbageCollection } from './dist/src/process/bootstrap.js';
configureGarbageCollection();`;
  const args = [...NODE_OPTIONS, '--expose-gc', '--allow-natives-syntax', '--input-type=module'];
  return spawnSync(process.execPath, [...args, '--eval', `${configured ? configure : ''}${module}`], {
    encoding: 'utf8',
  });
}

/**
 * Optimises a function for objects of one form, and then collects garbage a hundred times while no such object exists.
 * V8's default discards the function's code after three to eight collections.
 */
const REST = `
const sum = (point) => point.x + point.y;
function work() {
  for (let i = 0; i < 1_000; i++) {
    const point = {};
    point.x = i;
    point.y = 2;
    sum(point);
  }
}
%PrepareFunctionForOptimization(sum);
work();
%OptimizeFunctionOnNextCall(sum);
work();
const isOptimized = () => (%GetOptimizationStatus(sum) & (1 << 4 | 1 << 5)) !== 0;
const before = isOptimized();
for (let i = 0; i < 100 && isOptimized(); i++) gc();
console.log(before, isOptimized());`;

test('optimised code outlives the hidden classes of objects that do not exist while idle', () => {
  expect(run(REST, true).stdout).toBe('true true\n');
  // Without the settings V8 discards it: the test would notice.
  expect(run(REST, false).stdout).toBe('true false\n');
});

/** Fills the young generation of the main thread and of a worker thread. @returns its usual size, MiB, of either */
const YOUNG = `
import { getHeapSpaceStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
function youngSize() {
  const living = Array.from({ length: 1_000 }, () => []);
  const sizes = [];
  for (let i = 0; i < 2_000_000; i++) {
    living[i % 1_000] = [i, String(i), { i }];
    if (i % 1_000) continue;
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    sizes.push(space.space_size);
  }
  return sizes.sort((a, b) => a - b)[sizes.length >> 1] / 2 ** 20;
}
const source = \`const { getHeapSpaceStatistics } = require('node:v8');
\${youngSize}
require('node:worker_threads').parentPort.postMessage(youngSize());\`;
const main = youngSize();
new Worker(source, { eval: true, execArgv: [] }).on('message', (worker) => console.log(JSON.stringify({ main, worker })));`;

test('a thread that runs workflows has a small young generation, and the main thread keeps its own', () => {
  const { main, worker } = JSON.parse(run(YOUNG, true).stdout) as { main: number; worker: number };
  expect(main).toBeGreaterThan(6);
  expect(worker).toBeLessThanOrEqual(6);
  const byDefault = JSON.parse(run(YOUNG, false).stdout) as { worker: number };
  expect(byDefault.worker).toBeGreaterThan(6);
});

test('the name of every setting is known to V8', () => {
  expect(run('', true).stderr).toBe('');
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
