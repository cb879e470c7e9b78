import { setFlagsFromString } from 'node:v8';

/**
 * Options of `node` that V8 reads only at its start: cli.ts, package.json and the Dockerfile give them. Young
 * objects take 24 MiB at most. V8's default is 96 MiB on a machine with much memory.
 */
export const NODE_OPTIONS = ['--max-semi-space-size=8'];

const FLAGS = [
  // V8 collects garbage in a rest. By default it then also discards every hidden class that no object has at that moment,
  // and with it the optimised code that relies on it. Between two requests these are most of them.
  '--no-memory-reducer-favors-memory',
  // The number of collections after which V8 discards a hidden class of optimised code that no object had meanwhile. The
  // default is 2.
  '--retain-maps-for-n-gc=1000',
  // V8 collects garbage when old objects have grown by this share, %. By default they may grow to three times their size,
  // and the collection in a rest no longer returns that memory.
  '--heap-growing-percent=30',
  // For the heaps of threads that start after this, which run workflows: 6 MiB of young objects each. The main thread has
  // read its own size from NODE_OPTIONS.
  '--max-semi-space-size=2',
];

/**
 * Lets V8 collect garbage without a loss of optimised code, and bounds its heaps. Without these flags an event costs up
 * to twice the CPU after a rest of some seconds, until some 15,000 events are handled (docs/measurements.md, Rest and
 * optimised code).
 */
export function configureGarbageCollection(): void {
  for (const flag of FLAGS) setFlagsFromString(flag);
}
