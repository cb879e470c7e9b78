import { Limiter, retryAfterOf } from '../../../src/platform/database/limits.js';

describe('Limiter', () => {
  test('refuses a point above the limit with the seconds until the next try', async () => {
    const limiter = new Limiter({ points: 2, duration: 60, detail: 'too many' });
    await limiter.consume('a');
    await limiter.consume('a');
    await expect(limiter.consume('a')).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'too many',
      retryAfter: 60,
    });
  });

  test('counts each key for itself', async () => {
    const limiter = new Limiter({ points: 1, duration: 60, detail: 'too many' });
    await limiter.consume('a');
    await expect(limiter.consume('b')).resolves.toBeUndefined();
  });

  test('writes whole seconds, at least one', () => {
    expect([0, 1, 1_000, 1_001].map((msBeforeNext) => retryAfterOf({ msBeforeNext }))).toEqual([1, 1, 1, 2]);
  });
});
