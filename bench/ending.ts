const running = new Set<() => Promise<void>>();

/** Works with something and stops it after, whatever happens; `stopAll` stops it where that comes first. */
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

/** At Ctrl-C: what was started last ends first. */
export async function stopAll(): Promise<void> {
  const stops = [...running].reverse();
  running.clear();
  for (const stop of stops) await stop().catch(() => undefined);
}
