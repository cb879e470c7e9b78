const { ChildProcess } = require('node:child_process');
const { ModuleMocker } = require('jest-mock');
const { ModernFakeTimers } = require('@jest/fake-timers');

const TEMPORAL = require.resolve('@temporalio/worker');

/**
 * Jest's test environment: the process itself, not a V8 context. Each context would load Prisma, Temporal and all other
 * packages anew for each file, which took a fifth of the suite's CPU.
 */
module.exports = class ProcessEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  #before = { ...process.env };
  /** With `--runInBand`, the servers of the set-up are children of this process too. */
  #running = new Set(children());

  constructor({ projectConfig: config }) {
    this.fakeTimersModern = new ModernFakeTimers({ config, global: globalThis });
  }

  getVmContext() {
    return null;
  }

  async setup() {}

  /** What a file has changed in the process must not reach the next one. */
  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in this.#before)) delete process.env[name];
    Object.assign(process.env, this.#before);
    // A `beforeAll` that failed has started processes that `afterAll` does not know. Jest would wait for their end.
    for (const child of children()) if (!this.#running.has(child)) child.kill();
    // Temporal's runtime is a singleton, and installing it fails while an earlier one is open.
    await require.cache[TEMPORAL]?.exports.Runtime._instance?.shutdown();
  }
};

/** The processes that this one has started and that still run. */
function children() {
  return process._getActiveHandles().filter((handle) => handle instanceof ChildProcess);
}
