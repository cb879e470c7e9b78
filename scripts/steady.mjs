// Finds tests that fail by luck: `npm run test:steady -- --runs 10 [paths…]` runs `npm test` again and again with one core
// busy beside it, and prints each test that has failed with its message. The exit code is 0 if none has.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '10' } },
  allowPositionals: true,
});
const runs = Number(values.runs);
if (!(Number.isInteger(runs) && runs > 0)) throw new Error('--runs: give a whole number from 1');

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'steady-'));
const output = join(folder, 'results.json');
/** The runs in which each test has failed. */
const failed = new Map();

const neighbour = new Worker('for (;;) Math.random()', { eval: true });
for (let run = 1; run <= runs; run++) {
  const since = performance.now();
  rmSync(output, { force: true });
  const code = await runTests();
  const failures = failuresIn(code);
  const seconds = ((performance.now() - since) / 1_000).toFixed(0);
  process.stdout.write(`run ${run} of ${runs}: ${failures.length} failed, ${seconds} s\n`);
  for (const { name, message } of failures) {
    failed.set(name, [...(failed.get(name) ?? []), run]);
    process.stdout.write(`${name}\n${message.slice(0, 2_000)}\n`);
  }
}
await neighbour.terminate();
rmSync(folder, { recursive: true });
for (const [name, times] of failed) process.stdout.write(`failed in run ${times.join(', ')}: ${name}\n`);
process.exit(failed.size > 0 ? 1 : 0);

/** @returns {Promise<number | null>} the exit code */
function runTests() {
  const args = ['node_modules/jest/bin/jest.js', '--silent', '--json', `--outputFile=${output}`, ...positionals];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise((resolve) => child.once('exit', resolve));
}

/** A file that does not load, and a run that ends without results, are failures of their own. */
function failuresIn(code) {
  let results;
  try {
    results = JSON.parse(readFileSync(output, 'utf8'));
  } catch {
    return [{ name: `the run ended with code ${code} and without results`, message: '' }];
  }
  const failures = results.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = name.slice(root.length);
    const tests = assertionResults
      .filter((one) => one.status === 'failed')
      .map((one) => ({ name: `${file}: ${one.fullName}`, message: one.failureMessages.join('\n') }));
    return tests.length === 0 && status === 'failed' ? [{ name: `${file} does not load`, message }] : tests;
  });
  return failures.length === 0 && code !== 0 ? [{ name: `the run ended with code ${code}`, message: '' }] : failures;
}
