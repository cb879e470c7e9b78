import { expect, test } from '@jest/globals';
import type { Caller } from '../support/caller.js';
import { waitFor } from '../support/wait-for.js';
import { startLoad } from './load.js';

test('a request that fails fast is repeated until its time is over, and the fault names the response', async () => {
  let count = 0;
  const failing: Caller = async () => {
    count++;
    if (count % 2 === 0) throw new TypeError('fetch failed');
    return { status: 503, headers: new Headers(), body: { code: 'unavailable' } };
  };
  const load = startLoad([failing], () => 0.5, 1_000, 500);
  await waitFor('a fault', () => load.faults.length > 0);
  await load.stop();
  expect(load.faults[0]).toMatch(
    /^\/transfers was repeated without success for \d+ s; responses \(0: none\): \{.*"503 unavailable":\d.*\}$/,
  );
  expect(load.created).toEqual([]);
});
