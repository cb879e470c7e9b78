import { expect, test } from '@jest/globals';
import { Progress } from './progress.js';

test('ends a run that takes too long, and says what it waits for', async () => {
  const lines: string[] = [];
  const progress = new Progress((line) => lines.push(line), 1);
  progress.phase('waiting for quiet', () => '3 pending');
  await expect(progress.within(new Promise(() => undefined))).rejects.toThrow(
    'not finished after 0.001 s: waiting for quiet: 3 pending',
  );
  progress.end();
  expect(lines).toEqual([expect.stringMatching(/^ +\d+\.\d s {2}waiting for quiet$/)]);
});
