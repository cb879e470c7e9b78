import { stat } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { within } from '../../src/platform/deadline.js';

it('rejects when the result does not arrive in time', async () => {
  await expect(within(10, new Promise(() => {}))).rejects.toThrow('no result within 10 ms');
  await expect(within(10, new Promise(() => {}), () => new RangeError('late'))).rejects.toThrow(RangeError);
});

it('returns a result that arrived in time, although the process was too busy to read it', async () => {
  const result = within(20, stat('.'));
  for (const until = performance.now() + 200; performance.now() < until; );
  expect((await result).isDirectory()).toBe(true);
});
