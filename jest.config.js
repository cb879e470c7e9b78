/** Native ES modules (jose is ESM only): the scripts start Jest with --experimental-vm-modules. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.{ts,tsx}'],
  // What takes minutes each: `npm run test:long`.
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.LONG ? [] : ['/test/long/'])],
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.js'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'automatic', importSource: 'preact' } },
          target: 'es2023',
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // A limit is for what never ends: the machines are shared, and some are three times as slow.
  testTimeout: 240_000,
  // Most tests wait for a condition more than they compute: Jest's own choice on two cores would be one at a time.
  maxWorkers: 3,
  // What a failed test left running must not hold CI until its own limit; elsewhere Jest says that something is open.
  forceExit: Boolean(process.env.CI),
};
