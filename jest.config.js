import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const project = {
  testEnvironment: '<rootDir>/test/support/runner/environment.cjs',
  runtime: '<rootDir>/test/support/runner/runtime.cjs',
  roots: ['<rootDir>/test'],
  // What takes minutes each: `npm run test:long`.
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.LONG ? [] : ['/test/long/'])],
  // Node compiles: test/support/runner/runtime.cjs.
  transform: {},
};

/**
 * What needs the set-up of the servers: their addresses, and the embedded stack, whose Temporal the set-up finds or builds
 * before a test waits for it.
 */
const SERVERS = /TEST_(DATABASE_URL|TEMPORAL_ADDRESS|SERVER_PATH)|(service|stack)-process\.js/;
const known = new Map();

/** Whether a test, or a file of test/ that it imports, uses a server. */
function usesServers(path) {
  if (!known.has(path)) {
    known.set(path, false);
    const text = readFileSync(path, 'utf8');
    const imported = [...text.matchAll(/(?:from |import |import\()'(\.{1,2}\/.*)\.js'/g)].flatMap(([, name]) =>
      globSync(`${join(path, '..', name)}.{ts,tsx,js}`).filter((file) => file.startsWith('test/')),
    );
    known.set(path, SERVERS.test(text) || imported.some(usesServers));
  }
  return known.get(path);
}

/** `npm test` runs what protects a change, `npm run test:nightly` the files that are named for it; LONG opens both. */
const lane = (path) => Boolean(process.env.LONG) || path.includes('.nightly.test.') === Boolean(process.env.NIGHTLY);
const tests = globSync('test/**/*.test.{ts,tsx}', { cwd: import.meta.dirname }).filter(lane);
const matching = (uses) => tests.filter((path) => usesServers(path) === uses).map((path) => `<rootDir>/${path}`);

export default {
  projects: [
    { ...project, testMatch: matching(false), globalSetup: '<rootDir>/test/support/build.js' },
    {
      ...project,
      testMatch: matching(true),
      globalSetup: '<rootDir>/test/support/global-setup.js',
      globalTeardown: '<rootDir>/test/support/global-teardown.js',
    },
  ],
  testSequencer: '<rootDir>/test/support/slow-first.js',
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.js'],
  // A limit is for what never ends: the machines are shared, and some are three times as slow.
  testTimeout: process.env.LONG ? 900_000 : 240_000,
  // Most tests wait for a condition more than they compute: Jest's own choice on two cores would be one at a time.
  maxWorkers: 4,
  // What a failed test left running must not hold CI until its own limit; elsewhere Jest says that something is open.
  forceExit: Boolean(process.env.CI),
};
