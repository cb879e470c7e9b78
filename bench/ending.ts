const running = new Set<() => Promise<void>>();

/** Runs `work` with a started thing and stops the thing afterwards, unless `stopAll` has already stopped it. */
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
export async function stopAll(): Promise<void> {
  const stops = [...running].reverse();
  running.clear();
  for (const stop of stops) await stop().catch(() => undefined);
}
