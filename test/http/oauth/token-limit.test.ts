import { expect, it } from '@jest/globals';
import { toOAuthError } from '../../../src/http/oauth/token.js';
import { LIMITS } from '../../../src/platform/limits.js';
import { MemoryLimit } from '../../../src/platform/rate-limit.js';

it('issues 20 tokens a second to a client, independent of other clients', async () => {
  const limit = new MemoryLimit(LIMITS.tokens);
  const outcomes = await Promise.allSettled(Array.from({ length: 25 }, () => limit.consume('eager')));
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  expect(refused).toHaveLength(5);
  for (const reason of refused.map(toOAuthError)) {
    expect(reason).toMatchObject({ code: 'temporarily_unavailable', status: 429, headers: { 'Retry-After': '1' } });
  }
  await limit.consume('other');
});
