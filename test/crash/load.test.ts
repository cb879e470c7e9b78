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
  await waitFor('a fault that names the response', () => load.faults.some((fault) => WITH_RESPONSE.test(fault)));
  await load.stop();
  expect(load.created).toEqual([]);
});

const WITH_RESPONSE =
  /^\/transfers was repeated without success for \d+ s; responses \(0: none\): \{.*"503 unavailable":\d.*\}$/;
