import { expect, test } from '@jest/globals';
import { temporalsPostgres } from '../crash/parts.js';
import { runCrash } from '../crash/run.js';
import { planRound } from '../crash/schedule.js';
import { randomFrom } from '../support/random.js';

// The short form of `npm run test:crash`: three kills of a production set-up under load, one of them of all its
// processes.

test('no kill loses an event, falsifies the record or leaves a delivery stuck', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  say(`kills.test: SEED=${seed}`);
  const result = await runCrash({
    seed,
    plan: planRound(randomFrom(seed), 2_500, temporalsPostgres() !== undefined),
    rate: 5,
    hangs: false,
    patient: false,
    say,
  });
  say(JSON.stringify(result.numbers));
  expect(result.faults).toEqual([]);
  expect(result.numbers.acknowledged).toBeGreaterThan(0);
}, 900_000);
