import { expect } from '@jest/globals';
import fc from 'fast-check';
import { type ClockedDatabase, createClockedDatabase } from './clock.js';
import { KINDS, type Step, World } from './world.js';

const { MODEL_SECONDS, SEED, SEED_PATH } = process.env;
/** Runs in databases of their own: one waits for Postgres while another one computes. */
const RUNS = SEED_PATH ? 1 : 2;
/** After so many sequences, each kind of step has made sense. */
const ENOUGH = 200;

const step: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom(...KINDS), a: fc.nat(999), b: fc.nat(999) });
const sequence = fc.array(step, { minLength: 1, maxLength: 120, size: 'max' });
const argumentsOf = [fc.integer({ min: 1, max: 3 }), fc.boolean(), sequence] as const;

/**
 * Runs random sequences of everything that may happen to deliveries, with the real statements on a real Postgres. After
 * every step each row must be as the model says. At the end of a sequence, whatever is pending must be delivered.
 *
 * `MODEL_SECONDS` sets the time. `SEED` and `SEED_PATH` repeat the sequence of a failure, which prints them.
 */
export async function runModel(given: number): Promise<void> {
  const seconds = Number(MODEL_SECONDS ?? given);
  const seed = Number(SEED ?? Date.now() % 2 ** 31);
  const databases = await Promise.all(Array.from({ length: RUNS }, createClockedDatabase));
  const begun = performance.now();
  const counts = { sequences: 0, steps: 0 };
  const kinds = new Set<string>();
  const say = (what: string) => {
    const { sequences, steps } = counts;
    const took = ((performance.now() - begun) / 1_000).toFixed(1);
    process.stderr.write(`model: SEED=${seed} ${what}: ${sequences} sequences, ${steps} steps, ${took} s\n`);
  };

  const runSequence = async (db: ClockedDatabase, [endpoints, retriesOnly, steps]: [number, boolean, Step[]]) => {
    const world = await World.make(db, endpoints, retriesOnly);
    for (const one of steps) {
      if (!(await world.run(one))) continue;
      await world.check();
      counts.steps++;
      kinds.add(one.kind);
    }
    await world.drain();
    counts.sequences++;
  };

  let failed: fc.RunDetails<[number, boolean, Step[]]> | undefined;
  const running: Promise<void>[] = [];
  const run = async (db: ClockedDatabase, index: number) => {
    let isFirst = true;
    const property = fc.asyncProperty(...argumentsOf, (...drawn) => {
      const ran = runSequence(db, drawn);
      running[index] = ran.catch(() => {
        if (isFirst) say('fails after');
        isFirst = false;
      });
      return ran;
    });
    const untilTime = { interruptAfterTimeLimit: seconds * 1_000, markInterruptAsFailure: false };
    const which = SEED_PATH === undefined ? { ...untilTime, numRuns: 1_000_000 } : { path: SEED_PATH };
    const result = await fc.check(property, { seed: seed + index, ...which });
    if (result.failed) failed = result;
  };
  // The time limit ends the run, and not its last sequence.
  await Promise.all(databases.map(run)).finally(() => Promise.all(running));
  for (const db of databases) await db.drop();
  say('ran');
  if (failed) {
    const command = `SEED=${failed.seed} SEED_PATH=${failed.counterexamplePath} npm test -- test/delivery/model/model.test`;
    const report = `${fc.defaultReportMessage(failed)}\n\nThis sequence again: ${command}\n`;
    throw new Error(report, { cause: failed.errorInstance });
  }
  if (counts.sequences >= ENOUGH) expect([...new Set(KINDS)].filter((kind) => !kinds.has(kind))).toEqual([]);
}
