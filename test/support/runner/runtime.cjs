const { registerHooks } = require('node:module');
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const { transformSync } = require('@swc/core');

const TESTS = pathToFileURL(join(__dirname, '../..')).href;
const GLOBALS = pathToFileURL(join(__dirname, 'globals.js')).href;
const SWC = {
  jsc: {
    parser: { syntax: 'typescript', tsx: true },
    transform: { react: { runtime: 'automatic', importSource: 'preact' } },
    target: 'es2023',
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

// jest-light-runner 0.8 is as fast on Jest 30, but has no time limit of a test (one that hangs never ends), no end of a
// file (environment.cjs), and no asynchronous fake timers.

/** The number of the test file that runs: modules of test/ are loaded anew for each. */
let file = 0;
const compiled = new Map();

/** Node loads TypeScript, and finds it where an import names the JavaScript that it compiles to. */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: `${GLOBALS}?file=${file}`, shortCircuit: true };
    const source = sourceOf(specifier, context.parentURL);
    const found = source ? { url: source, shortCircuit: true } : next(specifier, context);
    if (!found.url.startsWith(TESTS) || found.url.includes('?') || found.url.endsWith('.cjs')) return found;
    return { ...found, url: `${found.url}?file=${file}` };
  },
  load(url, context, next) {
    const path = url.replace(/\?.*/, '');
    if (!/\.tsx?$/.test(path)) return next(url, context);
    if (!compiled.has(path)) {
      const filename = fileURLToPath(path);
      compiled.set(path, transformSync(readFileSync(filename, 'utf8'), { ...SWC, filename }).code);
    }
    return { format: 'module', source: compiled.get(path), shortCircuit: true };
  },
});

function sourceOf(specifier, parent) {
  if (!/^\.{1,2}\/.*\.js$/.test(specifier) || !/\.tsx?(\?|$)/.test(parent ?? '')) return undefined;
  const url = new URL(specifier, parent).href.replace(/\.js$/, '');
  return ['.ts', '.tsx'].map((ending) => url + ending).find((one) => existsSync(fileURLToPath(one)));
}

/** Where jest-circus looks for the time limit of a file's tests. */
const TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** What jest-circus asks of Jest's runtime, by Node's own modules. */
module.exports = class ProcessRuntime {
  constructor(_config, environment) {
    this.environment = environment;
    file++;
  }

  /** jest-circus itself: it keeps the tests of a file in its module and in a global symbol. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    delete globalThis[TIMEOUT];
    return require(path);
  }

  requireModule(path) {
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  unstable_importModule(path) {
    return import(pathToFileURL(path).href);
  }

  setGlobalsForRuntime(globals) {
    // Node maps the lines of an error itself. Jest has just installed what would map them by files.
    process.setSourceMapsEnabled(true);
    Error.prepareStackTrace = undefined;
    const { moduleMocker: mocker, fakeTimersModern: timers } = this.environment;
    const jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      setTimeout(ms) {
        globalThis[TIMEOUT] = ms;
      },
      restoreAllMocks: () => mocker.restoreAllMocks(),
      useFakeTimers: (config) => timers.useFakeTimers(config),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
    };
    globalThis[Symbol.for('test globals')] = { ...globals, jest };
  }

  teardown() {}
  enterTestCode() {}
  leaveTestCode() {}
  getSourceMaps() {
    return new Map();
  }
  getAllCoverageInfoCopy() {}
};
