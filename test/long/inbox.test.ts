import { expect, test } from '@jest/globals';
import { runInboxCrash } from '../crash/inbox-run.js';

test('every event has its effect exactly once in an inbox, whatever is killed', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 32);
  const say = (line: string) => process.stderr.write(`inbox (SEED=${seed}): ${line}\n`);
  const { wrong, proven, events } = await runInboxCrash({ seed, seconds: 60, say });
  expect({ wrong, proven }).toEqual({
    wrong: { push: [], poll: [], both: [] },
    proven: { push: true, both: true },
  });
  expect(events).toBeGreaterThan(50);
}, 600_000);
