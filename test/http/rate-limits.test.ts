import { expect, it } from '@jest/globals';
import { quickly } from '../support/quickly.js';
import { openTokenApi } from '../support/token-api.js';

let processes = 1;
const auth = await openTokenApi({ env: { RATE_LIMIT: '9' }, dependencies: { liveApis: () => processes } });

/** The accepted requests of ten at once, and the policy that their responses name. */
async function acceptedOfTen(rateLimit?: number) {
  const replies = await quickly(111, async () => {
    const { body } = await auth.token(await auth.client({ rateLimit }));
    const headers = { Authorization: `Bearer ${body.access_token}` };
    return Promise.all(Array.from({ length: 10 }, () => auth.api.call('GET', '/events', { headers })));
  });
  const policies = new Set(replies.map(({ headers }) => headers.get('ratelimit-policy')));
  return [replies.filter(({ status }) => status === 200).length, ...policies];
}

it("is the client's own where it is set, and the deployment's elsewhere", async () => {
  expect(await acceptedOfTen(5)).toEqual([5, '"default";q=5;w=1']);
  expect(await acceptedOfTen()).toEqual([9, '"default";q=9;w=1']);
});

it('is divided among the live API processes, rounded up', async () => {
  processes = 3;
  expect(await acceptedOfTen()).toEqual([3, '"default";q=9;w=1']);
  expect(await acceptedOfTen(5)).toEqual([2, '"default";q=5;w=1']);
});
