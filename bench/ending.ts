import { untilSignalled } from '../src/process/lifecycle.js';

const running = new Set<() => Promise<void>>();

/** Runs `work` with a resource and stops the resource afterwards, unless `stopAll` has already done so. */
export async function during<Thing extends { stop(): Promise<void> }, Result>(
  started: Promise<Thing>,
  work: (thing: Thing) => Promise<Result>,
): Promise<Result> {
  const thing = await started;
  const stop = () => thing.stop();
  running.add(stop);
  try {
    return await work(thing);
  } finally {
    if (running.delete(stop)) await stop();
  }
}

/** Stops everything at Ctrl-C, in reverse order of the starts. */
async function stopAll(): Promise<void> {
  const stops = [...running].reverse();
  running.clear();
  for (const stop of stops) await stop().catch(() => undefined);
}

/**
 * Runs a program of the bench to its end, or until Ctrl-C, which stops everything. Then the process ends: with 130
 * after a signal, with 1 after an error, else with `process.exitCode`.
 */
export async function runToEnd(run: () => Promise<void>): Promise<never> {
  let cutOff = false;
  const signalled = untilSignalled().then(() => {
    cutOff = true;
  });
  const done = run().catch((error: unknown) => {
    if (!cutOff) console.error(error);
    process.exitCode = 1;
  });
  await Promise.race([done, signalled]);
  if (cutOff) await stopAll();
  process.exit(cutOff ? 130 : process.exitCode);
}
