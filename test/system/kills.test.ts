import { expect, test } from '@jest/globals';
import { runCrash } from '../crash/run.js';
import { planRound } from '../crash/schedule.js';
import { randomFrom } from '../support/random.js';

// `npm run test:crash` in short: each part of production's shape killed once, in an order by chance, under load.

test('whatever is killed, nothing is lost, the record is true and nothing stays stuck', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  say(`kills.test: SEED=${seed}`);
  const result = await runCrash({
    seed,
    plan: planRound(randomFrom(seed), 2_500),
    rate: 20,
    hangs: false,
    patient: false,
    say,
  });
  say(JSON.stringify(result.numbers));
  expect(result.faults).toEqual([]);
  expect(result.numbers.acknowledged).toBeGreaterThan(0);
}, 900_000);
